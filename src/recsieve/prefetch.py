"""Ask the processor for memory before it is needed, in kernels whose next places it cannot foresee.

Tables and logs are larger than the caches, and a batch is a random choice of their rows: without this, a kernel waits
for memory most of the time (decision 0031). It never changes a result.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

AHEAD = 16  # how many rows before their use to ask: enough for the memory, and few enough to be there still


@intrinsic
def prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Ask for a place of an array, an index or a tuple of them, to be in the cache soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        kept = context.make_array(signature.args[0])(context, builder, arguments[0])
        many = isinstance(signature.args[1], types.BaseTuple)
        indices = cgutils.unpack_tuple(builder, arguments[1]) if many else [arguments[1]]
        address = cgutils.get_item_pointer(context, builder, signature.args[0], kept, indices, wraparound=False)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        to_write, keep, data = (ir.Constant(number, value) for value in (1, 3, 1))
        ask = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(ask, [builder.bitcast(address, byte), to_write, keep, data])

    return types.void(array, place), generate
