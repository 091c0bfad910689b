#!/usr/bin/env python3
"""What a user of `plimsoll serve` can find out about the jobs of another.

    serve_viewers.py walk URL SECRET USER OWN OTHER NONE FILE    every route of the table as USER, into FILE
    serve_viewers.py writes URL SECRET USER OTHER NONE           every change, of another's job and of one that does not exist

OWN is a job of USER, OTHER one of somebody else, NONE one that does not exist, with an id of the same length. Every text of OTHER has
the word "zebra", so that no answer may have it unless USER sent it; and an answer about OTHER must be that about NONE. FILE has the
answers: they must not change when somebody else stores jobs.
"""
import http.client
import json
import re
import sys
import urllib.parse

MARK = b"zebra"
VALUES = {
    "where": ["user = 'zebra-user'", "jobname =~ 'zebra'", "host = 'zebra-host'", "tag.zebra-key = 'zebra-value'", "exitcode >= 0",
              "job > 0", "nonsense ==", "sum.usertime > 0"],
    "text": ["zebra", "own"], "user": ["zebra-user", "alice"], "host": ["zebra-host"], "status": ["failed", "completed"],
    "tag": ["zebra-key:zebra-value", "exp_name:own"], "metric": ["usertime", "cpu.user", "all"], "by": ["zebra-key", "executable", "exp_name"],
    "experiment": ["zebra-value", "own", "zebra-key:zebra-value"], "sort": ["-jobid", "cpu_time"], "order": ["-cpu_time"],
    "limit": ["1", "1000"], "format": ["csv", "json", "sqlite", "jsonl"], "what": ["jobs", "processes", "samples"], "exe": ["zebra-exe"],
    "from": ["2020-01-01"], "to": ["2030-01-01"], "model": ["zebra-model"], "ref": ["OTHER", "NONE"], "group": ["zebra-value"],
}
STATEMENTS = [
    "SELECT * FROM jobs", "SELECT count(*) FROM processes", "SELECT * FROM job", "SELECT * FROM main.job", "SELECT * FROM sqlite_master",
    "SELECT * FROM access_user", "SELECT * FROM string", "SELECT max(no) FROM job", "SELECT * FROM job_number", "SELECT * FROM model",
    "SELECT * FROM public.job", "SELECT relname FROM pg_class", "SELECT pg_read_file('/etc/passwd')", "SELECT * FROM alerts",
    "SELECT j.jobname FROM (SELECT 'zebra-name' AS jobname) j NATURAL JOIN jobs", "EXPLAIN QUERY PLAN SELECT * FROM jobs",
    "WITH jobs AS (SELECT * FROM main.job) SELECT * FROM jobs",
]


class Client:
    def __init__(self, url, secret, user):
        u = urllib.parse.urlsplit(url)
        self.host, self.port = u.hostname, u.port
        self.headers = {"X-User": user, "X-Plimsoll-Proxy-Secret": secret}
        self.headers["X-Plimsoll-CSRF"] = json.loads(self.ask("GET", "/api/v1/session")[2])["csrf"]

    def ask(self, method, path, body=None, more=None):
        c = http.client.HTTPConnection(self.host, self.port, timeout=60)
        headers = dict(self.headers, **(more or {}))
        if body is not None:
            headers["Content-Type"] = "application/json"
        c.request(method, path, body, headers)
        r = c.getresponse()
        data = r.read()
        c.close()
        kept = sorted("%s: %s" % (k.lower(), v) for k, v in r.getheaders() if k.lower() not in ("date", "connection"))
        return r.status, "\n".join(kept).encode(), data


def operations(client):
    api = json.loads(client.ask("GET", "/api/v1/openapi.json")[2])
    for path, o in sorted(api["paths"].items()):
        for method, row in sorted(o.items()):
            yield method.upper(), path, row


def cases(path, row, own, other, none):
    """Paths with parameters, each with whether it names another's job."""
    params = {p["name"]: p for p in row["parameters"]}
    whole = path.replace("{job}", own).replace("{model}", "zebra-model")
    yield whole, None
    for name in params:
        if "{%s}" % name in path:
            continue
        values = VALUES.get(name, ["1", "zebra"])
        if name in ("jobs", "a", "b"):
            values = [own, "OTHER", "NONE"]
        for v in values:
            more = "" if name != "b" else "&a=" + own
            yield whole + "?" + name + "=" + urllib.parse.quote(v) + more, None
    if "{job}" in path:
        yield path.replace("{job}", "JOB"), "job"
        yield path.replace("{job}", "own3"), None  # a prefix of another's id
        yield path.replace("{job}", "own-name"), None  # several have the name
    for name in ("jobs", "a", "ref"):
        if name in params:
            yield whole + "?" + name + "=JOB", "job"
    if "experiment" in params:
        yield whole + "?experiment=own", None


def same(what, a, b, other, none):
    """Two answers, of another's job and of one that does not exist."""
    plain = [tuple(x.replace(i.encode(), b"ID") if isinstance(x, bytes) else x for x in answer) for answer, i in ((a, other), (b, none))]
    if plain[0] != plain[1]:
        print("%s: another's job is answered unlike one that does not exist:\n  %s\n  %s" % (what, plain[0], plain[1]))
        return False
    return True


def silent(what, sent, answer):
    """No mark, but what was sent and comes back in an error."""
    text = answer[1] + b"\n" + answer[2]
    for word in sorted(set(re.findall(rb"[\w.:-]*zebra[\w.:-]*", urllib.parse.unquote(sent).encode())), key=len, reverse=True):
        text = text.replace(word, b"")
    if MARK in text:
        at = text.index(MARK)
        print("%s: tells of another: %s" % (what, text[max(0, at - 200):at + 200]))
        return False
    return True


def walk(url, secret, user, own, other, none, file):
    client = Client(url, secret, user)
    good, count, out = True, 0, {}
    for method, path, row in operations(client):
        if path.endswith("/live") or path == "/metrics":
            continue
        if method != "GET":
            continue
        for target, about in cases(path, row, own, other, none):
            target = target.replace("OTHER", other).replace("NONE", none)
            what = method + " " + target
            count += 1
            if about:
                a = client.ask(method, target.replace("JOB", other))
                b = client.ask(method, target.replace("JOB", none))
                good &= same(what, a, b, other, none)
                good &= silent(what, other, a)
                if a[0] < 400 and "{job}" in path:
                    print(what, "is answered", a[0])
                    good = False
            else:
                a = client.ask(method, target)
                good &= silent(what, target, a)
                out[what] = repr(a)
                if a[0] >= 500:
                    print(what, a)
                    good = False
    for sql in STATEMENTS:
        a = client.ask("POST", "/api/v1/sql", json.dumps({"sql": sql}))
        good &= silent("sql " + sql, sql, a)
        # the plan has the secret name of the store, another each time
        out["sql " + sql] = "" if sql.startswith("EXPLAIN") else repr(a)
        count += 1
    with open(file, "w") as f:
        json.dump(out, f, indent=1)
    print(count, "answers")
    sys.exit(0 if good else 1)


BODIES = {"tags": {"tags": {"k": "v"}}, "annotations": {"annotations": {"k": "v"}}, "models": {"name": "m", "jobs": ["JOB"]}}


def writes(url, secret, user, other, none):
    client = Client(url, secret, user)
    good, count = True, 0
    for method, path, _ in operations(client):
        if method == "GET" or path in ("/api/v1/sql", "/api/v1/logout", "/api/v1/link", "/login"):
            continue
        answers = []
        for job in (other, none):
            body = BODIES.get(path.split("/")[-1], {"jobs": ["JOB"], "note": "x", "features": "duration", "hours": 1})
            target = re.sub(r"\{\w+\}", "zebra-model", path.replace("{job}", job))
            answers.append(client.ask(method, target, json.dumps(body).replace("JOB", job)))
        what = method + " " + path
        count += 1
        good &= same(what, answers[0], answers[1], other, none)
        good &= silent(what, other + " zebra-model", answers[0])
        if answers[0][0] not in (403, 404):
            print(what, "is not refused:", answers[0])
            good = False
    print(count, "changes refused")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    {"walk": walk, "writes": writes}[sys.argv[1]](*sys.argv[2:])
