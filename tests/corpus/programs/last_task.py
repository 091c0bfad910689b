"""last_task SECONDS N: a pool whose last task is much longer than the others."""
import multiprocessing
import sys
import work


def task(length):
    work.compute_until(work.now() + length)


seconds, workers = float(sys.argv[1]), int(sys.argv[2])
with multiprocessing.get_context("fork").Pool(workers) as pool:
    pool.map(task, [seconds / 20] * (4 * workers) + [seconds * 0.75], chunksize=1)
