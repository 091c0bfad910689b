"""The settings that the functions read; programs may change them, as with EPMT.

The store and everything that has to do with collecting are settings of the program: settings.py and EPMT_* variables
are read by `epmt`.
"""

orm = "sqlalchemy"  # the shape of filters and objects
verbose = 0
univariate_classifiers = ["iqr", "modified_z_score", "z_score"]
outlier_thresholds = {"modified_z_score": 3.5, "z_score": 3.0}
outlier_features = ["duration", "cpu_time", "num_procs"]
outlier_features_blacklist = [
    "env_dict", "tags", "info_dict", "env_changes_dict", "annotations", "analyses", "jobid", "jobname", "user",
    "all_proc_tags", "created_at", "modified_at", "updated_at", "start", "end", "submit", "job", "id", "parent",
    "ref_models", "process_pk",
]
retire_jobs_ndays = 0
retire_models_ndays = 0
