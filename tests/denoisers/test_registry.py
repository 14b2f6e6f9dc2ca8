from dataclasses import replace

import pytest
import torch

from recsieve.denoisers import DENOISERS, Context, LeastPopularDrop, RandomDrop, Reweighted, Truncated, make_denoiser
from recsieve.errors import ConfigError

CONTEXT = Context(9, 2, 4, torch.tensor([3, 1]), steps_per_epoch=100, losses_per_positive=2)


def make(name, context=CONTEXT, **options):
    return make_denoiser(name, options, context)


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


def test_saying_the_same_option_twice_is_an_error():
    with pytest.raises(ConfigError, match="both ramp_epochs and ramp_steps"):
        make("truncated", ramp_epochs=1, ramp_steps=1)


def test_an_unknown_name_or_option_is_answered_with_a_close_one():
    with pytest.raises(ConfigError, match="did you mean 'truncated'"):
        make("truncate")
    with pytest.raises(ConfigError, match="did you mean 'beta'"):
        make("reweighted", betta=1)


def test_the_controls_take_the_options_of_truncated_and_mean_the_same_by_them():
    options = {"drop_positives": 0.4, "ramp_epochs": 3, "fidelity": "authors"}
    assert make("random-drop", **options) == RandomDrop(0.2, 300, "authors")
    control = make("least-popular-drop", **options)
    assert control == LeastPopularDrop(0.2, 300, "authors", context=CONTEXT)
    assert control.context is CONTEXT


def test_popularity_comes_from_the_data_and_is_no_option():
    for name in ("popularity", "context"):
        with pytest.raises(ConfigError, match=f"no option '{name}'"):
            make_denoiser("least-popular-drop", {name: 1}, CONTEXT)


def test_where_a_positive_and_its_negatives_share_a_loss_the_share_of_positives_is_that_of_the_batch():
    pairwise = replace(CONTEXT, losses_per_positive=1)
    assert make("truncated", pairwise, drop_positives=0.4, ramp_epochs=3) == Truncated(0.4, 300)


class HalfOfEverything:
    """A strategy that is no dataclass."""

    def __init__(self, share=0.5, *, context):
        self.share, self.context = share, context

    def weights(self, batch):
        return batch.losses.new_full((len(batch.losses),), self.share)


def test_a_strategy_need_not_be_a_dataclass(monkeypatch):
    monkeypatch.setitem(DENOISERS._loaded, "half", HalfOfEverything)
    made = make_denoiser("half", {"share": 0.25}, CONTEXT)
    assert (made.share, made.context) == (0.25, CONTEXT)
    with pytest.raises(ConfigError, match="no option 'part'"):
        make_denoiser("half", {"part": 0.25}, CONTEXT)
