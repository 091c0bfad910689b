"""Outliers among jobs, operations, processes and threads; principal components; root causes.

The work is done by `plimsoll outliers` and `plimsoll rca`. Tables that are given as DataFrames are examined as they are;
jobs that are given by id are read from the store. Results are DataFrames.
"""

import json

from epmt import _bridge
from epmt import epmt_query as eq
from epmt import epmt_settings as settings
from epmt import epmt_stat as es
from epmt._models import feature_words, method_words, name_of
from epmt.epmtlib import tag_text, tags_list
from epmt.orm import ReferenceModel, jobids, refuse_empty

FEATURES = settings.outlier_features
_SHORT = {"modified_z_score": "madz", "z_score": "z"}


# ---- what the arguments mean ------------------------------------------------------------------------

def _methods(methods):
    methods = list(methods or es.uvod_classifiers())
    one, several = es.partition_classifiers_uv_mv(methods)
    if one and several:
        raise ValueError("classifiers of one feature and of all features cannot be mixed")
    return methods, bool(several)


def _threshold_words(thresholds):
    limits = thresholds if thresholds is not None else settings.outlier_thresholds
    pairs = [f"{_SHORT[n]}={v}" for n, v in limits.items() if n in _SHORT]
    return ["--thresholds", ",".join(pairs)] if pairs else []


def _pca_words(pca):
    return [] if not pca else ["--pca" if pca is True else f"--pca={pca}"]


def _features(features):
    return FEATURES if features is None else features


def _model_words(model, several, pca, features):
    """--model; features that the model lacks are left out, as EPMT does it."""
    if model is None:
        if several:
            raise ValueError("multivariate classifiers need a trained model")
        return [], features
    if several and pca:
        raise ValueError("multivariate classifiers cannot be used with pca")
    name = name_of(model)
    if not ReferenceModel[name].enabled:
        raise RuntimeError("the trained model is disabled; refmodel_set_enabled() enables it")
    known = eq.refmodel_get_metrics(name, active_only=True)
    if features and features != "*" and not pca:
        features = [f for f in features if f in known]
    return ["--model", name], features


def _of_model(methods, model):
    """Classifiers that the model has; with those that it lacks, nothing can be compared."""
    if model is None:
        return methods
    row = ReferenceModel[name_of(model)]
    names = {n for part in (row.computed.values() if row.op_tags else [row.computed]) for n in part}
    found = [m for m in methods if es.get_classifier_name(m) in names]
    if not found:
        raise RuntimeError(f"the trained model has none of the classifiers; it has {', '.join(sorted(names))}")
    return found


def _frame(rows, front, names):
    """A table with the counts of each row."""
    pd = _bridge.pandas()
    return pd.DataFrame([[r[f] for f in front] + [r["counts"][n] for n in names] for r in rows], columns=front + names)


def _warn_incomparable(jobs):
    if not eq.are_jobs_comparable(jobs):
        _bridge.logger.warning('The jobs do not share identical tag values for "exp_name" and "exp_component"')


# ---- jobs -------------------------------------------------------------------------------------------

def partition_jobs(jobs, features=None, methods=None, thresholds=None):
    """Divides jobs into two sets by each feature: the usual ones and the outliers::Outlier Detection

    Returns {feature: (set of usual jobs, set of outliers)}."""
    return detect_outlier_jobs(jobs, features=features, methods=methods, thresholds=thresholds)[1]


def detect_outlier_jobs(jobs, trained_model=None, features=None, methods=None, thresholds=None, sanity_check=True,
                        pca=False):
    """Finds jobs that are unlike the others, or unlike those of a model::Outlier Detection

    trained_model: a reference model; without one at least 4 jobs are needed. features: metrics; [] or '*': all.
    methods: classifiers of epmt_stat. thresholds: scores above which a value is an outlier. pca: compare by principal
    components: True, their number, or the share of the variance that they explain.

    Returns (table, partitions): how many methods flag each job by each feature, and {feature: (usual jobs, outliers)}.
    With multivariate classifiers (table with a column outlier, {classifier: list of 0 and 1})."""
    refuse_empty(jobs)
    methods, several = _methods(methods)
    model, features = _model_words(trained_model, several, pca, _features(features))
    methods = methods if pca else _of_model(methods, trained_model)
    if _bridge.is_frame(jobs):
        return _detect_in_frame(jobs, trained_model, features, methods, thresholds, pca)
    if not model and len(jobids(jobs)) < 4:
        raise RuntimeError("Too few jobs to do outlier detection. Need at least 4!")
    if sanity_check:
        _warn_incomparable(jobs)
    words = ["outliers", "--json", *feature_words(features), *method_words(methods), *_threshold_words(thresholds)]
    found = _bridge.ask(*words, *model, *_pca_words(pca), "--", *jobids(jobs))
    if several:
        return _several_of_jobs(found)
    table = _frame(found["jobs"], ["jobid"], found["features"])
    if pca:
        table.insert(1, "pca_weighted", [j["pca_weighted"] for j in found["jobs"]])
    return table, _partitions(found["partitions"])


def _partitions(parts):
    return {f: (set(p["reference"]), set(p["outliers"])) for f, p in parts.items()}


def _several_of_jobs(found):
    names = [n for n in found["features"] if n != "outlier"]
    return (_frame(found["jobs"], ["jobid"], ["outlier"]),
            {f"pyod.models.{n}": [j["counts"][n] for j in found["jobs"]] for n in names})


def _detect_in_frame(table, model, features, methods, thresholds, pca):
    if model is None and len(table) < 4:
        raise RuntimeError("Too few jobs to do outlier detection. Need at least 4!")
    features = sanitize_features(features, table, model)
    ratios = []
    if pca:
        table, ratios, features, _ = pca_feature_combine(table, features, 0.85 if pca is True else pca)
    computed = ReferenceModel[name_of(model)].computed if model is not None and not pca else {}
    counts = _count(table, features, methods, thresholds, computed)
    counts.insert(0, "jobid", list(table["jobid"]))
    parts = {f: (set(counts[counts[f] == 0]["jobid"]), set(counts[counts[f] > 0]["jobid"])) for f in features}
    return (_pca_weighted_score(counts, features, ratios)[0] if pca else counts), parts


def _count(table, features, methods, thresholds, computed):
    """How many methods flag each value of a table."""
    pd = _bridge.pandas()
    counts = pd.DataFrame(0, columns=features, index=range(len(table)))
    limits = thresholds if thresholds is not None else settings.outlier_thresholds
    for m in methods:
        kept = computed.get(es.get_classifier_name(m), {})
        params = [kept.get(f, ()) for f in features]
        for f, p, found in zip(features, params, es.scores_of(m, [table[f] for f in features], params)):
            limit = p[0] if p else limits.get(es.get_classifier_name(m), 0)
            counts[f] += [int(s > limit) for s in found[0]]
    return counts


# ---- operations -------------------------------------------------------------------------------------

def partition_jobs_by_ops(jobs, tags=None, features=None, methods=None, thresholds=None):
    """Divides jobs into usual ones and outliers by each operation::Outlier Detection

    Returns {tag as JSON: (set of usual jobs, set of outliers)}."""
    methods = methods or [es.modified_z_score]
    return detect_outlier_ops(jobs, tags, features=features, methods=methods, thresholds=thresholds)[1]


def detect_outlier_ops(jobs, tags=None, trained_model=None, features=None, methods=None, thresholds=None,
                       sanity_check=True, pca=False):
    """Finds operations that are unlike the same operation of other jobs, or of a model::Outlier Detection

    tags: the operations; without any, all. The other arguments are those of detect_outlier_jobs().

    Returns (table, {tag: (usual jobs, outliers)}, table of scores above the thresholds, tags, features), tags and
    features with the highest scores first; False if no process has the tags. With pca the table alone; with multivariate
    classifiers (table with a column outlier, {tag: {classifier: list of 0 and 1}})."""
    refuse_empty(jobs)
    methods, several = _methods(methods)
    model, features = _model_words(trained_model, several, pca, _features(features))
    methods = methods if pca else _of_model(methods, trained_model)
    if not model and len(jobids(jobs)) < 4:
        raise RuntimeError("Too few jobs to do outlier detection. Need at least 4!")
    if sanity_check:
        _warn_incomparable(jobs)
    wanted = _operations_there(jobs, tags_list(tags)) if tags else []
    if tags and not wanted:
        return False
    words = [w for t in wanted for w in ("--op", tag_text(t))] or ["--ops"]
    words += [*feature_words(features), *method_words(methods), *_threshold_words(thresholds), *model, *_pca_words(pca)]
    found = _bridge.ask("outliers", "--json", *words, "--", *jobids(jobs))
    rows = found["operations"]
    if several:
        return _several_of_operations(found)
    table = _frame(rows, ["jobid", "tags"], found["features"])
    if pca:
        table.insert(2, "pca_weighted", [r["pca_weighted"] for r in rows])
        return table
    return _ranked(table, found)


def _operations_there(jobs, tags):
    there = [r["tags"] for r in eq.get_op_metrics(jobs, tags, fmt="dict")]
    return [t for t in tags if t in there]


def _by_tags(rows):
    groups = {}
    for row in rows:
        groups.setdefault(json.dumps(row["tags"], sort_keys=True), []).append(row)
    return groups


def _several_of_operations(found):
    names = [n for n in found["features"] if n != "outlier"]
    return (_frame(found["operations"], ["jobid", "tags"], ["outlier"]),
            {t: {f"pyod.models.{n}": [r["counts"][n] for r in rows] for n in names}
             for t, rows in _by_tags(found["operations"]).items()})


def _ranked(table, found):
    pd, features = _bridge.pandas(), found["features"]
    groups = _by_tags(found["operations"])
    ranked = [json.dumps(row["tags"], sort_keys=True) for row in found["scores"]]
    scores = pd.DataFrame([[t] + [round(_number(row[f]), 3) for f in features] for t, row in zip(ranked, found["scores"])],
                          columns=["tags"] + features)
    parts = {}
    for tag, rows in groups.items():
        flagged = {r["jobid"] for r in rows if any(r["counts"].values())}
        parts[tag] = ({r["jobid"] for r in rows} - flagged, flagged)
    return table, parts, scores, [row["tags"] for row in found["scores"]], features


# ---- tables of anything -----------------------------------------------------------------------------

def detect_outliers(df, features=None, methods=None):
    """Finds outliers among the rows of a table::Outlier Detection

    Returns a table with how many methods flag each value; features: its columns; without any, all columns of df."""
    refuse_empty(df)
    methods, several = _methods(methods)
    if several:
        raise ValueError("detect_outliers takes classifiers of one feature")
    counts = _count(df, list(features or df.columns), methods, None, {})
    counts.index = df.index
    return counts


def detect_outlier_processes(processes, features=None, methods=None):
    """Finds outliers in a table of processes, by duration and cpu_time::Outlier Detection"""
    return detect_outliers(processes, features or ["duration", "cpu_time"], methods)


def detect_outlier_threads(threads, features=None, methods=None):
    """Finds outliers in a table of threads, by usertime, systemtime and rssmax::Outlier Detection"""
    return detect_outliers(threads, features or ["usertime", "systemtime", "rssmax"], methods)


# ---- root causes ------------------------------------------------------------------------------------

def detect_rootcause(jobs, inp, features=None, methods=None):
    """Ranks the metrics of a job by how far they are from a reference::RCA

    jobs: the reference: jobs, or the id of a model. inp: one job. Returns (True, table of statistics and scores with a
    column for each feature, [(feature, ratio), ...]), the highest ratio first."""
    return _root_cause(jobs, inp, (), features, methods)


def detect_rootcause_op(jobs, inp, tag, features=None, methods=None):
    """Ranks the metrics of an operation of a job by how far they are from a reference::RCA

    The arguments and the result are those of detect_rootcause(); tag selects the operation."""
    if not tag:
        return False, None, None
    return _root_cause(jobs, inp, ["--op", tag_text(tag)], features, methods)


def _root_cause(jobs, inp, words, features, methods):
    pd = _bridge.pandas()
    refuse_empty(inp)
    methods = list(methods or [es.modified_z_score])
    if _bridge.is_frame(jobs) and not words:
        return es.rca(jobs, inp if _bridge.is_frame(inp) else eq.conv_jobs(inp, fmt="pandas"), _features(features), methods)
    if isinstance(jobs, (int, ReferenceModel)) or (isinstance(jobs, str) and jobs in eq.get_refmodels(fmt="terse")):
        jobs = ReferenceModel[name_of(jobs)].jobs
    refuse_empty(jobs)
    # --ref is a list in one word; ids with commas cannot stand in it
    ids = jobids(jobs)
    if any("," in j for j in ids):
        raise _bridge.Error("a job id with a comma cannot be part of a reference")
    found = _bridge.ask("rca", "--json", *words, *feature_words(_features(features)), *method_words(methods), "--ref",
                        ",".join(ids), "--", *jobids(inp))
    if len(found) != 1:
        raise ValueError("root causes are those of one job")
    causes = found[0]["causes"]
    table = pd.DataFrame({c["feature"]: _cause_column(c) for c in causes})
    return True, table, [(c["feature"], _number(c["ratio"])) for c in causes]


def _number(value):
    return float(value) if isinstance(value, str) else value


def _cause_column(cause):
    column = {**cause["reference"], "input": cause["value"]}
    long = {short: name for name, short in _SHORT.items()}
    for short, m in cause["methods"].items():
        name = long.get(short, short)
        column.update({f"ref_max_{name}": _number(m["reference_max"]), name: _number(m["score"]),
                       f"{name}_ratio": _number(m["ratio"])})
    return column


# ---- principal components ---------------------------------------------------------------------------

def pca_feature_combine(inp_df, inp_features=None, desired=2, retain_features=False):
    """Replaces the features of a table by principal components::Data Reduction

    desired: how many, or below 1 the share of the variance that they explain together. retain_features keeps the
    features, too. Returns (table, shares of the variance, names of the components, table of loadings)."""
    if not _bridge.is_frame(inp_df):
        raise TypeError("pca_feature_combine takes a DataFrame")
    pd = _bridge.pandas()
    features = sanitize_features(inp_features or [], inp_df)
    scores, found = es.pca_stat(inp_df[features].values.tolist(), desired)
    names = [f"pca_{i + 1:02d}" for i in range(len(found.explained_variance_ratio_))]
    out = pd.DataFrame(scores, columns=names, index=inp_df.index)
    kept = sorted(c for c in inp_df.columns if c != "jobid" and (retain_features or c not in features))
    for column in kept:
        out[column] = inp_df[column]
    if "jobid" in inp_df.columns:
        out.insert(0, "jobid", inp_df["jobid"])
    return out, found.explained_variance_ratio_, names, pd.DataFrame(found.components_, columns=features)


def get_feature_distributions(jobs, features=None):
    """Returns the distribution of each feature of jobs: 'norm', 'uniform' or 'unknown'::Jobs

    features: names; without any, all. A feature with one value for all jobs is 'unknown', as with EPMT."""
    refuse_empty(jobs)
    words = [] if not features or features == "*" else feature_words(features)
    found = _bridge.ask("features", "--json", *words, "--", *jobids(jobs))
    names = {"normal": "norm", "uniform": "uniform"}
    return {f["feature"]: names.get(f["distribution"], "unknown") for f in sorted(found, key=lambda f: f["feature"])}


def _pca_weighted_score(pca_df, pca_features, variances, index=1):
    """Adds a column with the flags of components, weighted by their variance."""
    weights = [round(v / min(variances), 2) for v in variances]
    scores = [round(sum(f * w for f, w in zip(row, weights)), 1) for row in pca_df[pca_features].values.tolist()]
    out = pca_df.copy()
    out.insert(index, "pca_weighted", scores)
    return out, _bridge.array(scores)


def pca_feature_rank(jobs, inp_features=None):
    """Ranks features by their weight in the first two principal components::Data Reduction

    Returns (table with the loadings of both components and the weight, [(feature, weight), ...])."""
    table = jobs if _bridge.is_frame(jobs) else eq.conv_jobs(jobs, fmt="pandas")
    _, variances, _, loadings = pca_feature_combine(table, inp_features)
    weights = [v / sum(variances) for v in variances]
    ranked = es.dframe_append_weighted_row(loadings, weights, use_abs=True)
    order = sorted(ranked.columns, key=lambda c: (-ranked[c].iloc[-1], c))
    ranked = ranked[order].round(4)
    return ranked, list(zip(order, ranked.iloc[-1]))


def feature_scatter_plot(jobs, features=None, outfile="", annotate=False):
    """Draws jobs by two features, or by two principal components of more::Outlier Detection

    features: all that every job has unless given. outfile: a PNG, PDF or SVG file to write. annotate: with the id at
    each point. Returns the axes of matplotlib, whose collections are labelled with the jobs; needs matplotlib."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise _bridge.Error("plots need matplotlib: `apt install python3-matplotlib`") from error
    table = jobs if _bridge.is_frame(jobs) else eq.get_jobs(jobs, fmt="pandas")
    if not features or features == "*":
        features = [c for c in table.columns if not table[c].isnull().any()]
    features = sanitize_features(features, table)
    label = ""
    if len(features) > 2:
        table, ratios, features, _ = pca_feature_combine(table, features, 2)
        label = f" (weight: {ratios[0] / ratios[1]:.1f})" if ratios[1] else ""
    if len(features) != 2:
        raise ValueError("a plot needs two features")
    ax = plt.subplots(figsize=(8, 5), layout="constrained")[1]
    for jobid, x, y in zip(table["jobid"], table[features[0]], table[features[1]]):
        ax.scatter([x], [y], label=str(jobid).replace("$", r"\$"))
        if annotate:
            ax.annotate(str(jobid).replace("$", r"\$"), (x, y), textcoords="offset points", xytext=(5, 4), fontsize=8)
    ax.set_xlabel(features[0] + label)
    ax.set_ylabel(features[1])
    ax.grid(True, alpha=0.25)
    if len(table) <= 12 and not annotate:
        ax.legend(fontsize=8)
    if outfile:
        ax.figure.savefig(outfile)
    return ax


def sanitize_features(f, df, model=None):
    """Returns the features that a table has as numbers, and the model has::Miscellaneous

    f: names; [] or '*': all columns."""
    pd = _bridge.pandas()
    names = set(df.columns) if not f or f == "*" else set(f) & set(df.columns)
    if model is not None:
        names &= eq.refmodel_get_metrics(model, active_only=True)
    names -= set(settings.outlier_features_blacklist)
    features = sorted(n for n in names if pd.api.types.is_numeric_dtype(df[n]) and df[n].dtype != bool)
    features = [n for n in features if not df[n].isnull().all()]
    unknown = [n for n in features if df[n].isnull().any()]
    if unknown:
        raise ValueError(f"the columns {', '.join(unknown)} have at least one NaN each")
    if not features:
        raise RuntimeError("Need a non-empty list of features for outlier detection")
    return features
