"""recsieve similar"""

import json
from typing import Annotated

import typer

from recsieve.cli.options import Json, Run


def similar(
    run: Run,
    item: Annotated[list[str], typer.Option(help="Id of an item; repeat for several.")],
    k: Annotated[int, typer.Option(min=1, help="How many items for each.")] = 10,
    as_json: Json = False,
) -> None:
    """Show the items that are most alike to some, as the model sees them."""
    from recsieve.recommender import Recommender
    from recsieve.reporting.tables import rows_table, show

    alike = Recommender.load(run).similar_items(item, k)
    if as_json:
        typer.echo(json.dumps(alike.to_dicts(), ensure_ascii=False))
    else:
        rows = [(str(row["item"]), row["rank"], str(row["similar"]), row["score"]) for row in alike.to_dicts()]
        show(rows_table(("item", "rank", "similar", "score"), rows))
