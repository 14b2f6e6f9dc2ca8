"""Whether to follow the paper or its authors' released code where they differ."""

from typing import Literal

Fidelity = Literal["paper", "authors"]
