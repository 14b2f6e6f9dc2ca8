"""Lists and vectors as other programs read them."""

import json
import sqlite3

import numpy as np
import polars as pl
import pytest
from safetensors import safe_open

from recsieve import Recommender, split_interactions
from recsieve.errors import ConfigError, RunError
from recsieve.serving.export import export


@pytest.fixture(scope="module")
def recommenders(small_data):
    split = split_interactions(small_data(60, 40), seed=0)
    models = {"ials": {"model_options": {"factors": 8}}, "cdae": {"epochs": 1}, "ease": {}}
    return {name: Recommender(name, **options).fit(split) for name, options in models.items()}


@pytest.fixture(scope="module")
def runs(recommenders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, recommender in recommenders.items():
        recommender.save(folder / name)
    return folder


def lists_of(recommender, k=5):
    return recommender.recommend(k=k).select("user", "item", "rank", "score")


def scores_of(recommender):
    import torch

    model = recommender.serving()
    return model.score(torch.arange(model.n_users)).numpy()


def close(one, other):
    return one.drop("score").equals(other.drop("score")) and (one["score"] - other["score"]).abs().max() < 1e-5


@pytest.mark.parametrize("name", ["ials", "cdae"])
def test_a_folder_has_the_lists_and_vectors_whose_products_are_the_scores(name, runs, recommenders, tmp_path):
    done = export(runs / name, tmp_path / "out", k=5)
    assert close(pl.read_parquet(tmp_path / "out" / "recommendations.parquet"), lists_of(recommenders[name]))
    users, items = (pl.read_parquet(tmp_path / "out" / f"{of}_vectors.parquet") for of in ("user", "item"))
    assert users["id"].to_list() == recommenders[name].split.train.user_ids.to_list()
    product = users["vector"].to_numpy() @ items["vector"].to_numpy().T
    assert np.allclose(product, scores_of(recommenders[name]), atol=1e-5)
    assert done.vectors == items["vector"].to_numpy().shape[1]


def test_sqlite_and_duckdb_have_the_same_tables(runs, recommenders, tmp_path):
    import duckdb

    export(runs / "ials", tmp_path / "out.sqlite", k=5)
    export(runs / "ials", tmp_path / "out.duckdb", k=5)
    expected = lists_of(recommenders["ials"])
    with sqlite3.connect(tmp_path / "out.sqlite") as database:
        rows = database.execute("SELECT user, item, rank, score FROM recommendations ORDER BY rowid").fetchall()
        vector = database.execute("SELECT vector FROM item_vectors WHERE id = 'i3'").fetchone()[0]
    assert close(pl.DataFrame(rows, schema=expected.columns, orient="row").cast({"rank": pl.Int32}), expected)
    assert np.allclose(np.frombuffer(vector, "<f4"), recommenders["ials"].model.items[3])
    database = duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True)
    rows = database.execute('SELECT "user", item, rank, score FROM recommendations').fetchall()
    assert close(pl.DataFrame(rows, schema=expected.columns, orient="row").cast({"rank": pl.Int32}), expected)
    (found,) = database.execute("SELECT vector FROM user_vectors WHERE id = 'u7'").fetchone()
    assert np.allclose(found, recommenders["ials"].model.users[7])
    database.close()


def test_an_index_says_how_many_of_the_best_it_finds(runs, recommenders, tmp_path):
    from usearch.index import Index

    done = export(runs / "ials", tmp_path / "items.usearch", k=5)
    about = json.loads((tmp_path / "items.usearch.json").read_text())
    assert done.recall == about["recall"] > 0.9
    index = Index.restore(str(tmp_path / "items.usearch"))
    found = index.search(recommenders["ials"].model.users[7].numpy(), 5)
    lists = recommenders["ials"].recommend(["u7"], k=5, exclude_seen=False)["item"].to_list()
    assert [about["items"][int(key)] for key in found.keys] == lists


def test_the_same_run_gives_the_same_index_to_the_byte(runs, tmp_path):
    first, again = (tmp_path / f"{name}.usearch" for name in ("first", "again"))
    export(runs / "ials", first, k=5)
    export(runs / "ials", again, k=5)
    assert first.read_bytes() == again.read_bytes()


def test_weights_are_read_by_numpy_and_safetensors_without_pickle(runs, recommenders, tmp_path):
    export(runs / "cdae", tmp_path / "w.npz")
    export(runs / "cdae", tmp_path / "w.safetensors")
    arrays = np.load(tmp_path / "w.npz", allow_pickle=False)
    assert arrays["item_ids"].tolist() == recommenders["cdae"].split.train.item_ids.to_list()
    expected = scores_of(recommenders["cdae"])
    assert np.allclose(arrays["users"] @ arrays["items"].T + arrays["constant"], expected, atol=1e-5)
    with safe_open(tmp_path / "w.safetensors", "numpy") as file:
        assert json.loads(file.metadata()["user_ids"])[3] == "u3"
        assert np.array_equal(file.get_tensor("items"), arrays["items"])


def test_a_model_without_vectors_has_lists_alone_and_what_is_there_stays(runs, tmp_path, recsieve):
    answer = recsieve("export", runs / "ease", "--to", tmp_path / "ease")
    assert answer.code == 0
    assert "no vectors, because the model has none" in answer.out
    assert [path.name for path in (tmp_path / "ease").iterdir()] == ["recommendations.parquet"]
    with pytest.raises(ConfigError, match="EASE has no user and item vectors"):
        export(runs / "ease", tmp_path / "ease.npz")
    (tmp_path / "mine.sqlite").write_text("mine")
    with pytest.raises(RunError, match="already exists"):
        export(runs / "ease", tmp_path / "mine.sqlite")
    answer = recsieve("export", runs / "ease", "--to", tmp_path / "x.docx")
    assert answer.code == 2
    assert "give one of .sqlite" in answer.err
