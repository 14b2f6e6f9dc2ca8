"""The command line as a page of Markdown, read from Typer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from recsieve.cli import app

HEAD = """# Command line

Generated from the commands themselves; `recsieve COMMAND --help` shows the same. A default is in brackets at the end of
an option's text. Wrong input ends with one line on standard error and exit code 2, Ctrl-C with exit code 130.
"""


def command_page() -> str:
    """Every command of the package with its arguments and options; commands of plug-ins are left out."""
    sections = [_section(words, command) for words, command in _commands(typer.main.get_command(app), "recsieve")]
    return "\n".join([HEAD, *sections])


def _commands(group: Any, words: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{words} {name}")
        elif command.callback.__module__.startswith("recsieve."):
            yield f"{words} {name}", command


def _section(words: str, command: Any) -> str:
    arguments = [parameter for parameter in command.params if not parameter.opts[0].startswith("-")]
    options = [parameter for parameter in command.params if parameter not in arguments]
    usage = " ".join([words, *(parameter.name.upper() for parameter in arguments), "[OPTIONS]"])
    rows = [f"| {_names(parameter)} | {_cell(_told(parameter))} |" for parameter in [*arguments, *options]]
    head = ["", "| | |", "|---|---|"] if rows else []
    return "\n".join([f"## {words}", "", command.help, "", "```text", usage, "```", *head, *rows, ""])


def _names(parameter: Any) -> str:
    if not parameter.opts[0].startswith("-"):
        return f"`{parameter.name.upper()}`"
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    return " ".join(f"`{name}{value}`" for name in [*parameter.opts, *parameter.secondary_opts])


def _told(parameter: Any) -> str:
    """The help of an option, with its default where the help does not end with one."""
    text = parameter.help or ""
    quiet = parameter.default is None or parameter.default is False or text.endswith("]")
    return text if quiet else f"{text} [{parameter.default}]"


def _cell(text: str) -> str:
    """Text in a table, as it is: what looks like markup or a link in it is none."""
    for mark in "\\|[]<>*_`":
        text = text.replace(mark, f"\\{mark}" if mark not in "<>" else {"<": "&lt;", ">": "&gt;"}[mark])
    return text
