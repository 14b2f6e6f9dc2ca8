from pathlib import Path

import pytest

from recsieve.errors import DataError
from research.docs.auto import auto_page, read_results

ROOT = Path(__file__).parents[3]


def test_the_documentation_says_what_the_results_say():
    written = (ROOT / "docs" / "auto.md").read_text(encoding="utf-8")
    assert written == auto_page(read_results(ROOT / "findings" / "auto"))


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(DataError, match="no results"):
        read_results(tmp_path)
