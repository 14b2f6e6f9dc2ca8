import torch
from scipy.stats import chisquare

from recsieve.denoisers import LossBatch, RandomDrop
from recsieve.denoisers.random_drop import mix

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


def mixed_in_plain_python(x):
    x = (x ^ (x >> 32)) % 2**32
    for _ in range(2):
        x = ((x ^ (x >> 16)) * 0x45D9F3B) % 2**32
    return x ^ (x >> 16)


def test_the_hash_is_that_of_plain_whole_numbers():
    counters = [0, 1, 2, 59, 2**16 + 3, 2**31 + 7, 2**32 - 1, 2**40 + 5]
    assert mix(torch.tensor(counters)).tolist() == [mixed_in_plain_python(counter) for counter in counters]


def test_what_goes_is_what_the_hash_of_seed_step_and_id_ranks_highest():
    ids, seed, step = torch.arange(N) + 100, 3, 5
    key = mixed_in_plain_python(mixed_in_plain_python(seed) + step)
    ranks = [mixed_in_plain_python(mixed_in_plain_python(int(one)) ^ key) for one in ids]
    highest = set(sorted(range(N), key=lambda place: -ranks[place])[: N // 5])
    assert set(dropped(step, ids, seed).nonzero().flatten().tolist()) == highest


def test_without_a_seed_it_is_0_and_without_ids_they_are_places():
    batch = LossBatch(torch.zeros(N), torch.ones(N), 1)
    assert torch.equal(RandomDrop(0.2, 1).weights(batch) == 0, dropped(1, torch.arange(N), seed=0))
