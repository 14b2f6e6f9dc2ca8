import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recsieve.data.sources import blocks
from recsieve.data.sources.blocks import cells, json_fields, read_blocks
from recsieve.errors import DataError


@given(
    lines=st.lists(st.text("abc", max_size=30).map(str.encode), min_size=1, max_size=30),
    size=st.integers(1, 100),
    packed=st.booleans(),
)
def test_blocks_hold_all_lines_in_their_order_whatever_their_size(tmp_path_factory, lines, size, packed):
    path = tmp_path_factory.mktemp("blocks") / "lines"
    text = b"\n".join(lines)
    path.write_bytes(gzip.compress(text) if packed else text)
    found = list(read_blocks(path, size))
    assert b"".join(block.text for block in found) == text
    assert all(block.text.endswith(b"\n") for block in found[:-1])
    starts = [1 + sum(block.n_lines for block in found[:number]) for number in range(len(found))]
    assert [block.first_line for block in found] == starts
    assert sum(block.n_lines for block in found) == len(text.splitlines())
    assert all(0 < block.bytes_read <= path.stat().st_size for block in found)


def test_a_download_that_was_cut_off_is_told(tmp_path):
    path = tmp_path / "reviews.json.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 10_000)[:-40])
    with pytest.raises(DataError, match="incomplete or damaged, download it again"):
        list(read_blocks(path))


@pytest.mark.parametrize("beginning", [b"PK\x03\x04", b"x" * 257 + b"ustar"])
def test_an_archive_is_not_taken_for_its_contents(tmp_path, beginning):
    path = tmp_path / "one_week.tar.gz"
    path.write_bytes(gzip.compress(beginning + b"\n"))
    with pytest.raises(DataError, match="unpack it"):
        list(read_blocks(path))


def test_a_file_that_is_one_endless_line_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_LINE", 100)
    path = tmp_path / "array.json"
    path.write_bytes(b"[" + b"1," * 200)
    with pytest.raises(DataError, match=r"line 1 of .* does not end"):
        list(read_blocks(path, 30))


def block(text, first_line=1):
    return blocks.Block(text, blocks.Path("log"), first_line, len(text))


def test_json_fields_are_text_whatever_they_were_and_null_where_they_are_not():
    rows = json_fields(block(b'{"a": 5, "b": "x", "c": [1]}\n\n{"b": null, "a": 2.5}\n'), ("a", "b"))
    assert rows.to_dicts() == [{"a": "5", "b": "x"}, {"a": "2.5", "b": None}]


@pytest.mark.parametrize("broken", [b"{'a': 1}", b"[1]", b'{"a": ', b"a,b"])
def test_a_line_that_is_no_json_object_is_named(broken):
    with pytest.raises(DataError, match="line 8 of log is not a JSON object"):
        json_fields(block(b'{"a": 1}\n' + broken + b"\n", first_line=7), ("a",))


@pytest.mark.parametrize("broken", [b"1,2", b"1,2,3,4"])
def test_a_line_with_too_few_or_too_many_cells_is_named(broken):
    with pytest.raises(DataError, match=r"line 8 of log has [24] cells where 3 are expected"):
        cells(block(b"1,2,3\n" + broken + b"\n", first_line=7), ",", ("a", "b", "c"))
