"""Experiments: runs, comparisons, tuning, leaderboards."""
