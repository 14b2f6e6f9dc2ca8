"""LightGCN: propagation, its gradient, weights on edges, and resuming."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from recsieve.communicator import Communicator
from recsieve.data.interactions import Interactions
from recsieve.denoisers import KeepAll, Truncated
from recsieve.errors import ConfigError
from recsieve.losses import DenoisedLoss
from recsieve.models import LightGCN, Run
from recsieve.models.lightgcn import normalised_graph
from recsieve.objectives import BCE, BPR
from recsieve.sampling import Sampler
from recsieve.training import TrainingPlan
from recsieve.training.learner import GradientLearner
from recsieve.training.steps import make_stepper


def make(data, **options):
    return LightGCN(data.profiles, torch.Generator().manual_seed(0), **{"factors": 8, **options})


def weighted(data, seed=0):
    weight = np.random.default_rng(seed).random(len(data)).astype(np.float32)
    weight[::5] = 0
    return replace(data, weight=weight)


def dense_graph(data):
    """D^−½ A D^−½ by the formula, with a row and a column for each node."""
    met = np.zeros((data.n_users, data.n_items))
    met[data.users, data.items] = 1 if data.weight is None else data.weight
    graph = np.block([[np.zeros((data.n_users,) * 2), met], [met.T, np.zeros((data.n_items,) * 2)]])
    degrees = graph.sum(1)
    roots = np.where(degrees > 0, 1 / np.sqrt(np.maximum(degrees, 1e-300)), 0)
    return roots[:, None] * graph * roots


@pytest.mark.parametrize("data", [lambda make: make(), lambda make: weighted(make())], ids=["plain", "weighted"])
def test_scores_are_those_of_the_dense_formula(small_data, data):
    data = data(small_data)
    model = make(data, layers=2).eval().prepare()
    graph, vectors = dense_graph(data), model.vectors.detach().double().numpy()
    final = (vectors + graph @ vectors + graph @ graph @ vectors) / 3
    expected = torch.from_numpy(final[: data.n_users] @ final[data.n_users :].T)
    scores = model.score(torch.arange(data.n_users)).double()
    torch.testing.assert_close(scores, expected, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_equal_those_of_autograd_over_a_coo_graph(small_data, dtype):
    data = weighted(small_data())
    model = make(data, layers=3).to(dtype)
    users, items = torch.tensor([0, 3, 3, 7], dtype=torch.int32), torch.tensor([1, 2, 5, 2], dtype=torch.int32)
    slopes = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=dtype)
    (model(users, items) * slopes).sum().backward()
    graph = torch.from_numpy(normalised_graph(data.profiles).matrix.toarray()).to(dtype).to_sparse_coo()
    vectors = model.vectors.detach().clone().requires_grad_()
    layers = [vectors]
    for _ in range(3):
        layers.append(torch.sparse.mm(graph, layers[-1]))
    final = torch.stack(layers).mean(0)
    ((final[users.long()] * final[data.n_users + items.long()]).sum(-1) * slopes).sum().backward()
    torch.testing.assert_close(model.vectors.grad, vectors.grad)


def test_an_edge_of_weight_zero_is_absent_and_a_weight_of_one_is_none_to_the_bit(small_data):
    data = small_data()
    weight = (np.arange(len(data)) % 3 > 0).astype(np.float32)
    users = torch.arange(data.n_users)
    with_zeros = make(replace(data, weight=weight)).score(users)
    assert torch.equal(with_zeros, make(data.take(weight > 0)).score(users))
    assert not torch.equal(with_zeros, make(data).score(users))
    ones = replace(data, weight=np.ones(len(data), np.float32))
    assert torch.equal(make(ones).score(users), make(data).score(users))
    assert len(ones.profiles.items) == len(data)  # the graph has taken nothing out of the profiles
    assert len(replace(data, weight=weight).profiles.items) == len(data)


def fit(train, engine="auto", **plan):
    plan = TrainingPlan(**{"epochs": 3, "batch_size": 64, "checkpoint_every": 3, "engine": engine, **plan})
    return GradientLearner(LightGCN, {"factors": 8, "layers": 2}, plan, BPR()), Run(0, lambda context: KeepAll())


@pytest.mark.parametrize("engine", ["auto", "exact"])
def test_a_resumed_training_goes_on_with_the_same_bits(split, engine):
    learner, run = fit(split.train, engine)

    whole, first, rest = (learner.begin(split, run) for _ in range(3))
    while first.step % first.steps_per_epoch != 3:
        first.advance()
    first.scorer()  # a validation between changes nothing
    rest.load_state_dict(first.state_dict())
    expected, found = whole.finish().state_dict(), rest.finish().state_dict()
    assert list(expected) == ["vectors"]  # the graph is made from the data
    assert torch.equal(expected["vectors"], found["vectors"])


def test_weights_of_one_train_as_none_to_the_bit(split):
    ones = replace(split, train=replace(split.train, weight=np.ones(len(split.train), np.float32)))
    trained = []
    for data in (split, ones):
        learner, run = fit(data.train, epochs=1)
        trained.append(learner.begin(data, run).finish().vectors)
    assert torch.equal(*trained)


@pytest.mark.parametrize("objective", [BCE(), BPR()], ids=str)
def test_exact_steps_equal_those_of_autograd(small_data, objective):
    data, traces = small_data(), []
    for engine in ("dense", "exact"):
        model = make(data)
        step, _ = make_stepper(model, DenoisedLoss(Truncated(0.2, 10), objective), 1e-3, engine)
        batches = [batch for epoch in range(4) for batch in Sampler(data, seed=0).batches(epoch, 64)]
        traces.append((torch.tensor([step(batch).means[0] for batch in batches]), model.vectors.detach()))
    for one, two in zip(*traces, strict=True):
        torch.testing.assert_close(one, two, atol=1e-4, rtol=1e-4)


def test_ranking_follows_the_vectors_when_training_goes_on(split):
    learner, run = fit(split.train)
    fitting = learner.begin(split, run)
    users, scores = torch.arange(3), []
    for _ in range(2):
        fitting.advance()
        model = fitting.scorer()
        scores.append(model.score(users))
        pairs = model(users.repeat_interleave(model.n_items), torch.arange(model.n_items).repeat(3))
        torch.testing.assert_close(scores[-1].flatten(), pairs.detach())
    assert not torch.equal(*scores)


def test_a_restored_model_scores_as_the_trained_one(split):
    learner, run = fit(split.train)
    fitting = learner.begin(split, run)
    fitting.advance()
    users = torch.arange(5)
    restored = learner.restore(split.train, fitting.scorer().state_dict())
    assert torch.equal(restored.score(users), fitting.scorer().score(users))


def test_a_new_user_is_scored_as_a_fitted_one_without_a_vector_of_their_own(small_data):
    """Where the new one has no influence on items: in a graph of one layer."""
    data = weighted(small_data())
    model = make(data, layers=1).eval()
    with torch.no_grad():
        model.vectors[: data.n_users] = 0
    matrix = csr_array((data.weight, (data.users, data.items)), shape=(data.n_users, data.n_items))
    users = torch.arange(data.n_users)
    torch.testing.assert_close(model.fold_in(matrix).score(users), model.prepare().score(users))


def test_an_item_is_most_like_itself(small_data):
    assert torch.equal(make(small_data()).similar(torch.tensor([3, 7])).argmax(dim=1), torch.tensor([3, 7]))


def test_ranks_that_have_some_profiles_each_are_refused_in_one_line(split):
    shared: Interactions = replace(split.train, group=Communicator(0, 2))
    learner, run = fit(split.train)
    with pytest.raises(ConfigError, match="divided among 2 ranks: start it without torchrun"):
        learner.begin(replace(split, train=shared), run)
    with pytest.raises(ConfigError, match="without torchrun"):
        learner.restore(shared, {})


@pytest.mark.parametrize(("options", "said"), [({"layers": 0}, "layers is 0"), ({"l2": -1.0}, "l2 is -1.0")])
def test_options_out_of_range_are_told(small_data, options, said):
    with pytest.raises(ConfigError, match=said):
        make(small_data(), **options)
