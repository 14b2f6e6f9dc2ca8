from research.docs.paper import DOCS, paper


def test_the_page_shows_what_is_in_the_result_files():
    assert (DOCS / "paper.md").read_text(encoding="utf-8") == paper()
