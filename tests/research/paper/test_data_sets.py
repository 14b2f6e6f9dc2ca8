import pytest

from recsieve.errors import ConfigError, DataError
from research.paper.data_sets import open_data_set


def write_authors(folder, name="yelp", *, train=True):
    """Files as the authors have them: ten users with seven items each, one of them a false positive."""
    folder.mkdir(exist_ok=True)
    rows = [f"{user}\t{item}\t{int(item != user % 7)}" for user in range(10) for item in range(7)]
    if train:
        (folder / f"{name}.train.rating").write_text("\n".join(rows))
        rows = [f"{user}\t7\t1" for user in range(10)]
    (folder / f"{name}.valid.rating").write_text("\n".join([*rows, rows[0]]))  # a row repeats, as in theirs
    (folder / f"{name}.test.negative").write_text("\n".join(f"{user}\t8" for user in range(10)))
    return folder


def test_the_authors_folder_is_the_papers_data_with_its_own_ramp(tmp_path):
    data = open_data_set(str(write_authors(tmp_path / "anywhere")))
    assert (data.name, data.preset, data.is_papers, data.cutoffs) == ("yelp", "yelp", True, (50, 100))
    assert data.ramp(30_000, epochs=10) == 30_000
    assert len(data.split.train) == 70
    assert data.split.train.is_false_positive.sum() == 10


def test_repeated_rows_stay_as_the_authors_have_them_or_go_as_the_paper_is_read(tmp_path):
    folder = str(write_authors(tmp_path / "files"))
    assert len(open_data_set(folder, fidelity="authors").split.validation) == 11
    assert len(open_data_set(folder, fidelity="paper").split.validation) == 10


def test_adressa_is_measured_at_3_and_20(tmp_path):
    assert open_data_set(str(write_authors(tmp_path / "files", "adressa"))).cutoffs == (3, 20)


def test_without_a_training_file_the_validation_file_stands_in_and_says_so(tmp_path):
    data = open_data_set(str(write_authors(tmp_path / "yelp-part", train=False)))
    assert data.name == "yelp-part"
    assert not data.is_papers
    assert "validation file stands in" in data.about
    assert len(data.split.train) + len(data.split.validation) == 70
    assert len(data.split.test) == 10


def test_ratings_below_3_are_false_positives_of_any_file(tmp_path):
    file = tmp_path / "shop.csv"
    file.write_text(
        "user,item,rating\n" + "\n".join(f"u{u},i{i},{1 + (u + i) % 5}" for u in range(9) for i in range(9))
    )
    data = open_data_set(str(file))
    parts = (data.split.train, data.split.validation, data.split.test, data.split.test_false_positives)
    assert data.name == "shop"
    assert sum(len(part) for part in parts) == 81
    assert not data.split.test.is_false_positive.any()
    assert data.preset == "yelp"


def test_the_ramp_takes_the_same_share_of_any_training(tmp_path):
    data = open_data_set("simulated:yelp:0.02")
    whole = 10 * data.steps_per_epoch
    assert data.ramp(30_000, epochs=10) == pytest.approx(whole * 30_000 / 32_670, abs=1)
    assert data.ramp(30_000, epochs=5) == pytest.approx(whole / 2 * 30_000 / 32_670, abs=1)


def test_a_simulated_shape_has_the_papers_share_of_noise():
    train = open_data_set("simulated:yelp:0.02").split.train
    assert train.is_false_positive.mean() == pytest.approx(260_581 / 1_672_520, abs=1e-3)


def test_what_cannot_be_opened_is_told(tmp_path):
    with pytest.raises(DataError, match="there is no 'nowhere'"):
        open_data_set("nowhere")
    with pytest.raises(ConfigError, match=r"simulated:yelp:0\.1"):
        open_data_set("simulated:yelp:big")
    with pytest.raises(ConfigError, match="did you mean 'yelp'"):
        open_data_set(str(write_authors(tmp_path / "files", "mine")), preset="yelb")
