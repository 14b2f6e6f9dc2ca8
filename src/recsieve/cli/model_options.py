"""The options of models, objectives and strategies on the command line: name, type, help.

Their defaults are those of the models, objectives and strategies, which are not imported here, so that `--help` is
quick. A test holds this table against the registries.
"""

from typing import Annotated, Any

import typer

from recsieve.errors import ConfigError

OPTIONS: dict[str, tuple[type, str]] = {
    "drop_positives": (float, "T-CE and controls: largest share of the positives to drop."),
    "ramp_epochs": (float, "T-CE and controls: epochs until that share is reached."),
    "max_drop_rate": (float, "T-CE, in the paper's terms: largest share of a batch to drop (ε_max)."),
    "ramp_steps": (int, "T-CE, in the paper's terms: steps until that share is reached (ε_N)."),
    "exponent": (float, "T-CE, with fidelity 'authors': the power of ε_max that the rate grows to."),
    "beta": (
        float,
        "R-CE: how strongly a large loss lowers the weight. eard: factor of the lowest losses. rp3beta: "
        "power of popularity.",
    ),
    "false_positive_weight": (float, "NR: what a regretted interaction counts as a negative, from 0 to 1."),
    "negative_weight": (float, "NR: what an item that was not met counts as a negative."),
    "reduction": (str, "eard: a mean over the batch as in the 'paper', or 'normalised' by the weights."),
    "pool_size": (int, "pld: of how many of a user's positives one is taken."),
    "choice_temperature": (float, "pld: what their losses are divided by, when one is taken."),
    "phase_epochs": (int, "fine-tuning, warm-up: epochs of the first phase."),
    "known": (float, "fine-tuning, warm-up: share of the known true positives to use."),
    "plain_epochs": (int, "eard, udt, pld: epochs before the first weights."),
    "low_temperature": (float, "udt: what the losses of users with the lowest are divided by."),
    "high_temperature": (float, "udt: what the losses of users with the highest are divided by."),
    "low_factor": (float, "udt: weight of users with the highest losses."),
    "high_factor": (float, "udt: weight of users with the lowest losses."),
    "by": (str, "truncated-by-owner, reweighted-by-owner: rates of each 'user' or each 'item'."),
    "follow": (float, "truncated-by-owner: how far rates follow shares of large losses, from 0 (all alike) to 1."),
    "bound": (float, "dcf: λ, the size of the confidence bound at first."),
    "bound_epochs": (int, "dcf: epochs until the bound is 0."),
    "time_step": (int, "dcf: epochs until its memory begins anew."),
    "relabel_ratio": (float, "dcf: share of what would be dropped that is learned as negatives instead."),
    "temperature": (float, "softmax, bsl: what scores are divided by."),
    "power": (float, "bsl: what the sum over negatives is raised to."),
    "factors": (int, "Size of the vectors."),
    "layers": (int, "lightgcn: how many steps along the graph."),
    "dropout": (float, "mf: share of a vector to leave out in training."),
    "l2": (float, "ease, ials, mf, lightgcn: how strongly large weights are held back."),
    "weights": (str, "ease: weights of interactions count in 'profiles' or only in 'targets'."),
    "alpha0": (float, "ials: what a pair counts that was not observed, beside one that was."),
    "sweeps": (int, "ials: how often both sides are solved, at most."),
    "similarity": (str, "itemknn: cosine or bm25."),
    "neighbours": (int, "itemknn, rp3beta: how many items are kept for each; 0: all."),
    "alpha": (float, "eard: factor of the highest losses. rp3beta: power of the probabilities of steps."),
    "corruption": (float, "cdae: share of a profile to leave out."),
    "activation": (str, "cdae: sigmoid, tanh, relu or identity."),
    "satisfaction_share": (float, "nmtr: what satisfaction counts beside clicks in the loss."),
    "cascade": (str, "nmtr: what the click passes on, its logit or its probability."),
}
PANEL = "Options of models, objectives and strategies"
MODEL_OPTIONS: dict[str, Any] = {
    name: Annotated[kind | None, typer.Option(help=told, rich_help_panel=PANEL)]
    for name, (kind, told) in OPTIONS.items()
}
MODEL_OPTIONS["option"] = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", help="Any option by name, as of a plug-in; repeat for several.", rich_help_panel=PANEL
    ),
]


def named_options(given: dict[str, Any]) -> dict[str, int | float | str]:
    """What was given of the above, --option NAME=VALUE among it."""
    found = dict(given)
    for text in found.pop("option", []):
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ConfigError(f"option is '{text}': give a name and a value, e.g. beta=0.2.")
        found[name.replace("-", "_")] = _number_or_text(value)
    return found


def _number_or_text(value: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
