import json

import pytest

pytestmark = pytest.mark.xdist_group("processes")


def test_a_log_becomes_advice_a_page_and_the_next_comparison(recsieve, log, columns, tmp_path):
    options = ("--trials", 2, "--epochs", 1, "--batch-size", 64, "--strategies", "keep-all,truncated", "--workers", 1)
    answer = recsieve("tune", log, *columns, *options, "--out", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "T-CE: truncated with its default options" in answer.out
    assert "next: recsieve compare" in answer.out
    assert (tmp_path / "out" / "report.html").exists()
    again = recsieve("tune", log, *columns, *options, "--out", tmp_path / "out", "--json")
    assert [entry["trials"] for entry in json.loads(again.out)["strategies"]] == [2, 2]
    assert "2 of them finished before" in again.err
