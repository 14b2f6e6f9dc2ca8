"""The command line: parse, call, print. Commands import torch only when they run, so that --help is quick."""

import logging
import os
import signal
import sys
from importlib.metadata import entry_points, version
from typing import Annotated, TextIO

import typer

from recsieve.cli.audit import audit
from recsieve.cli.compare import compare
from recsieve.cli.convert import convert
from recsieve.cli.demo import demo
from recsieve.cli.describe import describe
from recsieve.cli.disk_errors import in_words
from recsieve.cli.evaluate import evaluate
from recsieve.cli.export import export
from recsieve.cli.leaderboard import leaderboard
from recsieve.cli.recommend import recommend
from recsieve.cli.refresh import refresh
from recsieve.cli.serve import serve
from recsieve.cli.similar import similar
from recsieve.cli.simulate import simulate
from recsieve.cli.train import train
from recsieve.cli.tune import tune
from recsieve.errors import Interrupted, RecsieveError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # "[5]" in a help text is a default, not a colour
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"recsieve {version('recsieve')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Train recommenders on noisy logs, and find out how noisy they are."""


for command in (
    demo,
    train,
    evaluate,
    recommend,
    similar,
    refresh,
    export,
    serve,
    audit,
    compare,
    tune,
    leaderboard,
    describe,
    simulate,
):
    app.command()(command)
app.add_typer(convert, name="convert")
for plugin in entry_points(group="recsieve.commands"):  # as `paper`, where research/ is installed beside
    app.add_typer(plugin.load(), name=plugin.name)

_BEGIN_ANEW = ("convert", "describe", "evaluate", "export", "refresh", "serve", "similar", "simulate")


def main() -> None:
    """Run a command; an error that the user can fix is one line and exit code 2."""
    handler = _Stderr()
    handler.setFormatter(_OneLine("%(levelname)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    signal.signal(signal.SIGINT, _stop)
    try:
        app()
    except RecsieveError as error:
        _end(f"error: {error}", code=2)
    except BrokenPipeError:  # the reader of a pipe went away; nothing is left to say to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _end(f"error: {in_words(error)}", code=2)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "can't allocate memory" not in str(error):
            raise
        _end(
            "error: there is not enough memory: use fewer factors, a smaller batch_size, or fewer items with k_core.", 2
        )
    except Interrupted:
        _end(f"stopped; all files are intact{_how_to_continue(*sys.argv[1:2])}.", code=130)


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to standard error as it is now: a progress display puts messages above itself."""

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, stream: TextIO) -> None:
        pass


class _OneLine(logging.Formatter):
    """A line for each message, whatever it quotes from a log."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return _printable(super().formatMessage(record))


def _printable(text: str) -> str:
    """Text in which line breaks and what would command a terminal are written out."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _how_to_continue(command: str = "") -> str:
    """What to do after a stop, for a command that does not begin anew."""
    if command in _BEGIN_ANEW:
        return ""
    if command == "recommend":
        return "; lists that were written to a folder are kept: run the same command again to continue"
    return f": run the same command again {'with --resume ' * (command == 'train')}to continue"


def _stop(*_: object) -> None:
    raise Interrupted


def _end(message: str, code: int) -> None:
    """Say why it ends: wrapped between words in a terminal, one line elsewhere."""
    message = _printable(message)
    if sys.stderr.isatty():
        from rich.console import Console

        from recsieve.reporting.tables import wrapped

        message = wrapped(message, Console(stderr=True).width)
    typer.echo(message, err=True)
    sys.exit(code)
