from pathlib import Path

from research.docs.markdown import read_results
from research.docs.trust import trust_page

ROOT = Path(__file__).parents[3]


def test_the_page_shows_what_is_in_the_result_files():
    written = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    assert written == trust_page(read_results(ROOT / "trust" / "results"))


def test_what_was_not_measured_is_said():
    assert trust_page({}).count("Not measured with this version yet.") == 5
