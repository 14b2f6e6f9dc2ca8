import json
from pathlib import Path

from research.docs.defaults import DEFAULTS, defaults_page
from research.studies.defaults import RULES

ROOT = Path(__file__).parents[3]


def test_the_documentation_says_what_the_results_say():
    results = json.loads((ROOT / "findings" / "defaults.json").read_text(encoding="utf-8"))
    assert (ROOT / "docs" / "defaults.md").read_text(encoding="utf-8") == defaults_page(results)


def test_a_default_is_one_of_the_rules_that_were_tried():
    assert all(rule in RULES[model] for model, rule in DEFAULTS.items())


def test_a_default_that_is_not_the_best_rule_is_told():
    scores = {model: dict.fromkeys(rules, 0.1) for model, rules in RULES.items()}
    scores["itemknn"]["cosine, all neighbours"] = 0.2
    page = defaults_page({"log": {"command": "run", "scores": scores}})
    assert "The rule with the best mean is: cosine, all neighbours. On every data set it reaches at least 50.0%" in page
