"""What every test may ask for."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data():
    """A function that gives a folder of real data, or skips the test where it is missing."""

    def folder(name: str) -> Path:
        if not (SHARED / name).exists():
            pytest.skip(f"needs the real data '{name}', which is not beside this clone")
        return SHARED / name

    return folder
