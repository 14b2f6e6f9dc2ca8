"""What is fuzzed: each target makes an input of a generator and gives it to recsieve, which may refuse it or not."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import tomli_w
import torch
from safetensors.torch import load_file, save_file

from recsieve import Recommender
from recsieve.auto.plan import Plan
from recsieve.checking import make_settings
from recsieve.data.interactions import Interactions
from recsieve.data.labelling import false_positive_flags
from recsieve.data.proposal import propose
from recsieve.data.reading.file_format import Format
from recsieve.data.reading.formats import read_interactions
from recsieve.data.splitting import Split, split_interactions
from recsieve.errors import RecsieveError
from recsieve.experiments.config import make_config
from recsieve.experiments.search import make_tuning
from recsieve.memory import parse_memory
from recsieve.serving.app import make_app
from recsieve.settings import parse_criterion, parse_duration
from recsieve.storage.run_folder import RunFolder
from recsieve.training.checkpoint import load_checkpoint, save_checkpoint
from trust.fuzz_seeds import BODIES, CELLS, LOGS, NAMES, QUERIES, ROWS, RULES, WORDS
from trust.mutation import STRANGE, mutate_bytes, mutate_text, mutate_value

REMEMBERING = (
    "dcf",
    "eard",
    "udt",
    "truncated-by-owner",
    "reweighted-by-owner",
    "warm-up",
)
Attempt = Callable[[Random], None]  # raises a RecsieveError, or nothing


@contextmanager
def targets(folder: Path) -> Iterator[dict[str, Attempt]]:
    """All targets by name; what they write is in a folder."""
    data = _data()
    split = split_interactions(data)
    with asyncio.Runner() as runner:
        yield {
            "rules": _rules(),
            "configurations": _configurations(),
            "queries": _queries(folder),
            "readers": _readers(folder),
            "descriptions": _descriptions(),
            "run folders": _run_folders(folder, split),
            "checkpoints": _checkpoints(folder, split),
            "HTTP requests": _requests(folder, split, runner),
        }


def _data() -> Interactions:
    rng = np.random.default_rng(0)
    users, items = (rng.random((12, 10)) < 0.5).nonzero()
    flags = rng.integers(-1, 2, len(users)).astype(np.int8)
    ids = [pl.Series([f"{kind}{n}" for n in range(count)]) for kind, count in (("u", 12), ("i", 10))]
    return Interactions(users.astype(np.int32), items.astype(np.int32), *ids, flags)


def _rules() -> Attempt:
    def attempt(rng: Random) -> None:
        soup = " ".join(rng.choices(WORDS, k=rng.randrange(1, 12)))
        rule = rng.choice(
            [soup, mutate_text(rng.choice(RULES), rng), f"{rng.choice(RULES)} {rng.choice(WORDS)} {soup}"]
        )
        false_positive_flags(ROWS, rule)

    return attempt


def _configurations() -> Attempt:
    training = make_settings({"model": "gmf", "denoiser": "truncated"}).model_dump()
    comparison = make_config({"models": ["gmf"], "plain_models": ["ease"]}).model_dump(mode="json")
    tuning = make_tuning({"model": "gmf"}).model_dump(mode="json")
    words: list[Callable[[str], object]] = [parse_criterion, parse_duration, parse_memory]

    def attempt(rng: Random) -> None:
        kind = rng.randrange(6)
        if kind <= 2:
            make_settings(_changed(training, rng))
        elif kind == 3:
            make_config(_changed(comparison, rng))
        elif kind == 4:
            make_tuning(_changed(tuning, rng))
        else:
            rng.choice(words)(
                rng.choice([mutate_text("ndcg@20", rng), mutate_text("2m", rng), str(rng.choice(STRANGE))])
            )

    return attempt


def _changed(values: dict[str, Any], rng: Random) -> dict[str, Any]:
    return {str(name): value for name, value in _mapping(mutate_value(values, rng)).items()}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _readers(folder: Path) -> Attempt:
    seeds = [(".csv", log) for log in LOGS] + [(".inter", LOGS[-1]), (".train.rating", b"1\t2\t1\n3\t4\t0\n")]
    pl.DataFrame({"user": [1, 2, 3], "item": ["a", "b", "c"], "time": [1, 2, 3]}).write_parquet(folder / "seed.parquet")
    seeds.append((".parquet", (folder / "seed.parquet").read_bytes()))
    options: list[dict[str, Any]] = [{}, {}, {"header": False}, {"false_positive": "rating < 3"}, {"user": "item"}]

    def attempt(rng: Random) -> None:
        ending, seed = rng.choice(seeds)
        path = folder / f"log{ending}"
        path.write_bytes(mutate_bytes(seed, rng))
        read_interactions(path, **rng.choice(options))

    return attempt


def _queries(folder: Path) -> Attempt:
    """SQL over a file, which is the same afterwards."""
    path = folder / "log.sqlite"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE t (user, item, rating)")
        made.executemany("INSERT INTO t VALUES (?, ?, ?)", [(f"u{n % 3}", n % 4, n % 5) for n in range(12)])
        made.commit()
    before = path.read_bytes()

    def attempt(rng: Random) -> None:
        soup = " ".join(rng.choices(WORDS, k=rng.randrange(1, 6)))
        query = rng.choice(QUERIES)
        query = rng.choice([query, mutate_text(query, rng), f"{query} {soup}", f"SELECT user, item, {soup} FROM t"])
        try:
            propose(path, Format(query=query))
            read_interactions(path, query=query)
        finally:
            if path.read_bytes() != before or len(list(folder.glob("log.sqlite*"))) > 1:
                raise AssertionError(f"{query!r} has changed the file")

    return attempt


def _descriptions() -> Attempt:
    """Frames with columns of anything, beside users and items."""

    def attempt(rng: Random) -> None:
        columns: dict[str, Any] = {"user": [f"u{n % 4}" for n in range(12)], "item": [n % 5 for n in range(12)]}
        for _ in range(rng.randrange(1, 4)):
            values = rng.choices(rng.sample(CELLS, k=rng.choice([1, 1, 2])), k=12)
            columns[rng.choice(NAMES)] = pl.Series(values, strict=False)
        frame = pl.DataFrame(columns)
        found = propose(frame)
        read_interactions(frame, **found.options)

    return attempt


def _run_folders(folder: Path, split: Split) -> Attempt:
    """Files changed as bytes or in their meaning, with a manifest that vouches for them or the one that was."""
    pristine = {}
    for name, model in (("gmf", "gmf"), ("ease", "ease"), ("knn", "itemknn"), ("auto", "auto")):
        options = {"candidates": ["ease", "popularity"], "trials": 2} if model == "auto" else {}
        epochs = {"epochs": 1} if model == "gmf" else {}
        Recommender(model, **options, **epochs).fit(split).save(folder / f"run-{name}")
        pristine[name] = {path.name: path.read_bytes() for path in (folder / f"run-{name}").iterdir()}
    changed = folder / "run-changed"

    def attempt(rng: Random) -> None:
        files = pristine[rng.choice(list(pristine))]
        shutil.rmtree(changed, ignore_errors=True)
        changed.mkdir()
        for name, content in files.items():
            (changed / name).write_bytes(content)
        name = rng.choice(sorted(files))
        path = changed / name
        _change_file(path, rng)
        if name != "manifest.json" and rng.random() < 0.8:
            _vouch_for(changed)
        recommender = Recommender.load(changed)
        recommender.recommend(["u1", "u11"], k=3)
        recommender.evaluate()

    return attempt


def _change_file(path: Path, rng: Random) -> None:
    content = path.read_bytes()
    if rng.random() < 0.3:
        path.write_bytes(mutate_bytes(content, rng))
    elif path.suffix == ".json":
        path.write_text(json.dumps(mutate_value(json.loads(content), rng)), encoding="utf-8")
    elif path.suffix == ".toml":
        values = _mapping(mutate_value(tomllib.loads(content.decode()), rng))
        try:
            path.write_text(tomli_w.dumps(values), encoding="utf-8")
        except (TypeError, ValueError, AttributeError):  # what TOML cannot say
            path.write_text(f"[settings]\nepochs = {rng.randrange(-5, 5)}\n", encoding="utf-8")
    elif path.suffix == ".parquet":
        _change_frame(pl.read_parquet(path), rng).write_parquet(path)
    else:
        save_file(_change_tensors(load_file(path), rng), path)


def _change_frame(frame: pl.DataFrame, rng: Random) -> pl.DataFrame:
    if frame.width == 0:
        return pl.DataFrame({"a": [1]})
    name = rng.choice(frame.columns)
    kind = rng.randrange(5)
    if kind == 0:
        return frame.drop(name)
    if kind == 1:
        return frame.with_columns(pl.lit(rng.choice([None, -1, 10**6, "a", 0.5])).alias(name))
    if kind == 2:
        return frame.head(rng.randrange(frame.height + 1))
    if kind == 3 and frame[name].dtype.is_numeric():
        return frame.with_columns((pl.col(name) * rng.choice([-1, 100])).alias(name))
    return pl.concat([frame, frame.head(3)]).with_columns(pl.col(name).cast(pl.String))


def _change_tensors(tensors: dict[str, torch.Tensor], rng: Random) -> dict[str, torch.Tensor]:
    if not tensors:
        return {"a": torch.ones(1)}
    name = rng.choice(sorted(tensors))
    tensor, kind = tensors[name], rng.randrange(6)
    if kind == 0:
        return {other: one for other, one in tensors.items() if other != name}
    if kind == 1:
        return {**tensors, name: tensor.half() if tensor.is_floating_point() else tensor.double()}
    if kind == 2:
        return {**tensors, name: tensor.flatten()[: rng.randrange(tensor.numel() + 1)].clone()}
    if kind == 3:
        value = (
            rng.choice([float("nan"), float("inf"), -1e30]) if tensor.is_floating_point() else rng.choice([-1, 10**6])
        )
        return {**tensors, name: torch.full_like(tensor, value)}
    if kind == 4:
        return {**tensors, name: torch.cat([tensor, tensor]) if tensor.dim() else tensor[None].clone()}
    return {**tensors, f"{name}.more": tensor.clone()}


def _vouch_for(folder: Path) -> None:
    """Write a manifest of the files as they are now, as somebody with bad intentions might."""
    run = RunFolder(folder)
    metrics = run.metrics.read_bytes()
    run.write_metrics({})
    run.metrics.write_bytes(metrics)
    manifest = json.loads(run.manifest.read_text(encoding="utf-8"))
    from recsieve.storage.run_folder import _mark  # what an attacker would compute

    manifest["files"][run.metrics.name] = _mark(run.metrics)
    run.manifest.write_text(json.dumps(manifest), encoding="utf-8")


def _checkpoints(folder: Path, split: Split) -> Attempt:
    """States of trainings that are gone on with, and the plan of a choice."""
    settings: dict[str, dict[str, Any]] = {
        "gmf": {"model": "gmf", "denoiser": "truncated"}, "mf": {"model": "mf", "objective": "bpr"},
        "ials": {"model": "ials"},
        **{name: {"model": "gmf", "denoiser": name} for name in REMEMBERING},
    }  # fmt: skip
    states = {}
    for name, chosen in settings.items():
        path = folder / f"checkpoint-{name}.safetensors"
        Recommender(**chosen, **({"epochs": 2} if name != "ials" else {})).fit(split, checkpoint=path)
        states[name] = (path.read_bytes(), load_checkpoint(path))
    plan = folder / "plan.json"

    def attempt(rng: Random) -> None:
        name = rng.choice([*states, "plan"])
        if name == "plan":
            one = {"spec": {"model": "ease", "model_options": {}}, "seconds": 1.0}
            plan.write_text(
                json.dumps(mutate_value({"budget": 1.0, "trials": 2, "fits": [one]}, rng)), encoding="utf-8"
            )
            Plan.read(plan)
            return
        content, state = states[name]
        path = folder / "checkpoint-changed.safetensors"
        if rng.random() < 0.4:
            path.write_bytes(mutate_bytes(content, rng))
        else:
            save_checkpoint(path, _change_memory(state, rng) if name in REMEMBERING else _change_state(state, rng))
        epochs = {"epochs": 4} if name != "ials" else {}  # it goes on, with what the state says
        Recommender(**settings[name], **epochs).fit(split, checkpoint=path, resume=True)

    return attempt


def _change_memory(state: dict[str, Any], rng: Random) -> dict[str, Any]:
    """Another state in which a strategy remembers, or asks of the next epoch, something else."""
    fitting = dict(state["fitting"])
    part = rng.choice(["loss", "next_epoch"])
    return {**state, "fitting": {**fitting, part: _change_state(fitting[part], rng)}}


def _change_state(state: Any, rng: Random) -> Any:
    if isinstance(state, torch.Tensor):
        return _change_tensors({"a": state, "b": state}, rng).get("a", 3)
    if isinstance(state, dict) and state and rng.random() < 0.9:
        name = rng.choice(list(state))
        if rng.random() < 0.1:
            return {other: entry for other, entry in state.items() if other != name}
        return {**state, name: _change_state(state[name], rng)}
    if isinstance(state, list) and state and rng.random() < 0.9:
        at = rng.randrange(len(state))
        return [*state[:at], _change_state(state[at], rng), *state[at + 1 :]]
    return rng.choice([value for value in STRANGE if not isinstance(value, dict)])


def _requests(folder: Path, split: Split, runner: asyncio.Runner) -> Attempt:
    Recommender("ease").fit(split).save(folder / "served")
    app = make_app(folder / "served", token="a-token-of-fuzzing")
    methods, paths = (
        ["POST"] * 20 + ["GET", "PUT", "\x00"],
        ["/health", "/metrics", "/", "/openapi.json", "/a%00", "//"],
    )

    def attempt(rng: Random) -> None:
        path, body = rng.choice(BODIES)
        content = json.dumps(body if rng.random() < 0.1 else mutate_value(body, rng)).encode()
        content = mutate_bytes(content, rng) if rng.random() < 0.3 else content
        path = path if rng.random() < 0.9 else rng.choice(paths)
        token = rng.choice([b"Bearer a-token-of-fuzzing"] * 30 + [b"", b"Bearer \xff", b"x"])
        status = runner.run(_ask(app, rng.choice(methods), path, content, token))
        if status >= 500:
            raise AssertionError(f"{path} answers {status} to {content!r}")
        if status >= 400:
            raise RecsieveError("refused")

    return attempt


async def _ask(app: Any, method: str, path: str, content: bytes, token: bytes) -> int:
    """One request to an ASGI application, as a server would make it."""
    status = 0
    unread = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return unread.pop() if unread else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"authorization", token)]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "query_string": b"", "headers": headers, "scheme": "http",
        "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
    }  # fmt: skip
    await app(scope, receive, send)
    return status
