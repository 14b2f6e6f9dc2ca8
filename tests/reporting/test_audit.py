"""The page of an audit, made from files by hand, as text and as a browser shows it."""

import csv
import io
import json
import subprocess
import sys

import polars as pl
import pytest

from recsieve.reporting.audit import write_audit_page
from recsieve.reporting.audit_charts import moment, place_charts
from recsieve.reporting.audit_list import kind

SCRIPT = "</script><script>console.error('got in')</script><img src=x onerror=alert(1)>"
RIGHT_TO_LEFT = "\u202eمرحبا\u2028"
QUOTES = "\"'`${user}, {{ item }} <!--"
FORMULA = '=HYPERLINK("http://evil")'
USERS = [SCRIPT, RIGHT_TO_LEFT, QUOTES, FORMULA]
ITEMS = ["@SUM(1)", "+1-1", "-5", SCRIPT]
REASONS = [
    "few users have this item: 2 users",
    "few users have this item: 3 users; one of 5 % that fit least",
    "one of 9 % that fit least",
]
POPULAR = "On this data the noise score mostly reflects popularity"


@pytest.fixture
def folder(tmp_path):
    """An audit of eight interactions, the first seven shown, without labels; every id is hostile."""
    n = 8
    numbers = [(n - place) / 10 for place in range(n)]
    table = pl.DataFrame(
        {
            "user": [USERS[place % 4] for place in range(n)],
            "item": [ITEMS[(place + place // 4) % 4] for place in range(n)],
            "rank": range(1, n + 1), "noise_score": numbers, "popularity_adjusted": numbers,
            "probability": pl.Series([None] * n, dtype=pl.Float32),
            "labelled_noise": pl.Series([None] * n, dtype=pl.Boolean),
            "reason": [REASONS[place % 3] for place in range(n)], "popularity": 2, "activity": 2,
            "profile_fit": [-0.5, *numbers[1:]], "unfitting_in_profile": numbers,
            "mean_loss": [float("nan"), *numbers[1:]],
            "unpopular": numbers, "unfitting": numbers, "unexpected": numbers, "item_labelled": 0, "item_regretted": 0,
            "user_labelled": 0, "user_regretted": 0, "row": range(n),
        }
    )  # fmt: skip
    table.write_parquet(tmp_path / "audit.parquet")
    curves = [[0.7, 0.9, None]] * 7
    shown = {"row": range(7), "held_out_losses": curves, "training_losses": curves, "alike": [[SCRIPT, FORMULA]] * 7}
    pl.DataFrame(shown).write_parquet(tmp_path / "shown.parquet")
    for name, ids in (("user", USERS), ("item", ITEMS)):
        group = {name: ids, "interactions": 2, "labelled": 0, "regretted": 0, "mean_score": 0.5}
        pl.DataFrame(group).write_parquet(tmp_path / f"{name}s.parquet")
    write_summary(tmp_path)
    return tmp_path


def write_summary(folder, **more):
    places = [{"low": 1, "high": 9, "interactions": 8, "mean_score": 0.45, "labelled": 0, "regretted": 0}]
    summary = {
        "notes": [POPULAR, "No interaction is labelled."], "users": 4, "items": 4, "interactions": 8, "labelled": 0,
        "labelled_noise": 0, "method": "no labels", "popularity_correlation": 0.9, "noise_share": None,
        "cross_validation": None, "calibration": None,
        "where": {"popularity": places, "activity": places, "time": places},
        "typical_losses": {"epochs": [1, 2, 3], "low": [0.6, 0.4, None], "middle": [0.7, 0.5, None],
                           "high": [0.7, 0.6, None]},
    }  # fmt: skip
    (folder / "audit.json").write_text(json.dumps(summary | more), encoding="utf-8")


def written(folder):
    return write_audit_page(folder).read_text(encoding="utf-8")


def test_the_page_begins_with_what_a_reader_must_know(folder):
    text = written(folder)
    places = [text.index(words) for words in (POPULAR, "unknown: no labels", "Where the noise is", 'id="list"')]
    assert places == sorted(places)
    assert "The 7 most suspicious of 8 interactions" in text
    assert "How reliable this is" not in text


def test_with_labels_it_tells_the_estimate_its_interval_and_how_sure_it_is(folder):
    measures = {"roc_auc": 0.75, "average_precision": 0.5, "precision": 0.6}
    calibration = {"brier": 0.1, "brier_of_base_rate": 0.2, "ece": 0.01,
                   "reliability": [{"predicted": 0.1, "observed": 0.2, "n": 4}]}  # fmt: skip
    write_summary(
        folder, method="mixed model", labelled=4, cross_validation={"mixed model": measures, "popularity": measures},
        calibration=calibration, noise_share={"estimate": 0.2, "low": 0.15, "high": 0.25, "level": 0.9},
    )  # fmt: skip
    text = written(folder)
    for words in (
        "20.0 %",
        "90 % interval",
        "15.0 % to 25.0 %",
        "ROC AUC 0.75 on held-out labels",
        "How reliable this is",
    ):
        assert words in text


def test_reasons_that_differ_in_numbers_are_one_kind():
    assert kind("62 % of 8 labelled") == kind("7 % of 123 labelled") == "… % of … labelled"


@pytest.mark.parametrize(
    ("value", "told"), [(881250949, "1997-12-04"), (881250949000, "1997-12-04"), (1234, "1,234"), (-5, "-5")]
)
def test_times_are_dates_where_they_can_be(value, told):
    assert moment(value) == told


def test_spans_within_one_day_keep_names_of_their_own():
    spans = [
        {"low": 881250949 + minute * 60, "interactions": 1, "mean_score": 0.5, "labelled": 0} for minute in range(3)
    ]
    (chart,) = place_charts({"time": spans}, "noise score")
    values = chart.to_dict()["data"]["values"]
    assert [value["group"] for value in values] == ["1997-12-04 15:55", "1997-12-04 15:56", "1997-12-04 15:57"]


def test_the_page_is_made_without_torch():
    code = "import sys, recsieve.reporting.audit\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# What is saved is kept instead of being written to a disk, and as text: a real blob is read in real time, which the
# browser's virtual time does not wait for on a busy machine.
READ = """
  const rows = () => [...document.querySelectorAll(".list tbody tr")].filter(row => row.offsetParent !== null);
  const cells = column => rows().map(row => row.cells[column].textContent);
  const type = (id, value) => {
    const box = document.getElementById(id);
    box.value = value;
    box.dispatchEvent(new Event("input"));
  };
  const settled = () => new Promise(done => setTimeout(done, 2000));
  let blob, name;
  window.Blob = class { constructor(parts) { this.parts = parts; } text() { return this.parts.join(""); } };
  URL.createObjectURL = given => { blob = given; return "#"; };
  HTMLAnchorElement.prototype.click = function () { name = this.download; };
  const saved = async id => { document.getElementById(id).click(); return [name, await blob.text()]; };
"""


@pytest.fixture
def do(folder, browse):
    """A function that opens the page, acts on it, and expects no trouble and no request."""

    def act(actions, width=1200):
        seen = browse(write_audit_page(folder), READ + actions, width)
        assert seen["trouble"] == []
        assert seen["requests"] == []
        assert not seen["overflow"]
        return seen

    return act


pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize("width", [1200, 500])
def test_hostile_ids_are_shown_as_they_are_and_all_charts_drawn(do, width):
    seen = do(
        """seen.users = cells(1); seen.items = cells(2);
        seen.tables = [...document.querySelectorAll("td")].map(cell => cell.textContent);
        seen.images = document.querySelectorAll("img").length;
        seen.tips = "";
        for (const mark of document.querySelectorAll(".chart .mark-symbol path")) {
          mark.dispatchEvent(new PointerEvent("pointermove", {bubbles: true}));
          seen.tips += document.querySelector("#vg-tooltip-element")?.textContent;
        }
        await settled();
        seen.images += document.querySelectorAll("img").length;
        seen.charts = document.querySelectorAll(".chart svg.marks").length;""",
        width,
    )
    assert seen["users"] == [USERS[place % 4] for place in range(7)]
    assert set(USERS + ITEMS) <= set(seen["tables"])
    assert seen["images"] == 0
    assert all(id in seen["tips"] for id in (SCRIPT, RIGHT_TO_LEFT, FORMULA))
    assert seen["charts"] == 5


def test_search_reason_and_least_score_filter_the_list_and_columns_sort_it(do):
    seen = do(
        """type("search", "مرحبا"); seen.found = cells(1); type("search", "HYPERLINK"); seen.upper = cells(1);
        type("search", "no such id"); seen.none = cells(1); seen.count = document.getElementById("count").textContent;
        type("search", "");
        const few = [...document.getElementById("reason").options].find(option => option.text.startsWith("few"));
        seen.few = few.text;
        type("reason", few.value); seen.reasons = cells(5); type("reason", "");
        type("least", "0.55"); seen.high = cells(3);
        document.querySelectorAll(".list th")[3].click(); seen.up = cells(3);"""
    )
    assert seen["found"] == [RIGHT_TO_LEFT] * 2
    assert set(seen["upper"]) == {FORMULA}
    assert seen["none"] == []
    assert seen["count"] == "0 of 7 listed."
    assert seen["few"] == "few users have this item: … users (5)"
    assert len(seen["reasons"]) == 5
    assert all("few users have this item" in reason for reason in seen["reasons"])
    assert seen["high"] == ["0.800", "0.700", "0.600"]
    assert seen["up"] == seen["high"][::-1]


@pytest.mark.parametrize("width", [1200, 500])
def test_a_click_shows_the_evidence_for_one_interaction(do, width):
    seen = do(
        """rows()[1].click(); await settled();
        const dialog = document.getElementById("evidence");
        seen.open = dialog.open; seen.text = dialog.textContent;
        seen.reasons = [...dialog.querySelectorAll("li")].map(reason => reason.textContent);
        seen.lines = dialog.querySelectorAll("#losses svg .mark-line path").length;
        seen.bars = dialog.querySelectorAll("#profile svg .mark-rect path").length;
        seen.wide = dialog.scrollWidth > dialog.clientWidth;
        dialog.querySelector(".close").click(); seen.closed = !dialog.open;
        rows()[0].dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
        seen.again = dialog.querySelector("h2").textContent; await settled();""",
        width,
    )
    assert seen["open"]
    assert seen["closed"]
    assert not seen["wide"]
    assert f"User {RIGHT_TO_LEFT}, item {ITEMS[1]}" in seen["text"]
    assert f"Most like this item: {SCRIPT}, {FORMULA}" in seen["text"]
    assert seen["reasons"] == REASONS[1].split("; ")
    assert seen["lines"] == 3
    assert seen["bars"] == 10
    assert seen["again"] == f"User {SCRIPT}, item {ITEMS[0]}"


def test_what_is_listed_is_saved_and_no_formula_survives_in_csv(do):
    seen = do(
        """type("least", "0.45"); document.querySelectorAll(".list th")[3].click();
        seen.csv = await saved("csv"); seen.json = await saved("json");"""
    )
    name, text = seen["csv"]
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert name == "suspicious.csv"
    assert [row["noise_score"] for row in rows] == ["0.5", "0.6", "0.7", "0.8"]
    assert [row["user"] for row in rows] == ["'" + FORMULA, QUOTES, RIGHT_TO_LEFT, SCRIPT]
    assert [row["item"] for row in rows] == [SCRIPT, "-5", "'+1-1", "'@SUM(1)"]
    assert rows[-1]["profile_fit"] == "-0.5"
    assert rows[-1]["mean_loss"] == ""
    name, text = seen["json"]
    assert name == "suspicious.json"
    assert [row["user"] for row in json.loads(text)] == USERS[::-1]
