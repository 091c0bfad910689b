"""licence SECONDS N: N processes share one licence, and compute for 100 ms while they have it."""
import multiprocessing
import sys
import work


def run(licence):
    while work.now() < work.seconds():
        with licence:
            work.compute_until(work.now() + 0.1)


context = multiprocessing.get_context("fork")
lock = context.Lock()
processes = [context.Process(target=run, args=(lock,)) for _ in range(int(sys.argv[2]))]
for one in processes:
    one.start()
for one in processes:
    one.join()
