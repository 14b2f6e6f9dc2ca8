"""The command line: parse, call, print. Commands import torch only when they run, so that --help is quick."""

import errno
import logging
import os
import sys

import click
import typer

from recsieve.cli.demo import demo
from recsieve.cli.describe import describe
from recsieve.cli.evaluate import evaluate
from recsieve.cli.paper import paper
from recsieve.cli.recommend import recommend
from recsieve.cli.simulate import simulate
from recsieve.cli.train import train
from recsieve.errors import RecsieveError

app = typer.Typer(
    help="Recommenders that are not misled by accidental clicks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (demo, train, evaluate, recommend, describe, simulate):
    app.command()(command)
app.add_typer(paper, name="paper")


def main() -> None:
    """Run a command; what the user can put right is one line and exit code 2."""
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    try:
        sys.exit(app(standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except RecsieveError as error:
        fail(str(error))
    except BrokenPipeError:  # the reader of a pipe went away; nothing is left to say to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        full = " Free some space; the last checkpoint is whole." if error.errno == errno.ENOSPC else ""
        fail(f"{error.strerror or error}: {error.filename or ''}".rstrip(": ") + "." + full)
    except (KeyboardInterrupt, click.Abort):
        typer.echo("stopped: the same command with --resume goes on from the last checkpoint.", err=True)
        sys.exit(130)


def fail(message: str) -> None:
    typer.echo(f"error: {message}", err=True)
    sys.exit(2)
