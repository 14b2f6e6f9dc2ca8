"""A client that asks a service over loopback from several connections at once, in one process of its own.

python -m benchmarks.http_load PORT N_CONNECTIONS SECONDS < BODIES     (a JSON body a line, asked in turn)
The last line on standard output is the result as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import cycle

import numpy as np


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes, path: str = "/recommend", token: str = ""
) -> tuple[int, bytes]:
    """One request over a connection that stays open."""
    given = f"authorization: Bearer {token}\r\n" if token else ""
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{given}"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    status = int((await reader.readline()).split()[1])
    length = 0
    while (line := await reader.readline()) != b"\r\n":
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return status, await reader.readexactly(length)


async def load(port: int, n_connections: int, seconds: float, bodies: list[bytes]) -> dict[str, float]:
    """Ask as fast as answers come; gives requests a second and how long one took."""
    times: list[float] = []
    errors, turn, end = 0, cycle(bodies), time.perf_counter() + seconds

    async def one() -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (began := time.perf_counter()) < end:
            status, _ = await exchange(reader, writer, next(turn))
            times.append(time.perf_counter() - began)
            errors += status != 200
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(n_connections)))
    passed = time.perf_counter() - began
    p50, p99 = np.percentile(times, [50, 99])
    return {
        "requests": len(times), "errors": errors, "per_second": len(times) / passed, "p50_ms": 1000 * float(p50),
        "p99_ms": 1000 * float(p99),
    }  # fmt: skip


if __name__ == "__main__":
    port, n_connections, seconds = sys.argv[1:4]
    lines = [line.encode() for line in sys.stdin.read().splitlines()]
    print(json.dumps(asyncio.run(load(int(port), int(n_connections), float(seconds), lines))))
