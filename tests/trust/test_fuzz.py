from trust.fuzz import fuzz


def test_no_strange_input_ends_in_a_traceback():
    found = fuzz(600, seed=1)
    assert [defect for target in found.values() for defect in target["defects"]] == []
    assert sum(target["inputs"] for target in found.values()) >= 600
    assert all(target["taken"] and target["refused"] for target in found.values())  # or it would not look deep
