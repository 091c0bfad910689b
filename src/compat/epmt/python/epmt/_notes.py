"""Tags, annotations and the status of jobs; part of epmt_query."""

import json

from epmt import _bridge
from epmt.epmtlib import tag_from_string
from epmt.orm import jobids


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
    pairs = [f"{k}={v if isinstance(v, bool) or v is None else json.dumps(v)}" for k, v in notes.items()]
    if pairs or replace:
        _bridge.run("plimsoll", "annotate", *(["--clear"] if replace else []), "--", name, *pairs)
    return _job(name)["annotations"]


def get_job_annotations(jobid):
    """Returns the annotations of a job::Jobs"""
    return _job(jobid)["annotations"]


def remove_job_annotations(jobid):
    """Removes all annotations of a job, and returns an empty dict::Jobs"""
    return annotate_job(jobid, {}, True)
