import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file

from recsieve.communicator import Communicator
from recsieve.storage import tensor_file
from recsieve.storage.tensor_file import Share, read_share, write_tensors

WHOLE = torch.arange(7 * 3, dtype=torch.float32).view(7, 3)
OTHERS = {
    "bias": torch.tensor([1.5]),
    "steps": torch.arange(4),
    "none": torch.zeros(0, 2),
    "turned": torch.arange(6.0).view(2, 3).T,
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(tensor_file, "BLOCK_BYTES", 2 * 12)  # two rows of WHOLE


def write(path, n_ranks, in_ranks, whole=WHOLE):
    def write_share(group):
        write_tensors(path, {"table": Share(whole[group.share_of(len(whole))]), **OTHERS}, {"about": "it"}, group)

    in_ranks(n_ranks, write_share)


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 5])
def test_the_rows_of_all_ranks_are_one_table_to_any_reader(tmp_path, in_ranks, n_ranks):
    write(tmp_path / "file", n_ranks, in_ranks)
    found = load_file(tmp_path / "file")
    assert torch.equal(found.pop("table"), WHOLE)
    assert found.keys() == OTHERS.keys()
    assert all(torch.equal(found[name], OTHERS[name]) for name in OTHERS)
    with safe_open(tmp_path / "file", framework="pt") as file:
        assert file.metadata() == {"about": "it"}


def test_without_shares_the_file_is_the_same_to_any_reader(tmp_path):
    write_tensors(tmp_path / "file", OTHERS, {})
    found = load_file(tmp_path / "file")
    assert all(torch.equal(found[name], OTHERS[name]) for name in OTHERS)


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 5])
def test_each_of_another_number_of_ranks_reads_its_own_rows(tmp_path, in_ranks, n_ranks):
    write(tmp_path / "file", 2, in_ranks)

    def read(group):
        if not group.is_first:
            return read_share(None, "table", [7, 3], group)
        with safe_open(tmp_path / "file", framework="pt") as file:
            return read_share(file, "table", [7, 3], group)

    assert torch.equal(torch.cat(in_ranks(n_ranks, read)), WHOLE)


@given(n_rows=st.integers(0, 40), size=st.integers(1, 9))
def test_shares_follow_each_other_and_are_all_rows(n_rows, size):
    shares = [Communicator(rank, size).share_of(n_rows) for rank in range(size)]
    assert [row for share in shares for row in range(n_rows)[share]] == list(range(n_rows))


def test_a_write_that_fails_leaves_the_old_file(tmp_path, in_ranks, monkeypatch):
    write(tmp_path / "file", 1, in_ranks)

    def fails(rows, at_once):
        yield rows[:1]
        raise OSError("no space left")

    monkeypatch.setattr(
        "recsieve.communicator.Communicator.gather_to_first", lambda self, rows, at_once: fails(rows, at_once)
    )
    with pytest.raises(OSError, match="no space"):
        write(tmp_path / "file", 1, in_ranks, whole=WHOLE + 1)
    assert torch.equal(load_file(tmp_path / "file")["table"], WHOLE)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
