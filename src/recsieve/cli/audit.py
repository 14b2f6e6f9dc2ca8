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
    out: Annotated[Path | None, typer.Option(help="Folder for the results. [runs/audit-DATA]")] = None,
    share: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of interactions to leave out of the cleaned data, known noise first. [0.1, if no threshold]",
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Leave out interactions with at least this probability of noise.")
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with your own scores; a higher score means more likely noise."),
    ] = None,
    evidence: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="Model whose held-out scores are used as evidence; repeat for more. [ease]"),
    ] = None,
    csv: Annotated[
        bool, typer.Option("--csv", help="Also write the list, the cleaned data and the weights as CSV.")
    ] = False,
    escape_formulas: EscapeFormulas = False,
    *,
    columns: Columns,
    k_core: KCore = 0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """List the interactions that are probably noise, with reasons, and write the cleaned data.

    If --false-positive is known for some interactions, the others get a probability of noise. After Ctrl-C, the same
    command continues. Trainings are kept, so running it again with more labels is quick.
    """
    if share is not None and threshold is not None:
        raise ConfigError("both a share and a threshold are given, but they do the same: give one of them.")
    from recsieve.audit import find_noisy_interactions, train_ahead
    from recsieve.audit.noise_model import enough_labels
    from recsieve.audit.result import TRAININGS, check_folder
    from recsieve.cli.progress import show_progress
    from recsieve.communicator import join
    from recsieve.data.filtering import k_core as keep_k_core
    from recsieve.data.loading import find_parts
    from recsieve.data.reading.columns import Names
    from recsieve.data.reading.file_format import Format
    from recsieve.data.reading.formats import read_interactions
    from recsieve.data.reading.log_rows import log_column, log_rows
    from recsieve.experiments.study import require_shared, writing
    from recsieve.reporting.audit import write_audit_page

    folder = out or Path("runs") / f"audit-{data.name.split('.')[0] or 'data'}"
    names = Names(**{name: columns.get(name) for name in ("user", "item", "time", "weight")})
    form = Format(**{name: columns.get(name) for name in ("header", "encoding", "query")})
    with join() as group, writing(folder, check_folder, group), show_progress("reading and compiling") as progress:
        train = find_parts(data)["train"]
        log = keep_k_core(read_interactions(train, **columns), k_core)
        if threshold is not None and not enough_labels(log):
            raise DataError(
                "there are too few labels to estimate the probability of noise that --threshold needs: label more "
                "interactions, or give a --share."
            )
        if group.size > 1:
            require_shared(folder, group)
            train_ahead(log, seed=seed, cache=folder / TRAININGS, group=group)
        if not group.is_first:
            return
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
        say("in the CSV files, text that a spreadsheet would run as a formula starts with an apostrophe.")
    typer.echo(f"page: {page}")
    say(
        "next: open the page and look through the list; `recsieve train` without a model uses noise weights if they "
        "help"
    )


def _tell(found: "Audit") -> None:
    """Say what was found, and list the most suspicious interactions."""
    from rich.table import Table
    from rich.text import Text

    from recsieve.reporting.audit import score_name
    from recsieve.reporting.tables import say, show

    say(*found.summary["notes"], bullet=True)
    score = score_name(found.summary).replace(" of ", "\nof ")  # a narrow column leaves room for the reasons
    table = Table("user", "item", score, "why", title="the most suspicious interactions")
    for user, item, value, reason in found.table.select("user", "item", "noise_score", "reason").head(LISTED).rows():
        table.add_row(Text(str(user)), Text(str(item)), f"{value:.2f}", Text(reason))  # ids are no markup
    show(table)
    typer.echo("other checks (hints, not verdicts):")
    say(*(check["sentence"] for check in found.summary["checks"].values()), bullet=True)
