"""paced SECONDS pipe|queue: two processes, of which one waits for what the other one has every 50 ms."""
import multiprocessing
import sys
import time
import work


def make(put, seconds):
    for _ in range(int(seconds * 20)):
        time.sleep(0.05)
        put("x" * 100)
    put(None)


def main():
    if sys.argv[2] == "queue":
        queue = multiprocessing.Queue()
        get, put = queue.get, queue.put
    else:
        end, other = multiprocessing.Pipe()
        get, put = end.recv, other.send
    maker = multiprocessing.Process(target=make, args=(put, float(sys.argv[1])))
    maker.start()
    while get() is not None:
        work.compute()
    maker.join()


main()
