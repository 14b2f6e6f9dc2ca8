"""What the result files say to the paper's claims: a verdict, and the numbers behind it, by data set and model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from research.docs.findings import read_results
from research.docs.paper_results import ROOT, entries, models_in
from research.paper.reports.report import SELECTIONS, metric_name, model_name, percent
from research.paper.reports.table1 import clean_change, steps_told
from research.paper.reports.verdicts import both_selections, judged, p_value

CONFIRMED, REFUTED, OPEN = "confirmed", "refuted", "not decidable here"
VERDICTS = {"better": CONFIRMED, "worse": REFUTED, "no difference found": OPEN}
MODELS = ("gmf", "neumf", "cdae")
TITLES = {"table3": "Table 3", "tuned": "Table 3 with tuned settings"}
UNTRAINED = math.log(2)  # the cross-entropy of a model that gives every pair the same probability
STUDY = "recsieve compare"  # 5 seeds, to convergence, chosen by validation NDCG@20

Row = Mapping[str, Any]
Span = tuple[float, float]


class Finding(NamedTuple):
    """What one data set says of a claim."""

    data: str
    model: str
    verdict: str
    numbers: str
    span: Span | None = None  # of the change in percent, where users and seeds were tested


def against_ce(method: str) -> list[Finding]:
    """A strategy against plain CE: tested in comparisons and in Table 3."""
    return [*_compared("strategy", method), *_tables("table3", method), *_tables("tuned", method)]


def clean_training() -> list[Finding]:
    """Clean training against normal training, tested in comparisons and in Table 1."""
    found = _compared("oracle")
    for entry in entries("table1"):
        verdicts = [judged(entry["models"], by) for by in SELECTIONS]
        for model, *tested in zip(entry["models"], *verdicts, strict=True):
            changes = [clean_change(model, by) for by in SELECTIONS]
            numbers = " and ".join(
                f"NDCG@20 {percent(change)} by {title}"
                for change, title in zip(changes, SELECTIONS.values(), strict=True)
            )
            found.append(_of_table(entry, model["model"], f"Table 1, {steps_told(model)}: {numbers}", tested))
    return found


def _compared(role: str, strategy: str | None = None) -> list[Finding]:
    found = []
    for data, result in read_results(ROOT / "findings" / "results").items():
        metric = result["config"]["metric"]
        for row in result["rows"]:
            if row["noise"] != "natural" or row["role"] != role or strategy not in (None, row["strategy"]):
                continue
            tested = row["against_baseline"]
            span = 100 * tested["interval"][0], 100 * tested["interval"][1]
            control = row.get("against_popularity", {}).get("verdict")
            beside = f"; compared with the popularity control: {control}" if control else ""
            numbers = (
                f"{STUDY}: {metric_name(metric)} {percent(100 * tested['relative'])} "
                f"({percent(span[0])} to {percent(span[1])}){beside}"
            )
            found.append(Finding(data, row["model"], VERDICTS[tested["verdict"]], numbers, span))
    return found


def _tables(name: str, method: str) -> list[Finding]:
    found, title = [], TITLES[name]
    for entry in entries(name):
        rows = entry["improvement"]
        verdicts = [judged(rows, by) for by in SELECTIONS]
        for row, *tested in zip(rows, *verdicts, strict=True):
            if row["method"] == method:
                numbers = f"{title}: RI {both_selections(row['ours'])}"
                found.append(_of_table(entry, row["model"], numbers, tested))
    return found


def _of_table(entry: Row, model: str, numbers: str, tested: Sequence[Row | None]) -> Finding:
    """A verdict where users were tested and both selections agree on it."""
    known = [one for one in tested if one is not None]
    if not known:
        return Finding(entry["data"]["name"], model, OPEN, f"{numbers}; one seed")
    verdicts = {VERDICTS[one["verdict"]] for one in known}
    told = ", ".join(
        f"{metric_name(one['metric'])} {percent(one['relative'])}, p {p_value(one['adjusted'])}" for one in known
    )
    span = min(one["interval"][0] for one in known), max(one["interval"][1] for one in known)
    return Finding(
        entry["data"]["name"], model, verdicts.pop() if len(verdicts) == 1 else OPEN,
        f"{numbers}; tested: {told}; {known[0]['seeds']} seeds, {known[0]['users']:,} users", span,
    )  # fmt: skip


def truncating_over_reweighting() -> list[Finding]:
    """T-CE against R-CE: decided where the intervals of their changes against CE lie apart."""
    others = {(one.data, one.model, one.numbers.split(":")[0]): one for one in against_ce("R-CE")}
    found = []
    for one in against_ce("T-CE"):
        other = others.get((one.data, one.model, one.numbers.split(":")[0]))
        if other is None:
            continue
        verdict = OPEN
        if one.span and other.span:
            verdict = CONFIRMED if one.span[0] > other.span[1] else REFUTED if one.span[1] < other.span[0] else OPEN
        found.append(Finding(one.data, one.model, verdict, f"T-CE {one.numbers}; R-CE {other.numbers}"))
    return found


def order_of_gains(model: str, *, largest: bool) -> list[Finding]:
    """Whether a model gains most, or least, of the three: an order of means, which is not tested."""
    found = []
    for entry in entries("table3"):
        gains = {(row["method"], row["model"]): row["ours"] for row in entry["improvement"]}
        if len({name for _, name in gains}) < 3:
            continue
        holds = [
            _extreme({name: gains[method, name][by]["mean"] for name in MODELS}, largest=largest) == model
            for method in ("T-CE", "R-CE")
            for by in SELECTIONS
        ]
        told = "; ".join(
            f"{method} " + ", ".join(
                f"{model_name(name)} {percent(gains[method, name]['own-loss']['mean'])} / "
                f"{percent(gains[method, name]['ndcg@20']['mean'])}"
                for name in MODELS
            )
            for method in ("T-CE", "R-CE")
        )  # fmt: skip
        told += _of_whom(entry["improvement"])
        found.append(Finding(entry["data"]["name"], model, _by_all(holds), f"RI for the two selections: {told}"))
    return found


def early_gap() -> list[Finding]:
    """How much larger the loss of false positives is in the first fifth of the training, and what popularity leaves."""
    found = []
    for entry, model in models_in("phenomenon"):
        early = max(
            (row for row in model["course"] if row["step"] <= model["last"]["step"] / 5), key=lambda row: row["gap"]
        )
        share = early["gap"] / early["true_positives"]
        untrained = early["true_positives"] > 0.9 * UNTRAINED
        numbers = (
            f"by at most {early['gap']:z.3f} ({100 * share:.0f} % of the loss of true positives), "
            f"{early['gap_same_popularity']:z.3f} compared with equally popular items"
        )
        numbers += f"; true positives are still at {early['true_positives']:.3f}" if untrained else ""
        verdict = CONFIRMED if share > 0.05 else OPEN if untrained else REFUTED
        found.append(Finding(entry["data"]["name"], model["model"], verdict, numbers))
    return found


def memorised() -> list[Finding]:
    """Whether the losses of both end close to each other under normal training, or go further apart."""
    found = []
    for entry, model in models_in("phenomenon"):
        last = model["last"]
        half = min(model["course"], key=lambda row: abs(row["step"] - last["step"] / 2))
        end, before = (row["gap"] / row["true_positives"] for row in (last, half))
        verdict = CONFIRMED if abs(end) <= 0.1 else REFUTED if end > 1.1 * before else OPEN
        numbers = (
            f"after {last['step']:,} steps: false positives {last['false_positives']:.3f}, true positives "
            f"{last['true_positives']:.3f}; the gap is {100 * end:.0f} % of the latter, halfway {100 * before:.0f} %"
        )
        found.append(Finding(entry["data"]["name"], model["model"], verdict, numbers))
    return found


def loss_of_false_positives(method: str) -> list[Finding]:
    """Figure 7: whether it rises under T-CE, or falls and stays above the training loss under R-CE."""
    found = []
    for entry in entries("figure7"):
        under_ce = {panel["model"]: panel["curve"][-1] for panel in entry["panels"] if panel["method"] == "CE"}
        for panel in entry["panels"]:
            if panel["method"] != method:
                continue
            known = [row for row in panel["curve"] if row["false_positive_loss"] is not None]
            last, lowest = known[-1], min(row["false_positive_loss"] for row in known)
            end = last["false_positive_loss"]
            rises = end > 1.1 * lowest
            falls = last["loss"] < known[0]["loss"]
            holds = rises and falls if method == "T-CE" else not rises and end > last["loss"]
            numbers = (
                f"falls to {lowest:.3f}, ends at {end:.3f} (under CE "
                f"{under_ce[panel['model']]['false_positive_loss']:.3f}); true positives end at "
                f"{last['true_positive_loss']:.3f}, the training loss at {last['loss']:.3f}"
            )
            found.append(Finding(entry["data"]["name"], panel["model"], CONFIRMED if holds else REFUTED, numbers))
    return found


def discarded(measure: str, low: float, high: float) -> list[Finding]:
    """Figure 9: the recall or precision of what T-CE discards at the end, beside chance."""
    found = []
    for entry, model in models_in("figure9"):
        before, last = model["curve"][-2:]
        rising = measure == "recall" and last["paper_random_recall"] > before["paper_random_recall"]
        numbers = f"{last[measure]:.0%}, at random {last[f'random_{measure}']:.0%}"
        numbers += "; the drop rate still rises" if rising else ""
        verdict = OPEN if rising else CONFIRMED if low <= last[measure] <= high else REFUTED
        found.append(Finding(entry["data"]["name"], model["model"], verdict, numbers))
    return found


def best_between(symbol: str, low: float, high: float) -> list[Finding]:
    """Figure 8: where the best value of a hyperparameter lies, under both selections."""
    found = []
    for entry in entries("figure8"):
        metric = entry["metrics"][2]
        rows = [row for row in entry["rows"] if row["hyperparameter"] == symbol]
        best = {
            by: max((row for row in rows if row["select_by"] == by), key=lambda row: row[metric]["mean"])
            for by in SELECTIONS
        }
        inside = [low <= best[by]["value"] <= high for by in SELECTIONS]
        gains = all(best[by][metric]["mean"] > _plain(entry, by, metric) for by in SELECTIONS)
        numbers = "; ".join(
            f"best {symbol} = {best[by]['value']:g} ({metric_name(metric)} {best[by][metric]['mean']:.4f}, CE "
            f"{_plain(entry, by, metric):.4f}) by {title}"
            for by, title in SELECTIONS.items()
        )
        verdict = OPEN if all(inside) and not gains else _by_all(inside)
        found.append(Finding(entry["data"]["name"], rows[0]["model"], verdict, numbers))
    return found


def _plain(entry: Row, select_by: str, metric: str) -> float:
    return float(next(row[metric]["mean"] for row in entry["plain"] if row["select_by"] == select_by))


def groups_gain(fewest: int, *, least_active: bool = False) -> list[Finding]:
    """Figure 6: whether every group with enough users gains, or the least active one, by both strategies."""
    found = []
    for entry in entries("figure6"):
        metric = entry["metrics"][2]
        for model in dict.fromkeys(row["model"] for row in entry["groups"]):
            rows = [row for row in entry["groups"] if row["model"] == model and row["users"] >= fewest]
            sparsest = min(row["group"] for row in rows)
            rows = [row for row in rows if row["group"] == sparsest or not least_active]
            changes = _group_changes(rows, metric)
            verdict = CONFIRMED if min(changes.values()) > 0 else REFUTED if _loses_twice(changes) else OPEN
            told = "; ".join(f"{method} {_of_groups(changes, method)}" for method in ("T-CE", "R-CE"))
            numbers = f"{metric_name(metric)} for the two selections: {told}"
            found.append(Finding(entry["data"]["name"], model, verdict, numbers))
    return found


def _of_groups(changes: Mapping[tuple[str, str, int], float], method: str) -> str:
    """The changes of a strategy under either selection, from the least active group on."""
    groups = sorted({group for _, _, group in changes})
    return ", ".join(" / ".join(percent(changes[method, by, group]) for by in SELECTIONS) for group in groups)


def _group_changes(rows: Iterable[Row], metric: str) -> dict[tuple[str, str, int], float]:
    means = {(row["method"], row["select_by"], row["group"]): row[metric]["mean"] for row in rows}
    return {
        (method, by, group): 100 * (mean / means["CE", by, group] - 1)
        for (method, by, group), mean in means.items()
        if method != "CE"
    }


def _loses_twice(changes: Mapping[tuple[str, str, int], float]) -> bool:
    """Whether a group loses by the same strategy under every selection."""
    pairs = {(method, group) for method, _, group in changes}
    return any(all(changes[method, by, group] < 0 for by in SELECTIONS) for method, group in pairs)


def told_of_regret() -> tuple[list[Finding], list[Finding]]:
    """Table 4: NMTR and NR against CE, and against both strategies."""
    above, below = [], []
    for entry in entries("table4"):
        gains = {row["method"]: row["ours"] for row in entry["improvement"]}
        for row in entry["improvement"]:
            if row["method"] in ("T-CE", "R-CE"):
                continue
            name, ours = f"{model_name(row['model'])}+{row['method']}", row["ours"]
            verdicts = [judged(entry["improvement"], by)[entry["improvement"].index(row)] for by in SELECTIONS]
            above.append(_of_table(entry, name, f"RI {both_selections(ours)}", verdicts))
            lower = [ours[by]["mean"] < gains[method][by]["mean"] for by in SELECTIONS for method in ("T-CE", "R-CE")]
            numbers = "; ".join(
                f"by {title}: {percent(ours[by]['mean'])}, T-CE {percent(gains['T-CE'][by]['mean'])}, R-CE "
                f"{percent(gains['R-CE'][by]['mean'])}"
                for by, title in SELECTIONS.items()
            )
            below.append(Finding(entry["data"]["name"], name, _by_all(lower), numbers))
    return above, below


def worst_model(model: str) -> list[Finding]:
    """Table 3: whether a model is the worst of the three under plain CE; models are not tested against each other."""
    found = []
    for entry in entries("table3"):
        cells = {cell["model"]: cell["ours"] for cell in entry["cells"] if cell["method"] == "CE"}
        if len(cells) < 3:
            continue
        metric = entry["metrics"][2]
        lowest = [
            _extreme({name: cells[name][by][metric]["mean"] for name in MODELS}, largest=False) == model
            for by in SELECTIONS
        ]
        numbers = ", ".join(
            f"{model_name(name)} {cells[name]['own-loss'][metric]['mean']:.4f} / "
            f"{cells[name]['ndcg@20'][metric]['mean']:.4f}"
            for name in MODELS
        )
        numbers = f"{metric_name(metric)} for the two selections: {numbers}{_of_whom(entry['improvement'])}"
        found.append(Finding(entry["data"]["name"], model, _by_all(lowest), numbers))
    return found


def _of_whom(rows: Sequence[Row]) -> str:
    """For how many users models were ranked, where it was not for the same."""
    known = zip(rows, judged(rows, "own-loss"), strict=True)
    users = {row["model"]: tested["users"] for row, tested in known if tested is not None}
    if len(set(users.values())) < 2:
        return ""
    return "; of " + ", ".join(f"{n:,} users with {model_name(name)}" for name, n in users.items())


def _extreme(values: Mapping[str, float], *, largest: bool) -> str:
    return (max if largest else min)(values, key=lambda name: values[name])


def _by_all(holds: Sequence[bool]) -> str:
    """The verdict on what should hold in every way."""
    return CONFIRMED if all(holds) else OPEN if any(holds) else REFUTED
