#!/usr/bin/env python3
"""Speaks to `plimsoll serve` as browsers, scripts and strangers do.

    serve_client.py ask METHOD URL [NAME:VALUE...] [@FILE]   into the files status, headers and answer
    serve_client.py unix SOCKET PATH                         the same over a Unix socket
    serve_client.py walk URL TOKEN WRITES                    every route of the table, by strangers and by the user
    serve_client.py openapi URL TOKEN FILE                   does every operation answer as the document in FILE says?
    serve_client.py malformed URL TOKEN                      requests that are none
    serve_client.py unusual URL TOKEN                        requests that are valid and rare, and bodies that lie
    serve_client.py slow URL TOKEN N                         N clients that send a byte a second
    serve_client.py crowd URL TOKEN N                        N connections at once
    serve_client.py events URL TOKEN N                       the first N events, each with the seconds since the start
"""
import concurrent.futures
import gzip
import http.client
import json
import os
import random
import re
import resource
import select
import socket
import sys
import time
import urllib.parse


def place(url):
    u = urllib.parse.urlsplit(url)
    return u.hostname, u.port, u.path + ("?" + u.query if u.query else "")


def request(url, method="GET", headers=None, body=None, timeout=60):
    host, port, path = place(url)
    c = http.client.HTTPConnection(host, port, timeout=timeout)
    headers = dict(headers or {})
    given = headers.pop("Host", None)
    c.putrequest(method, path, skip_host=given is not None, skip_accept_encoding=True)
    if given is not None:
        c.putheader("Host", given)
    for name, value in headers.items():
        c.putheader(name, value)
    if body is not None:
        c.putheader("Content-Length", str(len(body)))
    c.endheaders(body)
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, dict((k.lower(), v) for k, v in r.getheaders()), data


def keep(status, headers, data):
    with open("status", "w") as f:
        print(status, file=f)
    with open("headers", "w") as f:
        for name, value in headers.items():
            print("%s: %s" % (name, value), file=f)
    with open("answer", "wb") as f:
        f.write(data)


def ask(method, url, *rest):
    headers, body = {}, None
    for word in rest:
        if word.startswith("@"):
            with open(word[1:], "rb") as f:
                body = f.read()
        else:
            name, value = word.split(":", 1)
            headers[name] = value.strip()
    keep(*request(url, method, headers, body))


def unix(path, target):
    c = http.client.HTTPConnection("localhost", timeout=30)
    c.sock = socket.socket(socket.AF_UNIX)
    c.sock.connect(path)
    c.request("GET", target)
    r = c.getresponse()
    keep(r.status, dict((k.lower(), v) for k, v in r.getheaders()), r.read())


def check(what, got, wanted):
    if got not in wanted:
        print("%s: got %s, want %s" % (what, got, wanted))
        return False
    return True


POLICY = ("content-security-policy", "x-content-type-options", "referrer-policy", "cache-control")
VALUES = {"job": "last", "model": "m1", "name": "x"}


def walk(url, token, writes):
    """Every operation: refused to strangers, for other hosts and with wrong parameters, answered otherwise."""
    base = url.rstrip("/")
    mine = {"Authorization": "Bearer " + token}
    _, _, text = request(base + "/api/v1/openapi.json", headers=mine)
    api = json.loads(text)
    good, count, answered = True, 0, 0
    for path, operations in api["paths"].items():
        whole = base + re.sub(r"\{(\w+)\}", lambda m: VALUES[m.group(1)], path)
        for method, o in operations.items():
            method = method.upper()
            what = method + " " + path
            is_open = o.get("security") == []
            body = b"{}" if "requestBody" in o else None
            kind = {"Content-Type": "application/json"} if body else {}
            count += 1
            if not is_open:
                s, h, data = request(whole, method, kind, body)
                good &= check(what + " of a stranger", s, (401,))
                good &= check(what + ": an error is JSON", set(json.loads(data)) >= {"error"}, (True,))
                for wrong in ("Bearer " + "0" * 32, "Bearer " + token[:-1], "Bearer ", "Basic " + token):
                    s, _, _ = request(whole, method, dict(kind, Authorization=wrong), body)
                    good &= check(what + " with a wrong token", s, (401,))
            s, _, _ = request(whole, method, dict(mine, Host="evil.example:80", **kind), body)
            good &= check(what + " for another host", s, (421,))
            s, _, _ = request(whole + "?no_such=1", method, dict(mine, **kind), body)
            good &= check(what + " with an unknown parameter", s, (400, 403))
            if "{" in path:
                for bad in ("..%2f..%2fetc%2fpasswd", "-x", "%2e%2e", "a%00b", "%ff"):
                    other = base + re.sub(r"\{(\w+)\}", bad, path)
                    s, _, data = request(other, method, dict(mine, **kind), body)
                    good &= check(what + " of " + bad, s, (400, 403, 404))
                    good &= check(what + " of " + bad + " tells no file", b"root:" in data, (False,))
            if method != "GET":
                s, h, _ = request(whole, method, dict(mine, **kind), body)
                good &= check(what, s, (200, 400, 404) if writes == "1" or "x-needs-write" not in o else (403,))
            elif path.endswith("/live"):
                answered += 1
            else:
                s, h, data = request(whole, "GET", mine)
                good &= check(what, s, (200, 400, 404))
                answered += s == 200
                for name in POLICY:
                    good &= check(what + " has " + name, name in h, (True,))
                if "application/json" in h.get("content-type", ""):
                    json.loads(data)
                if s == 200 and "etag" in h:
                    s, _, data = request(whole, "GET", dict(mine, **{"If-None-Match": h["etag"]}))
                    good &= check(what + " again", (s, data), ((304, b""),))
        s, h, _ = request(whole, "PATCH", mine)
        good &= check("PATCH " + path, (s, "GET" in h.get("allow", "") or "POST" in h.get("allow", "") or
                                        "PUT" in h.get("allow", "")), ((405, True),))
    print(count, "operations,", answered, "answered")
    sys.exit(0 if good else 1)


def openapi(url, token, path):
    """Each operation by strangers and by the user, with and without what it may want: every status and type must be in the document."""
    with open(path) as f:
        api = json.load(f)
    base = url.rstrip("/")
    mine = {"Authorization": "Bearer " + token}
    good, count = True, 0
    for pattern, operations in api["paths"].items():
        whole = base + re.sub(r"\{(\w+)\}", lambda m: VALUES[m.group(1)], pattern)
        nothing = base + re.sub(r"\{(\w+)\}", "nothing", pattern)
        for method, o in operations.items():
            if pattern.endswith("/live"):
                continue
            body = b"{}" if "requestBody" in o else None
            head = dict(mine, **({"Content-Type": "application/json"} if body else {}))
            shapes = [(whole, {}, body), (whole, head, body), (nothing, head, body), (whole + "?no_such=1", head, body),
                      (whole, dict(head, Host="evil.example"), body), (whole, dict(head, Accept="image/png"), body),
                      (whole, dict(head, Accept="text/csv"), body), (whole, dict(head, **{"If-None-Match": "*"}), body)]
            if body:
                shapes += [(whole, dict(head, **{"Content-Type": "text/plain"}), body), (whole, head, b"{" * 10),
                           (whole, head, b" " * 1100000), (whole, head, b'{"sql": "SELECT 1"}')]
            for p in o["parameters"]:
                if p["in"] == "query":
                    value = {"integer": "1", "boolean": "1"}.get(p["schema"]["type"], "last")
                    shapes += [(whole + "?%s=%s" % (p["name"], value), head, body), (whole + "?%s=-" % p["name"], head, body)]
            for address, headers, data in shapes:
                s, h, _ = request(address, method.upper(), headers, data)
                count += 1
                what = "%s %s %s" % (method.upper(), address, {k: v for k, v in headers.items() if k != "Authorization"})
                documented = o["responses"].get(str(s))
                if not check(what + " is documented", str(s), o["responses"]):
                    good = False
                elif s == 200 and "*/*" not in documented["content"]:
                    good &= check(what, h["content-type"].partition(";")[0], documented["content"])
    print(count, "answers")
    sys.exit(0 if good else 1)


def raw(url, data, wait=12):
    """Sends bytes; the status of the answer, 0 where the connection was closed without one."""
    host, port, _ = place(url)
    s = socket.create_connection((host, port), timeout=wait)
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        answer = b""
        while len(answer) < 65536:
            part = s.recv(65536)
            if not part:
                break
            answer += part
    except socket.timeout:
        return -1
    except OSError:
        answer = b""
    finally:
        s.close()
    m = re.match(rb"HTTP/1\.[01] (\d+)", answer)
    return int(m.group(1)) if m else 0


def malformed(url, token):
    host, port, _ = place(url)
    head = "Host: %s:%d\r\nAuthorization: Bearer %s\r\n" % (host, port, token)

    def get(target, more="", version="HTTP/1.1", method="GET"):
        return ("%s %s %s\r\n%s%s\r\n" % (method, target, version, head, more)).encode("latin-1")
    cases = {
        "nothing": b"", "a newline": b"\r\n\r\n", "no version": b"GET /\r\n\r\n", "garbage": bytes(range(256)) * 40,
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
        "a long method": b"A" * 100000 + b" / HTTP/1.1\r\n\r\n",
        "a long address": get("/" + "a" * 200000), "a long parameter": get("/api/v1/keys?procs=" + "1" * 100000),
        "a long header": get("/", "X: " + "y" * 200000 + "\r\n"),
        "many headers": get("/", "".join("X%d: y\r\n" % i for i in range(20000))),
        "many parameters": get("/api/v1/alerts?" + "&".join("jobs=a" for _ in range(3000))),
        "no host": b"GET /api/v1/session HTTP/1.1\r\n\r\n", "HTTP/9": get("/", version="HTTP/9.9"),
        "two hosts": get("/", "Host: evil\r\n"), "up": get("/../../../../etc/passwd"), "up in ui": get("/ui/../api.js"),
        "escaped up": get("/ui/%2e%2e%2f%2e%2e%2fetc%2fpasswd"), "a null": get("/ui/api.js%00.css"),
        "bad escape": get("/api/v1/jobs/%zz"), "cut escape": get("/api/v1/jobs/%4"), "an absolute address": get("http://evil/"),
        "two slashes": get("//api/v1/session"), "a backslash": get("/..\\..\\etc"), "not UTF-8": get("/api/v1/jobs/\xff\xfe"),
        "a newline in the address": get("/api/v1/jobs/a%0d%0aSet-Cookie:x"),
        "a short body": get("/api/v1/sql", "Content-Type: application/json\r\nContent-Length: 100\r\n", method="POST") + b"{",
        "a wrong length": get("/api/v1/sql", "Content-Length: -5\r\n", method="POST"),
        "a huge length": get("/api/v1/sql", "Content-Length: 99999999999999999999999\r\n", method="POST"),
        "both lengths": get("/api/v1/sql", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", method="POST") + b"0\r\n\r\n",
        "bad chunks": get("/api/v1/sql", "Transfer-Encoding: chunked\r\n", method="POST") + b"zz\r\n{}\r\n",
        "deep JSON": get("/api/v1/sql", "Content-Type: application/json\r\nContent-Length: 400000\r\n", method="POST") + b"[" * 400000,
    }
    chance = random.Random(1)
    whole = get("/api/v1/jobs?where=a&limit=5", "Accept: */*\r\nCookie: plimsoll_session=x\r\n")
    for i in range(150):
        b = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            b[chance.randrange(len(b))] = chance.randrange(256)
        cases["flipped %d" % i] = bytes(b[:chance.randrange(len(b))] if i % 3 == 0 else b)
    good, seen = True, {}
    # an incomplete one is closed after the time limit of the server
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda data: raw(url, data), cases.values()))
    for what, status in zip(cases, answers):
        seen[status] = seen.get(status, 0) + 1
        if status not in (0, 200, 304, 400, 401, 404, 405, 406, 408, 411, 413, 414, 415, 421, 431, 501, 505) or (
                status == 200 and not what.startswith("flipped")):
            print("%s: status %s" % (what, status))
            good = False
    s, _, _ = request(url + "healthz")
    good &= check("afterwards", s, (200,))
    print(len(cases), "requests:", sorted(seen.items()))
    sys.exit(0 if good else 1)


def talk(url, data, wait=15):
    """Everything that the server says until it closes the connection."""
    s = connect(url)
    s.settimeout(wait)
    said = b""
    try:
        s.sendall(data)
        while True:
            part = s.recv(65536)
            if not part:
                break
            said += part
    except OSError as error:
        said += b"" if isinstance(error, ConnectionError) else b"[still open]"
    s.close()
    return said


def statuses(said):
    return [int(m) for m in re.findall(rb"(?:^|[\r\n}])HTTP/1\.[01] (\d+) ", said)]


def unusual(url, token):
    host, port, _ = place(url)
    head = "Host: %s:%d\r\nAuthorization: Bearer %s\r\n" % (host, port, token)
    json_head = head + "Content-Type: application/json\r\n"
    statement = b'{"sql": "SELECT 1 AS one"}'
    bomb = gzip.compress(b"[" * 30000000)

    def ask(line, more="", body=b"", close=True):
        last = "Connection: close\r\n" if close else ""
        return ("%s HTTP/1.1\r\n%s%s%s\r\n" % (line, json_head if line.startswith("P") else head, more, last)).encode() + body

    def sized(body):
        return "Content-Length: %d\r\n" % len(body)

    get, post = "GET /api/v1/session", "POST /api/v1/sql"
    chunks = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(c), c) for c in (statement[:5], statement[5:6], statement[6:])) + b"0\r\nX: y\r\n\r\n"
    cases = [  # what, bytes, statuses of the answers, what they must have
        ("HEAD", ask("HEAD /api/v1/session"), [200], None),
        ("OPTIONS", ask("OPTIONS /api/v1/session"), [405], b"Allow: GET"),
        ("OPTIONS *", ask("OPTIONS *"), [400], None),
        ("TRACE", ask("TRACE /api/v1/session"), [405], None),
        ("CONNECT", ask("CONNECT evil.example:443"), [400], None),
        ("a range", ask(get, "Range: bytes=0-4\r\n"), [200], b'"csrf"'),
        ("expect 100", ask(post, "Expect: 100-continue\r\n" + sized(statement), statement), [100, 200], b'"one"'),
        ("expect 100, refused", ask(post, "Expect: 100-continue\r\nContent-Length: 99999999\r\n"), [413], None),
        ("chunks", ask(post, "Transfer-Encoding: chunked\r\n", chunks), [200], b'"one"'),
        ("packed", ask(post, "Content-Encoding: gzip\r\n" + sized(gzip.compress(statement)), gzip.compress(statement)), [415], None),
        ("a bomb", ask(post, "Content-Encoding: gzip\r\n" + sized(bomb), bomb), [415], None),
        ("pipelined", ask(get, close=False) * 9 + ask(get), [200] * 10, b'"csrf"'),
        ("pipelined, mixed", ask("GET /nothing", close=False) + ask(post, sized(statement), statement, False) +
         ask("HEAD /healthz", close=False) + ask(get), [404, 200, 200, 200], b'"one"'),
        ("less than promised", ask(post, "Content-Length: 1000\r\n", statement), [], None),
        ("more than promised", ask(post, "Content-Length: 5\r\n", statement), [400], None),
        ("two lengths", ask(post, "Content-Length: 5\r\nContent-Length: %d\r\n" % len(statement), statement), [400], None),
        ("an address in front", ask("GET http://%s:%d/api/v1/session" % (host, port)), [400], None),
        ("HTTP/1.0", ask(get).replace(b"HTTP/1.1", b"HTTP/1.0"), [200], b'"csrf"'),
    ]
    good = True
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        answers = list(pool.map(lambda case: talk(url, case[1]), cases))
    for (what, _, want, text), said in zip(cases, answers):
        good &= check(what, statuses(said), (want,))
        if text and text not in said:
            print("%s: no %s in %s" % (what, text, said[:400]))
            good = False
        # nobody is shown what he sent, nor kept waiting
        if token.encode() in said or b"[still open]" in said:
            print("%s: %s" % (what, said[:400]))
            good = False
    print(len(cases), "requests")
    sys.exit(0 if good else 1)


def connect(url):
    host, port, _ = place(url)
    return socket.create_connection((host, port), timeout=20)


def quick(url, token):
    """The longest of ten requests, in seconds."""
    longest = 0
    for _ in range(10):
        begin = time.time()
        s, _, _ = request(url + "api/v1/jobs/last", headers={"Authorization": "Bearer " + token})
        assert s == 200, s
        longest = max(longest, time.time() - begin)
    return longest


def slow(url, token, n):
    line = b"GET /api/v1/session HTTP/1.1\r\nHost: x\r\nX-Slow: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
    clients = [connect(url) for _ in range(int(n))]
    print("%.3f" % max(quick(url, token) for _ in [0]), end=" ")
    for i in range(3):
        for c in clients:
            c.sendall(line[i:i + 1])
        time.sleep(0.3)
    longest = quick(url, token)
    # then they fall silent, and are closed
    begin, open_ones = time.time(), len(clients)
    while open_ones and time.time() - begin < 30:
        ready, _, _ = select.select(clients, [], [], 1)
        for c in ready:
            try:
                if not c.recv(65536):
                    raise ConnectionError
            except ConnectionError:
                clients.remove(c)
                open_ones -= 1
    print("%.3f %d" % (longest, open_ones))


def crowd(url, token, n):
    n = int(n)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, n + 200), hard))
    clients, refused = [], 0
    for _ in range(n):
        try:
            clients.append(connect(url))
        except OSError:
            refused += 1
    longest = quick(url, token)
    host, port, _ = place(url)
    data = ("GET /healthz HTTP/1.1\r\nHost: %s:%d\r\n\r\n" % (host, port)).encode()
    for c in clients:
        c.sendall(data)
    ok = 0
    for c in clients:
        try:
            # some may be told to try again
            ok += c.recv(65536).startswith((b"HTTP/1.1 200", b"HTTP/1.1 503"))
        except OSError:
            pass
    print("%d %d %.3f" % (len(clients), ok, longest))


def events(url, token, n):
    begin = time.time()
    host, port, path = place(url)
    c = http.client.HTTPConnection(host, port, timeout=30)
    c.request("GET", path, headers={"Authorization": "Bearer " + token})
    r = c.getresponse()
    seen = 0
    while seen < int(n):
        line = r.readline().decode()
        if not line:
            break
        if line.startswith("event: "):
            print("%.2f %s" % (time.time() - begin, line[7:].strip()), flush=True)
            seen += 1


if __name__ == "__main__":
    os.environ.pop("http_proxy", None)
    globals()[sys.argv[1]](*sys.argv[2:])
