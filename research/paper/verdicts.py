"""How sure a difference is, with users and seeds in its variance; corrected where all comparisons are together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recsieve.evaluation.significance import compare_paired
from research.paper.runs import SELECTIONS, RunSpec, Study


def tested(study: Study, plain: Sequence[RunSpec], other: Sequence[RunSpec], metric: str) -> dict[str, Any]:
    """The change against plain training by a metric of each user, under each way to select; of one seed, nothing."""
    if len(plain) < 2:
        return {}
    return {select_by: _compared(study, plain, other, metric, select_by) for select_by in SELECTIONS}


def _compared(
    study: Study, plain: Sequence[RunSpec], other: Sequence[RunSpec], metric: str, select_by: str
) -> dict[str, Any]:
    baseline, method = (_by_user(study, runs, metric, select_by) for runs in (plain, other))
    found = compare_paired(method, baseline, rng=np.random.default_rng(0))
    mean = float(baseline.mean())
    return {
        "metric": metric,
        "relative": 100 * found.relative_difference,
        "interval": [100 * end / mean for end in found.interval] if mean else None,
        "p_value": found.p_value,
        "users": found.n_users,
        "seeds": found.n_seeds,
    }


def _by_user(study: Study, runs: Sequence[RunSpec], metric: str, select_by: str) -> NDArray[np.float64]:
    """(seeds, users), those of all runs in the same order."""
    frames = [study[run].per_user(select_by) for run in runs]
    return np.stack([frame.sort("user")[metric].to_numpy() for frame in frames])
