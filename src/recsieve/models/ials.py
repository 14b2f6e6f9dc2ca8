"""iALS: user and item vectors that are solved in turn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.cores import InThisThread, all_cores
from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.denoisers import KeepAll, LossBatch, Range, SearchSpace
from recsieve.errors import ConfigError
from recsieve.models.cost import SOLVE, ranking_seconds
from recsieve.models.ials_shares import Table, share_by_item, share_by_user
from recsieve.models.ials_solver import ROWS, Side, diagonal, dot_products, rotate, solve, sums_of_squares
from recsieve.models.learner import Earlier, Fitting, Run, context_of
from recsieve.models.new_users import cosines
from recsieve.models.scorer import Factors, Scorer
from recsieve.models.state import checked, checked_profiles

# Of conjugate gradients. In a sweep they start from the vectors of the last one; a new user starts from 0.
SWEEP_STEPS, FOLD_IN_STEPS = 2, 100


@dataclass(frozen=True)
class IALS:
    """Factors that explain observed pairs as 1 and all pairs as 0, by least squares (Hu et al., 2008; Rendle et al.,
    2021).

    It minimises Σ_observed c·(1 − w_u·h_i)² + α0·Σ_all (w_u·h_i)² + Σ_u λ_u·‖w_u‖² + Σ_i λ_i·‖h_i‖², where c is the
    weight of an interaction, λ_u = λ·(Σ_i c + α0·items), and λ_i likewise. Between sweeps a strategy sees (1 −
    w_u·h_i)² as the loss, and its weights multiply c in the next sweep. Options that are not given depend on the size
    of the data (`settled`).
    """

    search_space: ClassVar[SearchSpace] = {
        "factors": Range(16, 512, whole=True),
        "alpha0": Range(0.01, 1.0),
        "l2": Range(3e-4, 0.1),
    }

    factors: int | None = None
    alpha0: float = 0.1
    l2: float | None = None
    sweeps: int = 16

    def __post_init__(self) -> None:
        if self.factors is not None and self.factors < 1:
            raise ConfigError(f"factors is {self.factors}, but it is the length of a vector: give 1 or more, e.g. 64.")
        if not 0 < self.alpha0 < math.inf:
            raise ConfigError(
                f"alpha0 is {self.alpha0}, but it is the weight of an unobserved pair relative to an observed one: "
                "give a number above 0, e.g. 0.1."
            )
        if self.l2 is not None and not 0 < self.l2 < math.inf:
            raise ConfigError(
                f"l2 is {self.l2}, but it is the strength of L2 regularisation: give a number above 0, e.g. 0.01."
            )
        if self.sweeps < 1:
            raise ConfigError(
                f"sweeps is {self.sweeps}, but it is the number of sweeps over users and items: give 1 or more."
            )

    def begin(self, split: Split, run: Run) -> Sweeps:
        return Sweeps(self.settled(split.train), split.train, run)

    @classmethod
    def seconds(cls, train: Interactions, training: Mapping[str, Any]) -> float:
        """About how long all sweeps take, each with its validation."""
        settled = cls().settled(train)
        sweep = SOLVE * settled.factors * (len(train) + 40 * (train.n_users + train.n_items))
        return settled.sweeps * (sweep + ranking_seconds(train))

    @classmethod
    def grid(cls, train: Interactions) -> list[dict[str, Any]]:
        """The few options that `auto` tries, the default first."""
        usual, broader = cls().settled(train), cls(alpha0=0.3).settled(train)
        return [
            {},
            {"alpha0": broader.alpha0, "l2": _rounded(2 * broader.l2)},
            {"l2": _rounded(usual.l2 / 2)},
            {"l2": _rounded(usual.l2 / 4)},
        ]

    def accepts(self, denoiser: type) -> bool:
        # A sweep has no epochs, and takes all interactions, so nothing can be chosen among them.
        asks_for_more = any(hasattr(denoiser, name) for name in ("end_epoch", "choose"))
        return not (asks_for_more or getattr(denoiser, "uses_noise_labels", False))

    def restore(self, train: Interactions, state: Mapping[str, Tensor]) -> FactorScorer:
        items = checked(state, "items", torch.float32, (train.n_items, self.factors))
        users = checked(state, "users", torch.float32, (train.n_users, items.shape[1]))
        return FactorScorer(users, items, self.settled(train))

    def settled(self, train: Interactions) -> Settled:
        """The options, with defaults filled in.

        The defaults are the best of a few rules by validation NDCG@20 over six data sets
        (`research/studies/defaults.py`): λ such that λ_u is 4 for the mean user. Interactions of weight 0 are not
        counted.
        """
        factors = 64 if train.n_items <= 1000 else 128 if train.n_items <= 2000 else 256
        observed = len(train) if train.weight is None else int(np.count_nonzero(train.weight))
        l2 = 4 / (train.group.total(observed) / max(train.n_users, 1) + self.alpha0 * train.n_items)
        return Settled(self.factors or factors, self.alpha0, self.l2 or l2, self.sweeps)


def _rounded(l2: float) -> float:
    return float(f"{l2:.2g}")


class Settled(NamedTuple):
    """The options of iALS, all of them numbers."""

    factors: int
    alpha0: float
    l2: float
    sweeps: int


class Sweeps(Fitting):
    """A fitting of iALS: a step solves the users for the items, and then the items for the users.

    Between steps both tables are in the basis in which itemsᵀ·items is diagonal (`ials_solver`).
    """

    def __init__(self, options: Settled, train: Interactions, run: Run) -> None:
        self.total = options.sweeps
        self._options, self._train = options, train
        self._denoiser = run.make_denoiser(context_of(train, steps_per_epoch=1, losses_per_positive=1))
        self._rows: list[float] = []  # the loss of each sweep
        self._losses = np.zeros(0, np.float32)  # of each interaction here, after the last sweep
        self._squares: Tensor | None = None  # the diagonal of itemsᵀ·items, if it is known: (factors,)
        random = torch.Generator().manual_seed(run.seed)
        deviation = 0.1 / math.sqrt(options.factors)
        users = torch.empty(train.n_users, options.factors).normal_(0, deviation, generator=random)
        items = torch.empty(train.n_items, options.factors).normal_(0, deviation, generator=random)
        by_user, by_item = share_by_user(train), share_by_item(train)
        self._users, self._items = (
            Table(users, by_user.codes, train.group),
            Table(items, by_item.codes, train.group),
        )
        self._by_user, self._by_item = by_user.reading(self._items), by_item.reading(self._users)
        with all_cores() as cores:
            self._turn(cores)

    def start_from(self, earlier: Earlier) -> bool:
        before = earlier.scorer
        if not isinstance(before, FactorScorer) or before.items.shape[1] != self._options.factors:
            return False
        sides = (self._users, before.users, earlier.users), (self._items, before.items, earlier.items)
        for own, theirs, codes in sides:
            vectors = own.vectors().clone()
            vectors[codes >= 0] = theirs[codes[codes >= 0]]
            own.replace(vectors)
        with all_cores() as cores:
            self._turn(cores)
            self._judge(cores)
        self.step, self.total = earlier.epochs, earlier.epochs + earlier.more
        return True

    def advance(self) -> float:
        by_user, by_item = self._confidences()
        with all_cores() as cores:
            l2_users, l2_items = self._sweep(by_user, by_item, cores)
            self._judge(cores)
            objective = self._objective(by_user, l2_users, l2_items, cores)
            self._rows.append(objective / max(self._train.all_reduce_length(), 1))
        self.step += 1
        return self._rows[-1]

    def _sweep(
        self, by_user: NDArray[np.float32], by_item: NDArray[np.float32], cores: Executor
    ) -> tuple[NDArray[np.float32], ...]:
        """Solve both sides for the confidences of their interactions; gives λ_u of the users and λ_i of the items."""
        users, items, train, alpha0 = self._users, self._items, self._train, self._options.alpha0
        l2_users = self._l2(self._by_user.sums(by_user), train.n_items)
        squares = diagonal(items.own, cores, train.group) if self._squares is None else self._squares
        prior = alpha0 * squares
        solve(users.own, items.rows, self._by_user.side, by_user, prior, l2_users, SWEEP_STEPS, cores)
        l2_items = self._l2(self._by_item.sums(by_item), train.n_users)
        prior = alpha0 * rotate(items.own, users.own, cores, train.group)
        users.hand_on()
        solve(items.own, users.rows, self._by_item.side, by_item, prior, l2_items, SWEEP_STEPS, cores)
        self._turn(cores)
        return l2_users, l2_items

    def _turn(self, cores: Executor) -> None:
        """Turn both tables into the basis in which itemsᵀ·items is a diagonal."""
        rotate(self._users.own, self._items.own, cores, self._train.group)
        self._users.keep()  # no rank reads the users of another before the next sweep has solved them again
        self._items.hand_on()
        self._squares = None

    def _confidences(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What interactions count in the next sweep: their weights, times those that the denoiser gives them.

        By user and by item, each for the interactions that it takes on this rank.
        """
        given = self._by_user.weights, self._by_item.weights
        if self.step == 0 or isinstance(self._denoiser, KeepAll):
            return given
        weights = self._denoiser.weights(self._batch()).float().numpy()
        return given[0] * self._by_user.take(weights), given[1] * self._by_item.take(weights)

    def _batch(self) -> LossBatch:
        """The losses of all interactions, in the order that one process has them."""
        train = self._train
        losses = torch.from_numpy(train.all_gather_values(self._losses))
        users, items = (
            torch.from_numpy(train.all_gather_values(column).astype(np.int64)) for column in (train.users, train.items)
        )
        return LossBatch(losses, torch.ones_like(losses), self.step, users, items, torch.arange(len(losses)))

    def _l2(self, sums: NDArray[np.float64], n_others: int) -> NDArray[np.float32]:
        """λ_u = λ·(Σ_i c + α0·items) of users, or λ_i of items."""
        return (self._options.l2 * (sums + self._options.alpha0 * n_others)).astype(np.float32)

    def _judge(self, cores: Executor) -> None:
        self._losses = (1 - dot_products(self._users.own, self._items.rows, self._by_user.side, cores)) ** 2

    def _objective(
        self,
        confidences: NDArray[np.float32],
        l2_users: NDArray[np.float32],
        l2_items: NDArray[np.float32],
        cores: Executor,
    ) -> float:
        observed = float((confidences * self._losses).sum(dtype=np.float64))
        of_users, held_back_users = sums_of_squares(self._users.own, l2_users, cores)
        of_items, held_back_items = sums_of_squares(self._items.own, l2_items, cores)
        group = self._train.group
        group.all_reduce(of_items)
        self._squares = of_items.float()  # to the bit what `diagonal` would give, as a resumed fitting asks it
        totals = torch.cat([of_users, of_users.new_tensor([observed, held_back_users, held_back_items])])
        group.all_reduce(totals)
        of_users, rest = totals.split([len(of_users), 3])
        observed, held_back_users, held_back_items = rest.tolist()
        everywhere = self._options.alpha0 * float(of_users @ of_items)
        return observed + everywhere + held_back_users + held_back_items

    def scorer(self) -> FactorScorer:
        return FactorScorer(self._users.vectors(), self._items.vectors(), self._options)

    def history(self) -> pl.DataFrame:
        steps = list(range(self.step - len(self._rows) + 1, self.step + 1))
        return pl.DataFrame({"step": steps, "epoch": steps, "loss": self._rows})

    def state_dict(self) -> dict[str, Any]:
        state = {
            "step": self.step,
            "rows": torch.tensor(self._rows, dtype=torch.float64),
            "users": self._users.vectors().clone(),
            "items": self._items.vectors().clone(),
        }
        remembers = getattr(self._denoiser, "state_dict", None)
        return state | {"denoiser": remembers()} if remembers else state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        users, items = (
            checked(state, name, torch.float32, tuple(table.rows.shape))
            for name, table in (("users", self._users), ("items", self._items))
        )
        self.step, self._rows = state["step"], state["rows"].tolist()
        self._users.replace(users)
        self._items.replace(items)
        self._squares = None
        if "denoiser" in state:
            self._denoiser.load_state_dict(state["denoiser"])  # type: ignore[attr-defined]
        with all_cores() as cores:
            self._judge(cores)


class FactorScorer(Scorer):
    """Scores are products of vectors; a new user's vector is solved for the item vectors."""

    title = "iALS"

    def __init__(self, users: Tensor, items: Tensor, options: Settled) -> None:
        super().__init__()
        self.n_users, self.n_items = len(users), len(items)
        self._options = options
        self.users: Tensor
        self.items: Tensor
        self.register_buffer("users", users)
        self.register_buffer("items", items)

    def factors(self, users: Tensor) -> Factors:
        return Factors(self.users[users], self.items)

    def fold_in(self, profiles: csr_array) -> FactorScorer:
        profiles = checked_profiles(profiles, self.n_items)
        users = torch.zeros(profiles.shape[0], self.items.shape[1])
        offsets, others = profiles.indptr.astype(np.int64), profiles.indices.astype(np.int32)
        side = Side(offsets, others, np.arange(len(others)))
        alpha0 = self._options.alpha0
        l2 = (self._options.l2 * (profiles.sum(axis=1) + alpha0 * self.n_items)).astype(np.float32)
        confidences, prior = profiles.data.astype(np.float32), alpha0 * diagonal(self.items, InThisThread())
        equations = (users, self.items, side, confidences, prior, l2, FOLD_IN_STEPS)
        if len(users) <= ROWS:  # as a service asks, from several threads at once
            solve(*equations, InThisThread())
        else:
            with all_cores() as cores:
                solve(*equations, cores)
        return FactorScorer(users, self.items, self._options)

    def similar(self, items: Tensor) -> Tensor:
        """The cosine of the item vectors."""
        return cosines(self.items, items)

    def contributions(self, profile: csr_array, items: Tensor) -> Tensor:
        """The parts of a folded-in score, h_j·A⁻¹·c_i·h_i, with A as in the equations of `ials_solver`."""
        profile = checked_profiles(profile, self.n_items)
        confidences, vectors = torch.from_numpy(profile.data).double(), self.items.double()
        met = vectors[torch.from_numpy(profile.indices.astype(np.int64))]  # (entries, factors)
        alpha0 = self._options.alpha0
        own = alpha0 * diagonal(self.items, InThisThread()) + self._options.l2 * (
            confidences.sum() + alpha0 * self.n_items
        )
        equations = torch.diag(own.double()) + (met.T * confidences) @ met
        return (vectors[items] @ torch.linalg.solve(equations, met.T * confidences)).float()
