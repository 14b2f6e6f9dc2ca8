from research.docs.paper import DOCS, _agreement, paper


def test_the_page_shows_what_is_in_the_result_files():
    assert (DOCS / "paper.md").read_text(encoding="utf-8") == paper()


def test_cells_further_from_the_published_ones_than_two_standard_deviations_are_named():
    near, far = (
        {"model": "gmf", "strategy": strategy, "ours": {"recall@20": 0.11}, "published": {"recall@20": 0.1},
         "deviation": {"recall@20": deviation}}
        for strategy, deviation in (("keep-all", 0.0051), ("truncated", 0.0049))
    )  # fmt: skip
    assert _agreement([near, far]).endswith("not in GMF T-CE (+10.00\xa0%).")
    assert "In 1 of 1 cells" in _agreement([near])
