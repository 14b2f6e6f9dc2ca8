import json

import pytest

from trust import fuzz as module
from trust.fuzz import fuzz


def test_no_strange_input_ends_in_a_traceback():
    found = fuzz(600, seed=1)
    assert [defect for target in found.values() for defect in target["defects"]] == []
    assert sum(target["inputs"] for target in found.values()) >= 600
    assert all(target["taken"] and target["refused"] for target in found.values())  # or it would not look deep


def test_fuzzing_that_was_stopped_goes_on_with_the_next_part(tmp_path, monkeypatch):
    def part(total, *, seed):
        if seed == 2 and stopped:
            raise KeyboardInterrupt
        one = {"inputs": total, "taken": seed, "refused": total - seed, "slowest_seconds": 0.1, "defects": []}
        return {"rules": one}

    monkeypatch.setattr(module, "fuzz", part)
    stopped = True
    with pytest.raises(KeyboardInterrupt):
        module.main(["35000", str(tmp_path / "fuzz.json")])
    assert json.loads((tmp_path / "fuzz.json").read_text())["inputs"] == 20_000
    stopped = False
    with pytest.raises(SystemExit):
        module.main(["35000", str(tmp_path / "fuzz.json")])
    result = json.loads((tmp_path / "fuzz.json").read_text())
    assert (result["inputs"], result["parts"], result["targets"]["rules"]["taken"]) == (35_000, 4, 0 + 1 + 2 + 3)
