"""recsieve paper: each result is a command."""

import json
from importlib.metadata import entry_points

from research.paper import TITLES


def test_the_command_comes_with_research_and_not_with_the_package():
    (paper,) = entry_points(group="recsieve.commands", name="paper")
    assert paper.dist.name == "recsieve-research"


def test_help_lists_every_result(recsieve):
    answer = recsieve("paper", "--help")
    assert all(name in answer.out for name in TITLES)


def test_table_2_counts_the_training_part_beside_the_published_counts(recsieve, tmp_path):
    result = tmp_path / "table2.json"
    answer = recsieve("paper", "table2", "--data", "simulated:yelp:0.02", "--out", tmp_path / "out", "--result", result)
    assert answer.code == 0, answer.err
    data = json.loads(result.read_text(encoding="utf-8"))["data_sets"][0]["data"]
    assert (data["interactions"], data["false_positives"]) == (33_450, 5_212)
    assert "33,450 (1,672,520)" in answer.out
    assert (tmp_path / "out" / "table2.html").exists()


def test_figure_5_needs_no_data_and_writes_pictures(recsieve, tmp_path):
    answer = recsieve("paper", "figure5", "--out", tmp_path)
    assert answer.code == 0, answer.err
    assert {path.suffix for path in (tmp_path / "charts").iterdir()} == {".png", ".svg"}


def test_a_result_says_how_long_it_takes_and_is_not_trained_again(recsieve, tmp_path, in_this_process):
    words = ("paper", "table3", "--data", "simulated:yelp:0.005", "--models", "gmf", "--seeds", 1, "--epochs", 1,
             "--out", tmp_path)  # fmt: skip
    first = recsieve(*words)
    assert first.code == 0, first.err
    assert "3 runs to train: about" in first.err
    assert "GMF+T-CE" in first.out
    assert "no verdict" in first.out  # of one seed
    assert "all 3 runs are there already" in recsieve(*words).err


def test_a_mistake_is_one_line_that_says_what_to_give(recsieve, tmp_path):
    for words, told in (
        (("--data", "nowhere"), "there is no 'nowhere': give a file"),
        (("--data", "simulated:yelb"), "did you mean 'yelp'?"),
        (("--data", "simulated:yelp:0.01", "--models", "gmff"), "did you mean 'gmf'?"),
        (("--data", "simulated:yelp:0.01", "--fidelity", "exact"), "there are: paper, authors."),
    ):
        answer = recsieve("paper", "table3", *words, "--out", tmp_path)
        assert answer.code == 2
        assert told in answer.err
