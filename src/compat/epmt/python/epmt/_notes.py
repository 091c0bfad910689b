"""Tags, annotations and the status of jobs; part of epmt_query."""

import json

from epmt import _bridge
from epmt.epmtlib import tag_from_string
from epmt.orm import jobids, refuse_empty


def _job(job):
    """The row of one job."""
    from epmt import epmt_query
    ids = jobids(job if not isinstance(job, str) else [job])
    found = epmt_query.get_jobs(ids, fmt="dict") if ids else []
    if len(found) != 1:
        raise _bridge.Error(f"'{job}' does not name exactly one job")
    return found[0]


def get_job_status(jobid):
    """Returns how a job ended: exit_code, exit_reason, and the script if it is known::Jobs"""
    return _job(jobid)["info_dict"].get("status", {})


def tag_job(jobid, tag, replace=False):
    """Sets tags of a job, and returns all that it has now::Jobs

    replace: the new tags are the only ones."""
    name = _job(jobid)["jobid"]
    pairs = [f"{k}:{v}" for k, v in tag_from_string(tag).items()]
    if pairs or replace:
        _bridge.run("plimsoll", "tag", *(["--clear"] if replace else []), "--", name, *pairs)
    return _job(name)["tags"]


def annotate_job(jobid, annotation, replace=False):
    """Adds annotations to a job, and returns all that it has now::Jobs

    annotation: a dict, or "key:value;key:value". replace: the new annotations are the only ones."""
    name = _job(jobid)["jobid"]
    notes = tag_from_string(annotation) if isinstance(annotation, str) else dict(annotation)
    wrong = next((k for k in notes if "=" in str(k) or not str(k).strip()), None)
    if wrong is not None:
        raise ValueError(f"an annotation cannot have the key {wrong!r}")
    if "=" in name:
        raise _bridge.Error(f"the job '{name}' cannot be annotated: its id looks like KEY=VALUE")
    pairs = [f"{k}={json.dumps(v)}" for k, v in notes.items()]
    if pairs or replace:
        # a directory of the name of the job would be annotated instead
        _bridge.run("plimsoll", "annotate", "--json", *(["--clear"] if replace else []), "--", name, *pairs, cwd="/")
    return _job(name)["annotations"]


def get_job_annotations(jobid):
    """Returns the annotations of a job::Jobs"""
    return _job(jobid)["annotations"]


def remove_job_annotations(jobid):
    """Removes all annotations of a job, and returns an empty dict::Jobs"""
    return annotate_job(jobid, {}, True)


# ---- analyses ---------------------------------------------------------------------------------------

def get_job_analyses(jobid):
    """Returns what analyses found of a job::Jobs"""
    return _bridge.ask("analyses", "--json", "--", _job(jobid)["jobid"])


def set_job_analyses(jobid, analyses, replace=False, size_limit=64 * 1024):
    """Adds analyses to a job, and returns all that it has now; False if they are too large::Jobs

    analyses: a dict. replace: the new analyses are the only ones. size_limit: bytes of all as JSON; more than 64 KiB are
    never stored."""
    name = _job(jobid)["jobid"]
    wrong = next((k for k in analyses if "=" in str(k) or not str(k)), None)
    if wrong is not None:
        raise ValueError(f"an analysis cannot have the name {wrong!r}")
    together = {**({} if replace else get_job_analyses(name)), **analyses}
    if len(json.dumps(together)) > (size_limit or 64 * 1024):
        _bridge.logger.error("the analyses have more than %d bytes", size_limit or 64 * 1024)
        return False
    pairs = [f"{k}={json.dumps(v)}" for k, v in analyses.items()]
    if pairs or replace:
        _bridge.run("plimsoll", "analyses", *(["--clear"] if replace else []), "--", name, *pairs)
    return get_job_analyses(name)


def remove_job_analyses(jobid):
    """Removes all analyses of a job, and returns an empty dict::Jobs"""
    return set_job_analyses(jobid, {}, True)


def get_unanalyzed_jobs(jobs=(), analyses_filter=None, fmt="terse"):
    """Returns jobs without any analysis, or with the analyses of analyses_filter::Jobs"""
    from epmt import epmt_query
    return epmt_query.get_jobs(jobs, analyses=analyses_filter or {}, fmt=fmt)


def _analyse(jobs, *words):
    # 4: some jobs are outliers
    return _bridge.ask("analyze", "--json", "--quiet", *words, "--", *jobids(jobs), accepted=(0, 4))["jobs"]


def analyze_jobs(jobs, analyses_filter=None, max_comparable=50, check=True):
    """Compares jobs with the models that are for them, or with jobs like them, and stores what is found::Jobs

    Jobs that were analysed before are left out unless check=False. Jobs that cannot be compared yet stay unanalysed; at
    most 50 are compared at once. Returns lists of the jobs that were analysed, one per set of comparable jobs."""
    from epmt import epmt_query
    refuse_empty(jobs)
    done = [j["jobid"] for j in _analyse(jobs, *([] if check else ["--again"]))]
    return [ids for _, ids in epmt_query.comparable_job_partitions(done)] if done else []


def analyze_comparable_jobs(jobids, check_comparable=True, keys=("exp_name", "exp_component")):
    """Analyses jobs that are alike by the tags with these keys, and returns the number of analyses of each::Jobs"""
    refuse_empty(jobids)
    return max((len(j["results"]) for j in _analyse(jobids, "--again", "--keys", " ".join(keys))), default=0)
