import pytest
import torch

from recsieve.denoisers import LeastPopularDrop, RandomDrop, Reweighted, Truncated, make_denoiser
from recsieve.errors import ConfigError


def make(name, popularity=None, **options):
    return make_denoiser(name, options, steps_per_epoch=100, negatives=1, popularity=popularity)


def test_a_persons_terms_mean_the_same_as_the_papers():
    assert make("truncated", drop_positives=0.4, ramp_epochs=3) == Truncated(0.2, 300)
    assert make("truncated", max_drop_rate=0.1, ramp_steps=7) == Truncated(0.1, 7)
    assert make("reweighted", beta=0.3) == Reweighted(0.3)


def test_by_name_alone_little_is_dropped_and_the_ramp_fits_the_data():
    assert make("truncated") == Truncated(0.05, 500)


def test_no_more_than_all_positives_can_be_dropped():
    assert make("truncated", drop_positives=1) == Truncated(0.5, 500)
    with pytest.raises(ConfigError, match=r"drop_positives is 1.5, but it is a share of the positives"):
        make("truncated", drop_positives=1.5)


def test_saying_the_same_knob_twice_is_an_error():
    with pytest.raises(ConfigError, match="both ramp_epochs and ramp_steps"):
        make("truncated", ramp_epochs=1, ramp_steps=1)


def test_an_unknown_name_or_knob_is_answered_with_a_close_one():
    with pytest.raises(ConfigError, match="did you mean 'truncated'"):
        make("truncate")
    with pytest.raises(ConfigError, match="did you mean 'beta'"):
        make("reweighted", betta=1)


def test_the_controls_take_the_knobs_of_truncated_and_mean_the_same_by_them():
    popularity = torch.tensor([3, 1])
    knobs = {"drop_positives": 0.4, "ramp_epochs": 3, "fidelity": "authors"}
    assert make("random-drop", **knobs) == RandomDrop(0.2, 300, "authors")
    control = make("least-popular-drop", popularity, **knobs)
    assert control == LeastPopularDrop(0.2, 300, "authors", popularity=popularity)
    assert control.popularity is popularity


def test_popularity_comes_from_the_data_and_is_no_knob():
    with pytest.raises(ConfigError, match="give `popularity`"):
        make("least-popular-drop")
    with pytest.raises(ConfigError, match="no knob 'popularity'"):
        make_denoiser("least-popular-drop", {"popularity": 1}, steps_per_epoch=1, negatives=1)
