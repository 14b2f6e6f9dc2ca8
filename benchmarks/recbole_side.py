"""RecBole's side of a comparison, run by an interpreter that has RecBole 1.2.1 (`make recbole`) and nothing of ours.

python -P recbole_side.py time FOLDER MODEL STEPS      times some steps of RecBole's own trainer, prints JSON
python -P recbole_side.py export FOLDER MODEL OUT.npz  weights as they start, and the logits that they give
python -P recbole_side.py steps FOLDER MODEL OUT.npz   weights as they start, some pairwise batches, and their losses
python -P recbole_side.py fit FOLDER MODEL OUT.npz EPOCHS RATE SEED   the vectors after each third epoch
FOLDER holds users.npy and items.npy; paths are absolute.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from recbole.config import Config
from recbole.data import create_dataset, data_preparation
from recbole.utils import get_model, get_trainer, init_seed

SETTINGS = {
    "NeuMF": {
        "mf_embedding_size": 32,
        "mlp_embedding_size": 128,
        "mlp_hidden_size": [128, 64, 32],
        "dropout_prob": 0.0,
    },
    "BPR": {"embedding_size": 64},
    "LightGCN": {"embedding_size": 64, "n_layers": 3, "reg_weight": 0.0},
    "CDAE": {"embedding_size": 200, "hid_activation": "sigmoid", "reg_weight_2": 0.0, "train_neg_sample_args": None},
}
COMMON = {
    "train_batch_size": 1024,
    "learning_rate": 1e-3,
    "use_gpu": False,
    "state": "ERROR",
    "show_progress": False,
    "load_col": {"inter": ["user_id", "item_id"]},
    "eval_args": {"split": {"RS": [1.0, 0.0, 0.0]}, "group_by": "none", "order": "RO", "mode": "full"},
}
FIT = {"train_batch_size": 2048}  # positives
EXPORTED_USERS = 5
STEPS = 100
EPOCHS_BETWEEN = 3


def prepare(folder: Path, name: str, work: str, seed: int = 0, **own):
    """RecBole's data loader, model and trainer on the interactions of a folder."""
    path = Path(work) / "bench"
    path.mkdir()
    pairs = np.stack([np.load(folder / "users.npy"), np.load(folder / "items.npy")], axis=1)
    np.savetxt(path / "bench.inter", pairs, "%d", "\t", header="user_id:token\titem_id:token", comments="")
    settings = {**COMMON, **SETTINGS[name], **own, "data_path": work, "checkpoint_dir": work}
    config = Config(model=name, dataset="bench", config_dict=settings)
    init_seed(seed, reproducibility=False)
    dataset = create_dataset(config)
    batches, _, _ = data_preparation(config, dataset)
    model = get_model(name)(config, batches.dataset)
    return batches, model, get_trainer(config["MODEL_TYPE"], name)(config, model)


def time_steps(batches, trainer, steps: int) -> dict[str, float]:
    """The seconds of an epoch, extrapolated from some of its steps, after one to warm up."""
    trainer._train_epoch(islice(batches, 1), 0)
    steps = min(steps, len(batches))
    start = time.perf_counter()
    trainer._train_epoch(islice(batches, steps), 0)
    each = (time.perf_counter() - start) / steps
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": each * len(batches), "steps": steps, "of": len(batches), "peak_mb": round(peak)}


@torch.no_grad()
def export(batches, model, out: str) -> None:
    """Write the weights, whose id each row is, and the logits of all items for a few users."""
    model.eval()
    users, items = torch.arange(1, 1 + EXPORTED_USERS), torch.arange(1, model.n_items)  # 0 is for padding
    if hasattr(model, "get_rating_matrix"):
        logits = model(model.get_rating_matrix(users), users)[:, 1:]
    else:
        logits = torch.stack([model(user.expand(len(items)), items) for user in users])
    own = {name: batches.dataset.field2id_token[f"{name}_id"][1:].astype(np.int64) for name in ("user", "item")}
    weights = {name: weight.numpy() for name, weight in model.state_dict().items()}
    np.savez(out, users=own["user"], items=own["item"], logits=logits.numpy(), **weights)


def train_steps(batches, model, out: str) -> None:
    """Make some steps of Adam as the trainer does; write what they began with and the loss of each."""
    weights = {name: weight.numpy().copy() for name, weight in model.state_dict().items()}
    own = {name: batches.dataset.field2id_token[f"{name}_id"][1:].astype(np.int64) for name in ("user", "item")}
    optimizer, rows, losses = torch.optim.Adam(model.parameters(), lr=COMMON["learning_rate"]), [], []
    for batch in islice(batches, STEPS):
        optimizer.zero_grad()
        loss = model.calculate_loss(batch)
        loss.backward()
        optimizer.step()
        columns = (batch["user_id"], batch["item_id"], batch["neg_item_id"])
        rows.append(torch.stack([column - 1 for column in columns]).numpy())  # 0 is for padding
        losses.append(loss.item())
    sizes = np.array([part.shape[1] for part in rows])
    np.savez(out, users=own["user"], items=own["item"], rows=np.concatenate(rows, 1), sizes=sizes, losses=losses,
             **weights)  # fmt: skip


def fit(folder: str, name: str, out: str, work: str, epochs: int, rate: float, seed: int) -> None:
    """Train, and write the vectors of users and items as they are along the way, in the order of the given ids."""
    own = {**FIT, "learning_rate": rate, **({"reg_weight": 1e-4} if name == "LightGCN" else {})}
    batches, model, trainer = prepare(Path(folder), name, work, seed, **own)
    places = {kind: batches.dataset.field2id_token[f"{kind}_id"][1:].astype(np.int64) for kind in ("user", "item")}
    counts = {kind: np.load(Path(folder) / f"{kind}s.npy").max() + 1 for kind in ("user", "item")}
    kept: dict[str, list] = {"user": [], "item": []}
    for epoch in range(epochs):
        model.train()
        trainer._train_epoch(batches, epoch)
        if (epoch + 1) % EPOCHS_BETWEEN == 0:
            for kind, table in zip(("user", "item"), vectors(model, name), strict=True):
                ordered = np.zeros((counts[kind], table.shape[1]), np.float32)
                ordered[places[kind]] = table[1:].detach().numpy()  # 0 is for padding
                kept[kind].append(ordered)
    np.savez(out, users=np.stack(kept["user"]), items=np.stack(kept["item"]))


@torch.no_grad()
def vectors(model, name: str):
    """Those whose products are the scores: of LightGCN after propagation."""
    model.eval()
    return model() if name == "LightGCN" else (model.user_embedding.weight, model.item_embedding.weight)


def main(command: str, folder: str, name: str, last: str, *more: str) -> None:
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)  # RecBole leaves a folder behind where it is run
        if command == "fit":
            epochs, rate, seed = more
            return fit(folder, name, last, work, int(epochs), float(rate), int(seed))
        batches, model, trainer = prepare(Path(folder), name, work)
        if command == "export":
            export(batches, model, last)
        elif command == "steps":
            train_steps(batches, model, last)
        else:
            print(json.dumps(time_steps(batches, trainer, int(last))))


if __name__ == "__main__":
    main(*sys.argv[1:])
