"""What holds for every model that is solved and not trained."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from recsieve.communicator import Communicator
from recsieve.data.sharing import share_out
from recsieve.denoisers import KeepAll, NegativeFeedback, Truncated
from recsieve.errors import ConfigError, DataError, RunError
from recsieve.models.ease import EASE
from recsieve.models.ials import IALS
from recsieve.models.itemknn import ItemKNN
from recsieve.models.learner import Run
from recsieve.models.popularity import Popularity
from recsieve.models.rp3beta import RP3Beta

LEARNERS = {
    "popularity": Popularity(),
    "ease": EASE(),
    "ease on targets": EASE(l2=5.0, weights="targets"),
    "cosine": ItemKNN("cosine", 5),
    "bm25": ItemKNN("bm25", 5),
    "all neighbours": ItemKNN("bm25", 0),
    "rp3beta": RP3Beta(neighbours=5),
    "ials": IALS(factors=4, sweeps=3),
}
# An interaction of weight 0 is still input where weights are on targets.
IGNORING = {name: learner for name, learner in LEARNERS.items() if name != "ease on targets"}
FOLDING = {name: learner for name, learner in LEARNERS.items() if name not in ("ials", "popularity")}
PERSONAL = FOLDING | {"ials": LEARNERS["ials"]}
each = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
seeds = st.integers(0, 10_000)


def all_scores(scorer):
    return scorer.score(torch.arange(scorer.n_users))


def profiles_of(train):
    values = np.ones(len(train), np.float32) if train.weight is None else train.weight
    return csr_array((values, (train.users, train.items)), shape=(train.n_users, train.n_items))


@pytest.mark.parametrize("learner", IGNORING.values(), ids=IGNORING)
@settings(max_examples=10)
@given(seed=seeds)
def test_an_interaction_of_weight_0_equals_its_absence(learner, seed, fit, weighted):
    train = weighted(seed=seed)
    without = all_scores(fit(learner, train.take(train.weight > 0)))
    torch.testing.assert_close(all_scores(fit(learner, train)), without, rtol=1e-5, atol=1e-5)


@each
@settings(max_examples=10)
@given(seed=seeds)
def test_weights_of_1_equal_none_to_the_bit(learner, seed, fit, small_data):
    train = small_data(seed=seed)
    ones = replace(train, weight=np.ones(len(train), np.float32))
    assert torch.equal(all_scores(fit(learner, train)), all_scores(fit(learner, ones)))


@each
def test_a_damaged_state_is_refused_in_one_line(learner, fit, small_data):
    train = small_data()
    state = fit(learner, train).state_dict()
    for name, tensor in state.items():
        for damaged in (tensor[:-1], tensor.double(), torch.full_like(tensor, -1) if tensor.dtype != torch.float32
                        else torch.full_like(tensor, torch.nan)):  # fmt: skip
            with pytest.raises(RunError, match=r"\A[^\n]+\Z"):
                learner.restore(train, state | {name: damaged})
        with pytest.raises(RunError, match=f"has no '{name}'"):
            learner.restore(train, {key: value for key, value in state.items() if key != name})


@pytest.mark.parametrize("learner", FOLDING.values(), ids=FOLDING)
def test_users_that_are_folded_in_score_as_if_they_had_been_fitted(learner, fit, weighted):
    train = weighted()
    scorer = fit(learner, train)
    assert torch.equal(all_scores(scorer.fold_in(profiles_of(train))), all_scores(scorer))


@pytest.mark.parametrize("learner", PERSONAL.values(), ids=PERSONAL)
def test_profiles_that_would_be_read_outside_of_memory_are_refused(learner, fit, small_data):
    scorer = fit(learner, small_data())
    outside = csr_array(np.ones((1, 20), np.float32))
    outside.indices[3] = 99
    for profiles in (csr_array((2, 21)), outside, csr_array(np.full((1, 20), -1.0)), csr_array([[np.nan] * 20])):
        with pytest.raises(DataError, match="profiles"):
            scorer.fold_in(profiles)


@pytest.mark.parametrize("learner", PERSONAL.values(), ids=PERSONAL)
def test_users_that_do_not_exist_are_refused(learner, fit, small_data):
    scorer = fit(learner, small_data())
    with pytest.raises(IndexError):
        scorer.score(torch.tensor([30]))


@pytest.mark.parametrize("learner", [learner for name, learner in LEARNERS.items() if "ease" not in name])
def test_the_number_of_threads_changes_no_bit(learner, fit, weighted):
    train, n_threads = weighted(), torch.get_num_threads()
    scores = []
    for n in (1, 3):
        torch.set_num_threads(n)
        scores.append(all_scores(fit(learner, train)))
    torch.set_num_threads(n_threads)
    assert torch.equal(*scores)


class OfOneProcess(Popularity):
    on_ranks = False


def test_a_model_that_does_not_say_that_it_works_on_ranks_is_refused_there(split):
    with pytest.raises(ConfigError, match="OfOneProcess is fitted by one process, but 2 were started"):
        OfOneProcess().begin(split, Run(0, lambda context: KeepAll(), Communicator(0, 2)))


@each
@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize("weights", [False, True])
def test_ranks_give_the_scores_of_one_process_each_for_its_own_users(
    learner, n_ranks, weights, fit, weighted, in_ranks
):
    data = weighted(40, 25)
    data = data if weights else replace(data, weight=None)

    def work(group):
        train = share_out(data, group)
        scores = all_scores(fit(learner, train))
        return scores[np.unique(train.users)], np.unique(train.users)

    alone = all_scores(fit(learner, data))
    for scores, users in in_ranks(n_ranks, work):
        torch.testing.assert_close(scores, alone[users], rtol=1e-4, atol=1e-6)
        for own, of_one in zip(scores, alone[users], strict=True):
            assert own.topk(5).indices.tolist() == of_one.topk(5).indices.tolist()


@each
def test_all_ranks_have_the_same_state(learner, fit, weighted, in_ranks):
    states = in_ranks(3, lambda group: fit(learner, share_out(weighted(40, 25), group)).state_dict())
    for state in states[1:]:
        assert all(torch.equal(state[name], tensor) for name, tensor in states[0].items())


@pytest.mark.parametrize("learner", [LEARNERS["cosine"], LEARNERS["all neighbours"], LEARNERS["rp3beta"]])
def test_neighbours_found_on_ranks_are_those_of_one_process_to_the_bit(learner, fit, weighted, in_ranks):
    alone = fit(learner, weighted(3, 25)).state_dict()  # with fewer users than ranks
    for state in in_ranks(4, lambda group: fit(learner, share_out(weighted(3, 25), group)).state_dict()):
        assert all(torch.equal(state[name], tensor) for name, tensor in alone.items())


@each
def test_no_learner_takes_a_strategy_that_needs_labels_and_only_sweeps_take_one_that_looks_at_losses(learner):
    assert learner.accepts(KeepAll)
    assert not learner.accepts(NegativeFeedback)
    assert learner.accepts(Truncated) == isinstance(learner, IALS)
