"""Data with known truth: a simulated world, and noise put into a real log."""
