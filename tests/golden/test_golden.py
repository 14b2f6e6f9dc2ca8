"""Today's losses and weights to the bit where they were pinned, and the losses to 1e-5 on any other machine."""

import json

import pytest

from tests.golden.cases import CASES, ON_TWO_RANKS
from tests.golden.pin import TRACES
from tests.golden.run import fingerprint, run

PINNED = json.loads(TRACES.read_text())
HERE = fingerprint()


def assert_golden(case, trace):
    golden = PINNED["traces"][case.name]
    if golden.get("fingerprint", PINNED["fingerprint"]) == HERE:
        assert trace == {name: golden[name] for name in trace}
    else:
        assert trace["losses"] == pytest.approx(golden["losses"], abs=1e-5)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_run_has_the_losses_and_weights_it_always_had(case):
    assert_golden(case, run(case))


@pytest.mark.parametrize("case", [case for case in CASES if case.resumed], ids=lambda case: case.name)
def test_so_has_one_that_was_stopped_within_an_epoch_and_resumed(case, tmp_path):
    assert_golden(case, run(case, checkpoint=tmp_path / "checkpoint.safetensors"))


def test_so_have_two_ranks_stopped_or_not(start_ranks, tmp_path):
    for rank in start_ranks([["tests.golden.ranks", tmp_path]] * 2):
        _, errors = rank.communicate(timeout=600)
        assert rank.returncode == 0, errors
    traces = json.loads((tmp_path / "traces.json").read_text())
    for case in ON_TWO_RANKS:
        trace = traces[case.name]
        # The validation loss is rounded on each rank before it is added up.
        assert trace.pop("scores", {}) == pytest.approx(PINNED["traces"][case.name].get("scores", {}), abs=1e-5)
        assert_golden(case, trace)


def test_every_trace_is_of_a_case_and_no_case_has_the_name_of_another():
    assert sorted(PINNED["traces"]) == sorted(case.name for case in CASES)
