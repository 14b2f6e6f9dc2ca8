"""Reading anybody's interactions."""

import gzip
import logging
import sqlite3
import subprocess
import sys
from contextlib import closing

import duckdb
import numpy as np
import polars as pl
import pyarrow
import pytest

from recsieve.data.interactions import CLEAN, NOISY, UNLABELLED
from recsieve.data.loading import load_split
from recsieve.data.reading.formats import read_interactions
from recsieve.data.statistics import describe
from recsieve.errors import ConfigError, DataError

ROWS = pl.DataFrame({"user": ["ann", "bob", "ann"], "item": [30, 10, 20], "rating": [5, 1, 2], "timestamp": [7, 8, 9]})


def pairs(data):
    return data.to_frame().select("user", "item").rows()


def written(tmp_path, text, name="log.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def sources(tmp_path):
    """The same three rows in every form that can be read."""
    text = ROWS.write_csv()
    (tmp_path / "parquet_parts" / "day=1").mkdir(parents=True)
    (tmp_path / "csv_parts").mkdir()
    (tmp_path / "recbole").mkdir()
    ROWS.write_parquet(tmp_path / "log.parquet")
    ROWS[:2].write_parquet(tmp_path / "parquet_parts" / "day=1" / "0.parquet")
    ROWS[2:].write_parquet(tmp_path / "parquet_parts" / "1.parquet")
    (tmp_path / "parquet_parts" / "_SUCCESS").touch()
    ROWS[:2].write_csv(tmp_path / "csv_parts" / "0.csv")
    ROWS[2:].write_csv(tmp_path / "csv_parts" / "1.tsv", separator="\t")
    semicolons = ROWS.with_columns(rating=pl.Series(["5,0", "1,5", "2"])).write_csv(separator=";")
    for name, part in (("spark", ROWS[:2]), ("spark", ROWS[2:])):
        write_as_spark(tmp_path / name, part)
    with closing(sqlite3.connect(tmp_path / "log.sqlite")) as database:
        database.execute("CREATE TABLE log (user, item, rating, timestamp)")
        database.executemany("INSERT INTO log VALUES (?, ?, ?, ?)", ROWS.rows())
        database.commit()
    arrow = ROWS.to_arrow()
    with duckdb.connect(tmp_path / "log.duckdb") as database:
        database.execute("CREATE TABLE log AS SELECT * FROM arrow")
    header = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
    inter = header + ROWS.write_csv(include_header=False, separator="\t")
    return {
        "csv": written(tmp_path, text),
        "path-as-text": str(written(tmp_path, text)),
        "tsv": written(tmp_path, text.replace(",", "\t"), "log.tsv"),
        "gzip": written(tmp_path, gzip.compress(text.encode()), "log.csv.gz"),
        "zstandard": written(tmp_path, pyarrow.compress(text.encode(), codec="zstd", asbytes=True), "log.csv.zst"),
        "no-known-ending": written(tmp_path, text.replace(",", ";"), "u.data"),
        "semicolons": written(tmp_path, semicolons, "german.csv"),
        "json-lines": written(tmp_path, ROWS.write_ndjson(), "log.jsonl"),
        "json-gzip": written(tmp_path, gzip.compress(ROWS.write_ndjson().encode()), "log.json.gz"),
        "spark-csv": tmp_path / "spark" / "csv",
        "spark-json": tmp_path / "spark" / "json",
        "spark-parquet": tmp_path / "spark" / "parquet",
        "sqlite": tmp_path / "log.sqlite",
        "duckdb": tmp_path / "log.duckdb",
        "parquet": tmp_path / "log.parquet",
        "parquet-parts": tmp_path / "parquet_parts",
        "csv-parts": tmp_path / "csv_parts",
        "list-of-parts": [tmp_path / "csv_parts" / "0.csv", tmp_path / "csv_parts" / "1.tsv"],
        "recbole": written(tmp_path, inter, "x.inter"),
        "recbole-folder": written(tmp_path, inter, "recbole/x.inter").parent,
        "polars": ROWS,
        "lazy": ROWS.lazy(),
        "pandas": ROWS.to_pandas(),
        "arrow": arrow,
        "duckdb-relation": duckdb.sql("SELECT * FROM arrow"),
    }


def write_as_spark(folder, part):
    """One more part of a folder of each kind, with what Spark puts beside the parts."""
    for kind, write in (("csv", part.write_csv), ("json", part.write_ndjson), ("parquet", part.write_parquet)):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        name = f"part-0000{len(list((folder / kind).glob('part*')))}-8c41-c000.{kind}"
        write(folder / kind / name)
        (folder / kind / f".{name}.crc").write_bytes(b"crc\x00")
        (folder / kind / "_SUCCESS").touch()


KINDS = (
    "csv path-as-text tsv gzip zstandard no-known-ending parquet csv-parts list-of-parts recbole recbole-folder polars "
    "lazy pandas arrow duckdb-relation semicolons json-lines json-gzip spark-csv spark-json spark-parquet sqlite duckdb"
)


@pytest.mark.parametrize("kind", KINDS.split())
def test_every_form_of_the_same_rows_gives_the_same_interactions(sources, kind):
    data = read_interactions(sources[kind], false_positive="rating < 3")
    assert pairs(data) == [("ann", 30), ("bob", 10), ("ann", 20)]
    assert data.user_ids.to_list() == ["ann", "bob"]
    assert data.item_ids.to_list() == [10, 20, 30]
    assert data.false_positive.tolist() == [CLEAN, NOISY, NOISY]
    assert data.time.tolist() == [7, 8, 9]


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16"])
def test_text_that_is_not_utf_8_is_read_by_the_encoding_that_is_said(tmp_path, name, encoding):
    text = "user,item,größe\nJürgen,30,3\nRené,10,1\n".encode(encoding)
    path = written(tmp_path, gzip.compress(text) if name.endswith("gz") else text, name)
    data = read_interactions(path, encoding=encoding, false_positive='"größe" < 2')
    assert data.to_frame().rows() == [("Jürgen", 30, False), ("René", 10, True)]


def test_an_encoding_is_never_guessed(tmp_path):
    path = written(tmp_path, "user,item\nJürgen,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="name its encoding with --encoding "):
        read_interactions(path)
    with pytest.raises(DataError, match="is not text in ascii"):
        read_interactions(path, encoding="ascii")
    with pytest.raises(ConfigError, match="'latin-one' is not known: give one such as latin-1"):
        read_interactions(path, encoding="latin-one")


@pytest.mark.parametrize(
    "moments",
    [
        ["2024-03-01T10:00:00Z", "2024-03-02T11:30:00.500Z"],
        ["2024-03-01T12:00:00+02:00", "2024-03-02T11:30:00.5+00:00"],
        ["2024-03-01 10:00:00", "2024-03-02 11:30:00.5"],
        ["01.03.2024 10:00:00", "31.03.2024 11:30:00"],
        ["1709287200", "1709379000"],
    ],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_timestamps_may_be_text(tmp_path, moments, kind):
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 2], "timestamp": moments})
    path = tmp_path / f"log.{kind}"
    frame.write_csv(path) if kind == "csv" else frame.write_ndjson(path)
    time = read_interactions(path).time
    assert time[0] in (1709287200, 1709287200_000_000)
    assert time[1] > time[0]


def test_json_lines_may_leave_keys_out_and_parts_may_too(tmp_path):
    written(tmp_path, '{"user": 1, "item": "a"}\n{"user": 2, "item": "b", "rating": 1}\n', "0.json")
    written(tmp_path, '{"user": 3, "item": "c"}\n', "1.json")
    data = read_interactions(tmp_path, false_positive="rating < 3")
    assert data.to_frame().rows() == [(1, "a", None), (2, "b", True), (3, "c", None)]


def test_json_that_is_no_lines_of_objects_is_refused_in_one_line(tmp_path):
    for text in ('[{"user": 1, "item": 2}]', "{broken", '{"user": 1}\n[2]\n'):
        with pytest.raises(DataError) as error:
            read_interactions(written(tmp_path, text, "log.jsonl"))
        assert "\n" not in str(error.value)


EVENTS = pl.DataFrame(
    {
        "user": ["ann", "ann", "ann", "bob", "bob", "cy"],
        "item": ["tea", "tea", "cup", "tea", "tea", "jam"],
        "event": ["view", "purchase", "view", "purchase", "return", "return"],
    }
)


def test_in_a_log_of_events_a_rule_says_which_rows_are_interactions(caplog):
    data = read_interactions(EVENTS, positive="event in ('purchase')")
    assert pairs(data) == [("ann", "tea"), ("bob", "tea")]
    assert data.item_ids.to_list() == ["tea"]
    assert "2 of 6 rows are interactions by 'event in ('purchase')'" in caplog.text


def test_a_row_that_is_no_interaction_can_tell_that_a_pair_is_noise_but_makes_none():
    data = read_interactions(EVENTS, positive="event = 'purchase'", false_positive="event = 'return'")
    assert data.to_frame().rows() == [("ann", "tea", False), ("bob", "tea", True)]


def test_events_are_weighed_by_an_expression():
    weight = "case event when 'purchase' then 3 when 'view' then 0.5 end"
    data = read_interactions(EVENTS, positive="event in ('purchase', 'view')", weight=weight)
    assert data.to_frame().rows() == [("ann", "tea", 3.5), ("ann", "cup", 0.5), ("bob", "tea", 3.0)]


def test_a_row_that_only_tells_noise_weighs_nothing():
    rules = {"positive": "event = 'purchase'", "false_positive": "event = 'return'"}
    data = read_interactions(EVENTS, **rules, weight="case event when 'purchase' then 2 else 7 end")
    assert data.weight.tolist() == [2, 2]


def test_parts_of_a_split_each_keep_their_interactions(tmp_path):
    split = load_split(EVENTS[:3], validation=EVENTS[3:5], test=EVENTS[:2], positive="event = 'purchase'", check=False)
    assert [len(part) for part in (split.train, split.validation, split.test)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"positive": "event = 'buy'"}, "matches none of 6 rows"),
        ({"positive": "evnt = 'buy'"}, "did you mean 'event'"),
        ({"weight": "evnt"}, "did you mean 'event'"),
        ({"weight": "case evnt when 'view' then 1 else 2 end"}, "did you mean 'event'"),
        ({"weight": "case event when 'view' then 1 end"}, "is missing in 4 of 6 rows"),
        ({"weight": "case event when 'view' then 1 else -1 end"}, "give finite numbers from 0"),
        ({"weight": "lower(event)"}, "holds String: give numbers"),
        ({"weight": "event + 1"}, "the weight 'event \\+ 1' "),
    ],
)
def test_rules_that_do_not_fit_the_events_are_refused(options, reason):
    with pytest.raises(DataError, match=reason) as error:
        read_interactions(EVENTS, **options)
    assert "\n" not in str(error.value)


def test_dwell_in_milliseconds_and_in_seconds_mark_the_same():
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 1], "dwell_ms": [9_000, 11_000]})
    flags = [read_interactions(frame, false_positive=rule).false_positive.tolist() for rule in RULES_OF_DWELL]
    assert flags == [[NOISY, CLEAN]] * 2


RULES_OF_DWELL = ("dwell_ms < 10000", "dwell_ms / 1000 < 10")


def test_a_folder_of_parquet_parts_is_read_to_the_bottom(sources):
    assert sorted(pairs(read_interactions(sources["parquet-parts"]))) == [("ann", 20), ("ann", 30), ("bob", 10)]


def test_a_file_without_header_has_numbered_columns_and_starts_with_user_and_item(tmp_path):
    path = written(tmp_path, "5\t6\t1.5\n7\t8\t4\n")
    data = read_interactions(path, false_positive="column_3 < 3")
    assert pairs(data) == [(5, 6), (7, 8)]
    assert data.false_positive.tolist() == [NOISY, CLEAN]


def test_one_line_is_enough(tmp_path):
    assert pairs(read_interactions(written(tmp_path, "5,6"))) == [(5, 6)]


def test_an_explicit_header_wins_over_what_the_first_line_looks_like(tmp_path):
    path = written(tmp_path, "ann,bread\nbob,milk\n")
    assert pairs(read_interactions(path, header=False)) == [("ann", "bread"), ("bob", "milk")]
    assert pairs(read_interactions(path, header=True, user="ann", item="bread")) == [("bob", "milk")]


def test_ids_keep_their_text_and_any_alphabet(tmp_path):
    data = read_interactions(written(tmp_path, "user,item\n007,日本\n7,😀\n"))
    assert pairs(data) == [("007", "日本"), ("7", "😀")]


def test_parts_whose_ids_are_numbers_here_and_text_there_are_read_as_text(tmp_path):
    written(tmp_path, "user,item\n1,2\n", "a.csv")
    written(tmp_path, "user,item\nx,2\n", "b.csv")
    assert pairs(read_interactions(tmp_path)) == [("1", 2), ("x", 2)]


def test_repeated_pairs_are_merged_by_the_stated_rule(caplog):
    frame = pl.DataFrame(
        {
            "user": [1, 1, 1, 2, 2, 3, 3, 3],
            "item": [9, 8, 9, 9, 9, 9, 9, 9],
            "rating": [1, 1, 5, 1, None, None, None, None],
            "count": [1, 2, 3, 4, 5, 6, 7, 8],
            "time": [30, 20, 10, 1, 2, 3, 5, 4],
        }
    )
    with caplog.at_level(logging.INFO):
        data = read_interactions(frame, false_positive="rating < 3", weight="count")
    assert pairs(data) == [(1, 9), (1, 8), (2, 9), (3, 9)]
    assert data.false_positive.tolist() == [CLEAN, NOISY, NOISY, UNLABELLED]
    assert data.weight.tolist() == [4, 2, 9, 21]
    assert data.time.tolist() == [30, 20, 2, 5]
    assert "4 rows repeat" in caplog.text


BAD_TEXT = {
    "empty": ("", "is empty"),
    "blank": ("\n\n", "is empty"),
    "header only": ("user,item\n", "has no interactions"),
    "too short a line": ("user,item,x\n1,2,3\n4,5\n", "line 3"),
    "too long a line": ("user,item\n1,2\n4,5,6\n", "line 3"),
    "no separator": ("user\n1\n", "looks like the item"),
    "a missing user": ("user,item\n1,2\n,3\n", "missing in 1 of 2 rows, first in row 2"),
    "latin-1": ("user,item\ncafé,1\n".encode("latin-1"), "utf8"),
    "utf-16": ("user,item\n1,2\n".encode("utf-16"), "cannot be read"),
    "nul bytes": (b"user,item\n\x00\x00,\x01\n", "is not text"),
    "half a gzip": (gzip.compress(b"user,item\n" + b"1,2\n" * 999)[:-9], "cannot be read"),
    "a broken Parquet": (b"PAR1" + b"\x07" * 99, "cannot be read"),
    "lone carriage returns": ("user,item\r1,2\r", "end lines with a newline"),
    "an open quote": ('user,item\n"1,2\n3,4\n', "line 2 of .* has a quote that is not closed"),
}


@pytest.mark.parametrize("kind", BAD_TEXT)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(tmp_path, kind):
    content, reason = BAD_TEXT[kind]
    with pytest.raises(DataError, match=reason) as error:
        read_interactions(written(tmp_path, content))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("source", ["no/such/file.csv", 7, None, [], [1, 2], {"user": [1]}])
def test_what_is_neither_a_path_nor_a_frame_is_refused(source):
    with pytest.raises(DataError, match="give the path"):
        read_interactions(source)


def test_folders_that_hold_nothing_or_different_things_are_refused(tmp_path):
    with pytest.raises(DataError, match="holds no"):
        read_interactions(tmp_path)
    written(tmp_path, "user,item\n1,2\n", "a.csv")
    ROWS.write_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match="different kinds of files"):
        read_interactions(tmp_path)


def test_columns_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        read_interactions(ROWS).users[0] = 1


def test_reading_needs_no_pandas():
    code = "import sys; sys.modules['pandas'] = None; from recsieve.data.reading.formats import read_interactions"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "rule", "users", "items", "interactions", "share"),
    [
        ("ml-1m", "rating < 3", 6_040, 3_706, 1_000_209, 0.1637),
        ("goodbooks-10k-v1", "rating < 3", 53_424, 10_000, 981_756 - 2_278, 0.0843),
        ("modcloth", "rating < 3", 44_784, 1_020, 99_893, 0.0938),
        ("steam-200k", "hours < 1", 12_393, 5_155, 128_804, 0.583),
        ("movietweetings-2013-11", "rating <= 4", 21_081, 12_611, 141_695, 0.0767),
        ("yelp-paper-part/yelp.valid.rating", None, 42_945, 44_926, 209_453 - 1_202, 0.1560),
        ("yelp-paper-part/yelp.test.negative", None, 45_525, 40_148, 163_308 - 874, 0.0),
        ("adressa-paper-part/adressa.valid.rating", None, 34_229, 1_224, 53_262, 0.672),
        ("adressa-paper-part/adressa.test.negative", None, 10_380, 480, 18_632 - 604, 0.0),
    ],
)
def test_real_data_has_the_published_counts(shared_data, name, rule, users, items, interactions, share):
    counts = describe(read_interactions(shared_data(name), false_positive=rule))
    assert (counts["users"], counts["items"], counts["interactions"]) == (users, items, interactions)
    assert counts["false_positive_share"] == pytest.approx(share, abs=5e-4)


def test_codes_are_dense_and_small():
    data = read_interactions(ROWS)
    assert data.users.dtype == data.items.dtype == np.int32
    assert data.n_users == 2


def test_a_frame_that_we_wrote_is_read_back_with_its_flags(small_data):
    data = small_data()
    again = read_interactions(data.to_frame())
    assert again.to_frame().equals(data.to_frame())


def test_a_column_false_positive_is_believed_where_no_rule_is_given():
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 1], "false_positive": [0, 1], "rating": [1, 5]})
    assert read_interactions(frame).is_false_positive.tolist() == [False, True]
    assert read_interactions(frame, false_positive="rating < 3").is_false_positive.tolist() == [True, False]


@pytest.mark.parametrize("words", [("yes", "no", ""), (" Y", "n", None), ("t", "F", "NA"), ("True", "false", None)])
@pytest.mark.parametrize("kind", ["csv", "frame"])
def test_a_column_false_positive_may_say_yes_and_no_in_words(tmp_path, caplog, words, kind):
    frame = pl.DataFrame({"user": [1, 2, 3], "item": [1, 1, 1], "false_positive": words})
    frame.write_csv(tmp_path / "log.csv")
    data = read_interactions(frame if kind == "frame" else tmp_path / "log.csv")
    assert data.false_positive.tolist() == [NOISY, CLEAN, UNLABELLED]
    assert ("is used as labels" in caplog.text) == (words[0] != "True" or kind == "frame")


@pytest.mark.parametrize("values", [["perhaps", "no"], [0.3, 0.9], [1, 2], [[1], [0]]])
def test_a_column_false_positive_that_says_something_else_is_refused(values):
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 1], "false_positive": values})
    with pytest.raises(DataError, match=r"'false_positive' holds .* and not yes or no: give 1 and 0"):
        read_interactions(frame)
    if isinstance(values[0], float):
        assert read_interactions(frame, false_positive="false_positive > 0.5").is_false_positive.tolist() == [0, 1]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_names_may_have_brackets_and_stars(tmp_path, ending):
    rows = pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"]})
    path = tmp_path / f"a[1]*?.{ending}"
    {"csv": rows.write_csv, "jsonl": rows.write_ndjson, "parquet": rows.write_parquet}[ending](path)
    assert len(read_interactions(path)) == 2
