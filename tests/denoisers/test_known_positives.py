from dataclasses import replace

import numpy as np
import pytest
import torch

from recsieve import Recommender
from recsieve.data.splitting import Split
from recsieve.denoisers import FineTuning, Truncated, WarmUp, make_denoiser
from recsieve.errors import ConfigError
from recsieve.training import InteractionMemory
from tests.denoisers.courses import N_INTERACTIONS, STEPS, context, epochs, loss_batch, run

CLEAN = torch.arange(N_INTERACTIONS) % 3 > 0


def test_fine_tuning_is_t_ce_on_all_and_then_plain_on_known_true_positives():
    given, asked = run(FineTuning(0.3, 4, phase_epochs=2, context=context(clean=CLEAN)), epochs(4))
    plain, _ = run(Truncated(0.3, 4), epochs(4))
    assert given[: 2 * STEPS] == plain[: 2 * STEPS]
    assert {weight for weights in given[2 * STEPS :] for weight in weights} == {1.0}
    assert [one is None for one in asked] == [True, False, True, True]
    assert asked[1].chosen.tolist() == CLEAN.nonzero().squeeze(1).tolist()


def test_warm_up_is_the_other_way_round_and_the_drop_rate_grows_from_its_second_phase_on():
    strategy = WarmUp(0.3, 4, phase_epochs=2, context=context(clean=CLEAN))
    assert strategy.first_epoch().chosen.tolist() == CLEAN.nonzero().squeeze(1).tolist()
    given, asked = run(strategy, epochs(4))
    assert {weight for weights in given[: 2 * STEPS] for weight in weights} == {1.0}
    assert asked[1].chosen.tolist() == list(range(N_INTERACTIONS))
    later = [rows for batches in list(epochs(4))[2:] for rows in batches]
    for step, (weights, rows) in enumerate(zip(given[2 * STEPS :], later, strict=True), start=1):
        assert weights == Truncated(0.3, 4).weights(loss_batch(rows, step)).tolist()


def test_a_share_of_the_labels_is_the_same_each_time_and_about_as_large():
    wide = context(clean=None)
    many = FineTuning(known=0.3, context=replace(wide, n_interactions=10_000))
    assert len(many._true_positives()) == pytest.approx(3000, rel=0.05)
    assert torch.equal(many._true_positives(), many._true_positives())


def test_nobody_else_is_told_which_interactions_are_clean():
    told = context(clean=CLEAN)
    assert make_denoiser("fine-tuning", {}, told).context.clean is CLEAN
    assert make_denoiser("eard", {}, told).context.clean is None


@pytest.mark.parametrize(("denoiser", "of_known"), [("fine-tuning", [False, True]), ("warm-up", [True, False])])
def test_the_phases_of_a_training_are_of_known_true_positives_or_of_all(small_data, denoiser, of_known):
    data = small_data()
    memory, nothing = InteractionMemory(len(data)), data.take(np.zeros(0, np.int64))
    options = {"phase_epochs": 1, "drop_positives": 0}
    Recommender("gmf", denoiser, denoiser_options=options, epochs=2, batch_size=32).fit(
        Split.from_parts(data, nothing, nothing), memory=memory
    )
    noisy = data.is_false_positive
    for seen, only_known in zip(~torch.tensor(memory.losses).isnan().numpy(), of_known, strict=True):
        assert seen[~noisy].all()
        assert seen[noisy].all() != only_known
        assert seen[noisy].any() != only_known


def test_without_labels_they_are_refused(small_data):

    with pytest.raises(ConfigError, match="there are none"):
        Recommender("gmf", "fine-tuning").fit(replace(small_data(), false_positive=None))


@pytest.mark.parametrize("options", [{"phase_epochs": 0}, {"known": 0.0}, {"max_drop_rate": 1.0}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        WarmUp(**options, context=context())
