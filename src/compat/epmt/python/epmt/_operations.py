"""Operations: what `plimsoll ops` prints, in EPMT's shapes."""

from epmt import _bridge
from epmt.epmtlib import merge_intervals, str_dict, tag_from_string, tag_text, tags_list
from epmt.orm import jobids

METHODS = {"sum": "sum", "sum-minus-overlap": "union", "finish-minus-start": "span"}
# of the operation itself, not of its processes
_OWN = {"job", "jobid", "jobs", "operation", "tags", "processes", "images", "cpu_time", "duration", "start", "end", "runs",
        "contiguous", "intervals", "rssmax_sum", "counters", "duration_unknown", "origin"}


def method(name):
    if name not in METHODS:
        raise ValueError(f"op_duration_method must be one of {', '.join(METHODS)}")
    return METHODS[name]


def rows(jobs, tags=None, exact=False, how="sum", total=False):
    """Rows of `plimsoll ops`: of these tags in their order, else of every set of tags; phases, which EPMT does not know, are
    left out."""
    words = ["ops", "--json", "--duration", method(how), *(["--total"] if total else [])]
    if tags and not exact:
        words += [w for t in tags for w in ("--tag", tag_text(t))]
    found = [r for r in _bridge.ask(*words, "--", *jobids(jobs)) if r["origin"] == "tags"]
    if not tags:
        first = {} if total else first_job(found, jobs)
        return sorted(found, key=lambda r: (first.get(str_dict(r["tags"]), 0), str_dict(r["tags"]), r.get("jobid", "")))
    order = {str_dict(t): i for i, t in reversed(list(enumerate(tags)))}
    found = [r for r in found if str_dict(r["tags"]) in order]
    return sorted(found, key=lambda r: (order[str_dict(r["tags"])], r.get("jobid", "")))


def first_job(found, jobs):
    """Of each set of tags the place of the first job that has it: EPMT's rows begin with the tags of the job that started
    first."""
    from epmt import epmt_query
    place = {j: i for i, j in enumerate(epmt_query.get_jobs(jobs, fmt="terse"))}
    first = {}
    for r in found:
        tags = str_dict(r["tags"])
        first[tags] = min(first.get(tags, len(place)), place[r["jobid"]])
    return first


def sums(row):
    """The sums over the processes of an operation, with EPMT's names: its rssmax is a sum over threads."""
    values = {k: v for k, v in row.items() if k not in _OWN}
    values.update(row.get("counters") or {}, rssmax=row["rssmax_sum"], num_procs=row["processes"],
                  numtids=row["numtids"], cpu_time=row["cpu_time"], duration=row["duration"])
    return values


def add(rows_of_sums):
    """Adds up sums by their keys; a duration that is unknown stays out."""
    total = {}
    for row in rows_of_sums:
        for key, value in row.items():
            total[key] = total.get(key, 0) + (value or 0)
    return total


def operation(jobs, tags, exact, how):
    """What an Operation has: one tag, or several as one operation."""
    ids, sets = jobids(jobs), tags_list(tags)
    found = rows(ids, sets, exact, how)
    if not found:
        raise _bridge.Error(f"the jobs have no process with the tags {tags}")
    if len(sets) > 1:
        refuse_shared(ids, sets, exact, found)
    intervals = merge_intervals([i for r in found for i in r["intervals"]])
    total = add(sums(r) for r in found)
    if how == "sum-minus-overlap":
        total["duration"] = sum(end - begin for begin, end in intervals)
    elif how == "finish-minus-start" and intervals:
        total["duration"] = intervals[-1][1] - intervals[0][0]
    return {
        "jobs": ids, "tags": sets[0] if len(sets) == 1 else sets, "exact_tag_only": exact, "op_duration_method": how,
        "proc_sums": total, "duration": total["duration"], "intervals": intervals,
        "start": min((_bridge.moment(r["start"]) for r in found if r["start"]), default=None),
        "finish": max((_bridge.moment(r["end"]) for r in found if r["end"]), default=None),
    }


def refuse_shared(ids, sets, exact, found):
    """Sums of several tags can be added only if no process has two of them."""
    from epmt import epmt_query
    union = epmt_query.get_procs(ids, tags=sets, exact_tag_only=exact, fmt="terse")
    if sum(r["images"] for r in found) != len(union):
        raise _bridge.Error("operations with common processes cannot be combined")


def metrics_row(row):
    values = {**sums(row), "tags": tag_from_string(row["tags"])}
    if "jobid" in row:
        values.update(job=row["jobid"], jobid=row["jobid"])
    return values
