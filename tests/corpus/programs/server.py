"""server DELAY LIFETIME PATH|PORT: answers each line 50 ms (DELAY) late. It runs outside of the job that is
diagnosed. It ends by itself after LIFETIME seconds."""
import os
import socket
import socketserver
import sys
import threading
import time

delay, lifetime, place = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3]


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            time.sleep(delay)
            if line.startswith(b"GET "):
                while self.rfile.readline().strip():
                    pass
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")
            else:
                self.wfile.write(b"answer\n")


class Unix(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


if "/" in place:
    server = Unix(place, Handler)
    os.chmod(place, 0o777)
else:
    server = Tcp(("0.0.0.0", int(place)), Handler)
    server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(place if "/" in place else server.server_address[1], flush=True)
time.sleep(lifetime)
