import math

import pytest

from recsieve.denoisers import UDT
from recsieve.errors import ConfigError
from tests.denoisers.courses import context, epochs, even_ranks, means, run


def written_out(course):
    """The study's weights with the options of its configuration, one interaction after the other."""
    of_interaction, of_user, expected = {}, {}, []
    for number, batches in enumerate(course, start=1):
        expected += [
            [of_user.get(row[1], 1.0) if row[0] < 0 else of_interaction.get(row[0], 1.0) for row in rows]
            for rows in batches
        ]
        if number < 2:
            continue
        positives = [row for batch in batches for row in batch if row[0] >= 0]
        rank = even_ranks(means(positives, 1))
        for user, place in rank.items():
            temperature, of_user[user] = 0.2 + 0.3 * place, 0.5 - 0.5 * place
            own = [row for row in positives if row[1] == user]
            total = sum(math.exp(-row[3] / temperature) for row in own)
            for row in own:
                softmax = math.exp(-row[3] / temperature) / total
                of_interaction[row[0]] = of_user[user] * len(own) * softmax
    return expected


def test_weights_are_those_of_the_study_written_out():
    given, _ = run(UDT(context=context()), epochs(5))
    for weights, expected in zip(given, written_out(epochs(5)), strict=True):
        assert weights == pytest.approx(expected, abs=1e-6)


def test_the_first_two_epochs_are_plain():
    given, _ = run(UDT(context=context()), epochs(3))
    assert {weight for weights in given[:6] for weight in weights} == {1.0}
    assert min(weight for weights in given[6:] for weight in weights) < 1


@pytest.mark.parametrize("options", [{"low_temperature": 0}, {"high_factor": -1}, {"plain_epochs": 0}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        UDT(**options, context=context())
