"""Checks of every request: size, host, token, headers; also logging and counting."""

from __future__ import annotations

import hmac
import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from recsieve.serving.requests import MOST_BYTES

log = logging.getLogger("recsieve.serving")
OPEN = ("/health", "/ready")  # also without a token: what watches a service has none
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class Counts:
    """Requests by path and status, and their durations, in the format of Prometheus."""

    def __init__(self) -> None:
        self._lock, self._seconds = threading.Lock(), 0.0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._below: Counter[float] = Counter()
        self.reloads = 0

    def add(self, path: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[path, status] += 1
            self._below.update(bound for bound in _BUCKETS if seconds <= bound)
            self._seconds += seconds

    def text(self, run: str) -> str:
        with self._lock:
            requests, total = sorted(self._requests.items()), sum(self._requests.values())
            lines = [
                "# TYPE recsieve_requests_total counter",
                *(f'recsieve_requests_total{{path="{path}",status="{status}"}} {n}' for (path, status), n in requests),
                "# TYPE recsieve_request_seconds histogram",
                *(f'recsieve_request_seconds_bucket{{le="{bound}"}} {self._below[bound]}' for bound in _BUCKETS),
                f'recsieve_request_seconds_bucket{{le="+Inf"}} {total}',
                f"recsieve_request_seconds_sum {self._seconds}",
                f"recsieve_request_seconds_count {total}",
                "# TYPE recsieve_reloads_total counter",
                f"recsieve_reloads_total {self.reloads}",
                "# TYPE recsieve_run_info gauge",
                f'recsieve_run_info{{run="{run}"}} 1',
            ]
        return "\n".join(lines) + "\n"


class Gate:
    """Lets requests through that are small enough, for this host, and have the token; counts and logs all of them.

    On a loopback address without a token, only requests to a loopback name are answered, so that no page of another
    site can send requests through the user's browser.
    """

    def __init__(self, app: Any, *, token: str | None, loopback: bool, counts: Counts, paths: set[str]) -> None:
        self._app, self._token, self._loopback, self._counts, self._paths = app, token, loopback, counts, paths

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began, status = time.perf_counter(), 500

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        try:
            await self._pass_on(scope, receive, note)
        finally:
            seconds = time.perf_counter() - began
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._counts.add(path, status, seconds)
            line = {"path": path, "status": status, "ms": round(1000 * seconds, 1), **scope.get("recsieve", {})}
            log.info(json.dumps(line))

    async def _pass_on(self, scope: Message, receive: Receive, send: Send) -> None:
        refused = self._refusal(scope)
        if refused is not None:
            return await answer(send, *refused)
        body = await _read(scope, receive)
        if body is None:
            return await answer(send, 413, f"the request is larger than {MOST_BYTES:,} bytes: send smaller requests.")
        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return given.pop() if given else await receive()

        await self._app(scope, replay, send)

    def _refusal(self, scope: Message) -> tuple[int, str] | None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if self._loopback and self._token is None and name.strip("[]") not in LOOPBACK:
            return 400, "the Host header is not a name of this machine: use 127.0.0.1 or localhost."
        if self._token is None or scope["path"] in OPEN or (scope["path"] == "/" and scope["method"] == "GET"):
            return None
        given = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
        if hmac.compare_digest(given, self._token.encode()):
            return None
        return 401, "the token is missing or wrong: send the header 'Authorization: Bearer TOKEN'."


async def _read(scope: Message, receive: Receive) -> bytes | None:
    """The body of a request, None if it is too large."""
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    if declared.isdigit() and int(declared[:20]) > MOST_BYTES:
        return None
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


async def answer(send: Send, status: int, error: str) -> None:
    """Send an error as JSON."""
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
