"""What the Python programs of the corpus share: the clock, and work that needs a core."""
import sys
import time

now = time.monotonic
start = now()


def seconds():
    """the end, by the first argument"""
    return start + float(sys.argv[1])


def compute(rounds=1):
    """about 2 ms each"""
    x = 1.5
    for _ in range(rounds * 20000):
        x = x * 0.999999 + 0.1
    return x


def compute_until(end):
    while now() < end:
        compute()
