import math

import pytest

from recsieve.denoisers import DCF
from recsieve.errors import ConfigError
from recsieve.testing import check_denoiser
from tests.denoisers.courses import N_INTERACTIONS, context, epochs, run

OPTIONS = {"max_drop_rate": 0.4, "ramp_steps": 6, "bound": 0.3, "bound_epochs": 5, "relabel_ratio": 0.5}


def size(epoch):
    return 0.3 * max(0.0, 1 - (epoch - 1) / 4)


def bound_of(t, kept):
    return size(t) * (t + size(t) * math.log(2 * t) / t**2) / (kept + 1 - size(t))


def damped(loss):
    return math.log(1 + loss + loss * loss / 2)


def written_out(course):
    """The paper's algorithm, one interaction after the other; gives weights, and the labels after each epoch."""
    past, kept, step, weights, labels = {}, {}, 0, [], []
    for t, batches in enumerate(course, start=1):
        if (t - 1) % 3 == 0:
            past, kept = {}, {}
        found = set()
        for rows in batches:
            step += 1
            corrected = {}
            for position, (i, _, _, loss) in enumerate(rows):
                if i >= 0:
                    past.setdefault(i, []).append(damped(loss))
                    corrected[position] = sum(past[i]) / len(past[i]) - bound_of(t, kept.get(i, 0))
            n_drop = int(0.4 * min(1, step / 6) * len(rows))
            worst = sorted(corrected, key=corrected.get, reverse=True)[:n_drop]
            for position in corrected:
                if position not in worst:
                    kept[rows[position][0]] = kept.get(rows[position][0], 0) + 1
            found |= {rows[position][0] for position in worst[: int(0.5 * len(worst))]}
            weights.append([float(position not in worst) for position in range(len(rows))])
        labels.append([float(i not in found) for i in range(N_INTERACTIONS)])
    return weights, labels


def released(course):
    """What the released code does, one place after the other."""
    before, sn, step, weights = {}, {}, 0, []
    for t, batches in enumerate(course, start=1):
        if (t - 1) % 3 == 0:
            before, sn = {}, {}
        start = 0
        for rows in batches:
            step += 1
            corrected = []
            for position, (i, _, _, loss) in enumerate(rows, start):
                mean = (before.get(position, 0.0) * t + (damped(loss) if i >= 0 else 0.0)) / (t + 1)
                before[position] = mean
                corrected.append(max(0.0, mean - bound_of(t, sn.get(position, 1))))
            rate = 0.4 * min(1.0, (step - 1) / 5)
            n = len(rows)
            ranking = sorted(range(n), key=lambda position: -corrected[position])
            n_drop = min(n - int((1 - rate) * n), sum(row[0] >= 0 for row in rows))
            highest = ranking[: n - int((1 - 0.5 * rate) * n)]
            dropped = [position for position in ranking[:n_drop] if position not in highest]
            for position in range(n):
                sn[start + position] = sn.get(start + position, 1) + (position not in highest)
            weights.append([float(position not in dropped) for position in range(n)])
            start += n
    return weights


def test_as_written_it_is_the_paper_written_out():
    given, asked = run(DCF(**OPTIONS, context=context()), epochs(8))
    weights, labels = written_out(epochs(8))
    assert given == weights
    assert [one.labels.tolist() for one in asked] == labels
    assert min(labels[-1]) == 0
    assert min(map(min, weights)) == 0


def test_as_released_it_is_the_release_written_out():
    given, asked = run(DCF(**OPTIONS, fidelity="authors", context=context()), epochs(8))
    assert given == released(epochs(8))
    assert asked == [None] * 8


def test_the_release_drops_negatives_and_the_paper_never_does():
    def dropped_negatives(fidelity):
        given, _ = run(DCF(**OPTIONS, fidelity=fidelity, context=context()), epochs(8))
        rows = [rows for batches in epochs(8) for rows in batches]
        return sum(
            w == 0 and row[0] < 0 for ws, rs in zip(given, rows, strict=True) for w, row in zip(ws, rs, strict=True)
        )

    assert dropped_negatives("paper") == 0
    assert dropped_negatives("authors") > 0


def test_the_released_one_keeps_its_promises_too():
    check_denoiser(lambda given: DCF(0.2, 4, "authors", context=given))


@pytest.mark.parametrize(
    "options", [{"relabel_ratio": 2.0}, {"bound": 1.0}, {"time_step": 0}, {"max_drop_rate": 1.0}, {"fidelity": "code"}]
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        DCF(**options, context=context())
