"""Golden values: what the paper prints, and the settings that its authors' logs show."""

import re
from pathlib import Path

import pytest

from recsieve.simulation.config import like
from research.paper import published

PAPER = Path(__file__).parents[4] / "shared" / "paper" / "denoising-implicit-feedback.tex"
NAMES = {"gmf": "GMF", "neumf": "NeuMF", "cdae": "CDAE"}


@pytest.fixture(scope="module")
def rows():
    """The numbers of each table row in the paper's source, by the name that the row begins with."""
    if not PAPER.exists():
        pytest.skip("needs the paper's source, which is not beside this clone")
    lines = re.sub(r"\\textbf|[{}]", "", PAPER.read_text(encoding="utf-8")).splitlines()
    found = {}
    for line in lines:
        name, *cells = line.partition("\\\\")[0].split("&")
        numbers = [cell.strip().replace(",", "").removesuffix("\\%") for cell in cells]
        if numbers and all(re.fullmatch(r"[\d.]+|-", number) for number in numbers):
            found.setdefault(name.strip(), []).append([float(n) for n in numbers if n != "-"])
    return found


@pytest.mark.parametrize("model", published.MODELS)
@pytest.mark.parametrize("method", published.METHODS)
def test_table_3_is_what_the_paper_prints(rows, model, method):
    name = NAMES[model] + ("" if method == "CE" else f"+{method}")
    printed = next(row for row in rows[name] if len(row) >= 12)
    ours = [value for data in published.TABLE3.values() for value in data[model][method]]
    assert printed[:12] == ours
    if method != "CE":
        assert printed[12] == published.IMPROVEMENT[model][method]


def test_tables_1_2_and_4_are_what_the_paper_prints(rows):
    for name, method in (("Clean training", "clean"), ("Normal training", "CE")):
        assert rows[name][0] == [value for data in published.TABLE1.values() for value in data[method]]
    for name, counts in zip(("Adressa", "Amazon-book", "Yelp"), published.TABLE2.values(), strict=True):
        assert rows[name][0] == list(counts.values())
    for method, values in published.TABLE4.items():
        name = "GMF" if method == "CE" else f"GMF+{method}"
        assert list(values) in rows[name]


@pytest.mark.parametrize("model", published.MODELS)
@pytest.mark.parametrize("method", ["T-CE", "R-CE"])
def test_the_improvement_follows_from_the_cells(model, method):
    worked_out = [published.improvement(cells[model], method) for cells in published.TABLE3.values()]
    assert sum(worked_out) / len(worked_out) == pytest.approx(published.IMPROVEMENT[model][method], abs=0.011)


def test_the_drop_of_table_1_follows_from_its_cells():
    drops = [
        100 * (clean - normal) / clean
        for cells in published.TABLE1.values()
        for clean, normal in zip(cells["clean"], cells["CE"], strict=True)
    ]
    assert drops == pytest.approx([21.81, 3.92, 9.56, 8.81], abs=0.01)


def test_simulated_worlds_have_the_counts_of_table_2():
    for name, counts in published.TABLE2.items():
        world = like(name)
        assert [world.n_users, world.n_items, world.n_interactions, world.n_false_positives] == list(counts.values())


def test_presets_are_those_of_the_released_logs():
    logged = {
        ("adressa", "gmf"): (0.05, 30_000, 0.2, 800, 900, 1_400),
        ("adressa", "neumf"): (0.2, 1_000, 0.25, 100, 200, 100),
        ("amazon-book", "gmf"): (0.1, 30_000, 0.3, 16_000, 30_000, 52_000),
        ("amazon-book", "neumf"): (0.2, 30_000, 0.25, 10_000, 36_000, 36_000),
        ("yelp", "gmf"): (0.1, 30_000, 0.2, 16_000, 30_000, 16_000),
        ("yelp", "neumf"): (0.2, 30_000, 0.2, 8_000, 28_000, 16_000),
    }
    for cell, values in logged.items():
        preset = published.preset(*cell)
        assert (preset.max_drop_rate, preset.ramp_steps, preset.beta, *preset.chosen.values()) == values


def test_cdae_has_no_log_and_takes_the_settings_of_gmf():
    preset = published.preset("yelp", "cdae")
    assert (preset.max_drop_rate, preset.ramp_steps, preset.beta, preset.chosen) == (0.1, 30_000, 0.2, None)


def test_search_grids_are_those_of_the_paper():
    assert published.DROP_RATES == (0.05, 0.1, 0.2)
    assert published.RAMPS == (1_000, 5_000, 10_000, 20_000, 30_000)
    assert published.BETAS == (0.05, 0.1, 0.15, 0.2, 0.25, 0.5, 1.0)


def test_an_epoch_of_yelp_has_3267_iterations_and_chosen_ones_are_within_ten_epochs():
    assert published.steps_per_epoch("yelp") == 3_267
    for data in published.TABLE2:
        for model in ("gmf", "neumf"):
            most = published.EPOCHS * published.steps_per_epoch(data)
            assert max(published.preset(data, model).chosen.values()) <= most
