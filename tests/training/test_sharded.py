"""Tables that TorchRec shares out over the ranks, beside the same training with whole tables written out."""

import json
import time
from itertools import islice, product

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file

from benchmarks.ranks import BATCH_SIZE, NEGATIVES, STRATEGIES, make_log, with_short_ramp
from recsieve import Recommender
from recsieve.checking import make_settings
from recsieve.communicator import SINGLE_PROCESS, Communicator
from recsieve.errors import ConfigError
from recsieve.evaluation import evaluate
from recsieve.losses import DenoisedLoss
from recsieve.models import MODELS
from recsieve.models.learner import context_of
from recsieve.sampling import Sampler
from recsieve.storage.run_folder import RunFolder
from recsieve.training.sharded import ADAGRAD_RATE, check_ranks
from recsieve.training.steps import weigh_batch

STEPS = 20
NETWORKS = ("gmf", "neumf", "nmtr")

pytest.importorskip("torchrec", reason="TorchRec is not installed: docs/cluster.md says how")


def finish(ranks):
    for rank in ranks:
        _, errors = rank.communicate(timeout=500)
        assert rank.returncode == 0, errors


@pytest.fixture(scope="module")
def run_on(tmp_path_factory, start_ranks):
    """A function that makes some steps with every model and strategy on sharded tables."""
    folder = tmp_path_factory.mktemp("sharded")

    def run(n_ranks):
        path = folder / f"{n_ranks}.json"
        words = ["benchmarks.ranks", path, "--engine", "torchrec", "--steps", STEPS, "--models", *NETWORKS]
        finish(start_ranks([words] * n_ranks))
        return json.loads(path.read_text())["runs"]

    return run


def rowwise_adagrad(tables, moments):
    """Move the rows with a gradient, by the mean square of each row's gradients so far."""
    for table in tables:
        squares = moments.setdefault(table, torch.zeros(len(table)))
        squares += table.grad.square().mean(1)
        steps = ADAGRAD_RATE * 1e-3 * table.grad / (squares.sqrt() + 1e-8)[:, None]
        table -= torch.where(squares[:, None] > 0, steps, 0.0)


def written_out(model, strategy):
    """The losses and metrics of whole tables in one process, by autograd, Adagrad and torch's Adam."""
    data, test = make_log()
    network = MODELS[model](data.csr, torch.Generator().manual_seed(1))
    denoiser = with_short_ramp(strategy, context_of(data, steps_per_epoch=1, losses_per_positive=1 + NEGATIVES))
    loss = DenoisedLoss(denoiser)
    learned = (1 - data.false_positive).astype(np.float32)
    uses_labels = network.uses_noise_labels or getattr(denoiser, "uses_noise_labels", False)
    sampler = Sampler(data, seed=0, negatives=NEGATIVES, labels=learned if uses_labels else None)
    tables = [module.weight for module in network.modules() if isinstance(module, torch.nn.Embedding)]
    for module in network.modules():
        module.sparse = False
    dense = [parameter for parameter in network.parameters() if not any(parameter is table for table in tables)]
    adam, moments, losses = torch.optim.Adam(dense, 1e-3), {}, []
    for batch in islice((b for epoch in range(STEPS) for b in sampler.batches(epoch, BATCH_SIZE)), STEPS):
        network.zero_grad()
        mean = weigh_batch(network, loss, batch).mean()
        mean.backward()
        adam.step()
        with torch.no_grad():
            rowwise_adagrad(tables, moments)
        losses.append(mean.item())
    return losses, evaluate(network.eval(), test.csr, data.csr, [10]).overall


@pytest.mark.parametrize("n_ranks", [2, pytest.param(3, marks=pytest.mark.soak)])
def test_every_strategy_on_sharded_tables_equals_whole_tables_with_adagrad(run_on, n_ranks):
    runs = run_on(n_ranks)
    for model, strategy in product(NETWORKS, STRATEGIES):
        losses, metrics = written_out(model, strategy)
        run = runs[f"{model} {strategy}"]
        assert run["losses"] == pytest.approx(losses, abs=1e-5), (model, strategy)
        assert run["metrics"] == pytest.approx({name: metrics[name] for name in run["metrics"]}, abs=1e-4)


@pytest.fixture(scope="module")
def log_file(tmp_path_factory):
    """A log on which one step in some has no row of a rank's."""
    random = np.random.default_rng(0)
    users, items = (random.random((31, 23)) < 0.4).nonzero()
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    pl.DataFrame({"user": users, "item": items}).sample(fraction=1, shuffle=True, seed=0).write_parquet(path)
    return path


@pytest.mark.soak
def test_a_run_that_was_killed_goes_on_with_another_number_of_ranks(log_file, tmp_path, start_ranks):
    how = ["--model", "gmf", "--engine", "torchrec", "--factors", 4]
    options = ["--batch-size", 4, "--checkpoint-every", 10, "--patience", 2, "--epochs", 3]

    def train(folder, *more):
        return ["recsieve", "train", log_file, *how, *options, "--out", folder, *more]

    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    finish(start_ranks([train(undisturbed)] * 2))
    ranks = start_ranks([train(killed)] * 2)
    checkpoint = RunFolder(killed).checkpoint
    while ranks[0].poll() is None and not checkpoint.exists():
        time.sleep(0.01)
    ranks[1].kill()
    _, errors = ranks[0].communicate(timeout=500)
    assert ranks[0].returncode == 2, errors
    assert not RunFolder(killed).finished
    finish(start_ranks([train(killed, "--resume")] * 3))

    one, other = load_file(undisturbed / "model.safetensors"), load_file(killed / "model.safetensors")
    assert one["user.weight"].shape == (31, 4)
    for name, weights in one.items():
        np.testing.assert_allclose(weights, other[name], atol=1e-4, err_msg=name)
    metrics = [json.loads((folder / "metrics.json").read_text()) for folder in (undisturbed, killed)]
    assert metrics[0]["test"] == pytest.approx(metrics[1]["test"], abs=1e-4)
    again = Recommender.load(undisturbed)  # whole, in one process
    assert again.evaluate().overall == pytest.approx(metrics[0]["test"], abs=1e-4)


def test_without_ranks_an_error_says_to_start_some():
    with pytest.raises(ConfigError, match="start several with torchrun"):
        check_ranks(SINGLE_PROCESS)


def test_without_torchrec_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("recsieve.training.sharded.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="not installed: install it"):
        check_ranks(Communicator(0, 2))


@pytest.mark.parametrize("model", ["cdae", "lightgcn", "ials"])
def test_a_model_whose_tables_cannot_be_shared_out_is_refused(model):
    with pytest.raises(ConfigError, match=f"{model} has no tables that it can share out"):
        make_settings({"model": model, "engine": "torchrec"})


@pytest.mark.parametrize("given", [{}, {"model": "gmf", "denoiser": "auto"}])
def test_a_choice_among_trainings_of_single_ranks_is_refused(given):
    with pytest.raises(ConfigError, match="which auto does not use: give a model"):
        make_settings({**given, "engine": "torchrec"})


def test_rows_that_torchrec_cannot_hold_are_refused():
    with pytest.raises(ConfigError, match="give a multiple of 4"):
        make_settings({"model": "gmf", "model_options": {"factors": 6}, "engine": "torchrec"})
