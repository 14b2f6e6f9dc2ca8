"""Runs lines of the command line in one process, for it takes seconds to start: python -m commands LINE …"""

import sys

from recsieve.cli import main

if __name__ == "__main__":  # a worker of a comparison imports this again
    for line in sys.argv[1:]:
        sys.argv = ["recsieve", *line.split()]
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise
