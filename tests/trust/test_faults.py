"""A few of the writes of the quick commands; `make soak` has them all, and the other commands."""

import pytest

from trust.commands import COMMANDS, Place
from trust.faults import enumerate_faults


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("place"))
    place.prepare()
    return place


@pytest.mark.parametrize(("command", "every"), [("train", 15), ("recommend", 3)])
def test_a_write_that_fails_is_one_line_and_the_next_run_ends_with_the_same_bits(place, command, every):
    found = enumerate_faults(place, command, every=every)
    assert found["defects"] == []
    assert found["points"]["rename"] == found["points"]["fsync"] == found["points"]["write"] > 1


@pytest.mark.soak
@pytest.mark.parametrize("command", COMMANDS)
def test_each_write_of_each_command_may_fail(place, command):
    assert enumerate_faults(place, command)["defects"] == []
