import pytest
import torch

from recsieve.denoisers import Context, LeastPopularDrop, LossBatch, RandomDrop, Truncated

CONTEXT = Context(9, 1000, 499_500, torch.arange(1000), steps_per_epoch=1, losses_per_positive=2)


@pytest.mark.parametrize("fidelity", ["paper", "authors"])
def test_truncated_and_its_controls_drop_equally_many_at_every_step(fidelity):
    labels = (torch.arange(200) % 3 == 0).float()
    losses = torch.rand(200, generator=torch.Generator().manual_seed(0))
    options = {"max_drop_rate": 0.2, "ramp_steps": 20, "fidelity": fidelity}
    strategies = [Truncated(**options), RandomDrop(**options), LeastPopularDrop(**options, context=CONTEXT)]
    for step in (1, 7, 19, 20, 21, 500):
        batch = LossBatch(losses, labels, step, items=torch.arange(200))
        kept = [strategy.weights(batch).sum().item() for strategy in strategies]
        assert len(set(kept)) == 1


def test_a_strategy_shows_the_options_that_it_was_given():
    assert repr(Truncated(0.1, 7)) == "Truncated(max_drop_rate=0.1, ramp_steps=7, fidelity='paper', exponent=1.0)"
    shown = repr(LeastPopularDrop(0.1, 7, context=CONTEXT))
    assert shown == "LeastPopularDrop(max_drop_rate=0.1, ramp_steps=7, fidelity='paper', exponent=1.0)"
