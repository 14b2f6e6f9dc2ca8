import pytest
import torch

from recsieve.denoisers import EARD, LossBatch
from recsieve.errors import ConfigError
from tests.denoisers.courses import context, epochs, even_ranks, means, run


def written_out(course, alpha, beta):
    """The paper's weights, one sample after the other."""
    table, expected = {}, []
    for number, batches in enumerate(course, start=1):
        expected += [[table.get((user, item), 1.0) for _, user, item, _ in rows] for rows in batches]
        if number < 2:
            continue
        rows = [row for batch in batches for row in batch]
        of_user, of_item = even_ranks(means(rows, 1)), even_ranks(means(rows, 2))
        bases = {}
        for _, user, item, loss in rows:
            larger = sum(other[3] > loss for other in rows)  # of n, rank n has the smallest loss
            bases.setdefault((user, item), []).append((larger + 1 - 0.5) / len(rows))
        table = {
            (user, item): sum(base) / len(base)
            * (beta + (alpha - beta) * of_user[user])
            * (beta + (alpha - beta) * of_item[item])
            for (user, item), base in bases.items()
        }  # fmt: skip
    return expected


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 2.0), (0.14, 0.4)])
def test_weights_are_those_of_the_paper_written_out(alpha, beta):
    given, _ = run(EARD(alpha, beta, context=context()), epochs(5))
    for weights, expected in zip(given, written_out(epochs(5), alpha, beta), strict=True):
        assert weights == pytest.approx(expected, abs=1e-6)
    assert set(given[-1]) != {1.0}


def test_the_first_two_epochs_are_plain():
    given, _ = run(EARD(context=context()), epochs(3))
    assert {weight for weights in given[:6] for weight in weights} == {1.0}
    assert {weight for weights in given[6:] for weight in weights} != {1.0}


def test_normalised_weights_are_the_same_but_for_their_mean_which_is_one():
    paper, normalised = (run(EARD(reduction=how, context=context()), epochs(4))[0] for how in ("paper", "normalised"))
    for one, other in zip(paper, normalised, strict=True):
        assert sum(other) / len(other) == pytest.approx(1)
        assert other == pytest.approx([weight * len(one) / sum(one) for weight in one])


def test_equal_losses_have_equal_weights_whatever_the_order():
    strategy = EARD(1.0, 1.0, context=context())
    course = [[[(i, user, item, 1.0) for i, user, item, _ in rows] for rows in batches] for batches in epochs(3)]
    given, _ = run(strategy, course)
    assert {weight for weights in given[6:] for weight in weights} == {1.0, 0.5}  # 1: negatives that are new


@pytest.mark.parametrize("options", [{"alpha": 0.0}, {"beta": -1.0}, {"reduction": "none"}, {"plain_epochs": 0}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        EARD(**options, context=context())


def test_validation_teaches_nothing():
    strategy = EARD(context=context())
    batch = next(epochs(1))[0]
    ids, users, items, losses = (torch.tensor(column) for column in zip(*batch, strict=True))
    strategy.weights(LossBatch(losses, (ids >= 0).float(), 1, users, items))
    assert not len(strategy.state_dict()["seen_keys"])
