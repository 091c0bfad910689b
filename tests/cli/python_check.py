"""plimsoll.py against what the program itself prints, and the cells of a notebook one after the other.

    python_check.py values CHECK...             of the configured store
    python_check.py cells NOTEBOOK STORE...     run as Jupyter does, on each store; prints what each cell shows
    python_check.py load NOTEBOOK               the cell that loads the job, alone
"""

import ast
import json
import math
import os
import re
import subprocess
import sys

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

import plimsoll


def ask(*words):
    return json.loads(subprocess.run(["plimsoll", *words, "--json"], check=True, capture_output=True).stdout)


def plain(value):
    """A value of a DataFrame as JSON has it: microseconds, or nanoseconds where the column has them."""
    if value is pd.NA or value is pd.NaT or value is None or value != value:
        return None
    if isinstance(value, pd.Timestamp):
        assert str(value.tz) == "UTC", value.tz
        return value
    if isinstance(value, pd.Timedelta):
        return value.value
    return value


NANOSECONDS = {"time_oncpu", "time_waiting"}


def same(column, got, want):
    got = plain(got)
    if isinstance(want, str) and "\ufffd" in want:  # PostgreSQL's view shows such bytes in octal
        got = re.sub(r"\\[23][0-7][0-7]", "\ufffd", got)
    if isinstance(got, pd.Timestamp):
        return got == pd.Timestamp(want)
    if isinstance(want, float) or isinstance(got, float):
        return got is not None and math.isclose(got, want, rel_tol=1e-12)
    if column in plimsoll._MICROSECONDS and want is not None:
        return got == want * 1000
    return got == want


def compare(frame, objects, leave=()):
    """Every value of every column that both have; how many values that were."""
    assert len(frame) == len(objects), (len(frame), len(objects))
    columns = [n for n in frame.columns if n not in leave and any(n in o for o in objects)]
    count = 0
    for i, o in enumerate(objects):
        for n in columns:
            got, want = frame[n].iloc[i], o.get(n)
            assert same(n, got, want), (n, i, got, want)
            count += want is not None
    return count


def check_jobs():
    frame = plimsoll.jobs()
    assert frame["ingested"].is_monotonic_decreasing
    shown = sorted(ask("list"), key=lambda o: o["jobid"])
    frame = frame.sort_values("jobid", ignore_index=True)
    count = compare(frame, shown)
    assert str(frame["start"].dtype) == "datetime64[ns, UTC]"
    assert str(frame["duration"].dtype) == "timedelta64[ns]"
    assert str(frame["num_procs"].dtype) == "Int64"
    last = plimsoll.job("last")
    assert last["jobid"] == plimsoll.jobs()["jobid"][0] == last.name
    first = plimsoll.jobs().iloc[-1]
    assert first["jobname"] == "true" and plimsoll.job("true")["job"] == first["job"]
    assert plimsoll.job(last)["job"] == plimsoll.job(last["jobid"])["job"] == last["job"]
    return count


def check_processes():
    # a row of JSON names its parent by the pid, the view by its number; tags are an object there
    shown = sorted(ask("procs", "last"), key=lambda o: (o["start"], o["id"]))
    frame = plimsoll.processes()
    count = compare(frame, shown, ("tags", "parent"))
    by_number = {int(i) & 0xffffffff: int(p) for i, p in zip(frame["id"], frame["pid"])}
    for parent, o in zip(frame["parent"], shown):
        assert (None if parent is pd.NA else by_number[int(parent)]) == o.get("parent"), (parent, o)
    assert str(frame["exitcode"].dtype) == "Int64" and str(frame["forked"].dtype) == "boolean"
    assert str(frame["exename"].dtype) == "string" and str(frame["time_oncpu"].dtype) == "timedelta64[ns]"
    assert list(plimsoll.processes("last", ["pid", "rssmax"]).columns) == ["pid", "rssmax"]
    floats = plimsoll.seconds(frame)
    assert math.isclose(floats["cpu_time"].sum(), sum(o["cpu_time"] for o in shown) / 1e6, rel_tol=1e-9)
    tree = plimsoll.tree()
    assert tree["tree"][0] == frame["exename"][0] and tree["tree"][1].startswith("· ")
    return count


def check_filters():
    # the latest job failed, the other one is `true`
    last, first = plimsoll.jobs().iloc[0], plimsoll.jobs().iloc[-1]
    assert list(plimsoll.jobs(where="exitcode != 0")["job"]) == [last["job"]]
    assert list(plimsoll.jobs(where="duration")["job"]) == list(plimsoll.jobs()["job"])
    assert not len(plimsoll.jobs(where="user = 'no;body'")) and "jobid" in plimsoll.jobs(where="not user").columns
    tags = plimsoll.tags(where="tag.exp = 'x$y' or jobname = true")
    assert list(tags["jobid"]) == [last["jobid"]] and list(tags["value"]) == ["x$y"], tags
    sums = plimsoll.sums(where="duration")
    assert list(sums["jobid"].drop_duplicates()) == [first["jobid"], last["jobid"]]  # sorted by start
    mine = sums[sums["jobid"] == last["jobid"]].drop(columns="jobid").reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, plimsoll.sums(last))
    # processes: of one job, and of all
    frame, dtypes = plimsoll.processes(where="depth = 1"), plimsoll.processes()
    whole = dtypes[dtypes["depth"] == 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(frame, whole)
    every = plimsoll.processes(None, ["pid", "start"], where="exename = true or parent(depth = 0)")
    assert list(every.columns) == ["jobid", "pid", "start"] and every["start"].is_monotonic_increasing
    assert set(every["jobid"]) == {first["jobid"], last["jobid"]}
    assert len(plimsoll.processes(None)) == len(plimsoll.sql("SELECT id FROM processes"))
    assert list(plimsoll.tree(where="depth = 0")["depth"]) == [0]
    assert len(plimsoll.threads(where="not duration = 0")) == len(plimsoll.sql("SELECT n FROM threads"))
    for wrong, message in (("foo = 1", "filter: col 1: unknown key 'foo'"), ("user = 'x", "filter: col 8: this quote")):
        try:
            plimsoll.jobs(where=wrong)
        except plimsoll.Error as error:
            assert str(error).startswith(message), error
        else:
            raise AssertionError(wrong)
    return len(frame)


def check_threads():
    frame = plimsoll.threads()
    keys = set(zip(frame["process"], frame["n"]))
    shown = [o for o in ask("threads", "last") if (o["process"], o["n"]) in keys]
    assert len(frame) >= 4, len(frame)
    return compare(frame, sorted(shown, key=lambda o: (o["process"], o["n"])))


def check_series():
    order = lambda o: (o["metric"], o["host"], o["entity_kind"], o["entity"])
    shown = sorted(ask("series", "last"), key=order)
    frame = plimsoll.series().sort_values(["metric", "host", "entity_kind", "entity"], ignore_index=True)
    for text, o in zip(frame["facts"], shown):
        assert json.loads(text) == o["metadata"] if isinstance(text, str) else not o.get("metadata"), (text, o)
        assert o["facts"] == o["metadata"], o
    return compare(frame, shown, ("facts", "metadata"))


def check_samples():
    count = 0
    for options, arguments in (({}, ()), ({"rate": True}, ("--rate",))):
        for metric in ("process.rss", "process.usertime", "process.cpu_percent"):
            frame = plimsoll.samples("last", metric, **options)
            for curve in ask("series", "last", "-m", metric, *arguments):
                mine = frame[(frame["entity_kind"] == curve["entity_kind"]) & (frame["entity"] == curve["entity"])]
                # a rate has no value at the first time; that since the begin of the job is the program's alone
                want = [s for s in curve["samples"] if s[1] is not None]
                assert len(want) - len(mine) in ((0, 1) if options else (0,)), (metric, options, len(mine), want)
                want = want[len(want) - len(mine):]
                for time, value, (t, v) in zip(mine["time"], mine["value"], want):
                    assert time == pd.Timestamp(t) and math.isclose(value, v, rel_tol=1e-9, abs_tol=1e-9), (t, v, time, value)
                    count += 1
    assert str(frame["value"].dtype) == "float64"
    short = sum(len(curve["samples"]) for curve in ask("series", "last", "-m", "rss"))
    assert len(plimsoll.samples("last", "rss")) == short > 0, short
    assert set(plimsoll.samples("last", "process.r*")["metric"]) > {"process.rss", "process.rchar"}
    assert set(plimsoll.samples("last", "process.rss", entity_kind="job")["entity_kind"]) == {"job"}
    return count


def check_tables():
    job = ask("show", "last")
    assert list(plimsoll.hosts()["host"]) == [o["hostname"] if isinstance(o, dict) and "hostname" in o else
                                              o["host"] if isinstance(o, dict) else o for o in job["hosts"]]
    profile = plimsoll.profile()
    assert profile["processes"].max() == plimsoll.job()["peak_procs"]
    sums = plimsoll.sums().set_index("metric")["sum"]
    assert sums["usertime"] * 1000 == plimsoll.processes()["usertime"].sum().value
    assert dict(zip(plimsoll.tags()["key"], plimsoll.tags()["value"])) == {"exp": "x$y"}
    assert len(plimsoll.absences()) == len(plimsoll.sql("SELECT * FROM absences"))
    # names of ours for other things: what is no time, number or text is not made one
    odd = plimsoll.sql("SELECT 'x' AS rssmax, 3 AS forked, avg(cpu_time) AS cpu_time, min(start) AS start, count(*) AS y, "
                       "9223372036854775807 AS duration, NULL AS exitcode FROM processes WHERE jobid = ?",
                       (plimsoll.job()["jobid"],))
    assert [str(d) for d in odd.dtypes] == ["string", "Int64", "timedelta64[ns]", "datetime64[ns, UTC]", "Int64",
                                            "timedelta64[ns]", "Int64"], odd.dtypes
    assert odd["rssmax"][0] == "x" and odd["forked"][0] == 3 and odd["duration"][0] is pd.NaT
    assert odd["start"][0] == plimsoll.processes()["start"].min() and odd["exitcode"][0] is pd.NA
    assert list(plimsoll.events().columns) == ["process", "thread", "event", "value", "permille"]
    return len(profile)


def check_hostile():
    """Names of programs, arguments and tags that try things."""
    frame = plimsoll.processes()
    names = set(frame["exename"])
    assert "$\\frac{<script>alert(1)" in names, names
    assert any("\ufffd" in a or "\\377" in a for a in frame["args"].dropna()), list(frame["args"])
    for by in plimsoll._BY:
        axes = plimsoll.plot_executables("last", by)
        axes.figure.canvas.draw()
        labels = " ".join(t.get_text() for t in axes.get_yticklabels())
        assert "<script>" in labels, labels
    return len(plimsoll._BY)


def check_plots():
    axes = plimsoll.plot_concurrency()
    assert axes.get_ylim()[1] > plimsoll.job()["peak_procs"] and axes.get_xlabel() == "UTC"
    top = plimsoll.plot_executables(top=1)
    assert len(top.patches) == 1 and "more" in top.get_title(loc="left")
    used = plimsoll.seconds(plimsoll.processes()).groupby("exename")["cpu_time"].sum().max()
    assert math.isclose(top.patches[0].get_width(), used, rel_tol=1e-9)
    curve = plimsoll.plot_samples("last", "process.rss")
    values = plimsoll.samples("last", "process.rss", entity_kind="job")["value"]
    drawn = curve.lines[0].get_ydata()
    factor = {"KiB": 1024, "MiB": 2**20, "GiB": 2**30}[curve.get_ylabel()]
    assert math.isclose(max(d for d in drawn if d == d) * factor, values.max()), (drawn, values.max())
    assert plimsoll.plot_samples("last", "process.usertime").get_ylabel() == "s / s"
    each = plimsoll.plot_samples("last", "process.rss", per="entity", top=2)
    assert len(each.lines) == 2
    for axes in (curve, each):
        axes.figure.canvas.draw()
    return 5


def check_load():
    """Exports come back as the store has them, whatever the form."""
    want = plimsoll.processes().sort_values("id", ignore_index=True)
    for suffix in ("csv", "json", "jsonl", "pkl", "sqlite", "h5"):
        path = f"processes.{suffix}"
        raw = ["--raw"] if suffix == "csv" else []
        subprocess.run(["plimsoll", "export", "last", "-q", "-w", "processes", "-o", path, *raw], check=True)
        got = plimsoll.load(path)
        # PostgreSQL's view shows bytes that are no UTF-8 in octal
        args = want["args"].map(lambda a: a if a is pd.NA else re.sub(r"\\[23][0-7][0-7]", "\ufffd", a))
        pd.testing.assert_frame_equal(got[list(want.columns)], want.assign(args=args.astype("string")))
        assert got["jobid"].nunique() == 1
    want = plimsoll.samples("last", "process.rss")
    subprocess.run(["plimsoll", "export", "last", "-q", "-w", "samples", "-m", "process.rss", "-o", "s.csv"], check=True)
    key = ["entity_kind", "entity", "time"]
    pd.testing.assert_frame_equal(plimsoll.load("s.csv")[list(want.columns)].sort_values(key, ignore_index=True),
                                  want.sort_values(key, ignore_index=True))
    os.mkdir("tables")
    os.rename("s.csv", "tables/samples.csv")
    os.rename("processes.jsonl", "tables/processes.jsonl")
    tables = plimsoll.load("tables")
    assert sorted(tables) == ["processes", "samples"] and len(tables["samples"]) == len(want)
    for name, content in (("cut.json", b'[{"a": 1'), ("ragged.csv", b"a,b\n1,2\n3\n"), ("none.pkl", b""),
                          ("no.sqlite", b"hello" * 999), ("no.h5", b"x"), ("list.pkl", b"(lp0\n.")):
        with open(name, "wb") as file:
            file.write(content)
        try:
            plimsoll.load(name)
        except plimsoll.Error as error:
            assert name in str(error) and "\n" not in str(error), str(error)
        else:
            raise AssertionError(f"no error: {name}")
    with open("odd.csv", "w") as file:
        file.write("start,duration,colour,rssmax,load\n,,red,5,1.5\n2026-01-02T03:04:05.678901Z,1500000,,,2\n")
    odd = plimsoll.load("odd.csv")
    assert [str(d) for d in odd.dtypes] == ["datetime64[ns, UTC]", "timedelta64[ns]", "string", "Int64", "float64"]
    assert odd["start"][1] == pd.Timestamp("2026-01-02T03:04:05.678901Z") and odd["duration"][1].total_seconds() == 1.5
    return len(tables)


def check_errors():
    wrong = {
        "did you mean 'process.rss'": lambda: plimsoll.samples("last", "process.rs"),
        "there is no job 'nope'": lambda: plimsoll.processes("nope"),
        "several jobs begin with": lambda: plimsoll.job(os.path.commonprefix(list(plimsoll.jobs()["jobid"]))),
        "did you mean 'exename'": lambda: plimsoll.processes("last", ["exenam"]),
        "no series of host 'mars'": lambda: plimsoll.samples("last", "process.rss", host="mars"),
        "there is no store '/nowhere/x.db'": lambda: plimsoll.jobs("/nowhere/x.db"),
        "a store in memory": lambda: plimsoll.jobs(":memory:"),
        "is not a store": lambda: plimsoll.jobs("mysql://x/y"),
        "'mysql://***@x/y' is not a store": lambda: plimsoll.jobs("mysql://u:secret/@x/y"),
        "there is no store '***'": lambda: plimsoll.jobs("host=h password=secret"),
        "draws by": lambda: plimsoll.plot_executables("last", "cpu"),
        "per must be": lambda: plimsoll.plot_samples("last", "process.rss", per="day"),
        "draws one metric": lambda: plimsoll.plot_samples("last", "process.*"),
        "nix": lambda: plimsoll.sql("SELECT * FROM nix"),
        "no such file": lambda: plimsoll.load("nowhere.csv"),
        "unknown suffix": lambda: plimsoll.load(__file__),
    }
    for text, call in wrong.items():
        try:
            call()
        except plimsoll.Error as error:
            assert text in str(error) and "\n" not in str(error), (text, str(error))
        else:
            raise AssertionError(f"no error: {text}")
    for statement in ("DELETE FROM job", "CREATE TABLE x (y)"):
        try:
            plimsoll.sql(statement)
        except plimsoll.Error:
            continue
        raise AssertionError(f"not refused: {statement}")
    return len(wrong)


def check_server():
    """Every function gives the same of a server as of its store."""
    url = os.environ["SERVER"]
    client, own = plimsoll.Client(url), plimsoll.Client()
    client.rows_at_once = 7  # in many pages
    functions = ["jobs", "tags", "hosts", "sums", "warnings", "profile", "processes", "tree", "threads", "events", "phases",
                 "series", "absences", "samples"]
    count = 0
    for name in functions:
        function = getattr(plimsoll, name)
        store = function()
        for server in (client, own, url):
            pd.testing.assert_frame_equal(function(store=server), store, obj=name)
        count += store.size
    pd.testing.assert_series_equal(plimsoll.job("last", client), plimsoll.job("last"))
    last = plimsoll.job()["jobid"]
    for name, arguments in (("jobs", {"where": "exitcode != 0"}), ("sums", {"where": "duration"}),
                            ("processes", {"where": "exename = true or parent(depth = 0)"}),
                            ("processes", {"job": None, "where": "pid > 0", "columns": ["pid", "exename"]}),
                            ("tree", {"where": "depth = 0"}), ("series", {"job": last}),
                            ("samples", {"metric": "rss", "rate": True}),
                            ("sql", {"query": "SELECT exename, avg(cpu_time) AS x, NULL AS n, 1.0 AS one FROM processes "
                                              "WHERE jobid = ? GROUP BY exename ORDER BY exename; ", "parameters": (last,)}),
                            ("sql", {"query": "SELECT id FROM processes WHERE 1 = 0"})):
        function = getattr(plimsoll, name)
        if name == "sql" and "1 = 0" in arguments["query"]:  # a server tells the names of no rows
            assert list(function(store=client, **arguments).columns) == ["id"]
            continue
        pd.testing.assert_frame_equal(function(store=client, **arguments), function(**arguments), obj=name)
    plimsoll.plot_concurrency(store=client)
    wrong = {
        "no such table: nix": lambda: plimsoll.sql("SELECT * FROM nix", store=client),
        "must start with SELECT": lambda: plimsoll.sql("DELETE FROM job", store=client),
        "there is no job 'nope' in Client('http://": lambda: plimsoll.processes("nope", store=client),
        "did you mean 'exename'": lambda: plimsoll.processes("last", ["exenam"], store=client),
        "unknown key 'foo'": lambda: plimsoll.jobs(client, "foo = 1"),
        "no answer from 'http://127.0.0.1:1/'": lambda: plimsoll.jobs("http://127.0.0.1:1/"),
        "this needs a session": lambda: plimsoll.jobs(plimsoll.Client(url, token="0" * 32)),
        "is no address of a server": lambda: plimsoll.Client("ftp://x/"),
        "is no address of a server: Port": lambda: plimsoll.Client("http://127.0.0.1:x/"),
    }
    if os.environ.get("PL_ENGINE", "sqlite") != "sqlite":
        wrong.pop("no such table: nix")
    for text, call in wrong.items():
        try:
            call()
        except plimsoll.Error as error:
            assert text in str(error) and "\n" not in str(error), (text, str(error))
        else:
            raise AssertionError(f"no error: {text}")
    # the token goes to the user's own server only
    assert plimsoll.Client("http://example.org:1/")._token is None
    assert plimsoll.Client(url.replace("127.0.0.1", "localhost"))._token
    return count


def cells(path, only=None):
    """The last expression of a cell is shown, as Jupyter does."""
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    assert notebook["nbformat"] == 4 and len({c["id"] for c in notebook["cells"]}) == len(notebook["cells"])
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code" or only not in (None, cell["id"]):
            continue
        body = ast.parse("".join(cell["source"])).body
        shown = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), cell["id"], "exec"), names)
        if shown:
            value = eval(compile(ast.Expression(shown.value), cell["id"], "eval"), names)
            if isinstance(value, pd.DataFrame):
                value._repr_html_()
            print(f"{cell['id']}: {getattr(value, 'shape', value)}")
        figures = [plt.figure(n) for n in plt.get_fignums()]
        for figure in figures:
            figure.canvas.draw()
            print(f"{cell['id']}: {figure.axes[0].get_title(loc='left')}")
        plt.close("all")


def main():
    if sys.argv[1] == "load":
        return cells(sys.argv[2], "load")
    if sys.argv[1] == "cells":
        for store in sys.argv[3:]:
            os.environ["PLIMSOLL_DB"] = store
            cells(sys.argv[2])
        return None
    for name in sys.argv[2:]:
        count = globals()["check_" + name]()
        plt.close("all")
        assert count > 0, name
        print(f"{name}: {count}")


main()
