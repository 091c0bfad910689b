"""Experiments: jobs with the tag exp_name, by component (exp_component) and time segment (exp_time)."""

from collections import OrderedDict

from epmt import _bridge
from epmt._bridge import array
from epmt.orm import Job, jobids

EXPECTED_SEGMENTS = range(18540101, 20190101, 50000)


def _explored(exp_name, *words, jobs=()):
    return _bridge.ask("explore", "--json", *words, "--", f"exp_name:{exp_name}", *jobids(jobs))


def exp_component_outliers(exp_name, metric="duration", op=sum, limit=10):
    """Returns the components of an experiment, the largest sum of a metric first::Experiments

    op: function of the values of a component to sort by. Each component has exp_component, exp_times, jobids, metrics
    and outlier_scores: how many methods find a job an outlier among those of its component."""
    groups = _explored(exp_name, "--metric", metric, "--limit", "1000000")["groups"]
    found = [{"exp_component": g["group"], "exp_times": [j["segment"] for j in g["jobs"]],
              "jobids": [j["jobid"] for j in g["jobs"]], "metrics": array([j["value"] for j in g["jobs"]]),
              "outlier_scores": array([len(j["outlier"]) for j in g["jobs"]])} for g in groups]
    return sorted(found, key=lambda g: -op(g["metrics"]))[:limit]


def exp_time_segment_stats(exp_name, metric="duration"):
    """Returns an ordered dict with the jobs and their values of each time segment::Experiments"""
    groups = _explored(exp_name, "--metric", metric, "--limit", "1000000")
    values = {j["jobid"]: (j["segment"], j["value"]) for g in groups["groups"] for j in g["jobs"]}
    segments = OrderedDict()
    from epmt import epmt_query
    for jobid in epmt_query.get_jobs(tags={"exp_name": exp_name}, fmt="terse"):  # in the order of their start
        segment, value = values.get(jobid, ("", None))
        if segment:
            row = segments.setdefault(segment, {"jobids": [], "metrics": []})
            row["jobids"].append(jobid)
            row["metrics"].append(value)
    return segments


def exp_explore(exp_name, metric="duration", op=sum, limit=10):
    """Prints the components and time segments of an experiment, and returns True::Experiments"""
    words = ["explore", "--metric", metric or "duration", "--limit", str(limit or 10), "--", exp_name]
    print(_bridge.run("epmt", *words).decode("utf-8", "replace"), end="")
    return True


def find_missing_time_segments(exp_name, jobs=None, components=None, time_segments=EXPECTED_SEGMENTS):
    """Finds time segments that components of an experiment lack::Experiments

    jobs, components: look at these only. time_segments: numbers that every component should have.
    Prints and returns {component: missing segments}, without components that lack none."""
    wanted = sorted(time_segments)
    words = [w for c in components or () for w in ("--group", str(c))]
    expect = ["--expect", ",".join(str(t) for t in wanted)] if wanted else []
    groups = _explored(exp_name, *words, *expect, "--limit", "1000000", jobs=jobs or ())["groups"]
    missing = {g["group"]: [int(t) for t in g["missing"]] for g in groups if g["missing"]}
    for component in sorted(missing):
        print(f"{component} is missing {missing[component]}")
    return {c: missing[c] for c in sorted(missing)}


def exp_find_jobs(exp_name, components=None, exp_times=None, failed=None, **kwargs):
    """Finds jobs of an experiment::Experiments

    components, exp_times: any of these. failed: True for jobs that failed, False for those that did not. Other arguments
    are those of get_jobs(); fmt is 'terse' by default."""
    from epmt import epmt_query
    tags = [{"exp_name": exp_name}]
    if components:
        tags = [dict(t, exp_component=str(c)) for t in tags for c in components]
    if exp_times:
        tags = [dict(t, exp_time=str(e)) for t in tags for e in exp_times]
    kwargs.setdefault("tags", tags)
    if failed is not None:
        if "fltr" in kwargs:
            raise ValueError("give either fltr or failed")
        kwargs["fltr"] = Job.exitcode != 0 if failed else Job.exitcode == 0
    return epmt_query.get_jobs(**{"fmt": "terse", **kwargs})
