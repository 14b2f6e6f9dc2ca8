"""The contract of a learner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor

from recsieve.cores import one_thread
from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.denoisers import KeepAll
from recsieve.errors import RunError
from recsieve.models import Fitting, Learner, Run, Scorer
from recsieve.testing.promises import close, generator, promise, through_a_file, tiny_split
from recsieve.testing.scorers import all_scores, check_scorer

_FEW_OF = 3  # the first users and items, which are left without interactions


def check_learner(learner: Learner) -> None:
    """Check a learner: how it is fitted, its model, its state, its use of weights, and that it resumes."""
    train = tiny_split().train
    promise(learner.accepts(KeepAll), "a learner accepts keep-all, which changes nothing.")
    with one_thread():
        fitted, losses = _fit(learner, train)
        check_scorer(fitted)
        _check_state(learner, train, fitted)
        _check_resuming(learner, train, fitted, losses)
        _check_looking(learner, train, fitted)
        _check_weights(learner, train, fitted)
        few = train.take((train.users >= _FEW_OF) & (train.items >= _FEW_OF))
        scores = all_scores(_fit(learner, few)[0])
        promise(scores.isfinite().all(), "users and items without interactions are no trouble.")
        torch.set_num_threads(2)
        promise(
            close(all_scores(_fit(learner, train)[0]), all_scores(fitted), rtol=1e-3, atol=1e-3),
            "the number of threads changes scores by no more than rounding.",
        )


def begin(learner: Learner, train: Interactions) -> Fitting:
    return learner.begin(Split.of_training(train), Run(3, lambda context: KeepAll()))


def _fit(learner: Learner, train: Interactions) -> tuple[Scorer, list[float]]:
    """The model, and the losses on the way to it."""
    fitting = begin(learner, train)
    promise(
        fitting.step == 0 and fitting.total >= 1 and fitting.steps_per_epoch >= 1,
        "a fitting begins at step 0, with a total of 1 or more and 1 or more steps an epoch.",
    )
    losses = list(_advance(fitting, fitting.total))
    return fitting.scorer().prepare(), losses


def _advance(fitting: Fitting, until: int) -> Iterator[float]:
    while fitting.step < until:
        before = fitting.step
        yield fitting.advance()
        promise(before < fitting.step <= fitting.total, "advance goes on by a step or more, and not beyond the total.")


def _check_state(learner: Learner, train: Interactions, fitted: Scorer) -> None:
    """Through a safetensors file as it is, and damaged."""
    state = load(save({name: tensor.contiguous() for name, tensor in fitted.state_dict().items()}))
    restored = learner.restore(train, dict(state))
    promise(torch.equal(all_scores(restored), all_scores(fitted)), "a restored model gives the same scores to the bit.")
    check_scorer(restored)
    for name, tensor in state.items():
        missing = {key: value for key, value in state.items() if key != name}
        promise(
            _refused(learner, train, missing), f"restore refuses a state without '{name}', by a RunError of one line."
        )
        for what, damaged in _damages(tensor):
            promise(
                _refused(learner, train, state | {name: damaged}),
                f"restore refuses a state in which '{name}' {what}, by a RunError of one line.",
            )


def _damages(tensor: Tensor) -> Iterator[tuple[str, Tensor]]:
    yield "has another type", tensor.double() if tensor.dtype != torch.float64 else tensor.float()
    if tensor.dim():
        yield "is too short", tensor[:-1].clone()
    yield "has a dimension more", tensor[None].repeat(2, *(1 for _ in tensor.shape))


def _refused(learner: Learner, train: Interactions, state: dict[str, Tensor]) -> bool:
    try:
        learner.restore(train, state)
    except RunError as error:
        return "\n" not in str(error)
    except Exception:
        return False
    return False


def _check_resuming(learner: Learner, train: Interactions, fitted: Scorer, losses: list[float]) -> None:
    """Stop in the middle, and go on with another fitting; a closed form is computed again."""
    stopped, resumed = begin(learner, train), begin(learner, train)
    said = list(_advance(stopped, stopped.total // 2))
    resumed.load_state_dict(through_a_file(stopped.state_dict()))
    promise(resumed.step == stopped.step, "a fitting that takes up a state is at the step where that was saved.")
    said += _advance(resumed, resumed.total)
    same = torch.equal(all_scores(resumed.scorer().prepare()), all_scores(fitted))
    promise(
        same and np.array_equal(said, losses, equal_nan=True),
        "a fitting that was stopped and goes on from its state_dict, and one of the same seed, give the same losses "
        "and scores to the bit.",
    )


def _check_looking(learner: Learner, train: Interactions, fitted: Scorer) -> None:
    """Score in the middle, as validation does; tables that are lazy are rounded there once more."""
    fitting = begin(learner, train)
    for until in (fitting.total // 2, fitting.total):
        list(_advance(fitting, until))
        scores = all_scores(fitting.scorer().prepare())
    promise(
        close(scores, all_scores(fitted), rtol=1e-3, atol=1e-3),
        "scores are of the step that a fitting is at, and looking at them on the way changes it only by rounding.",
    )


def _check_weights(learner: Learner, train: Interactions, fitted: Scorer) -> None:
    ones = replace(train, weight=np.ones(len(train), np.float32))
    promise(
        torch.equal(all_scores(_fit(learner, ones)[0]), all_scores(fitted)),
        "weights of 1 are the same as none, to the bit.",
    )
    some = torch.rand(len(train), generator=generator()).numpy()
    promise(
        not close(all_scores(_fit(learner, replace(train, weight=some))[0]), all_scores(fitted), rtol=0, atol=0),
        "the weights of interactions change what is fitted.",
    )
