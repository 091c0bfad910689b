"""queue_wait SECONDS N: N workers wait for tasks from a pipe that one process fills slowly: it computes each task."""
import multiprocessing
import sys
import work


def body(queue):
    while queue.get() is not None:
        work.compute(1)


n = int(sys.argv[2])
queue = multiprocessing.SimpleQueue()
processes = [multiprocessing.Process(target=body, args=(queue,)) for _ in range(n)]
for p in processes:
    p.start()
while work.now() < work.seconds():
    queue.put(work.compute(20))
for p in processes:
    queue.put(None)
for p in processes:
    p.join()
