#!/usr/bin/env python3
"""Runs a command on a terminal of its own and types one line when it asks: pty_answer.py ANSWER COMMAND..."""
import os
import pty
import sys

answer, command = sys.argv[1], sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
typed = False
while True:
    try:
        data = os.read(fd, 4096)
    except OSError:
        break
    if not data:
        break
    sys.stdout.write(data.decode(errors="replace"))
    if b"?" in data and not typed:
        typed = True
        os.write(fd, answer.encode() + b"\n")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
