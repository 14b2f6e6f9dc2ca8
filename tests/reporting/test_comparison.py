import json
import subprocess
import sys

import pytest

from recsieve.reporting.comparison import data_name, write_comparison_page
from recsieve.reporting.comparison_tables import full_rows, summary_rows


@pytest.fixture
def folder(compare, tmp_path):
    compare()
    return tmp_path / "out"


def test_the_page_begins_with_the_answer_and_ends_with_how_it_was_made(folder):
    text = write_comparison_page(folder).read_text(encoding="utf-8")
    result = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    places = [text.index(words) for words in ("The answer", result["answer"], "All numbers", "How this was run")]
    assert places == sorted(places)
    assert "http://" not in text.split("<script>")[0]


def test_every_chart_is_also_a_picture(folder):
    write_comparison_page(folder)
    names = {"effects", "validations", "selection", "detection", "losses-CE-gmf-natural-noise"}
    names |= {
        f"losses-{name}-gmf-natural-noise" for name in ("T-CE", "random-drop-as-T-CE", "least-popular-drop-as-T-CE")
    }
    assert {path.name for path in (folder / "charts").iterdir()} == {
        f"{name}.{ending}" for name in names for ending in ("png", "svg")
    }


def test_rows_say_what_each_strategy_is_worth(folder):
    result = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    header, rows = summary_rows(result)
    assert header == ["strategy", "verdict", "change", "95 % interval", "ndcg@5"]
    assert rows[0][:2] == ["CE", "(baseline)"]
    wide, more = full_rows(result)
    assert all(len(row) == len(wide) for row in more)


def test_noise_rates_are_drawn_as_curves(compare, tmp_path):
    reweighted = {"R-CE": {"denoiser": "reweighted"}}
    compare(noise=[{"mechanism": "uniform", "rate": rate} for rate in (0.0, 0.3)], strategies=reweighted)
    assert "The effect of noise" in write_comparison_page(tmp_path / "out").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "charts" / "noise.svg").exists()
    assert (tmp_path / "out" / "charts" / "effects-gmf-uniform-30-noise.png").exists()


@pytest.mark.parametrize(
    ("source", "name"),
    [("data/ml-1m/interactions.parquet", "ml-1m"), ("shop", "shop"), ("log.csv", "log.csv"), (None, "this data")],
)
def test_data_is_called_as_its_folder_or_file(source, name):
    assert data_name({"config": {"data": source and {"source": source}}}) == name


def test_a_page_is_made_without_torch():
    code = "import sys, recsieve.reporting.comparison\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
