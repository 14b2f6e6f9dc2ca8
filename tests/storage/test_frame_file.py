import polars as pl

from recsieve.storage.frame_file import without_formulas


def test_text_that_a_spreadsheet_would_run_begins_with_an_apostrophe():
    frame = pl.DataFrame({"item": ["=1+1", "+a", "-a", "@a", "\ta", "a=1", "", None], "score": [-1.0] * 8})
    escaped = without_formulas(frame)
    assert escaped["item"].to_list() == ["'=1+1", "'+a", "'-a", "'@a", "'\ta", "a=1", "", None]
    assert escaped["score"].equals(frame["score"])
    assert escaped.columns == frame.columns
