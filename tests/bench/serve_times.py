"""How long `plimsoll serve` takes for the first page of the jobs of a store that bench-site made, for the page behind it and for
the sums, for each kind of filter and any two of them:

    serve_times.py SOCKET ROUNDS [all]

prints minimum and median in ms, each answer computed anew; without "all" the ten slowest pairs only. The last line has the
worst medians.
"""

import http.client
import itertools
import json
import socket
import statistics
import sys
import time
import urllib.parse

FILTERS = [
    ("user", {"user": "ochen"}),
    ("busiest user", {"user": "aalvarez"}),
    ("date range", {"from": "-500d", "to": "-470d"}),
    ("failed", {"status": "failed"}),
    ("completed", {"status": "completed"}),
    ("running", {"status": "running"}),
    ("host", {"host": "cn0100"}),
    ("experiment", {"tag": ["exp_name:esm4_historical_D1"]}),
    ("component", {"tag": ["exp_component:ocean_monthly"]}),
    ("project", {"tag": ["project:climate"]}),
    ("word", {"text": "lysozyme"}),
    ("frequent word", {"text": "gmx"}),
    ("beginning", {"text": "oc"}),
]


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def get(connection, what, parameters):
    """The answer and the time that it took, in ms."""
    begin = time.perf_counter()
    connection.request("GET", f"/api/v1/{what}?" + urllib.parse.urlencode(parameters, doseq=True))
    answer = connection.getresponse()
    body = answer.read()
    taken = (time.perf_counter() - begin) * 1000
    if answer.status != 200:
        sys.exit(f"serve_times.py: {what} {parameters}: {answer.status} {body.decode()}")
    return json.loads(body), taken


def both(a, b):
    """The parameters of two filters; None: they name the same one."""
    if any(name in a and name != "tag" for name in b):
        return None
    return {**a, **b, **({"tag": a.get("tag", []) + b.get("tag", [])} if "tag" in a or "tag" in b else {})}


def measure(connection, parameters, rounds, count=itertools.count(1)):
    """Jobs, and minimum and median of page, next page and sums."""
    times = {"page": [], "next": [0.0], "tiles": []}
    for _ in range(rounds):
        # blanks change nothing, but the answer is not one that was kept
        own = dict(parameters, where=" " * next(count))
        page, taken = get(connection, "jobs", own)
        times["page"].append(taken)
        if page["next"]:
            times["next"].append(get(connection, "jobs", dict(own, after=page["next"]))[1])
        tiles, taken = get(connection, "tiles", own)
        times["tiles"].append(taken)
    if len(times["next"]) > 1:
        times["next"].pop(0)
    return tiles["jobs"], [figure for t in times.values() for figure in (min(t), statistics.median(t))]


def show(name, row):
    jobs, figures = row
    print(f"  {name:30} {jobs:9}" + "".join(f" {figure:9.2f}" for figure in figures))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    connection, rounds = Connection(sys.argv[1]), int(sys.argv[2])
    single = [("none", measure(connection, {}, rounds))]
    single += [(name, measure(connection, own, rounds)) for name, own in FILTERS]
    pairs = [(f"{a[0]}, {b[0]}", both(a[1], b[1])) for a, b in itertools.combinations(FILTERS, 2)]
    pairs = [(name, measure(connection, own, rounds)) for name, own in pairs if own]
    print(f"  {'ms: minimum and median':30} {'jobs':>9} {'first page':>19} {'next page':>19} {'sums':>19}")
    for name, row in single:
        show(name, row)
    pairs.sort(key=lambda pair: -pair[1][1][1])
    for name, row in pairs if len(sys.argv) > 3 else pairs[:10]:
        show(name, row)
    worst = [max(row[1][i] for _, row in single + pairs) for i in (1, 3, 5)]
    print(f"  worst median of {len(single) + len(pairs)}: first page {worst[0]:.1f}, next page {worst[1]:.1f}, sums {worst[2]:.1f}")


main()
