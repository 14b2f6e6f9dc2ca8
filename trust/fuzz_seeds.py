"""Good and bad pieces of what is fuzzed: rules, queries, cells of tables, logs, requests."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

RULES = [
    "rating < 3", "dwell_seconds < 10", "hours < 1 or returned", "event = 'return'", "rating between 1 and 2",
    "not (rating >= 3 and hours > 1)", '"odd name" is null', "rating in (1, 2)", "event like 'r%'", "-rating > -3",
]  # fmt: skip
WORDS = ["rating", "hours", "event", "returned", "nothing", "and", "or", "not", "(", ")", "<", ">", "=", "!=",
         "'return'", "3", "1.5", "1e400", "null", "is", "in", "between", "like", "case", "when", "select", "*", ";",
         "--", "/*", "::", "'", '"', "+", "/", "%", "lower(event)", "count(*)", "exists", "@x", "$1", "[1]",
         "\\", "漢"]  # fmt: skip
ROWS = pl.DataFrame(
    {"rating": [1, 5, None], "dwell_seconds": [1.0, 20.0, float("nan")], "hours": [0.5, 2, 3],
     "returned": [True, False, None], "event": ["return", "buy", None], "odd name": [None, "a", ""]}
)  # fmt: skip
QUERIES = [
    "SELECT * FROM t", "SELECT user, item FROM t WHERE rating > 2", "SELECT user, count(*) AS n FROM t GROUP BY user",
    "WITH a AS (SELECT * FROM t) SELECT * FROM a", "SELECT user, item, x'ff00' AS b FROM t", "SELECT a.* FROM t a, t b",
    "SELECT user, item, CASE rating WHEN 1 THEN 'a' ELSE 2 END AS rating FROM t", "DELETE FROM t", "DROP TABLE t",
    "ATTACH 'x' AS y", "PRAGMA user_version = 1", "SELECT load_extension('x')", "VACUUM INTO 'x'",
]  # fmt: skip
CELLS: list[Any] = [
    1, -1, 2**40, 0.5, float("nan"), "a", "", "2024-01-02", "05/03/2025", "1,5", "\x1b[31m\n", b"\xff\x00", True, None,
    date(2024, 1, 2), timedelta(1), Decimal("1.5"), [1], {"a": [None]},
]  # fmt: skip
NAMES = ["rating", "hours", "event", "returned", "time", "weight", "false_positive", "odd name", 'a"b', "x\ny", ""]
LOGS = [
    b"user,item,rating\n" + b"".join(b"u%d,i%d,%d\n" % (n % 7, n % 5, n % 6) for n in range(30)),
    b"user\titem\ttime\n" + b"".join(b"%d\t%d\t2024-03-%02d\n" % (n % 7, n % 5, n + 1) for n in range(30)),
    b'customer;product;false_positive\n"a;b";"x ""y""";yes\nb;c;no\nc;d;\n',
    b"1,2,3\n4,5,6\n7,8,9\n", b"user_id:token,item_id:token,rating:float\n1,2,3.5\n3,4,1\n",
]  # fmt: skip
BODIES: list[tuple[str, Any]] = [
    ("/recommend", {"users": ["u1", "u2"], "k": 3, "deny": ["i1"], "min_popularity": 1, "explain": 2}),
    ("/recommend", {"profiles": [["i1", "i2"]], "allow": {"0": ["i3"]}, "k": 5, "exclude_seen": False}),
    ("/similar", {"items": ["i1"], "k": 3}), ("/explain", {"user": "u1", "items": ["i2"], "most": 2}),
    ("/explain", {"profile": ["i1"], "items": ["i2"]}), ("/reload", {"back": True}),
]  # fmt: skip
