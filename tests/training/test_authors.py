"""fidelity="authors" beside a plain loop that is written from what is known of the authors' code, on the same draws."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from recsieve import Recommender
from recsieve.checking import make_settings
from recsieve.data.splitting import Split
from recsieve.errors import ConfigError
from recsieve.preparation import make_learner, make_run
from recsieve.sampling import Sampler

BATCH, EPOCHS, RATE, SEED = 96, 3, 0.01, 5
MAX_DROP, RAMP, BETA = 0.2, 9, 0.25
STRATEGIES = {
    "keep-all": {},
    "truncated": {"max_drop_rate": MAX_DROP, "ramp_steps": RAMP},
    "reweighted": {"beta": BETA},
}


def gmf(w, users, items):
    return functional.linear(w["user.weight"][users] * w["item.weight"][items], w["output.weight"], w["output.bias"])


def neumf(w, users, items):
    deep = torch.cat([w["user_mlp.weight"][users], w["item_mlp.weight"][items]], dim=1)
    for layer in ("first", "deeper.0", "deeper.2"):
        deep = functional.relu(functional.linear(deep, w[f"{layer}.weight"], w[f"{layer}.bias"]))
    both = torch.cat([w["user.weight"][users] * w["item.weight"][items], deep], dim=1)
    return functional.linear(both, w["output.weight"], w["output.bias"])


def plain_weights(strategy, losses, logits, labels, count):
    """What each sample counts at iteration `count` (from 0), and what the sum is divided by."""
    weights, n = torch.ones_like(losses), len(losses)
    if strategy == "truncated":
        schedule = np.linspace(0, MAX_DROP, RAMP)
        rate = schedule[count] if count < RAMP else MAX_DROP
        by_loss_of_positives = torch.argsort(losses * labels, descending=True, stable=True)
        weights[by_loss_of_positives[: n - int((1 - rate) * n)]] = 0.0
        return weights, int(weights.sum())
    if strategy == "reweighted":
        predicted = torch.sigmoid(logits)
        weights = predicted**BETA * labels + (1 - predicted) ** BETA * (1 - labels)
    return weights, n


def plain_loop(score, strategy, weights, data):
    """One list of positives and negatives an epoch, shuffled together and cut; a plain Adam on dense tables."""
    own = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    adam, sampler, steps = torch.optim.Adam(own.values(), lr=RATE), Sampler(data, seed=SEED, layout="joint"), []
    for epoch in range(EPOCHS):
        whole = sampler.draw(epoch, 0, sampler.rows_per_epoch)
        for start in range(0, len(whole), BATCH):
            batch = whole.take(slice(start, start + BATCH))
            logits = score(own, batch.users, batch.items).view(-1)
            losses = functional.binary_cross_entropy_with_logits(
                logits.double(), batch.labels.double(), reduction="none"
            )
            counted, divisor = plain_weights(
                strategy, losses.detach().float(), logits.detach(), batch.labels, len(steps)
            )
            mean = (counted * losses).sum() / divisor
            adam.zero_grad()
            mean.backward()
            adam.step()
            steps.append((mean.item(), losses.detach().float(), counted))
    return steps, own


def begin(data, model, strategy, engine):
    options = {"factors": 8}
    settings = make_settings(
        {"model": model, "denoiser": strategy, "denoiser_options": STRATEGIES[strategy], "model_options": options,
         "engine": engine, "fidelity": "authors", "seed": SEED, "batch_size": BATCH, "epochs": EPOCHS,
         "learning_rate": RATE}
    )  # fmt: skip
    split = Split.of_training(data)
    return make_learner(settings).begin(split, make_run(settings, split))


@pytest.mark.parametrize("engine", ["fused", "lazy", "dense", "exact"])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("model", ["gmf", "neumf"])
def test_a_run_of_the_authors_is_the_plain_loop_step_by_step(small_data, monkeypatch, model, strategy, engine):
    data = small_data(40, 50)
    fitting = begin(data, model, strategy, engine)
    first = {name: weight.detach().clone() for name, weight in fitting.model.state_dict().items()}
    seen = []
    monkeypatch.setattr(fitting, "_remember", seen.append)
    while fitting.step < fitting.total:
        fitting.advance()
    fitting.optimizer.flush()
    plain, weights = plain_loop({"gmf": gmf, "neumf": neumf}[model], strategy, first, data)
    means, losses, counted = zip(*plain, strict=True)
    np.testing.assert_allclose([mean for some in seen for mean in some.means], means, rtol=2e-5)
    torch.testing.assert_close(torch.cat([some.losses for some in seen]), torch.cat(losses), rtol=2e-4, atol=2e-5)
    found = torch.cat([some.weights for some in seen])
    if strategy == "truncated":
        assert torch.equal(found, torch.cat(counted))
        assert (found == 0).sum() > 0
    torch.testing.assert_close(found, torch.cat(counted), rtol=1e-4, atol=1e-5)
    for name, weight in fitting.model.state_dict().items():
        torch.testing.assert_close(weight, weights[name].detach(), rtol=1e-3, atol=1e-4)


def test_a_pairwise_objective_refuses_the_authors_batches_in_one_line():
    with pytest.raises(ConfigError, match="shuffles positives and negatives, but bpr needs them together: give"):
        Recommender("mf", objective="bpr", fidelity="authors")


def test_a_choice_refuses_the_authors_fidelity_in_one_line():
    with pytest.raises(ConfigError, match="give a model and a strategy"):
        Recommender(fidelity="authors")


def test_the_fidelity_of_the_run_is_that_of_its_strategy_unless_that_has_its_own(small_data):
    split = Split(*([small_data()] * 4))
    for options, own in (({}, "authors"), ({"fidelity": "paper"}, "paper")):
        recommender = Recommender("gmf", "truncated", denoiser_options=options, fidelity="authors", epochs=1)
        fitting = make_learner(recommender.settings).begin(split, make_run(recommender.settings, split))
        assert fitting.loss.denoiser.fidelity == own


def test_a_test_with_repeats_and_with_users_who_have_nothing_to_find_is_measured_as_the_authors_do(small_data):
    data = small_data()
    train, test = data.take(np.arange(len(data)) % 3 > 0), data.take(np.arange(len(data)) % 3 == 0)
    noise = test.take(test.users < 2)
    test = test.take(test.users >= 2)
    twice = test.take(np.repeat(np.arange(len(test)), np.where(test.users == 3, 2, 1)))
    split = Split(train, train.take(slice(0)), twice, noise)
    found = {}
    for fidelity in ("paper", "authors"):
        recommender = Recommender("gmf", epochs=1, fidelity=fidelity, seed=0)
        found[fidelity] = recommender.fit(split).evaluate(ks=[10])
    recall = found["authors"].per_user["recall@10"]
    nobody = np.isin(found["authors"].users, noise.users)
    assert nobody.any()
    assert (recall[nobody] == 0).all()
    assert np.isnan(found["paper"].per_user["recall@10"][nobody]).all()
    assert found["authors"].overall["recall@10"] == pytest.approx(recall.mean())
    assert recall[found["authors"].users == 3].max() <= 0.5
