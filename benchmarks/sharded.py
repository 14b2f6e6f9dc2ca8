"""GMF with T-CE on sharded tables: the loss of each step, and the metrics at the end.

torchrun --nproc-per-node 2 -m benchmarks.sharded FILE [--steps 100]
"""

from __future__ import annotations

import argparse
import json
from itertools import islice
from pathlib import Path

import torch

from benchmarks.ranks import BATCH_SIZE, make_log
from recsieve.data.sharing import share_out
from recsieve.denoisers import Truncated
from recsieve.evaluation import evaluate
from recsieve.group import join
from recsieve.losses import DenoisedLoss
from recsieve.models import MODELS
from recsieve.sampling import Sampler
from recsieve.training.sharded import ShardedStep, shard_tables, whole_weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--model", default="gmf")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with join() as group:
        data, test = (share_out(part, group) for part in make_log())
        model = MODELS[options.model](data.csr, torch.Generator().manual_seed(1), factors=8)
        step = ShardedStep(shard_tables(model, 0.05, group), DenoisedLoss(Truncated(0.2, 50)), 1e-3, group)
        sampler = Sampler(data, seed=0)
        batches = (batch for epoch in range(options.steps) for batch in sampler.batches(epoch, BATCH_SIZE))
        losses = [step(batch)[0] for batch in islice(batches, options.steps)]
        whole = MODELS[options.model](data.csr, torch.Generator(), factors=8)
        whole.load_state_dict(whole_weights(model))
        metrics = evaluate(whole.eval(), test.csr, data.csr, [10], group=group).overall
        if group.is_first:
            options.file.write_text(json.dumps({"ranks": group.size, "losses": losses, "metrics": metrics}))


if __name__ == "__main__":
    main()
