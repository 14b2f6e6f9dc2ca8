"""Sizes and first weights, as the paper and its authors' code have them."""

import numpy as np
import pytest
import torch

from recsieve.data.interactions import CSR
from recsieve.models import CDAE, GMF, NeuMF

PROFILES = CSR.from_pairs(np.arange(2000, dtype=np.int32), np.arange(2000, dtype=np.int32) % 1500, 2000, 1500)


def make(kind):
    return kind(PROFILES, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", [GMF, NeuMF])
def test_embeddings_are_normal_with_deviation_one_hundredth(kind):
    for table in (make(kind).user.weight, make(kind).item.weight):
        assert table.shape[1] == 32
        assert table.std().item() == pytest.approx(0.01, rel=0.02)
        assert table.mean().item() == pytest.approx(0, abs=2e-4)


@pytest.mark.parametrize("kind", [GMF, NeuMF])
def test_the_output_layer_is_uniform_within_the_root_of_three_by_its_inputs(kind):
    layer = make(kind).output
    bound = (3 / layer.in_features) ** 0.5
    assert bound * 0.8 < layer.weight.abs().max().item() <= bound
    assert layer.bias.item() == 0


def test_neumf_has_the_papers_layers():
    model = make(NeuMF)
    shapes = [tuple(layer.weight.shape) for layer in (model.first, model.deeper[0], model.deeper[2], model.output)]
    assert shapes == [(128, 256), (64, 128), (32, 64), (1, 64)]
    assert model.user_mlp.weight.shape[1] == 128
    bound = (6 / (128 + 256)) ** 0.5  # Xavier uniform
    assert bound * 0.99 < model.first.weight.abs().max().item() <= bound
    assert not model.first.bias.any()


def test_cdae_has_two_hundred_hidden_units():
    assert make(CDAE).decoder.weight.shape == (1500, 200)
