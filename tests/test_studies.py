import inspect

import pytest

import recsieve
from recsieve.experiments.settings import ComparisonConfig, TuningConfig


@pytest.mark.parametrize(("study", "config"), [(recsieve.compare, ComparisonConfig), (recsieve.tune, TuningConfig)])
def test_every_setting_is_a_keyword_and_no_default_is_said_twice(study, config):
    parameters = dict(inspect.signature(study).parameters)
    assert set(config.model_fields) <= set(parameters)
    assert {parameters[name].default for name in config.model_fields if name != "data"} == {None}


def test_a_comparison_in_python_gives_conclusions_a_table_and_a_page(in_this_process, split, tiny, tmp_path):
    comparison = recsieve.compare(split, tmp_path / "out", **tiny)
    assert comparison.answer
    assert len(comparison.conclusions) == 5
    assert comparison.summary.height == len(comparison.rows) == 5
    assert comparison.page.exists()
    assert comparison.answer in comparison._repr_html_()
