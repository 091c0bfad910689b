"""commits SECONDS FILE: a database that commits each row: two waits for the disk a row."""
import os
import sqlite3
import sys
import work

db = sqlite3.connect(sys.argv[2], isolation_level=None)
db.execute("PRAGMA synchronous = FULL")
db.execute("CREATE TABLE result (step INTEGER, value REAL)")
step = 0
while work.now() < work.seconds():
    db.execute("INSERT INTO result VALUES (?, ?)", (step, step * 0.5))
    step += 1
db.close()
os.unlink(sys.argv[2])
