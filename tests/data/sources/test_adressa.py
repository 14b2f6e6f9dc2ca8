import json

import pytest

from recsieve.data.sources.adressa import Adressa
from recsieve.data.sources.blocks import read_blocks
from recsieve.errors import ConfigError, DataError

EVENTS = [
    {"eventId": 1, "userId": "cx:a", "id": "news1", "activeTime": 9, "time": 1483225200, "url": "http://adressa.no/1"},
    {"eventId": 2, "userId": "cx:a", "id": "news2", "activeTime": 10, "time": 1483225260, "profile": [{"item": "x"}]},
    {"eventId": 3, "userId": "cx:b", "id": "news1", "time": 1483225300},
    {"eventId": 4, "userId": "cx:b", "url": "http://adressa.no", "activeTime": 120, "time": 1483225400},
]


@pytest.fixture
def day(tmp_path):
    path = tmp_path / "one_week" / "20170101"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    return path


def rows(source):
    (block,) = read_blocks(source.files()[0])
    return source.rows(block)


def test_a_short_stay_is_a_false_positive_and_ten_seconds_are_not(day):
    found = rows(Adressa(day)).to_dicts()
    assert found[0] == {"user": "cx:a", "item": "news1", "false_positive": True, "time": 1483225200}
    assert found[1]["false_positive"] is False
    assert found[2]["item"] is None  # the front page is no article


@pytest.mark.parametrize(("unmeasured", "flag"), [("false", True), ("unknown", None)])
def test_clicks_without_a_dwell_time_are_left_out_or_what_one_says(day, unmeasured, flag):
    assert rows(Adressa(day)).height == 3
    kept = rows(Adressa(day, unmeasured=unmeasured))
    assert kept.height == 4
    assert kept["false_positive"][2] is flag


def test_a_folder_is_all_its_days(day):
    (day.parent / "20170102").write_text(json.dumps(EVENTS[0]))
    (day.parent / ".DS_Store").write_bytes(b"\0")
    assert [path.name for path in Adressa(day.parent).files()] == ["20170101", "20170102"]


def test_what_is_not_there_is_told(tmp_path):
    with pytest.raises(DataError, match="there is no file or folder"):
        Adressa(tmp_path / "nowhere").files()
    with pytest.raises(DataError, match="a file for each day"):
        Adressa(tmp_path).files()
    with pytest.raises(ConfigError, match="did you mean 'unknown'"):
        Adressa(tmp_path, unmeasured="unknwon")
