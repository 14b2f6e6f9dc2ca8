"""Today's losses and weights to the bit where they were pinned, and the losses to 1e-5 on any other machine."""

import json

import pytest

from tests.golden.cases import ONE_PROCESS, TWO_RANKS
from tests.golden.pin import TRACES
from tests.golden.ranks import on_two_ranks
from tests.golden.run import fingerprint, run

PINNED = json.loads(TRACES.read_text())
SAME_MACHINE = fingerprint() == PINNED["fingerprint"]


def assert_golden(case, trace):
    golden, trace = PINNED["traces"][case.name], json.loads(json.dumps(trace))
    if SAME_MACHINE:
        assert trace == golden
    else:
        assert trace["losses"] == pytest.approx(golden["losses"], abs=1e-5)


def name(case):
    return case.name


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    return on_two_ranks(tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("case", ONE_PROCESS, ids=name)
def test_a_run_has_the_losses_and_weights_it_always_had(case):
    assert_golden(case, run(case))


@pytest.mark.parametrize("case", [case for case in ONE_PROCESS if case.resumed], ids=name)
def test_so_has_one_that_was_stopped_within_an_epoch_and_resumed(case, tmp_path):
    assert_golden(case, run(case, checkpoint=tmp_path / "checkpoint.safetensors"))


def test_so_have_two_ranks_stopped_or_not(two_ranks):
    for case in TWO_RANKS:
        assert_golden(case, two_ranks["plain"][case.name])
        if case.resumed:
            assert_golden(case, two_ranks["resumed"][case.name])


def test_every_trace_is_of_a_case_and_no_case_has_the_name_of_another():
    assert sorted(PINNED["traces"]) == sorted(case.name for case in ONE_PROCESS + TWO_RANKS)
