"""Tables whose rows are shared out over the ranks with TorchRec, for those that outgrow the memory of one machine.

TorchRec moves rows in the backward pass, on a CPU by row-wise Adagrad: it has Adam on a GPU only. So this is another
training than that of one process, which has the lazy Adam. What is the same is the model, the batches and the loss.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from recsieve.errors import ConfigError
from recsieve.group import Group
from recsieve.losses import DenoisedLoss
from recsieve.models import Model
from recsieve.sampling import Batch
from recsieve.training.stepper import Stepper, weigh_batch

_NAME = "table"


class ShardedTable(nn.Module):
    """An embedding of which each rank has some rows; a lookup asks the ranks that have them, so all must make it."""

    def __init__(self, n_rows: int, factors: int, learning_rate: float, group: Group) -> None:
        super().__init__()
        self.n_rows, self.factors, self._group = n_rows, factors, group
        share = -(-n_rows // group.size)  # as TorchRec shares rows out
        self.rows = slice(min(group.rank * share, n_rows), min((group.rank + 1) * share, n_rows))
        self._table = _shard(n_rows, factors, learning_rate, group)

    def forward(self, rows: Tensor) -> Tensor:
        from torchrec import KeyedJaggedTensor

        lengths = torch.ones(len(rows), dtype=torch.int32)
        found = self._table(KeyedJaggedTensor(keys=[_NAME], values=rows.long(), lengths=lengths))
        return found[_NAME].values()

    @property
    def own(self) -> Tensor:
        """The rows that this rank has."""
        own: Tensor = self._table.get_parameter(f"embeddings.{_NAME}.weight")
        return own

    def whole(self) -> Tensor:
        """All rows, on every rank: for a table that fits after all."""
        return torch.cat(self._group.gather(self.own.detach()))


def shard_tables(model: Model, learning_rate: float, group: Group) -> Model:
    """Replace the embeddings of a model by sharded ones with the same rows."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.EmbeddingBag):
                raise ConfigError("the model reads whole profiles from its tables: shard those of gmf, neumf or nmtr.")
            if isinstance(child, nn.Embedding):
                table = ShardedTable(child.num_embeddings, child.embedding_dim, learning_rate, group)
                with torch.no_grad():
                    table.own.copy_(child.weight[table.rows])
                setattr(module, name, table)
    return model


def whole_weights(model: Model) -> dict[str, Tensor]:
    """The weights as the model without sharded tables has them, on every rank."""
    tables = {name: module for name, module in model.named_modules() if isinstance(module, ShardedTable)}
    inside = tuple(f"{name}." for name in tables)
    rest = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(inside)}
    return rest | {f"{name}.weight": table.whole() for name, table in tables.items()}


class ShardedStep(Stepper):
    """Makes steps on sharded tables with row-wise Adagrad, and with Adam on the other parameters."""

    def __init__(self, model: Model, loss: DenoisedLoss, learning_rate: float, group: Group) -> None:
        self._model, self._loss, self._group = model, loss, group
        sharded = {p for module in model.modules() if isinstance(module, ShardedTable) for p in module.parameters()}
        self._dense = [parameter for parameter in model.parameters() if parameter not in sharded]
        self._adam = torch.optim.Adam(self._dense, learning_rate)

    def __call__(self, batch: Batch) -> tuple[float, Tensor, Tensor]:
        weighed = weigh_batch(self._model, self._loss, batch)
        self._adam.zero_grad(set_to_none=True)
        mean = weighed.mean()
        mean.backward()  # moves the rows; TorchRec averages gradients over the ranks, and so do we
        total = torch.cat([mean.detach().reshape(1), *(p.grad.reshape(-1) for p in self._dense)])  # type: ignore[union-attr]
        self._group.add_up(total)
        averages = (total[1:] / self._group.size).split([parameter.numel() for parameter in self._dense])
        for parameter, average in zip(self._dense, averages, strict=True):
            parameter.grad = average.view_as(parameter)
        self._adam.step()
        return float(total[0] / self._group.size), weighed.losses.detach(), weighed.weights


def _shard(n_rows: int, factors: int, learning_rate: float, group: Group) -> nn.Module:
    """A table of TorchRec with some rows on each rank; none of them is anywhere as a whole."""
    try:
        import torchrec
        from fbgemm_gpu.split_embedding_configs import EmbOptimType
        from torchrec.distributed.embedding import EmbeddingCollectionSharder
        from torchrec.distributed.shard import shard
        from torchrec.distributed.sharding_plan import construct_module_sharding_plan, row_wise
    except ImportError as error:
        raise ConfigError(
            f"sharded tables need TorchRec ({error}): install it as docs/cluster.md says, or train without them."
        ) from error
    config = torchrec.EmbeddingConfig(
        name=_NAME, embedding_dim=factors, num_embeddings=n_rows, feature_names=[_NAME], init_fn=nn.init.zeros_
    )
    table = torchrec.EmbeddingCollection(tables=[config], device=torch.device("meta"))
    sharder = EmbeddingCollectionSharder(
        fused_params={"optimizer": EmbOptimType.EXACT_ROWWISE_ADAGRAD, "learning_rate": learning_rate, "eps": 1e-8}
    )
    plan = construct_module_sharding_plan(
        table, {_NAME: row_wise(compute_kernel="fused")}, sharder, group.size, group.size, "cpu"
    )
    return shard(table, plan, device=torch.device("cpu"), sharder=sharder)
