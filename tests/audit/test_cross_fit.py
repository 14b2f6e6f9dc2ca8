import numpy as np
import pytest
import torch

from recsieve.audit.cross_fit import cross_fitted_scores
from recsieve.data.splitting import Split
from recsieve.denoisers import KeepAll
from recsieve.errors import ConfigError
from recsieve.models import EASE, Run


@pytest.mark.parametrize("name", ["ease", "gmf"])
def test_any_registered_model_scores_what_it_has_not_seen(regretful, dynamics, name, monkeypatch):
    monkeypatch.setattr("recsieve.audit.cross_fit.EPOCHS", 1)
    scores = cross_fitted_scores(regretful, dynamics.fold, [name])[name]
    assert scores.shape == (len(regretful),)
    assert np.isfinite(scores).all()


def test_scores_are_those_of_a_model_without_the_fold(regretful, dynamics, monkeypatch):
    monkeypatch.setattr("recsieve.audit.cross_fit.BLOCK", 7 * regretful.n_items)  # several blocks of users
    scores = cross_fitted_scores(regretful, dynamics.fold, ["ease"])["ease"]
    nothing = regretful.take(slice(0, 0))
    split = Split(regretful.take(dynamics.fold != 1), nothing, nothing, nothing)
    scorer = EASE().begin(split, Run(0, lambda context: KeepAll())).scorer()
    for row in np.flatnonzero(dynamics.fold == 1)[:20]:
        expected = scorer.score(torch.tensor([int(regretful.users[row])]))[0, regretful.items[row]]
        assert scores[row] == pytest.approx(float(expected), abs=1e-5)


def test_scores_that_are_kept_are_not_fitted_again(regretful, dynamics, tmp_path, monkeypatch):
    first = cross_fitted_scores(regretful, dynamics.fold, ["ease"], cache=tmp_path)["ease"]
    monkeypatch.setattr("recsieve.audit.cross_fit._fitted", lambda *_: pytest.fail("fitted again"))
    np.testing.assert_array_equal(
        cross_fitted_scores(regretful, dynamics.fold, ["ease"], cache=tmp_path)["ease"], first
    )


def test_an_unknown_model_is_told(regretful, dynamics):
    with pytest.raises(ConfigError, match="no model 'eese'"):
        cross_fitted_scores(regretful, dynamics.fold, ["eese"])
