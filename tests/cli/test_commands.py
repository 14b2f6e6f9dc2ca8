import json
import shlex
import sqlite3
from contextlib import closing

import polars as pl
import pytest

from recsieve.storage.run_folder import RunFolder

TRAIN = ("--model", "gmf", "--epochs", 2, "--batch-size", 64)


@pytest.mark.parametrize(
    "command", ["demo", "train", "evaluate", "recommend", "compare", "tune", "describe", "simulate"]
)
def test_every_command_explains_itself(recsieve, command):
    answer = recsieve(command, "--help")
    assert answer.code == 0
    assert "Usage" in answer.out


@pytest.mark.parametrize("model", ["gmf", "neumf", "cdae"])
@pytest.mark.parametrize("denoiser", ["keep-all", "truncated", "reweighted"])
def test_a_log_becomes_a_run_folder_and_own_ids_come_back(recsieve, log, columns, tmp_path, model, denoiser):
    run = tmp_path / "run"
    options = ("--model", model, "--denoiser", denoiser, "--out", run)
    answer = recsieve("train", log, *columns, *TRAIN, *options)
    assert answer.code == 0, answer.err
    for name in ("config.toml", "metrics.json", "history.parquet", "model.safetensors", "ids.parquet", "report.html"):
        assert (run / name).exists()
    metrics = json.loads(recsieve("evaluate", run, "--json", "--k", 5).out)
    assert metrics["recall@5"] == RunFolder(run).read_metrics()["test"]["recall@5"]
    lists = json.loads(recsieve("recommend", run, "--user", "Zoë 3", "--k", 4, "--json").out)
    assert [row["rank"] for row in lists] == [1, 2, 3, 4]
    assert all(row["user"] == "Zoë 3" and row["item"].startswith("книга-") for row in lists)


def test_recommendations_hold_nothing_the_user_has_unless_asked(recsieve, run_folder, log):
    out = run_folder / "lists.parquet"
    assert recsieve("recommend", run_folder, "--k", 30, "--out", out).code == 0
    split = RunFolder(run_folder).read_split()
    seen = pl.concat([split.train.to_frame(), split.validation.to_frame()]).select("user", "item")
    assert pl.read_parquet(out).join(seen, on=["user", "item"], how="semi").height == 0
    assert recsieve("recommend", run_folder, "--k", 30, "--include-seen", "--out", out).code == 0
    assert pl.read_parquet(out).join(seen, on=["user", "item"], how="semi").height == seen.height


def test_lists_of_everybody_are_written_to_a_folder_and_gone_on_with(recsieve, run_folder, tmp_path):
    answer = recsieve("recommend", run_folder, "--k", 3, "--out", tmp_path / "lists")
    assert "lists of 40 users, Parquet parts: 1" in answer.out
    again = recsieve("recommend", run_folder, "--k", 3, "--out", tmp_path / "lists")
    assert (again.code, again.out) == (0, answer.out)
    whole = tmp_path / "whole.parquet"
    assert recsieve("recommend", run_folder, "--k", 3, "--out", whole).code == 0
    assert pl.read_parquet(tmp_path / "lists" / "*.parquet").equals(pl.read_parquet(whole))


def test_unknown_users_get_popular_items_if_asked_and_marked_as_such(recsieve, run_folder):
    answer = recsieve("recommend", run_folder, "--user", "nobody", "--unknown", "popular", "--k", 2, "--json")
    rows = json.loads(answer.out)
    assert [row["popular"] for row in rows] == [True, True]
    assert [row["score"] for row in rows] == [None, None]


def test_the_same_seed_gives_the_same_weights(recsieve, log, columns, tmp_path):
    for name in ("a", "b"):
        recsieve("train", log, *columns, "--seed", 7, "--out", tmp_path / name, *TRAIN)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "b")]
    assert weights[0] == weights[1]


def test_describe_counts_as_table_2_does(recsieve, log, columns):
    facts = json.loads(recsieve("describe", log, *columns, "--json").out)
    frame = pl.read_csv(log)
    assert facts["users"] == frame["customer"].n_unique()
    assert facts["items"] == frame["product"].n_unique()
    assert facts["interactions"] == frame.height
    assert facts["false_positives"] == (frame["rating"] < 3).sum()


def test_a_rule_over_events_is_not_unmarked_by_merging_and_what_merging_did_is_told(recsieve, tmp_path, caplog):
    path = tmp_path / "events.csv"
    path.write_text("user,item,event\na,x,buy\na,x,return\na,y,buy\nb,x,buy\n", encoding="utf-8")
    words = ("describe", path, "--false-positive", "event = 'return'", "--json")
    assert json.loads(recsieve(*words).out)["false_positives"] == 1
    assert "1 rows marked as noise became 1 noisy pairs" in caplog.text
    assert json.loads(recsieve(*words, "--repeats", "all").out)["false_positives"] == 0
    assert "none of the 1 rows marked as noise is left" in caplog.text
    refused = recsieve(*words, "--repeats", "most")
    assert (refused.code, refused.err.count("\n")) == (2, 1)


def test_a_ramp_longer_than_the_run_is_warned_about(recsieve, log, columns, tmp_path, caplog):
    recsieve(
        "train", log, *columns, "--denoiser", "truncated", "--ramp-steps", 99999, "--out", tmp_path / "run", *TRAIN
    )
    assert "never reaches its maximum" in caplog.text


def test_simulated_data_can_be_trained_on(recsieve, tmp_path):
    answer = recsieve("simulate", "--like", "yelp", "--scale", 0.005, "--out", tmp_path / "yelp")
    assert answer.code == 0, answer.err
    facts = json.loads(
        recsieve("describe", tmp_path / "yelp" / "train.parquet", "--false-positive", "rating < 3", "--json").out
    )
    assert (facts["users"], facts["interactions"]) == (228, 8363)
    answer = recsieve("train", tmp_path / "yelp", "--false-positive", "rating < 3", "--out", tmp_path / "run", *TRAIN)
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("command", ["train", "compare", "tune", "describe"])
def test_every_command_that_reads_a_log_has_the_options_for_its_columns(recsieve, command):
    told = recsieve(command, "--help").out
    for option in ("--user", "--item", "--false-positive", "--time", "--weight", "--no-header"):
        assert option in told


def test_defaults_in_brackets_are_told_and_not_taken_for_colours(recsieve):
    assert "[runs/compare-DATA]" in recsieve("compare", "--help").out


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "gmf", "--denoiser", "negative-feedback", "--false-positive-weight", 0.3, "--negative-weight", 0.9),
        ("--model", "nmtr", "--denoiser", "keep-all", "--satisfaction-share", 0.7, "--cascade", "probability"),
    ],
)
def test_what_learns_from_regret_is_trained_and_read_back_with_its_options(recsieve, log, columns, tmp_path, options):
    assert recsieve("train", log, *columns, "--epochs", 1, "--out", tmp_path / "run", *options).code == 0
    assert recsieve("evaluate", tmp_path / "run").code == 0
    without_rule = recsieve("train", log, *columns[:4], "--epochs", 1, "--out", tmp_path / "other", *options)
    assert (without_rule.code, without_rule.err.count("\n")) == (2, 1)
    assert "give a rule for false positives" in without_rule.err


def test_describe_proposes_a_command_that_runs(recsieve, tmp_path):
    rows = [f"u{n % 7};sku {n % 9};{('view', 'purchase', 'return')[n % 3]};2024-03-{n % 28 + 1:02}" for n in range(60)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["cust_no;sku_code;event;created_at", *rows]), encoding="utf-8")
    facts = json.loads(recsieve("describe", path, "--json").out)
    assert facts["users"] == 7
    assert [column["role"] for column in facts["columns"]] == ["user", "item", "", "time"]
    program, command, *words = shlex.split(facts["command"])
    assert (program, command) == ("recsieve", "train")
    assert "event in ('purchase')" in words
    again = json.loads(recsieve("describe", *words, "--json").out)
    assert again["command"] == facts["command"]
    assert again["users"] == 7
    assert "next:" in recsieve("describe", path).out


def test_describe_says_which_file_became_which_part(recsieve, tmp_path):
    for number, name in enumerate(("train.csv", "training_old.csv", "test.csv")):
        (tmp_path / name).write_text(f"user,item\na,{number}\n", encoding="utf-8")
    told = json.loads(recsieve("describe", tmp_path, "--json").out)
    assert told["parts"] == {"train": ["train.csv", "training_old.csv"], "test": ["test.csv"]}
    answer = recsieve("describe", tmp_path)
    assert "- train: train.csv, training_old.csv." in answer.out
    assert "- test: test.csv." in answer.out


def test_describe_shows_the_columns_of_a_log_that_it_does_not_recognise(recsieve, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("Kunde,Artikel\nAnn,Tee\n", encoding="utf-8")
    answer = recsieve("describe", path)
    assert answer.code == 2
    assert "give --user" in answer.err
    assert all(word in answer.out for word in ("Kunde", "Artikel", "Ann", "Tee"))


def test_a_database_is_asked_by_a_query(recsieve, tmp_path):
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as database:
        database.execute("CREATE TABLE orders (customer, product, stars)")
        database.executemany("INSERT INTO orders VALUES (?, ?, ?)", [("a", 1, 5), ("b", 2, 1)])
        database.commit()
    words = ("--query", "select customer, product, stars from orders", "--false-positive", "stars < 3", "--json")
    assert json.loads(recsieve("describe", tmp_path / "shop.sqlite", *words).out)["false_positives"] == 1
    refused = recsieve("describe", tmp_path / "shop.sqlite", "--query", "drop table orders")
    assert refused.code == 2
    assert "one SELECT" in refused.err or "give one, and nothing else" in refused.err
