"""What is followed where the paper and its authors' released code differ."""

from typing import Literal

Fidelity = Literal["paper", "authors"]
