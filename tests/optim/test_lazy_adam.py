"""LazyAdam is Adam: the same losses and parameters, whatever rows a batch reads."""

import copy
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from recsieve.errors import ConfigError, RunError
from recsieve.optim import LAZY_ROWS, LazyAdam, lazy_adam, make_adam

USERS, ITEMS, FACTORS = 60, 90, 8


@pytest.fixture(autouse=True)
def one_thread():
    """Tables this small are slower with several."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Product(nn.Module):
    """A weighted product of a user and an item vector, and an offset for each item."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.user = nn.Embedding(USERS, FACTORS, sparse=sparse)
        self.item = nn.Embedding(ITEMS, FACTORS, sparse=sparse)
        self.offset = nn.Embedding(ITEMS, 1, sparse=sparse)
        self.output = nn.Linear(FACTORS, 1)

    def forward(self, users, items):
        return (self.output(self.user(users) * self.item(items)) + self.offset(items)).squeeze(-1)


def twins():
    """The same model twice, with sparse and with dense gradients."""
    torch.manual_seed(0)
    sparse, dense = Product(sparse=True), Product(sparse=False)
    dense.load_state_dict(sparse.state_dict())
    return sparse, dense


def batches(n, seed=1, size=6):
    """Small batches in which some rows repeat and most are missing; half of the items are rare."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(n):
        items = (ITEMS * torch.rand(size, generator=generator) ** 3).long()
        yield torch.randint(USERS, (size,), generator=generator), items, torch.rand(size, generator=generator).round()


def train(model, optimizer, data, scheduler=None):
    losses = []
    for users, items, labels in data:
        loss = binary_cross_entropy_with_logits(model(users, items), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        losses.append(loss.item())
    return losses


def assert_same_parameters(one, other, tolerance):
    for (name, parameter), twin in zip(one.named_parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(parameter.detach(), twin.detach(), rtol=0, atol=tolerance, err_msg=name)


def cosine(optimizer):
    return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)


def test_it_equals_torch_adam_in_losses_and_parameters():
    sparse, dense = twins()
    lazy, plain = LazyAdam(sparse.parameters(), lr=0.01).watch(sparse), torch.optim.Adam(dense.parameters(), lr=0.01)
    np.testing.assert_allclose(train(sparse, lazy, batches(800)), train(dense, plain, batches(800)), rtol=0, atol=2e-6)
    lazy.flush()
    assert_same_parameters(sparse, dense, 2e-5)


def test_sparse_adam_of_torch_is_another_optimiser():
    sparse, dense = twins()
    other, plain = (
        torch.optim.SparseAdam([sparse.user.weight, sparse.item.weight, sparse.offset.weight], lr=0.01),
        torch.optim.Adam(dense.parameters(), lr=0.01),
    )
    difference = np.subtract(train(sparse, other, batches(300)), train(dense, plain, batches(300)))
    assert np.abs(difference).max() > 0.05


def test_a_schedule_counts_with_the_learning_rate_of_each_missed_step():
    sparse, dense = twins()
    lazy, plain = LazyAdam(sparse.parameters(), lr=0.01).watch(sparse), torch.optim.Adam(dense.parameters(), lr=0.01)
    lazy_losses = train(sparse, lazy, batches(300), cosine(lazy))
    np.testing.assert_allclose(lazy_losses, train(dense, plain, batches(300), cosine(plain)), rtol=0, atol=1e-5)
    lazy.flush()
    assert_same_parameters(sparse, dense, 1e-5)


def test_a_table_may_be_read_several_times_in_a_step():
    sparse, dense = twins()
    lazy, plain = LazyAdam(sparse.parameters()).watch(sparse), torch.optim.Adam(dense.parameters())
    for users, items, _ in batches(200):
        for model, optimizer in ((sparse, lazy), (dense, plain)):
            optimizer.zero_grad()
            (model(users, items) - model(users, items.flip(0)) * 2).square().mean().backward()
            model(users=users.view(2, 3), items=items.view(2, 3)).square().mean().backward()
            optimizer.step()
    lazy.flush()
    assert_same_parameters(sparse, dense, 1e-5)


def test_bags_are_lazy_too():
    torch.manual_seed(0)
    sparse, dense = (nn.EmbeddingBag(30, 4, mode="sum", sparse=sparse) for sparse in (True, False))
    dense.load_state_dict(sparse.state_dict())
    lazy, plain = LazyAdam(sparse.parameters()).watch(sparse), torch.optim.Adam(dense.parameters())
    for _, items, _ in batches(100):
        for bag, optimizer in ((sparse, lazy), (dense, plain)):
            optimizer.zero_grad()
            bag(items % 30, torch.tensor([0, 2, 5])).square().sum().backward()
            optimizer.step()
    lazy.flush()
    assert_same_parameters(sparse, dense, 1e-5)


def test_a_table_without_gradient_in_a_step_stands_still_as_in_torch():
    sparse, dense = twins()
    for model, optimizer in (
        (sparse, LazyAdam(sparse.parameters()).watch(sparse)),
        (dense, torch.optim.Adam(dense.parameters())),
    ):
        train(model, optimizer, batches(20))
        for users, _, _ in batches(20, seed=2):
            optimizer.zero_grad()
            model.user(users).square().sum().backward()
            optimizer.step()
        train(model, optimizer, batches(20, seed=3))
        if isinstance(optimizer, LazyAdam):
            optimizer.flush()
    assert_same_parameters(sparse, dense, 1e-5)


def through_a_file(state):
    """A state written as safetensors, which takes nothing but tensors, and read again."""
    tensors = {f"{number}.{name}": value for number, values in state["state"].items() for name, value in values.items()}
    restored = {number: {} for number in state["state"]}
    for name, tensor in load(save(tensors)).items():
        number, _, name = name.partition(".")
        restored[int(number)][name] = tensor
    return {"state": restored, "param_groups": copy.deepcopy(state["param_groups"])}


def test_a_resumed_run_gives_the_same_bits_as_one_that_never_stopped():
    model, _ = twins()
    optimizer = LazyAdam(model.parameters(), lr=0.01).watch(model)
    schedule = cosine(optimizer)
    train(model, optimizer, batches(150), schedule)
    weights, state = copy.deepcopy(model.state_dict()), through_a_file(optimizer.state_dict())
    train(model, optimizer, batches(150, seed=2), schedule)

    resumed, _ = twins()
    again = LazyAdam(resumed.parameters(), lr=0.5).watch(resumed)
    schedule_again = cosine(again)
    resumed.load_state_dict(weights)
    again.load_state_dict(state)
    schedule_again.last_epoch = 150
    train(resumed, again, batches(150, seed=2), schedule_again)

    assert_same_parameters(resumed, model, 0)
    optimizer.flush()
    again.flush()
    assert_same_parameters(resumed, model, 0)


@pytest.mark.parametrize("lazy_first", [True, False])
def test_a_run_goes_on_where_tables_are_no_longer_lazy_or_newly_so(lazy_first):
    sparse, dense = twins()
    first, second = (sparse, dense) if lazy_first else (dense, sparse)
    _, reference = twins()
    train(reference, torch.optim.Adam(reference.parameters(), lr=0.01), [*batches(150), *batches(150, seed=2)])

    optimizer = LazyAdam(first.parameters(), lr=0.01).watch(first)
    train(first, optimizer, batches(150))
    second.load_state_dict(first.state_dict())
    again = LazyAdam(second.parameters(), lr=0.01).watch(second)
    again.load_state_dict(through_a_file(optimizer.state_dict()))
    train(second, again, batches(150, seed=2))
    again.flush()
    assert_same_parameters(second, reference, 2e-5)


def test_saving_the_state_changes_nothing():
    models = [twins()[0], twins()[0]]
    for save_state, model in zip((True, False), models, strict=True):
        optimizer = LazyAdam(model.parameters()).watch(model)
        for batch in batches(50):
            train(model, optimizer, [batch])
            if save_state:
                optimizer.state_dict()
    assert_same_parameters(*models, 0)


def test_reading_without_watching_is_an_error_and_not_a_wrong_result():
    model, _ = twins()
    with pytest.raises(ConfigError, match=r"call optimizer\.watch\(model\)"):
        train(model, LazyAdam(model.parameters()), batches(2))


def test_a_schedule_of_betas_is_an_error_and_not_a_wrong_result():
    model, _ = twins()
    optimizer = LazyAdam(model.parameters()).watch(model)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=10)
    with pytest.raises(ConfigError, match="cycle_momentum=False"):
        train(model, optimizer, batches(3), schedule)


def test_rows_may_be_brought_up_to_date_by_hand():
    sparse, dense = twins()
    lazy, plain = LazyAdam(sparse.parameters()), torch.optim.Adam(dense.parameters())
    for batch in batches(50):
        for table, rows in ((sparse.user, batch[0]), (sparse.item, batch[1]), (sparse.offset, batch[1].int())):
            lazy.catch_up(table.weight, rows)
        train(sparse, lazy, [batch])
        train(dense, plain, [batch])
    lazy.flush()
    assert_same_parameters(sparse, dense, 1e-5)


def test_gradients_of_rows_may_be_given_without_sparse_tensors():
    sparse, twin = twins()[0], twins()[0]
    usual, direct = LazyAdam(sparse.parameters()).watch(sparse), LazyAdam(twin.parameters()).watch(twin)
    for batch in batches(50):
        train(sparse, usual, [batch])
        direct.zero_grad()
        binary_cross_entropy_with_logits(twin(*batch[:2]), batch[2]).backward()
        tables = [twin.user.weight, twin.item.weight, twin.offset.weight]
        direct.step_on_rows([(table, table.grad._indices()[0].int(), table.grad._values()) for table in tables])
    assert_same_parameters(sparse, twin, 0)


def test_a_table_that_is_read_whole_at_some_steps_is_an_error():
    table = nn.Embedding(5, 2, sparse=True)
    optimizer = LazyAdam(table.parameters()).watch(table)
    table(torch.tensor([1])).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    table.weight.square().sum().backward()
    with pytest.raises(ConfigError, match="by lookups only"):
        optimizer.step()


def test_a_dense_gradient_at_every_step_is_updated_as_by_adam():
    sparse, dense = twins()
    for model, optimizer in (
        (sparse, LazyAdam(sparse.parameters(), lr=0.01).watch(sparse)),
        (dense, torch.optim.Adam(dense.parameters(), lr=0.01)),
    ):
        for users, items, _ in batches(5):
            optimizer.zero_grad()
            (model(users, items).sum() + model.item.weight.square().sum()).backward()
            optimizer.step()
    assert not sparse.item.weight.grad.is_sparse
    torch.testing.assert_close(sparse.item.weight, dense.item.weight)


def test_torch_clips_dense_gradients_only_as_the_page_says():
    model, _ = twins()
    users, items, _ = next(batches(1))
    model(users, items).sum().backward()
    clip = nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_
    page = (Path(__file__).parents[2] / "docs" / "lazy-adam.md").read_text(encoding="utf-8")
    for one in clip:
        assert f"`{one.__name__}`" in page
        with pytest.raises(NotImplementedError, match="SparseCPU"):
            one(model.parameters(), 1.0)
    nn.utils.clip_grad_norm_(model.output.parameters(), 1e-3)
    assert model.output.weight.grad.norm() <= 1e-3


def test_a_closure_is_evaluated_and_its_loss_given_back():
    table = nn.Embedding(5, 2, sparse=True)
    optimizer = LazyAdam(table.parameters()).watch(table)

    def closure():
        loss = table(torch.tensor([1])).square().sum()
        loss.backward()
        return loss

    assert optimizer.step(closure) > 0


@pytest.mark.parametrize("wrong", [{"lr": -1.0}, {"betas": (0.9, 1.0)}, {"eps": 0.0}])
def test_numbers_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ConfigError, match=r"give"):
        LazyAdam(nn.Linear(1, 1).parameters(), **wrong)


def test_auto_is_lazy_for_large_tables_and_dense_for_small_ones():
    model = nn.ModuleList(
        [
            nn.Embedding(LAZY_ROWS, 1, sparse=True),
            nn.Embedding(LAZY_ROWS - 1, 1, sparse=True),
            nn.Embedding(LAZY_ROWS, 1),
        ]
    )
    make_adam(model, lr=0.1)
    assert [table.sparse for table in model] == [True, False, False]  # what is declared dense stays so


@pytest.mark.parametrize("kind", ["auto", "lazy", "dense"])
def test_every_kind_gives_the_same_model(kind):
    model, plain_model = twins()
    optimizer = make_adam(model, lr=0.01, kind=kind)
    assert model.user.sparse == (kind == "lazy")
    train(model, optimizer, batches(100))
    train(plain_model, torch.optim.Adam(plain_model.parameters(), lr=0.01), batches(100))
    optimizer.flush()
    assert_same_parameters(model, plain_model, 1e-5)


def test_without_numba_every_table_is_dense(monkeypatch):
    monkeypatch.setattr(lazy_adam, "adam_rows", None)
    table = nn.Embedding(LAZY_ROWS, 1, sparse=True)
    optimizer = make_adam(table, lr=0.1)
    table(torch.tensor([0])).sum().backward()
    optimizer.step()
    optimizer.flush()
    assert not table.sparse
    with pytest.raises(ConfigError, match="needs numba"):
        make_adam(nn.Embedding(LAZY_ROWS, 1, sparse=True), lr=0.1, kind="lazy")


def test_an_unknown_kind_is_an_error_with_a_hint():
    with pytest.raises(ConfigError, match="did you mean 'lazy'"):
        make_adam(nn.Embedding(2, 1), lr=0.1, kind="lasy")


def test_a_model_does_not_keep_its_optimizer_alive():
    model, _ = twins()
    train(model, LazyAdam(model.parameters()).watch(model), batches(3))
    assert model(torch.tensor([0]), torch.tensor([0])).isfinite().all()


def test_the_page_about_it_runs():
    page = Path(__file__).parents[2] / "docs" / "lazy-adam.md"
    for snippet in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(snippet, page.name, "exec"), {})


@pytest.mark.parametrize("wrong", [{"eps": "1e-8"}, {"lr": None}, {"betas": [0.9]}, {"betas": ["0.9", 0.999]}])
def test_saved_options_that_are_no_numbers_are_refused(wrong):
    optimizer = LazyAdam(nn.Linear(1, 1).parameters())
    state = optimizer.state_dict()
    state["param_groups"][0] |= wrong
    with pytest.raises(RunError, match="options that are not numbers"):
        optimizer.load_state_dict(state)
