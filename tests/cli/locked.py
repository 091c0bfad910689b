#!/usr/bin/env python3
"""What a command does with a job directory that somebody else has locked.

locked.py DIRECTORY remove COMMAND...   removes the directory under its lock while COMMAND begins
locked.py DIRECTORY end COMMAND...      keeps the lock while COMMAND ends; prints whether a run of the directory had
                                        an end then
"""
import fcntl
import glob
import json
import os
import shutil
import struct
import subprocess
import sys
import time


def lock(directory):
    fd = os.open(directory + "/.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.fcntl(fd, fcntl.F_OFD_SETLKW, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    return fd


def has_open(pid, path):
    try:
        return any(os.path.samefile(f, path) for f in glob.glob(f"/proc/{pid}/fd/*"))
    except FileNotFoundError:
        return False


def wait_for(condition):
    for _ in range(20000):
        if condition():
            return
        time.sleep(0.001)
    sys.exit("locked.py: waited in vain")


directory, action, command = sys.argv[1], sys.argv[2], sys.argv[3:]
if action == "remove":
    os.makedirs(directory, 0o700)
    held = lock(directory)
    child = subprocess.Popen(command)
    wait_for(lambda: has_open(child.pid, directory + "/.lock") or glob.glob(directory + "/*/*"))
    os.rename(directory, directory + ".gone")
    shutil.rmtree(directory + ".gone")
    os.close(held)
else:
    child = subprocess.Popen(command)
    wait_for(lambda: glob.glob(directory + "/*/*.json"))
    held = lock(directory)
    open("go", "w").close()
    wait_for(lambda: has_open(child.pid, directory + "/.lock") or child.poll() is not None)
    runs = [json.load(open(f)) for f in glob.glob(directory + "/*/*.json")]
    print("ended" if any("end" in r for r in runs) else "open")
    os.close(held)
sys.exit(child.wait())
