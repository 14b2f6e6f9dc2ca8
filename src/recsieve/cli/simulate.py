"""recsieve simulate"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from recsieve.cli.options import Seed


def simulate(
    out: Annotated[Path, typer.Option(help="Folder for the files; it must be new or empty.")],
    like: Annotated[
        str | None,
        typer.Option(help="Use the counts of the paper's Table 2: adressa, amazon-book or yelp. [a small shop]"),
    ] = None,
    scale: Annotated[float, typer.Option(help="Scale the data by this factor.")] = 1.0,
    noise: Annotated[float | None, typer.Option(help="Share of false positives, from 0 to below 1.")] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="What causes most of the noise: clickbait, position or random.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Simulate a log with known true preferences, as train, validation and test files."""
    from recsieve.errors import ConfigError
    from recsieve.simulation.config import demo_world
    from recsieve.simulation.config import like as shaped_like
    from recsieve.simulation.simulate import simulate as make_world
    from recsieve.simulation.world import write_world

    if like is None and scale != 1.0:
        raise ConfigError(f"scale is {scale}, but there is nothing to scale: give --like as well.")
    config = demo_world() if like is None else shaped_like(like, scale)
    if noise is not None:
        config = config.with_noise_share(noise)
    if mechanism is not None:
        config = replace(config, mechanism=mechanism)
    write_world(make_world(config, seed), out)
    typer.echo(
        f"{config.n_users:,} users, {config.n_items:,} items, {config.n_interactions:,} training interactions, "
        f"{config.n_false_positives:,} of them false positives: {out}\n"
        f"next: recsieve train {out} --false-positive '{config.rule}'"
    )
