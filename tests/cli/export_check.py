"""Exports as their users read them, by pandas, h5py, PyTables, sqlite3 and json.

    export_check.py odd STORE JOBID                 makes texts and numbers of a stored job as odd as can be
    export_check.py equal STORE TABLE FILE[,FILE...] JOBID...
                                                    every value of exports, by the views of the store
    export_check.py write STORE TABLE DIRECTORY JOBID...
                                                    the values that exports must have, for tests/readers/compare.mjs
    export_check.py perfmon DIRECTORY JOBID         every value of perfmon's exports, by its JSON files
    export_check.py rows DIRECTORY FILE[,FILE...]   every value of tables of make_tables, by its own list
"""
import csv
import datetime
import json
import math
import os
import pickle
import pickletools
import sqlite3
import sys

import h5py
import numpy
import pandas
import tables

TEXTS = [b"=1+1", b"+1", b"-1", b"@SUM(A1)", b"\t=1", b"\r=1", b"", b"nan", b"NaN", b"NULL", b"None", b"'", b"\"", b"a,b",
         b"line\nline", "grüße 日本語 🎉".encode(), b"<script>alert(1)</script>", b"</script><!--", b"\xff\xfe bad \xc3", b"x" * 20000,
         b"12", b"2026-11-15", b"true", b" leading", b"trailing ", b"\x01\x02\x7f", b"a \xef\xbb\xbf mark"]
NUMBERS = [2**63 - 1, -2**63, 2**53 + 1, -1, 0, None]
EXACT = sys.argv[1] == "equal"  # bytes that are no UTF-8
TIMES = {"start", "end", "submit", "ingested", "time"}
SAFE_GLOBALS = {"pandas DataFrame", "numpy frombuffer", "pandas array", "pandas.arrays IntegerArray"}


def fail(text):
    sys.exit("export_check: " + text)


# ---- what is right -----------------------------------------------------------------------------------------------


def odd(store, jobid):
    db = sqlite3.connect(store)
    job = db.execute("SELECT no FROM job WHERE jobid = ?", (jobid,)).fetchone()[0]
    base = job << 32
    count = db.execute("SELECT count(*) FROM process WHERE id > ? AND id < ?", (base, base + 2**32)).fetchone()[0]
    number = db.execute("SELECT max(id) FROM string WHERE id < ?", (base + 2**32,)).fetchone()[0] - base
    for text in TEXTS:
        number += 1
        db.execute("INSERT INTO string VALUES (?, ?)", (base + number, text))
    first = number - len(TEXTS) + 1
    for n in range(1, count + 1):
        for k, column in enumerate(["exename", "path", "args", "tags", "host"]):
            at = (n * 7 + k * 5) % (len(TEXTS) + 3)
            db.execute("UPDATE process SET %s = ? WHERE id = ?" % column, (first + at if at < len(TEXTS) else None, base + n))
        for k, column in enumerate(["rchar", "wchar", "syscr", "coredump", "starttime"]):
            db.execute("UPDATE process SET %s = ? WHERE id = ?" % column, (NUMBERS[(n + k) % len(NUMBERS)], base + n))
        db.execute("UPDATE process SET state = ? WHERE id = ?", (n % 5 | n % 4 << 4 | n % 2 << 8, base + n))
        if n % 3 == 0:
            db.execute("DELETE FROM event WHERE process = ? AND thread = 0", (base + n,))
    db.execute("INSERT INTO string VALUES (?, ?)", (base + number + 1, b"cpu/cycles:u/"))
    db.execute("INSERT INTO event VALUES (?, 0, ?, 77, NULL)", (base + 2, number + 1))
    db.execute("UPDATE process SET start = NULL WHERE id = ?", (base + 2,))
    db.execute("UPDATE process SET duration = NULL WHERE id = ?", (base + 4,))
    db.commit()


def select(db, sql, args=()):
    cursor = db.execute(sql, args)
    return [c[0] for c in cursor.description], cursor.fetchall()


def with_events(db, names, rows, jobids, key):
    """The events of processes, or of threads, as columns."""
    found, counts = set(), {}
    for jobid in jobids:
        for process, thread, event, value in db.execute(
                "SELECT process, thread, event, value FROM events WHERE jobid = ?", (jobid,)):
            found.add(event.decode())
            counts[process, thread, event.decode()] = value
    events = sorted(found)
    return (names + ["event." + e for e in events],
            [list(r) + [counts.get((*key(r), e)) for e in events] for r in rows])


def processes(db, jobids):
    rows = []
    for jobid in jobids:
        names, more = select(db, "SELECT * FROM processes WHERE jobid = ? ORDER BY id", (jobid,))
        rows += more
    return with_events(db, names, rows, jobids, lambda r: (r[0], 0))


THREAD = """usertime systemtime rssmax minflt majflt inblock outblock vol_ctxsw invol_ctxsw starttime processor
delayacct_blkio_time guest_time rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes time_oncpu time_waiting
timeslices rdtsc_duration""".split()


def threads(db, jobids):
    columns = "start, \"end\", duration, cpu_time, " + ", ".join(THREAD)
    names = ["process", "job", "jobid", "hostname", "exename", "pid", "n", "tid", "start", "end", "duration", "cpu_time"] + THREAD
    rows = []
    for jobid in jobids:
        of = db.execute("SELECT id, job, jobid, hostname, exename, pid, numtids FROM processes WHERE jobid = ? ORDER BY id",
                        (jobid,)).fetchall()
        for p in of:
            own = db.execute("SELECT n, tid, %s FROM threads WHERE process = ? ORDER BY n" % columns, (p[0],)).fetchall()
            if not own and (p[6] is None or p[6] <= 1):
                own = [(1, p[5]) + db.execute("SELECT %s FROM processes WHERE id = ?" % columns, (p[0],)).fetchone()]
            rows += [p[:6] + t for t in own]
    several = {r[0] for jobid in jobids for r in db.execute("SELECT process FROM threads WHERE jobid = ?", (jobid,))}
    return with_events(db, names, rows, jobids, lambda r: (r[0], r[6] if r[0] in several else 0))


def samples(db, jobids):
    names = "job jobid host metric unit entity_kind entity time value raw".split()
    rows = []
    for jobid in jobids:
        rows += db.execute("""SELECT s.job, s.jobid, s.host, s.metric, r.unit, s.entity_kind, s.entity, s.time, s.value, s.raw
            FROM samples s JOIN series r USING (job, host, metric, entity_kind, entity) WHERE s.jobid = ?
            ORDER BY s.metric, s.entity_kind, s.host, s.entity, s.time""", (jobid,)).fetchall()
    return names, rows


def jobs(db, jobids):
    names, rows = [], []
    for jobid in jobids:
        names, more = select(db, "SELECT * FROM jobs WHERE jobid = ?", (jobid,))
        rows += more
    return names, rows


def text(v, exact=False):
    if not isinstance(v, bytes):
        return v
    return v if exact else v.decode("utf-8", "replace")


def expected(store, table, jobids):
    db = sqlite3.connect(store)
    db.text_factory = bytes
    names, rows = globals()[table](db, jobids)
    out = {}
    for i, name in enumerate(names):
        out[name] = [r[i] * 1000 if name in TIMES and r[i] is not None else r[i] for r in rows]
    return out


# ---- what readers see --------------------------------------------------------------------------------------------


def ns(iso):
    stamp = datetime.datetime.strptime(iso[:19] + "+0000", "%Y-%m-%dT%H:%M:%S%z")
    if iso[19] != "." or iso[-1] != "Z" or len(iso) != 30:
        fail("no time: " + iso)
    return int(stamp.timestamp()) * 10**9 + int(iso[20:29])


def plain(v):
    """A value of pandas' or numpy's as one of Python's; times as ns."""
    if v is None or v is pandas.NaT or v is pandas.NA:
        return None
    if isinstance(v, pandas.Timestamp):
        return v.value
    if isinstance(v, (float, numpy.floating)):
        return None if math.isnan(v) else float(v)
    if isinstance(v, numpy.integer):
        return int(v)
    return v


def frame(d):
    for name in d.columns:
        if name in TIMES and str(d[name].dtype) != "datetime64[ns, UTC]":
            fail("%s is %s" % (name, d[name].dtype))
    return {name: [plain(v) for v in d[name]] for name in d.columns}


def read_csv(path, _):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as f:
        rows = list(csv.reader(f))
    out = {}
    for i, name in enumerate(rows[0]):
        values = [r[i] for r in rows[1:]]
        out[name] = [None if v == "" else ns(v) if name in TIMES else v for v in values]
    return out


def read_json(path, _):
    with open(path, encoding="utf-8") as f:
        return objects(json.load(f))


def read_jsonl(path, _):
    with open(path, encoding="utf-8") as f:
        return objects([json.loads(line) for line in f])


def objects(rows):
    import base64
    names = [n for n in rows[0] if not n.endswith("_b64")]
    for r in rows:
        for n in names:
            if n + "_b64" in r and EXACT:
                r[n] = base64.b64decode(r[n + "_b64"])
            elif n in TIMES and r[n] is not None:
                r[n] = ns(r[n])
    return {n: [r[n] for r in rows] for n in names}


def read_sqlite(path, tables_):
    db = sqlite3.connect(path)
    names, rows = select(db, "SELECT * FROM %s ORDER BY rowid" % tables_[0].split("_")[0])
    if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
        fail("the database is damaged")
    return {n: [ns(r[i]) if n in TIMES and r[i] is not None else r[i] for r in rows] for i, n in enumerate(names)}


def read_pickle(path, _):
    with open(path, "rb") as f:
        seen = {arg for op, arg, _ in pickletools.genops(f) if op.name in ("GLOBAL", "STACK_GLOBAL", "INST", "BUILD", "EXT1")}
    if not seen <= SAFE_GLOBALS:
        fail("a pickle that calls %s" % (seen - SAFE_GLOBALS))
    with open(path, "rb") as f:
        d = pickle.load(f)
    if type(d) is not pandas.DataFrame:
        fail("a pickle of %s" % type(d))
    d = pandas.read_pickle(path)
    d.iloc[:1, :] = d.iloc[:1, :]  # may be written to
    return frame(d)


def read_hdf5(path, keys):
    parts = []
    for key in keys:
        d = pandas.read_hdf(path, key)
        parts.append(frame(d))
        with h5py.File(path, "r") as f, tables.open_file(path) as t:
            rows = f[key]["table"][:]
            if len(rows) != len(d) or t.get_node("/" + key + "/table").nrows != len(d):
                fail("h5py and PyTables have other rows in " + key)
            for n in rows.dtype.names[1:]:
                if n not in d.columns or d[n].dtype.kind != "i":
                    continue
                if not (rows[n] == d[n].to_numpy()).all() or not (t.get_node("/" + key + "/table").col(n) == rows[n]).all():
                    fail("h5py has other values in " + n)
    out = parts[0]
    for p in parts[1:]:
        for n in out:
            out[n] += p[n]
    return out


READERS = {"csv": read_csv, "json": read_json, "jsonl": read_jsonl, "sqlite": read_sqlite, "pkl": read_pickle, "h5": read_hdf5}


# ---- comparing ---------------------------------------------------------------------------------------------------


def harmless(v):
    return "'" + v if v and v[0] in "=+-@\t\r" else v


def same(form, want, got, absent):
    if form == "csv":  # all is text, and an empty text is not to be told from an absent value
        if want is None or want == b"" or want == "":
            return got is None
        if isinstance(got, int):  # a time
            return got == want
        if isinstance(want, bytes):
            return got == (want.decode("utf-8", "surrogateescape") if os.environ.get("RAW") else harmless(text(want)))
        return float(got) == want if isinstance(want, float) else got == str(want)
    if form in ("json", "jsonl", "sqlite") and isinstance(got, bytes):
        return got == want
    if form == "h5" and isinstance(want, int) and absent and isinstance(got, float):
        return got == float(want)  # for NaN
    if form == "jsonl" and isinstance(want, float) and not math.isfinite(want):
        return got is None
    if form == "h5" and isinstance(want, str):
        want = want.rstrip("\0")  # which is what texts are filled up with
    return got == text(want) and type(got) is type(text(want))


def compare(form, want, got):
    if list(want) != list(got):
        fail("columns: got %s, want %s" % (list(got), list(want)))
    for name in want:
        if len(want[name]) != len(got[name]):
            fail("%s: got %d rows, want %d" % (name, len(got[name]), len(want[name])))
        absent = None in want[name]
        for i, (w, g) in enumerate(zip(want[name], got[name])):
            if not same(form, w, g, absent):
                fail("%s row %d: got %.60r, want %.60r" % (name, i, g, w))
    return len(want[name]), len(want)


def equal(store, table, paths, *jobids):
    want = expected(store, table, jobids)
    for path in paths.split(","):
        form = path.rsplit(".", 1)[1]
        got = READERS[form](path, ["%s_%s" % (table, j) for j in jobids])
        print(path, "%d rows, %d columns" % compare(form, want, got))


def write(store, table, directory, *jobids):
    """As make_tables writes its list; listed() reads it."""
    columns = []
    for i, (name, values) in enumerate(expected(store, table, jobids).items()):
        known = [v for v in values if v is not None]
        kind = ("time" if name in TIMES else "text" if known and isinstance(known[0], bytes) else
                "real" if known and isinstance(known[0], float) else "int")
        columns.append({"name": name, "type": kind})
        with open("%s/%d.absent" % (directory, i), "wb") as f:
            f.write(bytes(v is None for v in values))
        if kind == "text":
            texts = [b"" if v is None else text(v).encode() for v in values]
            numpy.array([len(t) for t in texts], "<u4").tofile("%s/%d.sizes" % (directory, i))
            with open("%s/%d.texts" % (directory, i), "wb") as f:
                f.write(b"".join(texts))
        else:
            array = numpy.array([v or 0 for v in values], "<f8" if kind == "real" else "<i8")
            array.tofile("%s/%d.values" % (directory, i))
    with open(directory + "/columns.json", "w") as f:
        json.dump(columns, f)
    print(len(columns) * len(values))


# ---- perfmon -----------------------------------------------------------------------------------------------------


def perfmon(directory, jobid):
    """One row for each host and time stamp; what is short or null is absent; whole numbers stay whole."""
    for name in ("cpu_metrics", "perf_metrics", "nv_gpu_metrics"):
        path = "%s/metrics/%s.json" % (directory, name)
        if not os.path.exists(path):
            continue
        content = json.load(open(path))
        if not content["host_names"]:
            continue
        d = pandas.read_csv("%s/%s.csv" % (directory, name))
        for other in (pandas.read_pickle("%s/%s.pkl" % (directory, name)),
                      pandas.read_hdf("%s/metrics.h5" % directory, "%s_%s" % (name, jobid)),
                      pandas.read_hdf("%s/%s.h5" % (directory, name), "%s_%s" % (name, jobid))):
            pandas.testing.assert_frame_equal(d, other)
        if list(d.columns[:2]) != ["Host", "Timestamps"]:
            fail("columns: %s" % list(d.columns))
        at = 0
        for host in content["host_names"]:
            stamps = content[host]["time_stamps"]
            part = d.iloc[at:at + len(stamps)]
            if list(part["Host"]) != [host] * len(stamps) or list(part["Timestamps"]) != stamps:
                fail("%s: rows of %s" % (name, host))
            arrays = sum(isinstance(v, list) for k, v in content[host].items() if k not in ("time_stamps", "child_proc_md"))
            arrays += sum(len(v) for k, v in content[host].items() if isinstance(v, dict) and k != "parent_proc_md")
            if part.notna().any().sum() > arrays + 2 or arrays + 2 > len(d.columns):
                fail("%s: %d columns of %d arrays" % (name, len(d.columns), arrays))
            at += len(stamps)
        if at != len(d):
            fail("%s: %d rows, want %d" % (name, len(d), at))
        print(name, len(d), len(d.columns))


# ---- the table of make_tables ------------------------------------------------------------------------------------


def listed(directory):
    columns = json.load(open(directory + "/columns.json"))
    out = {}
    for i, c in enumerate(columns):
        absent = open("%s/%d.absent" % (directory, i), "rb").read()
        if c["type"] == "text":
            sizes = numpy.fromfile("%s/%d.sizes" % (directory, i), "<u4")
            blob, at, values = open("%s/%d.texts" % (directory, i), "rb").read(), 0, []
            for n in sizes:
                values.append(blob[at:at + n].decode())
                at += int(n)
        else:
            values = numpy.fromfile("%s/%d.values" % (directory, i), "<f8" if c["type"] == "real" else "<i8").tolist()
        out[c["name"]] = [None if a else v for v, a in zip(values, absent)]
        if c["type"] == "time":
            TIMES.add(c["name"])
    return out


def rows(directory, paths):
    all_values = listed(directory)
    # NaN is not to be told from absent by those who read here
    want = {n: [None if isinstance(v, float) and math.isnan(v) else v for v in vs] for n, vs in all_values.items()}
    for path in paths.split(","):
        form = path.rsplit(".", 1)[1]
        print(path, "%d rows, %d columns" % compare(form, want, READERS[form](path, ["processes"])))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
