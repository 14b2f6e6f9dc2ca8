"""recsieve convert"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recsieve.cli.options import Json, KCore, Seed, SplitBy

if TYPE_CHECKING:
    from recsieve.data.sources.source import RawSource

convert = typer.Typer(
    help="Convert public data sets to a split like the paper's.",
    no_args_is_help=True,
)

Out = Annotated[Path, typer.Option(help="Folder for the split; it must be new or empty.")]
Below = Annotated[float, typer.Option(help="A rating below this is a false positive.")]


@convert.command()
def adressa(
    source: Annotated[
        Path, typer.Argument(help="Folder with an event log for each day, or one of these files; also .gz.")
    ],
    out: Out,
    below: Annotated[float, typer.Option(help="Clicks with less active time (in seconds) are false positives.")] = 10.0,
    unmeasured: Annotated[
        str, typer.Option(help="Clicks without an active time: leave-out, false (count them as noise) or unknown.")
    ] = "leave-out",
    k_core: KCore = 0,
    split: SplitBy = "random",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """News clicks from the event logs of Adressa."""
    from recsieve.data.sources.adressa import Adressa

    _convert(Adressa(source, below, unmeasured), "adressa", out, k_core, split, seed, as_json)  # type: ignore[arg-type]


@convert.command()
def amazon(
    source: Annotated[Path, typer.Argument(help="Reviews (JSON lines) or ratings (CSV) of a category; also .gz.")],
    out: Out,
    below: Below = 3.0,
    k_core: KCore = 0,
    split: SplitBy = "random",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Purchases from a file of Amazon reviews (2014, 2018 or 2023 release)."""
    from recsieve.data.sources.amazon import Amazon

    _convert(Amazon(source, below), "amazon-book", out, k_core, split, seed, as_json)


@convert.command()
def yelp(
    source: Annotated[
        Path, typer.Argument(help="Folder with the review and the business file (JSON lines, also .gz).")
    ],
    out: Out,
    below: Below = 3.0,
    category: Annotated[
        list[str] | None,
        typer.Option(help="Category of businesses to keep; repeat for several. [Restaurants and Bars]"),
    ] = None,
    k_core: KCore = 0,
    split: SplitBy = "random",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Visits to catering businesses from Yelp's open dataset."""
    from recsieve.data.sources.yelp import CATERING, Yelp

    _convert(Yelp(source, below, tuple(category or CATERING)), "yelp", out, k_core, split, seed, as_json)


@convert.command()
def movielens(
    source: Annotated[Path, typer.Argument(help="ratings.dat, u.data or ratings.csv, or the folder with it.")],
    out: Out,
    below: Below = 3.0,
    k_core: KCore = 0,
    split: SplitBy = "random",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Ratings of any MovieLens data set."""
    from recsieve.data.sources.movielens import MovieLens

    _convert(MovieLens(source, below), None, out, k_core, split, seed, as_json)


def _convert(
    source: "RawSource", published: str | None, out: Path, k_core: int, split: str, seed: int, as_json: bool
) -> None:
    from recsieve.cli.progress import show_progress
    from recsieve.data.sources.conversion import convert as convert_files

    with show_progress("reading") as progress:
        about = convert_files(source, out, k_core=k_core, split=split, seed=seed, progress=progress)
    if as_json:
        typer.echo(json.dumps({"folder": str(out), **about}))
    else:
        _show(about, published, out)


def _show(about: dict[str, Any], published: str | None, out: Path) -> None:
    """Print the counts of the training part, beside those of the paper's Table 2 where it has the data set."""
    from recsieve.reporting.tables import rows_table, show
    from recsieve.simulation.config import TABLE2

    counts = ("users", "items", "interactions", "false_positives")
    table2 = TABLE2.get(published or "", {})
    rows = [
        (name.replace("_", " "), f"{about['train'][name]:,}", *([f"{table2[name]:,}"] if table2 else []))
        for name in counts
        if about["train"][name] is not None
    ]
    header = ("training part", "here", *(["the paper's Table 2"] if table2 else []))
    show(rows_table(header, rows))
    parts = about["parts"]
    typer.echo(
        f"{about['lines']:,} lines read, {about['lines_left_out']:,} of them skipped, {about['repeated_pairs']:,} "
        f"repeated pairs merged; false positives: {about['false_positive']}\nvalidation {parts['validation']:,}, test "
        f"{parts['test']:,} (and {parts['test_false_positives']:,} known false positives kept separately): "
        f"{out}\nnext: recsieve train {out}"
    )
