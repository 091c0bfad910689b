"""Queries: jobs, operations, processes, threads and reference models.

Collections of jobs are an id, ids separated by commas, a list, objects or a DataFrame. fmt is 'terse' (ids), 'dict',
'pandas' (a DataFrame) or 'orm' (objects, see epmt.orm). Times are in microseconds, points in time are datetimes in the
time zone of the job.
"""

import ast

from epmt import _bridge, _operations
from epmt import epmt_settings as settings
from epmt._models import (create_refmodel, delete_refmodels, get_refmodels, refmodel_get_metrics, refmodel_is_enabled,
                          refmodel_set_active_metrics, refmodel_set_enabled, retire_refmodels)
from epmt._notes import (analyze_comparable_jobs, analyze_jobs, annotate_job, get_job_analyses, get_job_annotations,
                         get_job_status, get_unanalyzed_jobs, remove_job_analyses, remove_job_annotations, set_job_analyses, tag_job)
from epmt.epmtlib import fold_dicts, tag_from_string, tags_list, unique_dicts, version
from epmt.orm import (Column, Job, Operation, Process, Query, ReferenceModel, desc, filter_text, jobids, orm_get,
                      refuse_empty)

DATA_MOVEMENT = ["op:hsmput", "op:dmget", "op:untar", "op:mv", "op:dmput", "op:hsmget", "op:rm", "op:cp"]


# ---- jobs -------------------------------------------------------------------------------------------

def _words(jobs, scope, **options):
    """The words of `epmt list` for the arguments that are given."""
    words = _bridge.literals("jobs", jobids(jobs))
    for key, value in options.items():
        if value is None or (key in ("limit", "offset") and not value) or (key == "hosts" and not value):
            continue
        if key in ("when", "before", "after"):
            value = getattr(value, "id" if scope == "processes" else "jobid", None) or _bridge.time_word(value)
        elif key == "order":
            value = str(value)
        elif key == "fltr":
            value = filter_text(value)
        elif key == "hosts":
            value = [str(h).strip() for h in (value.split(",") if isinstance(value, str) else value)]
        elif isinstance(value, (set, tuple)):
            value = list(value)
        words.append(f"{key}={value}")
    return words


def _is_nothing(jobs):
    """A query or a table without rows; [] means all jobs instead."""
    return (isinstance(jobs, Query) or _bridge.is_frame(jobs)) and not len(jobs)


def _names_jobs(jobs):
    return bool(jobs.replace(",", "").strip()) if isinstance(jobs, str) else _bridge.is_frame(jobs) or bool(jobs)


def _formed(rows, fmt, table):
    if fmt == "orm":
        return Query(table(r) for r in rows)
    return _bridge.pandas().DataFrame(rows) if fmt == "pandas" else rows


def _check_format(fmt):
    if fmt not in ("terse", "dict", "pandas", "orm"):
        raise ValueError(f"fmt must be 'terse', 'dict', 'pandas' or 'orm', not {fmt!r}")
    if fmt == "pandas":
        _bridge.pandas()


def get_jobs(jobs=(), tags=None, fltr=None, order=None, limit=None, offset=0, when=None, before=None, after=None,
             hosts=(), fmt="dict", annotations=None, analyses=None, merge_proc_sums=True, exact_tag_only=False,
             trigger_post_process=True):
    """Returns jobs that match all conditions, in the order of their start::Jobs

    jobs: the collection to search; empty: all. tags: at least these, as text or dict; a list: any of them; '' or {}:
    none at all. fltr: a comparison such as (Job.duration > 1000000), or a filter of plimsoll-query(1).
    order: a column, or desc(column). when: running at this time, or while this job ran. before, after: ended before,
    started after: 'MM/DD/YYYY HH:MM', datetime, Unix time, or a number of days before now (0, -7). hosts: ran on any of
    them. annotations, analyses: dicts of what they have. merge_proc_sums=False puts sums into the key proc_sums.

    >>> get_jobs(tags='exp_name:ESM4_historical_D151', fmt='terse')
    """
    _check_format(fmt)
    if _is_nothing(jobs):
        return _formed([], fmt, Job)
    if fmt == "orm":
        merge_proc_sums = False
    words = _words(jobs, "jobs", tags=tags, fltr=fltr, order=order, limit=limit, offset=offset, when=when, before=before,
                   after=after, hosts=hosts, annotations=annotations, analyses=analyses, exact_tag_only=exact_tag_only,
                   merge_proc_sums=merge_proc_sums)
    if fmt == "terse":
        return ast.literal_eval(_bridge.run("epmt", "list", "jobs", "fmt=terse", *words).decode())
    return _formed([_bridge.with_times(r) for r in _bridge.listed("jobs", *words)], fmt, Job)


def conv_jobs(jobs, fmt="dict", merge_sums=True, trigger_post_process=True):
    """Converts a collection of jobs to another format::Jobs"""
    refuse_empty(jobs)
    return get_jobs(jobs, fmt=fmt, merge_proc_sums=merge_sums)


def get_job_tags(jobs, tag_filter="", fold=True):
    """Returns the tags of jobs, each once::Jobs

    tag_filter: only of jobs with these tags. fold: one dict, in which a key with several values has a set of them."""
    rows = get_jobs(jobs, tags=[tag_filter] if tag_filter else None, fmt="dict")
    tags = unique_dicts(r["tags"] for r in rows)
    return {k: set(v) if isinstance(v, list) else v for k, v in fold_dicts(tags).items()} if fold else tags


def get_features(jobs):
    """Returns the names of the metrics that any of the jobs has::Jobs"""
    rows = get_jobs(jobs, fmt="dict")
    return sorted({k for r in rows for k in r} - set(settings.outlier_features_blacklist))


def comparable_job_partitions(jobs, matching_keys=("exp_name", "exp_component")):
    """Divides jobs into sets that have the same values of tags, the longest total duration first::Jobs

    Returns [((value of each key, ...), [job ids]), ...]; a job without a tag has the value ''."""
    keys = list(matching_keys)
    if _is_nothing(jobs):
        return []
    _check_jobs(jobs)
    found = {}
    for where in _job_filters(jobs) or [""]:
        for group in _bridge.ask("list", "--json", "--by", ",".join(keys), *(["--where", where] if where else [])):
            row = found.setdefault(tuple(group["tags"].get(k) or "" for k in keys), [0, []])
            row[0] += group["duration"] or 0
            row[1] += group["jobs"]
    return [(values, ids) for values, (_, ids) in sorted(found.items(), key=lambda item: -item[1][0])]


def are_jobs_comparable(jobs, matching_keys=("exp_name", "exp_component")):
    """Returns True if all jobs have the same values of these tags::Jobs"""
    return len(comparable_job_partitions(jobs, matching_keys)) == 1


def get_unprocessed_jobs():
    """Returns an empty list: jobs are processed when they are submitted::Jobs"""
    return []


def is_job_post_processed(job):
    """Returns True, as jobs are processed when they are submitted; a job that does not exist is an error::Jobs"""
    get_jobs(job, fmt="terse")
    return True


def post_process_jobs(jobs, check=True):
    """Returns an empty list: there is never anything left to process::Jobs"""
    get_jobs(jobs, fmt="terse")
    return []


def is_job_in_staging(j):
    """Returns False, as there is no staging table; a job that does not exist is an error::Jobs"""
    get_jobs(j, fmt="terse")
    return False


def get_job_staging_ids(j):
    """Returns an empty tuple, as there is no staging table::Jobs"""
    get_jobs(j, fmt="terse")
    return ()


def compute_process_trees(jobs):
    """Does nothing: process trees are computed when jobs are submitted::Jobs"""
    get_jobs(jobs, fmt="terse")


def verify_jobs(jobs):
    """Checks the data of jobs for what cannot be true::Jobs

    Returns (True if all data are plausible, {job id: list of what is not}). See plimsoll-verify(1)."""
    refuse_empty(jobs)
    errors = {}
    # 4: some data are implausible
    for row in _bridge.ask("verify", "--json", "--quiet", "--", *jobids(jobs), accepted=(0, 4)):
        errors.setdefault(row["jobid"], []).append(f"{row['check']}: {row['detail']}")
    return not errors, errors


def delete_jobs(jobs, force=False, before=None, after=None, warn=True, remove_models=False, limit=None, offset=0,
                skip_unprocessed=False, dry_run=False):
    """Removes jobs from the store, and returns how many::Jobs

    [] means all jobs with before or after, and is an error without: it is also what a query without a result returns.
    More than one job needs force=True. Jobs that a reference model was made from are spared unless remove_models=True,
    which removes these models, too."""
    if before is None and after is None and not _is_nothing(jobs) and not _names_jobs(jobs):
        raise ValueError("no job is named; [] means all jobs only with before or after")
    ids = get_jobs(jobs, before=before, after=after, limit=limit, offset=offset, fmt="terse")
    if len(ids) > 1 and not force:
        _bridge.logger.warning("nothing deleted: force=True is needed to delete %d jobs", len(ids))
        return 0
    used = [m for m in get_refmodels(fmt="orm") if set(m.jobids) & set(ids)]
    if used and not remove_models:
        spared = {j for m in used for j in m.jobids} & set(ids)
        _bridge.logger.warning("%d jobs are part of a reference model and stay: %s", len(spared), ", ".join(sorted(spared)))
        ids = [j for j in ids if j not in spared]
    if ids and not dry_run:
        if remove_models and used:
            delete_refmodels(*[m.id for m in used])
        for i in range(0, len(ids), 1000):
            _bridge.run("plimsoll", "delete", "--quiet", "--", *ids[i:i + 1000])
    return len(ids)


def retire_jobs(ndays=None, skip_unprocessed=False, dry_run=False):
    """Removes jobs that ended more than ndays days ago, and returns how many::Jobs

    Nothing is removed for 0 and less. Jobs that a reference model was made from are spared."""
    ndays = settings.retire_jobs_ndays if ndays is None else ndays
    return delete_jobs([], force=True, before=-ndays, dry_run=dry_run) if ndays > 0 else 0


# ---- processes --------------------------------------------------------------------------------------

def get_procs(jobs=(), tags=None, fltr=None, order=None, offset=0, limit=None, when=None, hosts=(), fmt="dict",
              merge_threads_sums=True, exact_tag_only=False):
    """Returns processes that match all conditions, in the order of their start::Processes

    The arguments are those of get_jobs(). merge_threads_sums=False puts sums over threads into the key threads_sums.

    >>> get_procs('685000', fltr=Process.duration > 1000000, order=desc(Process.duration), limit=5, fmt='pandas')
    """
    _check_format(fmt)
    if _is_nothing(jobs):
        return _formed([], fmt, Process)
    if fmt == "orm":
        merge_threads_sums = False
    words = _words(jobs, "processes", tags=tags, fltr=fltr, order=order, limit=limit, offset=offset, when=when,
                   hosts=hosts, exact_tag_only=exact_tag_only, merge_threads_sums=merge_threads_sums)
    if fmt == "terse":
        numbers = _bridge.run("epmt", "list", "procs", "fmt=terse", *words, accepted=(0, 1))
        return ast.literal_eval(numbers.decode()) if numbers.strip() else _no_processes(words)
    return _formed([_bridge.with_times(r) for r in _bridge.listed("procs", *words)], fmt, Process)


def _no_processes(words):
    """Nothing was printed: there is none, or listing them fails with the reason."""
    return [r["id"] for r in _bridge.listed("procs", *words)]


def _merged(row):
    sums = row.get("threads_sums", {})
    return {**{k: v for k, v in row.items() if k != "threads_sums"}, **sums}


def conv_procs(procs, fmt="pandas", order=None):
    """Converts a collection of processes to another format::Processes"""
    refuse_empty(procs)
    _check_format(fmt)
    if _bridge.is_frame(procs):
        numbers = [int(n) for n in procs["id"]]
    else:
        one = [procs] if isinstance(procs, (int, dict, Process)) else list(procs)
        numbers = [p.id if isinstance(p, Process) else p["id"] if isinstance(p, dict) else int(p) for p in one]
    if order is None and fmt == "terse":
        return numbers
    found = {}
    for i in range(0, len(numbers), 500):  # a filter has so many values
        part = get_procs(fltr=Process.id.in_(numbers[i:i + 500]), order=order, fmt="orm")
        found.update((p.id, p) for p in part)
    rows = [found[n] for n in numbers if n in found] if order is None else _ordered(found, order)
    if fmt == "terse":
        return [p.id for p in rows]
    if fmt == "orm":
        return Query(rows)
    return _formed([_merged(p.to_dict()) for p in rows], fmt, Process)


def _ordered(found, order):
    """Several parts are sorted again by one column."""
    text = str(order)
    name = text.removeprefix("desc(").removeprefix("-").rstrip(")").rpartition(".")[2]
    values = {n: _merged(p.to_dict())[name] for n, p in found.items()}
    down = text.startswith(("desc(", "-"))
    return [found[n] for n in sorted(values, key=lambda n: (values[n] is None, values[n]), reverse=down)]


def timeline(jobs, limit=0, fltr=None, when=None, hosts=(), fmt="pandas"):
    """Returns processes in the order of their start::Processes"""
    return get_procs(jobs, fmt=fmt, order=Process.start, limit=limit, fltr=None if isinstance(fltr, str) and not fltr else fltr,
                     when=when, hosts=hosts)


def get_roots(jobs, fmt="dict"):
    """Returns the processes that have no parent within their job::Jobs"""
    refuse_empty(jobs)
    return get_procs(jobs, fltr=Process.parent == None, order=Process.start, fmt=fmt)  # noqa: E711


def root(job, fmt="dict"):
    """Returns the process of a job that started first::Jobs"""
    refuse_empty(job)
    found = get_procs(job, order=Process.start, limit=1, fmt=fmt)
    if not len(found):
        raise _bridge.Error(f"the job {jobids(job)[0]} has no processes")
    return found if fmt == "pandas" else found[0]


def get_thread_metrics(*processes):
    """Returns a DataFrame with one row per thread of processes, given by id or as objects::Threads"""
    if len(processes) == 1 and isinstance(processes[0], (list, tuple)):
        processes = processes[0]
    pd = _bridge.pandas()
    if not processes:
        return pd.DataFrame()
    numbers = [str(p.id if isinstance(p, Process) else int(p)) for p in processes]
    return pd.DataFrame(_bridge.listed("thread_metrics", *numbers))


def job_proc_tags(jobs, exclude=(), tag_filter="", fold=False):
    """Returns the sets of tags that processes of jobs have, each once::Processes

    exclude: keys to leave out. tag_filter: only sets with these tags. fold: one dict with the values of each key."""
    refuse_empty(jobs)
    words = _bridge.literals("jobs", jobids(jobs)) + [f"fold={bool(fold)}"]
    words += [f"exclude={list(exclude)!r}"] if exclude else []
    words += [f"tag_filter={tag_filter}"] if tag_filter else []
    return _bridge.listed("job_proc_tags", *words)


get_job_proc_tags = job_proc_tags


def rank_proc_tags_keys(jobs, order="cardinality", exclude=()):
    """Returns the keys of process tags with their values::Processes

    order: 'cardinality', keys with few values first, or 'frequency', keys of most sets of tags first.
    Returns [(key, set of values), ...]."""
    refuse_empty(jobs)
    if order.lower() not in ("cardinality", "frequency"):
        raise ValueError("order must be 'cardinality' or 'frequency'")
    tags = job_proc_tags(jobs, exclude=exclude)
    values = {k: {t[k] for t in tags if k in t} for k in sorted({k for t in tags for k in t})}
    if order.lower() == "cardinality":
        return sorted(values.items(), key=lambda item: len(item[1]))
    return sorted(values.items(), key=lambda item: -sum(item[0] in t for t in tags))


def _job_filters(jobs):
    """Conditions that select jobs, a limited number each."""
    ids = jobids(jobs)
    return [filter_text(Job.jobid.in_(ids[i:i + 500])) for i in range(0, len(ids), 500)]


def procs_histogram(jobs, attr="exename", metric=""):
    """Returns how many processes have each value of an attribute, or the sum of a metric over them::Processes

    attr: such as exename, path, host or exitcode. Without jobs, of all jobs.

    >>> procs_histogram('685000', metric='cpu_time')
    """
    _check_jobs(jobs)
    words = ["query", "--procs", "--json", "--count-by", Column("processes", attr).key, *(["--sum", metric] if metric else [])]
    found = {}
    for where in _job_filters(jobs) or [""]:
        for r in _bridge.ask(*words, "--", *([where] if where else [])):
            found[r["value"]] = found.get(r["value"], 0) + ((r["sum"] or 0) if metric else r["count"])
    return found


def _check_jobs(jobs):
    """A job that does not exist is an error, not an empty result."""
    if jobids(jobs):
        get_jobs(jobs, fmt="terse")


def procs_set(jobs, attr="exename"):
    """Returns the values that an attribute has in any process of the jobs, sorted::Processes"""
    return sorted(v for v in procs_histogram(jobs, attr) if v is not None)


def add_features_df(jobs_df, features=None, key="jobid"):
    """Adds a column to a table of jobs for each function, which is called with the job's id::Processes

    Without features, procs_histogram and procs_set. Returns (new table, names of the new columns)."""
    features = [procs_histogram, procs_set] if features is None else features
    new = jobs_df.copy()
    for function in features:
        new[function.__name__] = [function(value) for value in jobs_df[key]]
    return new, [f.__name__ for f in features]


# ---- operations -------------------------------------------------------------------------------------

def op_roots(jobs, tag, fmt="dict"):
    """Returns the processes of an operation whose parent is not part of it::Operations

    As with EPMT, processes whose parent is not known are left out; `plimsoll ops --roots` has them."""
    refuse_empty(jobs)
    if not tag:
        raise ValueError("op_roots needs a tag")
    text = [w for t in tags_list(tag) for w in ("--tag", ";".join(f"{k}:{v}" for k, v in t.items()))]
    numbers = [r["process"] for r in _bridge.ask("ops", "--roots", "--json", *text, "--", *jobids(jobs))]
    found = conv_procs(numbers, fmt="orm") if numbers else Query()
    found = sorted((p for p in found if p.depth), key=lambda p: (p.jobid, p.start))
    return conv_procs(Query(found), fmt=fmt) if found else _formed([], fmt, Process)


def get_ops(jobs, tags=(), exact_tag_only=False, combine=False, fmt="dict", op_duration_method="sum", full=False):
    """Returns operations: processes that share a tag::Operations

    tags: one or several; a key alone, such as 'op', stands for all of its values; without any, the key with the fewest
    values. combine: all of them as one operation. op_duration_method: 'sum' of the durations of processes,
    'sum-minus-overlap' or 'finish-minus-start'. full: with processes, intervals and runs."""
    refuse_empty(jobs)
    tags = tags or rank_proc_tags_keys(jobs)[0][0]
    wanted = []
    for tag in tags if isinstance(tags, (list, tuple)) else [tags]:
        if isinstance(tag, str) and ":" not in tag:
            values = job_proc_tags(jobs, fold=True).get(tag, [])
            wanted += [{tag: v} for v in ([values] if isinstance(values, str) else values)]
        else:
            wanted.append(tag_from_string(tag))
    if combine:
        ops = [Operation(jobs, wanted, exact_tag_only, op_duration_method)]
    else:
        there = {str(r["tags"]) for r in _operations.rows(jobs, wanted, exact_tag_only)}
        ops = [Operation(jobs, t, exact_tag_only, op_duration_method) for t in wanted if str(t) in there]
    if fmt == "orm":
        return ops
    rows = [op.to_dict(full) for op in ops]
    return _bridge.pandas().DataFrame(rows) if fmt == "pandas" else rows


def get_op_metrics(jobs, tags=(), exact_tags_only=False, group_by_tag=False, fmt="pandas", op_duration_method="sum"):
    """Returns the metrics of operations, a row for each tag and job::Operations

    group_by_tag: a row for each tag, over all jobs. op_duration_method: see get_ops()."""
    _operations.method(op_duration_method)
    refuse_empty(jobs)
    found = _operations.rows(jobs, tags_list(tags) if tags else None, exact_tags_only, op_duration_method, group_by_tag)
    rows = [_operations.metrics_row(r) for r in found]
    return _bridge.pandas().DataFrame(rows) if fmt == "pandas" else rows


def ops_costs(jobs=(), tags=tuple(DATA_MOVEMENT), metric="cpu_time"):
    """Computes the share of operations in the CPU time or duration of their jobs::Operations

    The default are operations that move data. Returns (percent, table of the operations, sum of the metric over all
    jobs, table of the jobs)."""
    if metric not in ("cpu_time", "duration"):
        raise ValueError("metric must be 'cpu_time' or 'duration'")
    pd = _bridge.pandas()
    ids = jobids(jobs) or get_jobs(fmt="terse")
    sets = tags_list(list(tags) if not isinstance(tags, (str, dict)) else tags)
    words = [w for t in sets for w in ("--tag", ";".join(f"{k}:{v}" for k, v in t.items()))]
    found = _bridge.ask("ops", "--cost", "--json", "--metric", metric, *words, "--", *ids)
    how = "sum-minus-overlap" if metric == "duration" else "sum"
    ops = get_op_metrics(ids, sets, op_duration_method=how, fmt="dict")
    ops.sort(key=lambda r: ids.index(r["jobid"]))
    first = ["jobid", "tags", metric]
    ops = pd.DataFrame(ops, columns=None if ops else first)
    ops = ops[first + [c for c in ops.columns if c not in first + ["job"]]]
    by_job = pd.DataFrame([{"jobid": j["jobid"], f"dm_{metric}": j["value"], f"job_{metric}": j["total"],
                            f"dm_{metric}%": j["percent"]} for j in found["jobs"]])
    return found["percent"], ops, found["total"], by_job
