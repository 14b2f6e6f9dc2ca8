"""Tables whose rows TorchRec distributes over the ranks, for tables larger than the memory of one machine.

TorchRec updates rows in the backward pass, on a CPU by row-wise Adagrad, because it has Adam only on GPUs. So this is a
different training from that of one process, which has the lazy Adam. The model, the batches and the loss are the same.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from recsieve.communicator import Communicator
from recsieve.errors import ConfigError
from recsieve.models import Model
from recsieve.models.base import Of, drawn_rows, table_factory
from recsieve.objectives import Losses, Objective
from recsieve.sampling import Batch
from recsieve.storage.tensor_file import Share, take_own

ADAGRAD_RATE = 50  # learning rates of Adam: its first steps are as long as its rate, and then they get shorter
_NAME = "table"
_MULTIPLE = 4  # numbers that TorchRec's kernels handle together


class ShardedTable(nn.Module):
    """A table of which each rank has some rows; a lookup asks the ranks that have them, so all must make it."""

    own_rows: Tensor
    own_moments: Tensor

    def __init__(
        self,
        of: Of,
        n_rows: int,
        factors: int,
        generator: torch.Generator,
        *,
        learning_rate: float,
        group: Communicator,
    ) -> None:
        super().__init__()
        self.of, self._group, own = of, group, group.share_of(n_rows)
        table = _shard(n_rows, factors, learning_rate, group)
        self._lookup = (table,)  # not a module of this one: its parameters are updated in the backward pass
        weight, moments = table.get_parameter(f"embeddings.{_NAME}.weight").data, _moments(table)
        self._read: tuple[Tensor, Tensor] | None = None  # the rows read last, before their backward pass
        self.register_buffer("own_rows", weight[: own.stop - own.start])
        self.register_buffer("own_moments", moments[: own.stop - own.start])
        for start, rows in drawn_rows(n_rows, factors, generator):
            take_own(self.own_rows, own, rows, start)

    def forward(self, rows: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return self._look_up(rows)
        # A lookup updates its rows in its backward pass: what a model reads twice in a step must be updated once.
        if self._read is None or self._read[0] is not rows:
            self._read = rows, self._look_up(rows)
            self._read[1].register_hook(self._forget)
        return self._read[1]

    def _forget(self, gradient: Tensor) -> None:
        self._read = None

    def _look_up(self, rows: Tensor) -> Tensor:
        from torchrec import KeyedJaggedTensor

        lengths = torch.tensor([len(rows)], dtype=torch.int32)  # one list of rows, which may be empty
        with self._group.collective():
            found = self._lookup[0](KeyedJaggedTensor(keys=[_NAME], values=rows.long(), lengths=lengths))
            return found[_NAME].values()

    def materialise(self, users: Tensor) -> nn.Embedding:
        """A table with the rows of some users, or of all items, in this process."""
        rows = self(users) if self.of == "users" else torch.cat(self._group.all_gather_rows(self.own_rows))
        return nn.Embedding.from_pretrained(rows)


class ShardedModel(Model):
    """A model with sharded tables; all ranks have to score at the same time. The learning rate is Adam's."""

    is_whole = False

    def __init__(self, make: Callable[[], Model], learning_rate: float, group: Communicator) -> None:
        nn.Module.__init__(self)
        check_ranks(group)
        with table_factory(partial(ShardedTable, learning_rate=ADAGRAD_RATE * learning_rate, group=group)):
            self.model = make()
        self.n_users, self.n_items = self.model.n_users, self.model.n_items
        self.user_grouped_batches = self.model.user_grouped_batches
        self.uses_noise_labels = self.model.uses_noise_labels

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        return self.model(users, items)

    @torch.no_grad()
    def materialise(self, users: NDArray[np.int32]) -> tuple[Model, NDArray[np.int32]]:
        asked = torch.from_numpy(users)
        tables = [module for module in self.model.modules() if isinstance(module, ShardedTable)]
        whole = copy.deepcopy(self.model, {id(table): table.materialise(asked) for table in tables})
        return whole, np.arange(len(users), dtype=np.int32)

    def losses(self, batch: Batch, objective: Objective) -> Losses:
        return self.model.losses(batch, objective)

    def penalty(self, batch: Batch) -> Tensor | None:
        return self.model.penalty(batch)

    def score(self, users: Tensor) -> Tensor:
        model, rows = self.materialise(users.numpy())
        return model.score(torch.from_numpy(rows))

    def saved_weights(self) -> dict[str, Tensor | Share]:
        """The weights as in a model without sharded tables; a rank may have some rows of a table."""
        weights: dict[str, Tensor | Share] = {}
        for name, tensor in self.model.state_dict().items():
            if name.endswith(".own_rows"):
                weights[name.replace(".own_rows", ".weight")] = Share(tensor)
            elif not name.endswith(".own_moments"):
                weights[name] = tensor
        return weights


def check_shardable(name: str, model: type, factors: Any) -> None:
    """Raise an error if the tables of a model cannot be sharded; `factors` may be None."""
    if not getattr(model, "shardable", False):
        raise ConfigError(
            f"engine is 'torchrec', but {name} has no tables that it can share out: use gmf, neumf, nmtr."
        )
    if isinstance(factors, int) and factors % _MULTIPLE:
        raise ConfigError(
            f"factors is {factors}, but TorchRec handles {_MULTIPLE} at a time: give a multiple of {_MULTIPLE}."
        )


def check_ranks(group: Communicator) -> None:
    """Raise an error if sharding is not possible here."""
    if group.size == 1:
        raise ConfigError(
            "engine is 'torchrec', which shares rows out over ranks, but there is one: start several with torchrun."
        )
    if find_spec("torchrec") is None or find_spec("fbgemm_gpu") is None:
        raise ConfigError(
            "engine is 'torchrec', which is not installed: install it as docs/cluster.md says, or give 'auto'."
        )


def _shard(n_rows: int, factors: int, learning_rate: float, group: Communicator) -> nn.Module:
    """A table of TorchRec with some rows on each rank; none of them is anywhere as a whole."""
    logging.getLogger("torch.fx._symbolic_trace").setLevel(logging.ERROR)  # it warns TorchRec of a name it calls
    import torchrec
    from fbgemm_gpu.split_embedding_configs import EmbOptimType
    from torchrec.distributed.comm_ops import set_gradient_division
    from torchrec.distributed.embedding import EmbeddingCollectionSharder
    from torchrec.distributed.shard import shard
    from torchrec.distributed.sharding_plan import construct_module_sharding_plan, row_wise

    set_gradient_division(False)  # a rank's loss is its share of the whole, so that gradients are added up
    config = torchrec.EmbeddingConfig(
        name=_NAME,
        embedding_dim=factors,
        num_embeddings=-(-n_rows // group.size) * group.size,  # as many on each rank: its kernels need some
        feature_names=[_NAME],
        init_fn=nn.init.zeros_,
    )
    table = torchrec.EmbeddingCollection(tables=[config], device=torch.device("meta"))
    sharder = EmbeddingCollectionSharder(
        fused_params={"optimizer": EmbOptimType.EXACT_ROWWISE_ADAGRAD, "learning_rate": learning_rate, "eps": 1e-8}
    )
    plan = construct_module_sharding_plan(
        table, {_NAME: row_wise(compute_kernel="fused")}, sharder, group.size, group.size, "cpu"
    )
    return shard(table, plan, device=torch.device("cpu"), sharder=sharder)


def _moments(table: Any) -> Tensor:
    """The sums of squares of Adagrad, a number for each row of this rank."""
    (state,) = table.fused_optimizer.state.values()
    (moments,) = state.values()
    return moments.local_shards()[0].tensor
