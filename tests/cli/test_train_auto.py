"""`recsieve train` without a model, from a log with labels to recommendations."""

import json

from recsieve.reporting.choice import choice_lines
from recsieve.storage.run_folder import RunFolder


def test_a_choice_is_printed_written_on_the_page_and_used(recsieve, log, columns, tmp_path):
    run = tmp_path / "run"
    words = ("train", log, *columns, "--candidates", "popularity,ease", "--trials", 2, "--out", run)
    answer = recsieve(*words)
    assert answer.code == 0, answer.err
    settings = RunFolder(run).read_config()["settings"]
    assert (settings["model"], settings["denoiser"]) == ("auto", "auto")
    choice = RunFolder(run).read_metrics()["choice"]
    assert f"(2 plain models planned) and chose {choice['chosen']['name']}: {choice['reason']}" in answer.out
    assert all(line in answer.out for line in choice_lines(choice))
    assert choice["labels"] == len(RunFolder(run).read_split().train)
    assert "mixed model" in choice["evidence"] or "popularity" in choice["evidence"]
    assert {"popularity", "ease"} <= {one["candidate"]["specs"][0]["model"] for one in choice["candidates"]}
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "The choice" in page
    assert choice["plain"]["name"] in page
    metrics = json.loads(recsieve("evaluate", run, "--json", "--k", 5).out)
    assert metrics["recall@5"] == RunFolder(run).read_metrics()["test"]["recall@5"]
    assert recsieve("recommend", run, "--k", 2).code == 0
    assert recsieve(*words, "--resume").code == 0
