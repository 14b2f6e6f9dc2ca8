import json

import polars as pl
import pytest


@pytest.fixture
def ratings(tmp_path):
    """Ratings as MovieLens 1M has them."""
    pairs = [(user, (user * 7 + number * 3) % 25) for user in range(1, 31) for number in range(8)]
    path = tmp_path / "ml-1m" / "ratings.dat"
    path.parent.mkdir()
    path.write_text("".join(f"{user}::{movie}::{1 + (user + movie) % 5}::{user + movie}\n" for user, movie in pairs))
    return path


def test_raw_files_become_a_split_that_can_be_trained_on_and_described(recsieve, ratings, tmp_path):
    converted = recsieve("convert", "movielens", ratings.parent, "--out", tmp_path / "movies")
    assert converted.code == 0
    assert "240 lines read" in converted.out
    assert f"next: recsieve train {tmp_path / 'movies'}" in converted.out.replace("\n", " ")
    assert recsieve("train", tmp_path / "movies", "--epochs", 1, "--out", tmp_path / "run").code == 0
    facts = json.loads(recsieve("describe", tmp_path / "movies", "--json").out)
    assert facts["labelled"] == facts["interactions"] == pl.read_parquet(tmp_path / "movies" / "train.parquet").height


def test_counts_stand_beside_those_of_the_paper(recsieve, tmp_path):
    events = [{"userId": f"u{n % 5}", "id": f"n{n % 3}", "activeTime": n, "time": n} for n in range(30)]
    (tmp_path / "20170101").write_text("".join(json.dumps(event) + "\n" for event in events))
    answer = recsieve("convert", "adressa", tmp_path / "20170101", "--out", tmp_path / "news", "--below", 12)
    assert answer.code == 0
    assert "212,231" in answer.out
    assert "dwell time < 12 s" in answer.out


def test_json_is_for_programs(recsieve, tmp_path):
    (tmp_path / "ratings_Books.csv").write_text("".join(f"AXXXXXXXXX{n},000000000{n},{n}.0,{n}\n" for n in range(1, 6)))
    answer = recsieve("convert", "amazon", tmp_path / "ratings_Books.csv", "--out", tmp_path / "books", "--json")
    assert json.loads(answer.out)["train"]["false_positives"] == 2


def test_yelp_takes_the_folder_of_both_files(recsieve, tmp_path):
    records = {"business": {"business_id": "b", "categories": "Food"}, "review": {"user_id": "u", "business_id": "b"}}
    for kind, record in records.items():
        (tmp_path / f"{kind}.json").write_text(json.dumps(record | {"stars": 4, "date": "2019-01-01"}) + "\n")
    refused = recsieve("convert", "yelp", tmp_path, "--out", tmp_path / "out")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "no business in Restaurants or Bars" in refused.err
    assert recsieve("convert", "yelp", tmp_path, "--category", "Food", "--out", tmp_path / "out").code == 0


def test_a_folder_in_the_way_is_one_line_and_exit_code_two(recsieve, ratings):
    answer = recsieve("convert", "movielens", ratings, "--out", ratings.parent)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "not an empty folder" in answer.err
