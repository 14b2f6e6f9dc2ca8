import json
from pathlib import Path

from benchmarks.install import tables

ROOT = Path(__file__).parents[2]


def test_the_page_on_installing_shows_what_was_measured():
    result = json.loads((ROOT / "benchmarks" / "results" / "install.json").read_text(encoding="utf-8"))
    assert tables(result) in (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert result["times"]["recsieve --help"] < 0.5
