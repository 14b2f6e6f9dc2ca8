import numpy as np
import polars as pl
import pytest

from recsieve.experiments.conclusions import selection_study, spread


def test_the_selection_study_takes_the_test_score_of_each_criterions_epoch():
    frame = pl.DataFrame(
        {"own_loss": [0.1, 0.2, 0.3], "noisy": [1.0, 3.0, 2.0], "clean": [1.0, 2.0, 3.0], "test": [0.5, 0.6, 0.7]}
    )
    study = selection_study([frame, frame])
    assert {name: value["mean"] for name, value in study.items()} == pytest.approx(
        {
            "own loss": 0.5,
            "noisy validation": 0.6,
            "clean validation (oracle)": 0.7,
            "best epoch on the test (oracle)": 0.7,
        }
    )


def test_without_flags_there_is_no_clean_selection():
    frame = pl.DataFrame({"own_loss": [0.1], "noisy": [1.0], "clean": [np.nan], "test": [0.5]})
    assert "clean validation (oracle)" not in selection_study([frame])


def test_a_spread_is_over_what_is_defined():
    assert spread([1.0, None, 3.0]) == pytest.approx({"mean": 2.0, "sd": 2**0.5})
