"""Requests that wait are ranked together, and each is answered as if it were alone."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from recsieve import Recommender, split_interactions
from recsieve.errors import DataError
from recsieve.serving.gathering import MOST_USERS, Gathering
from recsieve.serving.requests import Recommend
from recsieve.serving.server import Server


class Slow:
    """Answers with the users; the first answer waits until it is let go."""

    def __init__(self):
        self.together, self.go = [], threading.Event()

    def recommend_together(self, requests):
        self.together.append([request.users for request in requests])
        assert self.go.wait(timeout=30)
        if any("broken" in request.users for request in requests):
            raise DataError("it is broken.")
        return [{"users": request.users} for request in requests]


def ask_all(server, requests, gone=()):
    """Ask for the first, and for the others while it is under way."""

    async def ask():
        with ThreadPoolExecutor(2) as pool:
            gathering = Gathering(pool, at_once=1)
            asked = []
            for place, request in enumerate(requests):
                asked.append(asyncio.create_task(gathering.recommend(server, request)))
                await asyncio.sleep(0.05 if place == 0 else 0)
            for place in gone:
                asked[place].cancel()
            server.go.set()
            return await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), timeout=30)

    return asyncio.run(ask())


def test_what_comes_while_a_product_is_under_way_is_in_the_next():
    server = Slow()
    answers = ask_all(server, [Recommend(users=[user]) for user in "abcd"])
    assert answers == [{"users": [user]} for user in "abcd"]
    assert server.together == [[["a"]], [["b"], ["c"], ["d"]]]


def test_only_what_is_ranked_alike_goes_together_and_no_more_than_fit():
    server = Slow()
    many = [str(number) for number in range(MOST_USERS)]
    asked = [Recommend(users=["a"]), Recommend(users=["b"], k=5), Recommend(users=many), Recommend(users=["c"], k=5)]
    assert ask_all(server, asked) == [{"users": request.users} for request in asked]
    assert server.together == [[["a"]], [["b"], ["c"]], [many]]


def test_a_client_that_goes_away_and_one_that_is_refused_leave_the_others_alone():
    server = Slow()
    answers = ask_all(server, [Recommend(users=[user]) for user in ("a", "b", "c")], gone=[1])
    assert (answers[0], answers[2]) == ({"users": ["a"]}, {"users": ["c"]})
    assert isinstance(answers[1], asyncio.CancelledError)
    failed = ask_all(Slow(), [Recommend(users=["a"]), Recommend(users=["broken"]), Recommend(users=["b"], k=3)])
    assert isinstance(failed[1], DataError)
    assert failed[2] == {"users": ["b"]}


@pytest.mark.parametrize("model", ["ials", "ease", "itemknn"])
def test_an_answer_is_the_same_to_the_bit_alone_and_together(model, small_data, tmp_path):
    Recommender(model).fit(split_interactions(small_data(60, 40), seed=0)).save(tmp_path / "run")
    server = Server(tmp_path / "run")
    requests = [Recommend(users=[f"u{number}"], k=50) for number in range(30)]
    requests += [Recommend(users=["stranger", "u1"], k=50), Recommend(users=["u2", "u2", "u3"], k=50)]
    assert server.recommend_together(requests) == [server.recommend(request) for request in requests]
