"""What EPMT's own tests expect of its sample data, asked with its own calls.

    epmt_expected_check.py jobs        data/epmt/query: 685000, 685003, 685016
    epmt_expected_check.py kernels     data/epmt/outliers: four builds of a kernel

Columns that the files have as 0 because nobody measured them (processor, guest_time, delayacct_blkio_time) are absent here,
so that tables have three columns fewer than EPMT's.
"""
import datetime
import hashlib
import sys

import numpy as np
import pandas as pd

import epmt.epmt_exp_explore as exp
import epmt.epmt_outliers as eod
import epmt.epmt_query as eq
import epmt.epmt_settings as settings
import epmt.epmt_stat as es
from epmt.epmtlib import encode2ints, merge_intervals
from epmt.orm import Job, Operation, Process, orm_get
from epmt_api_check import equal, near, raises

JOBS = ["685016", "685003", "685000"]
K0, K1, KX, K3 = KERNELS = ["kern-6656-20190614-190245", "kern-6656-20190614-191138", "kern-6656-20190614-192044-outlier",
                            "kern-6656-20190614-194024"]


# ---- queries ----------------------------------------------------------------------------------------

def jobs_and_processes():
    equal(eq.get_jobs(JOBS, fmt="terse", order=eq.desc(Job.start), limit=2, offset=1), ["685003", "685000"])
    equal(eq.get_jobs(JOBS, fltr=(Job.jobid != "685000"), fmt="orm").count(), 2)
    equal(eq.get_jobs(JOBS, tags=["ocn_res:0.5l75;exp_component:ocean_cobalt_fdet_100",
                                  "ocn_res:0.5l75;exp_component:ocean_annual_rho2_1x1deg"], fmt="terse"), ["685000", "685003"])
    equal(eq.get_jobs(JOBS, order=eq.desc(Job.duration), limit=1, fmt="pandas").loc[0, "jobid"], "685016")
    for when, found in (("08", sorted(JOBS)), ("07", []), ("09", sorted(JOBS)), ("10", [])):
        equal(eq.get_jobs(JOBS, when=f"06/15/2019 {when}:00", fmt="terse"), found)
    equal(eq.get_jobs(JOBS, when=orm_get(Job, "685003"), fmt="terse"), sorted(JOBS))
    equal(eq.get_jobs(JOBS, hosts="pp208", when="06/15/2019 08:00", fmt="terse"), ["685000"])
    equal((eq.get_jobs(JOBS, before="06/15/2019 00:00", fmt="terse"), eq.get_jobs(JOBS, after=-30, fmt="terse")), ([], []))
    equal((len(eq.get_procs(["685016"], fmt="terse")), eq.get_procs(["685016", "685000"], fmt="orm").count()), (3412, 6892))
    found = eq.get_procs(JOBS, fltr=(Process.duration > 1000000), order=eq.desc(Process.duration), fmt="orm")
    equal((found.count(), int(found.first().duration)), (630, 7005558348))
    for hosts, count in ((["pp208", "pp212"], 7265), (["pp212"], 3785), (["pp209"], 0)):
        equal(len(eq.get_procs(["685000", "685003"], hosts=hosts, fmt="terse")), count)
    found = eq.get_procs(JOBS, tags={"op_sequence": 4}, fltr=(Process.duration > 10000000), order=eq.desc(Process.duration), fmt="orm")
    equal((found.count(), int(found.first().duration), len(found.first().descendants)), (2, 207384313, 85))
    equal(len(eq.get_procs(JOBS, tags=["op_sequence:4", "op_sequence:5"], fmt="terse")), 555)
    equal({p["pid"] for p in eq.get_procs("685000", when=datetime.datetime(2019, 6, 15, 7, 53))}, {6098, 6226})
    equal([p.start for p in eq.timeline(JOBS, limit=2, fmt="orm")],
          [datetime.datetime(2019, 6, 15, 7, 52, 4, 126892), datetime.datetime(2019, 6, 15, 7, 52, 4, 133795)])
    equal(eq.root("685016")["pid"], 122181)
    equal([p.pid for p in eq.get_roots(["685000", "685003"], fmt="orm")][:8], [6098, 29001, 31171, 31291, 10015, 10168, 32139, 11002])


def tree():
    p = eq.get_procs(fltr=(Process.pid == 6098), fmt="orm").first()
    for related, count, md5 in ((p.children, 735, "32c538b6313427ebd7a634ca1ea36de0"), (p.descendants, 3448, "f0dfe011c0df53e3329324a2ca8f9b3e")):
        text = ", ".join(sorted(str(r.pid) for r in related))
        equal((len(related), hashlib.md5(text.encode()).hexdigest()), (count, md5))
    p = eq.get_procs(fltr=(Process.pid == 26860), fmt="orm").first()
    equal((p.parent.pid, {a.pid for a in p.ancestors}), (26859, {6098, 26859}))
    equal(eq.get_procs("685000", fmt="orm", order=eq.desc(Process.start), limit=1)[0].depth, 3)


def operations():
    table = eq.get_op_metrics(["685000", "685016"])
    equal(table.shape[0], 178)
    top = table.sort_values("duration", ascending=False).iloc[0]
    equal((top.tags, top.duration), ({"op_instance": "2", "op_sequence": "89", "op": "dmput"}, 7008334182))
    table = eq.get_op_metrics(["685000", "685016"], op_duration_method="sum-minus-overlap")
    equal(table["duration"].max(), 7005558348)
    for method in ("sum-minus-overlap", "finish-minus-start"):
        table = eq.get_op_metrics(["685000", "685016"], tags="op_sequence:89", op_duration_method=method)
        equal(list(table.duration), [6460188134, 7005558348])
    table = eq.get_op_metrics(["685000", "685003", "685016"])
    equal((table.shape[0], list(table.cpu_time)[:5]), (573, [1207637, 1268652, 1225636, 1263656, 1315618]))
    table = eq.get_op_metrics(["685000", "685003", "685016"], tags=["op:hsmget", "op:mv"])
    equal(list(table.cpu_time), [53934101, 31337553, 123305670, 2799492, 20996147, 6496944])
    table = eq.get_op_metrics(["685000", "685003", "685016"], group_by_tag=True)
    equal((table.shape[0], list(table.cpu_time)[:4]), (459, [2476289, 2489292, 472905, 462906]))
    equal(table.tags[0], {"op_instance": "11", "op_sequence": "66", "op": "cp"})
    op = Operation(["685000"], {"op": "timavg"})
    equal((op.duration, op.proc_sums["rssmax"], op.proc_sums["PERF_COUNT_SW_CPU_CLOCK"], op.proc_sums["numtids"]),
          (41388496, 7854752, 17547070414, 62))
    op = Operation(["685000"], {"op": "timavg"}, op_duration_method="sum-minus-overlap")
    equal((op.duration, op.num_runs()), (21033390, 11))
    equal(set(op.to_dict()), {"jobs", "proc_sums", "duration", "tags", "exact_tag_only", "start", "finish", "op_duration_method"})
    for method, durations in (("sum", (67847274, 4787122)), ("sum-minus-overlap", (36053215, 4773815)), ("finish-minus-start", (232727177, 131928185))):
        ops = eq.get_ops(["685000", "685003"], tags=["op:timavg", "op:ncks"], op_duration_method=method)
        equal(tuple(o["duration"] for o in ops), durations)
    one = eq.get_ops(["685000", "685003"], tags="op", combine=True)[0]["proc_sums"]
    equal((one["num_procs"], one["numtids"]), (7111, 7544))
    equal({p.pid for p in eq.op_roots(["685000", "685003"], "op_sequence:4", fmt="orm")}, {11023, 11185, 11187, 32160, 32328, 32330})
    raises(ValueError, eq.op_roots, [], "op_sequence:4", fmt="orm")
    percent, table, total, by_job = eq.ops_costs(eq.get_jobs(["685000", "685003", "685016"], fmt="orm"))
    equal((percent, total, table.shape[0]), (43.157, 633756327, 17))
    equal(list(by_job["dm_cpu_time"]), [69603181, 61358737, 142548435])
    equal(list(by_job["dm_cpu_time%"]), [62, 66, 33])
    equal(list(by_job["job_cpu_time"]), [113135329, 93538033, 427082965])


def others():
    tags = eq.get_job_tags(JOBS, tag_filter="exp_name:ESM4_historical_D151;exp_time:18840101")
    equal((tags["atm_res"], tags["exp_component"]), ("c96l49", {"ocean_month_rho2_1x1deg", "ocean_annual_rho2_1x1deg", "ocean_cobalt_fdet_100"}))
    equal(len(eq.job_proc_tags(["685000", "685016"])), 89)
    equal(eq.rank_proc_tags_keys(["685000"])[0], ("op", {"ncatted", "ncrcat", "dmput", "fregrid", "rm", "timavg", "hsmget", "mv", "cp", "splitvars", "untar"}))
    equal(sorted(eq.comparable_job_partitions(JOBS), key=lambda v: v[1][0]),
          [(("ESM4_historical_D151", "ocean_annual_rho2_1x1deg"), ["685000"]), (("ESM4_historical_D151", "ocean_cobalt_fdet_100"), ["685003"]),
           (("ESM4_historical_D151", "ocean_month_rho2_1x1deg"), ["685016"])])
    equal(eq.are_jobs_comparable(JOBS), False)
    counts = eq.procs_histogram(["685000", "685003"])
    equal((counts["tcsh"], counts["perl"], counts["grep"], sum(counts.values())), (1990, 184, 181, 7265))
    sums = eq.procs_histogram(["685000", "685003"], metric="cpu_time")
    equal((sums["tcsh"], sums["mkdir"], sums["cat"]), (10895503, 228932, 151946))
    names = eq.procs_set(["685000", "685003"])
    equal((len(names), names[:5]), (56, ["TAVG.exe", "arch", "basename", "bash", "cat"]))
    equal(eq.procs_set(["685000", "685003"], attr="host_id"), ["pp208", "pp212"])
    right, errors = eq.verify_jobs("685000")
    equal((right, "4 images" in errors["685000"][0], "rdtsc_duration" in errors["685000"][0]), (False, True, True))
    equal(eq.get_job_status("685000")["script_name"], "ESM4_historical_D151_ocean_annual_rho2_1x1deg_18840101")
    missing = exp.find_missing_time_segments("ESM4_historical_D151", jobs=["685000", "685003"], time_segments=range(18540101, 20140101, 50000))
    wanted = [t for t in range(18540101, 20140101, 50000) if t != 18840101]
    equal((missing, len(wanted)), ({"ocean_annual_rho2_1x1deg": wanted, "ocean_cobalt_fdet_100": wanted}, 31))
    both = ["ocean_annual_rho2_1x1deg", "ocean_cobalt_fdet_100"]
    equal(set(exp.exp_find_jobs("ESM4_historical_D151", components=both, exp_times=["18540101", "18840101"], jobs=["685000", "685003"], failed=False)),
          {"685000", "685003"})
    equal(exp.exp_find_jobs("ESM4_historical_D151", components=both, exp_times=["18840101"], failed=True), [])


def numbers():
    equal(list(es.outliers_iqr([100, 100, 100, 45, 100])), [0, 0, 0, 1, 0])
    mask, _, q1, q3 = es.iqr([1, 2, 3, 4, 3, 2, 1, 10])
    equal((list(mask), q1, q3), ([0] * 7 + [1], 4.375, 6.625))
    equal(es.z_score([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1000])[1:], (3.1621, 95.9091, 285.9118))
    equal(list(es.outliers_uv([1, 2, 1, 1, 1, 1, 2, 1, 0, 2, 100, 100])), [0] * 10 + [2, 2])
    equal(list(es.outliers_uv([1, 2, 1, 1, 1, 1, 2, 1, 0, 2, 100])), [0] * 10 + [3])
    np.random.seed(1)
    for values, dist, passes in ((range(100), "norm", False), (range(100), "uniform", True), (np.linspace(-15, 15, 100), "norm", False),
                                 (np.linspace(-15, 15, 100), "uniform", True), (np.random.randn(100), "norm", True), (np.random.randn(100), "uniform", False)):
        passed, failed = es.check_dist(values, dist)
        equal((dist, passed > failed), (dist, passes))
    near(es.normalize(np.array([[0.0, 10.0], [0.13216, 12.11837], [0.25379, 42.05027], [0.30874, 13.11784]])).flatten(),
         [0, 0, 0.42806, 0.06610, 0.82202, 1, 1, 0.09728])
    np.random.seed(1)
    draws = [[(0, 1.0)], [(0, 0.3), (5, 0.7)], [(0, 0.3), (5, 0.3), (10, 0.4)]]
    for draw in draws:
        modes = es.get_modes(np.concatenate([np.random.normal(center, 1, int(share * 100)) for center, share in draw]))
        equal(sorted(abs(m) for m in modes.round(0)), [center for center, _ in draw])
    equal(encode2ints(["ABC"]), [4407873])
    equal(merge_intervals([[-25, -14], [-21, -16], [-20, -15], [-10, -7], [-8, -5], [-6, -3], [2, 4], [2, 3], [3, 6]]), [[-25, -14], [-10, -3], [2, 6]])


# ---- outliers ---------------------------------------------------------------------------------------

def outliers():
    jobs = eq.get_jobs(tags="exp_name:linux_kernel", fmt="orm")
    table, parts = eod.detect_outlier_jobs(jobs)
    equal((len(parts), parts["duration"], parts["cpu_time"]), (3, ({K0, K1, K3}, {KX}), ({K0, K1, K3}, {KX})))
    equal((list(table[table.duration > 0].jobid), len(table[table.num_procs > 0])), ([KX], 0))
    table = eod.detect_outlier_jobs(jobs, features="*")[0]
    equal([sum(list(r)[1:]) for r in table.values], [0, 0, 11, 0])
    table = eod.detect_outlier_jobs(KERNELS, methods=[es.iqr, es.modified_z_score, es.z_score])[0]
    equal(table[["jobid", "cpu_time", "duration", "num_procs"]].values.tolist(), [[K0, 0, 0, 0], [K1, 0, 0, 0], [KX, 3, 3, 0], [K3, 0, 0, 0]])
    raises(RuntimeError, eod.detect_outlier_jobs, KERNELS[:3])
    equal(eod.detect_outlier_ops(KERNELS, tags=[{"op": "missing"}]), False)
    found = eod.get_feature_distributions(KERNELS, features=[])
    equal({f for f, d in found.items() if d == "norm"},
          {"inblock", "minflt", "rchar", "read_bytes", "rssmax", "syscr", "syscw", "vol_ctxsw", "wchar", "write_bytes"})
    equal({d for f, d in found.items()}, {"norm", "unknown"})


def models():
    every = eq.get_jobs(tags="exp_name:linux_kernel", fmt="orm")
    usual = eq.get_jobs(tags="exp_name:linux_kernel", fmt="orm", fltr=(~Job.jobid.like("%outlier%")))
    r = eq.create_refmodel(usual, tag="exp_name:linux_kernel_test", fmt="orm")
    equal(r.computed, {"modified_z_score": {"duration": [1.0287, 542680315, 14860060], "cpu_time": [1.3207, 449914707, 444671], "num_procs": [0, 10600, 0]}})
    equal(eod.detect_outlier_jobs(every, trained_model=r.id)[1]["duration"], ({K0, K1, K3}, {KX}))
    r = eq.create_refmodel(every, fmt="terse")
    equal(int(eod.detect_outlier_jobs(every, trained_model=r)[0][["duration", "cpu_time", "num_procs"]].values.sum()), 0)
    eq.refmodel_set_active_metrics(r, ["duration", "cpu_time"])
    equal(set(eod.detect_outlier_jobs(every, trained_model=r)[0].columns), {"jobid", "cpu_time", "duration"})
    for m in (es.iqr, es.z_score):
        r = eq.create_refmodel([K0, K1, K3], methods=[m], fmt="orm")
        equal(list(eod.detect_outlier_jobs(KERNELS, methods=[m], trained_model=r.id)[0].duration), [0, 0, 1, 0])
    r = eq.create_refmodel([K0, K1, K3], methods=es.mvod_classifiers(), fmt="orm")
    equal(list(eod.detect_outlier_jobs(KERNELS, trained_model=r.id, methods=es.mvod_classifiers())[0]["outlier"]), [0, 0, 2, 0])
    r = eq.create_refmodel([K0, K1, K3], op_tags=[{"op": "build"}, {"op": "configure"}], features=["cpu_time", "num_procs", "duration"],
                           methods=es.mvod_classifiers(), fmt="orm")
    highest = {k: {m: v["cpu_time,duration,num_procs"][0] for m, v in scores.items()} for k, scores in r.computed.items()}
    equal(highest, {'{"op": "build"}': {"pyod.models.cof": 1.0355, "pyod.models.hbos": 9.9657, "pyod.models.ocsvm": -0.0},
                    '{"op": "configure"}': {"pyod.models.cof": 1.3176, "pyod.models.hbos": 9.9656, "pyod.models.ocsvm": -0.0}})
    equal(r.computed['{"op": "build"}']["pyod.models.cof"]["cpu_time,duration,num_procs"][1][0], [380807266, 2158730624, 9549])
    r = eq.create_refmodel([K0, K1, K3], op_tags="*", methods=es.mvod_classifiers(), fmt="orm")
    table, part = eod.detect_outlier_ops(KERNELS, methods=es.mvod_classifiers(), trained_model=r.id)
    flagged = table[table.outlier > 0]
    equal((table.shape, set(flagged.jobid), list(flagged.outlier)), ((20, 3), {KX}, [2] * 5))
    equal(part['{"op": "clean", "op_instance": "5", "op_sequence": "5"}'],
          {"pyod.models.cof": [0, 0, 1, 0], "pyod.models.hbos": [0, 0, 1, 0], "pyod.models.ocsvm": [0, 0, 0, 0]})
    eq.delete_refmodels(*eq.get_refmodels(fmt="terse"))


def operations_of_kernels():
    table, parts, _, _, _ = eod.detect_outlier_ops(KERNELS)
    equal((table.shape, [len(table[table[f] > 0]) for f in ("duration", "cpu_time", "num_procs")]), ((20, 5), [3, 5, 0]))
    equal(parts['{"op": "build", "op_instance": "4", "op_sequence": "4"}'], ({K0, K1, K3}, {KX}))
    r = eq.create_refmodel([K0, K1, K3], fmt="terse", op_tags="*")
    table, _, scores, tags, features = eod.detect_outlier_ops(KERNELS, trained_model=r, features=["rssmax", "cpu_time", "duration", "num_procs"])
    equal((table.shape, features, list(table.columns)[2:]), ((20, 5), ["cpu_time", "duration", "num_procs"], features))
    equal([t["op"] for t in tags], ["clean", "build", "configure", "extract", "download"])
    equal(set(table[table.duration > 0].jobid), {KX})
    eq.delete_refmodels(r)
    table = eod.detect_outlier_ops(KERNELS, features=[], pca=True)
    equal((table.shape, list(table[table.pca_weighted > 0].pca_weighted), list(table[table.pca_weighted > 0].index)), ((20, 5), [3.8] * 5, [2, 6, 10, 14, 18]))


def components():
    table = eq.get_jobs(tags="exp_name:linux_kernel", fmt="pandas")
    reduced, shares, names, loadings = eod.pca_feature_combine(table, desired=0.80)
    equal((names, [round(s, 4) for s in shares]), (["pca_01", "pca_02"], [0.6811, 0.2458]))
    flags = eod.detect_outlier_jobs(reduced, features=names)[0]
    equal((list(flags["pca_01"]), list(flags["pca_02"])), ([0, 0, 1, 0], [0, 0, 0, 0]))
    weighted = eod._pca_weighted_score(flags, names, shares)[0]
    equal(list(weighted["pca_weighted"]), [0, 0, 2.8, 0])
    equal(list(eod.detect_outlier_jobs(table, features=[], pca=True)[0]["pca_weighted"]), [0, 0, 2.8, 0])
    near(abs(loadings[["duration", "rssmax", "minflt"]]).iloc[0], [0.2618, 0.2392, 0.0422])
    near(abs(loadings[["duration", "rssmax", "minflt"]]).iloc[1], [0.0620, 0.1546, 0.2482])
    ranked = eod.pca_feature_rank(table)[1]
    equal(ranked[:4], [("rssmax", 0.2168), ("timeslices", 0.2117), ("invol_ctxsw", 0.211), ("usertime", 0.2101)])


def causes():
    usual = eq.get_jobs(tags="exp_name:linux_kernel", fmt="orm", fltr=(~Job.jobid.like("%outlier%")))
    one = eq.get_jobs(tags="exp_name:linux_kernel", fmt="orm", fltr=(Job.jobid.like("%outlier%")))
    for call, more, ratios in ((eod.detect_rootcause, {}, [204, 27, 0]), (eod.detect_rootcause_op, {"tag": "op_sequence:4"}, [379, 56, 0])):
        right, table, _ = call(usual, one, **more)
        equal((right, list(table.columns), table.shape), (True, ["cpu_time", "duration", "num_procs"], (12, 3)))
        equal([int(x) for x in table.loc["modified_z_score_ratio"]], ratios)


def tables():
    np.random.seed(0)
    data = np.random.randn(10, 2)
    data[5] = [2 * data[:, 0].max(), 2 * data[:, 1].max()]
    equal(list(eod.detect_outliers(pd.DataFrame(data), methods=[es.iqr, es.modified_z_score]).iloc[5]), [2, 2])
    p = eq.get_procs(K0, fmt="pandas", order=eq.desc(Process.duration), limit=1)
    procs = pd.concat([p] * 10, ignore_index=True)
    procs.loc[[5], ["duration", "cpu_time"]] *= 2
    equal(list(eod.detect_outlier_processes(procs, ["duration", "cpu_time"], methods=[es.iqr, es.modified_z_score]).loc[5]), [2, 2])


# as test_outliers sets them
def as_outlier_tests():
    settings.univariate_classifiers = ["modified_z_score"]
    settings.outlier_thresholds.update(modified_z_score=2.5, z_score=1.5)


if __name__ == "__main__":
    if sys.argv[1] == "jobs":
        checks = [jobs_and_processes, tree, operations, others, numbers]
    else:
        as_outlier_tests()
        checks = [outliers, models, operations_of_kernels, components, causes, tables]
    for check in checks:
        check()
    print(f"{len(checks)} checks")
