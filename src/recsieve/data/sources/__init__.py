"""Public data sets in their original formats: Adressa, Amazon, Yelp, MovieLens."""
