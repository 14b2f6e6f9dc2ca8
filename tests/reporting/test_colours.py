from recsieve.reporting.colours import NOISE, OTHERS, STRATEGIES, strategy_colours


def test_a_strategy_has_the_same_colour_whatever_stands_beside_it():
    few, many = (
        strategy_colours(["T-CE", "mine"]),
        strategy_colours(["CE", "T-CE", "R-CE", "mine", "random drop as T-CE"]),
    )
    assert {name: many[name] for name in few} == few


def test_clean_training_has_a_colour_of_its_own():
    assert strategy_colours(["R-CE", "clean training (oracle)"])["clean training (oracle)"] == "#56b4e9"


def test_no_two_strategies_share_a_colour_and_none_has_that_of_noise():
    names = ["CE", "T-CE", "random drop as T-CE", "random drop as T-CE 0.2", "T-CE 0.2", "mine", "auto"]
    colours = strategy_colours(names)
    assert len(set(colours.values())) == len(names)
    assert NOISE not in {*STRATEGIES.values(), *OTHERS}
