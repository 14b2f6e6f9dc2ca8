"""recsieve recommend"""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from recsieve.cli.options import EscapeFormulas, Json, Run
from recsieve.errors import ConfigError


def recommend(
    run: Run,
    user: Annotated[list[str] | None, typer.Option(help="User id; repeat for several. [all users]")] = None,
    profiles: Annotated[
        Path | None,
        typer.Option(
            help="Recommend for new users: a file with a column of users and one of their items, or only items for a "
            "single profile."
        ),
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="Number of items for each user.")] = 10,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Also recommend items that the user already has.")
    ] = False,
    allow: Annotated[
        Path | None,
        typer.Option(help="A file of items: recommend only these. With a column of users, per user."),
    ] = None,
    deny: Annotated[
        Path | None, typer.Option(help="A file of items that are not recommended. With a column of users, per user.")
    ] = None,
    min_popularity: Annotated[int, typer.Option(min=0, help="Only items with at least this many interactions.")] = 0,
    categories: Annotated[
        Path | None, typer.Option(help="A file with a column of items and one of their categories.")
    ] = None,
    per_category: Annotated[int, typer.Option(min=0, help="Maximum number of items of a category in a list.")] = 0,
    explain: Annotated[
        int,
        typer.Option(
            min=0, help="For each recommendation, show this many of the user's items that contributed most, e.g. 3."
        ),
    ] = 0,
    unknown: Annotated[
        Literal["error", "popular"], typer.Option(help="For users who are not in the data: an error, or popular items.")
    ] = "error",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write to this .parquet or .csv file. A name without an extension is a folder of Parquet parts, for "
            "all users of a large log; after a stop, the same command continues."
        ),
    ] = None,
    escape_formulas: EscapeFormulas = False,
    as_json: Json = False,
) -> None:
    """Recommend items for users, with your own ids."""
    if out is not None and not out.suffix:
        if user or profiles or explain:
            raise ConfigError(
                f"{out} is a folder for the lists of all users, without reasons: leave out --user, --profiles and "
                "--explain, or give a .parquet file."
            )
        given = (not include_seen, allow, deny, min_popularity, categories, per_category)
        return _write_folder(run, k, out, given)
    import polars as pl

    from recsieve.display import counted
    from recsieve.recommendations.frame import in_words
    from recsieve.recommender import Recommender
    from recsieve.reporting.tables import rows_table, show
    from recsieve.storage.frame_file import write_frame

    lists = Recommender.load(run).recommend(
        user, k, profiles=profiles, exclude_seen=not include_seen, unknown=unknown, allow=allow, deny=deny,
        min_popularity=min_popularity, categories=categories, per_category=per_category, explain=explain,
    )  # fmt: skip
    if explain and not (as_json or (out is not None and out.suffix == ".parquet")):
        words = pl.Series([in_words(reasons) for reasons in lists["reasons"].to_list()], dtype=pl.String)
        lists = lists.with_columns(reasons=words)
    if out is not None:
        write_frame(lists, out, escape_formulas=escape_formulas)
        typer.echo(f"{counted(lists.height, 'row')} for {counted(lists['user'].n_unique(), 'user')}: {out}")
        if escape_formulas and out.suffix == ".csv":
            typer.echo("text that a spreadsheet would run as a formula starts with an apostrophe.")
    elif as_json:
        typer.echo(json.dumps(lists.to_dicts(), ensure_ascii=False))
    else:
        shown = lists.head(200)
        columns = ("user", "rank", "item", "score", *(["reasons"] if explain else []))
        rows = [
            [row[name] if name in ("rank", "score") else str(row[name]) for name in columns] for row in shown.to_dicts()
        ]
        show(rows_table(columns, rows))
        if lists.height > shown.height:
            typer.echo(f"… and {lists.height - shown.height:,} more rows: write them all with --out FILE.parquet")


def _write_folder(run: Path, k: int, out: Path, filters: tuple[Any, ...]) -> None:
    """Write the lists of all users, each rank of a group its share."""
    from recsieve.cli.progress import show_progress
    from recsieve.communicator import join
    from recsieve.display import counted
    from recsieve.progress import unheard
    from recsieve.recommendations.filters import Filters
    from recsieve.serving.list_folder import write_lists

    with (
        join() as group,
        show_progress("reading and compiling") if group.is_first else nullcontext(unheard) as progress,
    ):
        lists = write_lists(run, out, k, filters=Filters(*filters), group=group, progress=progress)
    if group.is_first:
        typer.echo(f"lists of {counted(lists.users, 'user')}, Parquet parts: {lists.n_parts:,}, in {out}")
