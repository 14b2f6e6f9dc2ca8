"""What a user can get wrong is one line on standard error and exit code 2, and nothing is damaged."""

import errno
import json
import socket
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from safetensors.torch import load_file, save_file

from recsieve import cli
from recsieve.errors import Interrupted
from recsieve.storage.run_folder import RunFolder


def refused(answer, *words):
    assert answer.code == 2, answer.err
    *before, line = [line for line in answer.err.splitlines() if line.strip()]
    assert line.startswith("error: ")
    assert all("steps" in shown for shown in before), answer.err  # the bar, if training had begun
    assert "Traceback" not in answer.err
    for word in words:
        assert word in answer.err
    return True


def vouch_for(folder):
    """Write a manifest of the files as they are now, as somebody with bad intentions might."""
    run = RunFolder(folder)
    run.write_metrics(run.read_metrics())


@pytest.fixture
def write(tmp_path):
    def file(text, name="log.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return file


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", (), ("empty",)),
        ("user,item\n", (), ()),
        ("user,item\na,b\n", ("--user", "usr"), ("did you mean 'user'",)),
        ("user,item,rating\na,b,3\n", ("--false-positive", "ratin < 3"), ("did you mean 'rating'",)),
        ("user,item,rating\na,b,1\nc,d,2\n", ("--false-positive", "rating < 3"), ()),
        ("user,item,rating\na,b,3\n", ("--false-positive", "__import__('os').system('x')"), ()),
        ("user,item\na,\nb,c\n", (), ()),
        ("user,item,w\na,x,-1\nb,y,2\n", ("--weight", "w"), ()),
        ("user,item,w\na,x,nan\nb,y,2\n", ("--weight", "w"), ()),
        ("user,item\na,x\nb,y\n", ("--split", "time"), ("time",)),
        ("user,item\na,x\nb,y\n", ("--split", "tme"), ("did you mean 'time'",)),
        ("user,item\na,x\nb,y\n", ("--k-core", 3), ()),
        ("user,item\na,x\nb,y\n", ("--model", "gmff"), ("did you mean 'gmf'",)),
        ("user,item\na,x\nb,y\n", ("--denoiser", "trunc"), ("truncated",)),
        ("user,item\na,x\nb,y\n", ("--beta", 1), ("no option 'beta'",)),
        ("user,item\na,x\nb,y\n", ("--denoiser", "truncated", "--max-drop-rate", 1.5), ("max_drop_rate is 1.5",)),
        ("user,item\na,x\nb,y\n", ("--denoiser", "truncated", "--drop-positives", 1.5), ("drop_positives is 1.5",)),
        ("user,item\na,x\nb,y\n", ("--select-by", "accuracy"), ("select_by",)),
        ("user,item\na,x\nb,y\n", ("--learning-rate", -1), ("learning_rate",)),
        ("user,item\na,x\nb,y\n", ("--corruption", 0.5), ("no option 'corruption'",)),
        (
            "user,item\na,x\nb,y\n",
            ("--denoiser", "truncated", "--drop-positives", 0.1, "--max-drop-rate", 0.1),
            ("both",),
        ),
        ("user,item\na,x\nb,y\n", ("--model", "ease", "--factors", 8), ("no option 'factors'",)),
        ("user,item\na,x\nb,y\n", ("--model", "ease", "--objective", "bpr"), ("its own objective",)),
        ("user,item\na,x\nb,y\n", ("--model", "ease", "--denoiser", "truncated"), ("does not work with ease",)),
        ("user,item\na,x\nb,y\n", ("--temperature", 0.2), ("no option 'temperature'",)),
        ("user,item\na,x\nb,y\n", ("--objective", "softmax", "--temperature", 0), ("temperature is 0",)),
        ("user,item\na,x\nb,y\n", ("--option", "beta"), ("give a name and a value",)),
        ("user,item\na,x\nb,y\n", ("--option", "colour=red"), ("no option 'colour'",)),
        ("user,item\na,x\nb,y\n", ("--epochs", 0), ("epochs is 0",)),
        ("user,item\na,x\nb,y\n", ("--model", "auto", "--denoiser", "truncated"), ("no model is named",)),
        ("user,item\na,x\nb,y\n", ("--model", "auto", "--factors", 8), ("no option 'factors'",)),
        ("user,item\na,x\nb,y\n", ("--model", "auto", "--candidates", "eas"), ("did you mean 'ease'",)),
        ("user,item\na,x\nb,y\n", ("--model", "auto", "--budget", "soon"), ("budget",)),
    ],
)
def test_training_refuses_in_one_line(recsieve, write, tmp_path, text, options, words):
    assert refused(recsieve("train", write(text), "--model", "gmf", "--out", tmp_path / "run", *options), *words)
    assert not (tmp_path / "run" / "metrics.json").exists()


def test_a_log_that_is_too_small_for_a_choice_asks_for_the_name_of_a_model(recsieve, write, tmp_path):
    answer = recsieve("train", write("user,item\na,x\nb,y\n"), "--out", tmp_path / "run")
    assert refused(answer, "there is none: give some, or name a model")
    assert not (tmp_path / "run").exists()


def test_a_missing_file_is_named(recsieve, tmp_path):
    assert refused(recsieve("train", tmp_path / "nothing.csv"), "nothing.csv")


@pytest.mark.parametrize(
    "text",
    [
        "user,item\na,x\n",  # one line
        "user,item\na,x\na,y\na,z\na,w\n",  # one user
        "user,item\na,x\nb,x\nc,x\n",  # one item: every user has every item
        "user,item\na,x\na,x\na,x\nb,y\n",  # repeated rows
        f"user,item\n{'ä' * 5000},x\nb,{'漢' * 5000}\n",  # huge and non-ASCII ids
    ],
)
def test_strange_but_possible_data_is_trained_on(recsieve, write, tmp_path, text):
    answer = recsieve("train", write(text), "--model", "gmf", "--epochs", 1, "--out", tmp_path / "run")
    assert answer.code == 0, answer.err
    assert recsieve("recommend", tmp_path / "run").code == 0


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("train", ("--model", "gmf", "--denoiser", "truncated", "--drop-positives", 1.5)),
        ("train", ("--beta", 0.1)),
        ("train", ("--budget", "0s")),
        ("train", ("--model", "cdae", "--corruption", 2)),
        ("train", ("--model", "cdae", "--activation", "step")),
        ("train", ("--select-by", "clean-ndcg@5")),
        ("train", ("--select-by", "ndcg@²")),
        ("train", ("--model", "gmf", "--denoiser", "negative-feedback")),
        ("train", ("--model", "nmtr")),
        ("train", ("--log", "tensorbord")),
        ("train", ("--time", "nothing")),
        ("train", ("--model", "lightgcn", "--engine", "fused")),
        ("train", ("--model", "mf", "--objective", "hinge", "--engine", "fused")),
        ("train", ("--model", "gmf", "--batch-size", 1)),
        ("train", ("--model", "ease", "--select-by", "validation-loss")),
        ("train", ("--model", "ease", "--l2", 1e308)),
        ("train", ("--model", "ials", "--l2", 1e-300)),
        ("compare", ("--models", "lightgcn", "--engine", "fused")),
        ("compare", ("--batch-size", 4, "--negatives", 4)),
        ("tune", ("--batch-size", 1)),
        ("tune", ("--model", "ease", "--select-by", "own-loss")),
        ("compare", ("--select-by", "clean-ndcg@5")),
        ("compare", ("--strategies", "keep-all,negative-feedback")),
        ("compare", ("--noise", "disliked:0.1", "--seeds", 2)),
        ("tune", ("--select-by", "clean-ndcg@5")),
        ("tune", ("--strategies", "negative-feedback")),
        ("audit", ("--threshold", 0.5)),
        ("audit", ("--user", "nothing")),
        ("audit", ("--evidence", "nothing")),
    ],
)
def test_a_bad_option_leaves_nothing_behind(recsieve, log, tmp_path, command, options):
    known = () if "--user" in options else ("--user", "customer")
    assert refused(recsieve(command, log, *known, "--item", "product", *options, "--out", tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("host", ["no such host", "a" * 80, "::1%nothing"])
def test_an_address_that_is_none_is_one_line(recsieve, run_folder, host):
    assert refused(recsieve("serve", run_folder, "--host", host, "--token", "x" * 40), "--host")


def test_a_port_that_is_taken_is_one_line(recsieve, run_folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert refused(recsieve("serve", run_folder, "--port", taken.getsockname()[1]), "--port")


def test_nmtr_and_pairs_do_not_go_together_and_leave_nothing_behind(recsieve, log, columns, tmp_path):
    out = ("--objective", "bpr", "--out", tmp_path / "out")
    assert refused(recsieve("train", log, *columns, "--model", "nmtr", *out), "pointwise")
    assert refused(recsieve("tune", log, *columns, "--model", "nmtr", *out), "pointwise")
    assert not (tmp_path / "out").exists()


def test_what_a_log_holds_breaks_no_line_and_commands_no_terminal(recsieve, tmp_path):
    rows = pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "time": ["\x1b[31m\nerror: gone\x00"] * 2})
    rows.write_parquet(tmp_path / "log.parquet")
    words = ("--time", "time", "--model", "popularity", "--out", tmp_path / "run")
    answer = recsieve("train", tmp_path / "log.parquet", *words)
    assert refused(answer, r"\x1b[31m\nerror: gone\x00")
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize("value", [b"\xff\x00", timedelta(1), float("nan"), float("inf"), [1, 2], None])
def test_a_column_of_anything_is_described(recsieve, tmp_path, value):
    users, items = [f"u{n % 4}" for n in range(12)], [f"i{n % 3}" for n in range(12)]
    pl.DataFrame({"user": users, "item": items, "rating": [value] * 12}).write_parquet(tmp_path / "log.parquet")
    answer = recsieve("describe", tmp_path / "log.parquet")
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("command", ["train", "audit"])
def test_names_may_have_brackets_and_stars(recsieve, log, columns, tmp_path, command):
    """Pages too: they are made from files that are found by name."""
    model = ("--model", "popularity") if command == "train" else ()
    out = tmp_path / "a[1]*?"
    answer = recsieve(command, log, *columns, *model, "--out", out)
    assert answer.code == 0, answer.err
    assert list(out.glob("*.html"))


def test_a_run_without_any_training_does_not_block_the_next(recsieve, log, columns, tmp_path, monkeypatch):
    from recsieve.recommender import Recommender

    def fail(self, *given, **named):
        raise OSError("no memory for it")

    train = ("train", log, *columns, "--model", "gmf", "--epochs", 1, "--out", tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.setattr(Recommender, "fit", fail)
        assert refused(recsieve(*train), "no memory")
    assert (tmp_path / "run" / "config.toml").exists()
    assert recsieve(*train, "--seed", 1).code == 0


def test_what_cannot_be_measured_is_said_and_no_step_is_shown_as_a_score(recsieve, write, tmp_path, caplog):
    answer = recsieve("train", write("user,item\na,x\n"), "--model", "gmf", "--epochs", 3, "--out", tmp_path / "run")
    assert answer.code == 0
    assert "no validation data" in caplog.text
    assert "best" not in answer.err
    assert "The test part is empty" in answer.out
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["selected"]["score"] is None
    assert recsieve("recommend", tmp_path / "run").code == 0


def test_a_second_training_does_not_touch_the_first(recsieve, run_folder, log, columns):
    before = {path: path.read_bytes() for path in run_folder.rglob("*") if path.is_file()}
    again = recsieve("train", log, *columns, "--model", "gmf", "--epochs", 2, "--out", run_folder)
    assert refused(again, "already holds a run")
    assert before == {path: path.read_bytes() for path in run_folder.rglob("*") if path.is_file()}


def test_a_folder_of_something_else_is_not_written_into(recsieve, log, columns, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("three years")
    assert refused(recsieve("train", log, *columns, "--out", tmp_path / "mine"), "not a run of recsieve")
    assert refused(recsieve("train", log, *columns, "--out", tmp_path / "mine", "--resume"), "not a run of recsieve")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_a_file_in_the_place_of_the_run_folder_is_left_alone(recsieve, log, columns, tmp_path):
    (tmp_path / "run").write_text("mine")
    assert refused(recsieve("train", log, *columns, "--out", tmp_path / "run"), "is a file")


def test_an_unwritable_folder_is_one_line(recsieve, log, columns):
    assert refused(recsieve("train", log, *columns, "--epochs", 1, "--out", "/proc/nowhere/run"))


def test_resuming_with_other_settings_or_data_is_refused(recsieve, run_folder, log, columns, tmp_path):
    (run_folder / "manifest.json").unlink()
    changed = tmp_path / "other.csv"
    changed.write_text("\n".join(log.read_text().splitlines()[:-1]))
    resume = ("--model", "gmf", "--out", run_folder, "--resume", "--epochs", 2)
    assert refused(recsieve("train", log, *columns, *resume, "--seed", 5), "seed = 0")
    assert refused(recsieve("train", changed, *columns, *resume), "data has changed")


@pytest.mark.parametrize("command", ["evaluate", "recommend"])
def test_what_is_no_run_folder_is_said_to_be_none(recsieve, tmp_path, command):
    assert refused(recsieve(command, tmp_path / "none"), "not a run of recsieve")
    assert refused(recsieve(command, tmp_path), "not a run of recsieve")


@pytest.mark.parametrize("name", ["config.toml", "model.safetensors", "ids.parquet", "interactions.parquet"])
@pytest.mark.parametrize("content", [b"", b"rubbish \xff\xfe", None])
def test_a_damaged_run_is_one_line(recsieve, run_folder, tmp_path, name, content):
    if content is None:
        (run_folder / name).unlink()
    else:
        (run_folder / name).write_bytes(content)
    assert refused(recsieve("recommend", run_folder))
    vouch_for(run_folder)
    assert refused(recsieve("recommend", run_folder))


def test_a_finished_run_that_is_damaged_is_not_said_to_have_nothing_left_to_do(recsieve, run_folder, log, columns):
    resume = ("train", log, *columns, "--model", "gmf", "--epochs", 2, "--out", run_folder, "--resume")
    assert recsieve(*resume).code == 0
    with (run_folder / "model.safetensors").open("r+b") as file:
        file.truncate(1000)
    assert refused(recsieve(*resume), "model.safetensors is damaged, it has changed since it was written")


def test_a_model_that_does_not_fit_its_configuration_is_one_line(recsieve, run_folder):
    text = (run_folder / "config.toml").read_text()
    (run_folder / "config.toml").write_text(text.replace('model = "gmf"', 'model = "neumf"'))
    assert refused(recsieve("evaluate", run_folder), "config.toml is damaged, it has changed since it was written")
    vouch_for(run_folder)
    assert refused(recsieve("evaluate", run_folder), "does not fit")


def test_a_training_that_diverges_is_one_line_and_what_was_kept_before_it_can_be_used(
    recsieve, log, columns, tmp_path, monkeypatch
):
    from recsieve.training import GradientFitting

    def in_the_third_epoch(self, reduced):
        if self.step > 2 * self.steps_per_epoch:
            raise self._diverged(self.step, float("nan"))

    monkeypatch.setattr(GradientFitting, "_check_finite", in_the_third_epoch)
    train = ("train", log, *columns, "--model", "gmf", "--epochs", 5, "--out", tmp_path / "run")
    assert refused(recsieve(*train), "diverged at step", "smaller learning rate")
    assert "diverged" in json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert recsieve("recommend", tmp_path / "run").code == 0
    assert refused(recsieve(*train, "--resume"), "diverged")


def test_weights_that_are_no_numbers_are_refused(recsieve, run_folder):
    weights = load_file(run_folder / "model.safetensors")
    weights["item.weight"][3, 2] = float("nan")
    save_file(weights, run_folder / "model.safetensors")
    vouch_for(run_folder)
    assert refused(recsieve("recommend", run_folder), "item.weight holds NaN or infinity")


def test_a_run_that_was_killed_says_how_to_go_on(recsieve, run_folder):
    for name in ("model.safetensors", "metrics.json", "manifest.json"):
        (run_folder / name).unlink()
    assert refused(recsieve("evaluate", run_folder), "--resume")


def test_unknown_users_are_named(recsieve, run_folder):
    assert refused(recsieve("recommend", run_folder, "--user", "nobody"), "nobody")


def test_lists_can_only_be_written_in_a_known_format_or_to_a_folder_of_their_own(recsieve, run_folder, tmp_path):
    assert refused(recsieve("recommend", run_folder, "--out", "lists.xlsx"), ".parquet or .csv")
    assert refused(recsieve("recommend", run_folder, "--user", "Zoë 3", "--out", tmp_path / "lists"), "all users")
    assert refused(recsieve("recommend", run_folder, "--out", run_folder), "not lists of recsieve")


def test_simulation_refuses_in_one_line(recsieve, tmp_path, run_folder):
    assert refused(recsieve("simulate", "--like", "yelpp", "--out", tmp_path / "w"), "did you mean 'yelp'")
    assert refused(recsieve("simulate", "--like", "yelp", "--scale", -1, "--out", tmp_path / "w"), "scale")
    assert refused(recsieve("simulate", "--out", run_folder))


def test_an_option_that_does_not_exist_is_exit_code_2(recsieve, log):
    assert recsieve("train", log, "--colour", "red").code == 2


def test_a_read_only_disk_is_named_with_the_file_that_was_asked_for(recsieve, run_folder, tmp_path, monkeypatch):
    def refuse(path, *_, **__):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "touch", refuse)
    out = tmp_path / "lists.csv"
    told = f"error: {out} cannot be written, because its disk is read-only: give another place, e.g. with --out.\n"
    assert recsieve("recommend", run_folder, "--out", out).err == told


def test_a_folder_in_a_file_is_refused_with_advice(recsieve, log, columns, run_folder):
    inside = log / "x"
    answer = recsieve("train", log, *columns, "--model", "popularity", "--out", inside)
    assert refused(answer, f"{inside} is in no folder, because a part of this path is a file", "--out")
    answer = recsieve("recommend", run_folder, "--out", log / "lists.csv")
    assert refused(answer, f"{log} is a file, but a folder is needed there", "--out")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("describe", "stopped; all files are intact.\n"),
        ("simulate", "stopped; all files are intact.\n"),
        ("compare", "stopped; all files are intact: run the same command again to continue.\n"),
        ("train", "stopped; all files are intact: run the same command again with --resume to continue.\n"),
        ("recommend", "lists that were written to a folder are kept: run the same command again to continue.\n"),
    ],
)
def test_after_a_stop_only_a_command_that_can_continue_says_so(recsieve, monkeypatch, command, words):
    def stopped():
        raise Interrupted

    monkeypatch.setattr(cli, "app", stopped)
    answer = recsieve(command)
    assert (answer.code, answer.err.endswith(words)) == (130, True)


def test_a_full_disk_is_one_line_and_the_last_checkpoint_is_whole(recsieve, log, columns, tmp_path, monkeypatch):
    from recsieve.storage import tensor_file
    from recsieve.training.checkpoint import load_checkpoint

    saved = tensor_file.save_file
    calls = []

    def full_on_the_third(tensors, path, metadata):
        calls.append(path)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        saved(tensors, path, metadata=metadata)

    monkeypatch.setattr(tensor_file, "save_file", full_on_the_third)
    run = tmp_path / "run"
    train = ("train", log, *columns, "--model", "gmf", "--epochs", 5, "--out", run)
    assert refused(recsieve(*train), "No space left")
    assert load_checkpoint(run / "checkpoint" / "state.safetensors")["step"] > 0
    assert recsieve(*train, "--resume").code == 0
