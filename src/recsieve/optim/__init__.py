"""Adam that is lazy about the rows of embedding tables, and exact. Needs torch alone; numba makes it lazy."""

from recsieve.optim.lazy_adam import LAZY_ROWS, LazyAdam, compile_kernels, lazy_tables, make_adam

__all__ = ["LAZY_ROWS", "LazyAdam", "compile_kernels", "lazy_tables", "make_adam"]
