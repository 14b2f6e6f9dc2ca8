"""A run behind HTTP."""
