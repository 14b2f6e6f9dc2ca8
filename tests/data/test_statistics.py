"""Table 2 and fingerprints."""

import subprocess
import sys

import polars as pl
import pytest

from recsieve.data.interactions import Interactions
from recsieve.data.reading.formats import read_interactions
from recsieve.data.statistics import describe, fingerprint

FRAME = pl.DataFrame({"user": ["a", "a", "b"], "item": [1, 2, 1], "rating": [1, None, 5], "time": [1, 2, 3]})


def test_describe_counts_what_occurs():
    data = read_interactions(FRAME, false_positive="rating < 3")
    padded = Interactions(
        data.users, data.items, pl.Series(["a", "b", "never seen"]), pl.Series(range(9)), data.false_positive
    )
    assert describe(padded) == {
        "users": 2,
        "items": 2,
        "interactions": 3,
        "labelled": 2,
        "false_positives": 1,
        "false_positive_share": 0.5,
        "density": 0.75,
        "mean_interactions_per_user": 1.5,
        "median_interactions_per_user": 1.5,
        "mean_interactions_per_item": 1.5,
        "median_interactions_per_item": 1.5,
    }


def test_describe_says_nothing_of_noise_without_flags_and_survives_emptiness():
    data = read_interactions(FRAME)
    assert describe(data)["false_positives"] is None
    nothing = describe(data.take(slice(0)))
    assert nothing["interactions"] == 0
    assert nothing["density"] is None


@pytest.mark.parametrize(
    "changed",
    [
        FRAME.with_columns(user=pl.Series(["a", "a", "c"])),
        FRAME.with_columns(item=pl.Series([1, 2, 2])),
        FRAME.with_columns(item=pl.Series(["1", "2", "1"])),
        FRAME.with_columns(rating=pl.Series([1, 5, None])),
        FRAME.with_columns(time=pl.Series([1, 2, 4])),
        FRAME.reverse(),
        FRAME[:2],
        FRAME.with_columns(user=pl.Series(["ab", "ab", "c"])),
    ],
)
def test_a_change_anywhere_changes_the_fingerprint(changed):
    first, second = (read_interactions(frame, false_positive="rating < 3") for frame in (FRAME, changed))
    assert fingerprint(first) != fingerprint(second)


def test_the_fingerprint_tells_ids_apart_that_run_together():
    one, other = (pl.DataFrame({"user": users, "item": [1, 2]}) for users in (["a", "bc"], ["ab", "c"]))
    assert fingerprint(read_interactions(one)) != fingerprint(read_interactions(other))


def test_the_fingerprint_is_the_same_in_another_process():
    code = (
        "import polars as pl; from recsieve.data.reading.formats import read_interactions as read;"
        "from recsieve.data.statistics import fingerprint;"
        "print(fingerprint(read(pl.DataFrame({'user': ['a', 'b'], 'item': [1, 2]}))))"
    )
    other = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    assert other == fingerprint(read_interactions(pl.DataFrame({"user": ["a", "b"], "item": [1, 2]})))
