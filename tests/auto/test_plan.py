import pytest

from recsieve.auto.plan import Plan, make_plan
from recsieve.errors import ConfigError, RunError
from recsieve.models import MODELS, Model
from recsieve.settings import parse_duration


def test_the_defaults_of_named_models_come_before_second_tries(small_data):
    plan = make_plan(small_data(), 1e9, None, ["ease", "ials", "gmf"], {})
    names = [one.spec.model for one in plan.fits]
    assert names[:4] == ["ease", "ials", "gmf", "ease"]


def test_options_of_a_named_model_are_in_all_that_is_tried(small_data):
    tried = [one.spec.model_options for one in make_plan(small_data(), 1e9, None, ["ials"], {}, {"factors": 5}).fits]
    assert len(tried) > 1
    assert {one["factors"] for one in tried} == {5}
    alone = make_plan(small_data(), 1e9, None, ["ease"], {}, {"l2": 3.0}).fits
    assert [one.spec.model_options for one in alone] == [{"l2": 3.0}]


def test_what_is_trained_by_gradients_comes_after_everything_else(small_data):
    plan = make_plan(small_data(), 1e9, None, [], {})
    names = [one.spec.model for one in plan.fits]
    trained = [issubclass(MODELS[name], Model) for name in names]
    assert names[:2] == ["ease", "ials"]
    assert trained == sorted(trained)
    assert True in trained
    assert "nmtr" not in names  # it needs labels


def test_the_budget_decides_what_is_planned_and_one_model_always_is(small_data):
    data = small_data()
    assert len(make_plan(data, 1e-9, None, [], {}).fits) == 1
    assert len(make_plan(data, 0.02, None, [], {}).fits) < len(make_plan(data, 1e9, None, [], {}).fits)
    assert len(make_plan(data, 1e-9, 7, [], {}).fits) == 7


def test_a_plan_is_read_back_as_it_was_written(small_data, tmp_path):
    plan = make_plan(small_data(), 60, None, ["ease", "gmf"], {"epochs": 3})
    plan.write(tmp_path / "plan.json")
    assert Plan.read(tmp_path / "plan.json") == plan
    (tmp_path / "plan.json").write_text('{"fits": 3}')
    with pytest.raises(RunError, match="damaged"):
        Plan.read(tmp_path / "plan.json")


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("2m", 120), ("1.5h", 5400), (30, 30)])
def test_a_budget_is_a_time(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-1m", "soon", "2 weeks"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ConfigError, match=r"give e\.g\. 30s, 2m or 1h"):
        parse_duration(text)
