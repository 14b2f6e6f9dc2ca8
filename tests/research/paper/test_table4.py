from dataclasses import replace

import pytest

from recsieve.errors import ConfigError
from research.paper import table4
from research.paper.reports.report import report_on
from research.paper.reproduce import reproduce_result
from research.paper.runs import Options, Study


def test_its_rows_are_trained_as_they_say(tiny_data, tiny_options, tmp_path):
    study = Study(tiny_data, replace(tiny_options, seeds=1), tmp_path)
    settings = {run.name: run.settings() for run in table4.runs(study)}
    trained = [
        (each.model, each.denoiser, each.denoiser_options.get("false_positive_weight")) for each in settings.values()
    ]
    assert trained == [
        ("gmf", "keep-all", None),
        ("gmf", "truncated", None),
        ("gmf", "reweighted", None),
        ("nmtr", "keep-all", None),
        ("gmf", "negative-feedback", 1.0),
        ("gmf", "negative-feedback", 0.1),
    ]


def test_it_shares_the_runs_of_table_3(trained, tiny_data, tmp_path):
    options = Options(seeds=1, epochs=2, models=("gmf",))
    reproduce_result("table3", [tiny_data], options, tmp_path)
    result = reproduce_result("table4", [tiny_data], options, tmp_path)
    assert len(trained) == len(set(trained)) == 6
    assert [cell["method"] for cell in result["data_sets"][0]["cells"]] == list(table4.ROWS)
    report = report_on(result)
    assert len(report.tables[0].rows) == 6
    assert report.tables[-1].rows[-1] == ["GMF+NR", "0.0615", "0.0958", "0.0254", "0.0331"]
    assert len(report.found) == 3  # NMTR and twice NR; the others are in Table 3
    assert "published, on amazon-book: +0.64" in report.found[0]


def test_published_cells_stand_beside_ours_on_the_papers_data_alone(trained, tiny_data, tmp_path):
    options = Options(seeds=1, epochs=1)
    books = replace(tiny_data, preset="amazon-book", is_papers=True)
    cells = reproduce_result("table4", [books], options, tmp_path)["data_sets"][0]["cells"]
    assert cells[3]["published"]["recall@100"] == 0.0967


def test_other_models_and_data_without_flags_are_told(tiny_data, tiny_options, tmp_path):
    with pytest.raises(ConfigError, match="about gmf alone"):
        table4.runs(Study(tiny_data, replace(tiny_options, models=("neumf",)), tmp_path))
    train = replace(tiny_data.split.train, false_positive=None)
    without = replace(tiny_data, split=replace(tiny_data.split, train=train))
    with pytest.raises(ConfigError, match="does not say what was regretted"):
        table4.runs(Study(without, tiny_options, tmp_path))
