"""New users, filters, items that are alike and reasons, as `Recommender` and the commands give them."""

import json
import logging

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recsieve import Recommender, split_interactions
from recsieve.data.interactions import CSR
from recsieve.errors import ConfigError, DataError
from recsieve.evaluation.ranking import Mask, rank_items
from recsieve.models.popularity import PopularityScorer
from recsieve.recommendations.frame import in_words


@pytest.fixture(scope="module")
def split(small_data):
    return split_interactions(small_data(60, 40), seed=0)


@pytest.fixture(scope="module")
def ease(split):
    return Recommender("ease").fit(split)


@pytest.fixture(scope="module")
def run(ease, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "ease"
    ease.save(folder)
    return folder


def items_of(lists, user):
    return lists.filter(pl.col("user") == user)["item"].to_list()


def profile_of(split, user):
    return [split.train.item_ids[int(item)] for item in split.train.csr.row(user)]


def test_a_profile_is_answered_as_the_fitted_user_who_has_it(ease, split):
    fitted = ease.recommend(["u5"], k=40, exclude_seen=False)
    new = ease.recommend(profiles=[profile_of(split, 5)], k=40, exclude_seen=False)
    assert new["item"].to_list() == fitted["item"].to_list()
    assert new["user"].unique().to_list() == ["0"]


def test_a_file_of_profiles_without_rows_is_refused(ease, tmp_path):
    (tmp_path / "header.csv").write_text("user,item\n")
    with pytest.raises(DataError, match="there are no items in the profiles"):
        ease.recommend(profiles=tmp_path / "header.csv")


def test_profiles_may_be_lists_a_mapping_or_a_frame(ease):
    one = ease.recommend(profiles=[["i1", "i2"], ["i3"]], k=3)
    two = ease.recommend(profiles={"0": ["i1", "i2"], "1": ["i3"]}, k=3)
    three = ease.recommend(profiles=pl.DataFrame({"user": ["0", "0", "1"], "item": ["i1", "i2", "i3"]}), k=3)
    assert one.equals(two)
    assert one.equals(three)
    assert not {"i1", "i2"} & set(items_of(one, "0"))


def test_unknown_items_of_a_profile_are_told_and_a_profile_of_nothing_else_gets_popular_items(ease, split, caplog):
    with caplog.at_level(logging.WARNING):
        lists = ease.recommend(profiles={"a": ["i1", "nowhere"], "b": ["gone"], "c": []}, k=3)
    assert "left out of the profiles: 2 items not in the data ('nowhere', 'gone')" in caplog.text
    assert items_of(lists, "a") == items_of(ease.recommend(profiles={"a": ["i1"]}, k=3), "a")
    popular = [split.train.item_ids[int(i)] for i in np.argsort(-split.train.item_counts(), kind="stable")[:3]]
    assert items_of(lists, "b") == items_of(lists, "c") == popular
    assert lists.filter(pl.col("user") != "a")["popular"].all()


def test_users_and_profiles_at_once_or_profiles_that_are_none_are_refused(ease):
    with pytest.raises(ConfigError, match="both users and profiles"):
        ease.recommend(["u1"], profiles=[["i1"]])
    for wrong in ("i1", ["i1"], 7):
        with pytest.raises(DataError, match="profile"):
            ease.recommend(profiles=wrong)


def test_allow_and_deny_lists_are_for_all_or_for_each_user(ease):
    everything = items_of(ease.recommend(["u1"], k=40), "u1")
    kept, other = everything[3:8], everything[8:10]
    assert items_of(ease.recommend(["u1"], k=40, allow=kept), "u1") == kept
    assert items_of(ease.recommend(["u1"], k=40, deny=kept), "u1") == everything[:3] + everything[8:]
    assert items_of(ease.recommend(["u1"], k=40, allow=kept + other, deny=other), "u1") == kept
    by_user = ease.recommend(["u1", "u2"], k=40, deny={"u1": kept})
    assert items_of(by_user, "u1") == everything[:3] + everything[8:]
    assert items_of(by_user, "u2") == items_of(ease.recommend(["u2"], k=40), "u2")
    allowed = ease.recommend(k=40, allow=pl.DataFrame({"user": ["u1"] * 5, "item": kept}))
    assert items_of(allowed, "u1") == kept
    assert allowed["user"].unique().to_list() == ["u1"]


def test_fewer_than_k_is_said_and_unknown_ids_in_lists_are_told(ease, caplog):
    with caplog.at_level(logging.WARNING):
        lists = ease.recommend(["u1"], k=5, allow=["nowhere"])
    assert lists.is_empty()
    assert "1 of 1 list is shorter than 5" in caplog.text
    assert "left out of the lists to allow or deny: 1 item not in the data ('nowhere')" in caplog.text


def test_one_is_counted_in_the_singular(ease, recsieve, run, tmp_path):
    for ask in (ease.recommend, ease.similar_users):
        with pytest.raises(DataError, match=r"^1 of 1 user is not in the"):
            ask(["nobody"])
        with pytest.raises(DataError, match=r"^1 of 2 users is not in the"):
            ask(["u1", "nobody"])
    out = tmp_path / "lists.csv"
    assert recsieve("recommend", run, "--user", "u1", "--k", 1, "--out", out).out == f"1 row for 1 user: {out}\n"


def test_rare_items_are_left_out_if_asked_for(ease, split):
    counts = dict(zip(split.train.item_ids, split.train.item_counts(), strict=True))
    middle = int(np.median(list(counts.values())))
    lists = ease.recommend(k=40, min_popularity=middle)
    assert lists["item"].map_elements(counts.get, return_dtype=pl.Int64).min() >= middle
    with pytest.raises(ConfigError, match="min_popularity is -1"):
        ease.recommend(min_popularity=-1)


def test_no_more_of_a_category_than_allowed_and_the_best_of_each(ease, tmp_path):
    category = {f"i{number}": f"c{number % 4}" for number in range(36)}  # the last items have none
    everything = ease.recommend(k=40)
    limited = ease.recommend(k=9, categories=category, per_category=2)
    for user in ("u1", "u7", "u30"):
        taken, expected = {}, []
        for item in items_of(everything, user):
            of = category.get(item)
            taken[of] = taken.get(of, 0) + 1
            if of is None or taken[of] <= 2:
                expected.append(item)
        assert items_of(limited, user) == expected[:9]
    (tmp_path / "items.csv").write_text("item,category\n" + "".join(f"{i},{c}\n" for i, c in category.items()))
    assert ease.recommend(k=9, categories=tmp_path / "items.csv", per_category=2).equals(limited)
    profile = ease.recommend(profiles=[["i1"]], k=9, categories=dict.fromkeys(category, "all"), per_category=1)
    assert len([item for item in profile["item"] if item in category]) == 1
    with pytest.raises(ConfigError, match="give both"):
        ease.recommend(per_category=2)


def test_users_alike_are_those_with_vectors_of_one_direction(ease, split):
    ials = Recommender("ials", model_options={"factors": 8}).fit(split)
    alike = ials.similar_users(["u3", "u4"], k=5)
    vectors = torch.nn.functional.normalize(ials.model.users)
    expected = [f"u{code}" for code in (vectors[3] @ vectors.T).argsort(descending=True).tolist() if code != 3][:5]
    assert alike.filter(pl.col("user") == "u3")["similar"].to_list() == expected
    assert alike.columns == ["user", "similar", "rank", "score"]
    with pytest.raises(ConfigError, match="cannot find similar users"):
        ease.similar_users("u3")
    with pytest.raises(DataError, match="not in the data"):
        ials.similar_users("nobody")


@given(st.data())
def test_a_mask_gives_the_list_of_whatever_is_left(data):
    n_items, tile = data.draw(st.integers(1, 40)), data.draw(st.booleans())
    some = st.sets(st.integers(0, n_items - 1))
    denied, hidden, allowed = data.draw(some), data.draw(some), data.draw(st.none() | some)
    scores = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n_items, max_size=n_items)), np.float32)

    def row(items):
        return CSR(np.array([0, 0, len(items)]), np.array(sorted(items), np.int32), n_items)

    mask = Mask(row(denied), np.array(sorted(hidden), np.int32), None if allowed is None else row(allowed))
    model = PopularityScorer(1, torch.from_numpy(scores))
    top, _ = rank_items(model, np.zeros(2, np.int32), 10, mask, workers=1 if tile else None)
    left = (set(range(n_items)) if allowed is None else allowed) - denied - hidden
    expected = sorted(left, key=lambda item: (-scores[item], item))[:10]
    assert [item for item in top[1] if item >= 0] == expected


def test_ranking_in_the_thread_that_asks_leaves_torch_as_it_is(ease, monkeypatch):
    monkeypatch.setattr(torch, "set_num_threads", lambda n: pytest.fail("it is for the whole process"))
    lists = ease.ranker().for_users(["u1", "unknown"], 5, workers=1)
    ease.ranker().for_profiles({"x": ["i1"]}, 5, workers=1)
    assert lists.popular.tolist() == [False, True]


def test_reasons_of_ease_sum_to_the_score(ease, split):
    lists = ease.recommend(["u5"], k=5, explain=40)
    whole = ease.ranker().scorer.contributions(ease.ranker()._profile_of(5), torch.arange(40)).sum(1)
    code = {item: code for code, item in enumerate(split.train.item_ids)}
    for row in lists.to_dicts():
        assert abs(row["score"] - float(whole[code[row["item"]]])) < 1e-5
        adds = [reason["adds"] for reason in row["reasons"]]
        assert adds == sorted(adds, reverse=True)
        assert {reason["item"] for reason in row["reasons"]} <= set(profile_of(split, 5))
    assert max(len(reasons) for reasons in ease.recommend(["u5"], k=5, explain=3)["reasons"].to_list()) <= 3


def test_reasons_in_words_have_three_digits_each():
    reasons = [{"item": name, "adds": adds} for name, adds in (("a", 123.4), ("b", 1.5), ("c", 0.042), ("d", -0.03681))]
    assert in_words(reasons) == "a (+123), b (+1.50), c (+0.0420), d (-0.0368)"


def test_items_alike_are_others_and_the_most_alike_come_first(ease, split):
    alike = ease.similar_items(["i3", "i7"], k=5)
    assert alike.filter(pl.col("item") == pl.col("similar")).is_empty()
    for _, rows in alike.group_by("item"):
        assert rows["score"].is_sorted(descending=True)
    with pytest.raises(DataError, match=r"1 of 1 item is not in the data \('nowhere'\)"):
        ease.similar_items("nowhere")


def test_the_commands_give_what_python_gives(recsieve, run, ease, tmp_path):
    (tmp_path / "new.csv").write_text("user,item\na,i1\na,i2\nb,i3\n")
    (tmp_path / "sold.csv").write_text("item\ni4\ni5\n")
    answer = recsieve("recommend", run, "--profiles", tmp_path / "new.csv", "--deny", tmp_path / "sold.csv", "--json",
                      "--explain", 2, "--k", 3)  # fmt: skip
    expected = ease.recommend(profiles={"a": ["i1", "i2"], "b": ["i3"]}, deny=["i4", "i5"], k=3, explain=2)
    assert json.loads(answer.out) == json.loads(json.dumps(expected.to_dicts()))
    shown = recsieve("recommend", run, "--user", "u1", "--explain", 2)
    assert "reasons" in shown.out
    written = recsieve("recommend", run, "--user", "u1", "--explain", 2, "--out", tmp_path / "lists.csv")
    assert written.code == 0
    assert pl.read_csv(tmp_path / "lists.csv")["reasons"].dtype == pl.String
    alike = recsieve("similar", run, "--item", "i3", "--json")
    assert json.loads(alike.out) == json.loads(json.dumps(ease.similar_items("i3").to_dicts()))


@pytest.mark.parametrize("option", ["--allow", "--deny", "--profiles", "--categories"])
def test_a_list_of_items_that_is_missing_or_not_utf_8_is_not_taken_for_a_log(recsieve, run, tmp_path, option):
    more = ("--per-category", 1) if option == "--categories" else ()
    answer = recsieve("recommend", run, option, tmp_path / "nofile.csv", *more)
    assert "nofile.csv': give the path of a file with a column of items." in answer.err
    (tmp_path / "latin.csv").write_bytes("item,category\nJürgen,1\n".encode("latin-1"))
    answer = recsieve("recommend", run, option, tmp_path / "latin.csv", *more)
    assert answer.err.endswith(": write it in UTF-8.\n")  # there is no --encoding


def test_a_missing_file_of_users_to_forget_is_told_as_that(ease, tmp_path):
    with pytest.raises(DataError, match="give the path of a file with a column of users"):
        ease.refresh(forget=tmp_path / "nofile.csv")


def test_a_command_that_cannot_be_answered_is_one_line(recsieve, run, tmp_path):
    answer = recsieve("similar", run, "--item", "nowhere")
    assert answer.code == 2
    assert "not in the data" in answer.err
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    answer = recsieve("recommend", run, "--profiles", tmp_path / "wrong.csv")
    assert answer.code == 2
    assert "no column that looks like the item" in answer.err
    (tmp_path / "users.csv").write_text("user\nu1\n")
    answer = recsieve("recommend", run, "--user", "u1", "--allow", tmp_path / "users.csv")
    assert answer.code == 2
    assert "no column that looks like the item (user)" in answer.err
    assert recsieve("recommend", run, "--explain", 2, "--out", tmp_path / "folder").code == 2
