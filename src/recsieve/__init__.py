"""recsieve: recommenders that are not misled by accidental clicks.

data        a log becomes Interactions, and these a Split into training, validation and test
sampling    a split gives batches of observed interactions and negatives
models      a batch gets logits (GMF, NeuMF, CDAE)
denoisers   losses become weights (keep-all, truncated, reweighted); losses reduces them
training    one loop makes steps until validation stops improving
evaluation  all unseen items are ranked, and the lists measured
audit       interactions that are probably noise are found, with reasons
recommender the estimator that holds all this; experiments, reporting and cli stand on it
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recsieve.audit import find_noisy_interactions
    from recsieve.data.interactions import Interactions
    from recsieve.data.loading import load_split
    from recsieve.data.reading.formats import read_interactions
    from recsieve.data.splitting import Split, split_interactions
    from recsieve.recommender import Recommender
    from recsieve.studies import compare, tune

_HOMES = {
    "Recommender": "recsieve.recommender",
    "Interactions": "recsieve.data.interactions",
    "Split": "recsieve.data.splitting",
    "read_interactions": "recsieve.data.reading.formats",
    "split_interactions": "recsieve.data.splitting",
    "load_split": "recsieve.data.loading",
    "compare": "recsieve.studies",
    "tune": "recsieve.studies",
    "find_noisy_interactions": "recsieve.audit",
}

__all__ = [
    "Interactions",
    "Recommender",
    "Split",
    "compare",
    "find_noisy_interactions",
    "load_split",
    "read_interactions",
    "split_interactions",
    "tune",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: torch is slow to import, and --help has no need of it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'recsieve' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
