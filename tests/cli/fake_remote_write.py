#!/usr/bin/env python3
"""A stand-in for whoever takes Prometheus' remote write protocol 1.0; unpacks and reads every byte of a request.

It says its port on the standard output and ends when its standard input does. PUT /_faults has what the next requests
get, one after the other: {"status": 503, "retry_after": 1}, {"break": "after"}, {}. GET /_state has complaints, series
with their samples (null: a stale marker), and counts. With --ordered it is as strict as Prometheus: a request with a
sample that is older than the newest of its series is refused whole.
"""
import json
import re
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
complaints, faults = [], []
series = {}  # labels as JSON -> {timestamp: value}
STALE = (0x7ff0000000000002).to_bytes(8, "little")
counts = {"requests": 0, "samples": 0, "repeated": 0, "refused": 0}


def varint(data, at):
    v = shift = 0
    while True:
        v |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return v, at


def unpack(data):
    """Snappy's block format."""
    size, at = varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag = data[at]
        kind, n, at = tag & 3, tag >> 2, at + 1
        if kind == 0:
            if n >= 60:
                more = n - 59
                n = int.from_bytes(data[at:at + more], "little")
                at += more
            out += data[at:at + n + 1]
            at += n + 1
            continue
        if kind == 1:
            length, offset, at = 4 + (n & 7), tag >> 5 << 8 | data[at], at + 1
        else:
            more = 2 if kind == 2 else 4
            length, offset, at = n + 1, int.from_bytes(data[at:at + more], "little"), at + more
        assert 0 < offset <= len(out)
        for _ in range(length):
            out.append(out[-offset])
    assert len(out) == size, "the length of the block"
    return bytes(out)


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            v, at = varint(data, at)
        elif key & 7 == 1:
            v, at = data[at:at + 8], at + 8
        else:
            assert key & 7 == 2, "a type of field"
            n, at = varint(data, at)
            v, at = data[at:at + n], at + n
            assert len(v) == n, "a length"
        yield key >> 3, key & 7, v


def read_series(data):
    labels, samples, order = {}, [], []
    for number, kind, v in fields(data):
        if (number, kind) == (1, 2):
            assert not samples, "labels behind samples"
            pair = {n: x.decode() for n, _, x in fields(v)}
            assert set(pair) == {1, 2} and pair[2], "a label"
            order.append(pair[1])
            labels[pair[1]] = pair[2]
        else:
            assert (number, kind) == (2, 2), "a field of a series"
            sample = {n: x for n, _, x in fields(v)}
            value = None if sample[1] == STALE else struct.unpack("<d", sample[1])[0]
            samples.append((sample[2] - (1 << 64) if sample[2] >> 63 else sample[2], value))
    assert order == sorted(set(order)) and "__name__" in labels, f"labels {order}"
    assert re.fullmatch("[a-zA-Z_:][a-zA-Z0-9_:]*", labels["__name__"]), labels
    assert samples and [t for t, _ in samples] == sorted({t for t, _ in samples}), "times of samples"
    return labels, samples


class Refused(Exception):
    pass


def refuse_older(data):
    """As Prometheus: all of a request or nothing; the newest sample may come again."""
    newest = {}
    for _, _, v in fields(unpack(data)):
        labels, samples = read_series(v)
        key = json.dumps(labels, sort_keys=True)
        for t, value in samples:
            last = newest.get(key) or max(series.get(key, {}).items(), default=(t, value), key=lambda x: x[0])
            if t < last[0] or t == last[0] and value != last[1]:
                raise Refused("out of order sample")
            newest[key] = t, value


def take(data):
    if "--ordered" in sys.argv:
        refuse_older(data)
    for number, kind, v in fields(unpack(data)):
        assert (number, kind) == (1, 2), "a field of a request"
        labels, samples = read_series(v)
        have = series.setdefault(json.dumps(labels, sort_keys=True), {})
        for t, value in samples:
            if t in have:
                assert have[t] == value, f"{labels} {t}: another value"
                counts["repeated"] += 1
            have[t] = value
            counts["samples"] += 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, text="", **headers):
        body = text.encode()
        self.send_response(status)
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), str(v))
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with lock:
            self.answer(200, json.dumps({"complaints": complaints, "counts": counts, "series": [
                {"metric": json.loads(k), "timestamps": list(v), "values": list(v.values())} for k, v in series.items()]}))

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            faults[:] = json.loads(body)
        self.answer(200, "{}")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            counts["requests"] += 1
            fault = faults.pop(0) if faults else {}
            want = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy",
                    "X-Prometheus-Remote-Write-Version": "0.1.0"}
            if self.path != "/api/v1/write" or any(self.headers.get(k) != v for k, v in want.items()):
                complaints.append(f"POST {self.path} {dict(self.headers)}")
                return self.answer(400)
            if "status" in fault:
                more = {"Retry_After": fault["retry_after"]} if "retry_after" in fault else {}
                return self.answer(fault["status"], "as the script says\n", **more)
            try:
                take(body)
            except Refused as e:
                counts["refused"] += 1
                return self.answer(400, str(e))
            except Exception as e:
                complaints.append(repr(e))
                return self.answer(400, repr(e))
        if "break" in fault:
            self.close_connection = True
            return self.connection.shutdown(2)
        return self.answer(204)


def main():
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer.handle_error = lambda *_: None  # clients that went away
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


main()
