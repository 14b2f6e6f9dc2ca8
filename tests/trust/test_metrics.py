from trust.metrics import compare


def test_metrics_are_those_of_ir_measures():
    assert compare(300)["largest_difference"] < 1e-9
