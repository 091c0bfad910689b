#!/usr/bin/python3
"""What colmet's collector does with a message, by Python's struct alone: receives one on a port of its own choosing
(which it writes to a file), or reads it from a file, and prints each record as a line of JSON.

    colmet_receive.py --port-file FILE | MESSAGE
"""
import json
import struct
import sys

FORMS = {
    b"taskstats_default": "8QI21Q", b"procstats_default": "58Q5f8192s", b"infinibandstats_default": "4q8192s",
    b"lustrestats_default": "4Q8192s", b"perfhwstats_default": "5q", b"RAPLstats_default": "24q8192s",
    b"temperaturestats_default": "6q", b"jobprocstats_default": "10q", b"ipmipowerstats_default": "q8192s",
    b"nvidiastats_default": "7q",
}


def receive(port_file):
    import zmq
    socket = zmq.Context().socket(zmq.PULL)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    with open(port_file + ".new", "w") as f:
        f.write(str(port))
    import os
    os.rename(port_file + ".new", port_file)
    if not socket.poll(60000):
        sys.exit("nothing came")
    return socket.recv()


raw = receive(sys.argv[2]) if sys.argv[1] == "--port-file" else open(sys.argv[1], "rb").read()
at = 0
while at < len(raw):
    backend, host, job, when = struct.unpack_from("<255s255sQQ", raw, at)
    backend, host = backend.rstrip(b"\0"), host.rstrip(b"\0")
    form = "<" + FORMS[backend]
    values = list(struct.unpack_from(form, raw, at + 526))
    if form.endswith("s"):
        values[-1] = json.loads(values[-1].rstrip(b"\0") or b"null")
    print(json.dumps({"backend": backend.decode(), "host": host.decode(), "job": job, "time": when, "values": values}))
    at += 526 + struct.calcsize(form)
