"""What every registered check of an audit promises."""

import pytest

from recsieve.audit.checks import CHECKS
from recsieve.testing import check_check


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_keeps_its_promises(name):
    check_check(CHECKS[name])
