#!/usr/bin/env python3
"""What a user of `plimsoll serve` can find out about the jobs of another.

    serve_viewers.py walk URL SECRET USER OWN OTHER NONE FILE    every route of the table as USER, into FILE
    serve_viewers.py writes URL SECRET USER OTHER NONE           every change, of another's job and of one that does not exist
    serve_viewers.py statements URL SECRET USER                  statements of the SQL console that try to get around its views

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


# Each must be refused, on the engines that know it and on those that do not.
REFUSED = [
    "RESET ROLE", "SET search_path = public", "DO $$ BEGIN RAISE EXCEPTION 'x'; END $$", "TABLE public.job", "COPY public.job TO STDOUT",
    "PREPARE x AS SELECT * FROM public.job", "EXECUTE x", "DECLARE c CURSOR FOR SELECT * FROM public.job", "SELECT * FROM public.job",
    "SELECT set_config('search_path', 'public', false)", "SELECT set_config('role', 'none', false)", "SELECT current_setting('role')",
    "SELECT query_to_xml('SELECT * FROM public.job', true, false, '')", "SELECT table_to_xml('public.job', true, false, '')",
    "SELECT xpath('//text()', query_to_xml('SELECT * FROM public.job', true, false, ''))", "SELECT cursor_to_xml('c', 1, true, false, '')",
    "SELECT * FROM ts_stat('SELECT to_tsvector(jobid) FROM public.job')", "SELECT database_to_xml(true, false, '')",
    "SELECT reltuples FROM pg_class", "SELECT reltuples FROM pg_catalog.pg_class WHERE relname = 'job'", "SELECT * FROM pg_stats",
    "SELECT * FROM pg_stat_user_tables", "SELECT n_live_tup FROM pg_stat_all_tables", "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_stat_activity", "SELECT * FROM pg_locks", "SELECT pg_relation_size('public.job')", "SELECT pg_database_size('postgres')",
    "SELECT pg_stat_get_live_tuples(c) FROM generate_series(16384, 20000) c", "SELECT pg_read_file('/etc/passwd')", "SELECT pg_ls_dir('.')",
    "SELECT lo_import('/etc/passwd')", "SELECT lo_create(0)", "SELECT pg_sleep(0)", "SELECT nextval('x')", "SELECT txid_current()",
    "SELECT pg_advisory_lock(7236278)", "SELECT pg_terminate_backend(1)", "SELECT 'public.job'::regclass", "SELECT 10::regrole",
    "SELECT g::oid::regclass FROM generate_series(16384, 20000) g", "SELECT pg_get_viewdef('jobs'::regclass)", "SELECT to_regclass('public.job')",
    "SELECT has_table_privilege('public.job', 'SELECT')", "SELECT satisfies_hash_partition('public.job'::regclass, 1, 0, NULL)",
    "SELECT pg_partition_root('public.job')", "SELECT obj_description(1)", "SELECT version()", "SELECT inet_server_addr()",
    "SELECT 1; SELECT * FROM public.job", "SELECT 1 WHERE false; TABLE public.job", "SELECT * INTO pg_temp.x FROM jobs",
    "WITH x AS (DELETE FROM jobs RETURNING *) SELECT * FROM x", "WITH x AS (TABLE public.job) SELECT * FROM x",
    "WITH x AS (INSERT INTO job_tag VALUES (1, 'a', 'b') RETURNING *) SELECT * FROM x", "VALUES ((SELECT max(no) FROM public.job))",
    "SELECT (SELECT count(*) FROM public.job)", "SELECT 1 AS a FROM jobs WHERE EXISTS (SELECT 1 FROM public.job)",
    "SELECT * FROM jobs j, LATERAL (SELECT * FROM public.job) x", "SELECT * FROM jobs ORDER BY (SELECT count(*) FROM public.job)",
    "SELECT plimsoll_text('a'::bytea)", "SELECT * FROM access_user", "SELECT * FROM public.access_event", "SELECT * FROM pg_temp.nothing",
    "SELECT * FROM main.job", "SELECT * FROM temp.sqlite_master", "SELECT * FROM sqlite_temp_master", "SELECT * FROM sqlite_schema",
    "SELECT * FROM pragma_table_info('job')", "SELECT * FROM pragma_database_list", "SELECT * FROM pragma_table_list", "SELECT * FROM dbstat",
    "SELECT * FROM sqlite_stmt", "SELECT * FROM bytecode('SELECT 1')", "SELECT * FROM tables_used('SELECT * FROM jobs')",
    "SELECT readfile('/etc/passwd')", "SELECT load_extension('x')", "SELECT fts3_tokenizer('simple')", "PRAGMA database_list",
    "ATTACH ':memory:' AS x", "SELECT * FROM sqlite_stat1", "SELECT * FROM sqlite_dbpage", "SELECT * FROM fsdir('/')",
]
# Each fails, or takes long, if a condition is evaluated on a row of somebody else: it tells what is in that row. WORD is in the rows of
# another, or in none; the answer must be the same.
FAILS = {
    "SQLite": ["CASE WHEN X LIKE 'WORD%' THEN json('{') ELSE 'x' END <> ''", "X = 'WORD-host' AND json('{') = ''",
               "X >= '' AND likelihood(CASE WHEN X LIKE 'WORD%' THEN json('{') ELSE 'x' END <> '', 0.000001)",
               "CASE WHEN X LIKE 'WORD%' THEN abs(-9223372036854775807 - 1) ELSE 1 END > 0",
               "length(zeroblob(CASE WHEN X LIKE 'WORD%' THEN 2000000000 ELSE 1 END)) > 0"],
    "PostgreSQL": ["CASE WHEN X LIKE 'WORD%' THEN 1 / (length(X) - length(X)) ELSE 1 END > 0",
                   "(X NOT LIKE 'WORD%' OR CAST(X AS INTEGER) > 0)"],
}
TEXTS = [("jobs", "jobname"), ("jobs", '"user"'), ("jobs", "jobid"), ("job", "username"), ("job", "jobid"), ("processes", "exename"),
         ("processes", "hostname"), ("processes", "args"), ("job_tags", "key"), ("job_tags", "value"), ("job_tag", "value"), ("job_hosts", "host"),
         ("job_host", "host"), ("job_annotations", "key"), ("job_proc_tags", "tags"), ("job_executables", "exename"), ("phases", "name"),
         ("string", "CAST(bytes AS TEXT)"), ("job_word", "word"), ("job_users", '"user"'), ("alerts", "model"),
         ("jobs a JOIN jobs b ON a.jobid = b.jobid", "a.jobname"), ("processes p JOIN jobs j ON j.jobid = p.jobid", "p.exename"),
         ("(SELECT 'own-name' AS jobname) x NATURAL JOIN jobs", "jobid"), ("job_tags t LEFT JOIN jobs j ON j.jobid = t.jobid", "t.value")]
# What users may do.
ALLOWED = [("SELECT count(*) AS n FROM jobs", [[2]]), ("SELECT jobid FROM jobs WHERE jobname = 'own-name' ORDER BY jobid DESC LIMIT 1", [["own22"]]),
           ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) AS s FROM r", [[15]]),
           ("SELECT j.jobid, count(*) AS n, max(length(p.exename)) AS m FROM jobs j JOIN processes p ON p.jobid = j.jobid "
            "GROUP BY j.jobid ORDER BY 1 -- a comment", [["own11", 2, 11], ["own22", 2, 11]]),
           ("SELECT jobid, row_number() OVER (ORDER BY jobid) AS n FROM jobs ORDER BY n", [["own11", 1], ["own22", 2]]),
           ("SELECT CAST('7' AS integer) + 1 AS n, upper('a') AS u, round(1.5) AS r, coalesce(NULL, 'x') AS c;", [[8, "A", 2, "x"]]),
           ("SELECT count(DISTINCT key) AS n FROM job_tags WHERE value LIKE '%-value'", [[1]]), ("VALUES (1)", [[1]]),
           ("SELECT count(*) AS n FROM jobs WHERE \"user\" <> 'alice'", [[0]]), ("SELECT sum(n) AS n FROM (SELECT count(*) AS n FROM string) x", None)]


def statements(url, secret, user):
    client = Client(url, secret, user)
    good, count = True, 0
    engine = json.loads(client.ask("GET", "/api/v1/schema")[2])["engine"]

    def ask(sql):
        status, _, data = client.ask("POST", "/api/v1/sql", json.dumps({"sql": sql}))
        return status, data

    for sql in REFUSED:
        status, data = ask(sql)
        count += 1
        if status != 400 or MARK in data:
            print("not refused: %s: %s %s" % (sql, status, data[:300]))
            good = False
    for table, column in TEXTS:
        if engine == "PostgreSQL" and "bytes" in column:
            column = "encode(bytes, 'escape')"
        for fails in FAILS[engine]:
            sql = "SELECT count(*) AS n FROM %s WHERE %s" % (table, fails.replace("X", column))
            answers = [(s, d.replace(w.encode(), b"WORD")) for w in ("zebra", "otter") for s, d in [ask(sql.replace("WORD", w))]]
            count += 1
            if answers[0][0] != 200 and b" column" in answers[0][1]:
                print("%s: %s" % (sql, answers[0]))
                good = False
            if answers[0] != answers[1]:
                print("tells of another: %s:\n  %s\n  %s" % (sql, answers[0], answers[1]))
                good = False
    for sql, rows in ALLOWED:
        status, data = ask(sql)
        count += 1
        if status != 200 or (rows is not None and json.loads(data)["rows"] != rows):
            print("not answered: %s: %s %s" % (sql, status, data[:300]))
            good = False
    print(count, "statements")
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
    {"walk": walk, "writes": writes, "statements": statements}[sys.argv[1]](*sys.argv[2:])
