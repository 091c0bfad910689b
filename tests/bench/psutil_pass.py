"""One sample of many processes by psutil, when told to: see sampling.c."""
import sys
import time

import psutil

processes = [psutil.Process(int(pid)) for pid in sys.stdin.readline().split()]
for line in sys.stdin:
    variant = int(line)
    begin = time.perf_counter_ns()
    for p in processes:
        with p.oneshot():
            p.cpu_times()
            p.io_counters()
            p.num_threads()
            if variant >= 1:
                p.memory_full_info()
            if variant >= 2:
                p.num_ctx_switches()
                p.num_fds()
    print(time.perf_counter_ns() - begin, flush=True)
