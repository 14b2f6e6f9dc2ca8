"""The service under load, for long, and under requests that make no sense; one part at a time.

python -m benchmarks.serving load-ml-1m | load-yelp | soak | fuzz | lists [--quiet] [--requests N] [--seconds S]

The results are put into benchmarks/results/serving.json. Times count where nothing else ran, which --quiet says.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.http_load import exchange
from benchmarks.inputs import load as load_shape
from benchmarks.inputs import prepare
from benchmarks.report import describe_machine
from recsieve import Recommender
from recsieve.data.splitting import split_interactions

ROOT = Path(__file__).parents[1]
RESULT, CACHE = ROOT / "benchmarks" / "results" / "serving.json", ROOT / "build" / "bench"
TOGETHER = (1, 5, 500)  # users in a request; of five, several requests that wait are ranked for at once
CONNECTIONS, FACTORS, TOKEN = (1, 8, 64), 64, "a-token-of-benchmarks"
RELOAD_EVERY, KILLS_EVERY, SETTLED, RELOAD_EVERY_FUZZED = 2_000, 50, 10_000, 200  # requests


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["load-ml-1m", "load-yelp", "soak", "fuzz", "lists"])
    parser.add_argument("--requests", type=int, help="[100,000 to soak, 10,000 to fuzz]")
    parser.add_argument("--seconds", type=float, default=10.0, help="of load at each number of connections")
    parser.add_argument("--quiet", action="store_true", help="nothing else runs: times are worth keeping")
    parser.add_argument("--result", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    if options.part.startswith("load-"):
        found = under_load(options.part.removeprefix("load-"), options.seconds)
    elif options.part == "soak":
        found = soak(options.requests or 100_000)
    elif options.part == "fuzz":
        found = fuzz(options.requests or 10_000)
    else:
        found = lists_alike("ml-1m")
    found |= {"quiet": options.quiet, "machine": describe_machine(os.cpu_count() or 1)}
    parts = json.loads(options.result.read_text(encoding="utf-8")) if options.result.exists() else {}
    parts[options.part] = found
    options.result.write_text(json.dumps(dict(sorted(parts.items())), indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: value for name, value in found.items() if name != "machine"}, indent=1))


def run_of(shape: str, model: str = "ials") -> Path:
    """A run of a shape, made once; for speed it does not matter how good it is."""
    folder = CACHE / f"run-{shape}-{model}"
    if not folder.exists():
        split = split_interactions(load_shape(prepare(shape, CACHE)))
        options = {"factors": FACTORS, "sweeps": 4} if model == "ials" else {}
        Recommender(model=model, model_options=options).fit(split).save(folder)
    return folder


@contextmanager
def running(*words: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A service in a process of its own, and its port."""
    process = subprocess.Popen(
        [sys.executable, "-m", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # as implicit asks for: else its threads wait for each other
    )  # fmt: skip
    assert process.stdout is not None
    found = re.search(r":(\d+)/", process.stdout.readline())
    assert found, "the service did not start"
    try:
        yield process, int(found[1])
    finally:
        process.terminate()
        process.wait(timeout=600)


def under_load(shape: str, seconds: float) -> dict[str, Any]:
    """Requests a second at each number of connections, ours and implicit's in turn, for the same users."""
    run = run_of(shape)
    users = np.random.default_rng(0).permutation(pl.read_parquet(run / "ids.parquet").filter(kind="user")["id"])
    bodies = "\n".join(json.dumps({"users": [int(user)], "k": 10}) for user in users[:5000])
    rows = []
    with (
        running("recsieve", "serve", str(run), "--port", "0") as (_, ours),
        running("benchmarks.implicit_app", str(run)) as (_, plain),
    ):
        _same_lists(ours, plain, users[:200])
        for connections in CONNECTIONS:
            for name, port in (("recsieve", ours), ("implicit", plain)):
                _load(port, connections, 1.0, bodies)
                rows.append({"by": name, "connections": connections, **_load(port, connections, seconds, bodies)})
    return {"shape": shape, "model": f"ials, {FACTORS} factors", "rows": rows}


def _load(port: int, connections: int, seconds: float, bodies: str) -> dict[str, float]:
    words = [sys.executable, "-m", "benchmarks.http_load", str(port), str(connections), str(seconds)]
    done = subprocess.run(words, cwd=ROOT, input=bodies, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _same_lists(ours: int, plain: int, users: np.ndarray) -> None:
    """Refuse to time two that do not give the same, up to scores that are equal to rounding."""
    body = {"users": [int(user) for user in users], "k": 10}
    one, other = (_ask(port, "/recommend", body)[1]["lists"] for port in (ours, plain))
    same = [
        len({item["item"] for item in a["items"]} & {item["item"] for item in b["items"]}) / 10
        for a, b in zip(one, other, strict=True)
    ]
    assert np.mean(same) > 0.999, f"the lists are not the same: {np.mean(same)}"


def _ask(port: int, path: str, body: Any, raw: str | None = None, token: str = "") -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    connection.request("POST", path, json.dumps(body) if raw is None else raw, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text)


def lists_alike(shape: str) -> dict[str, Any]:
    """Every list over HTTP, asked for alone and with others, by eight at once, beside those of `recsieve recommend`."""
    run = run_of(shape)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lists.parquet"
        words = [sys.executable, "-m", "recsieve", "recommend", str(run), "--k", "10", "--out", str(out)]
        subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
        expected = pl.read_parquet(out)
    lists = {user: rows["item"].to_list() for (user,), rows in expected.group_by("user", maintain_order=True)}
    users, differing = list(lists), set[Any]()
    with running("recsieve", "serve", str(run), "--port", "0") as (_, port), ThreadPoolExecutor(8) as clients:
        asked = [users[first : first + n] for n in TOGETHER for first in range(0, len(users), n)]
        for status, answer in clients.map(lambda some: _ask(port, "/recommend", {"users": some, "k": 10}), asked):
            assert status == 200, answer
            differing |= {
                one["user"] for one in answer["lists"] if [item["item"] for item in one["items"]] != lists[one["user"]]
            }
    return {"users": len(users), "differing": len(differing)}


def soak(n_requests: int) -> dict[str, Any]:
    """Many requests while runs are reloaded and clients go away in the middle; the memory along the way."""
    runs = [run_of("ml-1m"), run_of("ml-1m", "itemknn")]
    with running("recsieve", "serve", str(runs[0]), "--port", "0", "--token", TOKEN) as (process, port):
        return asyncio.run(_soak(port, process.pid, n_requests, [str(run) for run in runs]))


async def _soak(port: int, pid: int, n_requests: int, runs: list[str]) -> dict[str, Any]:
    bodies = _bodies()
    statuses: Counter[int] = Counter()
    memory: list[tuple[int, float]] = []
    asked = reloads = kills = 0

    async def one(seed: int) -> None:
        nonlocal asked, reloads, kills
        rng = random.Random(seed)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while asked < n_requests:
            asked += 1
            number = asked
            path, body = bodies[number % len(bodies)]
            if number % RELOAD_EVERY == 0:
                path, body = "/reload", json.dumps({"run": runs[reloads % 2]}).encode()
                reloads += 1
            if number % KILLS_EVERY == 0:
                kills += 1
                await _go_away(port, path, body, rng)
            status, _ = await exchange(reader, writer, body, path, TOKEN)
            statuses[status] += 1
            if number % (n_requests // 200 or 1) == 0:
                memory.append((number, _resident_mb(pid)))
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(one(seed) for seed in range(8)))
    seconds = time.perf_counter() - started
    errors = sum(count for status, count in statuses.items() if status != 200)
    course = memory[:: max(1, len(memory) // 20)]
    settled = [mb for number, mb in memory if number >= min(SETTLED, n_requests // 10)]
    return {
        "requests": sum(statuses.values()), "errors": errors, "statuses": {str(key): n for key, n in statuses.items()},
        "reloads": reloads, "killed_clients": kills, "seconds": round(seconds, 1), "memory_mb": course,
        "memory_at_10000_mb": settled[0], "most_memory_mb": max(settled), "growth": max(settled) / settled[0] - 1,
    }  # fmt: skip


async def _go_away(port: int, path: str, body: bytes, rng: random.Random) -> None:
    """Ask, and be gone before the answer, or in the middle of the question."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n".encode()
    whole = head + f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
    if path == "/reload":
        whole = head  # or it would be done, and nobody told
    writer.write(whole[: rng.randrange(1, len(whole) + 1)])
    await writer.drain()
    writer.transport.abort()


def _bodies() -> list[tuple[str, bytes]]:
    """What is asked in turn: lists of one and of several, of new users, with filters, and items that are alike."""
    rng = np.random.default_rng(0)
    bodies: list[tuple[str, Any]] = []
    for _ in range(200):
        users, items = rng.integers(0, 6000, 5).tolist(), rng.integers(0, 3000, 5).tolist()
        bodies += [
            ("/recommend", {"users": users[:1], "k": 10}),
            ("/recommend", {"users": users, "k": 20, "deny": items}),
            ("/recommend", {"profiles": [items], "k": 10}),
            ("/similar", {"items": items[:2], "k": 10}),
        ]
    return [(path, json.dumps(body).encode()) for path, body in bodies]


def _resident_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmRSS:\s+(\d+)", text)
    assert found
    return int(found[1]) / 1024


def fuzz(n_requests: int) -> dict[str, Any]:
    """Strange requests while runs are reloaded; none may bring a status of 500 or more, or a traceback."""
    from hypothesis import HealthCheck, Phase, given, settings

    from benchmarks.http_fuzz import requests

    runs = [run_of("ml-1m", "itemknn"), run_of("ml-1m")]
    ids = pl.read_parquet(runs[0] / "ids.parquet")
    users, items = (ids.filter(kind=kind)["id"].to_list() for kind in ("user", "item"))
    statuses: Counter[int] = Counter()
    answered: Counter[str] = Counter()
    lines: list[str] = []
    command = [sys.executable, "-m", "recsieve", "serve", str(runs[-1]), "--port", "0", "--token", TOKEN]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r":(\d+)/", process.stdout.readline())
    assert found
    port = int(found[1])
    reader = threading.Thread(target=lambda: lines.extend(process.stderr or ()), daemon=True)
    reader.start()
    reloads: list[Future[tuple[int, Any]]] = []

    @settings(max_examples=n_requests, deadline=None, database=None, suppress_health_check=list(HealthCheck),
              phases=[Phase.generate])  # fmt: skip
    @given(requests(users, items))
    def ask(request: tuple[str, Any]) -> None:
        if sum(statuses.values()) % RELOAD_EVERY_FUZZED == 0:
            run = {"run": str(runs[len(reloads) % 2])}
            reloads.append(beside.submit(_ask, port, "/reload", run, None, TOKEN))
        status = _ask(port, request[0], None, json.dumps(request[1]), TOKEN)[0]
        statuses[status] += 1
        answered[request[0]] += status == 200

    with ThreadPoolExecutor(1) as beside:
        ask()
    process.terminate()
    ended = process.wait(timeout=600)
    reader.join(timeout=60)
    return {
        "requests": sum(statuses.values()), "statuses": {str(status): n for status, n in sorted(statuses.items())},
        "answered": statuses[200], "answered_by_path": dict(sorted(answered.items())),
        "server_errors": sum(n for status, n in statuses.items() if status >= 500),
        "tracebacks": sum("Traceback" in line for line in lines), "reloads": len(reloads),
        "failed_reloads": sum(one.result()[0] != 200 for one in reloads), "exit_code": ended,
    }  # fmt: skip


if __name__ == "__main__":
    main()
