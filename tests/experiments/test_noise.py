import numpy as np

from recsieve.experiments.noise import with_noise
from recsieve.experiments.settings import Noise


def pairs(part):
    return set(zip(part.users.tolist(), part.items.tolist(), strict=True))


def test_natural_noise_is_the_data_as_it_is(split):
    assert with_noise(split, Noise()) is split


def test_injected_noise_replaces_the_known_and_is_never_held_out(split):
    noisy = with_noise(split, Noise(mechanism="uniform", rate=0.3))
    parts = noisy.train, noisy.validation
    natural = pairs(split.train.take(split.train.is_false_positive))
    natural |= pairs(split.validation.take(split.validation.is_false_positive))
    kept = [pairs(part.take(~part.is_false_positive)) for part in parts]
    added = [pairs(part.take(part.is_false_positive)) for part in parts]
    assert not (kept[0] | kept[1]) & natural
    assert not (added[0] | added[1]) & (pairs(split.test) | pairs(split.test_false_positives))
    assert not pairs(noisy.train) & pairs(noisy.validation)
    assert noisy.test is split.test
    total = len(noisy.train) + len(noisy.validation)
    assert np.isclose((len(added[0]) + len(added[1])) / total, 0.3, atol=0.01)
    assert len(added[0]) > len(added[1]) > 0


def test_dislikes_are_the_known_false_positives(split):
    noisy = with_noise(split, Noise(mechanism="disliked", rate=0.05))
    natural = pairs(split.train.take(split.train.is_false_positive))
    natural |= pairs(split.validation.take(split.validation.is_false_positive))
    assert pairs(noisy.train.take(noisy.train.is_false_positive)) <= natural


def test_the_same_seed_injects_the_same(split):
    noise = Noise(mechanism="popular", rate=0.2)
    first, second = with_noise(split, noise), with_noise(split, noise)
    assert first.train.items.tolist() == second.train.items.tolist()
