"""Data with known truth: a simulated world, and noise added to a real log."""
