"""`python -m recsieve` is the command line."""

from recsieve.cli import main

main()
