import math

import pytest
import torch

from recsieve.denoisers import PLD
from recsieve.errors import ConfigError
from tests.denoisers.courses import STEPS, context


def test_what_is_taken_follows_the_softmax_of_the_papers_equation_written_out():
    losses = torch.tensor([[0.3, 0.1, 0.25, 0.7, 0.1]]).repeat(1000, 1)
    draws = (torch.arange(1000) + 0.5) / 1000  # one in each thousandth
    taken = PLD(context=context()).choose(losses, draws)
    powers = [math.exp(-loss / 0.1) for loss in losses[0].tolist()]
    for place, power in enumerate(powers):
        assert int((taken == place).sum()) == pytest.approx(1000 * power / sum(powers), abs=1)


def test_the_first_epochs_are_plain():
    strategy = PLD(plain_epochs=2, context=context())
    assert [strategy.n_candidates(step) for step in (1, 2 * STEPS, 2 * STEPS + 1)] == [0, 0, 5]


@pytest.mark.parametrize("options", [{"pool_size": 0}, {"choice_temperature": 0.0}, {"plain_epochs": -1}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        PLD(**options, context=context())
