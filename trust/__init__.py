"""Attempts to break recsieve, counted: fuzzing, failing writes, kills, mutants.

`docs/trust.md` is made of the results.
"""
