"""Ranks waiting requests together: one product for many users costs little more than for one."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from recsieve.serving.requests import Recommend
from recsieve.serving.server import Server

MOST_USERS = 128  # in one product


class Waiting(NamedTuple):
    """A request, and the future of its response."""

    server: Server
    request: Recommend
    answer: asyncio.Future[dict[str, Any]]

    def goes_with(self, other: Waiting) -> bool:
        """Whether both can be ranked at once."""
        return self.server is other.server and self.request.ranked_alike() == other.request.ranked_alike()


class Gathering:
    """Ranks requests in threads; those that arrive while all threads are busy are ranked together next.

    A user's scores and list do not depend on the other users. Called only from the event loop.
    """

    def __init__(self, pool: ThreadPoolExecutor, at_once: int) -> None:
        self._pool, self._free = pool, at_once
        self._waiting: deque[Waiting] = deque()
        self._under_way: set[asyncio.Task[None]] = set()

    async def recommend(self, server: Server, request: Recommend) -> dict[str, Any]:
        """The response to a request for users."""
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(server, request, answer))
        if self._free:
            self._free -= 1
            task = asyncio.get_running_loop().create_task(self._work())
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        return await answer

    async def _work(self) -> None:
        """Answer whatever waits, until nothing does."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            some = self._next()
            try:
                found = await loop.run_in_executor(
                    self._pool, some[0].server.recommend_together, [one.request for one in some]
                )
                for one, answer in zip(some, found, strict=True):
                    if not one.answer.done():  # or its client has gone away
                        one.answer.set_result(answer)
            except Exception as error:
                for one in some:
                    if not one.answer.done():
                        one.answer.set_exception(error)
        self._free += 1

    def _next(self) -> list[Waiting]:
        """The request that waits longest, with those that can be ranked for at once."""
        some, others = [self._waiting.popleft()], deque[Waiting]()
        users = len(some[0].request.asked())
        while self._waiting:
            one = self._waiting.popleft()
            if users + len(one.request.asked()) <= MOST_USERS and one.goes_with(some[0]):
                some.append(one)
                users += len(one.request.asked())
            else:
                others.append(one)
        self._waiting = others
        return some
