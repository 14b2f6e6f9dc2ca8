import json

import polars as pl

from recsieve.experiments.config import read_config
from research.studies import audit


def test_an_audit_is_held_against_other_scores_and_not_repeated(small_data, tmp_path, monkeypatch, in_this_process):
    monkeypatch.setattr(audit, "SEEDS", 2)
    monkeypatch.setattr(audit, "LABELS", (0.0,))
    monkeypatch.setattr(audit, "FEWEST_EPOCHS", audit.RAMP_EPOCHS + 1)
    frame = small_data(40, 25, 0.4).to_frame()
    frame.with_columns(pl.col("false_positive").cast(int)).write_csv(tmp_path / "log.csv")
    (tmp_path / "tiny.toml").write_text('[data]\nsource = "log.csv"\nfalse_positive = "false_positive = 1"\n')
    for _ in range(2):
        audit.run_study(read_config(tmp_path / "tiny.toml"), tmp_path / "runs", tmp_path / "tiny.json", "the command")
    rows = json.loads((tmp_path / "tiny.json").read_text(encoding="utf-8"))["rows"]
    assert [row["seed"] for row in rows] == [0, 1]
    assert {"audit", "T-CE", "plain loss", "unpopularity"} <= rows[0]["scores"].keys()
    assert in_this_process == ["seed 0", "seed 1"]
