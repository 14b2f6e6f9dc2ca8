"""recsieve describe"""

import json

import typer

from recsieve.cli.options import Columns, Data, Json, KCore, reads_log


@reads_log
def describe(
    data: Data,
    *,
    columns: Columns,
    k_core: KCore = 0,
    as_json: Json = False,
) -> None:
    """Count users, items, interactions and false positives, as in the paper's Table 2 (of the training part)."""
    from recsieve.data.filtering import k_core as filter_core
    from recsieve.data.loading import find_parts
    from recsieve.data.reading.formats import read_interactions
    from recsieve.data.statistics import describe as statistics
    from recsieve.reporting.tables import rows_table, show

    interactions = read_interactions(find_parts(data)["train"], **columns)
    facts = statistics(filter_core(interactions, k_core) if k_core else interactions)
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        rows = [(name.replace("_", " "), value) for name, value in facts.items()]
        show(rows_table(("", str(data)), rows))
