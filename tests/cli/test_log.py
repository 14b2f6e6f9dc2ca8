import pytest

from recsieve.experiments import tracking


def test_a_training_is_logged_by_one_flag(recsieve, log, columns, tmp_path):
    options = ("--model", "gmf", "--epochs", 1, "--batch-size", 64, "--out", tmp_path / "run", "--log", "tensorboard")
    answer = recsieve("train", log, *columns, *options)
    assert answer.code == 0, answer.err
    assert list((tmp_path / "tensorboard" / "run").glob("events*"))


@pytest.mark.parametrize("command", ["train", "compare"])
def test_a_library_that_is_missing_is_told_before_anything_is_trained(recsieve, log, tmp_path, monkeypatch, command):
    monkeypatch.setattr(tracking, "find_spec", lambda name: None)
    answer = recsieve(command, log, "--out", tmp_path / "out", "--log", "mlflow")
    assert answer.code == 2
    assert "pip install 'recsieve[mlflow]'" in answer.err
    assert not (tmp_path / "out").exists()
