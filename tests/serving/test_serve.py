"""A real service on loopback, in a process of its own."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from benchmarks.http_fuzz import requests
from recsieve import Recommender, split_interactions

TOKEN = "a-token-of-tests"


@pytest.fixture(scope="module")
def recommenders(small_data):
    split = split_interactions(small_data(60, 40), seed=0)
    return Recommender("ease").fit(split), Recommender("itemknn").fit(split)


@pytest.fixture(scope="module")
def folders(recommenders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, recommender in zip(("ease", "itemknn"), recommenders, strict=True):
        recommender.save(folder / name)
    return folder / "ease", folder / "itemknn"


class Service:
    def __init__(self, run, *options):
        environment = os.environ | {"OMP_NUM_THREADS": "1", "RECSIEVE_TOKEN": ""}
        command = [sys.executable, "-m", "recsieve", "serve", str(run), "--port", "0", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        first = self.process.stdout.readline()
        assert "answers at" in first, self.process.communicate()[1]
        self.port = int(re.search(r":(\d+)/", first)[1])
        self.log: list[str] = []
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    def ask(self, method, path, body=None, *, raw=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = raw if raw is not None else None if body is None else json.dumps(body)
        connection.request(method, path, sent, {"content-type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        is_json = "json" in answer.headers.get("content-type", "")
        return answer.status, json.loads(text) if is_json else text, answer.headers

    def with_token(self, path, body):
        return self.ask("POST", path, body, headers={"authorization": f"Bearer {TOKEN}"})

    def end(self):
        self.process.terminate()
        return self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def service(folders):
    service = Service(folders[0])
    yield service
    assert service.end() == 0
    assert "Traceback" not in "".join(service.log)


def lists_in(frame):
    return {user: rows["item"].to_list() for (user,), rows in frame.group_by("user", maintain_order=True)}


def test_lists_are_those_of_recommend(service, recommenders):
    users = [f"u{number}" for number in range(60)]
    status, found, _ = service.ask("POST", "/recommend", {"users": users, "k": 7})
    assert status == 200
    lists = {entry["user"]: [item["item"] for item in entry["items"]] for entry in found["lists"]}
    assert lists == lists_in(recommenders[0].recommend(users, k=7))


def test_profiles_filters_and_reasons_are_those_of_recommend(service, recommenders):
    asked = {"profiles": {"a": ["i1", "i2"], "b": ["i3", "nowhere"]}, "k": 5, "deny": ["i4", "i9"], "explain": 2}
    _, found, _ = service.ask("POST", "/recommend", asked)
    expected = recommenders[0].recommend(profiles=asked["profiles"], k=5, deny=asked["deny"], explain=2)
    assert {e["user"]: [item["item"] for item in e["items"]] for e in found["lists"]} == lists_in(expected)
    said = [[reason["item"] for reason in item["reasons"]] for e in found["lists"] for item in e["items"]]
    assert said == [[reason["item"] for reason in reasons] for reasons in expected["reasons"].to_list()]
    assert found["notes"] == ["left out of the profiles: 1 item not in the data ('nowhere')."]


def test_a_category_can_be_limited(service, recommenders):
    categories = {f"i{number}": "odd" if number % 2 else "even" for number in range(40)}
    asked = {"users": ["u1", "u2"], "k": 4, "categories": categories, "per_category": 1}
    _, found, _ = service.ask("POST", "/recommend", asked)
    expected = recommenders[0].recommend(["u1", "u2"], k=4, categories=categories, per_category=1)
    assert {e["user"]: [item["item"] for item in e["items"]] for e in found["lists"]} == lists_in(expected)
    assert found["notes"] == ["2 of 2 lists are shorter than 4: there are not enough items."]
    status, found, _ = service.ask("POST", "/recommend", {"users": ["u1"], "per_category": 1})
    assert (status, "give both" in found["error"]) == (400, True)


def test_unknown_users_get_popular_items_and_are_flagged(service):
    _, found, _ = service.ask("POST", "/recommend", {"users": ["u1", "unknown", 7], "k": 3})
    assert [entry["popular"] for entry in found["lists"]] == [False, True, True]
    assert [entry["user"] for entry in found["lists"]] == ["u1", "unknown", 7]
    assert all("score" not in item for item in found["lists"][1]["items"])


def test_items_alike_and_reasons_have_requests_of_their_own(service, recommenders):
    _, found, _ = service.ask("POST", "/similar", {"items": ["i3"], "k": 4})
    alike = recommenders[0].similar_items("i3", k=4)
    assert [item["item"] for item in found["lists"][0]["items"]] == alike["similar"].to_list()
    _, found, _ = service.ask("POST", "/explain", {"user": "u5", "items": ["i3", "i4"]})
    assert [item["item"] for item in found["items"]] == ["i3", "i4"]
    status, found, _ = service.ask("POST", "/explain", {"profile": ["i1"], "items": ["nowhere"]})
    assert (status, found["error"]) == (400, "1 of 1 item is not in the data ('nowhere'): leave them out.")


def test_what_is_wrong_is_one_line_of_json(service):
    for body in ({}, {"users": []}, {"users": ["u1"], "k": 0}, {"users": ["u1"], "profiles": [["i1"]]},
                 {"users": ["u1"], "colour": "red"}, {"users": ["u"] * 1001}, {"users": [{"id": 1}]}, []):  # fmt: skip
        status, found, _ = service.ask("POST", "/recommend", body)
        assert status == 422
        assert re.fullmatch(r"[^\n]+", found["error"])
    assert service.ask("GET", "/nowhere")[0] == 404
    assert service.ask("POST", "/recommend", raw="{")[0] == 422
    assert service.ask("POST", "/recommend", raw="x" * (9 << 20))[0] == 413
    assert service.ask("POST", "/reload", {})[0] == 403


def test_who_sends_json_as_a_form_as_curl_does_is_told_the_header(service):
    form = {"content-type": "application/x-www-form-urlencoded"}
    status, found, _ = service.ask("POST", "/recommend", {"users": ["u1"]}, headers=form)
    assert (status, found["error"]) == (
        422,
        "the request is sent as application/x-www-form-urlencoded: send JSON, with the header Content-Type: "
        "application/json.",
    )


def test_who_takes_explain_for_a_switch_is_told_to_give_a_number(service):
    status, found, _ = service.ask("POST", "/recommend", {"users": ["u1"], "explain": True})
    assert (status, found["error"]) == (
        422, "explain: give a number: how many reasons for each recommendation, e.g. 3, or 0 for none."
    )  # fmt: skip


def test_a_page_of_another_site_cannot_ask_by_a_name_of_its_own(service):
    assert service.ask("GET", "/ready", headers={"host": "evil.example"})[0] == 400
    assert service.ask("GET", "/ready", headers={"host": f"localhost:{service.port}"})[0] == 200


def test_the_page_asks_again_without_reasons_whatever_the_words_of_an_error(service):
    _, page, _ = service.ask("GET", "/")
    assert "recommend(3).catch(() => recommend(0))" in page
    assert "error.message)" not in page  # words may change


def test_the_page_loads_nothing_from_elsewhere(service):
    status, page, headers = service.ask("GET", "/")
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert not re.search(r"https?://|innerHTML|src=|href=", page)


def test_health_readiness_counts_and_a_description_are_there(service):
    assert service.ask("GET", "/health")[1] == {"status": "ok"}
    assert service.ask("GET", "/ready")[1]["model"] == "EASE"
    counts = service.ask("GET", "/metrics")[1]
    assert re.search(r'recsieve_requests_total\{path="/health",status="200"\} [1-9]', counts)
    assert {"/recommend", "/similar", "/explain"} <= set(service.ask("GET", "/openapi.json")[1]["paths"])


def test_logs_have_no_ids(service):
    service.ask("POST", "/recommend", {"users": ["u-secret"]})
    time.sleep(0.2)
    assert "/recommend" in {json.loads(line)["path"] for line in service.log}
    assert "secret" not in "".join(service.log)


@settings(max_examples=200, suppress_health_check=list(HealthCheck))  # `benchmarks.serving fuzz` sends 10,000
@given(asked=requests([f"u{number}" for number in range(60)], [f"i{number}" for number in range(40)]))
def test_no_request_brings_it_down(service, asked):
    status, found, _ = service.ask("POST", asked[0], raw=json.dumps(asked[1]))
    assert status in (200, 400, 403, 422)
    assert status == 200 or re.fullmatch(r"[^\n]+", found["error"])


@pytest.mark.parametrize(
    ("sent", "told"),
    [('{"users": ["u1"]', "the request is not JSON: see character"), ('{"users": ["u1"], "kk": 3}', "kk: there is no")],
)
def test_what_cannot_be_read_is_told_in_plain_words(service, sent, told):
    status, found, _ = service.ask("POST", "/recommend", raw=sent)
    assert status == 422
    assert found["error"].startswith(told)


def test_reloading_drops_no_request_and_goes_back(folders, recommenders):
    service = Service(folders[0], "--token", TOKEN)
    assert service.ask("POST", "/recommend", {"users": ["u1"]})[0] == 401
    expected = [lists_in(r.recommend(["u1"], k=5))["u1"] for r in recommenders]
    done, seen = threading.Event(), set()

    def go_on():
        n = 0
        while not done.is_set():
            status, found, _ = service.with_token("/recommend", {"users": ["u1"], "k": 5})
            assert status == 200
            seen.add((found["run"], tuple(item["item"] for item in found["lists"][0]["items"])))
            n += 1
        return n

    with ThreadPoolExecutor(4) as clients:
        asking = [clients.submit(go_on) for _ in range(4)]
        first = service.ask("GET", "/ready")[1]["run"]
        _, second, _ = service.with_token("/reload", {"run": str(folders[1])})
        assert second["run"] != first
        assert service.with_token("/reload", {"back": True})[1]["run"] == first
        assert service.with_token("/reload", {"run": str(Path(folders[0]) / "nowhere")})[0] == 400
        assert service.with_token("/reload", {"run": "\0"})[0] == 400
        service.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert service.ask("GET", "/ready")[1]["run"] == first
        done.set()
        assert all(client.result() > 0 for client in asking)
    assert {items for run, items in seen if run == first} == {tuple(expected[0])}
    assert {items for run, items in seen if run == second["run"]} <= {tuple(expected[1])}
    assert service.end() == 0


def test_what_was_asked_before_it_is_told_to_end_is_answered(folders):
    service = Service(folders[0])
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    body = json.dumps({"users": ["u1"]}).encode()
    connection.putrequest("POST", "/recommend")
    connection.putheader("content-type", "application/json")
    connection.putheader("content-length", str(len(body)))
    connection.endheaders()
    connection.send(body[:5])
    time.sleep(0.3)
    service.process.terminate()
    time.sleep(0.3)
    connection.send(body[5:])
    assert connection.getresponse().status == 200
    connection.close()
    assert service.process.wait(timeout=60) == 0


def test_others_reach_it_only_with_a_token(recsieve, folders):
    answer = recsieve("serve", folders[0], "--host", "0.0.0.0")
    assert answer.code == 2
    assert "host is 0.0.0.0, which others can reach: give a token" in answer.err
