"""The plain way to serve: implicit's iALS behind a few lines of FastAPI, with the vectors of a run of recsieve.

python -m benchmarks.implicit_app RUN
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import uvicorn
from fastapi import FastAPI
from implicit.cpu.als import AlternatingLeastSquares
from pydantic import BaseModel
from scipy.sparse import csr_matrix

from recsieve import Recommender


class Request(BaseModel):
    users: list[int]
    k: int = 10


def make_app(run: Path) -> FastAPI:
    recommender = Recommender.load(run)
    ranker, scorer = recommender.ranker(), recommender.serving()
    factors = scorer.factors(torch.arange(scorer.n_users))
    assert factors is not None
    model = AlternatingLeastSquares(factors=factors.users.shape[1], num_threads=1)
    model.user_factors, model.item_factors = factors.users.numpy(), factors.items.numpy()
    seen = recommender.interacted()
    ones = np.ones(len(seen.items), np.float32)
    matrix = csr_matrix((ones, seen.items, seen.offsets), shape=(seen.n_users, seen.n_items))
    codes = {user: code for code, user in enumerate(ranker.users.ids.to_list())}
    items = ranker.items.ids.to_list()
    app = FastAPI()

    @app.post("/recommend")
    def recommend(body: Request) -> dict[str, Any]:
        users = np.array([codes[user] for user in body.users])
        found, scores = model.recommend(users, matrix[users], N=body.k)
        lists = [
            {
                "user": user,
                "items": [
                    {"item": items[item], "score": float(score)} for item, score in zip(row, of_row, strict=True)
                ],
            }
            for user, row, of_row in zip(body.users, found, scores, strict=True)
        ]
        return {"lists": lists}

    return app


if __name__ == "__main__":
    config = uvicorn.Config(make_app(Path(sys.argv[1])), "127.0.0.1", 0, log_level="warning", access_log=False)
    sockets = [config.bind_socket()]
    print(f"answers at http://127.0.0.1:{sockets[0].getsockname()[1]}/", flush=True)
    uvicorn.Server(config).run(sockets)
