#!/usr/bin/env python3
"""A server whose answers have no end: hostile_http.py body|headers|continue|bomb. Prints its port."""
import socket
import sys
import threading
import zlib


def answer(c, how):
    c.recv(65536)
    if how == "body":
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while True:
            c.sendall(b"[" * 1000000)
    if how == "headers":
        c.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            c.sendall(b"X-Name: " + b"v" * 1000 + b"\r\n")
    if how == "continue":
        while True:
            c.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
    z = zlib.compressobj(9, zlib.DEFLATED, 31)
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
    while True:
        c.sendall(z.compress(b" " * (1 << 24)))


def serve(c):
    try:
        answer(c, sys.argv[1])
    except OSError:
        pass


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
