from benchmarks.cluster_docs import PAGE, page


def test_the_page_shows_what_is_in_the_result_files():
    assert PAGE.read_text(encoding="utf-8") == page()
