"""Adam that is lazy about the rows of embedding tables, and exact."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.adam import adam

from recsieve.errors import ConfigError, RunError, did_you_mean

try:
    from recsieve.optim import rows as adam_rows
except ImportError:  # without numba every table is dense
    adam_rows = None  # type: ignore[assignment]

Kind = Literal["auto", "lazy", "dense"]
# With fewer rows torch's fused Adam over the whole table is as fast (measured by benchmarks/lazy_adam.py --crossover).
LAZY_ROWS = 10_000
_MOMENTS = ("exp_avg", "exp_avg_sq")
_MIXED = (
    "a parameter had sparse gradients at one step and dense ones at another: "
    "read an embedding with sparse=True by lookups only, or give it sparse=False."
)


def make_adam(model: nn.Module, lr: float, kind: Kind = "auto") -> LazyAdam:
    """Adam for a model, with lazy tables where that is possible and faster; switches `sparse` off for other tables.

    An embedding with `sparse=False` stays dense, because its gradient may be that of the whole table, as in a graph
    model.
    """
    if kind not in ("auto", "lazy", "dense"):
        raise ConfigError(f"there is no kind of Adam '{kind}': {did_you_mean(kind, ('auto', 'lazy', 'dense'))}")
    for table in filter(lambda table: table.sparse, _embeddings(model)):
        possible = _can_be_lazy(table.weight) and not table.scale_grad_by_freq and getattr(table, "mode", "") != "max"
        if kind == "lazy" and not possible:
            raise ConfigError("kind='lazy' needs numba and float32 embeddings on the CPU: give kind='auto' instead.")
        table.sparse = kind == "lazy" or (kind == "auto" and possible and table.num_embeddings >= LAZY_ROWS)
    return LazyAdam(model.parameters(), lr=lr).watch(model)


def compile_kernels() -> None:
    """Compile the kernels of lazy tables, or load them from the cache, before a clock or a progress bar starts."""
    if adam_rows is not None:
        adam_rows.compile_kernels()


class LazyAdam(torch.optim.Optimizer):
    """Adam that updates a row of an embedding only when it is read, to the value that `torch.optim.Adam` would have
    given it.

    Parameters with sparse gradients (`nn.Embedding(..., sparse=True)`) are lazy; all others get torch's fused Adam.
    Call `watch(model)` once, so that lookups bring their rows up to date, and `flush()` before anything else reads a
    table, such as evaluation or saving. `state_dict()` does not flush, so that a checkpoint changes nothing.
    """

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        _check(lr, betas, eps)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})
        self._tables: dict[Tensor, adam_rows.RowAdam] = {}
        self._stale: set[Tensor] = set()  # tables of which no row was brought up to date since the last step
        self._watched: set[Tensor] | None = None  # those that will have sparse gradients, where that is known

    def watch(self, model: nn.Module) -> LazyAdam:
        """Bring rows up to date in every lookup of the model's embeddings with sparse gradients."""
        reference = weakref.ref(self)  # the model shall not keep the moments alive

        def before_lookup(module: nn.Module, args: tuple[Tensor, ...], named: dict[str, Tensor]) -> None:
            if (optimizer := reference()) is not None:
                optimizer.catch_up(module.weight, args[0] if args else named["input"])  # type: ignore[arg-type]

        for table in _embeddings(model):
            if table.sparse:
                table.register_forward_pre_hook(before_lookup, with_kwargs=True)
        self._watched = (self._watched or set()) | set(lazy_tables(model))
        return self

    def catch_up(self, table: Tensor, rows: Tensor) -> None:
        """Bring rows of a table up to date, before a read that is not a watched lookup."""
        if table in self._tables:  # else it had no step yet
            adam = self._tables[table]
            adam.catch_up(table.detach().numpy(), adam.unique(_row_numbers(rows))[0])
            self._stale.discard(table)

    def flush(self) -> None:
        """Bring all rows of all tables up to date."""
        for table, rows in self._tables.items():
            rows.catch_up(table.detach().numpy(), np.arange(len(table)))
            self._stale.discard(table)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step of Adam, on the rows that have gradients and on all dense parameters that have one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        parameters = (parameter for group in self.param_groups for parameter in group["params"])
        gradients = ((table, table.grad) for table in parameters if table.grad is not None and table.grad.is_sparse)
        # Not coalesced: the kernel does that faster.
        self.step_on_rows([(table, gradient._indices()[0], gradient._values()) for table, gradient in gradients])
        return loss

    @torch.no_grad()
    def step_on_rows(self, gradients: Iterable[tuple[Tensor, Tensor, Tensor]]) -> None:
        """One step with (table, rows, their gradients) instead of sparse tensors, and on dense parameters.

        Gradients may be float64; those of a row are then summed in float64 and rounded once.
        """
        by_table = {table: (rows, values) for table, rows, values in gradients}
        for group in self.param_groups:
            dense = []
            for parameter in group["params"]:
                if parameter in by_table:
                    self._step_rows(parameter, *by_table[parameter], group)
                elif parameter.grad is not None:
                    dense.append(parameter)
            if dense:
                self._step_dense(dense, group)

    def _step_rows(self, table: Tensor, rows: Tensor, gradients: Tensor, group: dict[str, Any]) -> None:
        if table in self._stale:
            raise ConfigError(
                "rows of an embedding were read before they were brought up to date: call optimizer.watch(model) once "
                "before training, or optimizer.catch_up(table, rows) before each read."
            )
        adam = self.rows_of(table)
        if (tuple(group["betas"]), group["eps"]) != (adam.timeline.betas, adam.eps):
            raise ConfigError(
                "betas or eps have changed since the first step, and missed steps would be made with the wrong ones: "
                "leave them as they are, e.g. by cycle_momentum=False in OneCycleLR."
            )
        unique, inverse = adam.unique(_row_numbers(rows))
        sums = adam_rows.sums_by_index(gradients.contiguous().numpy(), inverse, len(unique))
        adam.catch_up(table.detach().numpy(), unique)
        adam.step(table.detach().numpy(), unique, sums.astype(np.float32, copy=False), float(group["lr"]))
        self._stale.add(table)

    def rows_of(self, table: Tensor) -> adam_rows.RowAdam:
        """Adam over the rows of a table, for kernels that make their own steps."""
        if table not in self._tables:
            group = next(group for group in self.param_groups if any(table is known for known in group["params"]))
            self._add_table(table, group)
        return self._tables[table]

    def dense_state(self, parameter: Tensor) -> dict[str, Tensor]:
        """The step and the moments of a parameter that is no lazy table."""
        if parameter in self._tables:
            raise ConfigError(_MIXED)
        if not (state := self.state[parameter]):
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        return state

    def _add_table(self, table: Tensor, group: dict[str, Any]) -> None:
        """Start the moments of a table, or take up those in `self.state`."""
        if not _can_be_lazy(table):
            raise ConfigError(
                "sparse gradients need numba and a float32 table on the CPU: use recsieve.optim.make_adam."
            )
        timeline = adam_rows.Timeline(tuple(group["betas"]))
        if "step" in (state := self.state[table]):
            raise ConfigError(_MIXED)
        if state:
            _check_saved(state, table)
            timeline.advance(state["learning_rates"].numpy(), len(state["learning_rates"]))
        else:
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(table), torch.zeros_like(table)
            state["last_step"] = torch.full((len(table),), adam_rows.NEVER, dtype=torch.int32)
        exp_avg, exp_avg_sq, last = (state[name].numpy() for name in ("exp_avg", "exp_avg_sq", "last_step"))
        self._tables[table] = adam_rows.RowAdam(exp_avg, exp_avg_sq, last, timeline, group["eps"])

    def _step_dense(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        states = [self.dense_state(parameter) for parameter in parameters]
        exp_avgs, exp_avg_sqs, steps = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step"))
        gradients = [parameter.grad for parameter in parameters]
        beta1, beta2 = group["betas"]
        adam(
            parameters,
            gradients,  # type: ignore[arg-type]
            exp_avgs,
            exp_avg_sqs,
            [],
            steps,
            fused=True,
            amsgrad=False,
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=0.0,
            eps=group["eps"],
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """The state as tensors and numbers; for a table also the learning rate of each past step."""
        for table, rows in self._tables.items():
            self.state[table]["learning_rates"] = torch.from_numpy(rows.timeline.history.copy())
        return super().state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a saved state, and continue to the bit as if there had been no interruption.

        A table that was lazy there and is dense here, or vice versa, continues as Adam would, up to rounding; its
        weights have to be loaded first.
        """
        for group in state_dict["param_groups"]:
            _check_saved_options(group)
        super().load_state_dict(state_dict)
        self._tables.clear()
        self._stale.clear()
        numbers = chain.from_iterable(group["params"] for group in state_dict["param_groups"])
        parameters = ((group, parameter) for group in self.param_groups for parameter in group["params"])
        for number, (group, parameter) in zip(numbers, parameters, strict=True):
            saved = state_dict["state"].get(number, {})
            if "last_step" in saved:  # with its own types: torch has made everything float32
                self.state[parameter] = {name: value.clone() for name, value in saved.items()}
                self._add_table(parameter, group)
                if self._watched is not None and parameter not in self._watched:
                    self._make_dense(parameter)
            elif saved and self._watched is not None and parameter in self._watched:
                self._make_lazy(parameter, group)

    def _make_dense(self, table: Tensor) -> None:
        """Bring all rows up to date, so that what is kept of them is what Adam keeps of any parameter."""
        rows, state = self._tables.pop(table), self.state[table]
        rows.catch_up(table.detach().numpy(), np.arange(len(table)))
        step = torch.tensor(float(rows.timeline.step))
        self.state[table] = {"step": step, "exp_avg": state["exp_avg"], "exp_avg_sq": state["exp_avg_sq"]}

    def _make_lazy(self, table: Tensor, group: dict[str, Any]) -> None:
        """Let all rows be up to the last step; the learning rates before that no longer matter."""
        state = self.state[table]
        step = int(state.pop("step"))
        state["last_step"] = torch.full((len(table),), step, dtype=torch.int32)
        state["learning_rates"] = torch.full((step,), float(group["lr"]), dtype=torch.float64)
        self._add_table(table, group)


def _embeddings(model: nn.Module) -> Iterator[nn.Embedding | nn.EmbeddingBag]:
    return (module for module in model.modules() if isinstance(module, nn.Embedding | nn.EmbeddingBag))


def lazy_tables(model: nn.Module) -> list[Tensor]:
    """The tables of a model that have sparse gradients."""
    return [table.weight for table in _embeddings(model) if table.sparse]


def _can_be_lazy(table: Tensor) -> bool:
    return adam_rows is not None and table.device.type == "cpu" and table.dtype == torch.float32


def _check_saved_options(group: dict[str, Any]) -> None:
    """Refuse saved options of Adam that are no numbers: kernels would be compiled for what they are."""
    numbers = [group["lr"], group["eps"], *group["betas"]]
    if len(numbers) != 4 or not all(isinstance(number, int | float) for number in numbers):
        raise RunError("a saved state of Adam has options that are not numbers: it is damaged.")
    _check(group["lr"], tuple(group["betas"]), group["eps"])


def _check_saved(state: dict[str, Tensor], table: Tensor) -> None:
    """Refuse a saved state that does not fit its table: kernels read memory where it says, and check nothing."""
    last, rates = state["last_step"], state["learning_rates"]
    fits = (
        all(state[name].dtype == torch.float32 and state[name].shape == table.shape for name in _MOMENTS)
        and rates.dtype == torch.float64
        and rates.dim() == 1
        and last.dtype == torch.int32
        and last.shape == (len(table),)
        and bool(((last >= adam_rows.NEVER) & (last <= len(rates))).all())
    )
    if not fits:
        raise RunError("a saved state of Adam does not fit its table: it is damaged or belongs to another model.")


def _row_numbers(rows: Tensor) -> NDArray[np.int64]:
    """Row numbers in the one form for which the kernels are compiled."""
    return np.ascontiguousarray(rows.numpy(), np.int64).reshape(-1)


def _check(lr: float, betas: tuple[float, float], eps: float) -> None:
    if lr < 0:
        raise ConfigError(f"the learning rate is {lr}: give a positive number, e.g. 0.001.")
    if not all(0 <= beta < 1 for beta in betas):
        raise ConfigError(f"betas are {betas}, but each is the share of a moment that a step keeps: give 0 to below 1.")
    if eps < 1e-12:
        raise ConfigError(f"eps is {eps}, but moments below 1e-37 count as zero: give at least 1e-12, e.g. 1e-8.")
