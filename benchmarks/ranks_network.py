"""Ranks in network namespaces with a bandwidth set by `tc`: time and bytes of a step; and a model of more hosts.

python -m benchmarks.ranks_network FILE [--cases gmf-65536] [--ranks 2 4] [--gigabits 0 10 1] [--latency 0]
python -m benchmarks.ranks_network FILE --model benchmarks/results/ranks-speed.json

The first needs Linux, and root. A bandwidth of 0 is that of the machine. Where the kernel has no `netem`, a latency in
microseconds is made in the ranks themselves, see `delay_messages`. Four ranks share two cores here, so only their bytes
mean anything. What was measured before stays in the file. The model is written beside, and is calculated: see
`efficiency`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.inputs import load, prepare
from benchmarks.models import CACHE
from benchmarks.ranks_speed import CASES, EPOCH_PARTS, SWEEPS, begin
from benchmarks.report import describe_machine
from recsieve.communicator import Communicator, join
from recsieve.data.interactions import Interactions
from recsieve.data.sharing import share_out
from recsieve.links import Links
from recsieve.sampling import Sampler

SHAPE, PORT = "yelp", 29_751
PROBE = 1 << 24  # numbers of 4 bytes, to see what bandwidth there is
BURST = "128kb"  # that `tc` lets through at once
HOSTS = (2, 4, 8, 16, 32, 64)
WIDTHS = {"gmf": (32,), "neumf": (32, 128)}  # of the tables of items
DENSE = {"gmf": 33, "neumf": 256 * 128 + 128 + 128 * 64 + 64 + 64 * 32 + 32 + 64 + 1}
LATENCY = 50e-6  # seconds between two hosts of a data centre, assumed
STAMPS = 1 << 16  # messages of which it is known when they were sent
MESSAGES = 3  # of a step that wait for each other; a sweep has as many


def name_of(rank: int) -> str:
    return f"rsnet{os.getpid()}-{rank}"


@contextmanager
def hosts(n: int, gigabits: float) -> Iterator[None]:
    """Network namespaces that a bridge connects, each with a bandwidth in both directions."""
    bridge, pid = f"rsb{os.getpid()}", os.getpid()
    lines = [f"ip link add name {bridge} type bridge", f"ip link set {bridge} up"]
    for rank in range(n):
        inside, outside, name = f"i{rank}", f"rs{pid}o{rank}", name_of(rank)
        lines += [
            f"ip netns add {name}",
            f"ip link add name {outside} type veth peer name {inside} netns {name}",
            f"ip link set {outside} master {bridge} up",
            f"ip -n {name} addr add 10.79.0.{rank + 1}/24 dev {inside}",
            f"ip -n {name} link set {inside} up",
            f"ip -n {name} link set lo up",
        ]
        limit = f"root tbf rate {gigabits:g}gbit burst {BURST} latency 100ms"
        if gigabits:
            lines += [f"tc qdisc add dev {outside} {limit}", f"ip netns exec {name} tc qdisc add dev {inside} {limit}"]
    try:
        for line in lines:
            subprocess.run(line.split(), check=True)
        yield
    finally:
        for rank in range(n):
            subprocess.run(["ip", "link", "del", f"rs{pid}o{rank}"], check=False)  # a namespace would take its time
            subprocess.run(["ip", "netns", "del", name_of(rank)], check=False)
        subprocess.run(["ip", "link", "del", bridge], check=False)


def in_hosts(case: str, ranks: int, gigabits: float, latency: float) -> dict[str, Any]:
    """Measure a case, a rank in each namespace, on cores in turn."""
    with TemporaryDirectory() as folder, hosts(ranks, gigabits):
        out = Path(folder) / "result.json"
        line = [sys.executable, "-m", "benchmarks.ranks_network", str(out), "--here", "--cases", case]
        line += ["--gigabits", str(gigabits), "--latency", str(latency)]
        group = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "10.79.0.1", "MASTER_PORT": str(PORT)}
        group |= {"TORCHELASTIC_RUN_ID": "network", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        started = [
            subprocess.Popen(
                ["ip", "netns", "exec", name_of(rank), *line], env=os.environ | group | {"RANK": str(rank)}
            )
            for rank in range(ranks)
        ]
        if any(process.wait() for process in started):
            raise RuntimeError(f"a rank failed: {case}, {ranks} ranks, {gigabits:g} Gb/s")
        about = {"case": case, "ranks": ranks, "gigabits": gigabits, "microseconds of latency": latency}
        return about | json.loads(out.read_text())


def delay_messages(seconds: float, gigabits: float, group: Communicator, folder: Path) -> None:
    """Let every message of a step arrive so much later, after the time that the network takes for its bytes.

    Ranks on one machine have one clock. Each writes down when it begins to send its n-th message, and a rank that has
    it waits until it may have come.
    """
    stamps, count, start = folder / "stamps", 0, Links.start_exchange
    if group.is_first:
        np.memmap(stamps, np.float64, "w+", shape=(group.size, STAMPS)).flush()
    group.total(0)
    sent_at = np.memmap(stamps, np.float64, "r+", shape=(group.size, STAMPS))
    Path("/proc/self/timerslack_ns").write_text("1")

    def start_exchange(
        self: Links, sent: Mapping[int, NDArray[Any]], received: Mapping[int, NDArray[Any]]
    ) -> Callable[[], None]:
        nonlocal count
        place, count = count % STAMPS, count + 1
        sent_at[group.rank, place] = time.monotonic()
        receive, ranks = start(self, sent, received), list(received)
        on_the_way = seconds + (8e-9 / gigabits * sum(part.nbytes for part in received.values()) if gigabits else 0)

        def receive_later() -> None:
            receive()
            left = sent_at[ranks, place].max() + on_the_way - time.monotonic()
            if left > 0:
                time.sleep(left)

        return receive_later

    Links.start_exchange = start_exchange  # type: ignore[method-assign]


def measure(case: str, group: Communicator, gigabits: float, latency: float, folder: Path) -> dict[str, Any]:
    """The time of a sweep or step, the bytes that this rank sends in one, and the bandwidth that there is."""
    links, parts = Links(group), [np.zeros(PROBE, np.float32) for _ in range(group.size)]
    started = time.perf_counter()
    links.all_gather(parts)
    measured_gigabits = 32e-9 * PROBE * (group.size - 1) / (time.perf_counter() - started)
    if latency:
        delay_messages(1e-6 * latency, gigabits, group, folder)
    fitting = begin(case, share_out(load(prepare(SHAPE, CACHE)), group), group)
    fitting.advance()
    group.total(0)  # begin together
    first, sent, started = fitting.step, _sent(), time.perf_counter()
    for _ in range(SWEEPS if CASES[case][0] == "ials" else EPOCH_PARTS):
        fitting.advance()
    seconds = (time.perf_counter() - started) / (fitting.step - first)
    return {
        "milliseconds": round(1000 * seconds, 3),
        "bytes_sent": round((_sent() - sent) / (fitting.step - first)),
        "measured_gigabits": round(measured_gigabits, 2),
    }


def _sent() -> int:
    """The bytes that have left this namespace, headers of packets included."""
    return sum(int((path / "statistics/tx_bytes").read_text()) for path in Path("/sys/class/net").glob("i[0-9]*"))


def bytes_of(case: str, data: Interactions, n: int) -> float:
    """The bytes that a rank sends in a step or sweep, on average over ranks: calculated."""
    model, size = CASES[case]
    if model == "ials":  # the vectors of users and of items, to each other rank
        return 4 * size * (data.n_users + data.n_items) / n * (n - 1)
    batch = Sampler(data, seed=0).draw(0, 0, size)
    users, items = batch.users.numpy(), batch.items.numpy()
    unique = sum(len(np.unique(items[users % n == rank])) for rank in range(n)) / n
    per_row = 1 + 2 * sum(WIDTHS[model])  # its number and its gradient; the rows of its own that others need
    announced = size / 16 + n  # two bits for each row of the batch, and how many rows it needs of each owner
    return 4 * (n - 1) * (size / n + DENSE[model] + unique / n * per_row + announced)


def efficiency(case: str, data: Interactions, speed: dict[str, float], gigabits: float) -> list[dict[str, float]]:
    """How many times as fast as one core several hosts with a core each would be: calculated.

    Of a step, `divided` is what ranks share out and `whole` what each of them does, as far as one core and two ranks on
    one host tell; on top come the bytes and a latency for each message. Nothing overlaps.
    """
    one, two = speed["one process, one core"], speed["two ranks, a core each"]
    divided = 2 * (one - two)
    whole, found = one - divided, []
    for n in HOSTS:
        n_bytes = bytes_of(case, data, n)
        milliseconds = whole + divided / n + 8e-6 * n_bytes / gigabits + 1000 * MESSAGES * LATENCY
        found.append({"hosts": n, "bytes_sent": round(n_bytes), "milliseconds": round(milliseconds, 2),
                      "times_one_core": round(one / milliseconds, 2)})  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--gigabits", nargs="+", type=float, default=[0, 10, 1])
    parser.add_argument("--latency", nargs="+", type=float, default=[0])
    parser.add_argument("--model", type=Path, help="what ranks_speed has measured")
    parser.add_argument("--here", action="store_true", help="measure as a rank, in this process")
    options = parser.parse_args()
    if options.here:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(os.environ["RANK"]) % len(cores)]})
        with join() as group:
            how = options.gigabits[0], options.latency[0], options.file.parent
            found = measure(options.cases[0], group, *how)
            if group.is_first:
                options.file.write_text(json.dumps(found))
        return
    result = json.loads(options.file.read_text()) if options.file.exists() else {"measured": [], "calculated": []}
    data = load(prepare(SHAPE, CACHE))
    if options.model:
        speeds = json.loads(options.model.read_text())["cases"]
        result["calculated"] = [
            {
                "case": case,
                "gigabits": gigabits,
                "hosts": efficiency(case, data, speeds[case]["milliseconds"], gigabits),
            }
            for case in options.cases
            for gigabits in (1.0, 10.0)
        ]
    else:
        machine = describe_machine(2)
        for case, ranks, *network in product(options.cases, options.ranks, options.gigabits, options.latency):
            if CASES[case][0] == "ials" and network[1] > 0:
                continue  # its messages are gloo's, and few
            new = in_hosts(case, ranks, *network) | {"calculated_bytes": round(bytes_of(case, data, ranks))}
            same = ("case", "ranks", "gigabits", "microseconds of latency")
            kept = [one for one in result["measured"] if any(one.get(name, 0) != new[name] for name in same)]
            result["measured"] = [*kept, new | {"machine": machine}]
            options.file.write_text(json.dumps(result, indent=1) + "\n")
    options.file.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
