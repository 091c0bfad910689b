"""fetch SECONDS HOST PORT N: N threads ask a server over HTTP, with a new connection for each question."""
import sys
import threading
import urllib.request
import work


def fetch():
    while work.now() < work.seconds():
        with urllib.request.urlopen(f"http://{sys.argv[2]}:{sys.argv[3]}/") as answer:
            answer.read()


threads = [threading.Thread(target=fetch) for _ in range(int(sys.argv[4]))]
for one in threads:
    one.start()
for one in threads:
    one.join()
