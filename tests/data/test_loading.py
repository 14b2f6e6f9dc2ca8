"""Splits from files and folders."""

import polars as pl
import pytest

from recsieve.data.filtering import pair_keys
from recsieve.data.loading import load_split
from recsieve.errors import ConfigError, DataError


def sizes(split):
    return [len(part) for part in (split.train, split.validation, split.test, split.test_false_positives)]


def pairs(data):
    return data.to_frame().select("user", "item").rows()


def write(folder, **texts):
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_a_log_is_read_and_split_at_random():
    frame = pl.DataFrame({"user": [u for u in range(9) for _ in range(10)], "item": list(range(10)) * 9})
    split = load_split(frame, seed=3)
    report = split.report
    assert sizes(split) == [72, 9, 9, 0]
    assert report.lines() == []


def test_a_split_can_be_made_by_time_after_a_k_core():
    frame = pl.DataFrame({"user": [1] * 5 + [2] * 5 + [3], "item": [*range(5), *range(5), 9], "time": range(11)})
    split = load_split(frame, split="time", k_core=2)
    assert sum(sizes(split)) == 10
    assert split.train.n_items == 5


def test_parts_that_are_given_are_coded_over_the_same_ids(tmp_path):
    write(tmp_path, a__csv="user,item\n1,2\n1,4\n", b__csv="user,item\nx,3\n", c__csv="user,item\n9,5\n")
    split = load_split(tmp_path / "a.csv", validation=tmp_path / "b.csv", test=tmp_path / "c.csv")
    report = split.report
    assert pairs(split.train) == [("1", 2), ("1", 4)]
    assert pairs(split.validation) == [("x", 3)]
    assert pairs(split.test) == [("9", 5)]
    assert split.train.user_ids.to_list() == split.test.user_ids.to_list() == ["1", "9", "x"]
    assert split.validation.item_ids.to_list() == [2, 3, 4, 5]
    assert report.is_clean


@pytest.mark.parametrize(
    "names",
    [
        ("train__csv", "validation__csv", "test__csv"),
        ("x__train__tsv", "x__valid__tsv", "x__test__tsv"),
        ("my-training__csv", "my-dev__csv", "my-testing__csv"),
    ],
)
def test_a_folder_whose_files_say_their_part_is_a_split(tmp_path, names):
    texts = ("user\titem\n1\t1\n", "user\titem\n1\t2\n", "user\titem\n1\t3\n")
    write(tmp_path, **dict(zip(names, texts, strict=True)), latest__csv="user\titem\n1\t9\n", train__txt="notes")
    split = load_split(tmp_path)
    assert [pairs(part) for part in (split.train, split.validation, split.test)] == [[(1, 1)], [(1, 2)], [(1, 3)]]


def test_a_split_of_recbole_is_read(tmp_path):
    header = "user_id:token\titem_id:token\n"
    write(
        tmp_path, x__train__inter=header + "1\t1\n", x__valid__inter=header + "1\t2\n", x__test__inter=header + "1\t3"
    )
    assert sizes(load_split(tmp_path)) == [1, 1, 1, 0]


def test_a_part_may_be_several_files_or_a_folder(tmp_path):
    for name in ("train-0", "train-1"):
        pl.DataFrame({"user": [1], "item": [name]}).write_parquet(tmp_path / f"{name}.parquet")
    for name in ("validation", "test"):
        (tmp_path / name).mkdir()
        pl.DataFrame({"user": [1], "item": [name]}).write_parquet(tmp_path / name / "0.parquet")
    assert sizes(load_split(tmp_path)) == [2, 1, 1, 0]


def test_it_is_told_which_files_make_a_part_and_which_are_in_none(tmp_path, caplog):
    text = "user,item\n1,{}\n"
    parts = {"train__csv": text.format(1), "valid__csv": text.format(2), "test__csv": text.format(3)}
    write(tmp_path, **parts, README__md="about", conversion__json="{}")
    load_split(tmp_path)
    assert caplog.text == ""
    write(tmp_path, training_old__csv=text.format(4), notes__csv="note\nhello\n")
    (tmp_path / "world").mkdir()
    load_split(tmp_path)
    assert "the part 'train' is made of train.csv, training_old.csv." in caplog.text
    assert "not in the name: notes.csv." in caplog.text


def test_a_folder_or_json_beside_its_like_is_said_to_be_in_no_part(tmp_path, caplog):
    for name in ("train", "test", "extra"):
        (tmp_path / name).mkdir()
        pl.DataFrame({"user": range(9), "item": [name] * 9}).write_ndjson(tmp_path / name / "0.json")
    load_split(tmp_path)
    assert "not in the name: extra." in caplog.text


def test_a_rule_takes_noise_out_of_the_test_only(tmp_path):
    text = "user,item,rating\n1,{0}1,5\n1,{0}2,1\n"
    write(tmp_path, train__csv=text.format(1), valid__csv=text.format(2), test__csv=text.format(3))
    split = load_split(tmp_path, false_positive="rating < 3")
    assert sizes(split) == [2, 2, 1, 1]
    assert pairs(split.test_false_positives) == [(1, 32)]


def test_a_test_without_the_rated_column_stays_whole(tmp_path):
    write(tmp_path, train__csv="user,item,rating\n1,1,5\n1,2,1\n", test__csv="user,item\n1,3\n")
    split = load_split(tmp_path, false_positive="rating < 3", ratios=(1, 0, 0))
    assert sizes(split) == [2, 0, 1, 0]
    assert not split.test.has_flags
    assert split.train.is_false_positive.tolist() == [False, True]


@pytest.mark.parametrize("name", ["test_noisy__csv", "test_false__csv"])
def test_a_noisy_test_beside_the_clean_one_tells_its_false_positives(tmp_path, name):
    noisy = "user,item,rating\n1,4,1\n" + ("1,3,5\n" if "noisy" in name else "")
    write(tmp_path, train__csv="user,item,rating\n1,1,5\n", valid__csv="user,item,rating\n1,2,5\n")
    write(tmp_path, test__csv="user,item,rating\n1,3,5\n", **{name: noisy})
    split = load_split(tmp_path, false_positive="rating < 3")
    report = split.report
    assert pairs(split.test) == [(1, 3)]
    assert pairs(split.test_false_positives) == [(1, 4)]
    assert report.is_clean


def test_a_noisy_test_alone_is_the_test(tmp_path):
    text = "user,item,rating\n1,{},5\n"
    write(tmp_path, train__csv=text.format(1), valid__csv=text.format(2), test_noisy__csv=text.format(3) + "1,4,1\n")
    assert sizes(load_split(tmp_path, false_positive="rating < 3")) == [1, 1, 1, 1]


@pytest.mark.parametrize("given", ["validation", "test"])
def test_a_part_that_is_not_given_is_taken_out_of_training(given):
    train = pl.DataFrame({"user": [u for u in range(9) for _ in range(9)], "item": list(range(9)) * 9})
    split = load_split(train, **{given: pl.DataFrame({"user": [0], "item": [77]})})
    assert pairs(getattr(split, given)) == [(0, 77)]
    assert sizes(split)[0] == 72
    assert sum(sizes(split)) == 82


def test_repeats_and_overlaps_are_reported_unless_the_split_is_to_stay_as_it_is(tmp_path):
    write(
        tmp_path, x__train__rating="0\t1\t1\n0\t1\t1\n", x__valid__rating="0\t2\t0\n", x__test__negative="0\t2\n7\t9\n"
    )
    checked = load_split(tmp_path)
    report = checked.report
    assert sizes(checked) == [1, 1, 1, 0]
    assert (report.repeated_in_train, report.test_in_validation) == (1, 1)
    given = load_split(tmp_path, check=False)
    silent = given.report
    assert sizes(given) == [2, 1, 2, 0]
    assert silent.is_clean
    assert given.train.n_users == 8
    assert given.train.n_items == 10


def test_the_rows_of_a_pair_all_count_before_its_noise_leaves_the_test(tmp_path):
    text = "user,item,event\n1,{0}1,buy\n1,{0}2,buy\n1,{0}2,return\n"
    write(tmp_path, train__csv=text.format(1), valid__csv=text.format(2), test__csv=text.format(3))
    split = load_split(tmp_path, false_positive="event = 'return'")
    report = split.report
    assert sizes(split) == [2, 2, 1, 1]
    assert pairs(split.test_false_positives) == [(1, 32)]
    assert report.lines() == [
        *(f"1 rows of the {part} part repeat a pair and were merged." for part in ("training", "validation", "test")),
        "3 rows marked as noise became 3 noisy pairs: a pair is noise if any of its rows is (repeats: any).",
    ]
    assert sizes(load_split(tmp_path, false_positive="event = 'return'", repeats="all")) == [2, 2, 2, 0]


def test_a_folder_without_training_and_a_k_core_of_a_given_split_are_refused(tmp_path):
    write(tmp_path, x__valid__rating="0\t2\t0\n")
    with pytest.raises(DataError, match="no training file"):
        load_split(tmp_path)
    write(tmp_path, x__train__rating="0\t1\t1\n")
    with pytest.raises(ConfigError, match="leave k_core out"):
        load_split(tmp_path, k_core=5)


@pytest.mark.parametrize("validation", ["no/such.csv", 7])
def test_a_part_that_cannot_be_read_is_refused(validation):
    with pytest.raises(DataError, match="give the path"):
        load_split(pl.DataFrame({"user": [1], "item": [2]}), validation=validation)


def test_the_published_ml_100k_split_has_1707_test_pairs_in_validation(shared_data):
    folder = shared_data("ml-100k/evaldenoising_split")
    checked = load_split(folder, false_positive="rating < 3")
    report = checked.report
    assert report.test_in_validation == 1_707
    assert sizes(checked) == [79_619, 9_901, 3_594 - 1_707, 0]
    given = load_split(folder, check=False)
    assert sizes(given) == [79_619, 9_901, 3_594, 0]
    assert given.train.items.max() == given.train.n_items - 1 == 1_610
    assert not given.train.has_flags


def test_the_disjoint_ml_100k_split_is_left_alone(shared_data):
    split = load_split(shared_data("ml-100k/sgdl_split"))
    report = split.report
    assert report.lines() == []
    assert sizes(split) == [66_899, 8_652, 7_208, 0]
    assert int(split.train.is_false_positive.sum()) == 11_899


def test_modcloth_has_its_false_positives_from_the_noisy_test(shared_data):
    split = load_split(shared_data("modcloth"), false_positive="rating < 3")
    report = split.report
    assert report.lines() == []
    assert sizes(split) == [79_914, 9_990, 5_433, 359 + 599]


def test_the_quirks_of_the_paper_files_are_found(shared_data):
    yelp, adressa = shared_data("yelp-paper-part"), shared_data("adressa-paper-part")
    split = load_split(yelp / "yelp.valid.rating", test=yelp / "yelp.test.negative")
    report = split.report
    assert (report.repeated_in_train, report.repeated_in_test) == (1_202, 874)
    split = load_split(adressa / "adressa.valid.rating", test=adressa / "adressa.test.negative")
    report = split.report
    assert (report.repeated_in_test, report.test_in_train) == (604, 95)
    assert (split.train.n_users, split.train.n_items) == (212_231, 6_596)
    assert set(pair_keys(split.train)).isdisjoint(pair_keys(split.test))


def test_a_part_with_numbers_and_a_part_with_text_are_read_as_text(tmp_path):
    pl.DataFrame({"user": [1, 2], "item": ["a", "b"]}).write_parquet(tmp_path / "train.parquet")
    pl.DataFrame({"user": ["x"], "item": ["b"]}).write_parquet(tmp_path / "test.parquet")
    split = load_split(tmp_path, ratios=(1, 0, 0))
    assert split.train.user_ids.to_list() == ["1", "2", "x"]
    assert split.train.item_ids.gather(split.test.items).to_list() == ["b"]
