"""Epochs of training: the same batches through both ways, then the time of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from benchmarks import plain
from benchmarks.measure import Agreement, Case, Timing, median_of, seconds
from recsieve.data.interactions import Interactions
from recsieve.denoisers import Denoiser, KeepAll, Truncated
from recsieve.losses import DenoisedLoss
from recsieve.models import MODELS, Model
from recsieve.objectives import BCE, Objective
from recsieve.sampling import Batch, Sampler
from recsieve.training import Driver, GradientFitting, TrainingPlan
from recsieve.training.gradient import layout_of
from recsieve.training.steps import make_stepper

PLAIN_MODELS: dict[str, Callable[..., nn.Module]] = {"gmf": plain.GMF, "neumf": plain.NeuMF}
LOSS_LIMIT = {"gmf": 1e-6, "neumf": 1e-5, "cdae": 1e-5}
# NeuMF is chaotic: at 1e-3 and from short vectors, a change of the last bit of its weights changes the loss by 1e-3
# within 100 steps, with torch alone. Slower, from long vectors, and for 100 steps, rounding stays rounding.
AGREE_STEPS = {"gmf": 300, "neumf": 100, "cdae": 50}
AGREE_RATE = {"gmf": plain.LEARNING_RATE, "neumf": plain.LEARNING_RATE / 10, "cdae": plain.LEARNING_RATE}
WARM_UP_STEPS = 5


class Epoch:
    """An epoch of GMF or NeuMF with T-CE: a DataLoader and dense Adam against our engine."""

    def __init__(self, name: str) -> None:
        self.name = name

    def agree(self, case: Case) -> Agreement:
        steps = min(case.effort.agree_steps, AGREE_STEPS[self.name])
        model = grown_model(self.name, case.data)
        other = plain_copy(self.name, model)
        batches = batches_of(model, case.data, steps)
        rows = ([batch.users.long(), batch.items.long(), batch.labels] for batch in batches)
        # The ramp is as long as the comparison, so that T-CE reaches its full rate.
        theirs = list(plain.train(other, rows, ramp_steps=steps, lr=AGREE_RATE[self.name]))
        return same_losses(
            self.name, model, Truncated(plain.MAX_DROP_RATE, ramp_steps=steps, fidelity="authors"), batches, theirs
        )

    def plain(self, case: Case) -> Timing:
        dataset = plain.PairDataset(ratings_of(case.data))
        sampling = seconds(dataset.sample_negatives)
        return plain_epoch(PLAIN_MODELS[self.name](case.data.n_users, case.data.n_items), dataset, sampling, case)

    def ours(self, case: Case) -> Timing:
        return our_epoch(self.name, case, Truncated(plain.MAX_DROP_RATE, ramp_steps=plain.RAMP_STEPS))


class CdaeEpoch:
    """An epoch of CDAE: whole rows of all items against sampled outputs."""

    def agree(self, case: Case) -> Agreement:
        """Train both on sampled outputs, without the corruption, which is random."""
        model = new_model("cdae", case.data, corruption=0.0)
        other = plain_copy("cdae", model)
        batches = batches_of(model, case.data, min(case.effort.agree_steps, AGREE_STEPS["cdae"]))
        return same_losses("cdae", model, KeepAll(), batches, list(_train_on_sampled(other, batches)))

    def plain(self, case: Case) -> Timing:
        data, steps = case.data, case.effort.cdae_steps
        model = plain.CDAE(sparse_rows(data))
        batches = torch.randperm(data.n_users).split(plain.BATCH)
        taken = batches[:steps]
        training = plain.train_cdae(model, [batches[0], *taken])
        next(training)  # to warm up
        each = seconds(lambda: list(training)) / sum(len(users) for users in taken)
        return Timing(each * data.n_users, f"{len(taken)} of {len(batches)} steps of {plain.BATCH:,} users")

    def ours(self, case: Case) -> Timing:
        return our_epoch("cdae", case, KeepAll(), batch_size=rows_of_users(case.data, plain.BATCH))


def rows_of_users(data: Interactions, n_users: int) -> int:
    """How many rows, positives and negatives, so many users have on average."""
    return round(2 * n_users * len(data) / data.n_users)


def new_model(name: str, data: Interactions, **options: float) -> Model:
    return MODELS[name](data.csr, torch.Generator().manual_seed(0), **options)


def grown_model(name: str, data: Interactions) -> Model:
    """A model with vectors as long as training makes them: as they start, all scores are almost the same."""
    model = new_model(name, data)
    with torch.no_grad():
        for table in model.children():
            if isinstance(table, nn.Embedding):
                table.weight *= 30
    return model


def our_epoch(
    name: str,
    case: Case,
    denoiser: Denoiser,
    batch_size: int = plain.BATCH,
    objective: Objective | None = None,
    **options: float,
) -> Timing:
    """An epoch in the library's own loop, with its sampling, its history and its snapshot of the weights."""

    def run(data: Interactions) -> None:
        run_epoch(new_model(name, data, **options), data, denoiser, batch_size, objective or BCE())

    run(case.data.take(slice(4 * plain.BATCH)))  # compiles the kernels
    return median_of(case.effort.repeats, lambda: run(case.data))


def run_epoch(model: Model, data: Interactions, denoiser: Denoiser, batch_size: int, objective: Objective) -> None:
    plan = TrainingPlan(epochs=1, batch_size=batch_size, learning_rate=plain.LEARNING_RATE)
    fitting = GradientFitting(model, objective, data, plan, lambda context: denoiser)
    for _ in Driver(fitting, patience=1).run(lambda fitting: 0.0):
        pass


def plain_epoch(model: nn.Module, dataset: plain.PairDataset, sampling: float, case: Case) -> Timing:
    """Extrapolate an epoch from some steps; the sampling before it was measured whole."""
    loader = plain.loader(dataset)
    list(islice(plain.train(model, loader), WARM_UP_STEPS))  # torch imports a second's worth at the first step
    training = plain.train(model, loader)
    starting = seconds(lambda: next(training))  # shuffles the epoch and starts the moments
    steps = min(case.effort.plain_steps, len(loader) - 1)
    each = seconds(lambda: list(islice(training, steps))) / steps
    parts = {"sampling": sampling, "starting": starting, "steps": each * (len(loader) - 1)}
    return Timing(sum(parts.values()), f"{steps} of {len(loader):,} steps", parts=parts)


def batches_of(model: Model, data: Interactions, steps: int) -> list[Batch]:
    """The first batches that ours would train on, over as many epochs as it takes."""
    sampler = Sampler(data, seed=0, layout=layout_of(model, BCE(), "paper"))

    def endless() -> Iterator[Batch]:
        epoch = 0
        while True:
            yield from sampler.batches(epoch, plain.BATCH)
            epoch += 1

    return list(islice(endless(), steps))


def same_losses(name: str, model: Model, denoiser: Denoiser, batches: list[Batch], theirs: list[float]) -> Agreement:
    """Train ours on the same batches and compare the loss of each step."""
    model.train()
    stepper, _ = make_stepper(model, DenoisedLoss(denoiser).train(), AGREE_RATE[name], "auto")
    ours = [stepper(batch).means[0] for batch in batches]
    furthest = float(np.abs(np.array(ours) - np.array(theirs)).max())
    return Agreement(f"largest difference of the loss in {len(ours)} steps", furthest, LOSS_LIMIT[name])


def plain_copy(name: str, model: Model) -> nn.Module:
    """The plain model with the weights of ours."""
    weights = {key: weight.clone() for key, weight in model.state_dict().items()}
    if name != "cdae":
        copy = PLAIN_MODELS[name](model.n_users, model.n_items)
        copy.load_state_dict(weights)
        return copy
    offsets, items = model.offsets.numpy(), model.items.numpy()
    profiles = sparse.csr_matrix((np.ones(len(items), np.float32), items, offsets), (model.n_users, model.n_items))
    copy = plain.CDAE(profiles, corruption=model.corruption)
    copy.load_state_dict(
        {
            "user.weight": weights["user.weight"],
            "encoder.weight": weights["encoder.weight"].T,
            "encoder.bias": weights["hidden_bias"],
            "decoder.weight": weights["decoder.weight"],
            "decoder.bias": weights["item_bias.weight"].squeeze(-1),
        }
    )
    return copy


def _train_on_sampled(model: plain.CDAE, batches: Iterable[Batch]) -> Iterator[float]:
    """Train the auto-encoder of whole rows on a batch's pairs alone."""
    optimizer = torch.optim.Adam(model.parameters(), lr=AGREE_RATE["cdae"])
    for batch in batches:
        users, inverse = batch.users.long().unique(return_inverse=True)
        logits: Tensor = model(users, model.rows(users))[inverse, batch.items.long()]
        loss = functional.binary_cross_entropy_with_logits(logits, batch.labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def sparse_rows(data: Interactions) -> sparse.csr_matrix:
    ones = np.ones(len(data), np.float32)
    return sparse.csr_matrix((ones, (data.users, data.items)), (data.n_users, data.n_items))


def ratings_of(data: Interactions) -> plain.Ratings:
    """What the plain way would have read, without the time it takes to read it."""
    pairs = np.stack([data.users, data.items], axis=1).tolist()
    flags = (~data.is_false_positive).astype(int).tolist()
    return plain.Ratings(pairs, flags, sparse_rows(data).todok())
