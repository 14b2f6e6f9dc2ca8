"""recsieve similar"""

import json
from typing import Annotated

import typer

from recsieve.cli.options import Json, Run
from recsieve.errors import ConfigError


def similar(
    run: Run,
    item: Annotated[list[str] | None, typer.Option(help="Item id; repeat for several.")] = None,
    user: Annotated[list[str] | None, typer.Option(help="User id, for similar users; repeat for several.")] = None,
    k: Annotated[int, typer.Option(min=1, help="Number of similar items or users.")] = 10,
    as_json: Json = False,
) -> None:
    """Show the items or users that are most similar, according to the model."""
    if bool(item) == bool(user):
        raise ConfigError("give either --item or --user.")
    from recsieve.recommender import Recommender
    from recsieve.reporting.tables import rows_table, show

    recommender = Recommender.load(run)
    alike = recommender.similar_items(item, k) if item else recommender.similar_users(user or [], k)
    if as_json:
        typer.echo(json.dumps(alike.to_dicts(), ensure_ascii=False))
    else:
        rows = [(str(one), rank, str(other), score) for one, other, rank, score in alike.iter_rows()]
        show(rows_table((alike.columns[0], "rank", "similar", "score"), rows))
