"""What people see: nothing cut off at 80 columns, plain lines where there is no terminal."""

import io
import logging
import shlex
import subprocess
import sys

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from recsieve.cli import _end, _Stderr, app
from recsieve.cli import progress as shown
from recsieve.cli.progress import show_progress, training_progress
from recsieve.progress import Advanced
from recsieve.reporting import tables
from recsieve.reporting.tables import output, rows_table, say, say_command, show
from recsieve.training import Began, Trained

SENTENCE = "auto fitted 12 models and chose ease, l2 500: nothing else was convincingly better than it on validation."


def terminal(width: int) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, no_color=True, legacy_windows=False)


@pytest.fixture
def on_terminal(monkeypatch):
    """A function that lets output go to a terminal of some width, which it gives."""

    def take(width):
        console = terminal(width)
        monkeypatch.setattr(tables, "output", lambda: console)
        return console

    return take


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_terminal_ends_lines_between_words(on_terminal, width):
    console = on_terminal(width)
    say(SENTENCE, bullet=True)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(line.strip() for line in lines) == f"- {SENTENCE}"


@pytest.mark.parametrize("width", range(20, 60))
def test_a_number_and_its_unit_stay_on_one_line(on_terminal, width):
    console = on_terminal(width)
    say("the best, ease, has +0.6 % ± 0.5 % expected clean NDCG@20 on validation data.")
    lines = console.file.getvalue().splitlines()
    assert not any(line.startswith("%") or line.endswith("±") for line in lines)


def test_ids_in_a_table_are_shown_as_they_are_and_command_no_terminal(on_terminal):
    console = on_terminal(80)
    ids = ["film [dvd]", "[/x]", ":smile:", "long-" * 30, "\x1b[31mred"]
    show(rows_table(["[item]", "score"], [[one, 0.5] for one in ids], title="test of runs/[a]"))
    shown = console.file.getvalue()
    cells = [line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│")]
    assert "".join(cells) == "".join(ids).replace("\x1b", r"\x1b")
    assert "[item]" in shown
    assert "runs/[a]" in shown


def test_on_a_pipe_a_sentence_is_a_line_and_a_table_is_not_folded(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    say(SENTENCE, bullet=True)
    show(rows_table(["candidate", "reason"], [["ease", SENTENCE]]))
    written = capsys.readouterr().out
    assert written.splitlines()[0] == f"- {SENTENCE}"
    assert SENTENCE in written.split("\n", 1)[1]
    assert "\x1b" not in written


def test_columns_of_the_environment_are_respected(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert output().width == 100


def test_no_colour_is_respected(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert output().no_color


@pytest.mark.parametrize("width", [80, 120])
def test_a_bar_says_what_how_far_and_how_long_in_one_line(monkeypatch, width):
    console = terminal(width)
    monkeypatch.setattr(shown, "Console", lambda stderr: console)
    with show_progress("reading") as progress:
        progress(Advanced("gmf truncated", 264, 528, "steps", "loss 0.4366 ndcg@20 0.2586"))
    drawn = [line for line in console.file.getvalue().splitlines() if "truncated" in line]
    assert drawn
    for part in ("gmf truncated", "50%" if width == 80 else "264/528 steps", "0:00", "loss 0.4366 ndcg@20 0.2586"):
        assert part in drawn[-1]


def test_a_search_shows_how_far_all_of_it_is_and_promises_no_end(monkeypatch):
    console = terminal(80)
    monkeypatch.setattr(shown, "Console", lambda stderr: console)
    with training_progress("auto") as take:
        for event in (Began("ease", 1, 4), Began("gmf", 3, 4), Trained(5, 1, 10, 0.4366)):
            take(event)
    drawn = [line for line in console.file.getvalue().splitlines() if "gmf" in line]
    assert all(part in drawn[-1] for part in ("auto 3/4 gmf", "62%", "0:00", "loss 0.4366"))
    assert " left" not in drawn[-1]  # models take very different times


def test_where_there_is_no_terminal_progress_is_a_plain_line_now_and_then(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=False, width=40)
    monkeypatch.setattr(shown, "Console", lambda stderr: console)
    moments = iter([0.0, 0.0, 1.0, 95.0, 96.0])
    monkeypatch.setattr(shown.time, "monotonic", lambda: next(moments))
    with show_progress("reading") as progress:
        for step in (1, 50, 51):
            progress(Advanced("gmf", step, 100, "steps", "loss 0.5"))
    assert console.file.getvalue() == "gmf: 50/100 steps, 1:35 so far, loss 0.5\n"


@pytest.mark.parametrize("command", typer.main.get_command(app).commands)
def test_help_cuts_nothing_off_at_80_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    told = CliRunner().invoke(app, [command, "--help"]).output
    assert "Usage" in told
    assert "…" not in told


def test_a_command_that_is_too_long_for_a_terminal_stays_one_command(on_terminal):
    console = on_terminal(40)
    say_command(["recsieve", "train", "shop/train.parquet", "--user user", "--false-positive 'rating < 3'"])
    written = console.file.getvalue()
    assert max(map(len, written.splitlines())) <= 40
    assert shlex.split(written.replace("\\\n", "")) == [
        "recsieve", "train", "shop/train.parquet", "--user", "user", "--false-positive", "rating < 3",
    ]  # fmt: skip


def test_a_warning_goes_to_standard_error_as_it_is_now(monkeypatch):
    handler, display = _Stderr(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", display)  # as a progress display does while it is shown
    handler.emit(logging.LogRecord("recsieve", logging.WARNING, "", 0, "the ramp is too long", None, None))
    assert display.getvalue() == "the ramp is too long\n"


class Screen(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("width", [60, 80])
def test_an_error_on_a_terminal_ends_lines_between_words(monkeypatch, width):
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit):
        _end(f"error: {SENTENCE}", code=2)
    lines = screen.getvalue().splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= width
    assert " ".join(lines) == f"error: {SENTENCE}"


def test_an_error_on_a_pipe_is_one_line_even_where_colour_is_forced(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    with pytest.raises(SystemExit):
        _end(f"error: {SENTENCE}", code=2)
    assert capsys.readouterr().err == f"error: {SENTENCE}\n"


def test_wrapping_an_error_imports_no_torch():
    code = "import sys, recsieve.cli, recsieve.reporting.tables\nassert not {'torch', 'polars'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
