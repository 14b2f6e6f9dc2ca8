"""recsieve evaluate"""

import json

import typer

from recsieve.cli.options import Json, K, Run


def evaluate(run: Run, k: K = None, as_json: Json = False) -> None:
    """Evaluate a trained recommender by full ranking on its test set."""
    from recsieve.recommender import DEFAULT_KS, Recommender
    from recsieve.reporting.tables import metrics_table, show

    metrics = Recommender.load(run).evaluate(ks=k or DEFAULT_KS).overall
    if as_json:
        typer.echo(json.dumps(metrics))
    else:
        show(metrics_table(metrics, f"test of {run}"))
