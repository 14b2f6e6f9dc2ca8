from itertools import pairwise

import numpy as np
import pytest

from recsieve import Recommender
from recsieve.audit.pair_noise import PairNoise
from recsieve.audit.pair_scores import PairScores
from recsieve.auto import contest as contests
from recsieve.auto.noise import NoiseEstimate
from recsieve.auto.recipes import RECIPES, WEIGHTED
from recsieve.data.interactions import UNKNOWN
from recsieve.errors import ConfigError
from recsieve.training import Began

QUICK = {"epochs": 2, "batch_size": 64, "select_by": "ndcg@5"}


@pytest.fixture
def seen_labels(monkeypatch):
    """Put a quick estimate in the place of the audit's; gives how many labels each was told."""
    told = []

    def estimate(train, seed, *, control, cache):
        told.append(int((train.false_positive != UNKNOWN).sum()))
        rng = np.random.default_rng(seed)
        shapes = (train.n_users, train.n_items, (train.n_users, 2), (train.n_items, 2))
        pairs = PairNoise(PairScores(*(rng.normal(0, 1, shape).astype(np.float32) for shape in shapes)))
        return NoiseEstimate(pairs.probability(train.users, train.items), pairs), "made up."

    monkeypatch.setattr(contests, "estimate_noise", estimate)
    return told


def test_with_labels_weights_and_offsets_by_p_compete_too(split, seen_labels):
    contest = Recommender("gmf", "auto", **QUICK).contest(split)
    assert seen_labels == [len(split.train)]
    assert list(contest.fitted) == [recipe.name for recipe in (*RECIPES, WEIGHTED)]
    kinds = {(one.training, one.gamma != 0, one.noise) for one in contest.choice.candidates}
    assert len(kinds) == len(contest.choice.candidates) == 5 * 4
    assert contest.choice.criterion == "expected clean NDCG@5"


def test_without_labels_nothing_asks_for_p(split, seen_labels):
    contest = Recommender("gmf", "auto", denoiser_options={"labels": 0}, **QUICK).contest(split)
    assert seen_labels == []
    assert len(contest.choice.candidates) == 4 * 2
    assert not any(one.noise for one in contest.choice.candidates)
    assert contest.choice.criterion == "NDCG@5"


def test_only_the_share_of_labels_that_may_be_seen_is_used(split, seen_labels):
    Recommender("gmf", "auto", denoiser_options={"labels": 0.3}, **QUICK).contest(split)
    assert 0.15 * len(split.train) < seen_labels[0] < 0.45 * len(split.train)


def test_it_is_told_what_is_being_done(split, seen_labels):
    events = []
    Recommender("gmf", "auto", **QUICK).fit(split, progress=events.append)
    begun = [event for event in events if isinstance(event, Began)]
    assert [event.number for event in begun] == [1, 2, 3, 4, 5, 6]
    assert {event.total for event in begun} == {6}


def test_a_choice_that_was_stopped_goes_on_where_it_was(split, seen_labels, tmp_path):
    path = tmp_path / "state.safetensors"
    whole = Recommender("gmf", "auto", **QUICK).fit(split)

    class Stopped(Exception):
        pass

    def stop(event):
        if isinstance(event, Began) and event.number == 4:
            raise Stopped

    with pytest.raises(Stopped):
        Recommender("gmf", "auto", **QUICK).fit(split, checkpoint=path, progress=stop)
    events = []
    resumed = Recommender("gmf", "auto", **QUICK).fit(split, checkpoint=path, resume=True, progress=events.append)
    assert resumed.choice == whole.choice
    assert resumed.recommend(k=5).equals(whole.recommend(k=5))
    finished = [one for one, after in pairwise(events) if isinstance(one, Began) and isinstance(after, Began)]
    assert {"CE", "T-CE 10 %"} <= {event.name for event in finished}  # no steps were left to make


def test_auto_judges_by_itself_and_needs_validation(split):
    from dataclasses import replace

    with pytest.raises(ConfigError, match="neither judge nor memory"):
        Recommender(denoiser="auto").fit(split, judge=lambda training: 0.0)
    with pytest.raises(ConfigError, match="there is none"):
        Recommender(denoiser="auto").fit(replace(split, validation=split.validation.take(slice(0, 0))))
