import gzip
import subprocess
import sys

import polars as pl
import pytest
import zstandard

from recsieve.data.reading.tables import open_table
from recsieve.errors import DataError

ROWS = b"user,item\n" + b"a,b\n" * 1_000_000  # 4 MB of text, over 100 MB as cells


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr("recsieve.data.reading.size.free_memory", lambda: 50 << 20)


@pytest.mark.parametrize(
    ("name", "pack"),
    [("log.csv", bytes), ("log.csv.gz", gzip.compress), ("log.csv.zst", zstandard.compress)],
)
def test_a_log_that_does_not_fit_into_memory_is_refused_before_it_is_read(tmp_path, little_memory, name, pack):
    (tmp_path / name).write_bytes(pack(ROWS))
    with pytest.raises(DataError, match=r"needs more memory than allowed, which is 0\.0 GB"):
        open_table(tmp_path / name)


def test_parts_count_together(tmp_path, little_memory):
    for part in range(4):
        (tmp_path / f"{part}.csv").write_bytes(ROWS[: len(ROWS) // 4])
    open_table(tmp_path / "0.csv")
    with pytest.raises(DataError, match="needs more memory"):
        open_table(tmp_path)


def test_rows_of_parquet_count_however_well_they_are_packed(tmp_path, little_memory):
    pl.DataFrame({"user": pl.zeros(3_000_000, pl.Int8, eager=True), "item": 1}).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(DataError, match="needs more memory"):
        open_table(tmp_path / "log.parquet")


@pytest.mark.parametrize("cut", [1, 20])
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_packed_file_that_is_cut_off_is_refused(tmp_path, pack, cut):
    (tmp_path / "log.csv.gz").write_bytes(pack(b"user,item\n" + bytes(range(32, 127)) * 999)[:-cut])
    with pytest.raises(DataError, match=r"log\.csv\.gz cannot be"):
        open_table(tmp_path / "log.csv.gz").rows.collect()


def test_what_zlib_packed_is_refused(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"x\x9c" + b"packed")
    with pytest.raises(DataError, match="compressed with zlib"):
        open_table(tmp_path / "log.csv")


def test_a_small_file_that_unpacks_to_a_gigabyte_is_one_line_under_four_gigabytes(tmp_path):
    block = gzip.compress(ROWS * 8)
    (tmp_path / "bomb.csv.gz").write_bytes(block * 32)  # 1 GB in members of 32 MB, from a file of 1 MB
    limited = "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)); import recsieve.cli as c; "
    process = subprocess.run(
        [sys.executable, "-c", limited + "c.main()", "describe", str(tmp_path / "bomb.csv.gz")],
        capture_output=True,
        text=True,
    )
    assert process.returncode == 2, process.stderr
    assert process.stderr.count("\n") == 1
    assert "bomb.csv.gz needs more memory than allowed, which is 3." in process.stderr
