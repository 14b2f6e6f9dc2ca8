import json

import pytest

TINY = ("--seeds", 2, "--epochs", 2, "--batch-size", 64, "--metric", "ndcg@5", "--plain-models", "")


def test_a_log_becomes_a_verdict_and_a_page(recsieve, in_this_process, log, columns, tmp_path):
    answer = recsieve("compare", log, *columns, *TINY, "--out", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "the same model without it" in answer.out
    assert "least popular drop as T-CE" in answer.out
    assert (tmp_path / "out" / "report.html").exists()
    assert "12 runs" in answer.err


def test_json_holds_rows_verdicts_and_the_command(recsieve, in_this_process, log, columns, tmp_path):
    options = ("--strategies", "keep-all,reweighted", "--models", "gmf", "--noise", "uniform:0.2", "--json")
    result = json.loads(recsieve("compare", log, *columns, *TINY, *options, "--out", tmp_path / "out").out)
    assert [row["strategy"] for row in result["rows"]] == [
        "keep-all", "reweighted", "least popular drop beside reweighted", "clean training (oracle)"
    ]  # fmt: skip
    assert result["rows"][0]["noise"] == "uniform 20 %"
    assert result["command"].startswith("recsieve compare")


def test_a_file_says_it_all(recsieve, in_this_process, log, tmp_path):
    path = tmp_path / "compare.toml"
    path.write_text(
        "plain_models = []\n"
        f'seeds = 2\nepochs = 1\nbatch_size = 64\n[data]\nsource = "{log}"\nuser = "customer"\nitem = "product"\n'
        '[strategies.R-CE]\ndenoiser = "reweighted"\n'
    )
    result = json.loads(recsieve("compare", path, "--out", tmp_path / "out", "--json").out)
    assert [row["strategy"] for row in result["rows"]] == ["CE (plain)", "R-CE", "least popular drop beside R-CE"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--noise", "uniform:much"), "give a mechanism and a rate"),
        (("--noise", "unifrom:0.1"), "did you mean 'uniform'?"),
        (("--models", "gmg"), "did you mean 'gmf'?"),
        (("--strategies", "trunkated"), "did you mean 'truncated'?"),
    ],
)
def test_a_mistake_is_one_line(recsieve, log, columns, tmp_path, options, words):
    answer = recsieve("compare", log, *columns, *options, "--out", tmp_path / "out")
    assert answer.code == 2
    assert words in answer.err
    assert not (tmp_path / "out").exists()
