import torch
from scipy.stats import chisquare

from recsieve.denoisers import LossBatch, RandomDrop

N = 60


def dropped(step=1, ids=None, seed=0, losses=None):
    losses = torch.zeros(N) if losses is None else losses
    batch = LossBatch(losses, torch.ones(N), step, ids=ids)
    return RandomDrop(0.2, 1, seed=seed).weights(batch) == 0


def test_the_choice_does_not_look_at_the_losses():
    assert torch.equal(dropped(), dropped(losses=torch.arange(float(N))))


def test_the_same_seed_step_and_ids_give_the_same_choice_and_others_another():
    ids = torch.arange(N) + 100
    chosen = dropped(5, ids)
    assert torch.equal(chosen, dropped(5, ids))
    assert not torch.equal(chosen, dropped(6, ids))
    assert not torch.equal(chosen, dropped(5, ids + 1))
    assert not torch.equal(chosen, dropped(5, ids, seed=1))


def test_every_interaction_goes_equally_often():
    times = sum(dropped(step, torch.arange(N) * 7).int() for step in range(1, 1001))
    assert times.sum() == 1000 * 12
    assert chisquare(times.numpy()).pvalue > 0.001


def test_whether_an_interaction_goes_says_nothing_about_another_nor_about_the_next_step():
    history = torch.stack([dropped(step, torch.arange(N)) for step in range(1, 1001)]).double()
    # With a fixed number dropped pairs are correlated by −1/(N−1); the largest of 1,770 is off by about 3.5/√1000.
    pairs = torch.corrcoef(history.T)[torch.triu(torch.ones(N, N), diagonal=1) > 0]
    assert (pairs + 1 / (N - 1)).abs().max() < 0.15
    following = torch.corrcoef(torch.stack([history[:-1].flatten(), history[1:].flatten()]))[0, 1]
    assert following.abs() < 0.02
