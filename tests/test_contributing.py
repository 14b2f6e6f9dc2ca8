"""CONTRIBUTING is true: it names every layer, and its recipes keep the promises."""

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_it_names_the_layers_in_their_order():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.split(" | ") for layer in contracts[0]["layers"]]
    table = re.findall(r"^  \| (`.*?) \|", TEXT, re.MULTILINE)
    assert [sorted(re.findall(r"`(\w+)`", row)) for row in table] == [sorted(layer) for layer in layers]


@pytest.mark.parametrize("recipe", RECIPES, ids=re.compile(r"check_\w+(?=\()").findall("".join(RECIPES)))
def test_a_recipe_keeps_its_promises(recipe, monkeypatch):
    module = ModuleType("recipe")
    monkeypatch.setitem(sys.modules, "recipe", module)  # where a dataclass looks for its module
    exec(compile(recipe, "CONTRIBUTING.md", "exec"), module.__dict__)


def test_there_is_a_recipe_for_each_kind():
    checks = {"check_model", "check_learner", "check_objective", "check_denoiser"}
    assert {check for check in checks if f"\n{check}(" in "".join(RECIPES)} == checks
