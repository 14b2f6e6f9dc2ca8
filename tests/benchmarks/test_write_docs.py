from benchmarks.write_docs import ROOT, speed_page


def test_the_page_shows_what_is_in_the_result_files():
    assert (ROOT / "docs" / "speed.md").read_text(encoding="utf-8") == speed_page()
