import numpy as np
import pytest

from recsieve.audit.evidence import Evidence
from recsieve.audit.reasons import NOTHING, reasons_without_labels


def evidence(**given):
    """One interaction in which nothing stands out but what is given."""
    names = ("profile_fit", "held_out_logit", "mean_loss", "unpopular", "unfitting", "unexpected")
    plain = dict.fromkeys((*names, "unfitting_in_profile"), 0.0) | {"popularity": 50, "activity": 5}
    return Evidence(**{name: np.array([value]) for name, value in (plain | given).items()})


@pytest.mark.parametrize(("popularity", "who"), [(1, "this user alone"), (2, "2 users")])
def test_a_rare_item_is_told_with_who_has_it(popularity, who):
    (reason,) = reasons_without_labels(evidence(popularity=popularity, unpopular=0.98))
    assert reason == f"few users have this item: {who}; 98 % of all interactions are with more popular items"


def test_what_fits_least_in_a_long_profile_is_told_as_a_share_of_it():
    (reason,) = reasons_without_labels(evidence(activity=40, unfitting_in_profile=0.975))
    assert reason == "among the 3 % of this user's 40 interactions that fit their history least"


def test_the_two_strongest_reasons_are_told_the_strongest_first():
    (reason,) = reasons_without_labels(evidence(unpopular=0.8, unfitting=0.9, unexpected=0.99))
    first, second = reason.split("; ")
    assert first.startswith("a model that had not seen it")
    assert second.startswith("fits this user's history")


def test_where_nothing_stands_out_it_says_so():
    assert reasons_without_labels(evidence()).to_list() == [NOTHING]
