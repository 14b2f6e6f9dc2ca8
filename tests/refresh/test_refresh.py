"""New data into a fitted recommender, and users out of it."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recsieve import Recommender, split_interactions
from recsieve.data.interactions import CLEAN, NOISY, Interactions
from recsieve.errors import ConfigError, DataError
from recsieve.models import MODELS, Model
from recsieve.models.blend import Blend
from recsieve.refresh import refit
from recsieve.refresh.grow import grow

BUDGET = {"epochs": 2, "batch_size": 64}


def pairs(rows, **columns):
    """Interactions of pairs of ids."""
    users, items = (pl.Series([row[side] for row in rows]) for side in (0, 1))
    user_ids, item_ids = users.unique().sort(), items.unique().sort()
    codes = [ids.search_sorted(of).to_numpy().astype(np.int32) for ids, of in ((user_ids, users), (item_ids, items))]
    return Interactions(*codes, user_ids, item_ids, **columns)


@pytest.fixture(scope="module")
def old(small_data):
    return split_interactions(small_data(40, 25, 0.4), seed=0)


@pytest.fixture(scope="module")
def log():
    """New rows: of users and items that are known and of some that are not."""
    rng = np.random.default_rng(1)
    rows = {(f"u{rng.integers(36, 46)}", f"i{rng.integers(0, 30)}") for _ in range(150)}
    return pl.DataFrame(sorted(rows), schema=["user", "item"], orient="row")


def ids_of(interactions):
    frame = interactions.to_frame()
    return set(zip(frame["user"].to_list(), frame["item"].to_list(), strict=True))


def everything(split):
    return [pair for part in split.parts for pair in ids_of(part)]


@settings(max_examples=25)
@given(st.data())
def test_no_pair_is_lost_or_doubled_ids_keep_their_codes_and_parts_stay(data):
    def some(most):
        return st.lists(st.tuples(st.integers(0, most), st.integers(0, most)), min_size=3, max_size=30, unique=True)

    first, second = data.draw(some(6)), data.draw(some(9))
    forget = data.draw(st.lists(st.sampled_from([user for user, _ in first]), max_size=2))
    before, new = (split_interactions(pairs(rows)) for rows in (first, second))
    if {user for user, _ in first} <= set(forget):
        with pytest.raises(DataError, match="nobody would be left"):
            grow(before, new, map(str, forget))
        return
    grown = grow(before, new, map(str, forget))
    kept = {pair for pair in {*first, *second} if pair[0] not in forget}
    assert sorted(everything(grown.split)) == sorted(kept)
    assert sorted(everything(grown.added)) == sorted(kept - set(first))
    for old_part, part in zip(before.parts, grown.split.parts, strict=True):
        assert {pair for pair in ids_of(old_part) if pair[0] not in forget} <= ids_of(part)
    for code, was in enumerate(grown.users):
        assert was < 0 or grown.split.train.user_ids[code] == before.train.user_ids[int(was)]
    items = before.train.item_ids
    assert grown.split.train.item_ids[: len(items)].to_list() == items.to_list()
    if not forget:
        assert grown.split.train.user_ids[: before.train.n_users].to_list() == before.train.user_ids.to_list()


def test_numbers_and_text_as_ids_meet_as_text():
    before = split_interactions(pairs([("1", "a"), ("2", "b"), ("x", "a")]))
    grown = grow(before, split_interactions(pairs([(1, "b"), (7, "a")])))
    assert grown.split.train.user_ids.to_list() == ["1", "2", "x", "7"]
    assert (grown.known, len(grown.added.train)) == (0, 2)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_takes_new_data_in(name, old, log, tmp_path):
    kind = MODELS[name]
    budget = {**BUDGET, "model_options": {"factors": 8}} if "factors" in getattr(kind, "search_space", {}) else BUDGET
    fitted = Recommender(name, **budget).fit(old)
    after = fitted.refresh(log)
    report = after.refreshed
    assert report.users > 0
    assert report.items > 0
    assert report.interactions + report.known == log.height
    assert report.before is not None
    went_on = name == "ials" or issubclass(kind, Model)
    assert all(("continued from its vectors" in done) == went_on for done in report.models.values())
    new_user = next(user for user in after.split.train.user_ids if user not in fitted.split.train.user_ids.to_list())
    assert after.recommend([new_user], k=3).height == 3
    after.save(tmp_path / "run")
    again = Recommender.load(tmp_path / "run")
    assert again.recommend(k=3).equals(after.recommend(k=3))
    assert again.refresh(forget=[new_user]).refreshed.forgotten == 1


@pytest.mark.parametrize("name", [name for name in sorted(MODELS) if issubclass(MODELS[name], Model)])
def test_a_model_takes_over_exactly_the_vectors_of_the_users_and_items_that_stay(name, old, log):
    kind = MODELS[name]
    fitted = Recommender(name, epochs=1, batch_size=64).fit(old).model
    grown = grow(old, split_interactions(pairs(list(log.iter_rows()))), ["u3"])
    other = kind(grown.split.train.profiles, torch.Generator().manual_seed(5))
    drawn = {name: parameter.clone() for name, parameter in other.named_parameters()}
    users, items = torch.from_numpy(grown.users), torch.from_numpy(grown.items)
    assert other.take_vectors(fitted, users, items)
    mine, theirs = dict(other.named_parameters()), dict(fitted.named_parameters())
    for parameter, of in kind.rows_of.items():
        codes = torch.cat([users if who == "users" else items + (len(of) - 1) * fitted.n_users for who in of])
        known = torch.cat([(users if who == "users" else items) >= 0 for who in of])
        assert torch.equal(mine[parameter][known], theirs[parameter][codes[known]])
        assert torch.equal(mine[parameter][~known], drawn[parameter][~known])
    assert all(torch.equal(mine[one], theirs[one]) for one in mine.keys() - kind.rows_of.keys())


def test_a_model_goes_on_only_as_long_as_it_costs_next_to_nothing_on_what_is_held_out(old, log, monkeypatch):
    fitted = Recommender("mf", epochs=24, patience=24, batch_size=64).fit(old)
    seen = []

    def refreshed(scores):
        seen.clear()

        def judge(fitting):
            seen.append(fitting.scorer().item.weight.clone())
            return scores[len(seen) - 1]

        monkeypatch.setattr(refit, "criterion", lambda settings, split: judge)
        after = fitted.refresh(log)
        return after.refreshed.models["mf"], after.trained().item.weight

    for scores, kept in (([0.5, 0.495, 0.4], 2), ([-0.5, -0.505, -0.6], 2), ([0.1, 0.2, 0.3, 0.4], 4), ([0.5, 0.1], 1)):
        told, weights = refreshed(scores)
        assert told == f"continued from its vectors for {kept} epoch{'s' * (kept > 1)}"
        assert torch.equal(weights, seen[kept - 1])
        assert len(seen) == len(scores)


def test_a_model_with_other_parameters_is_not_begun_with(old):
    gmf, mf = (Recommender(name, epochs=1).fit(old).model for name in ("gmf", "mf"))
    before = mf.user.weight.clone()
    codes = torch.arange(mf.n_users), torch.arange(mf.n_items)
    assert not mf.take_vectors(gmf, *codes)
    assert torch.equal(mf.user.weight, before)


def test_closed_forms_are_what_training_anew_gives(old, log):
    after = Recommender("ease").fit(old).refresh(log)
    anew = Recommender("ease").fit(after.split)
    users = torch.arange(after.model.n_users)
    assert torch.allclose(after.model.score(users), anew.model.score(users), atol=1e-5)
    assert after.refreshed.models == {"ease": "was solved again"}


def test_forgotten_users_leave_every_file_and_stay_out_of_new_data(old, log, tmp_path):
    fitted = Recommender("gmf", **BUDGET).fit(old)
    users = ["u3", "u40", "nobody"]
    after = fitted.refresh(log, forget=users)
    assert not {"u3", "u40"} & set(after.split.train.user_ids)
    assert (after.refreshed.forgotten, after.refreshed.unknown) == (1, 2)
    after.save(tmp_path / "run")
    assert not {"u3", "u40"} & set(pl.read_parquet(tmp_path / "run" / "ids.parquet")["id"])
    alone = fitted.refresh(forget=pl.DataFrame({"user": ["u3"]}))
    assert alone.refreshed.interactions == 0
    assert alone.model.n_users == fitted.model.n_users - 1
    with pytest.raises(ConfigError, match="nothing to refresh with"):
        fitted.refresh()


def test_what_was_chosen_is_refreshed_part_by_part_with_its_offset_and_its_trust(small_data, log):
    from recsieve.auto import Candidate, Spec

    data = replace(small_data(40, 25, 0.4), false_positive=None)  # an audit takes long
    split = split_interactions(data, seed=0)
    fitted = Recommender(candidates=["ease", "ials"], trials=2).fit(split)
    specs = Spec("ease", weighted=True), Spec("ials", {"factors": 8})
    chosen = Candidate(specs, (0.5, 0.5), c=1.0, gamma=0.5)
    trust = {name: np.full(len(getattr(split, name)), 0.5, np.float32) for name in
             ("train", "validation", "test", "test_false_positives")}  # fmt: skip
    fitted = _chosen(fitted, split, chosen, trust)
    flags = np.where(np.arange(log.height) % 2, CLEAN, NOISY).astype(np.int8)
    after = fitted.refresh(pairs(list(log.iter_rows()), false_positive=flags))
    assert isinstance(after.model, Blend)
    assert isinstance(after.final, Blend)
    ease, ials = after.refreshed.models.values()
    assert ease == "was solved again"
    assert "continued from its vectors" in ials
    offset = after.final.offset
    assert torch.allclose(offset.item, 0.5 * torch.log1p(torch.from_numpy(_counts(after.split)).float()), atol=1e-5)
    assert len(offset.noise_users) == after.model.n_users
    assert torch.equal(offset.noise_users[:40], fitted.final.offset.noise_users)
    added = after._trust["train"][len(split.train) :]
    assert set(np.unique(added)) <= {0.0, 1.0}
    assert after.recommend(k=3).height == 3 * after.model.n_users


def _counts(split):
    return sum(part.item_counts() for part in split.parts)


def _chosen(fitted, split, candidate, trust):
    """A recommender that has chosen a blend with an offset and weights."""
    from recsieve.auto.data import stage_data
    from recsieve.auto.scoring import log_popularity
    from recsieve.models.blend import Offset

    rng = torch.Generator().manual_seed(0)
    shapes = {"users": (40,), "items": (25,), "user_factors": (40, 2), "item_factors": (25, 2)}
    noise = {name: torch.randn(shape, generator=rng) for name, shape in shapes.items()}
    epochs = {spec.slug: 3.0 for spec in candidate.specs}
    chosen = replace(fitted.choice.chosen, candidate=candidate)
    fitted.choice = replace(fitted.choice, chosen=chosen, epochs=epochs)
    fitted._trust = trust
    for stage, name in (("validated", "model"), ("all", "final")):
        parts = [
            fitted.refit(spec, stage_data(split, stage, trust if spec.weighted else None), 3.0, stage)
            for spec in candidate.specs
        ]
        offset = Offset(candidate.gamma * log_popularity(stage_data(split, stage)), noise, candidate.c)
        setattr(fitted, name, Blend(parts, candidate.weights, offset))
    return fitted


def test_an_offset_of_scores_stays(old, log):
    fitted = Recommender("ease").fit(old).offset_scores(popularity=0.7)
    after = fitted.refresh(log)
    expected = 0.7 * torch.log1p(torch.from_numpy(after.split.train.item_counts()).float())
    assert torch.allclose(after.model.offset.item, expected, atol=1e-5)


def test_the_command_writes_a_run_that_says_what_changed_and_can_be_refreshed_again(recsieve, old, log, tmp_path):
    Recommender("gmf", **BUDGET).fit(old).save(tmp_path / "run")
    log.write_csv(tmp_path / "new.csv")
    (tmp_path / "leave.csv").write_text("user\nu3\n")
    words = ("refresh", tmp_path / "run", "--data", tmp_path / "new.csv", "--anew", "--out", tmp_path / "next")
    answer = recsieve(*words)
    assert answer.code == 0, answer.err
    assert "new users and" in answer.out
    assert "continued from its vectors" in answer.out
    assert "trained from scratch" in answer.out
    assert recsieve("evaluate", tmp_path / "next").code == 0
    metrics = json.loads((tmp_path / "next" / "metrics.json").read_text())
    assert metrics["refreshed"]["anew"] >= 0
    again = recsieve(
        "refresh", tmp_path / "next", "--forget", tmp_path / "leave.csv", "--out", tmp_path / "last", "--json"
    )
    assert json.loads(again.out)["refreshed"]["forgotten"] == 1
    assert recsieve(*words).code == 2
    same = recsieve("refresh", tmp_path / "run", "--data", tmp_path / "new.csv", "--out", tmp_path / "run")
    assert same.code == 2
    nothing = recsieve("refresh", tmp_path / "run", "--out", tmp_path / "none")
    assert nothing.code == 2
    assert "nothing to refresh with" in nothing.err
