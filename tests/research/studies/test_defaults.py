from recsieve.models import MODELS
from research.studies.defaults import RULES


def test_the_defaults_of_a_model_are_what_its_rule_gives(small_data):
    train = small_data()
    usual = MODELS["ials"]().settled(train)
    given = RULES["ials"]["λ_u = 4, α0 = 0.1, factors by size"](train)
    assert MODELS["ials"](**given).settled(train) == usual
    assert MODELS["itemknn"](**RULES["itemknn"]["bm25, 200 neighbours"](train)) == MODELS["itemknn"]()
    assert MODELS["rp3beta"](**RULES["rp3beta"]["α = 0.6, β = 0.5, 200 neighbours"](train)) == MODELS["rp3beta"]()
