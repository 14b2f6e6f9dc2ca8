"""Neural matrix factorization."""

from __future__ import annotations

from typing import ClassVar

import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from recsieve.data.interactions import CSR
from recsieve.denoisers import Range
from recsieve.models.base import Model, Of, embedding, output_layer
from recsieve.models.new_users import Priors, descend_to_users
from recsieve.models.scorer import Scorer
from recsieve.models.state import checked_profiles

# Pairs that the perceptron scores at once: few enough that their hidden layers stay in the cache.
_USERS, _ITEMS = 4, 512


class NeuMF(Model):
    """GMF and a multi-layer perceptron with a joint output layer, trained end to end (He et al., 2017).

    The perceptron has embeddings of four times the factors and three layers that halve each time
    (256→128→64→32 for 32 factors).
    """

    search_space: ClassVar[dict[str, Range]] = {"factors": Range(8, 256, whole=True)}
    rows_of: ClassVar[dict[str, tuple[Of, ...]]] = {
        **Model.rows_of, "user_mlp.weight": ("users",), "item_mlp.weight": ("items",)
    }  # fmt: skip

    def __init__(self, profiles: CSR, generator: torch.Generator, *, factors: int = 32) -> None:
        super().__init__(profiles)
        width = 4 * factors
        self.user = embedding("users", profiles, factors, generator)
        self.item = embedding("items", profiles, factors, generator)
        self.user_mlp = embedding("users", profiles, width, generator)
        self.item_mlp = embedding("items", profiles, width, generator)
        self.first = _xavier(2 * width, width, generator)
        self.deeper = nn.Sequential(
            _xavier(width, width // 2, generator),
            nn.ReLU(inplace=True),
            _xavier(width // 2, factors, generator),
            nn.ReLU(inplace=True),
        )
        self.output = output_layer(2 * factors, generator)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        return self._logits(self.user(users), self.user_mlp(users), items)

    def _logits(self, user: Tensor, user_mlp: Tensor, items: Tensor) -> Tensor:
        hidden = torch.cat([user_mlp, self.item_mlp(items)], dim=-1)
        hidden = self.deeper(torch.relu(self.first(hidden)))
        product = user * self.item(items)
        return self.output(torch.cat([product, hidden], dim=-1)).squeeze(-1)

    @torch.no_grad()
    def score(self, users: Tensor) -> Tensor:
        return self.score_vectors(self.user.weight[users], self.user_mlp.weight[users])

    def score_vectors(self, user: Tensor, user_mlp: Tensor) -> Tensor:
        """The scores of all items for users given by their vectors."""
        # The first layer is a sum of a user part and an item part, so neither is computed for each pair.
        user_weight, item_weight = self.first.weight.chunk(2, dim=1)
        user_part = torch.addmm(self.first.bias, user_mlp, user_weight.T)
        item_part = self.item_mlp.weight @ item_weight.T
        product_weight, hidden_weight = self.output.weight[0].chunk(2)
        scores = torch.addmm(self.output.bias, user * product_weight, self.item.weight.T)
        for some_users, their_scores in zip(user_part.split(_USERS), scores.split(_USERS), strict=True):
            for some_items, place in zip(item_part.split(_ITEMS), their_scores.split(_ITEMS, dim=1), strict=True):
                hidden = torch.relu_(some_items + some_users.unsqueeze(1))  # (users, items, width)
                place += self.deeper(hidden) @ hidden_weight
        return scores

    def fold_in(self, profiles: csr_array) -> Scorer:
        """Users whose vectors are found by gradient descent (`new_users`), about a tenth of a second each."""
        profiles = checked_profiles(profiles, self.n_items)
        priors = Priors(torch.cat([self.user.weight, self.user_mlp.weight], dim=1), self.profile_sizes)
        sizes = [self.user.weight.shape[1], self.user_mlp.weight.shape[1]]

        def score(vector: Tensor, items: Tensor) -> Tensor:
            user, user_mlp = (part.expand(len(items), -1) for part in vector.split(sizes))
            return self._logits(user, user_mlp, items)

        users = descend_to_users(profiles, priors, score)
        return _FoldedNeuMF(self, *users.split(sizes, dim=1))


class _FoldedNeuMF(Scorer):
    """New users with vectors, beside the model that scores them."""

    def __init__(self, model: NeuMF, user: Tensor, user_mlp: Tensor) -> None:
        super().__init__()
        self.n_users, self.n_items, self.title = len(user), model.n_items, model.title
        self._model, self._user, self._user_mlp = model, user, user_mlp

    @torch.no_grad()
    def score(self, users: Tensor) -> Tensor:
        return self._model.score_vectors(self._user[users], self._user_mlp[users])

    def as_log(self, scores: Tensor) -> Tensor:
        return scores


def _xavier(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer
