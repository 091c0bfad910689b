"""http_client SECONDS HOST PORT: asks a server one question after the other over HTTP, and waits for each answer."""
import http.client
import sys
import work

link = http.client.HTTPConnection(sys.argv[2], int(sys.argv[3]), timeout=30)
while work.now() < work.seconds():
    link.request("GET", "/")
    if link.getresponse().read() != b"yes":
        sys.exit("a wrong answer")
    work.compute()
