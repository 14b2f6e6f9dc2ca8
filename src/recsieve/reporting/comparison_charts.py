"""The charts of a comparison, in Vega-Lite, with a panel for each model and kind of noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from recsieve.reporting import colours
from recsieve.reporting.colours import QUIET, VERDICTS, scale, strategy_colours

CRITERIA = {"noisy": "noisy validation", "clean": "clean validation (oracle)", "test": "test (oracle)"}
KINDS = {"true_positive_loss": "true positives", "false_positive_loss": "false positives"}
FOUND = {"roc_auc": "ROC AUC", "average_precision": "average precision", "precision": "precision", "recall": "recall"}
EPOCHS = [1, 2, 3, 5, 10, 20, 50, 100]  # at which detection is measured
WIDTH, HEIGHT = 420, 260
MOST_PANELS = 6
MOST_OF_LOSSES = 2  # models and noises, with a panel for each strategy

Panels = dict[str, Any]  # charts of altair, by the name of the panel


def effect_panels(rows: Sequence[Mapping[str, Any]], metric: str) -> Panels:
    """The change of each strategy compared with plain CE, in percent, with its 95 % interval."""
    return {
        name: _effects(panel, metric, name)
        for name, panel in _by_panel(row for row in rows if "against_baseline" in row).items()
    }


def _effects(rows: Sequence[Mapping[str, Any]], metric: str, title: str) -> Any:
    values = [
        {
            "strategy": row["strategy"],
            "change": 100 * row["against_baseline"]["relative"],
            "low": 100 * row["against_baseline"]["interval"][0],
            "high": 100 * row["against_baseline"]["interval"][1],
            "verdict": row["against_baseline"]["verdict"],
            "smallest": 100 * row["against_baseline"]["smallest_detectable"],
        }
        for row in rows
    ]
    chart = effect_layers(alt.Data(values=values), metric, "strategy")
    return chart.properties(title=title, width=WIDTH, height=28 * max(len(rows), 3))


def effect_layers(data: Any, metric: str, name: str) -> Any:
    """A point with its interval for each row of the data, and a line at zero; `name` is the column of names."""
    colour = alt.Color("verdict:N", title=None, legend=alt.Legend(orient="bottom"), scale=scale(VERDICTS))
    tooltip: list[Any] = [
        f"{name}:N", "verdict:N", _percent("change", "change %"), _percent("low", "from %"), _percent("high", "to %"),
        _percent("smallest", "smallest detectable %"),
    ]  # fmt: skip
    names = alt.Y(f"{name}:N", sort=None, title=None, axis=strategy_axis())
    base = alt.Chart(data).encode(y=names, color=colour, tooltip=tooltip)
    change = f"change of {metric}, %"
    interval = base.mark_rule(strokeWidth=3).encode(x=alt.X("low:Q", title=change), x2="high:Q")
    point = base.mark_point(filled=True, size=90, opacity=1).encode(x="change:Q")
    plain = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(strokeDash=[4, 4], color=QUIET).encode(x="zero:Q")
    return alt.layer(plain, interval, point)


def strategy_axis() -> alt.Axis:
    """An axis of strategies, with nothing of their names cut off."""
    return alt.Axis(labelLimit=300)


def noise_panels(rows: Sequence[Mapping[str, Any]], metric: str) -> Panels:
    """A metric against the share of noise that was added, a panel for each mechanism and model."""
    values: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        mechanism, _, rate = row["noise"].partition(" ")
        if rate:
            value = row["metrics"][metric]
            entry = {"strategy": row["strategy"], "rate": float(rate.removesuffix(" %")), "value": value["mean"],
                     "low": value["mean"] - value["sd"], "high": value["mean"] + value["sd"]}  # fmt: skip
            values.setdefault(f"{row['model']}, {mechanism} noise", []).append(entry)
    several = {name: entries for name, entries in values.items() if len({entry["rate"] for entry in entries}) > 1}
    return {name: _against_noise(entries, metric, name) for name, entries in several.items()}


def _against_noise(values: list[dict[str, Any]], metric: str, title: str) -> Any:
    picked = alt.selection_point(fields=["strategy"], bind="legend")
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("rate:Q", title="share of noise, %"),
        color=_strategy_colour(entry["strategy"] for entry in values),
        opacity=alt.condition(picked, alt.value(1), alt.value(0.12)),
    )
    metric_axis = alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False))
    tooltip = ["strategy:N", _percent("rate", "noise %"), alt.Tooltip("value:Q", format=".4f", title=metric)]
    lines = base.mark_line(point=True).encode(y=metric_axis, tooltip=tooltip).add_params(picked)
    spread = base.mark_rule().encode(y=alt.Y("low:Q", title=metric), y2="high:Q")
    return alt.layer(spread, lines).properties(title=title, width=WIDTH, height=HEIGHT)


def validation_panels(validations: pl.DataFrame, metric: str) -> Panels:
    """The training curves, by the criterion that is selected below the chart."""
    present = {column: name for column, name in CRITERIA.items() if validations[column].drop_nulls().len()}
    long = validations.unpivot(
        on=list(present), index=["noise", "model", "strategy", "epoch"], variable_name="criterion", value_name="value"
    ).with_columns(pl.col("criterion").replace(present))
    return {
        name: _validations(panel.drop("noise", "model"), list(present.values()), metric, name)
        for name, panel in _frames(long).items()
    }


def _validations(table: pl.DataFrame, criteria: list[str], metric: str, title: str) -> Any:
    # Offered as buttons, because a curve of the test is for looking back, never for choosing.
    criterion = alt.param(name="criterion", value=criteria[0], bind=alt.binding_radio(options=criteria, name="by "))
    picked = alt.selection_point(fields=["strategy"], bind="legend")
    return (
        alt.Chart(_data(table), title=title, width=WIDTH, height=HEIGHT)
        .mark_line()
        .encode(
            x=alt.X("epoch:Q", title="epoch", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False)),
            color=_strategy_colour(table["strategy"]),
            opacity=alt.condition(picked, alt.value(1), alt.value(0.12)),
            tooltip=["strategy:N", alt.Tooltip("epoch:Q", format=".0f"), alt.Tooltip("value:Q", format=".4f")],
        )
        .transform_filter("datum.criterion == criterion")
        .add_params(criterion, picked)
    )


def loss_panels(losses: pl.DataFrame) -> Panels:
    """The losses of true and false positives during each training, if noise is known: a panel each."""
    if "false_positive_loss" not in losses.columns:
        return {}
    known = losses.filter(pl.col("false_positive_loss").is_not_null(), pl.col("role") != "oracle")
    long = known.unpivot(
        on=list(KINDS), index=["noise", "model", "strategy", "epoch"], variable_name="kind", value_name="value"
    ).with_columns(pl.col("kind").replace(KINDS))
    return {
        f"{strategy} ({name})": _losses(part, f"{strategy} ({name})", [panel["value"].min(), panel["value"].max()])
        for name, panel in list(_frames(long).items())[:MOST_OF_LOSSES]
        for (strategy,), part in panel.partition_by("strategy", as_dict=True, maintain_order=True).items()
    }


def _losses(table: pl.DataFrame, title: str, domain: list[Any]) -> Any:
    """Losses of one strategy, with the same range for all, so that panels can be compared."""
    return (
        alt.Chart(_data(table.select("kind", "epoch", "value")), title=title, width=WIDTH, height=HEIGHT - 60)
        .mark_line()
        .encode(
            x=alt.X("epoch:Q", title="epoch", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title="cross-entropy", scale=alt.Scale(domain=domain)),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=scale({kind: colours.KINDS[kind] for kind in KINDS.values()}),
                legend=_legend(),
            ),
            tooltip=["kind:N", "epoch:Q", alt.Tooltip("value:Q", format=".4f")],
        )
    )


def selection_panels(rows: Sequence[Mapping[str, Any]], metric: str) -> Panels:
    """The test score of each strategy if its epoch were chosen by another criterion."""
    return {name: _selection(panel, metric, name) for name, panel in _by_panel(rows).items()}


def _selection(rows: Sequence[Mapping[str, Any]], metric: str, title: str) -> Any:
    values = [
        {"strategy": row["strategy"], "criterion": criterion, "value": value["mean"], "sd": value["sd"]}
        for row in rows
        for criterion, value in row["selection"].items()
    ]
    return (
        alt.Chart(alt.Data(values=values), title=title, width=WIDTH, height=28 * max(len(rows), 3))
        .mark_point(filled=True, size=80, opacity=0.9)
        .encode(
            x=alt.X("value:Q", title=f"test {metric}", scale=alt.Scale(zero=False)),
            y=alt.Y("strategy:N", sort=None, title=None, axis=strategy_axis()),
            color=alt.Color("criterion:N", title=None, scale=alt.Scale(range=list(colours.OTHERS)), legend=_legend()),
            shape="criterion:N",
            tooltip=["strategy:N", "criterion:N", alt.Tooltip("value:Q", format=".4f")],
        )
    )


def detection_panels(detection: pl.DataFrame) -> Panels:
    """How well dropping or reweighting finds known noise during training, compared with item unpopularity."""
    known = detection.filter(pl.col("group") == "all", (pl.col("score") == "weight") | (pl.col("role") == "baseline"))
    names = {"weight": pl.col("strategy"), "unpopularity": pl.lit("unpopular items first"),
             "loss": pl.concat_str(pl.lit("largest losses of "), "strategy")}  # fmt: skip
    named = pl.coalesce(pl.when(pl.col("score") == score).then(name) for score, name in names.items())
    long = known.with_columns(strategy=named).unpivot(
        on=list(FOUND), index=["noise", "model", "strategy", "epoch"], variable_name="measure", value_name="value"
    ).with_columns(pl.col("measure").replace(FOUND))  # fmt: skip
    return {name: _detection(panel.drop("noise", "model"), name) for name, panel in _frames(long).items()}


def _detection(table: pl.DataFrame, title: str) -> Any:
    measures = list(FOUND.values())
    measure = alt.param(name="measure", value=measures[0], bind=alt.binding_radio(options=measures, name=""))
    picked = alt.selection_point(fields=["strategy"], bind="legend")
    return (
        alt.Chart(_data(table), title=title, width=WIDTH, height=HEIGHT)
        .mark_line(point=True)
        .encode(
            x=alt.X("epoch:Q", title="epoch", scale=alt.Scale(type="log"), axis=alt.Axis(values=EPOCHS)),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
            color=_strategy_colour(table["strategy"]),
            opacity=alt.condition(picked, alt.value(1), alt.value(0.12)),
            tooltip=["strategy:N", "epoch:Q", alt.Tooltip("value:Q", format=".3f")],
        )
        .transform_filter("datum.measure == measure")
        .add_params(measure, picked)
    )  # fmt: skip


def _by_panel(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Rows by model and noise."""
    panels: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        panels.setdefault(panel_name(row["model"], row["noise"]), []).append(row)
    return panels


def _frames(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """A table by model and noise: only the first few, the rest is in the tables."""
    parts = table.partition_by("model", "noise", as_dict=True, maintain_order=True)
    named = {panel_name(str(model), str(noise)): part for (model, noise), part in parts.items()}
    return dict(list(named.items())[:MOST_PANELS])


def panel_name(model: str, noise: str) -> str:
    """The title of a panel."""
    return f"{model}, {noise} noise"


def _strategy_colour(names: Iterable[str]) -> alt.Color:
    return alt.Color("strategy:N", title=None, sort=None, scale=scale(strategy_colours(names)), legend=_legend())


def _legend() -> alt.Legend:
    """Below the chart; the page puts it into one column where there is no room for two."""
    return alt.Legend(orient="bottom", columns=2, labelLimit=240)


def _percent(field: str, title: str) -> alt.Tooltip:
    return alt.Tooltip(f"{field}:Q", format="+.2f", title=title)


def _data(table: pl.DataFrame) -> alt.Data:
    numbers = pl.selectors.float()
    return alt.Data(values=table.with_columns(numbers.round_sig_figs(5)).to_dicts())
