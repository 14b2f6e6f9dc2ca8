"""Adam that is lazy about the rows of embedding tables, and exact. It needs only torch; lazy tables also need numba."""

from recsieve.optim.lazy_adam import LAZY_ROWS, LazyAdam, compile_kernels, lazy_tables, make_adam

__all__ = ["LAZY_ROWS", "LazyAdam", "compile_kernels", "lazy_tables", "make_adam"]
