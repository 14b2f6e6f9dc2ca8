"""What every registered objective promises."""

import pytest

from recsieve.objectives import OBJECTIVES, make_objective
from recsieve.testing import check_objective


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_objective_keeps_its_promises(name):
    check_objective(make_objective(name, {}))
