"""Loads jobs that Plimsoll recorded or sampled as pandas DataFrames.

    import plimsoll
    job = plimsoll.job("last")
    processes = plimsoll.processes("last")

The functions read the views of the store (docs/store.md), which is opened read-only; load() reads files of `plimsoll
export`. The store is the argument store, else PLIMSOLL_DB, else the setting db, else the user's store. In its place a server
(`plimsoll serve`) can be given by its address, "http://127.0.0.1:8420/", or as a Client. A job is given by
its id, an unambiguous prefix of one, "last", or a row of jobs(). With where="..." the functions take all jobs that match a
filter of plimsoll-query(1) instead, and tell them apart by a column jobid; processes() and tree() take a filter of processes.

Dtypes are the same wherever rows come from:

    points in time            datetime64[ns, UTC]
    durations and CPU times   timedelta64[ns], exact; seconds() makes them floats
    counts, sizes, ids        Int64, in which a value can be absent (<NA>)
    yes or no                 boolean
    text                      string; invalid UTF-8 becomes U+FFFD
    values of samples         float64, in the unit that series() names

Needs pandas; the plot functions also need matplotlib. All functions raise Error with a message of one sentence.
"""

import contextlib
import csv
import datetime
import difflib
import fnmatch
import http.client
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import urllib.parse

try:
    import numpy as np
    import pandas as pd
except ImportError as error:
    raise ImportError(
        "plimsoll needs pandas: `apt install python3-pandas` or `pip install pandas`"
    ) from error

try:  # marks of this program itself; a copy of this file alone goes without them
    from plimsoll_mark import mark, region
except ImportError:
    mark = region = None

__all__ = [
    "Error", "Store", "Client", "jobs", "job", "tags", "hosts", "sums", "warnings", "profile", "processes", "tree",
    "threads", "events", "phases", "series", "samples", "absences", "sql", "load", "seconds", "rates",
    "plot_concurrency", "plot_executables", "plot_samples", "region", "mark",
]


class Error(Exception):
    """Says what is wrong and what to do about it."""


# ---- dtypes -----------------------------------------------------------------------------------------

# The name of a column determines its type; it means the same in every view and export. A column in none of these sets
# is an integer.
_TIMES = {"submit", "start", "end", "ingested", "time", "first", "last"}
_MICROSECONDS = {
    "duration", "cpu_time", "inclusive_cpu_time", "exclusive_time", "usertime", "systemtime", "cutime", "cstime",
    "starttime", "delayacct_blkio_time", "guest_time",
}
_NANOSECONDS = {"time_oncpu", "time_waiting", "duration_ns"}
_FLAGS = {"forked", "coredump"}
_TEXTS = {
    "jobid", "jobname", "cluster", "user", "format", "source", "key", "host", "hostname", "metric", "text", "tags", "exename",
    "path", "args", "ended", "event", "unit", "kind", "aggregation", "entity_kind", "entity", "metadata", "facts", "help", "reason",
    "name", "state", "origin",
}
_REALS = {"minimum", "mean", "maximum", "increase"}
# the only ambiguous name: text in tags and annotations, a count in events
_VALUE = {"job_tags": "string", "job_annotations": "string", "events": "Int64"}

_NAT = np.iinfo(np.int64).min


def _dtype(name, view=None):
    if name == "value":
        return _VALUE.get(view, "float64")
    if name in _TIMES:
        return "time"
    if name in _MICROSECONDS or name in _NANOSECONDS:
        return "duration"
    if name in _FLAGS:
        return "boolean"
    if name in _TEXTS:
        return "string"
    return "float64" if name in _REALS else "Int64"


def _numbers(values):
    """An array of values and a mask of absent ones."""
    if None not in values:
        return np.asarray(values), np.zeros(len(values), bool)
    absent = np.fromiter((v is None for v in values), bool, len(values))
    there = np.asarray([v for v in values if v is not None])
    array = np.zeros(len(values), there.dtype if len(there) else np.int64)
    array[~absent] = there
    return array, absent


def _nanoseconds(array, absent, factor):
    """Converts integers in units of 1 ns or 1 us to ns; values out of range become absent."""
    array = np.rint(array).astype(np.int64) if array.dtype.kind == "f" else array.astype(np.int64)
    limit = (2**63 - 1) // factor
    bad = absent | (array > limit) | (array < -limit)
    return np.where(bad, _NAT, np.where(bad, 0, array) * factor)


def _texts(values):
    texts = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values]
    return pd.array([None if t is None else str(t) for t in texts], dtype="string")


def _column(values, name, view=None, factor=1000):
    """A column from None, int, float, str. A query may use our names for other values, which are then left as they
    are. factor converts times of the source to ns."""
    dtype = _dtype(name, view)
    if not len(values) and dtype not in ("time", "duration"):
        return pd.array([], dtype=dtype)
    if dtype == "string":
        with contextlib.suppress(ValueError):
            return pd.array(values, dtype=dtype)
    array, absent = _numbers(values)
    if array.dtype.kind not in "iufb":
        return _texts(values)
    if dtype == "time":
        return pd.DatetimeIndex(_nanoseconds(array, absent, factor).view("M8[ns]")).tz_localize("UTC").array
    if dtype == "duration":
        return _nanoseconds(array, absent, 1 if name in _NANOSECONDS else 1000).view("m8[ns]")
    if dtype == "boolean" and np.isin(array, (0, 1)).all():
        return pd.arrays.BooleanArray(array.astype(bool), absent)
    if array.dtype.kind == "f" or dtype == "float64":
        return pd.array(np.where(absent, np.nan, array.astype(float)), dtype="float64")
    return pd.arrays.IntegerArray(array.astype(np.int64), absent)


class _Texts(dict):
    """Stores equal texts once; SQLite returns them as bytes."""

    def __missing__(self, value):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        self[value] = text
        return text


def _frame(names, rows, view):
    """A DataFrame from batches of rows."""
    columns, texts = [[] for _ in names], _Texts()
    for batch in rows:
        for column, values in zip(columns, zip(*batch)):
            first = next((v for v in values if v is not None), None)
            column.extend([texts[v] for v in values] if isinstance(first, (bytes, str)) else values)
    return pd.DataFrame({n: _column(c, n, view) for n, c in zip(names, columns)})


# ---- stores -----------------------------------------------------------------------------------------

def _program():
    """The program installed with this module, else the one in PATH; None if there is none."""
    here = os.path.dirname(os.path.abspath(__file__))
    beside = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(here))), "bin", "plimsoll")
    return beside if os.access(beside, os.X_OK) else shutil.which("plimsoll")


def _run(*words, **environment):
    program = _program()
    if not program:
        raise Error("cannot find `plimsoll` in PATH")
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, **environment})
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise Error(said.replace("plimsoll: error: ", "") or f"`plimsoll {words[0]}` failed ({done.returncode})")
    return done.stdout


def _configured():
    url = os.environ.get("PLIMSOLL_DB")
    if not url and _program():
        url = _run("config", "db").decode("utf-8", "surrogateescape").rstrip("\n")
    if url:
        return url
    data = os.environ.get("XDG_DATA_HOME", "")
    if not data.startswith("/"):
        data = os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "plimsoll", "plimsoll.db")


def _shown(url):
    """Masks what may be a password."""
    if url.startswith(("/", ".", "sqlite:///")):
        return url
    scheme = url.partition("://")[0] + "://" if "://" in url else ""
    if "pass" in url.lower():
        return scheme + "***"
    return scheme + ("***@" if "@" in url else "") + url[len(scheme):].rpartition("@")[2].partition("?")[0]


def _open_sqlite(path):
    try:
        file = sqlite3.connect(f"file:{urllib.parse.quote(os.path.abspath(path))}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise Error(f"cannot open '{path}': {error}") from error
    file.text_factory = bytes
    return file


class Store:
    """A store, by path or URL as for --db; None: the configured one."""

    def __init__(self, url=None):
        self.url = os.fspath(url) if url else _configured()
        self._sqlite = None
        # the program reads its configuration files, and masks passwords
        self._environment = {"PLIMSOLL_DB": self.url} if url or os.environ.get("PLIMSOLL_DB") else {}
        self._ask = self._ask_program
        if self.url.startswith(("postgresql:", "postgres:")):
            return
        path = self.url[len("sqlite:///"):] if self.url.startswith("sqlite:///") else self.url
        if not path or path == ":memory:" or path.startswith("sqlite:"):
            raise Error("a store in memory cannot be read by another process; give a file with PLIMSOLL_DB or store=")
        if "://" in path:
            raise Error(f"'{_shown(path)}' is not a store; expected a path, sqlite:///PATH or postgresql://...")
        if not os.path.exists(path):
            raise Error(f"there is no store '{_shown(path)}'; create it with `plimsoll submit`, or give another with PLIMSOLL_DB or store=")
        self._sqlite = _open_sqlite(path)
        self._ask = self._ask_sqlite

    def __repr__(self):
        shown = urllib.parse.urlsplit(_shown(self.url)) if "://" in self.url else None
        return f"Store({shown.hostname + shown.path if shown and shown.hostname else _shown(self.url)!r})"

    def sql(self, query, parameters=(), view=None):
        """The rows of a query; ? stands for a parameter. Column names determine dtypes."""
        try:
            names, rows = self._ask(query, parameters)
            return _frame(names, rows, view)
        except (sqlite3.Error, sqlite3.Warning) as error:
            text = str(error)
            if "no such table" in text:
                text += "; an older store becomes current by `plimsoll db migrate`"
            raise Error(f"cannot read '{_shown(self.url)}': {text}") from error

    def _ask_sqlite(self, query, parameters):
        cursor = self._sqlite.execute(query, parameters)
        return [column[0] for column in cursor.description or ()], iter(lambda: cursor.fetchmany(20000), [])

    def _ask_program(self, query, parameters):
        # uses no PostgreSQL library; the URL may contain a password, so it is not passed on the command line
        objects = json.loads(_run("sql", "--json", _filled(query, parameters), **self._environment))
        # invalid UTF-8 has a second key in base64
        names = [n for n in (objects[0] if objects else ()) if not n.endswith("_b64")]
        return names, [[[o.get(n) for n in names] for o in objects]] if objects else []

    def columns(self, view):
        """The column names of a view."""
        if self._sqlite:
            return list(self.sql(f"SELECT name AS text FROM pragma_table_info('{view}') ORDER BY cid")["text"])
        rows = self.sql("SELECT column_name AS text FROM information_schema.columns WHERE table_name = ? "
                        "AND table_schema = current_schema() ORDER BY ordinal_position", (view,))
        return list(rows["text"]) if len(rows) else []

    def known(self, view, columns=None):
        """The columns of a view, or an error if it does not have the given ones."""
        known = self.columns(view)
        for name in columns or ():
            if name not in known:
                raise Error(f"{view} have no column '{name}'{_similar(name, known)}")
        return known

    def of_jobs(self, view, where, columns=None, order=""):
        """The rows of all jobs that match a filter in a view, with the ids of the jobs."""
        known = self.known(view, columns)
        names = ["job", "jobid"] + (columns or [n for n in known if n not in ("job", "jobid")])
        numbers = self.select(where)
        frame = self.rows(view, "job", numbers, names, order)
        place = {number: i for i, number in enumerate(numbers)}
        frame = frame.sort_values("job", key=lambda jobs: jobs.map(place), kind="stable", ignore_index=True)
        return frame.drop(columns="job")

    def view(self, view, job, columns=None, order="", where="", parameters=()):
        """The rows of a job in a view."""
        known = self.known(view, columns)
        names = columns or [n for n in known if n not in ("job", "jobid")]
        listed = ", ".join(f'"{n}"' for n in names)
        frame = self.sql(f"SELECT {listed} FROM {view} WHERE job = ?{where}{order}",
                         (self.find(job), *parameters), view)
        # an empty result has no names
        return frame if len(frame.columns) else _frame(names, [], view)

    def select(self, where, procs=False):
        """The numbers of the jobs that match a filter, or the ids of the processes, sorted by start."""
        words = ["query", "--numbers", "--order", "start", *(["--procs"] if procs else []), "--", where]
        return [int(n) for n in _run(*words, **self._environment).split()]

    def rows(self, view, key, numbers, names, order=""):
        """The rows of a view in which a column is one of many numbers."""
        listed = ", ".join(f'"{n}"' for n in names)
        # a statement takes a limited number of parameters, and a command line a limited number of bytes
        chunks = [", ".join(map(str, numbers[i:i + 4000])) for i in range(0, len(numbers), 4000)]
        parts = [self.sql(f"SELECT {listed} FROM {view} WHERE {key} IN ({c}){order}", (), view) for c in chunks]
        parts = [part for part in parts if len(part)]
        return pd.concat(parts, ignore_index=True) if parts else _frame(names, [], view)

    def find(self, job):
        """The number of a job in the store."""
        if isinstance(job, pd.Series) and "job" in job:
            return int(job["job"])
        name = str(job)
        found = self.sql("SELECT job FROM jobs WHERE jobid = ?", (name,))
        if not len(found) and "@" in name:
            found = self._namesake(*name.rsplit("@", 1))
        if len(found) > 1:
            raise Error(f"several jobs have the id '{name}'; give ID@START or ID@CLUSTER, or a row of jobs()")
        if not len(found) and name == "last":
            found = self.sql("SELECT job FROM jobs ORDER BY ingested DESC, job DESC LIMIT 1")
        elif not len(found) and name:
            found = self.sql("SELECT job FROM jobs WHERE jobname = ? ORDER BY job LIMIT 2", (name,))
            if len(found) > 1:
                raise Error(f"several jobs have the name '{name}'; give an id; jobs() lists them")
        if not len(found) and name and name != "last":
            found = self.sql("SELECT job FROM jobs WHERE substr(jobid, 1, length(?)) = ? ORDER BY job LIMIT 2",
                             (name, name))
        if not len(found):
            raise Error(f"there is no job '{name}' in {self!r}; jobs() lists all")
        if len(found) > 1:
            raise Error(f"several jobs begin with '{name}'; jobs() lists them")
        return int(found["job"][0])

    def _namesake(self, name, what):
        """Jobs with an id that started at a time (a prefix is enough; UTC if it ends in Z) or ran on a cluster."""
        found = self.sql("SELECT job, start AS us, cluster FROM jobs WHERE jobid = ?", (name,))
        if not len(found):
            return found
        zone, time = (datetime.timezone.utc, what[:-1]) if what.endswith("Z") else (None, what)
        begins = ["" if pd.isna(us) else
                  datetime.datetime.fromtimestamp(int(us) / 1e6, zone).isoformat(timespec="microseconds")
                  for us in found["us"]]
        return found[[bool(what) and (c == what or b.startswith(time.replace(" ", "T") or "none"))
                      for c, b in zip(found["cluster"], begins)]].reset_index(drop=True)


def _filled(query, parameters):
    """A query with its parameters in place of ?."""
    parts = query.split("?")
    for i, value in enumerate(parameters):
        parts[i] += str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
    return "".join(parts)


# ---- servers ----------------------------------------------------------------------------------------

class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _own_server():
    """Token and address of the user's own server on this host; (None, None) if there is none."""
    for name, below in (("XDG_RUNTIME_DIR", ""), ("XDG_STATE_HOME", ""), ("HOME", ".local/state")):
        directory = os.environ.get(name, "")
        if directory.startswith("/"):
            break
    try:
        with open(os.path.join(directory, below, "plimsoll", "serve.token"), encoding="ascii") as file:
            token, address = file.read().splitlines()[:2]
    except (OSError, ValueError):
        return None, None
    return token, address


def _place(url):
    """Host and port, the same for all names of this host."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return "" if host in ("localhost", "127.0.0.1", "::1") else host, port


class Client(Store):
    """A server, `plimsoll serve`, in place of a store: by its address, http://..., https://... or unix:PATH; None: the
    user's own one on this host, whose token is known. Others need the token of the user who started them; it is sent
    to no other address."""

    rows_at_once = 20000

    def __init__(self, url=None, token=None, timeout=60):
        own_token, own_url = _own_server()
        if url is None and own_url is None:
            raise Error("no server of yours runs on this host; start `plimsoll serve`, or give an address")
        self.url = url or own_url
        self.timeout = timeout
        self._parts = urllib.parse.urlsplit(self.url)
        if self._parts.scheme not in ("http", "https", "unix") or not (self._parts.netloc or self._parts.scheme == "unix"):
            raise Error(f"'{_shown(self.url)}' is no address of a server; expected http://HOST:PORT/, https://... or unix:PATH")
        try:
            own = own_url is not None and self._parts.scheme != "unix" and _place(self.url) == _place(own_url)
        except ValueError as error:
            raise Error(f"'{_shown(self.url)}' is no address of a server: {error}") from error
        self._token = token or (own_token if own else None)
        self._sqlite = None
        self._ask = self._ask_server

    def __repr__(self):
        return f"Client({self.url!r})"

    def _connection(self):
        p = self._parts
        if p.scheme == "unix":
            return _UnixConnection(self.url[len("unix:"):], self.timeout)
        kind = http.client.HTTPSConnection if p.scheme == "https" else http.client.HTTPConnection
        return kind(p.hostname, p.port, timeout=self.timeout)

    def _request(self, method, path, body=None):
        headers = {"Accept": "application/json"}
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        if body is not None:
            headers["Content-Type"] = "application/json"
        base = "" if self._parts.scheme == "unix" else self._parts.path.rstrip("/")
        connection = self._connection()
        try:
            connection.request(method, base + "/api/v1/" + path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Error(f"no answer from '{self.url}': {error}; is `plimsoll serve` running there?") from error
        finally:
            connection.close()
        try:
            content = json.loads(data)
        except ValueError as error:
            raise Error(f"'{self.url}' answers {answer.status} without JSON; is it a server of Plimsoll?") from error
        if answer.status == 200:
            return content
        said = content.get("error", f"status {answer.status}") if isinstance(content, dict) else f"status {answer.status}"
        remedy = content.get("remedy") if isinstance(content, dict) else None
        if answer.status == 401 and not self._token:
            remedy = "give token=, the first line of the server's file serve.token"
        raise Error(f"{said}; {remedy}" if remedy else said)

    def _page(self, query, limit):
        return self._request("POST", "sql", json.dumps({"sql": query, "limit": limit}).encode())

    def _ask_server(self, query, parameters):
        # long results come in pages, for the server limits the size of an answer
        whole = _filled(query, parameters).rstrip().rstrip(";")
        page = self._page(whole, self.rows_at_once)
        names, batches, count = page["columns"], [page["rows"]], len(page["rows"])
        while page["truncated"]:
            page = self._page(f"SELECT * FROM ({whole}\n) AS whole LIMIT {self.rows_at_once + 1} OFFSET {count}",
                              self.rows_at_once)
            batches.append(page["rows"])
            count += len(page["rows"])
        return names, batches

    def columns(self, view):
        return self._page(f"SELECT * FROM {view} LIMIT 0", 1)["columns"]

    def select(self, where, procs=False):
        asked = {"where": where, "order": "start", "numbers": 1, **({"procs": 1} if procs else {})}
        return self._request("GET", "query?" + urllib.parse.urlencode(asked))


def _similar(name, known):
    near = difflib.get_close_matches(name, known, 1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def _store(store):
    if isinstance(store, Store):
        return store
    url = os.fspath(store) if store else os.environ.get("PLIMSOLL_DB", "")
    return Client(url) if re.match("https?://|unix:", url) else Store(store)


# ---- tables -----------------------------------------------------------------------------------------

def sql(query, parameters=(), store=None):
    """The rows of any query on the views; ? stands for a parameter."""
    return _store(store).sql(query, parameters)


def _unnamed_cluster(frame):
    """Jobs of a machine without a batch system have no cluster."""
    frame["cluster"] = frame["cluster"].astype(object).where(frame["cluster"] != "", None)
    return frame


def jobs(store=None, where=None):
    """All jobs, the latest first; where: those that match a filter."""
    s = _store(store)
    frame = s.sql("SELECT * FROM jobs ORDER BY ingested DESC, job DESC", (), "jobs")
    if not len(frame.columns):
        return _frame(s.columns("jobs"), [], "jobs")
    frame = _unnamed_cluster(frame)
    return frame if where is None else frame[frame["job"].isin(s.select(where))].reset_index(drop=True)


def _row(job, s):
    frame = _unnamed_cluster(s.sql("SELECT * FROM jobs WHERE job = ?", (s.find(job),), "jobs"))
    row = frame.astype(object).iloc[0]
    row.name = row["jobid"]
    return row


def job(job="last", store=None):
    """One job, as a row of jobs()."""
    return _row(job, _store(store))


def _view(view, job, where, store, columns=None, order=""):
    """The rows of a job, or of all jobs that match a filter."""
    s = _store(store)
    return s.view(view, job, columns, order) if where is None else s.of_jobs(view, where, columns, order)


def tags(job="last", store=None, where=None):
    """Tags of a job."""
    return _view("job_tags", job, where, store, order=" ORDER BY key")


def hosts(job="last", store=None, where=None):
    """Hosts of a job, with the number of processes on each."""
    return _view("job_hosts", job, where, store, order=" ORDER BY host")


def sums(job="last", store=None, where=None):
    """Sum and maximum of every metric over the processes of a job, in the units of plimsoll-metrics(7)."""
    return _view("job_sums", job, where, store, order=" ORDER BY metric")


def warnings(job="last", store=None, where=None):
    """Problems in the data of a job."""
    return _view("job_warnings", job, where, store, order=" ORDER BY n")


def profile(job="last", store=None, where=None):
    """Numbers of running processes and threads over time."""
    return _view("job_profiles", job, where, store, order=" ORDER BY time")


def processes(job="last", columns=None, store=None, where=None):
    """All program images of a job, sorted by start time, with all metrics or only the given columns. where: those that
    match a filter of processes; with job=None they are those of all jobs, and have a column jobid."""
    s = _store(store)
    if where is None and job is not None:
        return s.view("processes", job, columns, " ORDER BY start, id")
    known = s.known("processes", columns)
    names = columns or [n for n in known if n not in ("job", "jobid")]
    names = (["jobid"] if job is None else []) + [n for n in names if n != "jobid" or job is not None]
    asked = where or ""
    if job is not None:
        asked = f"job = {s.find(job)}" + (f" and ({asked})" if asked.strip() else "")
    ids = s.select(asked, procs=True)
    frame = s.rows("processes", "id", ids, ["id"] + [n for n in names if n != "id"])
    place = {number: i for i, number in enumerate(ids)}
    frame = frame.sort_values("id", key=lambda column: column.map(place), kind="stable", ignore_index=True)
    return frame[names]


def tree(job="last", store=None, where=None):
    """The process tree: names indented with one dot per level, and what each process used, alone and with its
    descendants. where: only processes that match a filter."""
    frame = processes(job, ["exename", "args", "pid", "duration", "cpu_time", "inclusive_cpu_time", "rssmax",
                            "descendants", "start", "depth", "id", "tree_first"], store, where)
    frame = frame.sort_values("tree_first", ignore_index=True)
    names = ["· " * int(d) + str(e) for d, e in zip(frame["depth"].fillna(0), frame["exename"].fillna(""))]
    frame.insert(0, "tree", pd.array(names, dtype="string"))
    return frame.drop(columns=["exename", "tree_first"])


def threads(job="last", columns=None, store=None, where=None):
    """Threads of multithreaded processes; process is the id of the process."""
    return _view("threads", job, where, store, columns, " ORDER BY process, n")


def events(job="last", store=None, where=None):
    """Counted events of processes (thread 0) and threads."""
    return _view("events", job, where, store, order=" ORDER BY process, thread, event")


def phases(job="last", store=None, where=None):
    """Phases that programs and scripts of the job marked, in the order of time; duration_ns is the exact duration."""
    return _view("phases", job, where, store, order=" ORDER BY start, id")


def series(job="last", store=None, where=None):
    """All sampled series: one row per metric of each process, device or node, with unit, kind, number of values,
    minimum, mean and maximum, and the increase of a counter."""
    return _view("series", job, where, store, order=" ORDER BY metric, host, entity_kind, entity")


def absences(job="last", store=None, where=None):
    """Metrics that were absent on a host, and why."""
    return _view("absences", job, where, store, order=" ORDER BY host, metric")


def samples(job="last", metric=None, host=None, entity_kind=None, entity=None, rate=False, store=None):
    """Sampled values, one row each.

    metric: a name with or without its source ("process.rss", "rss"), a pattern ("network.*"), or several of them;
    None: all. host, entity_kind, entity: only these. rate: convert counters to rates per second."""
    s = _store(store)
    number = s.find(job)
    known = s.view("series", pd.Series({"job": number}),
                   ["metric", "kind", "host", "entity_kind", "entity"]).drop_duplicates()
    names = _match_metrics(metric, sorted(set(known["metric"])))
    where, parameters = f" AND metric IN ({', '.join('?' * len(names))})", list(names)
    for column, value in (("host", host), ("entity_kind", entity_kind), ("entity", entity)):
        if value is None:
            continue
        if value not in set(known[column]):
            raise Error(f"no series of {column} '{value}'{_similar(value, sorted(set(known[column])))}; "
                        "series() lists all")
        where += f" AND {column} = ?"
        parameters.append(value)
    columns = ["time", "host", "metric", "entity_kind", "entity", "value"]
    if not names:
        return _frame(columns, [], "samples")
    frame = s.view("samples", pd.Series({"job": number}), columns, " ORDER BY metric, host, entity_kind, entity, time",
                   where, parameters)
    return rates(frame, known) if rate else frame


def _match_metrics(wanted, known):
    if wanted is None:
        return known
    found = []
    for word in [wanted] if isinstance(wanted, str) else wanted:
        match = [m for m in known if fnmatch.fnmatchcase(m, word) or fnmatch.fnmatchcase(m.partition(".")[2], word)]
        if not match:
            short = [m.partition(".")[2] for m in known]
            raise Error(f"the job has no metric '{word}'{_similar(word, known + short)}; series() lists what it has")
        found += [m for m in match if m not in found]
    return found


def rates(frame, series):
    """Samples with counters as rates per second. There is no value where a counter went back, because its device was
    reset, nor for the first sample, for which `plimsoll series --rate` uses the time since the start of the job."""
    counters = set(series.loc[series["kind"] == "counter", "metric"])
    counts = frame["metric"].isin(counters)
    part = frame[counts]
    groups = part.groupby(["metric", "host", "entity_kind", "entity"], dropna=False, sort=False)
    grown = groups["value"].diff()
    passed = groups["time"].diff().dt.total_seconds()
    part = part.assign(value=(grown / passed).where((grown >= 0) & (passed > 0)))
    return pd.concat([frame[~counts], part.dropna(subset=["value"])]).sort_index()


def seconds(frame):
    """Converts durations and CPU times to seconds as floats, for formats and plots without timedelta."""
    return frame.assign(**{n: frame[n].dt.total_seconds() for n in frame.columns
                           if pd.api.types.is_timedelta64_dtype(frame[n])})


# ---- exports ----------------------------------------------------------------------------------------

def _number(value):
    """Converts a number from a file: possibly text, and integers as floats if the column has absent values."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            value = float(value)
    return int(value) if value == value // 1 else float(value)


def _nanoseconds_of(value):
    """Converts a time from a file: text, or us or ns since 1970, told apart by magnitude."""
    if isinstance(value, (int, float)):
        return int(value) if abs(value) > 10**17 else int(value) * 1000
    return pd.to_datetime(value, utc=True).value


def _typed_column(column, name):
    if pd.api.types.is_datetime64_any_dtype(column):
        return column.dt.tz_localize("UTC").array if column.dt.tz is None else column.dt.tz_convert("UTC").array
    if pd.api.types.is_timedelta64_dtype(column):
        return column.array
    texts, dtype = _Texts(), _dtype(name)
    values = [None if v is None or v is pd.NA or v is pd.NaT or v != v else v for v in column.tolist()]
    values = [texts[v] if isinstance(v, (bytes, str)) else v for v in values]
    if dtype == "string":
        return _texts(values)
    try:
        convert = _nanoseconds_of if dtype == "time" else _number
        return _column([None if v is None else convert(v) for v in values], name, factor=1)
    except (TypeError, ValueError):
        return _texts(values)


def _typed(frame):
    """A table from a file with the dtypes of this module. Unknown columns are numbers or else text."""
    names = [str(n) for n in frame.columns]
    return pd.DataFrame({n: _typed_column(frame[c], n) for n, c in zip(names, frame.columns)})


def _read_csv(path):
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        names = next(csv.reader(file), [])
        # as text first: otherwise integers in a column with absent values would become floats
        rows = list(csv.reader(file))
    wrong = next((i for i, row in enumerate(rows) if len(row) != len(names)), None)
    if wrong is not None:
        raise Error(f"'{path}': line {wrong + 2} has {len(rows[wrong])} fields, the header {len(names)}")
    return pd.DataFrame([[v if v != "" else None for v in row] for row in rows], columns=names, dtype=object)


def _read_json(path):
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    if isinstance(content, dict):
        return {name: pd.DataFrame(rows, dtype=object) for name, rows in content.items() if isinstance(rows, list)}
    return pd.DataFrame(content, dtype=object)


def _read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return pd.DataFrame([json.loads(line) for line in file if line.strip()], dtype=object)


def _read_hdf5(path):
    with pd.HDFStore(path, "r") as file:
        return {key.strip("/"): file[key] for key in file.keys()}


def _read_sqlite(path):
    with contextlib.closing(_open_sqlite(path)) as file:
        names = file.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        content = {}
        for name in [row[0].decode("utf-8", "replace") for row in names]:
            cursor = file.execute('SELECT * FROM "' + name.replace('"', '""') + '"')
            content[name] = pd.DataFrame(cursor.fetchall(), columns=[c[0] for c in cursor.description], dtype=object)
        return content


_READERS = {
    ".csv": (_read_csv, None),
    ".json": (_read_json, None),
    ".jsonl": (_read_jsonl, None),
    ".pickle": (pd.read_pickle, None),
    ".pkl": (pd.read_pickle, None),
    ".parquet": (lambda path: pd.read_parquet(path), "pyarrow (`pip install pyarrow`)"),
    ".feather": (lambda path: pd.read_feather(path), "pyarrow (`pip install pyarrow`)"),
    ".arrow": (lambda path: pd.read_feather(path), "pyarrow (`pip install pyarrow`)"),
    ".orc": (lambda path: pd.read_orc(path), "pyarrow (`pip install pyarrow`)"),
    ".h5": (_read_hdf5, "PyTables (`apt install python3-tables`)"),
    ".hdf5": (_read_hdf5, "PyTables (`apt install python3-tables`)"),
    ".sqlite": (_read_sqlite, None),
    ".db": (_read_sqlite, None),
}


def load(path):
    """Loads a file of `plimsoll export` with the same dtypes: a DataFrame, or for a directory, an HDF5 or an SQLite
    file with several tables, a dictionary by name. The suffix selects the format. As always, load pickles only from
    sources that you trust."""
    path = os.fspath(path)
    if os.path.isdir(path):
        files = sorted(f for f in os.listdir(path) if os.path.splitext(f)[1] in _READERS and not f.startswith("."))
        if not files:
            raise Error(f"'{path}' contains no export; make one from a job directory with `plimsoll export`")
        return {os.path.splitext(f)[0]: load(os.path.join(path, f)) for f in files}
    if not os.path.exists(path):
        raise Error(f"there is no such file: '{path}'")
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _READERS:
        raise Error(f"'{path}': unknown suffix, expected one of {', '.join(_READERS)}")
    read, needs = _READERS[suffix]
    try:
        content = read(path)
    except ImportError as error:
        raise Error(f"'{path}': pandas needs {needs} for this format; CSV, JSON, pickle and SQLite need no "
                    "other package") from error
    except Error:
        raise
    except Exception as error:  # libraries raise exceptions of their own
        last = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise Error(f"cannot read '{path}': {last}") from error
    if isinstance(content, dict):
        tables = {name: _typed(table) for name, table in content.items()}
        return next(iter(tables.values())) if len(tables) == 1 else tables
    if not isinstance(content, pd.DataFrame):
        raise Error(f"'{path}' contains no table")
    return _typed(content)


# ---- plots ------------------------------------------------------------------------------------------

_COLOURS = ["#3b6ea8", "#d08735", "#4f9a6b", "#b4526b", "#7d6bb0", "#4aa3b5", "#a08a3c", "#8c8c8c"]


def _axes(ax, width=9, height=2.7):
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise Error("plots need matplotlib: `apt install python3-matplotlib` or `pip install matplotlib`") from error
    if ax is None:
        ax = plt.subplots(figsize=(width, height), layout="constrained")[1]
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(True, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def _time_axis(ax, row, times):
    """Limits the axis to the start and end of the job, if known, so that plots align."""
    import matplotlib.dates as dates
    import matplotlib.ticker as ticker
    locator = dates.AutoDateLocator()
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    ax.set_xlabel("UTC")
    ax.yaxis.set_major_locator(ticker.MaxNLocator(nbins=6))
    first, last = times[0], times[-1]
    if pd.notna(row["start"]) and pd.notna(row["end"]):
        first = min(first, row["start"].tz_localize(None))
        last = max(last, row["end"].tz_localize(None))
    if last > first:
        ax.set_xlim(first, last)


def _plain(times):
    """Times for matplotlib: UTC without a zone."""
    return pd.DatetimeIndex(times).tz_convert("UTC").tz_localize(None)


def _scale(values, unit):
    """A factor and a readable unit: bytes as MiB, microseconds per second as CPUs."""
    top = float(np.nanmax(np.abs(values))) if len(values) and not np.all(np.isnan(values)) else 0.0
    base, slash, per = unit.partition("/")
    if base in ("us", "ns", "ms") and per == "s":
        return {"us": 1e-6, "ns": 1e-9, "ms": 1e-3}[base], "s / s"
    steps = [(2.0**(10 * i), f"{p}iB") for i, p in ((4, "T"), (3, "G"), (2, "M"), (1, "K"))]
    if base == "KiB":
        steps = [(factor / 1024, name) for factor, name in steps]
    if base in ("bytes", "KiB"):
        for factor, name in steps:
            if top >= factor:
                return 1 / factor, name + slash + per
    if base in ("us", "ns"):
        return (1e-6 if base == "us" else 1e-9), "s"
    if unit == "J/s":
        return 1.0, "W"
    if base == "count":
        return 1.0, ("1" + slash + per if per else "")
    return 1.0, unit


def _title(ax, text):
    ax.set_title(text, loc="left", fontsize=11)


def plot_concurrency(job="last", ax=None, store=None):
    """Plots the numbers of running processes and threads. Returns the axes."""
    s = _store(store)
    row = _row(job, s)
    frame = profile(row, s)
    if not len(frame):
        raise Error("the job has no records of processes; use plot_samples() for sampled metrics")
    ax = _axes(ax)
    times = _plain(frame["time"])
    counts = {name: frame[name].fillna(0).to_numpy(dtype=float) for name in ("processes", "threads")}
    ax.fill_between(times, counts["processes"], step="post", alpha=0.2, color=_COLOURS[0], linewidth=0)
    ax.step(times, counts["processes"], where="post", label="processes", color=_COLOURS[0], linewidth=1.2)
    if (counts["threads"] != counts["processes"]).any():
        ax.step(times, counts["threads"], where="post", label="threads", color=_COLOURS[1], linewidth=1.2)
    _time_axis(ax, row, times)
    ax.set_ylim(0, max(1, counts["processes"].max(), counts["threads"].max()) * 1.18)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.legend(loc="upper right", frameon=False, ncol=2)
    _title(ax, "running at the same time")
    return ax


_BY = {"cpu_time": "CPU time", "duration": "wall time, added up", "rssmax": "largest resident set",
       "rchar": "read", "wchar": "written", "count": "processes"}


def plot_executables(job="last", by="cpu_time", top=12, ax=None, store=None):
    """Plots the programs that used most, by cpu_time, duration, rssmax, rchar, wchar or count. Returns the axes."""
    if by not in _BY:
        raise Error(f"plot_executables() draws by {', '.join(_BY)}, not '{by}'{_similar(by, list(_BY))}")
    frame = processes(job, ["exename"] + ([] if by == "count" else [by]), store)
    if not len(frame):
        raise Error("the job has no records of processes; use plot_samples() for sampled metrics")
    groups = frame.assign(exename=frame["exename"].fillna("?")).groupby("exename", sort=False)
    counts = groups.size()
    if by == "count":
        values, unit = counts.astype(float), "count"
    elif by in ("cpu_time", "duration"):
        values, unit = groups[by].sum().dt.total_seconds(), "s"
    else:
        values = (groups[by].max() if by == "rssmax" else groups[by].sum()).astype("Float64").fillna(0).astype(float)
        unit = "KiB" if by == "rssmax" else "bytes"
    values = values.sort_values(ascending=False, kind="stable")
    rest = len(values) - top
    values = values.head(top)[::-1]
    factor, unit = _scale(values.to_numpy(), unit)
    ax = _axes(ax, height=0.8 + 0.27 * len(values))
    labels = [f"{_short(n)}  {counts[n]} ×" for n in values.index]
    bars = ax.barh(range(len(values)), values * factor, color=_COLOURS[0], height=0.7)
    shown = [f"{v:,.0f}" if v >= 100 or by == "count" else f"{v:.3g}" for v in values * factor]
    ax.bar_label(bars, shown, padding=3, fontsize=8)
    ax.set_yticks(range(len(values)), labels, fontsize=9)
    ax.grid(False, axis="y")
    ax.margins(x=0.1)
    ax.set_xlabel(unit)
    _title(ax, f"programs by {_BY[by]}" + (f" (and {rest} more)" if rest > 0 else ""))
    return ax


def _short(name, limit=32):
    """Shortens a program name to fit next to a plot."""
    name = "".join(c if c.isprintable() else "\ufffd" for c in str(name))
    name = name if len(name) <= limit else name[:limit - 1] + "…"
    return name.replace("$", r"\$")  # not a formula


def _curves(frame, per, aggregation):
    """One column per line, on steps that all entities of a kind share. The value of a step is the maximum, so that
    peaks stay visible."""
    key = {"total": [], "host": ["host"], "entity": ["host", "entity"]}[per]
    gaps = frame.groupby(["host", "entity"], sort=False)["time"].diff().dropna()
    usual = gaps.median() if len(gaps) else pd.Timedelta(seconds=1)
    span = frame["time"].max() - frame["time"].min()
    step = max(usual, span / 600, pd.Timedelta(milliseconds=1))
    steps = frame.assign(time=frame["time"].dt.floor(step))
    wide = steps.pivot_table(index="time", columns=["host", "entity"], values="value", aggfunc="max", sort=False)
    wide = wide.resample(step, origin="epoch").asfreq()
    # hosts and processes are not sampled at the same moment: a step without a value repeats the last one
    wide = wide.ffill(limit=1)
    if per == "entity":
        return wide
    how = aggregation if aggregation in ("sum", "max", "min") else "mean"
    grouped = wide.T.groupby(level=key) if key else wide.T.groupby(lambda _: "all")
    table = grouped.sum(min_count=1) if how == "sum" else grouped.agg(how)
    return table.T


def _programs(series):
    """Readable names of processes by host and entity: "gzip 4711"."""
    names = {}
    texts = series["metadata"] if "metadata" in series else series["facts"]  # the older name
    for host, entity, text in zip(series["host"], series["entity"], texts):
        metadata = json.loads(text) if isinstance(text, str) else {}
        if "comm" in metadata:
            names[host, entity] = f"{metadata['comm']} {metadata.get('pid', '')}"
    return names


def plot_samples(job="last", metric="process.rss", per="total", entity_kind=None, top=8, ax=None, store=None):
    """Plots a sampled metric over time. Returns the axes.

    per: "total" draws one line, "host" one per host, "entity" one per process, device ... (the top ones by mean).
    Counters are drawn as rates. entity_kind selects the kind of entity if the metric has several; by default the whole
    job or node, if there is one."""
    if per not in ("total", "host", "entity"):
        raise Error(f"per must be 'total', 'host' or 'entity', not '{per}'")
    s = _store(store)
    row = _row(job, s)
    known = series(row, s)
    names = _match_metrics(metric, sorted(set(known["metric"])))
    if len(names) != 1:
        raise Error(f"plot_samples() draws one metric, but '{metric}' matches {len(names)}: {', '.join(names[:5])} ...")
    mine = known[known["metric"] == names[0]]
    kinds = list(dict.fromkeys(mine["entity_kind"]))
    wanted = ("process", "job", "node") if per == "entity" else ("job", "node")
    kind = entity_kind or next((k for k in wanted if k in kinds), kinds[0])
    frame = samples(row, names[0], entity_kind=kind, rate=True, store=s)
    ax = _axes(ax)
    counter = mine["kind"].iloc[0] == "counter"
    unit = str(mine["unit"].fillna("").iloc[0]) + ("/s" if counter else "")
    _title(ax, f"{names[0]} of {'each ' + kind if per == 'entity' else 'the ' + kind}"
               + (", by host" if per == "host" else ""))
    if not len(frame):
        ax.text(0.5, 0.5, "one value only: no rate" if counter else "no values", transform=ax.transAxes, ha="center")
        return ax
    curves = _curves(frame, per, str(mine["aggregation"].iloc[0]))
    order = curves.mean().sort_values(ascending=False, kind="stable").index
    drawn = curves.to_numpy(dtype=float)
    factor, unit = _scale(drawn, unit)
    times = _plain(curves.index)
    programs = _programs(mine)
    for i, name in enumerate(order[:top]):
        label = name if isinstance(name, str) else f"{name[0]} {programs.get(name, name[1])}"
        ax.plot(times, curves[name].to_numpy(dtype=float) * factor, label=_short(label),
                color=_COLOURS[i % len(_COLOURS)], linewidth=1.3, marker="." if len(times) < 30 else None)
    _time_axis(ax, row, times)
    ax.set_ylabel(unit)
    if np.nanmin(drawn) >= 0:
        ax.set_ylim(0, None if np.nanmax(drawn) > 0 else 1)
    if per != "total":
        more = len(order) - top
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8,
                  title=f"{more} more" if more > 0 else None)
    return ax
