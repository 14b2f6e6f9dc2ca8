"""recsieve serve"""

import json
import logging
import signal
import socket
import sys
from typing import Annotated

import typer

from recsieve.cli.options import Run
from recsieve.errors import ConfigError
from recsieve.memory import keep_little


def serve(
    run: Run,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any address other than loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 8000,
    token: Annotated[str | None, typer.Option(envvar="RECSIEVE_TOKEN", help="Token that requests must send.")] = None,
    log_ids: Annotated[bool, typer.Option("--log-ids", help="Also log which users and items are requested.")] = False,
) -> None:
    """Start an HTTP service for recommendations, similar items and reasons."""
    keep_little()
    try:
        import uvicorn

        from recsieve.serving.app import make_app
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is not installed: pip install 'recsieve[serve]'.") from None
    _log_as_json(logging.getLogger("recsieve.serving"))
    app = make_app(run, host=host, token=token, log_ids=log_ids)
    sockets = [_bound(host, port)]
    for asked_to_end in (signal.SIGTERM, signal.SIGINT):  # uvicorn drains, and then raises it again
        signal.signal(asked_to_end, lambda *_: None)
    config = uvicorn.Config(app, host, port, log_level="warning", access_log=False, timeout_graceful_shutdown=30,
                            server_header=False)  # fmt: skip
    sockets[0].listen(config.backlog)  # from now on nobody is turned away
    shown = f"[{host}]" if ":" in host else host
    typer.echo(f"recsieve answers at http://{shown}:{sockets[0].getsockname()[1]}/ (stop it by Ctrl-C)")
    uvicorn.Server(config).run(sockets)


class _JSONLines(logging.Formatter):
    """A line of JSON for each message; what is told of a request is JSON already."""

    def format(self, record: logging.LogRecord) -> str:
        said = record.getMessage()
        return said if record.levelno == logging.INFO else json.dumps({record.levelname.lower(): said})


def _log_as_json(log: logging.Logger) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JSONLines())
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.INFO)


def _bound(host: str, port: int) -> socket.socket:
    """A socket at an address; uvicorn's own way would end the process where that cannot be had."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except (OSError, UnicodeError) as error:
        bound.close()
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot listen on {host}, port {port} ({reason}): give another --host or --port.") from None
    return bound
