import json

import polars as pl
import pytest


@pytest.fixture
def audited(recsieve, log, columns, tmp_path):
    answer = recsieve("audit", log, *columns, "--out", tmp_path / "audit", "--csv")
    assert answer.code == 0, answer.err
    return tmp_path / "audit", answer


def test_a_log_becomes_a_list_with_reasons_and_cleaned_data_in_own_ids(audited, log, recsieve, columns):
    folder, answer = audited
    table = pl.read_parquet(folder / "audit.parquet")
    read = pl.read_csv(log)
    assert set(table["user"]) == set(read["customer"])
    cleaned = pl.read_parquet(folder / "cleaned.parquet")
    assert cleaned.equals(read.filter(pl.col("rating") >= 3))  # what is known to be noise is gone, no column is
    assert pl.read_csv(folder / "weights.csv")["weight"].is_between(0, 1).all()
    assert pl.read_csv(folder / "audit.csv").height == table.height
    assert "Every interaction is labelled" in answer.out
    assert json.loads((folder / "audit.json").read_text("utf-8"))["interactions"] == table.height
    again = recsieve("audit", log, *columns, "--out", folder, "--json", "--threshold", 0.5)
    assert again.code == 0, again.err
    assert json.loads(again.out)["interactions"] == table.height  # trainings are not repeated, results replaced


def test_what_is_wrong_is_one_line(recsieve, log, columns, tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    for words, said in (
        (("--out", tmp_path), "not an audit"),
        (("--share", 0.1, "--threshold", 0.5), "both"),
        (("--k-core", 1000), "k_core"),
    ):
        answer = recsieve("audit", log, *columns, *words)
        assert answer.code == 2, answer.err
        assert said in answer.err
        assert "Traceback" not in answer.err
