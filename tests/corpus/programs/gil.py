"""gil SECONDS N: N threads of Python compute, of which the interpreter's lock lets one run at a time."""
import sys
import threading
import work

threads = [threading.Thread(target=work.compute_until, args=(work.seconds(),)) for _ in range(int(sys.argv[2]))]
for t in threads:
    t.start()
for t in threads:
    t.join()
