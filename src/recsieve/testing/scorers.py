"""The contract of a fitted model."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.errors import ConfigError
from recsieve.models import Scorer
from recsieve.testing.promises import close, promise


def check_scorer(scorer: Scorer) -> None:
    """Check the scores of all items for any users, and the optional methods of a fitted model."""
    everybody = all_scores(scorer).clone()
    promise(
        everybody.shape == (scorer.n_users, scorer.n_items),
        f"score gives a number for each user and each item: of {scorer.n_users} and {scorer.n_items} came the shape "
        f"{tuple(everybody.shape)}.",
    )
    promise(everybody.isfinite().all(), "scores are finite, also of users and items without interactions.")
    promise(not all_scores(scorer).requires_grad, "score records no gradients.")
    some = torch.tensor([7, 0, 7, scorer.n_users - 1])
    promise(close(scorer.score(some), everybody[some]), "users may come in any order, and again.")
    promise(scorer.score(some[:0]).shape == (0, scorer.n_items), "no users get no scores.")
    all_scores(scorer).detach().fill_(-1.0)
    promise(torch.equal(all_scores(scorer), everybody), "scores are in memory of their own, and the same each time.")
    _check_factors(scorer, some, everybody[some])
    promise(scorer.log_score(some).isfinite().all(), "log_score is finite.")
    _check_new_users(scorer)
    _check_similar(scorer, torch.tensor([3, 0, 3]))


def all_scores(scorer: Scorer) -> Tensor:
    return scorer.score(torch.arange(scorer.n_users))


def _check_factors(scorer: Scorer, users: Tensor, scores: Tensor) -> None:
    product = scorer.factors(users)
    if product is None:
        return
    expected = product.users.detach() @ product.items.detach().T + product.constant
    if product.item_bias is not None:
        expected += product.item_bias.detach()
    promise(close(expected, scores), "the product of the factors is the score.")


def _check_new_users(scorer: Scorer) -> None:
    profiles = np.zeros((2, scorer.n_items), np.float32)
    profiles[0, 1:4] = 1
    try:
        folded = scorer.fold_in(csr_array(profiles))
    except ConfigError:
        return  # it says that it cannot
    scores = all_scores(folded)
    promise(scores.shape == (2, scorer.n_items), "users that are folded in are scored for all items.")
    promise(scores.isfinite().all(), "scores of users that are folded in are finite, also without any item.")


def _check_similar(scorer: Scorer, items: Tensor) -> None:
    try:
        alike = scorer.similar(items)
    except ConfigError:
        return
    promise(alike.shape == (len(items), scorer.n_items), "similar compares items with all items.")
