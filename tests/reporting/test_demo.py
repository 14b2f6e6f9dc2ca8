"""The demo's comparison."""

from recsieve.display import metric_rows
from recsieve.reporting.demo import METRICS, NOISE


def test_the_demo_names_its_metrics_as_train_does():
    for name, shown in METRICS.items():
        (_, length), ((metric, _),) = metric_rows({name: 0.5})
        assert shown.lower().replace(" @", "@") == f"{metric}{length}"
    assert NOISE.startswith(METRICS["false_positives_recommended@20"].capitalize())
