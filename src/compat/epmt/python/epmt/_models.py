"""Reference models; part of epmt_query. The id of a model is its name."""

import datetime

from epmt import _bridge
from epmt import epmt_settings as settings
from epmt import epmt_stat
from epmt.epmtlib import tag_from_string, tag_text, tags_list
from epmt.orm import Query, ReferenceModel, jobids, refuse_empty


def method_words(methods):
    """--methods for classifiers: functions, objects of PyOD or names."""
    names = [epmt_stat._name(m) for m in methods]
    return ["--methods", ",".join(names)] if names else []


def feature_words(features):
    return ["--features", "all" if not features or features == "*" else ",".join(features)]


def name_of(model):
    """The name of a model that is given by its id, as an object or as a dict."""
    name = getattr(model, "id", None) or (model["id"] if isinstance(model, dict) else model)
    if isinstance(name, int):  # of a model that EPMT made
        return next((m["name"] for m in _models() if m["id"] == name), str(name))
    return str(name)


def _models(name=None):
    names = [m["name"] for m in _bridge.ask("model", "list", "--json")]
    rows = [dict(_bridge.ask("model", "show", "--json", "--", n), name=n) for n in names if name in (None, n)]
    return [_bridge.with_times({"id": r["name"], "op_tags": [], "tags": {}, "info_dict": {}, **r}) for r in rows]


def _formed(rows, fmt):
    if fmt == "terse":
        return [r["id"] for r in rows]
    if fmt == "orm":
        return Query(ReferenceModel(dict(r, jobids=r["jobs"])) for r in rows)
    return _bridge.pandas().DataFrame(rows) if fmt == "pandas" else rows


def _is_after(row, limit):
    """Was a model made after a time: datetime, Unix time, days before now?"""
    if isinstance(limit, int) and limit <= 0:
        limit = datetime.datetime.now() + datetime.timedelta(days=limit)
    elif isinstance(limit, (int, float)):
        limit = datetime.datetime.fromtimestamp(limit)
    elif isinstance(limit, str):
        limit = datetime.datetime.strptime(limit, "%m/%d/%Y %H:%M")
    return row["created_at"] >= limit


def get_refmodels(name=None, tag=None, fltr=None, limit=0, order=None, before=None, after=None, exact_tag_only=False,
                  merge_nested_fields=True, fmt="dict"):
    """Returns reference models::Reference Models

    name: the model with this name. tag: with at least these tags. fltr: a function that is called with each model.
    before, after: made then; as for get_jobs(). order: a key. merge_nested_fields: what was computed is among the keys
    instead of in the key computed; not for objects."""
    wanted = tag_from_string(tag) if tag else {}
    rows = [r for r in _models(name)
            if (r["tags"] == wanted if exact_tag_only and wanted else r["tags"].items() >= wanted.items())
            and (before is None or not _is_after(r, before)) and (after is None or _is_after(r, after))]
    if fltr:
        rows = [r for r, m in zip(rows, _formed(rows, "orm")) if fltr(m)]
    if order:
        rows.sort(key=lambda r: r[str(order)])
    rows = rows[:limit or None]
    if merge_nested_fields and fmt in ("dict", "pandas"):
        rows = [{**{k: v for k, v in r.items() if k != "computed"}, **r["computed"]} for r in rows]
    return _formed(rows, fmt)


def _free_name():
    taken = {m["name"] for m in _bridge.ask("model", "list", "--json")}
    return next(n for n in (f"refmodel-{i}" for i in range(1, len(taken) + 2)) if n not in taken)


def create_refmodel(jobs, name=None, tag=None, op_tags=(), methods=(), features=None, exact_tag_only=False, fmt="dict",
                    sanity_check=True, enabled=True, pca=False):
    """Makes a reference model of at least 3 jobs::Reference Models

    name: how it is called; without one it gets a name. tag: jobs that it is for. op_tags: a model of these operations;
    '*': of all. methods: classifiers of epmt_stat, one feature each, or those of mvod_classifiers(). features: names of
    metrics; '*' or []: all. A model does not keep principal components: detect_outlier_jobs() computes them with pca."""
    refuse_empty(jobs)
    from epmt import epmt_query
    if sanity_check and not epmt_query.are_jobs_comparable(jobs):
        _bridge.logger.warning('The jobs do not share identical tag values for "exp_name" and "exp_component"')
    name = name or _free_name()
    features = settings.outlier_features if features is None else features
    words = ["model", "create", "--json", *feature_words(features), *method_words(methods or epmt_stat.uvod_classifiers())]
    words += [w for k, v in tag_from_string(tag or {}).items() for w in ("--tag", f"{k}:{v}")]
    if op_tags == "*":
        words.append("--ops")
    else:
        words += [w for t in tags_list(op_tags) for w in ("--op", tag_text(t))]
    _bridge.run("plimsoll", *words, "--", name, *jobids(jobs))
    if not enabled:
        _bridge.run("plimsoll", "model", "disable", "--", name)
    made = get_refmodels(name=name, merge_nested_fields=False, fmt="orm" if fmt == "orm" else "dict")[0]
    if fmt == "terse":
        return made["id"]
    return _bridge.pandas().Series(made) if fmt == "pandas" else made


def delete_refmodels(*ref_ids):
    """Removes reference models, and returns how many::Reference Models"""
    ids = ref_ids[0] if len(ref_ids) == 1 and isinstance(ref_ids[0], (list, tuple)) else ref_ids
    for model in ids:
        _bridge.run("plimsoll", "model", "delete", "--", name_of(model))
    return len(ids)


def refmodel_set_enabled(ref_id, enabled=False):
    """Enables or disables a reference model, and returns it::Reference Models"""
    _bridge.run("plimsoll", "model", "enable" if enabled else "disable", "--", name_of(ref_id))
    return ReferenceModel[name_of(ref_id)]


def refmodel_is_enabled(ref_id):
    """Returns True if a reference model is enabled::Reference Models"""
    return ReferenceModel[name_of(ref_id)].enabled


def refmodel_get_metrics(model, active_only=False):
    """Returns the set of metrics that a model has, or of those that are in use::Reference Models"""
    row = ReferenceModel[name_of(model)]
    parts = list(row.computed.values()) if row.op_tags else [row.computed]
    found = {f for part in parts for features in part.values() for names in features for f in names.split(",")}
    active = (row.info_dict or {}).get("active_metrics")
    return found & set(active) if active_only and active else found


def refmodel_set_active_metrics(ref_id, metrics):
    """Sets the metrics of a model that are used, and returns them::Reference Models

    Metrics that the model does not have are left out with a warning."""
    name = name_of(ref_id)
    known = refmodel_get_metrics(name)
    unknown = [m for m in metrics if m not in known]
    if unknown:
        _bridge.logger.warning("the model does not have %s", ", ".join(map(str, unknown)))
    active = sorted(set(metrics) & known)
    if not active:
        raise ValueError("no metric is left; a model uses at least one")
    _bridge.run("plimsoll", "model", "features", "--features", ",".join(active), "--", name)
    return active


def retire_refmodels(ndays=None, dry_run=False):
    """Removes models that were made more than ndays days ago, and returns how many::Reference Models

    Nothing is removed for 0 and less."""
    ndays = settings.retire_models_ndays if ndays is None else ndays
    if ndays <= 0:
        return 0
    dry = ["--dry-run"] if dry_run else []
    return len(_bridge.ask("model", "retire", "--json", "--older-than", f"{ndays}d", *dry))
