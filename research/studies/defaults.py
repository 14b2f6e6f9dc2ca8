"""Which defaults suit most logs? Rules for the options of models, held against each other on validation alone.

python -m research.studies.defaults findings/defaults.json findings/*.toml

The first argument is the result, which is added to data set by data set; the others are comparisons' configurations, of
which the data are taken. The test part is never looked at. A rule is worth the mean over the data sets of its NDCG@20
on validation, as a share of the best rule's of that model there.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from recsieve.data.interactions import Interactions
from recsieve.data.splitting import Split
from recsieve.experiments.config import read_config
from recsieve.experiments.source import DataSource
from recsieve.experiments.study import how_made, require_split, write_result
from recsieve.models.closed_form import weight_matrix
from recsieve.models.ease import default_l2
from recsieve.models.ials import IALS
from recsieve.recommender import Recommender

Rule = Callable[[Interactions], Mapping[str, Any]]


def _ease(times: float) -> Rule:
    return lambda train: {"l2": times / 5 * default_l2(weight_matrix(train))}


def _ials(l2: float, alpha0: float, factors: int | None = None) -> Rule:
    """λ at which λ_u is so much for the mean user."""

    def options(train: Interactions) -> dict[str, Any]:
        usual = IALS(alpha0=alpha0, factors=factors).settled(train)
        return {"l2": usual.l2 * l2 / 4, "alpha0": alpha0, "factors": usual.factors}

    return options


def _given(**options: Any) -> Rule:
    return lambda train: options


# By model and the rule's words; the default is among them.
RULES: dict[str, dict[str, Rule]] = {
    "ease": {f"l2 = {n:g} × the mean item's interactions": _ease(n) for n in (1, 2, 5, 10, 20)},
    "ials": {
        **{f"λ_u = {n:g}, α0 = {a:g}, factors by size": _ials(n, a) for a in (0.1, 0.3) for n in (1, 2, 4, 8)},
        **{f"λ_u = 4, α0 = 0.1, {f} factors": _ials(4, 0.1, f) for f in (64, 128)},
    },
    "itemknn": {
        f"{similarity}, {n or 'all'} neighbours": _given(similarity=similarity, neighbours=n)
        for similarity in ("bm25", "cosine")
        for n in (50, 100, 200, 0)
    },
    "rp3beta": {
        f"α = {alpha:g}, β = {beta:g}, {n} neighbours": _given(alpha=alpha, beta=beta, neighbours=n)
        for alpha, beta in ((0.6, 0.5), (0.8, 0.5), (1.0, 0.5), (0.6, 0.3), (0.6, 0.7), (0.8, 0.3))
        for n in (100, 200)
    },
}


class DefaultsStudy(BaseModel):
    """What decides the numbers of one data set, beside the code."""

    data: DataSource | None
    seed: int = 0


def score(split: Split, model: str, options: Mapping[str, Any], seed: int) -> float:
    """NDCG@20 on validation."""
    return Recommender(model, "keep-all", model_options=dict(options), seed=seed).fit(split).selected["score"]


def study(name: str, data: DataSource | None, command: str) -> dict[str, Any]:
    """Every rule of every model on one data set."""
    started, config = time.perf_counter(), DefaultsStudy(data=data)
    split = require_split(data, None, ("train", "validation"), "defaults are judged")
    scores: dict[str, dict[str, float]] = {}
    for model, rules in RULES.items():
        scores[model] = {words: score(split, model, rule(split.train), config.seed) for words, rule in rules.items()}
        best = max(scores[model], key=lambda words: scores[model][words])
        print(f"{name}, {model}: {best}, {scores[model][best]:.4f}", file=sys.stderr, flush=True)  # noqa: T201
    return how_made(config, command, started) | {"scores": scores}


if __name__ == "__main__":
    out, command = Path(sys.argv[1]), "python -m research.studies.defaults findings/defaults.json findings/*.toml"
    found = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    for path in map(Path, sys.argv[2:]):
        if path.stem not in found:
            found[path.stem] = study(path.stem, read_config(path).data, command)
            write_result(out, found)
