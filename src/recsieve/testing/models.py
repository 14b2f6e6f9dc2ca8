"""The contract of a model that is trained by gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from recsieve.cores import one_thread
from recsieve.models import Model
from recsieve.objectives import BCE, Objective
from recsieve.testing.learners import begin, check_learner
from recsieve.testing.promises import close, generator, promise, tiny_split
from recsieve.testing.scorers import all_scores, check_scorer
from recsieve.training import TrainingPlan
from recsieve.training.learner import GradientLearner
from recsieve.training.steps import Engine


def check_model(
    kind: type[Model], options: Mapping[str, Any] | None = None, objective: Objective | None = None
) -> None:
    """Check a model class with some options: its scores, gradients and state, and a training with an objective.

    The objective is `BCE()` unless another is given.
    """
    options, objective = options or {}, objective or BCE()
    train = tiny_split().train
    promise(issubclass(kind, Model), "a model that is trained by gradients is a recsieve.models.Model.")
    one, two = (kind(train.profiles, generator(7), **options).state_dict() for _ in range(2))
    promise(
        one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one),
        "a model begins with numbers of the generator that it is given, and with no others.",
    )
    with one_thread():
        model = _far_from_zero(kind(train.profiles, generator(), **options))
        check_scorer(model)
        _check_forward(model)
        _check_modes(model)
        _check_gradients(model)
        _check_engines(kind, options, objective)
    check_learner(_learner(kind, options, objective))


def _far_from_zero(model: Model) -> Model:
    """Weights at which a mistake in a formula shows."""
    random = generator(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.5, generator=random)
    return model.eval().prepare()


def _check_forward(model: Model) -> None:
    users = torch.tensor([3, 0, 7, 3])
    pairs = users.repeat_interleave(model.n_items), torch.arange(model.n_items).repeat(len(users))
    found = model(*pairs)
    promise(
        found.shape == pairs[0].shape, f"forward gives one score a pair: of (n,) and (n,) came {tuple(found.shape)}."
    )
    scores = model.score(users)
    # Sums of large terms are rounded by their size, also where the score is small: how, depends on the processor.
    rounding = max(1e-5, 3e-6 * float(scores.detach().abs().max()))
    promise(
        close(found.detach().view(len(users), -1), scores, atol=rounding),
        "the scores of all items are those that forward gives the pairs.",
    )
    promise(close(model(*(rows.int() for rows in pairs)), found), "indices may be int32 as well as int64.")
    for n in (0, 1):
        promise(model(*(rows[:n] for rows in pairs)).shape == (n,), f"a batch of {n} gives {n} scores.")


def _check_modes(model: Model) -> None:
    model.train()
    model.score(torch.tensor([0]))
    promise(model.training, "scoring leaves the training mode as it was.")
    model.eval()


def _check_gradients(model: Model) -> None:
    model.train()
    scores = model(torch.tensor([1, 2]), torch.tensor([3, 4]))
    promise(scores.requires_grad, "scores have gradients in training.")
    scores.sum().backward()
    for weight in model.parameters():
        promise(weight.grad is None or _values(weight.grad).isfinite().all(), "gradients are finite.")
    for table in model.modules():
        if isinstance(table, nn.Embedding | nn.EmbeddingBag) and table.sparse and table.weight.grad is not None:
            promise(
                table.weight.grad.is_sparse,
                "an embedding with sparse=True is read by lookups only; one that is read as a whole has sparse=False.",
            )
    model.zero_grad()
    model.eval()


def _values(gradient: Tensor) -> Tensor:
    return gradient._values() if gradient.is_sparse else gradient


def _learner(
    kind: type[Model], options: Mapping[str, Any], objective: Objective, engine: Engine = "auto"
) -> GradientLearner:
    plan = TrainingPlan(epochs=3, batch_size=32, learning_rate=0.01, engine=engine)
    return GradientLearner(kind, options, plan, objective)


def _check_engines(kind: type[Model], options: Mapping[str, Any], objective: Objective) -> None:
    """Torch's Adam, rows that are updated when they are read, and float64 as on the ranks of torchrun."""
    engines: tuple[Engine, ...] = ("dense", "lazy", "exact")
    train = tiny_split().train
    scores = {
        engine: all_scores(begin(_learner(kind, options, objective, engine), train).finish()) for engine in engines
    }
    for engine, found in scores.items():
        promise(
            close(found, scores["dense"], rtol=1e-3, atol=1e-3),
            f"the engine '{engine}' trains to the same scores as 'dense', to rounding.",
        )
