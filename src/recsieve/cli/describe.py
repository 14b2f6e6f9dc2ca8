"""recsieve describe"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from recsieve.cli.options import COLUMNS, Columns, Data, Json, KCore, reads_log

if TYPE_CHECKING:
    from recsieve.data.proposal import Proposal


@reads_log
def describe(
    data: Data,
    *,
    columns: Columns,
    k_core: KCore = 0,
    as_json: Json = False,
) -> None:
    """Describe a log: its columns, its users, items and false positives, and a command to train on it.

    For a split, the numbers are those of the training part.
    """
    from recsieve.data.filtering import k_core as keep_k_core
    from recsieve.data.loading import find_parts, part_names
    from recsieve.data.proposal import propose
    from recsieve.data.reading.file_format import Format
    from recsieve.data.reading.formats import read_interactions
    from recsieve.data.statistics import describe as statistics

    form = Format(**{name: columns.get(name) for name in ("header", "encoding", "query")})
    roles = {name: columns.get(name) for name in ("user", "item", "time", "positive", "false_positive")}
    parts = find_parts(data)
    log, files = parts["train"], part_names(parts)
    proposal = propose(log, form, **roles)
    if not as_json:
        _show_columns(proposal)  # before the log is read: they help to name what is not recognised
    named: Columns = columns | {name: proposal.options[name] for name in ("user", "item") if name in proposal.options}
    facts = statistics(keep_k_core(read_interactions(log, **named), k_core))
    words = _command(data, columns | proposal.options, k_core)
    if as_json:
        looked_at = [asdict(column) for column in proposal.columns]
        told = {**facts, **({"parts": files} if files else {}), "columns": looked_at, "command": " ".join(words)}
        typer.echo(json.dumps(told, ensure_ascii=False))
        return
    from recsieve.reporting.tables import say_command

    _tell(data, proposal, facts, files)
    typer.echo("next:")
    say_command(words)


def _show_columns(proposal: "Proposal") -> None:
    from recsieve.reporting.tables import rows_table, show

    rows = [(c.name, c.holds, c.distinct, ", ".join(c.examples), c.role) for c in proposal.columns]
    show(rows_table(("column", "type", "distinct", "examples", "used as"), rows, "columns (first rows)"))


def _tell(data: Path, proposal: "Proposal", facts: Mapping[str, Any], files: Mapping[str, list[str]]) -> None:
    from recsieve.display import listed
    from recsieve.reporting.tables import rows_table, say, show

    show(rows_table(("", str(data)), [(name.replace("_", " "), _shown(name, value)) for name, value in facts.items()]))
    split = [f"{name}: {listed(found)}." for name, found in files.items()]
    say(*split, *proposal.reasons, bullet=True)


def _shown(name: str, value: float | None) -> Any:
    """A fact as people read it: shares in percent, means to one decimal."""
    if value is None or isinstance(value, int):
        return value
    return f"{100 * value:.2f} %" if name in ("density", "false_positive_share") else f"{value:,.1f}"


def _command(data: Path, options: Mapping[str, Any], k_core: int) -> list[str]:
    """The words of a `train` command with these options, an option and its value as one word."""
    words = ["recsieve", "train", _word(str(data))]
    for name in (name for name in COLUMNS if name in options):
        if name == "header":
            words.append("--header" if options[name] else "--no-header")
        else:
            words.append(f"--{name.replace('_', '-')} {_word(str(options[name]))}")
    return [*words, *([f"--k-core {k_core}"] if k_core else [])]


def _word(text: str) -> str:
    """A word for a shell, in double quotes where that reads better."""
    return f'"{text}"' if "'" in text and not set('"$`\\!') & set(text) else shlex.quote(text)
