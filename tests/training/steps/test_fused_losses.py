"""What kernels do with the losses of a batch."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recsieve.training.steps.fused_losses import weigh

losses = st.floats(width=32, allow_nan=False) | st.sampled_from([0.0, -0.0, 0.5, 1.0])


@given(st.lists(st.tuples(losses, st.booleans())), st.integers(0, 40))
def test_the_hardest_positives_are_dropped_as_a_stable_sort_would_and_of_equal_ones_the_first(rows, n_drop):
    values = np.array([loss for loss, _ in rows], np.float32)
    labels = np.array([liked for _, liked in rows], np.float32)
    positives = np.flatnonzero(labels)
    hardest = positives[np.argsort(-values[positives], kind="stable")][:n_drop]

    weights = np.ones(len(rows), np.float32)
    weigh(values, np.ones_like(values), labels, weights, n_drop, 0.0, False)
    assert np.flatnonzero(weights == 0).tolist() == sorted(hardest.tolist())
