"""RecBole 1.2.1 itself, in an environment of its own: its old numpy and ours cannot share one."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks import plain
from benchmarks.measure import Agreement, Case, Skipped, Timing, seconds
from benchmarks.training import new_model, our_epoch, rows_of_users
from recsieve.data.interactions import Interactions
from recsieve.denoisers import KeepAll
from recsieve.losses import DenoisedLoss
from recsieve.models import Model
from recsieve.objectives import BPR
from recsieve.sampling import Batch
from recsieve.training import GradientFitting, TrainingPlan
from recsieve.training.steps import make_stepper

SCRIPT = Path(__file__).with_name("recbole_side.py")
ENVIRONMENT = Path(__file__).parents[1] / "build" / "recbole"


class RecBoleEpoch:
    """An epoch of RecBole's model in RecBole's trainer, against ours of the same sizes; both without T-CE."""

    def __init__(self, name: str) -> None:
        self.name = name

    def agree(self, case: Case) -> Agreement:
        """Take over RecBole's weights and compare the logits of some users and all items."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "weights.npz"
            run_recbole("export", case, self.name, str(path))
            with np.load(path) as arrays:
                exported = {name: torch.from_numpy(arrays[name]) for name in arrays}
        model = new_model(self.name.lower(), case.data).eval()
        model.load_state_dict({**model.state_dict(), **TRANSLATIONS[self.name](exported)})
        users, items = exported["users"][: len(exported["logits"])], exported["items"]
        difference = (model.score(users)[:, items] - exported["logits"]).abs().max()
        return Agreement(f"largest difference of a logit, {len(users)} users, all items", float(difference), 1e-5)

    def plain(self, case: Case) -> Timing:
        steps = case.effort.cdae_steps if self.name == "CDAE" else case.effort.plain_steps
        result = json.loads(run_recbole("time", case, self.name, str(steps)).splitlines()[-1])
        extrapolated = f"{result['steps']} of {result['of']:,} steps"
        return Timing(result["seconds"], extrapolated, peak_mb=result["peak_mb"])

    def ours(self, case: Case) -> Timing:
        # As many users a step as RecBole, where it is users that it takes in batches.
        batch_size = rows_of_users(case.data, plain.BATCH) if self.name == "CDAE" else plain.BATCH
        return our_epoch(self.name.lower(), case, KeepAll(), batch_size)


class RecBolePairwiseEpoch:
    """An epoch of RecBole's BPR or LightGCN in RecBole's trainer, against ours with the same loss."""

    def __init__(self, name: str, ours: str) -> None:
        self.name, self.model = name, ours

    def agree(self, case: Case) -> Agreement:
        """Take over RecBole's weights and batches, and compare the loss of each step."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "steps.npz"
            run_recbole("steps", case, self.name, str(path))
            with np.load(path) as arrays:
                exported = {name: torch.from_numpy(arrays[name]) for name in arrays}
        model = self._model(case.data)
        tables = {kind: _rows(exported, f"{kind}s", exported[f"{kind}_embedding.weight"]) for kind in ("user", "item")}
        model.load_state_dict({**model.state_dict(), **WEIGHTS[self.name](**tables)})
        stepper, _ = make_stepper(model.train(), DenoisedLoss(KeepAll(), BPR()).train(), plain.LEARNING_RATE, "auto")
        parts = exported["rows"].split(exported["sizes"].tolist(), dim=1)
        codes = (exported["users"], exported["items"], exported["items"])
        losses = [
            stepper(_pairs(*(code[rows] for code, rows in zip(codes, part, strict=True)))).means[0] for part in parts
        ]
        difference = np.abs(np.array(losses) - exported["losses"].numpy()).max()
        return Agreement(f"largest difference of the loss in {len(losses)} steps", float(difference), 1e-5)

    def plain(self, case: Case) -> Timing:
        steps = min(case.effort.plain_steps, 30) if self.name == "LightGCN" else case.effort.plain_steps
        result = json.loads(run_recbole("time", case, self.name, str(steps)).splitlines()[-1])
        extrapolated = f"{result['steps']} of {result['of']:,} steps"
        return Timing(result["seconds"], extrapolated, peak_mb=result["peak_mb"])

    def ours(self, case: Case) -> Timing:
        # RecBole's batch is of positives, ours of rows.
        if self.name == "LightGCN":
            return self._part_of_epoch(case)
        return our_epoch(self.model, case, KeepAll(), 2 * plain.BATCH, BPR(), **OPTIONS[self.name])

    def _part_of_epoch(self, case: Case) -> Timing:
        """A step is over the whole graph whatever the batch, so a few of them tell the time of all."""
        plan = TrainingPlan(epochs=1, batch_size=2 * plain.BATCH, learning_rate=plain.LEARNING_RATE)
        fitting = GradientFitting(self._model(case.data), BPR(), case.data, plan, lambda context: KeepAll())
        fitting.advance()  # a twentieth, to warm up
        warm = fitting.step
        each = [seconds(fitting.advance) for _ in range(case.effort.repeats)]
        done = fitting.step - warm
        total = sum(each) / done * fitting.steps_per_epoch
        return Timing(total, f"{done} of {fitting.steps_per_epoch:,} steps", repeats=each)

    def _model(self, data: Interactions) -> Model:
        return new_model(self.model, data, **OPTIONS[self.name])


def _pairs(users: Tensor, positives: Tensor, negatives: Tensor) -> Batch:
    """A batch of positives, each followed by its negative."""
    n = len(users)
    labels, ids = torch.tensor([1.0, 0.0]).repeat(n), torch.full((2 * n,), -1)
    ids[::2] = torch.arange(n)
    items = torch.stack([positives, negatives], dim=1).flatten()
    return Batch(users.repeat_interleave(2).int(), items.int(), labels, ids)


OPTIONS: dict[str, dict[str, float]] = {"BPR": {"factors": 64}, "LightGCN": {"factors": 64, "layers": 3, "l2": 0.0}}
WEIGHTS: dict[str, Callable[..., dict[str, Tensor]]] = {
    "BPR": lambda user, item: {"user.weight": user, "item.weight": item},
    "LightGCN": lambda user, item: {"vectors": torch.cat([user, item])},
}


def run_recbole(command: str, case: Case, name: str, last: str) -> str:
    """What RecBole's side prints."""
    python = Path(os.environ.get("RECBOLE_PYTHON", ENVIRONMENT / "bin" / "python"))
    if not python.exists():
        raise Skipped("RecBole is not installed: `make recbole` makes an environment with it")
    # -P: the modules beside the script are not RecBole's to find.
    line = [python, "-P", "-W", "ignore", SCRIPT, command, case.folder.resolve(), name, last]
    return subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout


def _rows(exported: dict[str, Tensor], kind: str, table: Tensor) -> Tensor:
    """The rows of RecBole's table in the order of our codes, without the one for padding."""
    ordered = torch.empty_like(table[1:])
    ordered[exported[kind]] = table[1:]
    return ordered


def _neumf(exported: dict[str, Tensor]) -> dict[str, Tensor]:
    tables = {"user": "user_mf", "item": "item_mf", "user_mlp": "user_mlp", "item_mlp": "item_mlp"}
    weights = {
        f"{ours}.weight": _rows(exported, f"{ours[:4]}s", exported[f"{theirs}_embedding.weight"])
        for ours, theirs in tables.items()
    }
    # RecBole's perceptron repeats dropout, linear layer, activation.
    layers = {"first": "mlp_layers.mlp_layers.1", "deeper.0": "mlp_layers.mlp_layers.4", "output": "predict_layer"}
    layers["deeper.2"] = "mlp_layers.mlp_layers.7"
    for ours, theirs in layers.items():
        weights |= {f"{ours}.{part}": exported[f"{theirs}.{part}"] for part in ("weight", "bias")}
    return weights


def _cdae(exported: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        "user.weight": _rows(exported, "users", exported["h_user.weight"]),
        "encoder.weight": _rows(exported, "items", exported["h_item.weight"].T),
        "hidden_bias": exported["h_item.bias"],
        "decoder.weight": _rows(exported, "items", exported["out_layer.weight"]),
        "item_bias.weight": _rows(exported, "items", exported["out_layer.bias"]).unsqueeze(-1),
    }


TRANSLATIONS = {"NeuMF": _neumf, "CDAE": _cdae}
