"""The files of the paper's authors."""

import pytest

from recsieve.data.interactions import CLEAN, NOISY
from recsieve.data.reading.formats import read_interactions
from recsieve.errors import DataError


def written(tmp_path, text, name):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


def test_the_authors_flag_zero_is_a_false_positive_and_ids_stand_for_themselves(tmp_path):
    data = read_interactions(written(tmp_path, "0\t3\t1\n5\t1\t0\n", "x.train.rating"))
    assert data.users.tolist() == [0, 5]
    assert data.items.tolist() == [3, 1]
    assert data.user_ids.to_list() == [0, 1, 2, 3, 4, 5]
    assert data.n_items == 4
    assert data.false_positive.tolist() == [CLEAN, NOISY]


def test_stars_in_the_authors_layout_need_a_rule(tmp_path, caplog):
    path = written(tmp_path, "0\t3\t5\r\n1\t1\t2\r\n", "x.valid.rating")
    assert read_interactions(path).false_positive is None
    assert 'false_positive="rating < 3"' in caplog.text
    assert read_interactions(path, false_positive="rating < 3").false_positive.tolist() == [CLEAN, NOISY]


@pytest.mark.parametrize("rule", [None, "rating < 3"])
@pytest.mark.parametrize(
    "text",
    ["0\t3\n1\t2\n", "0\t3\t1\r\n1\t2\t1\r\n", "(0, 3)\t5\t9\t11\n(1, 2)\t6\n", "(0,3)\n\n(1,2)"],
)
def test_the_authors_test_pairs_are_all_true_positives(tmp_path, text, rule):
    data = read_interactions(written(tmp_path, text, "x.test.negative"), false_positive=rule)
    assert data.to_frame().select("user", "item").rows() == [(0, 3), (1, 2)]
    assert data.false_positive.tolist() == [CLEAN, CLEAN]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.train.rating", "a\t3\t1\n"),
        ("x.train.rating", "-1\t3\t1\n"),
        ("x.train.rating", "1\n"),
        ("x.train.rating", "1\t2\t3\t4\t5\n"),
        ("x.test.negative", "0\t3\nnothing\n"),
        ("x.test.negative", "0\t3.5\n"),
        ("x.test.negative", "\n"),
    ],
)
def test_a_broken_file_of_the_authors_is_refused(tmp_path, name, text):
    with pytest.raises(DataError):
        read_interactions(written(tmp_path, text, name))
