"""`recsieve train` on several ranks, as torchrun starts it, and what happens when one of them is lost."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from safetensors.torch import load_file

OPTIONS = ["--model", "gmf", "--epochs", 5, "--batch-size", 64, "--checkpoint-every", 5, "--factors", 4, "--json"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A log in a folder of Parquet parts."""
    random = np.random.default_rng(0)
    users, items = (random.random((50, 30)) < 0.4).nonzero()
    frame = pl.DataFrame({"user": users, "item": items}).sample(fraction=1, shuffle=True, seed=0)
    folder = tmp_path_factory.mktemp("log")
    for number in range(3):
        frame[number::3].write_parquet(folder / f"part-{number}.parquet")
    return folder


@pytest.fixture(scope="module")
def alone(parts, tmp_path_factory):
    """The run folder of one process."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    line = ["recsieve", "train", parts, "--out", folder, *OPTIONS]
    subprocess.run([sys.executable, "-m", *map(str, line)], check=True, capture_output=True)
    return folder


def results(folder):
    metrics = json.loads((folder / "metrics.json").read_text())
    del metrics["seconds"]
    return metrics["test"] | metrics["selected"]


def children(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the ranks of torchrun in /proc")
def test_a_killed_rank_is_started_again_and_the_run_ends_as_if_undisturbed(parts, alone, tmp_path):
    folder = tmp_path / "run"
    line = ["torch.distributed.run", "--nproc-per-node", 2, "--max-restarts", 2]
    line += ["-m", "recsieve", "train", parts, "--out", folder, *OPTIONS]
    torchrun = subprocess.Popen(
        [sys.executable, "-m", *map(str, line)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
    )  # fmt: skip
    checkpoint = folder / "checkpoint" / "state.safetensors"
    deadline = time.monotonic() + 500
    while not checkpoint.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(children(torchrun)[1], signal.SIGKILL)
    out, errors = torchrun.communicate(timeout=500)
    assert torchrun.returncode == 0, errors
    assert "Signal 9 (SIGKILL)" in errors or "exitcode: -9" in errors
    assert json.loads(out)["run"] == str(folder)  # said once, by the first rank
    assert results(folder) == pytest.approx(results(alone), abs=1e-4)
    one, other = load_file(alone / "model.safetensors"), load_file(folder / "model.safetensors")
    for name, weights in one.items():
        np.testing.assert_allclose(weights, other[name], atol=1e-3, err_msg=name)


def test_a_rank_that_cannot_read_its_part_stops_all_with_one_line_each(parts, tmp_path, start_ranks):
    words = ["recsieve", "train", parts, "--out", tmp_path / "run", *OPTIONS]
    elsewhere = [tmp_path / "nowhere" if word == parts else word for word in words]
    first, second = start_ranks([words, elsewhere])
    errors = [rank.communicate(timeout=500)[1].strip().splitlines() for rank in (first, second)]
    assert (first.returncode, second.returncode) == (2, 2)
    assert len(errors[1]) == 1
    assert "there is no file or folder" in errors[1][0]
    assert "rank 0 has lost the connection to the others" in errors[0][-1]


@pytest.mark.parametrize(
    "model",
    [["ials", "--denoiser", "reweighted", "--factors", 4, "--patience", 2], ["ease"], ["itemknn"]],
    ids=lambda words: words[0],
)
def test_the_run_folder_of_a_model_that_is_solved_on_two_ranks_is_that_of_one_process(
    model, parts, tmp_path, start_ranks, recsieve
):
    words = ["train", parts, "--json", "--model", *model, "--out"]
    ranks = start_ranks([["recsieve", *words, tmp_path / "ranks"]] * 2)
    said = [rank.communicate(timeout=500) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    assert said[1][0] == ""  # the first rank says it
    assert recsieve(*words, tmp_path / "alone").code == 0
    assert results(tmp_path / "ranks") == pytest.approx(results(tmp_path / "alone"), abs=1e-6)
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("alone", "ranks"))
    for name, weights in one.items():
        if name not in ("users", "items") or model[0] != "ials":  # vectors may have another sign, their products not
            np.testing.assert_allclose(other[name], weights, rtol=1e-4, atol=1e-6, err_msg=name)
    evaluated = json.loads(recsieve("evaluate", tmp_path / "ranks", "--json").out)
    assert evaluated == json.loads((tmp_path / "ranks" / "metrics.json").read_text())["test"]
    of_ranks, of_one = (
        json.loads(recsieve("recommend", tmp_path / name, "--user", 7, "--json").out) for name in ("ranks", "alone")
    )
    assert [row["item"] for row in of_ranks] == [row["item"] for row in of_one]


def test_auto_on_two_ranks_chooses_what_one_process_chooses(parts, tmp_path, start_ranks, recsieve):
    words = ["train", parts, "--trials", 4, "--candidates", "ease,ials,itemknn,popularity", "--json", "--out"]
    ranks = start_ranks([["recsieve", *words, tmp_path / "ranks"]] * 2)
    said = [rank.communicate(timeout=500) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    assert said[1] == ("", "")
    alone = json.loads(recsieve(*words, tmp_path / "alone").out)
    of_ranks = json.loads(said[0][0])
    assert of_ranks["choice"] == alone["choice"]
    assert of_ranks["test"] == alone["test"]


def test_an_audit_on_two_ranks_is_that_of_one_process(parts, tmp_path, start_ranks, recsieve):
    ranks = start_ranks([["recsieve", "audit", parts, "--out", tmp_path / "ranks", "--json"]] * 2)
    said = [rank.communicate(timeout=500) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    assert said[1][0] == ""
    assert recsieve("audit", parts, "--out", tmp_path / "alone", "--json").code == 0
    one, other = (pl.read_parquet(tmp_path / name / "audit.parquet") for name in ("alone", "ranks"))
    assert one.equals(other)


def test_the_runs_of_a_comparison_are_shared_out_and_the_first_rank_concludes(parts, tmp_path, start_ranks):
    words = ["recsieve", "compare", parts, "--strategies", "keep-all", "--plain-models", "popularity", "--seeds", 2]
    words += ["--epochs", 1, "--json", "--out", tmp_path / "out"]
    ranks = start_ranks([words] * 2)
    said = [rank.communicate(timeout=500) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    assert said[1] == ("", "")
    assert {row["model"]: row["seeds"] for row in json.loads(said[0][0])["rows"]} == {"gmf": 2, "popularity": 1}


@pytest.fixture
def two_hosts():
    """The words that lead into two network namespaces with addresses of their own, and these addresses."""
    names = [f"recsieve-{os.getpid()}-{end}" for end in "ab"]
    made = [
        *(f"ip netns add {name}" for name in names),
        f"ip link add name rs{os.getpid()}a netns {names[0]} type veth peer name rs{os.getpid()}b netns {names[1]}",
        *(f"ip -n {name} addr add 10.77.0.{n}/24 dev rs{os.getpid()}{name[-1]}" for n, name in enumerate(names, 1)),
        *(f"ip -n {name} link set rs{os.getpid()}{name[-1]} up" for name in names),
        *(f"ip -n {name} link set lo up" for name in names),
    ]
    try:
        for line in made:
            subprocess.run(line.split(), check=True, capture_output=True, text=True)
        yield [["ip", "netns", "exec", name] for name in names], ["10.77.0.1", "10.77.0.2"]
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"network namespaces cannot be made here ({getattr(error, 'stderr', '') or error})")
    finally:
        for name in names:
            if Path("/run/netns", name).exists():
                subprocess.run(["ip", "netns", "del", name], check=True)


def listening_addresses(process):
    """Where sockets listen in the network namespace of a process, once it is in there; state 0A is what listens."""
    if os.readlink(f"/proc/{process.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        return set()
    lines = [line.split() for line in Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]]
    own = [bytes.fromhex(line[1].split(":")[0]) for line in lines if line[3] == "0A"]
    return {".".join(str(byte) for byte in reversed(address)) for address in own}


def test_two_hosts_train_together_and_listen_only_on_the_way_between_them(
    parts, alone, two_hosts, tmp_path, start_ranks
):
    hosts, addresses = two_hosts
    words = ["recsieve", "train", parts, "--out", tmp_path / "run", *OPTIONS]
    first, second = start_ranks([words, words], address=addresses[0], hosts=hosts)
    listened = set()
    while second.poll() is None:
        with suppress(OSError, ProcessLookupError):
            listened |= listening_addresses(second)
        time.sleep(0.05)
    assert first.wait(timeout=100) == 0, first.stderr.read()
    assert second.returncode == 0, second.stderr.read()
    assert listened == {addresses[1]}
    assert results(tmp_path / "run") == pytest.approx(results(alone), abs=1e-4)
