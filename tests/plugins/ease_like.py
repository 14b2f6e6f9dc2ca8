"""A closed form as somebody else would write it."""

from dataclasses import dataclass

import torch

from recsieve.denoisers import KeepAll
from recsieve.models import Factors, Scorer
from recsieve.models.closed_form import ClosedForm, require_one_process, weight_matrix
from recsieve.models.state import checked


@dataclass(frozen=True)
class Ridge:
    """Item-item weights (G + λ)⁻¹ G of the items' products G."""

    l2: float = 10.0

    def begin(self, split, run):
        require_one_process(run, "ridge")
        return ClosedForm(lambda: self.solve(split.train))

    def solve(self, train):
        profiles = torch.from_numpy(weight_matrix(train).toarray())
        products = profiles.T @ profiles
        weights = torch.linalg.solve(products + self.l2 * torch.eye(len(products)), products)
        return Products(profiles, weights.contiguous())  # as it comes back from a file

    def accepts(self, denoiser):
        return denoiser is KeepAll

    def restore(self, train, state):
        weights = checked(state, "weights", torch.float32, (train.n_items, train.n_items))
        return Products(torch.from_numpy(weight_matrix(train).toarray()), weights)


class Products(Scorer):
    """Profiles times weights."""

    def __init__(self, profiles, weights):
        super().__init__()
        self.n_users, self.n_items = profiles.shape
        self.profiles = profiles
        self.register_buffer("weights", weights)

    def factors(self, users):
        return Factors(self.profiles[users], self.weights.T)
