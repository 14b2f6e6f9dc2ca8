import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_shows_what_is_in_the_result_files():
    script = runpy.run_path(str(ROOT / "paper" / "write_docs.py"))
    assert (ROOT / "docs" / "paper.md").read_text(encoding="utf-8") == script["paper"]()
