"""recsieve train"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recsieve.cli.options import Columns, Data, Json, K, KCore, Log, Seed, SplitBy, reads_log

if TYPE_CHECKING:
    from recsieve.group import Group
    from recsieve.training import Event


@reads_log
def train(
    data: Data,
    model: Annotated[str, typer.Option(help="gmf, neumf, cdae, or nmtr (told what was regretted).")] = "gmf",
    denoiser: Annotated[
        str,
        typer.Option(
            help="keep-all (plain CE), truncated (T-CE), reweighted (R-CE), random-drop, least-popular-drop, "
            "negative-feedback (NR: told what was regretted), or auto: choose among strategies and ranking offsets on "
            "validation."
        ),
    ] = "truncated",
    *,
    columns: Columns,
    validation: Annotated[Path | None, typer.Option(help="A file of its own for validation.")] = None,
    test: Annotated[Path | None, typer.Option(help="A file of its own for the test.")] = None,
    split: SplitBy = "random",
    k_core: KCore = 0,
    drop_positives: Annotated[
        float | None, typer.Option(help="T-CE: largest share of the positives to drop. [0.1]")
    ] = None,
    ramp_epochs: Annotated[float | None, typer.Option(help="T-CE: epochs until that share is reached. [5]")] = None,
    max_drop_rate: Annotated[
        float | None, typer.Option(help="T-CE, in the paper's terms: largest share of a batch to drop (ε_max).")
    ] = None,
    ramp_steps: Annotated[
        int | None, typer.Option(help="T-CE, in the paper's terms: steps until that share is reached (ε_N).")
    ] = None,
    beta: Annotated[float | None, typer.Option(help="R-CE: how strongly a large loss lowers the weight. [0.2]")] = None,
    fidelity: Annotated[str | None, typer.Option(help="T-CE: count as the 'paper' or as its 'authors' code.")] = None,
    false_positive_weight: Annotated[
        float | None, typer.Option(help="NR: what a regretted interaction counts as a negative, from 0 to 1. [0.1]")
    ] = None,
    negative_weight: Annotated[
        float | None, typer.Option(help="NR: what an item that was not met counts as a negative. [1]")
    ] = None,
    factors: Annotated[int | None, typer.Option(min=1, help="Size of the vectors. [32; cdae 200]")] = None,
    corruption: Annotated[float | None, typer.Option(help="CDAE: share of a profile to leave out. [0.5]")] = None,
    activation: Annotated[str | None, typer.Option(help="CDAE: sigmoid, tanh, relu or identity. [sigmoid]")] = None,
    satisfaction_share: Annotated[
        float | None, typer.Option(help="NMTR: what satisfaction counts beside clicks in the loss. [0.5]")
    ] = None,
    cascade: Annotated[
        str | None, typer.Option(help="NMTR: what the click passes on, its logit or its probability. [logit]")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="At most this many epochs.")] = 100,
    patience: Annotated[int, typer.Option(min=1, help="Stop after this many validations without progress.")] = 10,
    batch_size: Annotated[int, typer.Option(min=1, help="Positives and negatives together.")] = 1024,
    learning_rate: Annotated[float, typer.Option(help="Of Adam.")] = 1e-3,
    shard_tables: Annotated[
        bool, typer.Option("--shard-tables", help="Share the rows of tables out over torchrun's ranks by TorchRec.")
    ] = False,
    table_learning_rate: Annotated[float, typer.Option(help="Of row-wise Adagrad, on sharded tables.")] = 0.05,
    negatives: Annotated[int, typer.Option(min=1, help="Sampled for each positive.")] = 1,
    select_by: Annotated[
        str, typer.Option(help="What decides which weights are kept: ndcg@20, clean-ndcg@20, own-loss, ….")
    ] = "ndcg@20",
    validation_users: Annotated[
        int | None, typer.Option(min=1, help="Rank for at most this many users at each validation. [everybody]")
    ] = None,
    checkpoint_every: Annotated[int | None, typer.Option(min=1, help="Steps between checkpoints. [an epoch]")] = None,
    k: K = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for the run. [runs/DATA-MODEL-DENOISER-SEED]")] = None,
    log: Log = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    as_json: Json = False,
) -> None:
    """Train one recommender on a log and write its run folder."""
    from recsieve.experiments.run import DataSource, train_and_save
    from recsieve.group import join, restarts
    from recsieve.recommender import DEFAULT_KS
    from recsieve.settings import make_settings

    denoiser_options = {
        "drop_positives": drop_positives, "ramp_epochs": ramp_epochs, "max_drop_rate": max_drop_rate,
        "ramp_steps": ramp_steps, "beta": beta, "fidelity": fidelity,
        "false_positive_weight": false_positive_weight, "negative_weight": negative_weight,
    }  # fmt: skip
    model_options = {
        "factors": factors, "corruption": corruption, "activation": activation,
        "satisfaction_share": satisfaction_share, "cascade": cascade,
    }  # fmt: skip
    settings = make_settings(
        {
            "model": model,
            "model_options": _given(model_options),
            "denoiser": denoiser,
            "denoiser_options": _given(denoiser_options),
            "select_by": select_by,
            "epochs": epochs,
            "patience": patience,
            "batch_size": batch_size,
            "learning_rate": learning_rate,
            "shard_tables": shard_tables,
            "table_learning_rate": table_learning_rate,
            "negatives": negatives,
            "seed": seed,
            "validation_users": validation_users,
            "checkpoint_every": checkpoint_every,
        }
    )
    source = DataSource(data, validation, test, split=split, k_core=k_core, **columns)
    folder = out or Path("runs") / f"{data.name.split('.')[0] or 'data'}-{model}-{denoiser}-{seed}"
    with join() as group, _following(group, f"{model} {denoiser}", select_by, log, folder) as follow:
        result = train_and_save(
            source, settings, folder, ks=k or DEFAULT_KS, resume=resume or restarts() > 0, progress=follow, group=group
        )
    if not group.is_first:
        return
    from recsieve.reporting.run import write_run_page

    page = write_run_page(result.folder)
    if as_json:
        typer.echo(json.dumps({"run": str(result.folder), **result.metrics}))
        return
    from recsieve.reporting.choice import HEADER, choice_lines, choice_rows
    from recsieve.reporting.tables import metrics_table, rows_table, show

    if choice := result.metrics.get("choice"):
        show(rows_table(HEADER, choice_rows(choice)))
        typer.echo("\n".join(choice_lines(choice)))
    if result.metrics["test"]:
        show(metrics_table(result.metrics["test"], "test, full ranking"))
    else:
        typer.echo("the test part is empty, so nothing can be said about how good it is: give more interactions.")
    typer.echo(f"run folder: {result.folder}\npage: {page}")


@contextmanager
def _following(
    group: Group, label: str, select_by: str, log: str | None, folder: Path
) -> Iterator[Callable[[Event], None] | None]:
    """Show and log what happens on the first rank; the others say only what stops them."""
    from recsieve.cli.progress import training_progress
    from recsieve.experiments.tracking import logging_to

    if not group.is_first:
        logging.getLogger().setLevel(logging.ERROR)
        yield None
        return
    with training_progress(label, select_by) as progress, logging_to(log, folder, progress) as follow:
        yield follow


def _given(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}
