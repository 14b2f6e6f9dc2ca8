import pytest
import torch
from torch.nn import functional

from recsieve.errors import ConfigError
from recsieve.models import NMTR
from recsieve.objectives import BCE, BPR
from recsieve.sampling import Batch

USERS, ITEMS = torch.tensor([0, 3, 7]), torch.tensor([5, 5, 2])


def make(small_data, **options):
    model = NMTR(small_data().csr, torch.Generator().manual_seed(0), **options)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.5, generator=torch.Generator().manual_seed(1))
    return model


def click(model):
    return model.click_output(model.user(USERS) * model.item(ITEMS)).squeeze(-1)


@pytest.mark.parametrize(("cascade", "passed_on"), [("logit", lambda x: x), ("probability", torch.sigmoid)])
def test_satisfaction_builds_on_the_prediction_of_the_click(small_data, cascade, passed_on):
    model = make(small_data, cascade=cascade)
    own = model.satisfaction_output(model.user(USERS) * model.item(ITEMS)).squeeze(-1)
    torch.testing.assert_close(model(USERS, ITEMS), passed_on(click(model)) + own)


@pytest.mark.parametrize("cascade", ["logit", "probability"])
def test_items_are_ranked_by_satisfaction(small_data, cascade):
    model = make(small_data, cascade=cascade)
    torch.testing.assert_close(model.score(USERS)[torch.arange(3), ITEMS], model(USERS, ITEMS))


def test_both_tasks_move_the_same_vectors(small_data):
    model = make(small_data)
    for logits in (click(model), model(USERS, ITEMS)):
        model.zero_grad()
        logits.sum().backward()
        assert model.user.weight.grad.coalesce().indices().flatten().tolist() == [0, 3, 7]
        assert model.item.weight.grad.coalesce().indices().flatten().tolist() == [2, 5]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"cascade": "logits"}, "did you mean 'logit'"), ({"satisfaction_share": 0.0}, "above 0 and up to 1")],
)
def test_an_option_that_does_not_exist_is_one_clear_error(small_data, options, message):
    with pytest.raises(ConfigError, match=message):
        make(small_data, **options)


def test_its_loss_is_that_of_both_tasks_over_what_was_liked_and_what_was_clicked(small_data):
    model = make(small_data, satisfaction_share=0.75)
    liked, ids = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([4, 2, -1])  # the second was clicked and regretted
    clicked = torch.tensor([1.0, 1.0, 0.0])

    def of(logits, labels):
        return functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")

    losses = model.losses(Batch(USERS, ITEMS, liked, ids), BCE())
    satisfaction = of(model(USERS, ITEMS), liked)
    torch.testing.assert_close(losses.judged, satisfaction)
    expected = 0.75 * satisfaction + 0.25 * of(click(model), clicked)
    torch.testing.assert_close(losses.minimised, expected)
    found, plain = (
        torch.autograd.grad(value.mean(), model.click_output.weight) for value in (losses.minimised, expected)
    )
    torch.testing.assert_close(found, plain)


def test_a_pairwise_objective_is_refused(small_data):
    with pytest.raises(ConfigError, match="give a pointwise objective"):
        make(small_data).losses(Batch(USERS, ITEMS, torch.ones(3), torch.arange(3)), BPR())
