"""Calls every function of EPMT's Python modules on generated jobs and compares what they return.

    epmt_api_check.py jobs DIRECTORY     writes six jobs, in the order of their start
    epmt_api_check.py table              the rows of api.tsv, the functions of the modules and the tests agree
    epmt_api_check.py rows               runs the test of every row
    epmt_api_check.py faults             what is wrong is one sentence
    epmt_api_check.py bare               terse and dict forms where there is no pandas

Jobs j1 to j4 are alike, j5 has ten times their times, and the id of the last tries things.
"""
import contextlib
import datetime
import importlib
import inspect
import io
import json
import logging
import os
import statistics
import subprocess
import sys

ODD = """o'b"r;$(touch${IFS}hit)--"""
JOBS = ["j1", "j2", "j3", "j4", "j5", ODD]
LIKE = JOBS[:4]
FIVE = JOBS[:5]
S = 1_000_000  # us
TESTS = {}


def spec(n):
    """Job n from 0: what the asserts below count on."""
    f, v, at = (10 if n == 4 else 1), (n if n < 4 else 0), 1000 * n
    procs = [
        dict(pid=100, ppid=1, exename="tcsh", start=at, end=at + 40 * f, usertime=1000, systemtime=100, rssmax=1000),
        dict(pid=101, ppid=100, exename="cp", tags="op:cp;op_instance:1;op_sequence:1", start=at + 1, end=at + 1 + 2 * f,
             usertime=(2000 + 10 * v) * f, systemtime=500, rssmax=2000, rchar=100),
        dict(pid=102, ppid=101, exename="dd", tags="op:cp;op_instance:1;op_sequence:1", start=at + 2, end=at + 2 + 2 * f,
             usertime=3000 * f, systemtime=0, rssmax=3000, rchar=200),
        dict(pid=103, ppid=100, exename="mv", tags="op:mv;op_instance:1;op_sequence:2", start=at + 30, end=at + 31 + v,
             usertime=100, systemtime=10, rssmax=500, threads=[dict(tid=200, usertime=50, systemtime=5, rssmax=500)]),
    ]
    for p in procs:
        p["hostname"] = "n2" if n == 3 else "n1"
    tags = {"exp_name": "E", "exp_component": "ocean" if n < 5 else "atmos", "exp_time": str(1854 + 5 * n)}
    return dict(name="run", user="alice", start=at, end=at + (100 + v) * f, exitcode=3 if n == 5 else 0, tags=tags, procs=procs,
                annotations={"note": n})


# what follows from it
CPU = [6765 + 10 * v for v in range(4)] + [51765, 6765]  # 1100, 2500, 3000 and 165; j5: 1100, 20500, 30000 and 165
DURATION = [100 * S, 101 * S, 102 * S, 103 * S, 1000 * S, 100 * S]
CP, MV = ({"op": "cp", "op_instance": "1", "op_sequence": "1"}, {"op": "mv", "op_instance": "1", "op_sequence": "2"})


def write_jobs(directory):
    fixture = os.path.join(os.environ["PL_SOURCE"], "tests", "fixtures", "job.py")
    for n, name in enumerate(JOBS):
        subprocess.run([sys.executable, fixture, os.path.join(directory, str(n)), "--id", name, "--spec"],
                       input=json.dumps(spec(n)).encode(), check=True)


def row(module, *names):
    """The test of these rows of the table."""
    def take(function):
        for name in names:
            TESTS[module, name] = function
        return function
    return take


def equal(found, wanted):
    if found != wanted:
        line = inspect.currentframe().f_back
        raise AssertionError(f"{line.f_code.co_name}:{line.f_lineno}: {found!r} instead of {wanted!r}")


def raises(error, call, *args, **kwargs):
    """The message, which is one line."""
    try:
        found = call(*args, **kwargs)
    except error as e:
        text = str(e)
        equal("\n" in text, False)
        return text
    raise AssertionError(f"{call.__name__} returned {found!r} instead of raising {error.__name__}")


def near(found, wanted):
    equal(len(found), len(wanted))
    for f, w in zip(found, wanted):
        if abs(f - w) > 1e-4 * max(1, abs(w)):
            raise AssertionError(f"{list(found)} instead of {list(wanted)}")


@contextlib.contextmanager
def logged():
    """The warnings of the modules."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("epmt").addHandler(handler)
    try:
        yield lines
    finally:
        logging.getLogger("epmt").removeHandler(handler)


# ---- queries ----------------------------------------------------------------------------------------

@row("epmt_query", "get_jobs")
def test_get_jobs():
    equal(eq.get_jobs(fmt="terse"), JOBS)
    equal(eq.get_jobs("j2, j1", fmt="terse"), ["j1", "j2"])
    equal(eq.get_jobs({"j1"}, fmt="terse"), ["j1"])
    equal(eq.get_jobs([ODD], fmt="terse"), [ODD])
    one = eq.get_jobs("j2")[0]
    equal((one["cpu_time"], one["duration"], one["num_procs"], one["num_threads"]), (CPU[1], DURATION[1], 4, 5))
    equal(one["start"], datetime.datetime(2020, 9, 13, 12, 16, 40))
    equal((one["tags"]["exp_time"], one["annotations"], one["rchar"]), ("1859", {"note": 1}, 300))
    equal(eq.get_jobs("j2", merge_proc_sums=False)[0]["proc_sums"]["usertime"], 1000 + 2010 + 3000 + 150)
    equal(eq.get_jobs(tags="exp_component:atmos", fmt="terse"), [ODD])
    equal(eq.get_jobs(tags=[{"exp_time": 1854}, "exp_time:1859"], fmt="terse"), ["j1", "j2"])
    equal(eq.get_jobs(tags="", fmt="terse"), [])
    equal(eq.get_jobs(tags={"exp_name": "E"}, exact_tag_only=True, fmt="terse"), [])
    equal(eq.get_jobs(fltr=eq.Job.duration > 101 * S, fmt="terse"), ["j3", "j4", "j5"])
    equal(eq.get_jobs(fltr=(eq.Job.duration >= 102 * S) & ~(eq.Job.jobid == "j5"), fmt="terse"), ["j3", "j4"])
    equal(eq.get_jobs(fltr=eq.Job.jobid.like("%b%") | eq.Job.jobid.in_(["j1"]), fmt="terse"), ["j1", ODD])
    equal(eq.get_jobs(fltr=eq.Job.jobid == ODD, fmt="orm").first().jobid, ODD)
    equal(eq.get_jobs(fltr=eq.Job.jobid.in_([]), fmt="terse"), [])
    equal(eq.get_jobs(fltr="exitcode = 3", fmt="terse"), [ODD])
    equal(eq.get_jobs(order=eq.desc(eq.Job.duration), limit=2, offset=1, fmt="terse"), ["j4", "j3"])
    equal(eq.get_jobs(when="09/13/2020 12:01", fmt="terse"), ["j1"])
    equal(eq.get_jobs(when=datetime.datetime(2020, 9, 13, 12, 17, 0), fmt="terse"), ["j2"])
    equal(eq.get_jobs(when=eq.Job["j3"], fmt="terse"), ["j3"])
    equal(eq.get_jobs(after="09/13/2020 13:00", fmt="terse"), ["j5", ODD])
    equal(eq.get_jobs(before=0, fmt="terse"), JOBS)
    equal(eq.get_jobs(after=-30, fmt="terse"), [])
    equal(eq.get_jobs(hosts="n2, n3", fmt="terse"), ["j4"])
    equal(eq.get_jobs(annotations={"note": 2}, fmt="terse"), ["j3"])
    frame = eq.get_jobs(LIKE, fmt="pandas")
    equal((frame.shape[0], list(frame["cpu_time"])), (4, CPU[:4]))
    equal(eq.get_jobs(frame, fmt="terse"), LIKE)
    equal([j.jobid for j in eq.get_jobs(eq.get_jobs(LIKE, fmt="orm"), fmt="orm")], LIKE)
    equal((eq.get_jobs(eq.Query(), fmt="terse"), eq.get_jobs(frame[:0], fmt="dict")), ([], []))
    equal(eq.get_jobs("j1", fmt="orm")[0].proc_sums["rchar"], 300)


@row("epmt_query", "conv_jobs")
def test_conv_jobs():
    for fmt in ("terse", "dict", "pandas", "orm"):
        jobs = eq.get_jobs(LIKE, fmt=fmt)
        equal(eq.conv_jobs(jobs, fmt="terse"), LIKE)
        equal([j["jobid"] for j in eq.conv_jobs(jobs, fmt="dict")], LIKE)
        equal(list(eq.conv_jobs(jobs, fmt="pandas")["jobid"]), LIKE)
        equal(set(eq.conv_jobs(jobs, fmt="orm")), {eq.Job[j] for j in LIKE})
    for nothing in ([], None, ""):
        raises(ValueError, eq.conv_jobs, nothing)


@row("epmt_query", "get_job_tags")
def test_get_job_tags():
    folded = eq.get_job_tags(["j1", "j2"], tag_filter="exp_name:E")
    equal(folded, {"exp_name": "E", "exp_component": "ocean", "exp_time": {"1854", "1859"}})
    equal(eq.get_job_tags(["j1"], fold=False), [{"exp_name": "E", "exp_component": "ocean", "exp_time": "1854"}])


@row("epmt_query", "get_features")
def test_get_features():
    found = set(eq.get_features(LIKE))
    equal(found >= {"cpu_time", "duration", "exitcode", "num_procs", "num_threads", "rchar", "rssmax", "usertime"}, True)
    equal(found & {"jobid", "tags", "start", "annotations"}, set())


@row("epmt_query", "get_unprocessed_jobs", "is_job_post_processed", "post_process_jobs", "is_job_in_staging", "get_job_staging_ids",
     "compute_process_trees")
def test_processed():
    equal((eq.get_unprocessed_jobs(), eq.is_job_post_processed("j1"), eq.post_process_jobs(["j1"])), ([], True, []))
    equal((eq.is_job_in_staging("j1"), eq.get_job_staging_ids("j1"), eq.compute_process_trees("j1")), (False, (), None))
    for call in (eq.is_job_post_processed, eq.post_process_jobs, eq.is_job_in_staging, eq.get_job_staging_ids,
                 eq.compute_process_trees):
        equal("there is no job 'nosuch'" in raises(RuntimeError, call, "nosuch"), True)


@row("epmt_query", "verify_jobs")
def test_verify_jobs():
    equal(eq.verify_jobs(["j1", "j2"]), (True, {}))
    # a job of 1970, as a clock that was not set makes it
    right, errors = eq.verify_jobs("old")
    equal((right, list(errors), errors["old"][0].partition(":")[0]), (False, ["old"], "dates"))


@row("epmt_query", "delete_jobs", "retire_jobs")
def test_delete_jobs():
    with logged() as lines:
        equal(eq.delete_jobs(["d1", "d2"]), 0)
    equal("force=True" in lines[0], True)
    equal(eq.delete_jobs(["d1", "d2"], force=True, dry_run=True), 2)
    equal(eq.delete_jobs(["d1", "d2"], force=True, after=-1), 0)
    # a query without a result is not one for all jobs
    for nothing in (eq.get_jobs(tags="exp_name:nosuch", fmt="terse"), [], (), set(), "", " , ", None):
        raises(ValueError, eq.delete_jobs, nothing, force=True, dry_run=True)
    equal(eq.delete_jobs(eq.get_jobs(tags="exp_name:nosuch", fmt="orm"), force=True, dry_run=True), 0)
    equal(eq.delete_jobs([], force=True, dry_run=True, before=0) > 1, True)
    equal(eq.delete_jobs("d1"), 1)
    equal(eq.retire_jobs(0), 0)
    days = (datetime.datetime.now() - datetime.datetime(2019, 12, 31)).days
    eq.create_refmodel(["d2", "j1", "j2"], name="keeps")
    with logged() as lines:
        equal(eq.retire_jobs(days), 1)  # "old", not d2
    equal("part of a reference model" in lines[0], True)
    equal(eq.delete_jobs("d2", remove_models=True), 1)
    equal((eq.get_refmodels(fmt="terse"), eq.get_jobs(fmt="terse")), ([], JOBS))


@row("epmt_query", "get_procs")
def test_get_procs():
    equal(len(eq.get_procs(fmt="terse")), 24)
    one = eq.get_procs("j1", fltr=eq.Process.pid == 101)[0]
    equal((one["exename"], one["tags"], one["cpu_time"], one["duration"], one["job"]), ("cp", CP, 2500, 2 * S, "j1"))
    equal(one["start"], datetime.datetime(2020, 9, 13, 12, 0, 1))
    equal(eq.get_procs("j1", fltr=eq.Process.pid == 101, merge_threads_sums=False)[0]["threads_sums"]["rchar"], 100)
    equal([p["pid"] for p in eq.get_procs(["j1"], tags="op:cp")], [101, 102])
    equal([p["pid"] for p in eq.get_procs(["j1"], tags=["op:mv", {"op": "cp"}])], [101, 102, 103])
    equal([p["pid"] for p in eq.get_procs(["j1"], tags={})], [100])
    equal([p["pid"] for p in eq.get_procs("j1", order=eq.desc(eq.Process.cpu_time), limit=2)], [102, 101])
    equal([p["pid"] for p in eq.get_procs("j1", offset=3)], [103])
    equal([p["pid"] for p in eq.get_procs("j1", when=datetime.datetime(2020, 9, 13, 12, 0, 2, 500000))], [100, 101, 102])
    equal(len(eq.get_procs(fltr=eq.Process.duration > 10 * S, hosts=["n2"], fmt="terse")), 1)
    equal(eq.get_procs("j1", hosts=["n9"], fmt="terse"), [])
    equal(len(eq.get_procs(fltr=(eq.Process.rssmax >= 3000) & (eq.Process.exename == "dd"), fmt="orm")), 6)
    p = eq.get_procs("j5", fltr=eq.Process.exename == "dd", fmt="orm").first()
    equal((p.parent.pid, [a.pid for a in p.ancestors], p.depth), (101, [100, 101], 2))
    equal([c.pid for c in p.parent.parent.children], [101, 103])
    equal([c.pid for c in p.parent.parent.descendants], [101, 102, 103])
    equal(eq.get_procs(ODD if "," not in ODD else [ODD], fmt="pandas").shape[0], 4)


@row("epmt_query", "conv_procs")
def test_conv_procs():
    numbers = eq.get_procs("j1", fmt="terse")
    for fmt in ("terse", "dict", "pandas", "orm"):
        procs = eq.get_procs("j1", fmt=fmt)
        equal(eq.conv_procs(procs, fmt="terse"), numbers)
        equal([p["pid"] for p in eq.conv_procs(procs, fmt="dict")], [100, 101, 102, 103])
        equal(list(eq.conv_procs(procs, order=eq.desc(eq.Process.pid))["pid"]), [103, 102, 101, 100])
        equal([p.pid for p in eq.conv_procs(procs, fmt="orm")], [100, 101, 102, 103])
    equal(eq.conv_procs(numbers, fmt="dict"), eq.get_procs("j1", fmt="dict"))
    raises(ValueError, eq.conv_procs, [])


@row("epmt_query", "timeline", "get_roots", "root", "get_thread_metrics")
def test_processes():
    equal(list(eq.timeline(["j1", "j2"], limit=5)["pid"]), [100, 101, 102, 103, 100])
    equal([p.pid for p in eq.timeline("j1", fltr=eq.Process.exename != "cp", fmt="orm")], [100, 102, 103])
    equal([(p["jobid"], p["pid"]) for p in eq.get_roots(["j1", "j2"])], [("j1", 100), ("j2", 100)])
    equal((eq.root("j1")["exename"], eq.root("j1", fmt="orm").depth), ("tcsh", 0))
    equal((eq.root("j1", fmt="pandas").shape[0], eq.root("j1", fmt="terse") in eq.get_procs("j1", fmt="terse")), (1, True))
    mv = eq.get_procs("j1", fltr=eq.Process.exename == "mv", fmt="orm")[0]
    threads = eq.get_thread_metrics(mv)
    equal((list(threads["tid"]), list(threads["usertime"]), set(threads["process_pk"])), ([103, 200], [100, 50], {mv.id}))
    equal(list(eq.get_thread_metrics(*eq.get_procs("j1", tags="op:cp", fmt="terse"))["usertime"]), [2000, 3000])
    equal(list(mv.threads_df["tid"]), [103, 200])


@row("epmt_query", "job_proc_tags", "get_job_proc_tags", "rank_proc_tags_keys")
def test_process_tags():
    equal(eq.job_proc_tags(["j1", "j2"]), [CP, MV])
    equal(eq.get_job_proc_tags("j1", exclude=["op_instance", "op_sequence"]), [{"op": "cp"}, {"op": "mv"}])
    equal(eq.job_proc_tags("j1", tag_filter="op:mv"), [MV])
    equal(eq.job_proc_tags("j1", fold=True), {"op": ["cp", "mv"], "op_instance": ["1"], "op_sequence": ["1", "2"]})
    ranked = eq.rank_proc_tags_keys(["j1"])
    equal(ranked, [("op_instance", {"1"}), ("op", {"cp", "mv"}), ("op_sequence", {"1", "2"})])
    equal([k for k, _ in eq.rank_proc_tags_keys("j1", order="frequency", exclude=["op"])], ["op_instance", "op_sequence"])
    raises(ValueError, eq.job_proc_tags, [])


@row("epmt_query", "procs_histogram", "procs_set", "add_features_df")
def test_histograms():
    equal(eq.procs_histogram(["j1", "j2"]), {"tcsh": 2, "cp": 2, "dd": 2, "mv": 2})
    equal(eq.procs_histogram("j2", metric="cpu_time"), {"tcsh": 1100, "cp": 2510, "dd": 3000, "mv": 165})
    equal(eq.procs_histogram(["j1", "j4"], "host_id"), {"n1": 4, "n2": 4})
    equal(eq.procs_set(["j1", "j4"], "host"), ["n1", "n2"])
    equal((eq.procs_set([ODD]), eq.procs_set("j1", attr="pid")), (["cp", "dd", "mv", "tcsh"], [100, 101, 102, 103]))
    frame = eq.get_jobs(["j1", "j2"], fmt="pandas")
    new, added = eq.add_features_df(frame)
    equal((added, new["procs_set"][1], "procs_set" in frame), (["procs_histogram", "procs_set"], ["cp", "dd", "mv", "tcsh"], False))
    equal("there is no job" in raises(RuntimeError, eq.procs_histogram, "nosuch"), True)
    raises(RuntimeError, eq.procs_histogram, "j1", "nosuch")


@row("epmt_query", "comparable_job_partitions", "are_jobs_comparable")
def test_comparable():
    equal(eq.comparable_job_partitions(JOBS), [(("E", "ocean"), FIVE), (("E", "atmos"), [ODD])])
    equal(eq.comparable_job_partitions(["j1", "j2"], ["exp_time"]), [(("1859",), ["j2"]), (("1854",), ["j1"])])
    equal(eq.comparable_job_partitions(["j1"], ["nosuch", "exp_name"]), [(("", "E"), ["j1"])])
    equal((eq.are_jobs_comparable(FIVE), eq.are_jobs_comparable(JOBS), eq.comparable_job_partitions(eq.Query())), (True, False, []))
    equal(eq.are_jobs_comparable(JOBS, ["exp_name"]), True)


@row("epmt_query", "get_job_analyses", "set_job_analyses", "remove_job_analyses", "get_unanalyzed_jobs", "analyze_jobs", "analyze_comparable_jobs")
def test_analyses():
    equal((eq.get_unanalyzed_jobs(JOBS), eq.get_job_analyses("j1")), (JOBS, {}))
    equal(eq.set_job_analyses("j1", {"outlier_detection": 1}), {"outlier_detection": 1})
    equal(eq.get_unanalyzed_jobs(JOBS), JOBS[1:])
    equal(eq.set_job_analyses("j1", {"rca": {"it's": [1.5, None]}}), {"outlier_detection": 1, "rca": {"it's": [1.5, None]}})
    equal(eq.get_unanalyzed_jobs(JOBS, {"outlier_detection": 1}), ["j1"])
    equal(eq.get_jobs("j1")[0]["analyses"]["outlier_detection"], 1)
    equal(eq.set_job_analyses("j1", {"rca": 1}, True), {"rca": 1})
    with logged() as lines:
        equal((eq.set_job_analyses("j1", {"x": "y" * 70000}), eq.get_job_analyses("j1")), (False, {"rca": 1}))
    equal("65536 bytes" in lines[0], True)
    raises(ValueError, eq.set_job_analyses, "j1", {"a=b": 1})
    equal((eq.remove_job_analyses("j1"), eq.get_job_analyses("j1")), ({}, {}))
    # the last one is alone with its component, and cannot be compared
    equal((eq.analyze_jobs(JOBS), eq.get_unanalyzed_jobs(JOBS)), ([FIVE], [ODD]))
    equal(eq.analyze_jobs(JOBS), [])
    equal(eq.get_job_analyses("j5")["outlier_detection"][0]["outliers"][0]["feature"] in ("cpu_time", "duration"), True)
    equal(eq.analyze_comparable_jobs(JOBS, keys=["exp_name"]), 1)
    for j in JOBS:
        eq.remove_job_analyses(j)


@row("epmt_query", "op_roots", "get_ops", "get_op_metrics", "ops_costs")
def test_operations():
    equal([(p["jobid"], p["pid"]) for p in eq.op_roots(["j1", "j2"], "op:cp")], [("j1", 101), ("j2", 101)])
    equal([p.pid for p in eq.op_roots("j1", {"op": "mv"}, fmt="orm")], [103])
    ops = eq.get_ops(["j1", "j2"], tags=["op:cp", "op:mv", "op:none"])
    equal([(o["tags"], o["duration"], o["proc_sums"]["num_procs"]) for o in ops],
          [({"op": "cp"}, 8 * S, 4), ({"op": "mv"}, 3 * S, 2)])
    equal([o["duration"] for o in eq.get_ops(["j1", "j2"], "op", op_duration_method="sum-minus-overlap")], [6 * S, 3 * S])
    equal(eq.get_ops("j1", {"op": "cp"}, op_duration_method="finish-minus-start")[0]["duration"], 3 * S)
    one = eq.get_ops(["j1", "j2"], "op", combine=True, fmt="orm")[0]
    equal((one.proc_sums["num_procs"], one.num_runs(), one.contiguous(), len(one.processes)), (6, 4, False, 6))
    equal((one.start, one.finish), (datetime.datetime(2020, 9, 13, 12, 0, 1), datetime.datetime(2020, 9, 13, 12, 17, 12)))
    full = eq.get_ops("j1", "op:cp", full=True)[0]
    equal((full["num_runs"], full["contiguous"], [p.pid for p in full["processes"]]), (1, True, [101, 102]))
    with_shared = raises(RuntimeError, eq.get_ops, "j1", ["op:cp", "op_instance:1"], combine=True)
    equal("common processes" in with_shared, True)
    rows = eq.get_op_metrics(["j2", "j1"], fmt="dict")
    equal([(r["jobid"], r["tags"], r["cpu_time"], r["num_procs"], r["numtids"]) for r in rows],
          [("j1", CP, 5500, 2, 2), ("j2", CP, 5510, 2, 2), ("j1", MV, 165, 1, 2), ("j2", MV, 165, 1, 2)])
    equal(rows[0]["rssmax"], 5000)
    # all of them are numbers of processes
    equal([k for k, v in rows[0].items() if isinstance(v, str)], ["job", "jobid"])
    equal(len(eq.ops_costs("j1", tags="op:none")[1]), 0)
    equal(list(eq.get_op_metrics(["j1", "j2"], group_by_tag=True)["cpu_time"]), [11010, 330])
    equal([r["tags"] for r in eq.get_op_metrics("j1", ["op:mv", "op:cp"], fmt="dict")], [{"op": "mv"}, {"op": "cp"}])
    equal(eq.get_op_metrics("j1", "op:cp", exact_tags_only=True, fmt="dict"), [])
    raises(ValueError, eq.get_op_metrics, "j1", op_duration_method="other")
    percent, ops, total, by_job = eq.ops_costs(["j1", "j2"])
    equal((percent, total), (round(100 * (11010 + 330) / (CPU[0] + CPU[1]), 3), CPU[0] + CPU[1]))
    equal((list(ops["jobid"]), list(ops["cpu_time"])), (["j1", "j1", "j2", "j2"], [165, 5500, 165, 5510]))
    equal(list(by_job["dm_cpu_time%"]), [round(100 * 5665 / CPU[0]), round(100 * 5675 / CPU[1])])
    equal(eq.ops_costs(["j1"], ["op:cp"], metric="duration")[0], 3.0)


@row("epmt_query", "get_job_status", "tag_job", "annotate_job", "get_job_annotations", "remove_job_annotations")
def test_notes():
    equal(eq.get_job_status(ODD), {"exit_code": 3, "exit_reason": "none"})
    try:
        equal(eq.tag_job(ODD, "color:it's red;x")["color"], "it's red")
        equal(eq.get_jobs(tags={"color": "it's red", "x": 1}, fmt="terse"), [ODD])
        equal(eq.tag_job(ODD, {"only": 1}, replace=True), {"only": "1"})
    finally:
        eq.tag_job(ODD, spec(5)["tags"], replace=True)
    equal(eq.annotate_job("j1", {"abc": 100, "text": "200", "list": [1, 2.5], "quote": 'a"b', "real": 1.5, "no": None}, replace=True),
          {"abc": 100, "text": "200", "list": [1, 2.5], "quote": 'a"b', "real": 1.5, "no": None})
    equal(eq.annotate_job("j1", "def:hello")["def"], "hello")
    equal((eq.get_job_annotations("j1")["abc"], eq.get_jobs(annotations={"abc": 100}, fmt="terse")), (100, ["j1"]))
    equal((eq.remove_job_annotations("j1"), eq.get_job_annotations("j1")), ({}, {}))
    raises(ValueError, eq.annotate_job, "j1", {"a=b": 1})
    # a job directory of the same name is left alone
    os.makedirs("here/j1")
    before = os.getcwd()
    os.chdir("here")
    try:
        equal(eq.annotate_job("j1", {"where": "store"})["where"], "store")
    finally:
        os.chdir(before)
    eq.annotate_job("j1", {"note": 0})


@row("epmt_query", "create_refmodel", "get_refmodels", "delete_refmodels", "refmodel_set_enabled", "refmodel_is_enabled",
     "refmodel_get_metrics", "refmodel_set_active_metrics", "retire_refmodels")
def test_models():
    made = eq.create_refmodel(LIKE, name="it's", tag="exp_name:E", methods=[es.modified_z_score])
    equal((made["id"], made["jobs"], made["tags"], made["enabled"]), ("it's", LIKE, {"exp_name": "E"}, True))
    equal(made["computed"]["modified_z_score"]["duration"], [1.0118, 101500000.0, 1000000.0])
    equal(eq.get_refmodels(name="it's")[0]["modified_z_score"]["num_procs"], [0, 4, 0])
    other = eq.create_refmodel(eq.get_jobs(LIKE, fmt="orm"), op_tags="*", features=["cpu_time"], enabled=False, fmt="orm")
    equal((other.id, other.op_tags, [j.jobid for j in other.jobs]), ("refmodel-1", [CP, MV], LIKE))
    equal(eq.refmodel_get_metrics("it's"), {"cpu_time", "duration", "num_procs"})
    equal(eq.refmodel_get_metrics(other), {"cpu_time"})
    with logged() as lines:
        equal(eq.refmodel_set_active_metrics("it's", ["duration", "nosuch"]), ["duration"])
    equal(("nosuch" in lines[0], eq.refmodel_get_metrics("it's", True)), (True, {"duration"}))
    equal(list(eod.detect_outlier_jobs(["j1", "j5"], "it's", methods=[es.modified_z_score])[0].columns), ["jobid", "duration"])
    equal(sorted(eq.refmodel_set_active_metrics("it's", eq.refmodel_get_metrics("it's"))), ["cpu_time", "duration", "num_procs"])
    equal((eq.retire_refmodels(0), eq.retire_refmodels(1), eq.retire_refmodels(1, dry_run=True)), (0, 0, 0))
    equal((eq.refmodel_is_enabled("it's"), eq.refmodel_is_enabled("refmodel-1")), (True, False))
    equal(eq.refmodel_set_enabled("refmodel-1", True).enabled, True)
    equal(eq.get_refmodels(tag="exp_name:E", fmt="terse"), ["it's"])
    equal((eq.get_refmodels(after=-1, fmt="orm").count(), eq.get_refmodels(before=-1)), (2, []))
    equal(eq.get_refmodels(fltr=lambda m: m.op_tags, fmt="terse"), ["refmodel-1"])
    equal(list(eq.get_refmodels(limit=1, fmt="pandas")["id"]), ["it's"])
    equal(eq.delete_refmodels("it's", "refmodel-1"), 2)
    equal((eq.get_refmodels(), eq.get_refmodels(name="no_such_model")), ([], []))


# ---- outliers ---------------------------------------------------------------------------------------

@row("epmt_outliers", "detect_outlier_jobs", "partition_jobs")
def test_outlier_jobs():
    table, parts = eod.detect_outlier_jobs(FIVE)
    equal(list(table.columns), ["jobid", "cpu_time", "duration", "num_procs"])
    equal(table.values.tolist(), [[j, 0, 0, 0] for j in LIKE] + [["j5", 2, 2, 0]])
    equal(parts["cpu_time"], (set(LIKE), {"j5"}))
    equal(eod.partition_jobs(FIVE, features=["num_procs"]), {"num_procs": (set(FIVE), set())})
    frame = eq.get_jobs(FIVE, fmt="pandas")
    again, parts_again = eod.detect_outlier_jobs(frame)
    equal((again.values.tolist(), parts_again), (table.values.tolist(), parts))
    equal("at least 4" in raises(RuntimeError, eod.detect_outlier_jobs, ["j1", "j2", "j3"]), True)
    model = eq.create_refmodel(LIKE, fmt="terse")
    equal(list(eod.detect_outlier_jobs(["j1", "j5"], trained_model=model)[0]["duration"]), [0, 3])
    equal(list(eod.detect_outlier_jobs(frame, trained_model=model)[0]["duration"]), [0, 0, 0, 0, 3])
    eq.refmodel_set_enabled(model, False)
    equal("disabled" in raises(RuntimeError, eod.detect_outlier_jobs, FIVE, trained_model=model), True)
    with logged() as lines:
        several = eq.create_refmodel(LIKE, methods=es.mvod_classifiers(), fmt="terse")
    equal("knn cannot score these jobs" in lines[0], True)
    table, vectors = eod.detect_outlier_jobs(["j1", "j5"], trained_model=several, methods=es.mvod_classifiers())
    equal((list(table.columns), vectors["pyod.models.cof"]), (["jobid", "outlier"], [0, 1]))
    raises(ValueError, eod.detect_outlier_jobs, FIVE, methods=es.mvod_classifiers())
    raises(ValueError, eod.detect_outlier_jobs, FIVE, methods=[es.iqr] + es.mvod_classifiers())
    eq.delete_refmodels(model, several)
    table = eod.detect_outlier_jobs(FIVE, features=[], pca=2, methods=[es.modified_z_score])[0]
    equal((list(table.columns), list(table["pca_01"])), (["jobid", "pca_weighted", "pca_01", "pca_02"], [0, 0, 0, 0, 1]))


@row("epmt_outliers", "detect_outlier_ops", "partition_jobs_by_ops")
def test_outlier_ops():
    table, parts, scores, tags, features = eod.detect_outlier_ops(FIVE, methods=[es.modified_z_score])
    equal((table.shape, tags[0], features[0]), ((10, 5), CP, list(table.columns)[2]))
    equal(parts[json.dumps(CP)], (set(LIKE), {"j5"}))
    equal((list(scores["tags"])[0], list(scores.columns)), (json.dumps(CP), ["tags"] + features))
    equal(eod.partition_jobs_by_ops(FIVE, tags="op:cp"), {'{"op": "cp"}': (set(LIKE), {"j5"})})
    equal(eod.detect_outlier_ops(FIVE, tags={"op": "none"}), False)
    model = eq.create_refmodel(LIKE, op_tags="op:cp", methods=[es.z_score], fmt="terse")
    table, parts, _, _, _ = eod.detect_outlier_ops(["j2", "j5"], tags="op:cp", trained_model=model, methods=[es.z_score])
    equal((list(table["cpu_time"]), parts['{"op": "cp"}']), ([0, 1], ({"j2"}, {"j5"})))
    eq.delete_refmodels(model)
    equal(eod.detect_outlier_ops(FIVE, features=[], pca=2).shape, (10, 5))


@row("epmt_outliers", "detect_outliers", "detect_outlier_processes", "detect_outlier_threads")
def test_outliers_of_tables():
    import pandas as pd
    frame = pd.DataFrame({"a": [1, 2, 1, 2, 1, 2, 1, 50], "b": [5] * 8})
    equal(eod.detect_outliers(frame).values.tolist(), [[0, 0]] * 7 + [[2, 0]])
    equal(list(eod.detect_outliers(frame, ["a"], [es.iqr])["a"]), [0] * 7 + [1])
    procs = pd.concat([eq.get_procs("j1", fltr=eq.Process.pid == 101, fmt="pandas")] * 10, ignore_index=True)
    procs.loc[5, ["duration", "cpu_time"]] *= 2
    found = eod.detect_outlier_processes(procs, methods=[es.iqr, es.modified_z_score])
    equal((list(found.columns), found.loc[5].tolist(), int(found.values.sum())), (["duration", "cpu_time"], [2, 2], 4))
    threads = pd.concat([eq.get_thread_metrics(eq.root("j1", fmt="terse"))] * 10, ignore_index=True)
    threads.loc[5, ["usertime"]] *= 2
    equal(eod.detect_outlier_threads(threads, methods=[es.iqr]).loc[5].tolist(), [1, 0, 0])


@row("epmt_outliers", "detect_rootcause", "detect_rootcause_op")
def test_rootcause():
    right, table, ranked = eod.detect_rootcause(LIKE, "j5")
    # deviation 10 of the median 6780; the reference is at most 15 away from it
    equal((right, ranked[0][0], round(ranked[0][1], 2)), (True, "cpu_time", round(round(0.6745 * 44985 / 10, 4) / 1.0118, 2)))
    equal((table.shape, table.loc["input", "cpu_time"], table.loc["50%", "cpu_time"]), ((12, 3), 51765, 6780))
    frames = eod.detect_rootcause(eq.get_jobs(LIKE, fmt="pandas"), eq.get_jobs("j5", fmt="pandas"))
    equal(frames[2], ranked)
    right, table, ranked = eod.detect_rootcause_op(LIKE, "j5", "op:mv", features=["duration"])
    equal((right, table.loc["input", "duration"]), (True, S))
    equal(eod.detect_rootcause_op(LIKE, "j5", ""), (False, None, None))
    model = eq.create_refmodel(LIKE, fmt="terse")
    equal(eod.detect_rootcause(model, "j5")[2][0][0], "cpu_time")
    eq.delete_refmodels(model)


@row("epmt_outliers", "get_feature_distributions")
def test_distributions():
    found = eod.get_feature_distributions(FIVE, ["duration", "num_procs", "cpu_time"])
    # one of five values is far away from the others
    equal(found, {"cpu_time": "unknown", "duration": "unknown", "num_procs": "unknown"})
    equal(eod.get_feature_distributions(LIKE, ["duration"]), {"duration": "norm"})
    equal("rchar" in eod.get_feature_distributions(LIKE), True)


@row("epmt_outliers", "pca_feature_combine", "pca_feature_rank", "sanitize_features", "feature_scatter_plot")
def test_components():
    frame = eq.get_jobs(FIVE, fmt="pandas")
    out, shares, names, loadings = eod.pca_feature_combine(frame, ["cpu_time", "duration", "rchar"])
    equal((names, list(out.columns)[:3], list(loadings.columns)), (["pca_01", "pca_02"], ["jobid"] + names, ["cpu_time", "duration", "rchar"]))
    # both grow together, and rchar is constant: one component of equal parts explains nearly all
    near([abs(x) for x in loadings.iloc[0]], [0.7071, 0.7071, 0])
    equal((shares[0] > 0.999, "cpu_time" in out.columns, max(out["pca_01"]) == out["pca_01"].iloc[4]), (True, False, True))
    equal("cpu_time" in eod.pca_feature_combine(frame, ["cpu_time", "duration"], 1, retain_features=True)[0].columns, True)
    table, ranked = eod.pca_feature_rank(FIVE, ["cpu_time", "duration", "rchar"])
    equal((table.shape, ranked[-1], {f for f, _ in ranked[:2]}), ((3, 3), ("rchar", 0.0), {"cpu_time", "duration"}))
    equal(eod.sanitize_features(["duration", "cpu_time", "nosuch", "jobid"], frame), ["cpu_time", "duration"])
    ax = eod.feature_scatter_plot(FIVE, outfile="scatter.png")
    equal(([c.get_label() for c in ax.collections], os.path.getsize("scatter.png") > 5000), (FIVE, True))
    # a feature that a job lacks is left out
    ax = eod.feature_scatter_plot(frame.assign(rare=[1, None, 2, 3, 4]))
    equal(len(ax.collections), 5)
    raises(ValueError, eod.feature_scatter_plot, frame.assign(rare=[1, None, 2, 3, 4]), ["rare", "duration"])
    ax = eod.feature_scatter_plot(FIVE, ["cpu_time", "duration"], annotate=True)
    equal((ax.get_xlabel(), ax.get_ylabel()), ("cpu_time", "duration"))


# ---- statistics -------------------------------------------------------------------------------------

VECTOR = [1, 2, 1, 1, 1, 1, 2, 1, 0, 2, 100]


@row("epmt_stat", "z_score", "iqr", "modified_z_score", "scores_of")
def test_scores():
    scores, highest, mean, deviation = es.z_score([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1000])
    # counters of more than 63 bits, and truth values
    equal(list(es.iqr([2**64] * 4 + [2**66])[0]), [0, 0, 0, 0, 1])
    equal(list(es.modified_z_score([True, True, False])[0]), [0.0, 0.0, 2.0235])
    equal((list(scores)[-2:], highest, mean, deviation), ([0.3005, 3.1621], 3.1621, 95.9091, 285.9118))
    equal(list(es.z_score([5, 5, 5])[0]), [0, 0, 0])
    equal(list(es.z_score([10], (1.0, 4.0, 2.0))[0]), [3.0])
    mask, zero, q1, q3 = es.iqr([1, 2, 3, 4, 3, 2, 1, 10])
    equal((list(mask), zero, q1, q3), ([0] * 7 + [1], 0, 4.375, 6.625))
    equal(list(es.iqr([1, 2, 3, 4, 3, 2, 1, 10], (0, q1, q3))[0]), [0] * 8)
    scores, highest, median, deviation = es.modified_z_score([1, 2, 3, 4, 100])
    equal((list(scores), highest, median, deviation), ([1.349, 0.6745, 0.0, 0.6745, 65.4265], 65.4265, 3, 1))
    equal(list(es.modified_z_score([7, 8], (0, 7, 0))[0]), [0, float("inf")])
    equal([c[1] for c in es.scores_of("z_score", [[1, 2, 3], [1, 1, 4]])], [1.2247, 1.4142])
    raises(ValueError, es.z_score, [1, float("nan")])


@row("epmt_stat", "outliers_iqr", "outliers_z_score", "outliers_modified_z_score", "outliers_uv")
def test_masks():
    for call in (es.outliers_iqr, es.outliers_z_score, es.outliers_modified_z_score):
        equal(list(call(VECTOR)), [0] * 10 + [1])
    equal(list(es.outliers_z_score(VECTOR, threshold=4)), [0] * 11)
    equal(list(es.outliers_modified_z_score([1, 2, 3, 4], threshold=1)), [1, 0, 0, 1])
    equal(list(es.outliers_uv(VECTOR)), [0] * 10 + [3])
    equal(list(es.outliers_uv(VECTOR, [es.outliers_iqr])), [0] * 10 + [1])
    raises(ValueError, es.outliers_uv, VECTOR, [])


@row("epmt_stat", "get_classifier_name", "is_classifier_mv", "partition_classifiers_uv_mv", "uvod_classifiers", "mvod_classifiers")
def test_classifiers():
    equal((es.get_classifier_name(es.iqr), es.is_classifier_mv(es.iqr)), ("iqr", False))
    equal([f.__name__ for f in es.uvod_classifiers()], ["iqr", "modified_z_score", "z_score"])
    several = es.mvod_classifiers()
    equal({es.get_classifier_name(c) for c in several},
          {f"pyod.models.{n}" for n in ("abod", "knn", "mcd", "cof", "hbos", "pca", "ocsvm")})
    equal(es.partition_classifiers_uv_mv([es.iqr, several[0]]), ({es.iqr}, {several[0]}))
    raises(ValueError, es.get_classifier_name, type("Nameless", (), {"__getattribute__": lambda s, n: object.__getattribute__(s, n + "?")})())


@row("epmt_stat", "mvod_scores", "mvod_scores_using_model")
def test_detectors():
    rows = [[1.0, 1.0], [1.1, 0.9], [0.9, 1.0], [1.0, 1.1], [1.05, 1.0], [0.95, 0.95], [9.0, 9.0]]
    scores, highest = es.mvod_scores(rows, ["pyod.models.knn", "pyod.models.cof"])
    # each row is the first of its five nearest; the fifth of the last row is (1.1, 0.9)
    equal((round(scores["pyod.models.knn"][6], 4), highest["pyod.models.knn"]), (11.3146, scores["pyod.models.knn"][6]))
    equal(list(scores["pyod.models.cof"]).index(max(scores["pyod.models.cof"])), 6)
    equal(list(es.mvod_scores_using_model([rows[6], rows[0]], rows[:6], "pyod.models.cof", 2.0)), [1, 0])
    equal(len(es.mvod_scores_using_model([rows[6]], rows[:6], "pyod.models.hbos")), 1)
    with logged() as lines:
        equal(es.mvod_scores(rows[:2], ["pyod.models.knn"]), False)
    equal("too few" in lines[0], True)
    raises(ValueError, es.mvod_scores)


@row("epmt_stat", "rca", "check_finite")
def test_rca():
    import pandas as pd
    reference = pd.DataFrame({"a": [10.0, 11, 12], "b": [5.0, 5, 5]})
    right, table, ranked = es.rca(reference, pd.Series({"a": 21.0, "b": 5.0}), ["a", "b"])
    equal((right, ranked), (True, [("a", 10.0), ("b", 0)]))
    equal((list(table.columns), table.loc["mean", "a"], table.loc["modified_z_score_ratio", "a"]), (["a", "b"], 11, 10))
    equal(es.rca(reference, pd.DataFrame({"a": [11.0], "b": [6.0]}), "*", [es.modified_z_score])[2][0], ("b", float("inf")))
    equal(es.rca(reference[:0], reference, ["a"]), (False, None, None))
    equal((es.check_finite([1, 2]), es.check_finite([1, float("inf")]), es.check_finite([float("nan")])), (True, False, False))


@row("epmt_stat", "check_dist", "get_modes")
def test_distribution_of_values():
    equal((es.check_dist(range(100), "norm"), es.check_dist(range(100), "uniform")), ((1, 2), (1, 0)))
    # quantiles of a normal distribution
    normal = [statistics.NormalDist(0, 1).inv_cdf((i + 0.5) / 100) for i in range(100)]
    equal((es.check_dist(normal, "norm"), es.check_dist(normal, "uniform")), ((3, 0), (0, 1)))
    equal(es.check_dist([1, 2, 3, 4], "norm"), (2, 0))
    raises(ValueError, es.check_dist, [1, 2, 3], "poisson")
    raises(ValueError, es.check_dist)
    near(es.get_modes(normal), [0])
    near(es.get_modes([x * 0.1 for x in normal] + [5 + x * 0.1 for x in normal]), [0, 5])
    raises(ValueError, es.get_modes, normal, 5)


@row("epmt_stat", "pca_stat", "normalize", "standardize")
def test_scaling():
    rows, found = es.pca_stat([[1, 2], [2, 4], [3, 6.1], [4, 8]], 1)
    equal((rows.shape, found.components_.shape, found.explained_variance_ratio_[0] > 0.99), ((4, 1), (1, 2), True))
    near([abs(x) for x in found.components_[0]], [0.7071, 0.7071])
    equal(es.pca_stat([[1, 2], [2, 4], [3, 6.1], [4, 8]], 0.9)[0].shape, (4, 1))
    equal(es.normalize([[0, 10], [1, 20], [2, 15]]).tolist(), [[0, 0], [0.5, 1], [1, 0.5]])
    equal((es.normalize([2, 4, 3], 0, 10).tolist(), es.normalize([3, 3]).tolist()), ([0, 10, 5], [0, 0]))
    near(es.standardize([1, 2, 3]), [-1.22474, 0, 1.22474])


@row("epmt_stat", "dframe_append_weighted_row", "dict_outliers")
def test_dicts():
    import pandas as pd
    frame = pd.DataFrame([[1, -2], [2, 3]], columns=["A", "B"])
    near(es.dframe_append_weighted_row(frame, [1.5, 0.1]).iloc[-1], [1.7, -2.7])
    near(es.dframe_append_weighted_row(frame, [1, 0], use_abs=True).iloc[-1], [1, 2])
    raises(ValueError, es.dframe_append_weighted_row, frame, [1])
    dicts = [{"a": 100, "b": 200}, {"a": 101, "b": 201}, {"a": 100, "b": 200}, {"a": 200, "b": 300}]
    equal(es.dict_outliers(dicts, threshold=1.0), ({3}, {"a": [3], "b": [3]}))
    equal(es.dict_outliers(dicts, labels="wxyz", threshold=1.0)[0], {"z"})


# ---- experiments ------------------------------------------------------------------------------------

@row("epmt_exp_explore", "exp_component_outliers", "exp_time_segment_stats", "exp_explore", "find_missing_time_segments", "exp_find_jobs")
def test_experiments():
    groups = exp.exp_component_outliers("E")
    equal([g["exp_component"] for g in groups], ["ocean", "atmos"])
    equal((groups[0]["jobids"], list(groups[0]["metrics"]), list(groups[0]["outlier_scores"])), (FIVE, DURATION[:5], [0, 0, 0, 0, 2]))
    equal([g["exp_component"] for g in exp.exp_component_outliers("E", "cpu_time", op=min, limit=1)], ["ocean"])
    segments = exp.exp_time_segment_stats("E", "cpu_time")
    equal(list(segments), [str(1854 + 5 * n) for n in range(6)])
    equal(segments["1879"], {"jobids": [ODD], "metrics": [CPU[5]]})
    with contextlib.redirect_stdout(io.StringIO()) as out:
        equal(exp.exp_explore("E", "cpu_time"), True)
        missing = exp.find_missing_time_segments("E", components=["ocean"], time_segments=range(1854, 1890, 5))
    equal((missing, "ocean is missing [1879, 1884, 1889]" in out.getvalue(), "sum(cpu_time)" in out.getvalue()), ({"ocean": [1879, 1884, 1889]}, True, True))
    equal(exp.exp_find_jobs("E", ["ocean"], [1854, "1859"]), ["j1", "j2"])
    equal((exp.exp_find_jobs("E", failed=True), exp.exp_find_jobs("E", failed=False)), ([ODD], FIVE))
    equal(exp.exp_find_jobs("E", ["atmos"], fmt="orm").first().jobid, ODD)


# ---- the library ------------------------------------------------------------------------------------

@row("epmtlib", "version", "tag_from_string", "tags_list", "tag_text", "str_dict", "frozen_dict", "dict_filter", "unique_dicts", "fold_dicts",
     "sum_dicts", "merge_intervals", "encode2ints", "decode2strings", "hash_strings")
def test_library():
    equal((el.version() >= (0, 1), el.tag_from_string("a:1; b ;c:d:e")), (True, {"a": "1", "b": "1"}))
    equal((el.tags_list("a:1"), el.tags_list(["a:1", {"b": 2}]), el.tag_text({"a": 1, "b": "c"})), ([{"a": "1"}], [{"a": "1"}, {"b": "2"}], "a:1;b:c"))
    equal((el.str_dict({"b": 1, "a": 2}), el.frozen_dict({"a": 1})), ('{"a": 2, "b": 1}', frozenset({("a", 1)})))
    equal(el.dict_filter({"a": 1, "_b": 2, "c": 3}, ["c"]), {"a": 1})
    equal(el.unique_dicts([{"a": 1, "b": 2}, {"b": 3, "a": 1}, {"b": 1}], ["b"]), [{"a": 1}])
    equal(el.fold_dicts([{"a": 1, "b": 2}, {"a": 1, "b": 3}]), {"a": 1, "b": [2, 3]})
    equal(el.sum_dicts({"a": 1}, {"a": 2, "b": 3}), {"a": 3, "b": 3})
    merged = el.merge_intervals([[-25, -14], [-21, -16], [-20, -15], [-10, -7], [-8, -5], [-6, -3], [2, 4], [2, 3], [3, 6], [12, 15], [13, 18],
                                 [14, 17], [22, 27], [25, 30], [26, 29]])
    equal(merged, [[-25, -14], [-10, -3], [2, 6], [12, 18], [22, 30]])
    texts = ["ABC", "ABC", "DEF", "", "abcd"]
    equal(el.encode2ints(texts), [4407873, 4407873, 4605252, 0, 1684234849])
    equal(el.decode2strings(el.encode2ints(texts)), texts)
    a, b, c = el.hash_strings(["ABC", "ABC", "DEF"])
    equal((a == b, a == c, 0 <= a < 2**63), (True, False, True))


# ---- the table --------------------------------------------------------------------------------------

def public_functions():
    """What the modules themselves define, or parts of them with an underscore."""
    for module in help_api.MODULES:
        for name, value in vars(importlib.import_module("epmt." + module)).items():
            own = getattr(value, "__module__", "") == "epmt." + module or getattr(value, "__module__", "").startswith("epmt._")
            if inspect.isfunction(value) and not name.startswith("_") and own and value.__module__ != "epmt._bridge":
                if module == "epmt_query" or value.__module__ == "epmt." + module:
                    yield module, name


def check_table():
    rows = [(r["module"], r["function"]) for r in help_api.table()]
    equal(len(rows), len(set(rows)))
    equal([r for r in help_api.table() if not r["ours"].strip()], [])
    equal(("functions without a row", sorted(set(public_functions()) - set(rows))), ("functions without a row", []))
    equal(("rows without a function", sorted(set(rows) - set(public_functions()))), ("rows without a function", []))
    equal(("rows without a test", sorted(set(rows) - set(TESTS))), ("rows without a test", []))
    equal(("tests without a row", sorted(set(TESTS) - set(rows))), ("tests without a row", []))
    for module, name in rows:
        line, topic, _ = help_api.text_of(getattr(importlib.import_module("epmt." + module), name))
        equal((module, name, bool(line), bool(topic)), (module, name, True, True))
    print(f"{len(rows)} rows")


def check_rows():
    # these two remove the jobs that the others do not expect
    tests = list(dict.fromkeys([test_verify_jobs, test_delete_jobs, *TESTS.values()]))
    for test in tests:
        test()
    equal(os.path.exists("hit"), False)
    print(f"{len(tests)} tests")


def check_faults():
    equal("there is no job 'nosuch'" in raises(RuntimeError, eq.get_jobs, "nosuch"), True)
    equal("there is no job" in raises(RuntimeError, eq.get_procs, ["j1", "it's gone"]), True)
    for call in (eq.get_op_metrics, eq.get_ops, eq.get_roots, eq.verify_jobs, eod.detect_outlier_jobs, eq.create_refmodel):
        raises(ValueError, call, [])
    raises(ValueError, eod.detect_outliers, eq.get_jobs("j1", fmt="pandas")[:0])
    raises(ValueError, eq.get_jobs, fmt="xml")
    raises(TypeError, eq.get_jobs, fltr=lambda j: True)
    equal("unknown key" in raises(RuntimeError, eq.get_jobs, fltr="durration > 1"), True)
    equal("no column 'nosuch'" in raises(RuntimeError, eq.get_jobs, order="nosuch"), True)
    raises(RuntimeError, eq.get_jobs, when="yesterday at noon")
    raises(KeyError, lambda: eq.Job["nosuch"])
    raises(RuntimeError, eq.refmodel_set_enabled, "nosuch")
    equal(eq.orm_get(eq.Job, "nosuch"), None)
    raises(RuntimeError, eod.detect_outlier_jobs, FIVE, features=["nosuch"])
    raises(RuntimeError, exp.exp_explore, "nosuch")
    raises(RuntimeError, eq.get_jobs, "a\0b")
    os.environ["PLIMSOLL_DB"] = "/nosuch/store.db"
    equal("/nosuch/store.db" in raises(RuntimeError, eq.get_jobs), True)


def check_bare():
    """pandas and NumPy are hidden; see the bats file."""
    equal(eq.get_jobs("j1", fmt="terse"), ["j1"])
    equal(eq.get_jobs("j1")[0]["cpu_time"], CPU[0])
    equal([p["pid"] for p in eq.get_procs("j1", tags="op:cp")], [101, 102])
    equal(len(eq.get_op_metrics("j1", fmt="dict")), 2)
    equal(eq.get_jobs("j1", fmt="orm").first().duration, DURATION[0])
    equal(es.z_score([1, 2, 3])[0], [1.2247, 0, 1.2247])
    for call in (lambda: eq.get_jobs("j1", fmt="pandas"), lambda: eq.get_op_metrics("j1"), lambda: eod.detect_outlier_jobs(FIVE)):
        equal("apt install python3-pandas" in raises(RuntimeError, call), True)


if __name__ == "__main__":
    if sys.argv[1] == "jobs":
        write_jobs(sys.argv[2])
        sys.exit()
    import epmt.epmt_exp_explore as exp
    import epmt.epmt_outliers as eod
    import epmt.epmt_query as eq
    import epmt.epmt_stat as es
    import epmt.epmtlib as el
    import epmt.help_api as help_api
    {"table": check_table, "rows": check_rows, "faults": check_faults, "bare": check_bare}[sys.argv[1]]()
