#!/usr/bin/env python3
"""A receiver of webhooks for tests: hook_server.py MODE [MODE ...]. Appends what it gets to ./received, a line each, and prints
its port. A mode answers one request, the last one all further ones: ok, 500, 404, 503 (with Retry-After: 0), hang (until the
client goes), close (without an answer), long (an answer without end)."""
import http.server
import sys
import time

modes = sys.argv[1:]
count = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global count
        mode = modes[min(count, len(modes) - 1)]
        count += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open("received", "ab") as f:
            f.write(b"%s %s %s %s\n" % (mode.encode(), self.path.encode(), self.headers["Content-Type"].encode(), body))
        try:
            self.answer(mode)
        except OSError:
            pass

    def answer(self, mode):
        if mode == "hang":
            self.connection.recv(1)
        if mode in ("hang", "close"):
            self.close_connection = True
            return
        self.send_response(200 if mode in ("ok", "long") else int(mode))
        if mode == "503":
            self.send_header("Retry-After", "0")
        if mode != "long":
            self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"said")
        while mode == "long":
            self.wfile.write(b"x" * 1000000)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
