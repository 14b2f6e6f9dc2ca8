from dataclasses import replace

import pytest

from recsieve.errors import ConfigError
from recsieve.simulation.config import WorldConfig, demo_world, like


@pytest.mark.parametrize(
    ("name", "counts", "rule"),
    [
        ("adressa", (212_231, 6_596, 419_491, 247_628), "dwell_seconds < 10"),
        ("amazon-book", (80_464, 98_663, 2_714_021, 199_475), "rating < 3"),
        ("yelp", (45_548, 57_396, 1_672_520, 260_581), "rating < 3"),
    ],
)
def test_a_world_like_one_of_the_papers_has_its_counts_and_rule(name, counts, rule):
    config = like(name)
    assert (config.n_users, config.n_items, config.n_interactions, config.n_false_positives) == counts
    assert config.rule == rule


def test_a_smaller_world_keeps_people_as_active_and_items_with_ten_interactions():
    small = like("yelp", 0.01)
    assert (small.n_users, small.n_interactions, small.n_false_positives) == (455, 16_725, 2_606)
    assert small.n_items == 1_672
    assert like("adressa", 0.25).n_items == 6_596 // 2


def test_the_noise_share_can_be_chosen():
    assert demo_world().with_noise_share(0.4).n_false_positives == 18_000
    assert demo_world().with_noise_share(0).n_false_positives == 0


def test_an_unknown_name_is_answered_with_the_one_meant():
    with pytest.raises(ConfigError, match="did you mean 'yelp'"):
        like("yelpp")
    with pytest.raises(ConfigError, match="did you mean 'clickbait'"):
        replace(demo_world(), mechanism="clickbate")
    with pytest.raises(ConfigError, match="there are: rating, dwell_seconds"):
        replace(demo_world(), signal="stars!")


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf")])
def test_a_scale_that_is_no_positive_number_is_refused(scale):
    with pytest.raises(ConfigError, match="the scale is"):
        like("yelp", scale)


def test_a_scale_that_leaves_no_room_is_refused_and_says_so():
    with pytest.raises(ConfigError, match=r"the scale 1e-05 is too small for 'adressa'"):
        like("adressa", 1e-5)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"n_users": 0}, "is empty"),
        ({"n_interactions": 1_999}, "give 2000 to 192000"),
        ({"n_interactions": 192_001}, "give 2000 to 192000"),
        ({"n_users": 5, "n_items": 6}, "or more users and items"),
        ({"n_false_positives": -1}, "n_false_positives is -1"),
        ({"n_false_positives": 45_000}, "n_false_positives is 45000"),
        ({"n_topics": 801}, "801 topics"),
        ({"topics_per_user": 0}, "0 of 16 topics"),
        ({"popularity_skew": -0.1}, "popularity_skew is -0.1"),
        ({"activity_skew": float("nan")}, "activity_skew is nan"),
    ],
)
def test_a_world_that_cannot_be_is_refused(changes, complaint):
    with pytest.raises(ConfigError, match=complaint):
        replace(demo_world(), **changes)


@pytest.mark.parametrize("share", [-0.1, 1, float("nan")])
def test_a_noise_share_beyond_0_and_1_is_refused(share):
    with pytest.raises(ConfigError, match="the noise share is"):
        demo_world().with_noise_share(share)


def test_a_world_can_be_given_by_its_counts_alone():
    assert WorldConfig(100, 50, 500, 100).rule == "rating < 3"
