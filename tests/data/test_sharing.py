import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recsieve.data.interactions import COLUMNS
from recsieve.data.loading import load_split
from recsieve.data.sharing import balanced_cuts, in_order, nth_smallest, renumbered, share_out, unique_ids
from recsieve.data.statistics import fingerprint
from recsieve.errors import DataError
from recsieve.storage.run_folder import PARTS, RunFolder


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A log with text ids, repeated pairs, ratings and times in a folder of Parquet parts."""
    random = np.random.default_rng(0)
    n = 900
    frame = pl.DataFrame(
        {
            "customer": [f"c{user}" for user in random.integers(0, 40, n)],
            "product": [f"p{item}" for item in random.integers(0, 30, n)],
            "rating": random.integers(1, 6, n),
            "time": random.integers(0, 500, n),
            "price": random.random(n),
        }
    )
    folder = tmp_path_factory.mktemp("log")
    for number, start in enumerate(range(0, n, 250)):
        frame[start : start + 250].write_parquet(folder / f"part-{number:05}.parquet")
    frame.write_csv(tmp_path_factory.mktemp("csv") / "log.csv")
    return folder


COLUMNS_OF_LOG = {"false_positive": "rating < 3", "weight": "price"}


def together(shares):
    """The columns of a part in the order of all rows, from the shares of all ranks."""
    rows = np.concatenate([share.rows for share in shares])
    assert sorted(rows) == list(range(len(rows)))
    columns = {name: [getattr(share, name) for share in shares] for name in COLUMNS if name != "rows"}
    return {n: None if c[0] is None else np.concatenate(c)[np.argsort(rows)] for n, c in columns.items()}


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split": "time", "repeats": "last"},
        {"split": "leave-last-out"},
        {"k_core": 14},
        {"seed": 4, "ratios": (0.5, 0.5, 0.0)},
    ],
)
def test_the_ranks_have_together_the_split_of_one_process(parts, in_ranks, n_ranks, options):
    options = COLUMNS_OF_LOG | options
    alone = load_split(parts, **options)
    found = in_ranks(n_ranks, lambda group: load_split(parts, **options, group=group))
    for name in PARTS:
        whole, shares = getattr(alone, name), [getattr(split, name) for split in found]
        for share in shares:
            assert share.user_ids.equals(whole.user_ids)
            assert share.item_ids.equals(whole.item_ids)
        for column, values in together(shares).items():
            np.testing.assert_array_equal(values, getattr(whole, column), err_msg=f"{name} {column}")
    assert [split.report for split in found] == [alone.report] * n_ranks


@pytest.mark.parametrize("missing", ["validation", "test", "nothing"])
def test_a_given_split_is_checked_and_shared_out_alike(parts, in_ranks, tmp_path, missing):
    files = sorted(parts.iterdir())
    given = {"source": files[:2], "validation": files[2], "test": files[3], **COLUMNS_OF_LOG}
    given.pop(missing, None)
    alone = load_split(**given)
    found = in_ranks(3, lambda group: load_split(**given, group=group))
    assert found[0].report == alone.report
    for name in PARTS:
        for column, values in together([getattr(split, name) for split in found]).items():
            np.testing.assert_array_equal(values, getattr(getattr(alone, name), column), err_msg=f"{name} {column}")


def test_a_rank_reads_only_rows_of_its_own_users(parts, in_ranks):
    shares = in_ranks(2, lambda group: load_split(parts, **COLUMNS_OF_LOG, group=group).train)
    assert not set(shares[0].users) & set(shares[1].users)
    assert min(len(share) for share in shares) > 100


@pytest.mark.parametrize("kind", ["csv", "authors"])
def test_text_files_are_shared_out_too(in_ranks, tmp_path, kind):
    rows = [(user, item, int((user + item) % 3 > 0)) for user in range(12) for item in range(7) if (user * item) % 4]
    if kind == "csv":
        path = tmp_path / "log.csv"
        path.write_text("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows))
    else:
        path = tmp_path / "log.train.rating"
        path.write_text("".join(f"{u}\t{i}\t{r}\n" for u, i, r in rows))
    alone = load_split(path)
    shares = [split.train for split in in_ranks(3, lambda group: load_split(path, group=group))]
    for column, values in together(shares).items():
        np.testing.assert_array_equal(values, getattr(alone.train, column), err_msg=column)


def test_a_run_folder_and_a_fingerprint_are_those_of_one_process(parts, in_ranks, tmp_path):
    alone = load_split(parts, **COLUMNS_OF_LOG)
    RunFolder(tmp_path / "alone").write_split(alone)

    def write(group):
        split = load_split(parts, **COLUMNS_OF_LOG, group=group)
        RunFolder(tmp_path / "group").write_split(split)
        return fingerprint(split.train)

    assert set(in_ranks(2, write)) == {fingerprint(alone.train)}
    for name in ("ids.parquet", "interactions.parquet"):
        one, other = (pl.read_parquet(tmp_path / folder / name) for folder in ("alone", "group"))
        assert one.equals(other)
    assert sorted(path.name for path in (tmp_path / "group").iterdir()) == ["ids.parquet", "interactions.parquet"]


def test_flags_that_only_some_ranks_have_are_there_on_all(in_ranks, tmp_path):
    pl.DataFrame(
        {"user": [1, 1, 2, 2, 3, 3], "item": [1, 2] * 3, "rating": [1, 5, None, None, None, None]}
    ).write_parquet(tmp_path / "log.parquet")
    options = {"false_positive": "rating < 3", "group": None}
    shares = in_ranks(3, lambda g: load_split(tmp_path / "log.parquet", **options | {"group": g}).train)
    assert all(share.false_positive is not None for share in shares)


def test_a_rule_that_marks_everything_of_one_rank_only_is_no_mistake(in_ranks, tmp_path):
    frame = pl.DataFrame({"user": [1] * 4 + [2] * 4, "item": [*range(4)] * 2, "rating": [1] * 4 + [5] * 4})
    frame.write_parquet(tmp_path / "log.parquet")
    in_ranks(2, lambda g: load_split(tmp_path / "log.parquet", false_positive="rating < 3", group=g))
    with pytest.raises(DataError, match="marks all 8"):
        in_ranks(2, lambda g: load_split(tmp_path / "log.parquet", false_positive="rating < 9", group=g))


def test_ids_are_text_on_all_ranks_if_they_are_on_one(in_ranks):
    own = [pl.Series([10, 9]), pl.Series(["99999999999999999999"])]
    for table in in_ranks(2, lambda group: unique_ids(own[group.rank], group)):
        assert table.to_list() == ["10", "9", "99999999999999999999"]


@given(shares=st.lists(st.lists(st.integers(-(2**40), 2**40)), min_size=2, max_size=4), data=st.data())
def test_nth_smallest_is_that_of_all_numbers_together(in_ranks, shares, data):
    everything = sorted(number for share in shares for number in share)
    if not everything:
        return
    n = np.array([data.draw(st.integers(1, len(everything))) for _ in range(2)])
    for found in in_ranks(len(shares), lambda g: nth_smallest(np.sort(np.array(shares[g.rank], np.int64)), n, g)):
        assert found.tolist() == [everything[place - 1] for place in n]


def test_rows_are_numbered_anew_without_gaps_and_come_out_in_order(small_data, in_ranks):
    data = small_data()
    kept = np.random.default_rng(0).random(len(data)) < 0.5

    def blocks(group):
        own = share_out(data, group)
        return list(in_order(renumbered(own.take(kept[own.rows]))))

    for found in in_ranks(3, blocks):
        np.testing.assert_array_equal(np.concatenate([block.items for block in found]), data.items[kept])


def test_ranks_that_do_not_have_the_same_files_are_told(parts, in_ranks, tmp_path):
    (tmp_path / "part.parquet").write_bytes(next(parts.iterdir()).read_bytes())
    with pytest.raises(DataError, match="were shared out to the ranks: give every host the same files"):
        in_ranks(2, lambda group: load_split([parts, tmp_path][group.rank], group=group))


@pytest.mark.parametrize(
    ("work", "n_ranges", "cuts"),
    [([1, 1, 1, 1], 2, [0, 2, 4]), ([6, 1, 1, 1, 1, 2], 2, [0, 1, 6]), ([1], 3, [0, 0, 1, 1]), ([], 2, [0, 0, 0])],
)
def test_consecutive_ranges_have_about_the_same_work(work, n_ranges, cuts):
    assert balanced_cuts(np.array(work, float), n_ranges).tolist() == cuts
