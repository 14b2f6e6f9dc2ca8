"""A run that answers requests: prepared once, and safe to use from several threads."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import torch

from recsieve.errors import RunError
from recsieve.memory import give_back
from recsieve.recommendations.ranker import Ranked
from recsieve.recommender import Recommender
from recsieve.serving.list_folder import fingerprint
from recsieve.serving.requests import Explain, Recommend, Similar
from recsieve.storage.run_folder import RunFolder

QUICK = 1 << 19  # multiplications that take a fraction of a millisecond


class Server:
    """One run: requests in, responses out. Requests change nothing."""

    def __init__(self, folder: Path) -> None:
        recommender = Recommender.load(folder)
        self.folder, self.run, self.model = folder, fingerprint(RunFolder(folder))[:16], recommender.serving().title
        self._ranker = recommender.ranker()
        self._ranker.for_users([self._ranker.users.texts(np.zeros(1, np.int32))[0]], 1, workers=1)  # compiles
        product = self._ranker.scorer.factors(torch.zeros(1, dtype=torch.long))
        self._cost = float("inf") if product is None else product.items.numel()  # of a user's scores

    def is_quick(self, request: Recommend) -> bool:
        """Whether passing it to another thread would take as long as answering it."""
        return request.is_plain and len(request.asked()) * self._cost <= QUICK

    def recommend(self, request: Recommend) -> dict[str, Any]:
        filters, options = request.filters(), {"explain": request.explain, "workers": 1}
        if request.profiles is not None:
            lists = self._ranker.for_profiles(request.named_profiles(), request.k, filters, **options)
        else:
            lists = self._ranker.for_users([str(user) for user in request.users or []], request.k, filters, **options)
        return self._answer(lists, request)

    def recommend_together(self, requests: list[Recommend]) -> list[dict[str, Any]]:
        """The responses to plain requests that are ranked together, each the same as alone."""
        first, users = requests[0], [str(user) for request in requests for user in request.users or []]
        lists = self._ranker.for_users(users, first.k, first.filters(), workers=1)
        parts = lists.parts([len(request.asked()) for request in requests], first.k)
        return [self._answer(part, request) for part, request in zip(parts, requests, strict=True)]

    def _answer(self, lists: Ranked, request: Recommend) -> dict[str, Any]:
        return {"run": self.run, "lists": self._rows(lists, "user", request.asked()), "notes": lists.notes}

    def similar(self, request: Similar) -> dict[str, Any]:
        lists = self._ranker.similar([str(item) for item in request.items], request.k)
        return {"run": self.run, "lists": self._rows(lists, "item", request.items)}

    def explain(self, request: Explain) -> dict[str, Any]:
        profile = None if request.profile is None else [str(item) for item in request.profile]
        user = None if request.user is None else str(request.user)
        reasons, notes = self._ranker.explain(user, profile, [str(item) for item in request.items], request.most)
        items = [{"item": item, **self._said(why)} for item, why in zip(request.items, reasons, strict=True)]
        return {"run": self.run, "items": items, "notes": notes}

    def _rows(self, lists: Ranked, what: str, asked: list[Any]) -> list[dict[str, Any]]:
        rows = []
        for row, name in enumerate(asked):
            there = lists.items[row] >= 0
            ids, scores = self._ids(lists.items[row][there]), lists.scores[row][there].tolist()
            items: list[dict[str, Any]] = [{"item": id_} for id_ in ids]
            if not lists.popular[row]:
                items = [item | {"score": score} for item, score in zip(items, scores, strict=True)]
            if lists.reasons is not None:
                items = [item | self._said(why) for item, why in zip(items, lists.reasons[row], strict=True)]
            popular = {"popular": bool(lists.popular[row])} if what == "user" else {}
            rows.append({what: name, **popular, "items": items})
        return rows

    def _said(self, reasons: list[tuple[int, float]]) -> dict[str, Any]:
        ids = self._ids(np.array([item for item, _ in reasons], np.int32))
        return {"reasons": [{"item": id_, "adds": adds} for id_, (_, adds) in zip(ids, reasons, strict=True)]}

    def _ids(self, codes: np.ndarray) -> list[Any]:
        values = self._ranker.items.values  # a frame's way to look up ten ids takes as long as to rank for them
        return [values[code] for code in codes.tolist()]


class Current:
    """The current run and the previous one; a request in progress finishes with the run it started with."""

    def __init__(self, folder: Path) -> None:
        self.server = Server(folder)
        self._before: Server | Path | None = None  # only its folder, if a later run could not be loaded
        self._turn = threading.Lock()

    def reload(self, folder: Path | None = None) -> Server:
        """Switch to another run, or to the same folder as it is now; a run that cannot be read changes nothing."""
        folder = folder or self.server.folder
        with self._turn:
            try:
                RunFolder(folder).require()
                if not isinstance(self._before, Path | None):
                    self._before = self._before.folder  # or there would be three runs in memory
                server = Server(folder)
            except (ValueError, OSError) as error:  # of a name that no folder can have
                raise RunError(f"{str(folder)!r} cannot be opened ({error}): give a run folder.") from None
            self._before, self.server = self.server, server
            give_back()  # or what was only needed to read it would be kept in pieces
            return server

    def back(self) -> Server:
        """Switch back to the previous run."""
        with self._turn:
            if self._before is None:
                raise RunError("there is no earlier run to go back to.")
            before = Server(self._before) if isinstance(self._before, Path) else self._before
            self._before, self.server = self.server, before
            return self.server
