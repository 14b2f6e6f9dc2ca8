"""What every registered strategy promises."""

import pytest

from recsieve.denoisers import DENOISERS, make_denoiser
from recsieve.testing import check_denoiser


@pytest.mark.parametrize("name", DENOISERS)
def test_a_strategy_keeps_its_promises(name):
    check_denoiser(lambda context: make_denoiser(name, {}, context))
