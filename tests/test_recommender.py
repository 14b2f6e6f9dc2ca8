from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
import torch

from recsieve import Recommender, split_interactions
from recsieve.audit.pairs import PairNoise, PairScores
from recsieve.denoisers import Truncated
from recsieve.errors import ConfigError, DataError, RunError
from recsieve.models import EASE, GMF
from recsieve.training import InteractionMemory
from recsieve.training.checkpoint import load_checkpoint, save_checkpoint

QUICK = {"epochs": 3, "batch_size": 64}


@pytest.fixture(scope="module")
def split(small_data):
    return split_interactions(small_data(60, 40), seed=0)


@pytest.fixture(scope="module")
def fitted(split):
    return Recommender("gmf", "truncated", **QUICK).fit(split)


def test_a_saved_recommender_comes_back_as_it_was(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    back = Recommender.load(tmp_path / "run")
    assert back.recommend(k=5).equals(fitted.recommend(k=5))
    assert back.settings == fitted.settings
    assert back.evaluate(back.split).overall == fitted.evaluate(fitted.split).overall


def test_saving_over_something_is_refused(fitted, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RunError, match="not empty"):
        fitted.save(tmp_path)


def test_interactions_alone_are_enough(small_data):
    recommender = Recommender("gmf", **QUICK).fit(small_data())
    assert recommender.recommend(["u3"], k=2)["user"].to_list() == ["u3", "u3"]


def test_recommendations_come_in_the_order_of_the_users_asked_for(fitted):
    lists = fitted.recommend(["u9", "u2", "u9"], k=1)
    assert lists["user"].to_list() == ["u9", "u2", "u9"]


def test_nothing_that_a_user_has_in_any_part_is_recommended_unless_asked_for(fitted, split):
    parts = (split.train, split.validation, split.test, split.test_false_positives)
    assert all(map(len, parts))
    owned = {pair for part in parts for pair in part.to_frame().select("user", "item").iter_rows()}
    assert owned.isdisjoint(fitted.recommend(k=40).select("user", "item").iter_rows())
    assert owned <= set(fitted.recommend(k=40, exclude_seen=False).select("user", "item").iter_rows())


def test_users_outside_the_data_are_an_error_or_get_what_is_popular(fitted, split):
    with pytest.raises(DataError, match="1 of 2 users"):
        fitted.recommend(["u1", "unknown"])
    lists = fitted.recommend(["u1", "unknown"], k=3, unknown="popular").filter(pl.col("user") == "unknown")
    counts = split.train.item_counts()
    best = [split.train.item_ids[int(code)] for code in np.argsort(-counts, kind="stable")[:3]]
    assert lists["item"].to_list() == best
    assert lists["popular"].all()


@pytest.fixture(scope="module")
def of_numbers(small_data):
    """A recommender for users 0 to 29."""
    data = replace(small_data(), user_ids=pl.Series(range(30)))
    return Recommender("gmf", epochs=1, batch_size=64).fit(data)


@pytest.mark.parametrize("user", ["15", 15, np.int64(15)])
def test_an_id_that_stands_alone_is_one_user(of_numbers, user):
    assert of_numbers.recommend(user, k=2)["user"].to_list() == [15, 15]


def test_an_unknown_id_is_reported_as_it_was_given(of_numbers):
    with pytest.raises(DataError, match=r"1 of 2 users .*\('alice'\)"):
        of_numbers.recommend([3, "alice"])
    assert of_numbers.recommend([3, "alice"], k=1, unknown="popular")["user"].to_list() == ["3", "alice"]
    assert of_numbers.recommend([3, 99], k=1, unknown="popular")["user"].to_list() == [3, 99]


def _untrusted(change, path):
    state = load_checkpoint(path)
    change(state)
    save_checkpoint(path, state)


def _rows_of_adam(state):
    return next(entry for entry in state["fitting"]["optimizer"]["state"].values() if "last_step" in entry)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: _rows_of_adam(state)["last_step"].fill_(2**30),
        lambda state: _rows_of_adam(state)["last_step"].fill_(-5),
        lambda state: _rows_of_adam(state).update(last_step=torch.zeros(1, dtype=torch.int32)),
        lambda state: _rows_of_adam(state).update(last_step=_rows_of_adam(state)["last_step"].long()),
        lambda state: _rows_of_adam(state).update(exp_avg=torch.zeros(2, 2)),
        lambda state: _rows_of_adam(state).pop("learning_rates"),
        lambda state: state["fitting"].update(step=-1),
        lambda state: state["fitting"].update(step="1"),
        lambda state: state["fitting"].update(step=10**9),
        lambda state: state["fitting"].pop("optimizer"),
        lambda state: state["fitting"].update(model={}),
        lambda state: state["fitting"].update(history=3),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_one_line_and_never_reaches_a_kernel(split, tmp_path, change):
    path = tmp_path / "state.safetensors"
    Recommender("gmf", epochs=1, batch_size=64).fit(split, checkpoint=path)
    _untrusted(change, path)
    with pytest.raises(RunError):
        Recommender("gmf", epochs=1, batch_size=64).fit(split, checkpoint=path, resume=True)


def test_asking_before_training_is_an_error():
    with pytest.raises(RunError, match="call fit first"):
        Recommender().recommend()


def test_a_strategy_can_be_given_as_an_object(split):
    one = Recommender("gmf", Truncated(0.1, 20), **QUICK)
    assert one.settings.denoiser == "truncated"
    options = {"max_drop_rate": 0.1, "ramp_steps": 20, "fidelity": "paper"}
    two = Recommender("gmf", "truncated", denoiser_options=options, **QUICK)
    assert one.fit(split).recommend(k=3).equals(two.fit(split).recommend(k=3))


def test_a_strategy_of_the_users_own_is_trained_with_and_its_run_recommends(split, tmp_path):
    @dataclass
    class HalfWeights:
        calls: int = 0

        def weights(self, batch):
            self.calls += 1
            return torch.full_like(batch.losses, 0.5)

    strategy = HalfWeights()
    recommender = Recommender("gmf", strategy, **QUICK).fit(split)
    assert strategy.calls > 0
    recommender.save(tmp_path / "run")
    assert Recommender.load(tmp_path / "run").recommend(k=2).equals(recommender.recommend(k=2))


@pytest.mark.parametrize("criterion", ["ndcg@5", "clean-recall@10", "validation-loss"])
def test_the_criterion_decides_which_weights_are_kept(split, criterion):
    recommender = Recommender("gmf", "reweighted", select_by=criterion, **QUICK).fit(split)
    scores = {event.step: event.score for event in recommender.validations}
    assert recommender.selected["score"] == max(scores.values())


def test_the_validation_loss_goes_by_the_name_of_version_0_1_too():
    assert Recommender("gmf", select_by="own-loss").settings.select_by == "validation-loss"


def test_clean_selection_without_flags_is_refused(small_data):
    from dataclasses import replace

    with pytest.raises(ConfigError, match="known to be noise"):
        Recommender(select_by="clean-ndcg@5", **QUICK).fit(replace(small_data(), false_positive=None))


def test_given_weights_change_what_is_learned(small_data):
    from dataclasses import replace

    data = small_data()
    weight = np.where(data.items == 3, 0.0, 1.0).astype(np.float32)
    plain = Recommender("gmf", epochs=30, patience=30, batch_size=64, learning_rate=0.02, seed=1)
    weighed = Recommender("gmf", epochs=30, patience=30, batch_size=64, learning_rate=0.02, seed=1)
    ignored = (
        weighed.fit(replace(data, weight=weight)).recommend(k=20, exclude_seen=False).filter(pl.col("item") == "i3")
    )
    learned = plain.fit(data).recommend(k=20, exclude_seen=False).filter(pl.col("item") == "i3")
    assert ignored["score"].mean() < learned["score"].mean()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"model": "gmff"}, "did you mean 'gmf'"),
        ({"denoiser": "truncatd"}, "did you mean 'truncated'"),
        ({"model": "gmf", "model_options": {"factor": 8}}, "did you mean 'factors'"),
        ({"select_by": "ndcg"}, "ndcg@20"),
        ({"learning_rate": float("nan")}, "learning_rate"),
    ],
)
def test_a_wrong_setting_is_answered_with_what_to_give(settings, words):
    with pytest.raises(ConfigError, match=words):
        Recommender(**settings)


def test_denoising_lowers_the_share_of_noise_that_is_fitted_on_learnable_noise():
    """In a world where false positives look alike, T-CE's drops hold more of them than chance would."""
    from recsieve.data.interactions import Interactions

    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(200, dtype=np.int32), 20)
    group = users % 2
    noise = rng.random(len(users)) < 0.2
    items = (rng.integers(0, 50, len(users)) + 50 * np.where(noise, 1 - group, group)).astype(np.int32)
    keys = np.unique(users.astype(np.int64) * 100 + items, return_index=True)[1]
    data = Interactions(
        users[keys], items[keys], pl.Series(range(200)), pl.Series(range(100)), noise[keys].astype(np.int8)
    )
    recommender = Recommender("gmf", Truncated(0.1, 100), epochs=40, patience=40, batch_size=256)
    history = recommender.fit(data).history.tail(20)
    share_dropped = history["dropped_false_positives"].sum() / history["dropped"].sum()
    share_there = history["false_positives"].sum() / history["positives"].sum()
    assert share_dropped > 2 * share_there


def test_the_popularity_control_takes_the_counts_from_the_data_and_leaves_none_in_the_configuration(split, tmp_path):
    recommender = Recommender("gmf", "least-popular-drop", denoiser_options={"drop_positives": 0.2}, **QUICK).fit(split)
    assert recommender.history["dropped"].sum() > 0
    recommender.save(tmp_path / "run")
    assert "popularity" not in (tmp_path / "run" / "config.toml").read_text()
    assert Recommender.load(tmp_path / "run").recommend(k=2).equals(recommender.recommend(k=2))


def test_a_memory_shows_what_each_interaction_went_through(split):
    memory = InteractionMemory(len(split.train))
    Recommender("gmf", "reweighted", **QUICK).fit(split, memory=memory)
    assert memory.losses.shape == (3, len(split.train))
    assert np.allclose(memory.weights, np.exp(-0.2 * memory.losses), atol=1e-5)


@pytest.mark.parametrize(("model", "denoiser"), [("gmf", "negative-feedback"), ("nmtr", "keep-all")])
def test_what_learns_from_flags_recommends_less_of_what_is_regretted(small_data, model, denoiser):
    data = small_data(60, 40)
    split = split_interactions(replace(data, false_positive=(data.items % 4 == 0).astype(np.int8)))
    quick = {"epochs": 20, "batch_size": 64, "learning_rate": 0.02, "select_by": "clean-ndcg@10"}
    fitted = [Recommender(*how, **quick).fit(split) for how in (("gmf", "keep-all"), (model, denoiser))]
    plain, told = (each.evaluate(split, [10]).overall["false_positives_recommended@10"] for each in fitted)
    assert told < 0.7 * plain


def test_scores_are_offset_without_training_and_back_again(fitted, split):
    before = fitted.recommend(k=5)
    fitted.offset_scores(popularity=1000.0)
    top = fitted.recommend(k=1, exclude_seen=False)["item"]
    counts = split.train.item_counts()
    assert set(top) <= {split.train.item_ids[int(item)] for item in np.flatnonzero(counts == counts.max())}
    assert fitted.offset_scores().recommend(k=5).equals(before)


def test_an_offset_is_saved_and_comes_back(fitted, split, tmp_path):
    rng = np.random.default_rng(0)
    shapes = (split.train.n_users, split.train.n_items, (split.train.n_users, 2), (split.train.n_items, 2))
    noise = PairNoise(PairScores(*(rng.normal(0, 1, shape).astype(np.float32) for shape in shapes)))
    fitted.offset_scores(popularity=0.5, noise=noise).save(tmp_path / "run")
    back = Recommender.load(tmp_path / "run")
    assert back.recommend(k=5).equals(fitted.recommend(k=5))
    fitted.offset_scores()
    (tmp_path / "run" / "offset.safetensors").write_bytes(b"broken")
    with pytest.raises(RunError, match="damaged"):
        Recommender.load(tmp_path / "run")


def test_what_auto_chose_is_saved_and_comes_back(split, tmp_path):
    auto = Recommender("gmf", "auto", denoiser_options={"labels": 0}, **QUICK).fit(split)
    auto.save(tmp_path / "run")
    back = Recommender.load(tmp_path / "run")
    assert back.choice == auto.choice
    assert back.recommend(k=5).equals(auto.recommend(k=5))


@pytest.mark.parametrize(
    "settings",
    [{"candidates": ["ease", "itemknn"], "trials": 2}, {"model": "ease", "final": True}],
    ids=["auto", "named"],
)
def test_an_offset_holds_for_what_was_fitted_on_the_whole_log_and_survives_saving(split, tmp_path, settings):
    fitted = Recommender(**settings).fit(split)
    before = fitted.recommend(k=5)
    fitted.offset_scores(popularity=1000.0).save(tmp_path / "run")
    with_offset = fitted.recommend(k=5)
    assert not with_offset.equals(before)
    back = Recommender.load(tmp_path / "run")
    assert back.recommend(k=5).equals(with_offset)
    assert back.offset_scores().recommend(k=5).equals(before)
    back.save(tmp_path / "again")
    assert Recommender.load(tmp_path / "again").recommend(k=5).equals(before)


def test_auto_knows_its_options():
    with pytest.raises(ConfigError, match="did you mean 'labels'"):
        Recommender("gmf", denoiser="auto", denoiser_options={"label": 0.5})


def test_a_validation_of_some_users_is_of_the_same_ones_each_time(split):
    fitted = [Recommender("gmf", epochs=2, validation_users=3).fit(split) for _ in range(2)]
    assert [event.score for event in fitted[0].validations] == [event.score for event in fitted[1].validations]
    everybody = Recommender("gmf", epochs=2).fit(split)
    assert fitted[0].validations[0].score != everybody.validations[0].score


@pytest.fixture
def saved(split, tmp_path):
    Recommender("popularity").fit(split).save(tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("name", ["config.toml", "metrics.json", "history.parquet", "model.safetensors",
                                  "ids.parquet", "interactions.parquet", "manifest.json"])  # fmt: skip
def test_a_run_with_a_changed_file_is_refused_in_one_line(saved, name):
    content = bytearray((saved / name).read_bytes())
    content[len(content) // 2] ^= 1
    (saved / name).write_bytes(bytes(content))
    with pytest.raises(RunError, match="damaged") as error:
        Recommender.load(saved)
    assert "\n" not in str(error.value)


def test_a_run_to_which_a_file_was_added_or_from_which_one_is_gone_is_refused(saved):
    (saved / "final.safetensors").write_bytes((saved / "model.safetensors").read_bytes())
    with pytest.raises(RunError, match=r"final.safetensors was added"):
        Recommender.load(saved)
    (saved / "final.safetensors").unlink()
    (saved / "history.parquet").unlink()
    with pytest.raises(RunError, match=r"history.parquet was removed"):
        Recommender.load(saved)


def test_a_run_under_way_has_no_manifest_and_is_not_opened(saved):
    (saved / "manifest.json").unlink()
    with pytest.raises(RunError, match="has not finished: continue with the same command and --resume"):
        Recommender.load(saved)


def test_a_folder_of_version_0_1_opens_with_a_warning(split, tmp_path, caplog):
    saved = tmp_path / "run"
    Recommender("gmf", epochs=1).fit(split).save(saved)
    (saved / "manifest.json").unlink()
    config = (saved / "config.toml").read_text()
    gone = "shard_tables = true\ntable_learning_rate = 0.05\n"  # settings of version 0.1: an engine now
    config = config.replace("format = 2\n", "").replace("[settings]\n", "[settings]\n" + gone)
    (saved / "config.toml").write_text(config)
    assert Recommender.load(saved).settings.engine == "torchrec"
    assert "written by version 0.1" in caplog.text


def test_brackets_in_the_name_of_a_run_are_no_pattern(split, tmp_path):
    Recommender("popularity").fit(split).save(tmp_path / "x[1]")
    assert len(Recommender.load(tmp_path / "x[1]").recommend(k=1))


def test_every_setting_is_a_keyword_and_no_default_is_said_twice():
    import inspect

    from recsieve.settings import Settings

    parameters = dict(inspect.signature(Recommender).parameters)
    assert set(parameters) == set(Settings.model_fields)
    assert {parameter.default for parameter in parameters.values()} == {None}
    assert Recommender().settings == Settings()


@pytest.mark.parametrize("model", [EASE(l2=3.0), GMF])
def test_a_model_can_be_given_as_an_object_and_its_run_comes_back(split, tmp_path, model):
    recommender = Recommender(model, **QUICK).fit(split)
    named = "ease" if isinstance(model, EASE) else "gmf"
    assert recommender.settings.model == named
    recommender.save(tmp_path / "run")
    assert Recommender.load(tmp_path / "run").recommend(k=2).equals(recommender.recommend(k=2))


def test_a_model_of_the_users_own_is_fitted_and_its_run_says_that_it_has_no_name(split, tmp_path):
    class Mine(GMF):
        pass

    recommender = Recommender(Mine, model_options={"factors": 4}, **QUICK).fit(split)
    assert recommender.trained().user.weight.shape == (split.train.n_users, 4)
    recommender.save(tmp_path / "run")
    with pytest.raises(RunError, match="without a registered name"):
        Recommender.load(tmp_path / "run")


def test_a_model_that_was_given_as_an_object_keeps_its_options_in_a_choice(split):
    chosen = Recommender(EASE(l2=3.0), "auto", denoiser_options={"labels": 0}, final=False).fit(split)
    assert [spec.model_options["l2"] for spec in chosen.choice.chosen.candidate.specs] == [3.0]
    named = Recommender("ease", model_options={"l2": 3.0}).fit(split)
    assert torch.equal(chosen.trained().scorers[0].weights, named.trained().weights)


def test_options_beside_a_model_that_has_its_own_are_refused():
    with pytest.raises(ConfigError, match="give them to EASE"):
        Recommender(EASE(l2=3.0), model_options={"l2": 4.0})


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow])
def test_a_data_frame_is_fitted_with_columns_guessed_or_given(small_data, convert):
    frame = small_data().to_frame().select("user", "item")
    guessed = Recommender("ease").fit(convert(frame))
    named = Recommender("ease").fit(convert(frame.rename({"user": "who", "item": "what"})), user="who", item="what")
    assert guessed.recommend(k=2).equals(named.recommend(k=2))


def test_columns_are_not_for_interactions(small_data):
    with pytest.raises(ConfigError, match="data frame or file"):
        Recommender("ease").fit(small_data(), user="who")


def test_fitting_twice_starts_anew(split):
    recommender = Recommender("gmf", **QUICK).fit(split)
    first = recommender.validations, recommender.recommend(k=3)
    recommender.fit(split)
    assert recommender.validations == first[0]
    assert recommender.recommend(k=3).equals(first[1])


def test_a_recommender_and_an_evaluation_are_shown_in_notebooks(fitted, split):
    assert "<td>truncated</td>" in fitted._repr_html_()
    assert "<th>@5</th>" in fitted.evaluate(split, [5])._repr_html_()


@pytest.mark.parametrize("model", ["ease", "gmf"])
def test_a_named_model_is_fitted_again_with_validation_and_on_the_whole_log_if_asked_for(split, tmp_path, model):
    settings = {"epochs": 2, "batch_size": 64, "select_by": "ndcg@5", "final": True}
    recommender = Recommender(model, **settings).fit(split)
    assert recommender.fitted_on == "validated"
    recommender.save(tmp_path / "run")
    loaded = Recommender.load(tmp_path / "run")
    assert loaded.evaluate(ks=[5]).overall == recommender.evaluate(ks=[5]).overall
    assert loaded.recommend(k=3).equals(recommender.recommend(k=3))
    alone = Recommender(model, **settings | {"final": False}).fit(split)
    assert not alone.recommend(k=3).equals(recommender.recommend(k=3))
