"""Statistics of numbers: scores, outliers, principal components, distributions.

The formulas are those of `plimsoll outliers`, which computes them; see plimsoll-outliers(1). Vectors are lists or
one-dimensional arrays, results are arrays where NumPy is installed.
"""

import sys

from epmt import _bridge
from epmt import epmt_settings as settings
from epmt._bridge import array

thresholds = settings.outlier_thresholds


def _name(function):
    """EPMT's name of a classifier; a text is one."""
    return function if isinstance(function, str) else get_classifier_name(function)


def get_classifier_name(c):
    """Returns the name of a classifier::Statistics

    A function has its own name; an object of PyOD the name of its module, such as pyod.models.cof."""
    for attribute in ("__name__", "__module__"):
        if hasattr(c, attribute):
            return getattr(c, attribute)
    raise ValueError(f"{c!r} is not a classifier")


def is_classifier_mv(c):
    """Returns True if a classifier looks at all features together::Statistics"""
    return _name(c).startswith("pyod.")


def partition_classifiers_uv_mv(classifiers):
    """Divides classifiers into two sets: of one feature, and of all features together::Statistics"""
    several = {c for c in classifiers if is_classifier_mv(c)}
    return set(classifiers) - several, several


def scores_of(method, columns, params=None):
    """Returns what z_score(), iqr() or modified_z_score() return, for many vectors at once::Statistics

    columns: list of vectors; params: for each of them what a model keeps of it, or an empty tuple."""
    request = {"method": _name(method), "columns": [list(c) for c in columns],
               "params": [list(p) if p else None for p in params or [()] * len(columns)]}
    return [(array(c["scores"]), c["max"], c["center"], c["spread"]) for c in _bridge.stat(**request)]


def z_score(ys, params=()):
    """Computes z-scores: |y - mean| / standard deviation of the population::Statistics

    params: (highest score, mean, deviation) of a model, which replace those of ys.
    Returns (scores, highest score, mean, standard deviation), rounded to four decimals.

    >>> max_score, mean, deviation = z_score([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1000])[1:]
    >>> max_score, mean, deviation
    (3.1621, 95.9091, 285.9118)
    """
    return scores_of("z_score", [ys], [params])[0]


def iqr(ys, params=()):
    """Finds values outside of the quartiles by more than 1.5 times their distance::Statistics

    params: (0, Q1, Q3) of a model, which replace the quartiles of ys.
    Returns (mask, 0, Q1, Q3): mask has 1 for outliers; Q1 and Q3 are such that ys as a model just fit.

    >>> mask, _, q1, q3 = iqr([1, 2, 3, 4, 3, 2, 1, 10])
    >>> list(mask), q1, q3
    ([0, 0, 0, 0, 0, 0, 0, 1], 4.375, 6.625)
    """
    mask, highest, q1, q3 = scores_of("iqr", [ys], [params])[0]
    return array([int(s) for s in mask]), int(highest), q1, q3


def modified_z_score(ys, params=()):
    """Computes modified z-scores: 0.6745 |y - median| / median absolute deviation::Statistics

    params: (highest score, median, deviation) of a model, which replace those of ys.
    Returns (scores, highest score, median, deviation). If the median absolute deviation is 0, it is the mean one."""
    return scores_of("modified_z_score", [ys], [params])[0]


def _mask(scores, threshold):
    return array([int(s > threshold) for s in scores])


def outliers_iqr(ys):
    """Returns 1 for each outlier by iqr(), else 0::Statistics"""
    return iqr(ys)[0]


def outliers_modified_z_score(ys, threshold=None):
    """Returns 1 for each value whose modified z-score is above the threshold, else 0::Statistics"""
    return _mask(modified_z_score(ys)[0], thresholds["modified_z_score"] if threshold is None else threshold)


def outliers_z_score(ys, threshold=None):
    """Returns 1 for each value whose z-score is above the threshold, else 0::Statistics"""
    return _mask(z_score(ys)[0], thresholds["z_score"] if threshold is None else threshold)


def outliers_uv(ys, methods=None):
    """Returns for each value how many methods find it an outlier::Statistics

    methods: functions that return masks; outliers_iqr, outliers_z_score and outliers_modified_z_score by default.

    >>> list(outliers_uv([1, 2, 1, 1, 1, 1, 2, 1, 0, 2, 100, 100]))
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2]
    """
    if methods is None:
        methods = [outliers_iqr, outliers_z_score, outliers_modified_z_score]
    if not methods:
        raise ValueError("methods needs one or more classifiers")
    return array([sum(int(f) for f in flags) for flags in zip(*(m(ys) for m in methods))])


def uvod_classifiers():
    """Returns the univariate classifiers that the settings name::Statistics"""
    return [getattr(sys.modules[__name__], name) for name in settings.univariate_classifiers]


class Detector:
    """A multivariate detector, under the name that PyOD has for it."""

    def __init__(self, name):
        self.__name__ = f"pyod.models.{name}"

    def __repr__(self):
        return self.__name__


def mvod_classifiers(contamination=0.1, warnopts="ignore"):
    """Returns the multivariate classifiers::Statistics

    They are built in: PyOD is not needed. contamination has no effect, as scores do not depend on it."""
    return [Detector(n) for n in ("abod", "knn", "mcd", "cof", "hbos", "pca", "ocsvm")]


def mvod_scores(X=None, classifiers=None, warnopts="ignore"):
    """Scores the rows of a table by multivariate classifiers::Statistics

    Returns ({name: scores}, {name: highest score}) of the classifiers that can score these rows; False if none can."""
    if X is None:
        raise ValueError("mvod_scores needs rows of numbers")
    rows, scores = [list(r) for r in X], {}
    for c in classifiers or mvod_classifiers():
        try:
            scores[_name(c)] = array(_bridge.stat(method=_name(c), rows=rows))
        except _bridge.Error as error:
            _bridge.logger.warning("cannot score by %s: %s", _name(c), error)
    return (scores, {n: float(max(s)) for n, s in scores.items()}) if scores else False


def mvod_scores_using_model(inp, model_inp, classifier, threshold=None):
    """Scores each row as one more row of a model::Statistics

    With a threshold the result has 1 for scores above it, else 0."""
    scores = _bridge.stat(method=_name(classifier), rows=[list(r) for r in model_inp], more=[list(r) for r in inp])
    return array(scores) if threshold is None else _mask(scores, threshold)


def rca(ref, inp, features, methods=None):
    """Ranks features by how far an input is from a reference::Statistics

    ref: DataFrame of reference rows; inp: Series or DataFrame with one row; features: names, or '*'.
    Returns (True, table of the statistics and scores of each feature, [(feature, ratio), ...]), the highest ratio
    first; (False, None, None) if there is nothing to compare."""
    pd = _bridge.pandas()
    if ref.empty or inp.empty:
        return False, None, None
    row = inp if isinstance(inp, pd.Series) else inp.iloc[0]
    if not features or features == "*":
        features = [f for f in row.index if f in ref.columns and pd.api.types.is_numeric_dtype(ref[f])]
    names = [_name(m) for m in methods or [modified_z_score]]
    found = _bridge.stat(method="rca", methods=names, columns=[list(ref[f]) for f in features],
                         values=[row[f] for f in features])
    ratios = {f: sum(c[n + "_ratio"] for n in names) for f, c in zip(features, found)}
    ranked = sorted(features, key=lambda f: -ratios[f])
    return True, pd.DataFrame(dict(zip(features, found)))[ranked], [(f, ratios[f]) for f in ranked]


def check_finite(values):
    """Returns True if no value is NaN or infinite::Statistics"""
    return all(v == v and abs(v) != float("inf") for v in values)


class Components:
    """What pca_stat() found: components_ has the loadings, explained_variance_ratio_ the shares of the variance."""

    def __init__(self, loadings, ratios):
        self.components_, self.explained_variance_ratio_ = array(loadings), array(ratios)


def pca_stat(inp_features, desired=2):
    """Finds principal components of standardized features::Statistics

    inp_features: rows of numbers; desired: the number of components, or below 1 the share of the variance that they
    explain together. Returns (rows of components, Components)."""
    found = _bridge.stat(method="components", rows=[list(r) for r in inp_features])
    ratios, count = found["ratios"], int(desired)
    if desired < 1:
        count = next((i for i in range(1, len(ratios)) if sum(ratios[:i]) >= desired), len(ratios))
    count = min(count, len(ratios))
    return array([r[:count] for r in found["scores"]]), Components(found["loadings"][:count], ratios[:count])


# the tests of each distribution, as the program calls them
_TESTS = {"norm": ("shapiro_wilk", "kolmogorov_smirnov_normal", "dagostino_k2"), "uniform": ("kolmogorov_smirnov_uniform",)}


def check_dist(data=None, dist="norm", alpha=0.05):
    """Tests whether values have a normal ('norm') or uniform distribution::Statistics

    Returns (number of tests that passed, number that failed); a test passes if its p value is above alpha. Values that
    are all equal are not tested."""
    if dist not in _TESTS:
        raise ValueError(f"dist must be one of {', '.join(_TESTS)}")
    if data is None or not len(data):
        raise ValueError("check_dist needs values")
    found = _bridge.stat(method="distribution", values=list(data))
    passed = [found[t] > alpha for t in _TESTS[dist] if t in found]
    return sum(passed), len(passed) - sum(passed)


def get_modes(X, max_modes=10):
    """Returns the modes of values: the centers of their clusters, the smallest first::Statistics

    At least 10 values are needed, and there are at most 9 modes: max_modes cannot be another than 10."""
    if max_modes != 10:
        raise ValueError("max_modes must be 10: up to 9 modes are looked for")
    return array(_bridge.stat(method="modes", values=list(X)))


def _columns(v):
    """Rows as columns, and whether v was a vector."""
    rows = [r if hasattr(r, "__len__") else [r] for r in v]
    return list(zip(*rows)), not hasattr(v[0], "__len__")


def _rows(columns, vector):
    return array(list(columns[0]) if vector else [list(r) for r in zip(*columns)])


def normalize(v, min_=0, max_=1):
    """Scales each column of a table to the range from min_ to max_::Statistics"""
    columns, vector = _columns(v)
    spans = [(min(c), (max(c) - min(c)) or 1) for c in columns]
    return _rows([[min_ + (x - low) / span * (max_ - min_) for x in c] for c, (low, span) in zip(columns, spans)],
                 vector)


def standardize(v):
    """Scales each column of a table to mean 0 and standard deviation 1::Statistics"""
    columns, vector = _columns(v)
    means = [sum(c) / len(c) for c in columns]
    deviations = [(sum((x - m) ** 2 for x in c) / len(c)) ** 0.5 for c, m in zip(columns, means)]
    return _rows([[(x - m) / d if d else float("nan") for x in c] for c, m, d in zip(columns, means, deviations)],
                 vector)


def dframe_append_weighted_row(df, weights, ignore_index=True, use_abs=False):
    """Appends a row with the weighted sum of each column to a DataFrame::Statistics"""
    if len(df) != len(weights):
        raise ValueError("every row needs one weight")
    pd = _bridge.pandas()
    sums = [sum((abs(v) if use_abs else v) * w for v, w in zip(df[c], weights)) for c in df.columns]
    return pd.concat([df, pd.DataFrame([sums], columns=df.columns)], ignore_index=ignore_index)


def dict_outliers(dlist, labels=None, threshold=2.0):
    """Finds dicts with a value far from the mean of its key::Statistics

    Far is more than threshold standard deviations. Returns (set of labels, {key: labels}); a label is the number of the
    dict in dlist unless labels has others."""
    labels = list(labels) if labels else list(range(len(dlist)))
    by_key = {}
    for key in {k: None for d in dlist for k in d}:
        having = [(label, d[key]) for label, d in zip(labels, dlist) if key in d]
        values = [v for _, v in having]
        mean = sum(values) / len(values)
        limit = threshold * (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
        far = [label for label, v in having if abs(v - mean) > limit]
        if far:
            by_key[key] = far
    return {label for found in by_key.values() for label in found}, by_key
