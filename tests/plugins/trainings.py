"""Trains by each of several settings: python -m trainings LOG OUT JSON [EVENTS]

A process takes seconds to start, so one makes all of them. With EVENTS, each is first killed as by `kill -9` after so
many events, in a child that was forked for it, and goes on from there. What is refused is printed as an error.
"""

import json
import os
import signal
import sys
from pathlib import Path

from recsieve.checking import make_settings
from recsieve.communicator import join
from recsieve.errors import RecsieveError
from recsieve.experiments.run import train_and_save
from recsieve.experiments.source import DataSource


def die_after(events):
    def count(event):
        nonlocal events
        events -= 1
        if events == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return count


def killed(train, out, settings, events):
    """Let a child train until it is killed."""
    child = os.fork()
    if not child:
        train(out, settings, progress=die_after(1 if settings.model == "ridge" else events))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status), out
    assert not (out / "metrics.json").exists(), out


def main(log, out, runs, events=0):
    source = DataSource(Path(log))
    jobs = {Path(out) / name: make_settings(values) for name, values in json.loads(runs).items()}
    with join() as group:

        def train(folder, settings, **options):
            train_and_save(source, settings, folder, group=group, **options)

        for folder, settings in jobs.items() if int(events) else ():  # before there are threads
            killed(train, folder.with_suffix(".killed"), settings, int(events))
        for folder, settings in jobs.items():
            try:
                train(folder, settings)
                if int(events):
                    train(folder.with_suffix(".killed"), settings, resume=True)
            except RecsieveError as error:
                sys.stderr.write(f"{folder.name}: {error}\n")


main(*sys.argv[1:])
