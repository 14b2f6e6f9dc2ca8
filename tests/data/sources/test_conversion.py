import gzip
import json

import polars as pl
import pytest

from recsieve.data.filtering import k_core
from recsieve.data.loading import load_split
from recsieve.data.reading.formats import read_interactions
from recsieve.data.sources import blocks, conversion
from recsieve.data.sources.conversion import collect, convert
from recsieve.data.sources.movielens import MovieLens
from recsieve.errors import ConfigError, DataError, RunError

RATINGS = pl.DataFrame(
    {
        "user": [user for user in range(10, 40) for _ in range(8)],
        "movie": [(user * 7 + number * 3) % 25 for user in range(10, 40) for number in range(8)],
        "rating": [1 + (user + number) % 5 for user in range(10, 40) for number in range(8)],
        "time": range(240),
    }
)


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "u.data"
    RATINGS.write_csv(path, separator="\t", include_header=False)
    return path


def test_what_is_collected_is_what_the_reader_of_logs_reads(ratings, monkeypatch):
    monkeypatch.setattr(conversion, "read_blocks", lambda path: blocks.read_blocks(path, 100))  # many blocks
    found = collect(MovieLens(ratings))
    expected = read_interactions(RATINGS, false_positive="rating < 3")
    assert found.lines == found.rows == 240
    assert found.data.to_frame().equals(expected.to_frame())


def test_the_folder_is_read_back_as_the_split_that_it_is(ratings, tmp_path):
    about = convert(MovieLens(ratings), tmp_path / "out")
    split = load_split(tmp_path / "out")
    report = split.report
    assert report.is_clean
    assert about["parts"] == {
        "train": len(split.train),
        "validation": len(split.validation),
        "test": len(split.test),
        "test_false_positives": len(split.test_false_positives),
    }
    assert not split.test.is_false_positive.any()
    assert about["train"]["false_positives"] == split.train.is_false_positive.sum() > 0
    assert about == json.loads((tmp_path / "out" / "conversion.json").read_text())


def test_rare_users_and_items_can_be_left_out(ratings, tmp_path):
    about = convert(MovieLens(ratings), tmp_path / "out", k_core=7)
    assert about["interactions"] == len(k_core(read_interactions(RATINGS), 7))


def test_lines_that_are_no_interaction_are_counted_and_repeats_are_made_one(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("userId,movieId,rating,timestamp\n1,2,1,5\n1,2,5,6\n,3,4,7\n4,5,,8\n6,7,4,\n")
    found = collect(MovieLens(path))
    assert (found.lines, found.rows, found.left_out) == (6, 2, 4)  # the header is no interaction either
    assert found.data.to_frame().rows() == [(1, 2, False, 6)]  # one of the two was satisfying


def test_progress_ends_with_all_bytes_read(ratings, tmp_path):
    path = tmp_path / "u.data.gz"
    path.write_bytes(gzip.compress(ratings.read_bytes()))
    seen = []
    collect(MovieLens(path), seen.append)
    assert (seen[-1].done, seen[-1].total, seen[-1].note) == (*[path.stat().st_size] * 2, "240 interactions")


def test_a_file_of_another_kind_is_told_and_nothing_is_left_behind(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("a,b,c,d\ne,f,g,h\n")
    with pytest.raises(DataError, match=r"no line of ratings.csv is an interaction"):
        convert(MovieLens(path), tmp_path / "out")
    assert [entry.name for entry in tmp_path.iterdir()] == ["ratings.csv"]


def test_a_folder_that_holds_something_is_not_touched(ratings, tmp_path):
    with pytest.raises(RunError, match="not an empty folder"):
        convert(MovieLens(ratings), tmp_path)


def test_a_split_that_does_not_exist_is_told_and_nothing_is_left_behind(ratings, tmp_path):
    with pytest.raises(ConfigError, match="there is no split"):
        convert(MovieLens(ratings), tmp_path / "out", split="luck")
    assert not (tmp_path / "out").exists()
