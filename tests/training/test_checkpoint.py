import pytest
import torch

from recsieve.errors import RunError
from recsieve.training.checkpoint import load_checkpoint, save_checkpoint

STATE = {
    "step": 3,
    "score": float("-inf"),
    "nested": {0: {"a": torch.arange(3), "b": torch.zeros(())}, "list": [1.5, None, torch.ones(2, dtype=torch.int32)]},
    "empty": {},
}


def test_a_nested_state_comes_back_as_it_was(tmp_path):
    save_checkpoint(tmp_path / "c", STATE)
    back = load_checkpoint(tmp_path / "c")
    assert back["step"] == 3
    assert back["score"] == float("-inf")
    assert torch.equal(back["nested"][0]["a"], torch.arange(3))
    assert back["nested"]["list"][:2] == [1.5, None]
    assert back["nested"]["list"][2].dtype == torch.int32
    assert back["empty"] == {}


def test_a_write_that_fails_leaves_the_old_checkpoint(tmp_path):
    save_checkpoint(tmp_path / "c", STATE)
    with pytest.raises(TypeError):
        save_checkpoint(tmp_path / "c", {"no": object()})
    assert load_checkpoint(tmp_path / "c")["step"] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize("content", [b"", b"rubbish", b"\x80\x04K\x01."])
def test_a_damaged_or_foreign_file_is_one_clear_line(tmp_path, content):
    (tmp_path / "c").write_bytes(content)
    with pytest.raises(RunError, match="is damaged or not a checkpoint of recsieve"):
        load_checkpoint(tmp_path / "c")


def test_a_cut_off_file_is_one_clear_line(tmp_path):
    save_checkpoint(tmp_path / "c", STATE)
    whole = (tmp_path / "c").read_bytes()
    (tmp_path / "c").write_bytes(whole[: len(whole) - 4])
    with pytest.raises(RunError, match="damaged"):
        load_checkpoint(tmp_path / "c")


def test_a_missing_checkpoint_says_what_to_do(tmp_path):
    with pytest.raises(RunError, match="there is no checkpoint"):
        load_checkpoint(tmp_path / "c")
