"""updates SECONDS N FILE: N processes change one database; each computes for 50 ms while it has the lock."""
import multiprocessing
import os
import sqlite3
import sys
import work


def change():
    db = sqlite3.connect(sys.argv[3], timeout=60, isolation_level=None)
    while work.now() < work.seconds():
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE total SET n = n + 1")
        work.compute_until(work.now() + 0.05)
        db.execute("COMMIT")


db = sqlite3.connect(sys.argv[3], isolation_level=None)
db.execute("PRAGMA synchronous = OFF")
db.execute("CREATE TABLE total (n INTEGER)")
db.execute("INSERT INTO total VALUES (0)")
db.close()
context = multiprocessing.get_context("fork")
processes = [context.Process(target=change) for _ in range(int(sys.argv[2]))]
for one in processes:
    one.start()
for one in processes:
    one.join()
os.unlink(sys.argv[3])
