"""Tensors in a safetensors file, including tables of which each rank has some rows.

Such a table may be larger than the memory of the rank that writes, so its rows pass through it in blocks. The library
only writes what is in memory: it writes the rest, and the rows are appended (decision 14).
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save, save_file
from torch import Tensor

from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.data.codes import blocks
from recsieve.errors import RunError
from recsieve.files import replacing

BLOCK_BYTES = 64 << 20  # of rows on their way to or from the file


@dataclass(frozen=True)
class Share:
    """This rank's rows of a float32 table; those of all ranks follow each other."""

    rows: Tensor


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor | Share], metadata: Mapping[str, str], group: Communicator = SINGLE_PROCESS
) -> None:
    """Replace a file in one step, by the first rank; with shares, all ranks have to call it."""
    shares = {name: tensor.rows for name, tensor in tensors.items() if isinstance(tensor, Share)}
    here = {name: tensor.contiguous() for name, tensor in tensors.items() if isinstance(tensor, Tensor)}
    shapes = {name: [group.total(len(rows)), *rows.shape[1:]] for name, rows in shares.items()}
    blocks_of_all = (block for rows in shares.values() for block in group.gather_to_first(rows, _rows_at_once(rows)))
    if not group.is_first:
        for _ in blocks_of_all:  # the others only hand over what they have
            pass
    elif shares:
        _write_with_blocks(path, save(here, dict(metadata)), shapes, blocks_of_all)
    else:
        with replacing(path) as temporary:
            try:
                save_file(here, temporary, dict(metadata))
            except SafetensorError as error:  # the library does not say so by an OSError
                raise RunError(
                    f"{path} cannot be written ({error}): free some space, or give another folder."
                ) from None


def is_finite(tensor: Tensor) -> bool:
    """Whether all numbers are finite, in one pass without a copy: the table may be larger than memory."""
    if not tensor.is_floating_point() or not tensor.numel():
        return True
    return all(math.isfinite(end) for end in tensor.aminmax())


def read_share(file: Any, name: str, shape: list[int], group: Communicator) -> Tensor:
    """This rank's rows of a table; the first rank reads an open file and sends blocks."""
    own = group.share_of(shape[0])
    rows = torch.empty(own.stop - own.start, *shape[1:])
    for block in blocks(shape[0], _rows_at_once(rows)):
        size = block.stop - block.start
        values = file.get_slice(name)[block] if group.is_first else torch.empty(size, *shape[1:])
        take_own(rows, own, group.broadcast(values), block.start)
    return rows


def take_own(rows: Tensor, own: slice, block: Tensor, start: int) -> None:
    """Copy the rank's own rows from a block of a table that starts at `start`."""
    first, last = max(own.start, start), min(own.stop, start + len(block))
    if first < last:
        rows[first - own.start : last - own.start] = block[first - start : last - start]


def _write_with_blocks(path: Path, known: bytes, shapes: dict[str, list[int]], blocks_of_all: Iterator[Tensor]) -> None:
    """Write what the library has made of the other tensors, and append tables of these shapes, block by block."""
    start, end = 8 + struct.unpack("<Q", known[:8])[0], len(known)
    header, offset = json.loads(known[8:start]), end - start
    for name, shape in shapes.items():
        size = 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that what follows is aligned
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + known[start:])
        for block in blocks_of_all:
            file.write(block.numpy().tobytes())


def _rows_at_once(rows: Tensor) -> int:
    return max(1, BLOCK_BYTES // (4 * math.prod(rows.shape[1:])))
