#!/usr/bin/env python3
"""A peer that speaks ZMTP 3 by hand and means no good.

hostile_peer.py ADDRESS:PORT WHAT [--from ADDRESS] [--limit MIB] [--seconds S] [--connections N]
                [--size BYTES] [--listen] [--server KEY --public KEY --secret KEY] [--type NAME]

WHAT is one of
  parts    one message whose parts never end, over each connection
  commands a handshake whose command never ends
  half     handshakes that are begun and left
  idle     connections that say nothing
Prints, as JSON, how many bytes were sent and how many connections were closed by the other side.
"""
import argparse
import ctypes
import json
import os
import selectors
import socket
import struct
import time

A85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def z85(text):
    out = b""
    for i in range(0, len(text), 5):
        v = 0
        for c in text[i : i + 5]:
            v = v * 85 + A85.index(c)
        out += struct.pack(">I", v)
    return out


def greeting(mechanism):
    return b"\xff" + bytes(8) + b"\x7f\x03\x00" + mechanism.ljust(20, b"\0") + bytes(32)


def frame(flags, body):
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return bytes([flags | 2]) + struct.pack(">Q", len(body)) + body


def read(s, n):
    out = b""
    while len(out) < n:
        more = s.recv(n - len(out))
        if not more:
            raise ConnectionError("closed in the handshake")
        out += more
    return out


def metadata(kind):
    return b"\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind


class Curve:
    """The client's side of CURVE, by libsodium."""

    def __init__(self, server, public, secret):
        self.na = ctypes.CDLL("libsodium.so.23")
        self.server, self.public, self.secret = z85(server), z85(public), z85(secret)
        self.nonce = 0

    def box(self, text, nonce, to, secret):
        out = ctypes.create_string_buffer(len(text) + 16)
        assert self.na.crypto_box_easy(out, text, ctypes.c_ulonglong(len(text)), nonce, to, secret) == 0
        return out.raw

    def short(self):
        self.nonce += 1
        return struct.pack(">Q", self.nonce)

    def hello(self):
        pk, sk = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
        self.na.crypto_box_keypair(pk, sk)
        self.pk, self.sk = pk.raw, sk.raw
        n = self.short()
        return frame(4, b"\x05HELLO\x01\x00" + bytes(72) + self.pk + n
                     + self.box(bytes(64), b"CurveZMQHELLO---" + n, self.server, self.sk))

    def initiate(self, welcome, kind):
        nonce, box = welcome[8:24], welcome[24:]
        out = ctypes.create_string_buffer(len(box) - 16)
        assert self.na.crypto_box_open_easy(out, box, ctypes.c_ulonglong(len(box)), b"WELCOME-" + nonce,
                                            self.server, self.sk) == 0
        self.their, cookie = out.raw[:32], out.raw[32:]
        vn = os.urandom(16)
        vouch = self.box(self.pk + self.server, b"VOUCH---" + vn, self.their, self.secret)
        n = self.short()
        return frame(4, b"\x08INITIATE" + cookie + n
                     + self.box(self.public + vn + vouch + metadata(kind), b"CurveZMQINITIATE" + n, self.their, self.sk))

    def part(self, flags, body):
        n = self.short()
        return frame(0, b"\x07MESSAGE" + n + self.box(bytes([flags]) + body, b"CurveZMQMESSAGEC" + n, self.their, self.sk))


def connect(a):
    host, port = a.address.rsplit(":", 1)
    if a.listen:
        if not isinstance(a.listen, socket.socket):
            a.listen = socket.create_server((host, int(port)))
            print(a.listen.getsockname()[1], flush=True)
        return a.listen.accept()[0]
    return socket.create_connection((host, int(port)), timeout=10, source_address=(a.source, 0) if a.source else None)


def handshake(a, s):
    """Returns what makes parts."""
    if not a.server:
        s.sendall(greeting(b"NULL") + frame(4, b"\x05READY" + metadata(a.type.encode())))
        read(s, 64)
        return frame
    c = Curve(a.server, a.public, a.secret)
    s.sendall(greeting(b"CURVE"))
    read(s, 64)
    s.sendall(c.hello())
    s.sendall(c.initiate(read(s, 170)[2:], a.type.encode()))
    read(s, 2)
    return c.part


def endless(a, make):
    """Bytes without end, and never the last part."""
    if make is frame:
        one = frame(1, b"x" * a.size)
        block = one * max(1, (1 << 20) // len(one))
        while True:
            yield block
    while True:
        yield b"".join(make(1, b"x" * a.size) for _ in range(max(1, 262144 // (a.size + 64))))


def begin(a):
    s = connect(a)
    if a.what == "parts":
        return s, endless(a, handshake(a, s))
    mechanism = b"CURVE" if a.server else b"NULL"
    if a.what == "commands":
        s.sendall(greeting(mechanism) + bytes([6]) + struct.pack(">Q", a.size) + b"\x05HELLO")
        return s, iter(lambda: b"x" * (1 << 18), None)
    if a.what == "half":
        s.sendall(greeting(mechanism))
        if a.server:
            read(s, 64)
            s.sendall(Curve(a.server, a.public, a.secret).hello())
    return s, None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("address")
    p.add_argument("what", choices=["parts", "commands", "half", "idle"])
    p.add_argument("--from", dest="source")
    p.add_argument("--limit", type=float, default=1024)
    p.add_argument("--seconds", type=float, default=20)
    p.add_argument("--connections", type=int, default=1)
    p.add_argument("--size", type=int, default=65536)
    p.add_argument("--type", default="DEALER")
    p.add_argument("--again", action="store_true", help="connect again when closed")
    p.add_argument("--listen", action="store_true", help="be called, and print the port")
    p.add_argument("--server")
    p.add_argument("--public")
    p.add_argument("--secret")
    a = p.parse_args()
    sent = closed = 0
    sel = selectors.DefaultSelector()
    end = time.monotonic() + a.seconds
    kept = []

    def add():
        nonlocal closed
        try:
            s, source = begin(a)
        except OSError:
            closed += 1
            return
        s.setblocking(False)
        kept.append(s)
        sel.register(s, selectors.EVENT_READ | (selectors.EVENT_WRITE if source else 0), [source, b""])

    for _ in range(a.connections):
        add()
    while sel.get_map() and time.monotonic() < end and sent < a.limit * (1 << 20):
        for key, events in sel.select(0.2):
            source = key.data
            try:
                if events & selectors.EVENT_READ and not key.fileobj.recv(65536):
                    raise ConnectionError
                if events & selectors.EVENT_WRITE:
                    source[1] = source[1] or next(source[0])
                    n = key.fileobj.send(source[1])
                    source[1] = source[1][n:]
                    sent += n
            except BlockingIOError:
                pass
            except OSError:
                closed += 1
                sel.unregister(key.fileobj)
                key.fileobj.close()
                if a.again:
                    add()
    print(json.dumps({"sent": sent, "closed": closed, "open": len(sel.get_map())}))


main()
