"""Logs as their publishers give them: Adressa, Amazon, Yelp, MovieLens."""
