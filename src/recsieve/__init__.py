"""Train recommenders on noisy logs, and find out how noisy they are.

- `recsieve.data`: turns a log into `Interactions`, and splits these into training, validation and test (`Split`)
- `recsieve.models`: the recommenders; `recsieve.objectives`: their losses
- `recsieve.denoisers`: strategies, which turn losses into weights
- `recsieve.losses`, `recsieve.optim`: the losses and the optimiser alone, for your own PyTorch loop
- `recsieve.training`, `recsieve.evaluation`: the training loop with early stopping; full ranking and metrics
- `recsieve.audit`: which interactions are probably noise, and why; `recsieve.auto`: the automatic choice of a model
- `Recommender` combines all of this; `compare` and `tune` train many of them
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
