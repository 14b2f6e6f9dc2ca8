"""Tensors of a fitted model that come from a file: nothing is believed of them before it is looked at."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from recsieve.errors import RunError


def checked(state: Mapping[str, Tensor], name: str, dtype: torch.dtype, shape: tuple[int | None, ...]) -> Tensor:
    """A tensor of the state, if it is of this type and shape (None: of any length) and all numbers are finite."""
    if name not in state:
        raise RunError(f"the model's file has no '{name}': it is not of this model, or damaged; fit the model again.")
    tensor = state[name]
    fits = len(shape) == tensor.dim() and all(n in (None, m) for n, m in zip(shape, tensor.shape, strict=True))
    if tensor.dtype != dtype or not fits:
        raise RunError(
            f"'{name}' in the model's file is {tensor.dtype} of shape {tuple(tensor.shape)}, but {dtype} of shape "
            f"{tuple('any' if n is None else n for n in shape)} is needed: open it with the data that it was fitted on."
        )
    if dtype.is_floating_point and not bool(torch.isfinite(tensor).all()):
        raise RunError(f"'{name}' in the model's file has values that are no finite numbers: fit the model again.")
    return tensor.contiguous()


def checked_rows(state: Mapping[str, Tensor], n_items: int) -> tuple[Tensor, Tensor, Tensor]:
    """Offsets, columns and values of a sparse matrix of items × items: all rows and columns are inside it."""
    offsets = checked(state, "offsets", torch.int64, (n_items + 1,))
    columns = checked(state, "items", torch.int32, (None,))
    values = checked(state, "values", torch.float32, (len(columns),))
    in_order = offsets[0] == 0 and offsets[-1] == len(columns) and bool((offsets.diff() >= 0).all())
    if not in_order or (len(columns) and not 0 <= int(columns.min()) <= int(columns.max()) < n_items):
        raise RunError(
            f"the neighbours in the model's file point outside the {n_items} items: the file is damaged; "
            "fit the model again."
        )
    return offsets, columns, values
