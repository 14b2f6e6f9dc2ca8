import math
from dataclasses import replace

import pytest
import torch

from recsieve.denoisers import ReweightedByOwner, Truncated, TruncatedByOwner
from recsieve.errors import ConfigError
from tests.denoisers.courses import N_INTERACTIONS, context, epochs, loss_batch, means, run

OF = {"user": 1, "item": 2}


def truncated_written_out(course, by, follow):
    """Rates of owners from the losses of the last epoch, one interaction after the other."""
    scores, step, expected = {}, 0, []
    for batches in course:
        for rows in batches:
            step += 1
            n_drop = int(0.3 * min(1, step / 4) * len(rows))
            judged = {place: scores.get(i, (loss,)) for place, (i, _, _, loss) in enumerate(rows) if i >= 0}
            worst = sorted(judged, key=judged.get, reverse=True)[:n_drop]
            expected.append([float(place not in worst) for place in range(len(rows))])
        positives = sorted((row for rows in batches for row in rows if row[0] >= 0), key=lambda row: -row[3])
        share = min(1, 0.3 * min(1, step / 4) * 2)
        losses = {row[0]: row[3] for row in positives}
        large = {row[0] for row in positives[: round(share * N_INTERACTIONS)]}
        for owner in {row[OF[by]] for row in positives}:
            own = [row[0] for row in positives if row[OF[by]] == owner]
            rate = follow * sum(i in large for i in own) / len(own) + (1 - follow) * share
            scores |= {i: (round(rate - (place + 0.5) / len(own), 9), losses[i]) for place, i in enumerate(own)}
    return expected


@pytest.mark.parametrize("by", ["user", "item"])
@pytest.mark.parametrize("follow", [0.0, 0.5, 1.0])
def test_truncation_by_owner_is_its_definition_written_out(by, follow):
    strategy = TruncatedByOwner(0.3, 4, by=by, follow=follow, context=context())
    given, _ = run(strategy, epochs(5, seed=3))
    assert given == truncated_written_out(epochs(5, seed=3), by, follow)


@pytest.mark.parametrize("by", ["user", "item"])
def test_as_many_are_dropped_as_by_t_ce_in_every_step(by):
    own, _ = run(TruncatedByOwner(0.3, 4, by=by, context=context()), epochs(5))
    plain, _ = run(Truncated(0.3, 4), epochs(5))
    assert [weights.count(0.0) for weights in own] == [weights.count(0.0) for weights in plain]
    assert own != plain
    assert own[:3] == plain[:3]  # the first epoch


@pytest.mark.parametrize("by", ["user", "item"])
def test_reweighting_by_owner_is_its_definition_written_out(by):
    given, _ = run(ReweightedByOwner(0.4, by, context=context()), epochs(4))
    ratio, expected = {}, []
    for batches in epochs(4):
        expected += [[math.exp(-0.4 * ratio.get(row[OF[by]], 1.0) * row[3]) for row in rows] for rows in batches]
        positives = [row for rows in batches for row in rows if row[0] >= 0]
        overall = sum(row[3] for row in positives) / len(positives)
        ratio = {owner: mean / overall for owner, mean in means(positives, OF[by]).items()}
    for weights, wanted in zip(given, expected, strict=True):
        assert weights == pytest.approx(wanted, abs=1e-6)


def test_the_mean_power_over_interactions_is_beta():
    strategy = ReweightedByOwner(0.4, context=context())
    run(strategy, epochs(2))
    powers = strategy.powers[strategy.owners]
    assert float(powers.mean()) == pytest.approx(0.4)
    assert float(powers.std()) > 0


def test_validation_is_judged_by_the_loss_alone():
    strategy = TruncatedByOwner(0.3, 4, context=context())
    run(strategy, epochs(2))
    batch = loss_batch(next(epochs(1))[0], 9)
    plain = Truncated(0.3, 4).weights(batch)

    assert torch.equal(strategy.weights(replace(batch, ids=None)), plain)


@pytest.mark.parametrize("options", [{"by": "shop"}, {"follow": 2.0}, {"max_drop_rate": 1.0}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        TruncatedByOwner(**options, context=context())
