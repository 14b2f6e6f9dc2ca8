"""Neural multi-task recommendation over GMF: the click, and then the satisfaction."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from recsieve.data.interactions import CSR
from recsieve.errors import ConfigError, did_you_mean
from recsieve.models.base import Model, embedding, output_layer
from recsieve.objectives import Losses, Objective
from recsieve.sampling import Batch

Cascade = Literal["logit", "probability"]
CASCADES = ("logit", "probability")


class NMTR(Model):
    """Predicts clicks, and satisfaction from that prediction, with shared embeddings (Gao et al., 2019).

    Each task has its own output layer over the product of the user and the item vector, as in GMF. The click passes on
    its `logit` or its `probability`. Items are ranked by satisfaction, the last task. `satisfaction_share` is the share
    of the satisfaction loss in training; the rest is the click loss.
    """

    uses_noise_labels = True
    takes_pairs = False  # two labels of each interaction

    def __init__(
        self,
        profiles: CSR,
        generator: torch.Generator,
        *,
        factors: int = 32,
        cascade: Cascade = "logit",
        satisfaction_share: float = 0.5,
    ) -> None:
        super().__init__(profiles)
        if cascade not in CASCADES:
            raise ConfigError(f"there is no cascade '{cascade}': {did_you_mean(cascade, CASCADES)}")
        if not 0 < satisfaction_share <= 1:
            raise ConfigError(
                f"satisfaction_share is {satisfaction_share}, but it is the share of satisfaction in the loss: give a "
                "number above 0 and up to 1 (only satisfaction), e.g. 0.5."
            )
        self.cascade, self.satisfaction_share = cascade, satisfaction_share
        self.user = embedding("users", profiles, factors, generator)
        self.item = embedding("items", profiles, factors, generator)
        self.click_output = output_layer(factors, generator)
        self.satisfaction_output = output_layer(factors, generator)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        """The logit of satisfaction, by which items are ranked."""
        pairs = self.user(users) * self.item(items)  # (n, factors)
        click = self.click_output(pairs).squeeze(-1)
        return self._passed_on(click) + self.satisfaction_output(pairs).squeeze(-1)

    def losses(self, batch: Batch, objective: Objective) -> Losses:
        """The satisfaction loss, which a denoiser judges, and with it the click loss; a click is a row with an id."""
        if objective.pairwise:
            raise ConfigError("nmtr learns two labels for each interaction: give a pointwise objective, e.g. bce.")
        satisfaction = objective(self(batch.users, batch.items).float(), batch.labels)
        click_logits = self.click_output(self.user(batch.users) * self.item(batch.items)).squeeze(-1).float()
        clicks = objective(click_logits, (batch.ids >= 0).to(batch.labels.dtype))
        share = self.satisfaction_share
        return Losses(satisfaction, share * satisfaction + (1 - share) * clicks)

    @torch.no_grad()
    def score(self, users: Tensor) -> Tensor:
        vectors, items = self.user.weight[users], self.item.weight.T
        click, satisfaction = (
            torch.addmm(output.bias, vectors * output.weight, items)
            for output in (self.click_output, self.satisfaction_output)
        )
        return self._passed_on(click) + satisfaction

    def _passed_on(self, click: Tensor) -> Tensor:
        return click if self.cascade == "logit" else click.sigmoid()
