"""recsieve beside the plain way that the field uses and beside RecBole: first that they agree, then how fast each is.

`python -m benchmarks.run` runs everything; catalogue.py says what there is.
"""
