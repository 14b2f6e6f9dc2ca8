"""Comparisons and searches whose independent trainings are shared out among ranks."""

import pytest

from recsieve.errors import RunError
from recsieve.experiments.compare import run_comparison
from recsieve.experiments.config import make_config
from recsieve.experiments.search import make_tuning
from recsieve.experiments.tune import run_tuning


def of_results(rows):
    """What does not depend on the clock."""
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_a_comparison_on_ranks_is_that_of_one_process_and_trains_everything_once(
    in_ranks, in_this_process, split, tmp_path, tiny, n_ranks
):
    config = make_config(tiny)
    alone = run_comparison(config, tmp_path / "alone", split=split)
    names = in_this_process.copy()
    in_this_process.clear()

    def compare(group):
        return run_comparison(config, tmp_path / "ranks", split=split if group.is_first else None, group=group)

    first, *others = in_ranks(n_ranks, compare)
    assert sorted(in_this_process) == sorted(names)
    assert of_results(first["rows"]) == of_results(alone["rows"])
    assert first["conclusions"] == alone["conclusions"]
    assert others == [{}] * (n_ranks - 1)


def test_a_search_on_ranks_finds_what_one_process_finds(in_ranks, in_this_process, split, tmp_path):
    config = make_tuning({"epochs": 2, "batch_size": 64, "trials": 3})
    alone = run_tuning(config, tmp_path / "alone", split=split)
    first, second = in_ranks(
        2,
        lambda group: run_tuning(config, tmp_path / "ranks", split=split if group.is_first else None, group=group),
    )
    assert first["strategies"] == alone["strategies"]
    assert second == {}


def test_ranks_that_do_not_see_the_folder_of_the_first_are_refused(in_ranks, in_this_process, split, tmp_path):
    config = make_tuning({"epochs": 1, "batch_size": 64, "trials": 1})
    with pytest.raises(RunError, match="is not the same folder on all hosts: give one on a disk that they share"):
        in_ranks(2, lambda group: run_tuning(config, tmp_path / str(group.rank), split=split, group=group))
    assert not in_this_process
