"""HDF5 files as their users read them, by h5py and PyTables, which know nothing of ours.

    hdf5_check.py columns FILE MESSAGE    rows of a captured message, decoded here
    hdf5_check.py plan FILE ENTRIES       every value of play_hdf5's plan, once
    hdf5_check.py kill PROGRAM DIR KILLS  the same, with the program killed so many times
    hdf5_check.py cells FILE JOB          "time table column value" lines of a job
"""
import fcntl
import math
import os
import random
import struct
import subprocess
import sys
import time

import h5py
import tables

NODES, READINGS, JOBS, PROCESSES, BEGIN = 3, 4, 20, 2, 1800000000
TASKSTATS = """cpu_count cpu_delay_total blkio_count blkio_delay_total swapin_count
swapin_delay_total cpu_run_real_total cpu_run_virtual_total ac_btime ac_etime ac_utime ac_stime
ac_minflt ac_majflt coremem virtmem read_char write_char read_syscalls write_syscalls read_bytes
write_bytes cancelled_write_bytes nvcsw nivcsw ac_utimescaled ac_stimescaled
cpu_scaled_run_real_total freepages_count freepages_delay_total""".split()
JOBPROC = "rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes VmRSS RssShmem VmSize".split()
TEMPERATURE = ["counter_%d" % i for i in range(1, 7)]
HEAD = ["hostname", "job_id", "metric_backend", "timestamp"]
# name: fields, form behind the head, size
FORMS = {
    "taskstats_default": (TASKSTATS, "<8QI21Q", 762),
    "jobprocstats_default": (JOBPROC, "<10q", 606),
    "temperaturestats_default": (TEMPERATURE, "<6q", 574),
    "procstats_default": (None, "<58Q5f8192s", 9202),
}


def check(what, got, want):
    if got != want and not (got != got and want != want):
        sys.exit("%s: got %r, want %r" % (what, got, want))


def records(message):
    while message:
        name, host, job, stamp = struct.unpack_from("<255s255sQQ", message)
        name, host = name.rstrip(b"\0").decode(), host.rstrip(b"\0").decode()
        fields, form, size = FORMS[name]
        yield name, host, job, stamp, fields, struct.unpack_from(form, message, 526)
        message = message[size:]


def columns(path, message):
    seen = 0
    with h5py.File(path, "r") as f, tables.open_file(path) as t:
        for name, host, job, stamp, fields, values in records(open(message, "rb").read()):
            table = f["job_%d/%s" % (job, name)]
            rows = table[:]
            row = rows[rows["timestamp"] == stamp]
            check("%s rows" % name, len(row), 1)
            row = row[0]
            check("order", list(table.dtype.names), sorted(table.dtype.names))
            if fields:
                check("columns of " + name, list(table.dtype.names), sorted(fields + HEAD))
            else:
                check("columns of " + name, len(table.dtype.names), 64 + 4)
                check("involved_jobs", table.dtype["involved_jobs"].itemsize, 8192)
                check("load", row["loadavg_1min"], values[58])
                check("memory", row["meminfo_memfree"], values[3])
                check("jobs", row["involved_jobs"], values[63].rstrip(b"\0"))
            for field, value in zip(fields or [], values):
                check("%s.%s" % (name, field), row[field], value)
            check("host", row["hostname"], host.encode())
            check("job", row["job_id"], job)
            check("backend", row["metric_backend"], name.encode())
            for column in ("hostname", "metric_backend"):
                check(column, table.dtype[column].itemsize, 255)
            check("title", table.attrs["TITLE"], ("Metrics for the Job %d" % job).encode())
            check("version", table.attrs["backend_version"], 2)
            node = t.get_node("/job_%d/%s" % (job, name))
            check("PyTables", type(node), tables.Table)
            check("names", node.colnames, list(table.dtype.names))
            check("default", node.coldescrs["job_id"].dflt, -1)
            check("query", [r["job_id"] for r in node.where("timestamp == %d" % stamp)], [job])
            seen += 1
    check("records", seen > 3, True)


def raw(node, entity, metric, tick, counter):
    if counter:
        return tick * 1000 * (metric + 1) + entity * 7 + node
    return ((tick * 2654435761 & 0xFFFFFFFF) ^ (entity * 40503 & 0xFFFFFFFF) ^ node) % 100000


# metrics: name, counter, scale
SOURCES = {
    "group": (JOBS, [("cpu_time", True, 1), ("memory", False, 4096)]),
    "system": (1, [("load", False, 0.01), ("forks", True, 1)]),
    "process": (JOBS * PROCESSES, [("rss", False, 1024), ("faults", True, 1)]),
}


def expected(source, entity):
    """Group and entity's name."""
    if source == "system":
        return "job_0", "node:node"
    if source == "group":
        return "job_%d" % (1000 + entity), "job:%d" % (1000 + entity)
    return "job_%d" % (1000 + entity // PROCESSES), "process:%d.77" % (300 + entity)


def plan(path, entries=None):
    """Whole entries, each value once; the number of entries."""
    with h5py.File(path, "r") as f:
        position = int(f.attrs["PLIMSOLL_POSITION"])
        if entries is not None:
            check("position", position, entries)
        cells = {}
        for group in f:
            for source in f[group]:
                if source not in SOURCES:
                    continue
                for row in f[group][source][:]:
                    key = (source, row["host"], row["entity"], int(row["time"]))
                    if key in cells:
                        sys.exit("twice: %r" % (key,))
                    cells[key] = (group, row)
    found = 0
    for k in range(position):
        node, number = k % NODES, k // NODES
        for source, (count, metrics) in SOURCES.items():
            for entity in range(count):
                group, name = expected(source, entity)
                for tick in range(number * READINGS, (number + 1) * READINGS):
                    key = (source, b"node%d" % (node + 1), name.encode(), (BEGIN + tick) * 10**9)
                    if key not in cells:
                        sys.exit("missing: %r" % (key,))
                    check("group", cells[key][0], group)
                    found += 1
                    for m, (metric, counter, scale) in enumerate(metrics):
                        value = raw(node, entity, m, tick, counter)
                        want = value if counter else value / (1 / scale) if scale < 1 else float(value * scale)
                        if m == 1 and tick % 5 == 4:
                            want = -1 if counter else math.nan
                        check("%r %s" % (key, metric), cells[key][1][metric].item(), want)
    check("rows", len(cells), found)
    with tables.open_file(path) as t:
        rows = sum(len(n[:]) for n in t.walk_nodes("/", "Table") if n._v_name in SOURCES)
    check("rows by PyTables", rows, found)
    return position


def kill(program, directory, kills):
    target, state = os.path.join(directory, "live.hdf5"), os.path.join(directory, "state")
    entries, done, last = 400, 0, 0
    while done < kills:
        p = subprocess.Popen([program, target, state, str(done % 2 * 9), str(entries)])
        time.sleep(random.uniform(0.0, 0.25))
        p.kill()
        if p.wait() != -9:
            check("status", p.returncode, 0)
            last = plan(target, entries)
            break
        done += 1
        # the process that finishes the last commit holds the locks
        if os.path.exists(state + "/journal.0"):
            with open(state + "/journal.0") as journal:
                fcntl.flock(journal, fcntl.LOCK_EX)
        if os.path.exists(target):
            now = plan(target)
            check("goes on", now >= last, True)
            last = now
    entries = max(last + 3, 9)
    check("status", subprocess.run([program, target, state, "0", str(entries)]).returncode, 0)
    plan(target, entries)
    print("%d kills, %d entries" % (done, entries))


def factor(column):
    """The store has bytes and microseconds."""
    if column.startswith("uptime_"):
        return 1000000
    if column.startswith("stat_cpu_"):
        return 10000
    if column in ("vmstat_pgpgin", "vmstat_pgpgout", "VmRSS", "RssShmem", "VmSize", "meminfo_hugepagesize"):
        return 1024
    return 1024 if column.startswith("meminfo_") and not column.startswith("meminfo_hugepages") else 1


def cells(path, job):
    """Of colmet's tables: those of the job, and those of the node."""
    with h5py.File(path, "r") as f:
        for group in ("job_0", "job_" + job):
            for name, table in f[group].items():
                if "timestamp" not in table.dtype.names:
                    continue
                for row in table[:]:
                    for column in table.dtype.names:
                        if column in HEAD or table.dtype[column].kind == "S" or row[column] == -1:
                            continue
                        value = float(row[column]) * factor(column)
                        print("%d %s.%s %.6f" % (row["timestamp"], name, column, value))


if __name__ == "__main__":
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "plan":
        plan(arguments[0], int(arguments[1]))
    elif what == "kill":
        kill(arguments[0], arguments[1], int(arguments[2]))
    else:
        {"columns": columns, "cells": cells}[what](*arguments)
