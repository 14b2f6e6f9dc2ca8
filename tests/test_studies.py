import recsieve


def test_a_comparison_in_python_gives_conclusions_a_table_and_a_page(in_this_process, split, tiny, tmp_path):
    comparison = recsieve.compare(split, tmp_path / "out", **tiny)
    assert comparison.answer
    assert len(comparison.conclusions) == 5
    assert comparison.summary.height == len(comparison.rows) == 5
    assert comparison.page.exists()
    assert comparison.answer in comparison._repr_html_()
