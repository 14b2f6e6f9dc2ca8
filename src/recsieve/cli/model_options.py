"""The options of models, objectives and strategies on the command line: name, type, help.

Their defaults are defined by the models, objectives and strategies. These are not imported here, so that `--help` is
quick. A test compares this table with the registries.
"""

from typing import Annotated, Any

import typer

from recsieve.errors import ConfigError

OPTIONS: dict[str, tuple[type, str]] = {
    "drop_positives": (float, "T-CE and controls: maximum share of the positives to drop."),
    "ramp_epochs": (float, "T-CE and controls: epochs until that share is reached."),
    "max_drop_rate": (float, "T-CE, as in the paper: maximum share of a batch to drop (ε_max)."),
    "ramp_steps": (int, "T-CE, as in the paper: steps until that share is reached (ε_N)."),
    "exponent": (float, "T-CE, with fidelity 'authors': power of ε_max that the rate grows to."),
    "beta": (
        float,
        "R-CE: how strongly a large loss lowers the weight. eard: factor for the lowest losses. rp3beta: power of "
        "popularity.",
    ),
    "false_positive_weight": (float, "NR: weight of a regretted interaction as a negative, from 0 to 1."),
    "negative_weight": (float, "NR: weight of a sampled negative."),
    "reduction": (str, "eard: divide by the batch size as in the 'paper', or 'normalised' by the weights."),
    "pool_size": (int, "pld: number of a user's positives to choose from."),
    "choice_temperature": (float, "pld: temperature of that choice."),
    "phase_epochs": (int, "fine-tuning, warm-up: epochs of the first phase."),
    "known": (float, "fine-tuning, warm-up: share of the known true positives to use."),
    "plain_epochs": (int, "eard, udt, pld: epochs before the first weights."),
    "low_temperature": (float, "udt: temperature for users with the lowest losses."),
    "high_temperature": (float, "udt: temperature for users with the highest losses."),
    "low_factor": (float, "udt: weight of users with the highest losses."),
    "high_factor": (float, "udt: weight of users with the lowest losses."),
    "by": (str, "truncated-by-owner, reweighted-by-owner: a rate for each 'user' or 'item'."),
    "follow": (
        float,
        "truncated-by-owner: how strongly rates depend on the share of large losses, from 0 (equal rates) to 1.",
    ),
    "bound": (float, "dcf: λ, the initial size of the confidence bound."),
    "bound_epochs": (int, "dcf: epochs until the bound is 0."),
    "time_step": (int, "dcf: epochs until its memory is reset."),
    "relabel_ratio": (float, "dcf: share of the dropped positives to relabel as negatives."),
    "temperature": (float, "softmax, bsl: temperature."),
    "power": (float, "bsl: power of the sum over negatives."),
    "factors": (int, "Number of factors (size of the embeddings)."),
    "layers": (int, "lightgcn: number of graph convolutions."),
    "dropout": (float, "mf: dropout rate."),
    "l2": (float, "ease, ials, mf, lightgcn: L2 regularisation."),
    "weights": (str, "ease: use interaction weights in 'profiles' or only in 'targets'."),
    "alpha0": (float, "ials: weight of an unobserved pair relative to an observed one."),
    "sweeps": (int, "ials: maximum number of sweeps over users and items."),
    "similarity": (str, "itemknn: cosine or bm25."),
    "neighbours": (int, "itemknn, rp3beta: number of neighbours for each item; 0: all."),
    "alpha": (float, "eard: factor for the highest losses. rp3beta: power of the transition probabilities."),
    "corruption": (float, "cdae: share of a profile to corrupt."),
    "activation": (str, "cdae: activation: sigmoid, tanh, relu or identity."),
    "satisfaction_share": (float, "nmtr: share of satisfaction in the loss."),
    "cascade": (str, "nmtr: what the click passes to satisfaction: logit or probability."),
}
PANEL = "Options of models, objectives and strategies"
MODEL_OPTIONS: dict[str, Any] = {
    name: Annotated[kind | None, typer.Option(help=told, rich_help_panel=PANEL)]
    for name, (kind, told) in OPTIONS.items()
}
MODEL_OPTIONS["option"] = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Any option by name, for example of a plug-in; repeat for several.",
        rich_help_panel=PANEL,
    ),
]


def named_options(given: dict[str, Any]) -> dict[str, int | float | str]:
    """The options that were given, including --option NAME=VALUE."""
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
