"""The HTTP application: its routes, and errors as JSON."""

import asyncio
import base64
import hashlib
import json
import logging
import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException

from recsieve.cores import thread_pool
from recsieve.errors import ConfigError, RecsieveError
from recsieve.serving.gate import LOOPBACK, Counts, Gate
from recsieve.serving.gathering import Gathering
from recsieve.serving.requests import Explain, Recommend, Reload, Similar
from recsieve.serving.server import Current

log = logging.getLogger("recsieve.serving")


class Answer(Response):
    """JSON in ASCII, because an id may have characters that UTF-8 cannot encode."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def make_app(folder: Path, *, host: str = "127.0.0.1", token: str | None = None, log_ids: bool = False) -> Any:
    """The application for a run; any host other than loopback needs a token."""
    if host not in LOOPBACK and not token:
        raise ConfigError(f"host is {host}, which others can reach: give a token, by --token or RECSIEVE_TOKEN.")
    if token is not None and (not token.isascii() or len(token) < 8):
        raise ConfigError("the token is too short or not ASCII: give 8 characters or more, e.g. by openssl rand.")
    current, counts = Current(folder), Counts()
    pool = thread_pool(os.cpu_count() or 1)
    # Its pages of documentation would load scripts from elsewhere: /openapi.json is there for any viewer.
    app = FastAPI(title="recsieve", docs_url=None, redoc_url=None, lifespan=_lifespan(current, pool, counts))
    _add_errors(app)
    # The loop that reads and writes takes a core too.
    _add_requests(app, current, pool, Gathering(pool, max(1, (os.cpu_count() or 1) - 1)), log_ids)
    _add_operation(app, current, counts, pool, token)
    paths = {route.path for route in app.routes if hasattr(route, "path")}
    return Gate(app, token=token, loopback=host in LOOPBACK, counts=counts, paths=paths)


def _lifespan(current: Current, pool: ThreadPoolExecutor, counts: Counts) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def run(app: FastAPI) -> AsyncIterator[None]:
        loop, reloads = asyncio.get_running_loop(), set()

        async def again() -> None:
            try:
                await loop.run_in_executor(pool, current.reload)
                counts.reloads += 1
            except RecsieveError as error:
                log.error("the new run cannot be loaded, the old one stays: %s", error)

        def hang_up() -> None:
            task = loop.create_task(again())
            reloads.add(task)
            task.add_done_callback(reloads.discard)

        loop.add_signal_handler(signal.SIGHUP, hang_up)
        yield
        loop.remove_signal_handler(signal.SIGHUP)
        pool.shutdown()

    return run


def _add_requests(
    app: FastAPI, current: Current, pool: ThreadPoolExecutor, gathering: Gathering, log_ids: bool
) -> None:
    async def in_thread(work: Callable[[Any], dict[str, Any]], body: Any, request: Request, asked: list[Any]) -> Answer:
        note(request, asked)
        return Answer(await asyncio.get_running_loop().run_in_executor(pool, work, body))

    def note(request: Request, asked: list[Any]) -> None:
        request.scope["recsieve"] = {"asked": asked if log_ids else len(asked)}

    @app.post("/recommend")
    async def recommend(body: Recommend, request: Request) -> Any:
        """Lists for users of the run, or for profiles of new ones. Unknown users get popular items, and are flagged."""
        server = current.server
        if not body.is_plain:
            return await in_thread(server.recommend, body, request, body.asked())
        note(request, body.asked())
        return Answer(server.recommend(body) if server.is_quick(body) else await gathering.recommend(server, body))

    @app.post("/similar")
    async def similar(body: Similar, request: Request) -> Any:
        """Items that are alike to each of some."""
        return await in_thread(current.server.similar, body, request, body.items)

    @app.post("/explain")
    async def explain(body: Explain, request: Request) -> Any:
        """Which items of a user, or of a profile, speak for some items."""
        return await in_thread(current.server.explain, body, request, body.items)


def _add_operation(app: FastAPI, current: Current, counts: Counts, pool: ThreadPoolExecutor, token: str | None) -> None:
    page = (Path(__file__).parent / "page.html").read_text(encoding="utf-8")
    headers = {"content-security-policy": _policy(page)}

    @app.get("/", include_in_schema=False)
    async def try_it() -> HTMLResponse:
        return HTMLResponse(page, headers=headers)

    @app.get("/health")
    async def health() -> Any:
        """Whether the process answers."""
        return Answer({"status": "ok"})

    @app.get("/ready")
    async def ready() -> Any:
        """Which run answers, and by which model."""
        return Answer({"status": "ready", "run": current.server.run, "model": current.server.model})

    @app.get("/metrics")
    async def metrics() -> PlainTextResponse:
        """Counts of requests for Prometheus."""
        return PlainTextResponse(counts.text(current.server.run), media_type="text/plain; version=0.0.4")

    @app.post("/reload")
    async def reload(body: Reload) -> Any:
        """Take another run without dropping a request, or go back to the one before; needs a token."""
        if token is None:
            raise HTTPException(403, "to reload over HTTP, start the service with a token, or send SIGHUP.")
        if body.back and body.run is not None:
            raise ConfigError("both run and back are given: give one of them.")
        work = current.back if body.back else lambda: current.reload(None if body.run is None else Path(body.run))
        server = await asyncio.get_running_loop().run_in_executor(pool, work)
        counts.reloads += 1
        return Answer({"run": server.run, "model": server.model})


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Answer:
        first = error.errors()[0]
        if isinstance(error.body, bytes):
            sent = request.headers.get("content-type", "an unknown type")
            advice = "send JSON, with the header Content-Type: application/json"
            return Answer({"error": f"the request is sent as {sent}: {advice}."}, 422)
        if first["type"] == "json_invalid":
            return Answer({"error": f"the request is not JSON: see character {first['loc'][1]}."}, 422)
        if first["type"] == "extra_forbidden":
            return Answer({"error": f"{first['loc'][-1]}: there is no such field, see /openapi.json."}, 422)
        where = ".".join(str(part) for part in first["loc"][1:4])
        return Answer({"error": f"{where or 'the request'}: {first['msg'].removeprefix('Value error, ')}."}, 422)

    @app.exception_handler(RecsieveError)
    async def refused(request: Request, error: RecsieveError) -> Answer:
        return Answer({"error": str(error)}, 400)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Answer:
        return Answer({"error": str(error.detail)}, error.status_code)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Answer:
        log.error("%s in %s: please report it", type(error).__name__, request.url.path)
        return Answer({"error": "internal error: see the log of the service."}, 500)


def _policy(page: str) -> str:
    """Nothing from elsewhere, and only the script and the style that the page has."""
    script, style = (re.search(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL) for tag in ("script", "style"))
    assert script is not None
    assert style is not None
    hashes = [base64.b64encode(hashlib.sha256(part[1].encode()).digest()).decode() for part in (script, style)]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
