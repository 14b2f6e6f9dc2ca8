"""Checks of data from outside, a model's file or a profile, before it indexes memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from recsieve.errors import DataError, RunError


def checked(state: Mapping[str, Tensor], name: str, dtype: torch.dtype, shape: tuple[int | None, ...]) -> Tensor:
    """A tensor of the state, if it has this type and shape (None: any length) and all numbers are finite."""
    if name not in state:
        raise RunError(
            f"the model's file has no '{name}': it belongs to another model or is damaged; fit the model again."
        )
    tensor = state[name]
    fits = len(shape) == tensor.dim() and all(n in (None, m) for n, m in zip(shape, tensor.shape, strict=True))
    if tensor.dtype != dtype or not fits:
        raise RunError(
            f"'{name}' in the model's file is {tensor.dtype} of shape {tuple(tensor.shape)}, but {dtype} of shape "
            f"{tuple('any' if n is None else n for n in shape)} is needed: open it with the data that it was fitted on."
        )
    if dtype.is_floating_point and not bool(torch.isfinite(tensor).all()):
        raise RunError(f"'{name}' in the model's file has values that are not finite: fit the model again.")
    return tensor.contiguous()


def checked_rows(state: Mapping[str, Tensor], n_items: int) -> tuple[Tensor, Tensor, Tensor]:
    """Offsets, columns and values of a sparse matrix of items × items, if all rows and columns are inside it."""
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


def checked_profiles(profiles: csr_array, n_items: int) -> csr_array:
    """Profiles of new users, if they have the items of the model and each weight is finite and not negative."""
    if profiles.shape[1] != n_items:
        raise DataError(
            f"the profiles are of {profiles.shape[1]} items, but the model knows {n_items}: give a column for each."
        )
    try:
        profiles.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"the profiles are not a valid sparse matrix ({error}): use csr_array.") from None
    if not (np.isfinite(profiles.data) & (profiles.data >= 0)).all():
        raise DataError("a weight in the profiles is negative or not finite: give numbers from 0, e.g. 1.")
    return profiles
