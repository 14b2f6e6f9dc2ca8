"""Tables that TorchRec shares out, where it is installed."""

import json

import pytest
import torch

from recsieve.errors import ConfigError
from recsieve.group import ALONE
from recsieve.models import MODELS
from recsieve.training.sharded import shard_tables

try:
    import torchrec
except ImportError:
    torchrec = None


@pytest.mark.skipif(torchrec is None, reason="TorchRec is not installed: docs/cluster.md says how")
def test_two_and_three_ranks_with_shared_tables_have_the_same_losses_and_metrics(start_ranks, tmp_path):
    for n_ranks in (2, 3):
        for rank in start_ranks([["benchmarks.sharded", tmp_path / f"{n_ranks}.json", "--steps", 30]] * n_ranks):
            _, errors = rank.communicate(timeout=500)
            assert rank.returncode == 0, errors
    two, three = (json.loads((tmp_path / f"{n_ranks}.json").read_text()) for n_ranks in (2, 3))
    assert three["losses"] == pytest.approx(two["losses"], abs=1e-5)
    assert three["metrics"] == pytest.approx(two["metrics"], abs=1e-4)
    assert sum(two["losses"][-5:]) < sum(two["losses"][:5])


@pytest.mark.skipif(torchrec is not None, reason="TorchRec is installed")
def test_without_torchrec_an_error_says_what_to_install(small_data):
    model = MODELS["gmf"](small_data().csr, torch.Generator())
    with pytest.raises(ConfigError, match="sharded tables need TorchRec"):
        shard_tables(model, 0.1, ALONE)


def test_a_model_that_reads_whole_profiles_is_refused(small_data):
    model = MODELS["cdae"](small_data().csr, torch.Generator(), factors=4)
    with pytest.raises(ConfigError, match="reads whole profiles"):
        shard_tables(model, 0.1, ALONE)
