"""Batches of observed interactions and negatives, as a pure function of the seed, the epoch and the step."""

from recsieve.sampling.sampler import Batch, Chunk, Layout, Sampler

__all__ = ["Batch", "Chunk", "Layout", "Sampler"]
