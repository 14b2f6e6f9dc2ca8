import errno
import os
from pathlib import Path

import pytest
import torch

from recsieve.files import new_folder, replacing, write_text
from recsieve.storage.tensor_file import write_tensors


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_modes_of_files_follow_the_umask_alike(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_text(tmp_path / "text", "a")
        write_tensors(tmp_path / "tensors", {"a": torch.ones(2)}, {})
        with new_folder(tmp_path / "folder") as folder:
            (folder / "a").write_text("a")
    finally:
        os.umask(before)
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("text", "tensors", "folder/a")} == {0o666 & ~umask}
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o777 & ~umask


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(tmp_path):
    write_text(tmp_path / "text", "old")
    with pytest.raises(FileExistsError), replacing(tmp_path / "text") as temporary:
        temporary.mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["text"]
    assert (tmp_path / "text").read_text() == "old"


def on_a_read_only_disk(path, *_, **__):
    raise OSError(errno.EROFS, "Read-only file system", str(path))


def test_an_error_names_the_file_that_was_asked_for_not_the_temporary_one(tmp_path, monkeypatch):
    for name in ("touch", "unlink"):
        monkeypatch.setattr(Path, name, on_a_read_only_disk)
    with pytest.raises(OSError, match="Read-only") as error:
        write_text(tmp_path / "lists.csv", "a")
    assert error.value.filename == str(tmp_path / "lists.csv")


def test_an_error_names_the_folder_that_was_asked_for_not_the_temporary_one(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "mkdir", on_a_read_only_disk)
    with pytest.raises(OSError, match="Read-only") as error, new_folder(tmp_path / "shop"):
        pass
    assert error.value.filename == str(tmp_path / "shop")
