"""recsieve audit"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recsieve.cli.options import Columns, Data, EscapeFormulas, Json, KCore, Seed, reads_log
from recsieve.errors import ConfigError, DataError

if TYPE_CHECKING:
    from recsieve.audit import Audit

LISTED = 10


@reads_log
def audit(
    data: Data,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the list, the page and the data. [runs/audit-DATA]")
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Part that the cleaned data leaves out, known noise first. [0.1, if no threshold]"
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Leave out what is noise with at least this probability.")
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with scores of your own, the higher the more probably noise."),
    ] = None,
    evidence: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="Model whose held-out scores are evidence too; repeat for more. [ease]"),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write list, cleaned data and weights as CSV too.")] = False,
    escape_formulas: EscapeFormulas = False,
    *,
    columns: Columns,
    k_core: KCore = 0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Find the interactions that are probably noise, with reasons, and write them and the cleaned data.

    Labels help: where --false-positive can be told of some interactions only, the others get a probability. After
    Ctrl-C the same command goes on; trainings are kept, so that new labels cost little.
    """
    if share is not None and threshold is not None:
        raise ConfigError("both a share and a threshold are given, but either says what to leave out: give one.")
    from recsieve.audit import find_noisy_interactions
    from recsieve.audit.noise_model import enough_labels
    from recsieve.audit.result import TRAININGS, check_folder
    from recsieve.cli.progress import show_progress
    from recsieve.data.loading import find_parts, load_log
    from recsieve.data.reading.columns import Names
    from recsieve.data.reading.file_format import Format
    from recsieve.data.reading.log_rows import log_column, log_rows
    from recsieve.lock import locked
    from recsieve.reporting.audit import write_audit_page

    folder = out or Path("runs") / f"audit-{data.name.split('.')[0] or 'data'}"
    check_folder(folder)
    names = Names(**{name: columns.get(name) for name in ("user", "item", "time", "weight")})
    form = Format(**{name: columns.get(name) for name in ("header", "encoding", "query")})
    with locked(folder):
        with show_progress("reading and compiling") as progress:
            log = load_log(data, k_core=k_core, **columns)
            if threshold is not None and not enough_labels(log):
                raise DataError(
                    "there are too few labels for a probability of noise, which --threshold is of: mark more "
                    "false positives, or give a --share."
                )
            train = find_parts(data)["train"]
            found = find_noisy_interactions(
                log,
                scores=None if scores is None else log_column(train, log, names, scores, form),
                models=evidence,
                seed=seed,
                cache=folder / TRAININGS,
                progress=progress,
            )
        found.save(folder)
        page = write_audit_page(folder)
        files = found.export(
            folder,
            share=0.1 if share is None and threshold is None else share,
            threshold=threshold,
            csv=csv,
            escape_formulas=escape_formulas,
            rows_of=lambda kept: log_rows(train, kept, names, form),
        )
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), **found.summary}, ensure_ascii=False))
        return
    from recsieve.reporting.tables import say

    _tell(found)
    say(f"files: {folder / 'audit.parquet'} (all interactions), {', '.join(path.name for path in files)}")
    if csv and escape_formulas:
        say("in the CSV files, text that a spreadsheet would run begins with an apostrophe.")
    typer.echo(f"page: {page}")
    say("next: look through the list on the page; `recsieve train` without a model weighs noise down where that helps")


def _tell(found: "Audit") -> None:
    """Say what was found, and list the most suspicious interactions."""
    from rich.table import Table
    from rich.text import Text

    from recsieve.reporting.tables import say, show

    say(*found.summary["notes"], bullet=True)
    table = Table("user", "item", "noise score", "why", title="the most suspicious interactions")
    for user, item, score, reason in found.table.select("user", "item", "noise_score", "reason").head(LISTED).rows():
        table.add_row(Text(str(user)), Text(str(item)), f"{score:.2f}", Text(reason))  # ids are no markup
    show(table)
    typer.echo("beside noise (hints, not verdicts):")
    say(*(check["sentence"] for check in found.summary["checks"].values()), bullet=True)
