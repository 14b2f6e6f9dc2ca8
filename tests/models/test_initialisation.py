"""Sizes and first weights, as the paper and its authors' code have them."""

import numpy as np
import pytest
import torch

from recsieve.data.interactions import CSR
from recsieve.models import CDAE, GMF, NeuMF
from recsieve.models.base import drawn_rows, embedding, empty_table, table_factory

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


@pytest.mark.parametrize("n_rows", [0, 1, 3, 64, 65, 127, 128, 200])
@pytest.mark.parametrize("factors", [1, 4, 5])
def test_rows_drawn_some_at_a_time_are_those_drawn_at_once(monkeypatch, n_rows, factors):
    monkeypatch.setattr("recsieve.models.base._DRAWN_AT_ONCE", 64)
    profiles = CSR(np.zeros(n_rows + 1, np.int64), np.zeros(0, np.int32), 1)
    table = embedding("users", profiles, factors, torch.Generator().manual_seed(3))
    blocks = list(drawn_rows(n_rows, factors, torch.Generator().manual_seed(3)))
    assert [start for start, _ in blocks] == list(np.cumsum([0, *(len(rows) for _, rows in blocks)])[:-1])
    assert torch.equal(torch.cat([rows for _, rows in blocks]), table.weight)


def test_tables_are_made_by_another_function_only_within():
    profiles = CSR(np.zeros(3, np.int64), np.zeros(0, np.int32), 5)
    with table_factory(empty_table):
        empty = embedding("items", profiles, 4, torch.Generator())
    assert empty.weight.is_meta
    assert empty.weight.shape == (5, 4)
    assert not embedding("items", profiles, 4, torch.Generator()).weight.is_meta
