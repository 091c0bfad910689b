#!/usr/bin/env python3
"""A stand-in for ClickHouse's HTTP interface that knows the statements of feed clickhouse and nothing else:
fake_clickhouse.py [--user NAME:PASSWORD] [--partitions N]

It says its port on the standard output and ends when its standard input does. Blocks of an INSERT are read byte by
byte: names, types and sizes have to be those of the table. PUT /_faults has what the next inserts get, one after the
other: {"status": 503}, {"break": "before"|"after"}, {"drop": true}. PUT /_poison has what is refused in any block from
then on: {"column": NAME, "value": V, "code": N, "status": N}, and {} ends it. A block with more months than --partitions
is refused as by a server. GET /_state has complaints and counts.
"""
import argparse
import base64
import json
import re
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

options = None
lock = threading.Lock()
complaints, faults, poison = [], [], {}
tables = {}  # name -> {"columns": {name: type}, "key": [names], "rows": []}
views = {}  # name -> (columns, table)
counts = {"insert": 0, "rows": 0, "statements": 0, "poisoned": 0}
NAME = r"`(\w+)`\.`(\w+)`"
TYPES = {"DateTime": "<I", "Int64": "<q", "Float64": "<d"}


class Refused(Exception):
    pass


class Poisoned(Exception):
    """Not the feed's fault: what the server says, (status, text)."""


def columns_of(text):
    found = re.fullmatch(r"(`[^`]+` [\w()]+)(, `[^`]+` [\w()]+)*", text)
    if not found:
        raise Refused(f"columns: {text}")
    return dict(re.findall(r"`([^`]+)` ([\w()]+)", text))


def check_file(name, suffix):
    """Names become names of files, with anything but letters, digits and _ escaped."""
    if len(re.sub(r"[^A-Za-z0-9_]", "%XX", name) + suffix) > 255:
        raise Poisoned(503, "Code: 76. DB::ErrnoException: Cannot open file, errno: 36, strerror: File name too long")


def execute(sql, database):
    counts["statements"] += 1
    m = re.fullmatch(rf"CREATE TABLE IF NOT EXISTS {NAME} \((.*)\) ENGINE = ReplacingMergeTree\(\) "
                     r"PARTITION BY toYYYYMM\(time\) ORDER BY \(([\w, ]+)\)", sql)
    if m and m[1] == database:
        columns = columns_of(m[3])
        check_file(m[2], ".sql.tmp")
        for name in m[4].split(", "):
            assert name in columns
        tables.setdefault(m[2], {"columns": columns, "key": m[4].split(", "), "rows": []})
        return ""
    m = re.fullmatch(rf"CREATE VIEW IF NOT EXISTS {NAME} AS SELECT \* FROM {NAME} FINAL", sql)
    if m and m[1] == m[3] == database and m[4] in tables:
        views.setdefault(m[2], (list(tables[m[4]]["columns"]), m[4]))
        return ""
    m = re.fullmatch(rf"DROP TABLE IF EXISTS {NAME}", sql)
    if m and m[1] == database and m[2] not in tables:
        views.pop(m[2], None)
        return ""
    m = re.fullmatch(rf"ALTER TABLE {NAME}( ADD COLUMN .*)", sql)
    if m and m[1] == database and m[2] in tables:
        for part in m[3].split(","):
            new = columns_of(part[len(" ADD COLUMN "):])
            for name in new:
                if name in tables[m[2]]["columns"]:
                    raise Refused(f"column {name} is there")
            tables[m[2]]["columns"].update(new)
        return ""
    m = re.fullmatch(r"SELECT name, type FROM system.columns WHERE database = '(\w+)' AND table = '(\w+)' "
                     "FORMAT TabSeparated", sql)
    if m and m[1] == database:
        if m[2] in views:
            names, table = views[m[2]]
            return "".join(f"{n}\t{tables[table]['columns'][n]}\n" for n in names)
        return "".join(f"{n}\t{t}\n" for n, t in tables.get(m[2], {"columns": {}})["columns"].items())
    m = re.fullmatch(r"SELECT \* FROM `?(\w+)`? FORMAT JSONEachRow", sql)
    if m and m[1] in views:
        names, table = views[m[1]]
        last = {tuple(row[k] for k in tables[table]["key"]): row for row in tables[table]["rows"]}
        text = lambda v: str(v) if isinstance(v, int) else v
        return "".join(json.dumps({n: text(row.get(n)) for n in names}) + "\n" for row in last.values())
    raise Refused(f"statement: {sql}")


class Block:
    """A block in ClickHouse's own form."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if self.at + n > len(self.data):
            raise Refused("a block that ends too early")
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self):
        v = shift = 0
        while True:
            b = self.take(1)[0]
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v

    def text(self):
        return self.take(self.number()).decode("utf-8", "surrogateescape")

    def values(self, kind, n):
        if kind.startswith("Nullable("):
            nulls = self.take(n)
            if set(nulls) - {0, 1}:
                raise Refused("a null that is neither 0 nor 1")
            return [None if null else v for null, v in zip(nulls, self.values(kind[9:-1], n))]
        if kind == "String":
            return [self.text() for _ in range(n)]
        size = struct.calcsize(TYPES[kind])
        return [struct.unpack(TYPES[kind], self.take(size))[0] for _ in range(n)]


def insert(sql, data, database):
    m = re.fullmatch(rf"INSERT INTO {NAME} \((.*)\) FORMAT Native", sql)
    if not m or m[1] != database:
        raise Refused(f"insert: {sql}")
    table = tables.get(m[2])
    if table is None:
        return False
    wanted = re.findall(r"`([^`]+)`", m[3])
    block = Block(data)
    width, height = block.number(), block.number()
    columns = {}
    for _ in range(width):
        name, kind = block.text(), block.text()
        if table["columns"].get(name) != kind or name in columns:
            raise Refused(f"column {name} {kind}, not {table['columns'].get(name)}")
        columns[name] = block.values(kind, height)
        check_file(name, ".null.bin")
    if block.at != len(data) or list(columns) != wanted or not height:
        raise Refused(f"a block of {len(data)} bytes ends at {block.at}: {list(columns)} {wanted}")
    if poison and poison["value"] in columns.get(poison["column"], []):
        raise Poisoned(poison["status"], f"Code: {poison['code']}. DB::Exception: The test does not want it.")
    months = {time.strftime("%Y%m", time.gmtime(t)) for t in columns["time"]}
    if options.partitions and len(months) > options.partitions:
        raise Poisoned(500, "Code: 252. DB::Exception: Too many partitions for single INSERT block "
                            f"(more than {options.partitions}).")
    for row in zip(*columns.values()):
        table["rows"].append(dict(zip(columns, row)))
    counts["rows"] += height
    return True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, text=""):
        body = text.encode("utf-8", "surrogateescape")
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with lock:
            if self.path == "/ping":
                self.answer(200, "Ok.\n")
            elif self.path == "/_state":
                self.answer(200, json.dumps({"complaints": complaints, "counts": counts,
                                             "tables": {n: t["columns"] for n, t in tables.items()}}))
            else:
                complaints.append(f"GET {self.path}")
                self.answer(404)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            if self.path == "/_poison":
                poison.clear()
                poison.update(json.loads(body))
            else:
                faults[:] = json.loads(body)
        self.answer(200, "{}")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        query = parse_qs(urlsplit(self.path).query)
        want = "Basic " + base64.b64encode(options.user.encode()).decode() if options.user else None
        if want and self.headers.get("Authorization") != want:
            return self.answer(401, "Code: 193, e.displayText() = DB::Exception: Wrong password")
        with lock:
            try:
                database, = query.get("database", ["default"])
                if "query" not in query:
                    return self.answer(200, execute(body.decode(), database))
                counts["insert"] += 1
                fault = faults.pop(0) if faults else {}
                if "status" in fault:
                    return self.answer(fault["status"], "Code: 252, e.displayText() = DB::Exception: Too many parts\n")
                if fault.get("drop"):
                    tables.clear()
                    views.clear()
                if fault.get("break") != "before" and not insert(query["query"][0], body, database):
                    return self.answer(404, "Code: 60, e.displayText() = DB::Exception: Table doesn't exist.\n")
                if "break" in fault:
                    self.close_connection = True
                    return self.connection.shutdown(2)
                return self.answer(200)
            except Poisoned as e:
                counts["poisoned"] += 1
                return self.answer(e.args[0], e.args[1] + "\n")
            except Exception as e:
                complaints.append(f"{e!r}")
                return self.answer(500, f"Code: 62, e.displayText() = DB::Exception: {e!r}\n")


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--user")
    parser.add_argument("--partitions", type=int)
    options = parser.parse_args()
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer.handle_error = lambda *_: None  # clients that went away
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


main()
