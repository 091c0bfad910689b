"""pool SECONDS N even|uneven|phase|pin: N processes compute.

uneven: the first has four times as much as the others; phase: one process goes on alone for two thirds of the time;
pin: all on the same core.
"""
import multiprocessing
import os
import sys
import work


def body(number):
    total = work.seconds() - work.start
    share = 1.0
    if mode == "uneven" and number > 0:
        share = 0.25
    if mode == "phase":
        share = 0.33
    if mode == "pin":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    work.compute_until(work.start + total * share)


n, mode = int(sys.argv[2]), sys.argv[3]
processes = [multiprocessing.Process(target=body, args=(i,)) for i in range(n)]
for p in processes:
    p.start()
for p in processes:
    p.join()
if mode == "phase":
    work.compute_until(work.seconds())
