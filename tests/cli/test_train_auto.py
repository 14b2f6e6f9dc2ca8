"""`recsieve train --denoiser auto` from a log with labels to recommendations."""

import json

from recsieve.run_folder import RunFolder


def test_a_choice_is_printed_written_on_the_page_and_used(recsieve, log, columns, tmp_path):
    run = tmp_path / "run"
    words = ("train", log, *columns, "--denoiser", "auto", "--epochs", 2, "--batch-size", 64, "--out", run)
    answer = recsieve(*words)
    assert answer.code == 0, answer.err
    choice = RunFolder(run).read_metrics()["choice"]
    assert f"auto chose {choice['chosen']}" in answer.out
    assert choice["labels"] == len(RunFolder(run).read_split().train)
    assert "mixed model" in choice["evidence"] or "popularity" in choice["evidence"]
    assert len(choice["candidates"]) == 20
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "The choice" in page
    assert "T-CE 20 %" in page
    metrics = json.loads(recsieve("evaluate", run, "--json", "--k", 5).out)
    assert metrics["recall@5"] == RunFolder(run).read_metrics()["test"]["recall@5"]
    assert recsieve(*words, "--resume").code == 0
