"""The rows of a log for interactions that were read from it."""

import polars as pl
import pytest

from recsieve.data.reading.columns import Names
from recsieve.data.reading.formats import read_interactions
from recsieve.data.reading.log_rows import log_rows


@pytest.mark.parametrize("users", [["007", "b", "007", "b"], [3, -1, 3, -1], [3.0, 4.0, 3.0, 4.0]])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_kept_interactions_get_back_all_their_rows_with_all_columns_in_the_order_of_the_log(tmp_path, users, kind):
    frame = pl.DataFrame({"note": ["p", "q", "r", "s"], "user": users, "item": [1, 1, 1, 2], "rating": [1.5, 2, 3, 4]})
    path = tmp_path / f"log.{kind}"
    getattr(frame, f"write_{kind}")(path)
    data = read_interactions(path)
    kept = data.take(data.items == 0)
    found = log_rows(path, kept, Names())
    assert found["note"].to_list() == ["p", "q", "r"]
    assert found.columns == frame.columns
    assert read_interactions(found).to_frame().equals(kept.to_frame())
    assert found["rating"].to_list() == [1.5, 2, 3]
