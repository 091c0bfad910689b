#!/usr/bin/env python3
"""A stand-in for Elasticsearch that is stricter than it: fake_elastic.py [--user NAME:PASSWORD] [--old INDEX]
[--body-max BYTES] [--port PORT] [--tls DIRECTORY]

It says its port on the standard output and ends when its standard input does. What a client does that a real server
would refuse, or that makes an index with types that nobody chose, is a complaint. PUT /_faults has what the next bulk
requests get, one after the other: {"status": 429, "retry_after": 1}, {"hang": seconds}, {"break": "before"|"after"},
{"garbage": true}, {"items": {"every": 3, "status": 429}}, {"items": {"field": NAME, "status": 400}}, {}.
GET /_state has complaints, documents, templates and counts.
"""
import argparse
import base64
import gzip
import json
import re
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

options = None
lock = threading.Lock()
complaints, faults = [], []
templates = {}  # name -> (pattern, properties, aliases)
indices = {}  # name -> {"properties": {}, "documents": {id: document}, "aliases": set()}
counts = {"bulk": 0, "documents": 0, "repeated": 0, "largest": 0, "packed": 0, "connections": 0}
INDEX = re.compile(r"^[a-z0-9][a-z0-9_.-]{0,200}$")
DATED = re.compile(r"^(.*)-(\d{4})\.(\d\d)\.(\d\d)$")


def complain(text):
    complaints.append(text)


def pattern_matches(pattern, name):
    return re.match("^" + re.escape(pattern).replace(r"\*", ".*") + "$", name)


def put_template(name, body):
    try:
        t = json.loads(body)
        pattern, = t["index_patterns"]
        mappings, aliases = t["template"]["mappings"], t["template"]["aliases"]
        assert isinstance(t["priority"], int) and pattern.endswith("*")
        for field, p in mappings["properties"].items():
            assert p["type"] in ("long", "double", "keyword", "date"), field
            assert p["type"] != "date" or p["format"] in ("epoch_second", "epoch_millis"), field
        assert [list(d)[0] for d in mappings["dynamic_templates"]] == ["long", "double", "string"]
    except Exception as e:
        complain(f"template {name}: {e!r}")
        return 400
    for other, (theirs, _, _) in templates.items():
        if other != name and (pattern_matches(theirs, pattern[:-1] + "x") or pattern_matches(pattern, theirs[:-1] + "x")):
            complain(f"templates {name} and {other} overlap")
            return 400
    templates[name] = (pattern, mappings["properties"], aliases)
    return 200


def get_index(name):
    if name in indices:
        return indices[name]
    for pattern, properties, aliases in templates.values():
        if pattern_matches(pattern, name):
            for a in aliases:
                if a in indices:
                    return None  # as a server has it: the name is an index
            indices[name] = {"properties": dict(properties), "documents": {}, "aliases": set(aliases)}
            return indices[name]
    complain(f"index {name} is made without a template")
    indices[name] = {"properties": {}, "documents": {}, "aliases": set()}
    return indices[name]


def typed(value):
    if isinstance(value, list):
        return typed(value[0]) if value else None
    return "long" if isinstance(value, int) else "double" if isinstance(value, float) else "keyword"


def fits(kind, value):
    if isinstance(value, list):
        return all(fits(kind, v) for v in value)
    if kind in ("long", "date"):
        return isinstance(value, int) and not isinstance(value, bool) and -2**63 <= value < 2**63
    return isinstance(value, (int, float)) if kind == "double" else isinstance(value, str)


def create(index, identity, document):
    """Status and error of one document."""
    x = get_index(index)
    if x is None:
        return 400, {"type": "invalid_alias_name_exception", "reason": "an index exists with the same name as the alias"}
    for field, value in document.items():
        kind = x["properties"].setdefault(field, {"type": typed(value)})["type"]
        if not fits(kind, value):
            return 400, {"type": "mapper_parsing_exception", "reason": f"failed to parse field [{field}] of type [{kind}]"}
    moment = document["@timestamp"] / 1000 if "@timestamp" in document else document.get("timestamp")
    day = DATED.match(index)
    if not day or moment is None or time.strftime("%Y.%m.%d", time.gmtime(moment)) != ".".join(day.groups()[1:]):
        complain(f"{index} has a document of another day: {document}")
    if identity in x["documents"]:
        if x["documents"][identity] != document:
            complain(f"{index}/{identity} comes again with other values: {document} {x['documents'][identity]}")
        counts["repeated"] += 1
        return 409, {"type": "version_conflict_engine_exception", "reason": "document already exists"}
    x["documents"][identity] = document
    counts["documents"] += 1
    return 201, None


def no_duplicates(pairs):
    if len({k for k, _ in pairs}) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def bulk(body, fault):
    if not body.endswith(b"\n"):
        complain("a bulk body without a newline at its end")
    lines = body[:-1].split(b"\n")
    if len(lines) % 2:
        complain("a bulk body with an odd number of lines")
    items, failed, rule = [], False, fault.get("items", {})
    for n in range(0, len(lines) - 1, 2):
        try:
            action = json.loads(lines[n], object_pairs_hook=no_duplicates)
            document = json.loads(lines[n + 1], object_pairs_hook=no_duplicates)
            assert list(action) == ["create"] and set(action["create"]) == {"_index", "_id"}, action
            index, identity = action["create"]["_index"], action["create"]["_id"]
            assert INDEX.match(index) and 0 < len(identity.encode()) <= 512
        except Exception as e:
            complain(f"bulk line {n}: {e!r}: {lines[n][:200]!r} {lines[n + 1][:200]!r}")
            return 400, b'{"error":"malformed","status":400}'
        if ("every" in rule and n // 2 % rule["every"] == 0) or rule.get("field") in document:
            status, error = rule["status"], {"type": "made_up_exception", "reason": "the script of the test says so"}
        else:
            status, error = create(index, identity, document)
        failed = failed or error is not None
        items.append({"create": {"status": status, **({"error": error} if error else {})}})
    return 200, json.dumps({"errors": failed, "items": items}).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"{}", **headers):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), str(v))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
            counts["packed"] += 1
        return data

    def allowed(self):
        want = "Basic " + base64.b64encode(options.user.encode()).decode() if options.user else None
        if not want or self.headers.get("Authorization") == want:
            return True
        self.body()
        self.answer(401, b'{"error":"missing authentication credentials"}')
        return False

    def do_GET(self):
        with lock:
            if self.path == "/_state":
                documents = [{"_index": n, "_id": i, "_aliases": sorted(x["aliases"]), **d}
                             for n, x in indices.items() for i, d in x["documents"].items()]
                self.answer(200, json.dumps({"complaints": complaints, "documents": documents, "counts": counts,
                                             "properties": {n: x["properties"] for n, x in indices.items()},
                                             "templates": {n: t[1] for n, t in templates.items()}}).encode())
            elif self.allowed():
                if self.path != "/":
                    complain(f"GET {self.path}")
                self.answer(200, b'{"version":{"number":"8.0.0"}}')

    def do_HEAD(self):
        if not self.allowed():
            return
        with lock:
            if self.path.startswith("/_alias/"):
                name = self.path[len("/_alias/"):]
                self.answer(200 if any(name in x["aliases"] for x in indices.values()) else 404)
            else:
                name = self.path[1:]
                found = name in indices or any(name in x["aliases"] for x in indices.values())
                self.answer(200 if found else 404)

    def do_PUT(self):
        if self.path == "/_faults":
            with lock:
                faults[:] = json.loads(self.body())
            self.answer(200)
        elif self.allowed():
            body = self.body()
            with lock:
                if not self.path.startswith("/_index_template/") or self.headers.get("Content-Type") != "application/json":
                    complain(f"PUT {self.path}")
                    self.answer(400)
                else:
                    self.answer(put_template(self.path[len("/_index_template/"):], body))

    def do_POST(self):
        if not self.allowed():
            return
        size = int(self.headers.get("Content-Length") or 0)
        body = self.body()
        with lock:
            counts["bulk"] += 1
            fault = faults.pop(0) if faults else {}
            counts["largest"] = max(counts["largest"], len(body))
            if self.path.split("?")[0] != "/_bulk" or self.headers.get("Content-Type") != "application/x-ndjson" or not size:
                complain(f"POST {self.path} {self.headers.get('Content-Type')}")
                return self.answer(400)
            if len(body) > options.body_max:
                return self.answer(413, b'{"error":"too large"}')
            if "status" in fault:
                more = {"Retry_After": fault["retry_after"]} if "retry_after" in fault else {}
                return self.answer(fault["status"], b'{"error":"as the script says"}', **more)
            if fault.get("break") == "before":
                self.close_connection = True
                return self.connection.shutdown(2)
            status, reply = bulk(body, fault)
        if "hang" in fault:
            time.sleep(fault["hang"])
        if fault.get("break") == "after":
            self.close_connection = True
            return self.connection.shutdown(2)
        if fault.get("garbage"):
            status, reply = 200, b'{"errors":false,"items":[]}' if fault["garbage"] == "short" else b"<html>a proxy</html>"
        return self.answer(status, reply)


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--user")
    parser.add_argument("--old", action="append", default=[])
    parser.add_argument("--body-max", type=int, default=5 << 20)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tls", metavar="DIRECTORY", help="with a certificate that nobody knows, made there")
    options = parser.parse_args()
    for name in options.old:
        indices[name] = {"properties": {}, "documents": {}, "aliases": set()}
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer.handle_error = lambda *_: None  # clients that went away
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    if options.tls:
        files = [options.tls + "/key.pem", options.tls + "/cert.pem"]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "1", "-subj", "/CN=localhost", "-keyout", files[0], "-out", files[1]],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files[1], files[0])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


main()
