#!/usr/bin/python3
"""Compares functions of the analysis with NumPy, SciPy and scikit-learn.

usage: formulas_check.py PROGRAM numpy|scipy|sklearn

PROGRAM is tests/programs/formulas.c. Each comparison draws its values from a fixed seed. What a library does not have is computed here in
another way than in Plimsoll: by definition, over all pairs or all subsets.
"""
import itertools
import subprocess
import sys

import numpy as np

random = np.random.default_rng(20190614)
requests, expectations = [], []


def ask(kind, x, check):
    """Puts a line to the program, whose answer is given to check."""
    x = np.asarray(x, dtype=float)
    rows = x.reshape(len(x), -1)
    requests.append(" ".join([kind, str(rows.shape[0]), str(rows.shape[1])] + [repr(float(v)) for v in rows.ravel()]))
    expectations.append((kind, x, check))


def near(what, got, want, relative=1e-6, absolute=1e-6):
    if not np.allclose(got, want, rtol=relative, atol=absolute):
        sys.exit(f"{what}: got {got}\nwant {want}")


def run(program):
    answers = subprocess.run([program], input="\n".join(requests) + "\n", capture_output=True, text=True, check=True).stdout.splitlines()
    if len(answers) != len(requests):
        sys.exit(f"{len(answers)} answers to {len(requests)} requests")
    for (kind, x, check), answer in zip(expectations, answers):
        if answer.startswith("error"):
            sys.exit(f"{kind}: {answer} for {x}")
        check(np.array([float(v) for v in answer.split()]))


def samples():
    """Values of many kinds and sizes."""
    for n in (3, 4, 5, 7, 11, 12, 20, 21, 50, 140, 141, 1000, 5000):
        yield random.normal(5e8, 1e6, n)
        yield random.uniform(-3, 9, n)
        yield random.exponential(1000, n)
        yield np.concatenate([random.normal(0, 1, n - n // 3), random.normal(8, 1, n // 3)])
        yield np.round(random.normal(0, 4, n)) + np.arange(n) % 2


def cloud(n, d):
    x = random.normal(0, 1, (n, d)) @ random.normal(0, 1, (d, d)) * 1000 + 5000
    x[3] += 30000
    return x


# ---- NumPy: by definition ----------------------------------------------------------------------------------------------------------


def scores(method):
    for v in samples():
        if method == "z":
            want, kept = np.abs((v - v.mean().round(4)) / v.std().round(4)), (v.mean(), v.std())
        elif method == "madz":
            deviation = np.median(np.abs(v - np.median(v)))
            want, kept = 0.6745 * np.abs(v - np.median(v)) / deviation, (np.median(v), deviation)
        else:
            low, high = np.percentile(v, [25, 75])
            want = (v < low - 1.5 * (high - low)) | (v > high + 1.5 * (high - low))
            kept = (3 * v.max() + 5 * v.min()) / 8, (5 * v.max() + 3 * v.min()) / 8

        def check(got, want=want, kept=kept):
            near(method, got[:-3], want, 1e-9, 1.01e-4)
            # rounded outwards, so that the jobs of the model stay inside
            near(method + " of a model", got[-2:], kept, 1e-9, 2e-4)

        ask(method, v, check)


def neighbours():
    for n, d in ((6, 1), (10, 2), (40, 5)):
        x = cloud(n, d)
        distances = np.sqrt(((x[:, None] - x[None]) ** 2).sum(2))
        ask("knn", x, lambda got, want=np.sort(distances, 1)[:, 4]: near("knn", got, want, 1e-9, 1e-4))


def histograms():
    for n, d in ((10, 2), (40, 5)):
        x = cloud(n, d)
        want = np.zeros(n)
        for c in range(d):
            density, edges = np.histogram(x[:, c], bins=10, density=True)
            bins = np.clip(np.digitize(x[:, c], edges, right=True) - 1, 0, 9)
            want -= np.log2(density[bins] + 0.1)
        ask("hbos", x, lambda got, want=want: near("hbos", got, want, 1e-9, 1e-4))


def components():
    for n, d in ((10, 2), (40, 5), (6, 9)):
        x = cloud(n, d)
        z = (x - x.mean(0)) / x.std(0)
        u, s, _ = np.linalg.svd(z, full_matrices=False)
        keep = s > 1e-9

        def check(got, k=len(s), want=u * s, shares=s * s / (s * s).sum(), keep=keep):
            near("shares of variance", got[:k], shares, 1e-9, 1e-12)
            near("principal components", np.abs(got[k:].reshape(-1, k))[:, keep], np.abs(want)[:, keep], 1e-7, 1e-7)

        ask("components", x, check)


def smallest_determinant(x):
    """Squared distances by the minimum covariance determinant, over all subsets of the rows."""
    n, d = x.shape
    half = -(-(n + d + 1) // 2)
    best = min(itertools.combinations(range(n), half), key=lambda rows: np.linalg.det(np.cov(x[list(rows)].T, bias=True)))

    def distances(rows):
        mean, inverse = x[rows].mean(0), np.linalg.inv(np.cov(x[rows].T, bias=True))
        return np.einsum("ij,jk,ik->i", x - mean, inverse, x - mean)

    # median and 97.5 % of the distribution of chi square
    median, limit = {2: (1.3862943611, 7.3777589082), 3: (2.3659738844, 9.3484036045)}[d]
    raw = distances(list(best))
    return distances(np.flatnonzero(raw / (np.median(raw) / median) < limit))


def covariances():
    for n, d in ((8, 2), (12, 2), (12, 3), (13, 3)):
        for _ in range(4):
            x = cloud(n, d)
            ask("mcd", x, lambda got, want=smallest_determinant(x): near("mcd", got, want, 1e-6, 1e-4))


def best_clusters(v, k):
    """The least sum of squares of k clusters, and their silhouette, over all boundaries."""
    def spread(part):
        return ((part - part.mean()) ** 2).sum()

    v = np.sort(v)
    cuts = min(itertools.combinations(range(1, len(v)), k - 1), key=lambda c: sum(spread(p) for p in np.split(v, c)))
    parts = np.split(v, cuts)
    values = []
    for i, own in enumerate(parts):
        for x in own:
            inside = np.abs(own - x).sum() / max(1, len(own) - 1)
            outside = min((np.abs(p - x).mean() for j, p in enumerate(parts) if j != i), default=0)
            values.append((outside - inside) / max(inside, outside) if len(own) > 1 else 0)
    return sum(spread(p) for p in parts), np.mean(values), [p.mean() for p in parts]


def modes_by_definition(v):
    scaled = (v - v.min()) / (v.max() - v.min())
    found = [best_clusters(scaled, k) for k in range(1, 10)]
    cost = np.array([f[0] for f in found])
    above = (cost[0] - cost) / (cost[0] - cost[-1]) - np.arange(9) / 8
    peaks = [i for i in range(9) if above[i] >= above[max(i - 1, 0)] and above[i] >= above[min(i + 1, 8)]]
    lows = [i for i in range(9) if above[i] <= above[max(i - 1, 0)] and above[i] <= above[min(i + 1, 8)]]
    elbow, limit = 0, None
    for i in range(peaks[0], 8):
        if i in peaks:
            at, limit = i, above[i] - 1 / 8
        if i in lows:
            limit = 0
        if above[i + 1] < limit:
            elbow = at
            break
    count = elbow + 1 if elbow and np.argmax([f[1] for f in found[1:]]) + 2 == elbow + 1 else 1
    return np.array(found[count - 1][2]) * (v.max() - v.min()) + v.min()


def modes():
    for centers in ([5], [0, 50], [0, 50, 90]):
        for _ in range(3):
            v = np.concatenate([random.normal(c, 2, 5) for c in centers for _ in range(1 + (len(centers) < 3))])[:12]
            ask("modes", v, lambda got, want=modes_by_definition(v): near("modes", got, want, 1e-9, 1e-9))


def modes_of_many():
    # the values of EPMT's own test
    np.random.seed(1)
    n = 100
    for sizes in ((1.0,), (0.3, 0.7), (0.3, 0.3, 0.4)):
        v = np.concatenate([np.random.normal(5 * i, 1, int(s * n)) for i, s in enumerate(sizes)])

        def check(got, want=[5 * i for i in range(len(sizes))]):
            if list(got.round(0)) != want:
                sys.exit(f"modes: got {got}, want about {want}")

        ask("modes", v, check)


# ---- SciPy -------------------------------------------------------------------------------------------------------------------------


def tests_of_distributions():
    from scipy import stats

    for v in samples():
        v = v * 1.0
        norm = [stats.shapiro(v), stats.kstest(v, "norm", (v.mean(), v.std()))]
        if len(v) > 20:
            norm.append(stats.normaltest(v))
        uniform = stats.kstest(v, "uniform", (v.min(), v.max() - v.min()))
        passed = [t[1] > 0.05 for t in norm]
        want = 1 if sum(passed) > len(passed) / 2 else 2 if uniform[1] > 0.05 else 0

        def check(got, n=len(v), want=want, tests=norm[:2] + [norm[2] if len(norm) > 2 else (0, 0), uniform]):
            got = got.reshape(4, 4)
            if got[0, 0] != want or list(got[:, 1]) != [1, 1, n > 20, 1]:
                sys.exit(f"distribution of {n} values: got {got}, want {want}")
            # SciPy computes Shapiro and Wilk's test with 24 bits
            near(f"shapiro of {n}", got[0, 2:], tests[0], 0, 2e-3 if n < 1000 else 1e-2)
            near(f"ks normal of {n}", got[1, 2:], tests[1], 1e-6, 2e-6)
            near(f"dagostino of {n}", got[2, 2:], tests[2], 1e-6, 1e-9)
            near(f"ks uniform of {n}", got[3, 2:], tests[3], 1e-6, 2e-6)

        ask("distribution", v, check)


def chains():
    """COF by its definition, with distances of SciPy."""
    from scipy.spatial.distance import cdist

    x = cloud(30, 3)
    distances = cdist(x, x)
    k = 20
    paths = [[i] + [j for j in np.argsort(distances[i], kind="stable") if j != i][:k] for i in range(len(x))]
    chain = [sum(2 * (k - j) / (k * (k + 1)) * distances[p[j + 1], p[: j + 1]].min() for j in range(k)) for p in paths]
    want = [chain[i] * k / sum(chain[j] for j in paths[i][1:]) for i in range(len(x))]
    ask("cof", x, lambda got: near("cof", got, want, 1e-9, 1e-4))


def boundary():
    """The one-class support vector machine as a quadratic problem."""
    from scipy.optimize import minimize
    from scipy.spatial.distance import cdist

    x = cloud(20, 2) / 3000
    kernel = np.exp(-cdist(x, x) ** 2 / 2)
    n = len(x)
    start = np.full(n, 0.5)
    found = minimize(lambda a: a @ kernel @ a / 2, start, jac=lambda a: kernel @ a, method="SLSQP", bounds=[(0, 1)] * n,
                     constraints={"type": "eq", "fun": lambda a: a.sum() - n / 2, "jac": lambda a: np.ones(n)}, options={"ftol": 1e-14, "maxiter": 1000}).x
    inside = (found > 1e-5) & (found < 1 - 1e-5)
    want = (kernel @ found)[inside].mean() - kernel @ found
    ask("ocsvm", x, lambda got: near("ocsvm", got, want, 1e-3, 5e-4))


# ---- scikit-learn ------------------------------------------------------------------------------------------------------------------


def detectors_of_sklearn():
    from sklearn.covariance import MinCovDet
    from sklearn.decomposition import PCA
    from sklearn.ensemble import IsolationForest
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import OneClassSVM

    for n, d in ((20, 1), (20, 2), (60, 4)):
        x = cloud(n, d)
        # with one feature, MinCovDet takes the middle of the shortest half of the values, which is another estimate
        if d > 1:
            # its random search can miss the smallest determinant; one of some does not
            fits = [MinCovDet(random_state=seed).fit(x) for seed in range(100)]
            best = min(fits, key=lambda fit: np.linalg.det(np.cov(x[fit.raw_support_].T)))
            ask("mcd", x, lambda got, want=best.mahalanobis(x): near("mcd", got, want, 1e-4, 1e-3))
        want = NearestNeighbors(n_neighbors=5).fit(x).kneighbors(x)[0][:, 4]
        ask("knn", x, lambda got, want=want: near("knn", got, want, 1e-9, 1e-4))
        z = x / 3000
        want = -OneClassSVM(gamma="auto", tol=1e-8).fit(z).decision_function(z)
        ask("ocsvm", z, lambda got, want=want: near("ocsvm", got, want, 1e-3, 5e-4))
    x = cloud(40, 5)
    pca = PCA().fit(StandardScaler().fit_transform(x))
    ask("components", x, lambda got: near("shares of variance", got[:5], pca.explained_variance_ratio_, 1e-9, 1e-12))
    forest = IsolationForest(random_state=0).fit(x)
    order = np.argsort(forest.score_samples(x))

    def check(got):
        if np.argmax(got) != order[0] or np.corrcoef(got, -forest.score_samples(x))[0, 1] < 0.9:
            sys.exit(f"iforest: got {got}, want the order of {-forest.score_samples(x)}")

    ask("iforest", x, check)


COMPARISONS = {
    "numpy": [lambda: scores("z"), lambda: scores("madz"), lambda: scores("iqr"), neighbours, histograms, components, covariances, modes, modes_of_many],
    "scipy": [tests_of_distributions, chains, boundary],
    "sklearn": [detectors_of_sklearn],
}

if __name__ == "__main__":
    for comparison in COMPARISONS[sys.argv[2]]:
        comparison()
    run(sys.argv[1])
    print(len(requests), "comparisons")
