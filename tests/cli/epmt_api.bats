#!/usr/bin/env bats
# bats file_tags=epmt
# EPMT's Python modules: epmt python, epmt shell, epmt help api, and every function on generated jobs.

bats_require_minimum_version 1.5.0
load store

check() {
  epmt python -W error::RuntimeWarning "$PL_SOURCE/tests/cli/epmt_api_check.py" "$@"
}

setup_file() {
  [ "${PL_ENGINE:-sqlite}" = sqlite ] || postgres_start
  PLIMSOLL_DB=$BATS_FILE_TMPDIR/store.db
  [ "${PL_ENGINE:-sqlite}" = sqlite ] || PLIMSOLL_DB=$PGURL
  export PLIMSOLL_DB TZ=UTC EPMT_TZ=UTC PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=agg MPLCONFIGDIR=$BATS_FILE_TMPDIR/mpl
  /usr/bin/python3 "$PL_SOURCE/tests/cli/epmt_api_check.py" jobs "$BATS_FILE_TMPDIR/jobs"
  plimsoll submit -q "$BATS_FILE_TMPDIR"/jobs/?
}

# old, d1 and d2: jobs that tests may delete, of 2001 and 2019
more_jobs() {
  local name year=2001
  for name in old d1 d2; do
    make_job "$name" --id "$name" --procs 2 --shift $(((year - 2020) * 31557600))
    plimsoll submit -q "$name"
    year=2019
  done
}

# bats test_tags=engine
@test "every row of the table: the function returns what the jobs have" {
  more_jobs
  check rows >said
  [[ "$(cat said)" == *" tests" ]]
}

@test "the table has every function of the modules, and a test for each" {
  check table >said
  at_least rows "$(cut -d ' ' -f 1 said)" 80
}

@test "functions that EPMT's reference names are there" {
  local name
  for name in get_jobs get_procs timeline root get_roots op_roots get_thread_metrics job_proc_tags get_job_tags rank_proc_tags_keys get_op_metrics \
    get_ops ops_costs create_refmodel get_refmodels delete_refmodels retire_refmodels refmodel_set_enabled refmodel_get_metrics \
    refmodel_set_active_metrics tag_job annotate_job get_job_annotations remove_job_annotations set_job_analyses get_job_analyses \
    remove_job_analyses get_unprocessed_jobs get_unanalyzed_jobs post_process_jobs analyze_jobs comparable_job_partitions are_jobs_comparable \
    procs_histogram procs_set add_features_df get_features verify_jobs delete_jobs retire_jobs get_job_status z_score iqr modified_z_score \
    outliers_uv dict_outliers check_dist get_modes normalize standardize detect_outlier_jobs detect_outlier_ops partition_jobs \
    partition_jobs_by_ops detect_outlier_processes detect_outlier_threads detect_outliers mvod_classifiers pca_feature_combine pca_feature_rank rca \
    detect_rootcause detect_rootcause_op exp_explore find_missing_time_segments exp_find_jobs merge_intervals encode2ints get_feature_distributions; do
    cut -f 2 "$PL_BUILD/share/plimsoll/epmt/epmt/api.tsv" | grep -qx "$name" || fail "$name is not in the table"
  done
}

@test "faults: unknown jobs, empty collections, a bad filter, no store: one sentence each" {
  check faults
}

@test "without pandas, terse, dict and orm work, and the rest says what is missing" {
  mkdir hidden
  for name in pandas numpy; do
    echo "raise ImportError('hidden')" >"hidden/$name.py"
  done
  PYTHONPATH=$WORK/hidden /usr/bin/python3 -c 'import sys
try:
    import pandas
except ImportError:
    sys.exit(0)
sys.exit(1)'
  # before the directories of the modules, as a broken installation would be
  cat >run.py <<'P'
import runpy, sys
sys.path.insert(0, "hidden")
sys.argv = [sys.argv[1], "bare"]
runpy.run_path(sys.argv[0], run_name="__main__")
P
  epmt python run.py "$PL_SOURCE/tests/cli/epmt_api_check.py"
  # and the index of functions
  PYTHONPATH=$WORK/hidden epmt help api >index
  grep -q '^    get_jobs ' index
}

@test "epmt python: a file with arguments, -c, -, standard input, older names of modules, its exit status" {
  cat >file.py <<'P'
import sys
import epmt_query as eq, epmt_outliers, epmt_stat, epmt_exp_explore, epmtlib, epmt_settings
import epmt.epmt_query
assert eq is epmt.epmt_query
print(sys.argv[1:], len(eq.get_jobs(fmt="terse")) >= 6)
sys.exit(7)
P
  run -7 epmt python file.py -v 'a b' --help
  equal output "$output" "['-v', 'a b', '--help'] True"
  equal code "$(epmt python -c 'import plimsoll, epmt.epmt_query as eq; print(eq.get_jobs("j1")[0]["exitcode"])')" 0
  equal stdin "$(echo 'import epmt_query; print(epmt_query.get_jobs(tags="exp_component:atmos", fmt="terse")[0][:2])' | epmt python)" "o'"
  equal dash "$(echo 'print(2)' | epmt python -)" 2
  # the help of the command is ours
  run -0 epmt python --help
  [[ "$output" == "usage: epmt python "* ]]
}

@test "operations of a job with phases are those of its tags, and a phase where tags ask for it" {
  export PLIMSOLL_DB=$WORK/phases.db
  plimsoll run -q -o job -- sh -c 'plimsoll mark solve; PAPIEX_TAGS=op:a sh -c "exit 0"; plimsoll mark --end'
  plimsoll submit -q job
  equal ours "$(plimsoll ops last --json | jq -c '[.[].origin] | sort')" '["script","tags"]'
  epmt python -c 'import epmt.epmt_query as eq
job = eq.get_jobs(fmt="terse")
print([(r["tags"], r["num_procs"]) for r in eq.get_op_metrics(job, fmt="dict")], [o["tags"] for o in eq.get_ops(job, ["op:a", "phase:solve"])])' >said
  equal epmt "$(cat said)" "[({'op': 'a'}, 1)] [{'op': 'a'}, {'phase': 'solve'}]"
  equal list "$(epmt list op_metrics | grep -o "{[^}]*}")" "{'op': 'a'}"
}

@test "epmt shell: the modules are imported" {
  printf 'print(eq.get_jobs("j1", fmt="terse"), es.iqr.__name__, eod.__name__, exp.__name__)\n' | epmt shell >said 2>&1 || true
  grep -qF "['j1'] iqr epmt.epmt_outliers epmt.epmt_exp_explore" said || fail "$(cat said)"
}

@test "the store is that of EPMT's settings, also in a Python that was not started by epmt" {
  cp "$PLIMSOLL_DB" other.db 2>/dev/null || skip "a copy of a file shows it"
  plimsoll delete -q --db other.db j1
  unset PLIMSOLL_DB
  export EPMT_DB_URL="sqlite:///$WORK/other.db"
  equal epmt "$(epmt python -c 'import epmt_query as eq; print(eq.get_jobs(fmt="terse")[0])')" j2
  export PYTHONPATH=$PL_BUILD/share/plimsoll/epmt
  equal plain "$(/usr/bin/python3 -c 'import epmt_query as eq; print(eq.get_jobs(fmt="terse")[0], eq.verify_jobs("j2")[0])')" "j2 True"
}

@test "epmt help api: topics, one function, and the nearest names of one that is not there" {
  epmt help api >index
  for text in 'epmt_query: ' '  Reference Models' '    detect_outlier_jobs ' '  Experiments' '    merge_intervals '; do
    grep -qF "$text" index || fail "not in the index: $text"
  done
  # every row of the table
  equal functions "$(grep -c '^    [a-z]' index)" "$(sed 1d "$PL_BUILD/share/plimsoll/epmt/epmt/api.tsv" | wc -l)"
  run -0 epmt help api get_op_metrics iqr
  [[ "$output" == *"from epmt.epmt_query import get_op_metrics"*"get_op_metrics(jobs, tags=(), "*"Topic: Operations"*"plimsoll ops"* ]]
  [[ "$output" == *"iqr(ys, params=())"*"Topic: Statistics"* ]]
  ! grep -q '::' index || fail "a topic is part of a text"
  run -1 epmt help api get_jbos
  equal error "$output" "ERROR:epmt_cmds:there is no function 'get_jbos'; did you mean get_jobs, get_ops, get_roots?"
}

@test "epmt stat: bad requests are one line" {
  local request
  for request in '' '{' '[]' '{"method": "nosuch"}' '{"method": "iqr"}' '{"method": "iqr", "columns": [[]]}' '{"method": "z_score", "columns": [[1, "x"]]}' \
    '{"method": "z_score", "columns": [[1], [1, 2]]}' '{"method": "cof", "rows": [[1, 2]], "more": [[1]]}' '{"method": "iqr", "columns": [[1]], "params": [[1]]}' \
    '{"method": "rca", "methods": ["x"], "columns": [[1]], "values": [1]}' '{"method": "rca", "methods": ["z"], "columns": [[1]], "values": []}' \
    '{"method": "modes", "values": [1, 2]}' '{"method": "distribution"}' '{"method": "iqr", "columns": 7}' '{"method": 3}'; do
    run -1 epmt stat <<<"$request"
    equal "lines of $request" "${#lines[@]}" 1
  done
  equal scores "$(epmt stat <<<'{"method": "iqr", "columns": [[1, 1, 1, 9]]}')" '[{"scores":[0.0,0.0,0.0,1.0],"max":0.0,"center":4.0,"spread":6.0}]'
}

@test "the examples of docs/epmt_api.md give what the page says" {
  export PLIMSOLL_DB=$WORK/fresh.db
  plimsoll submit -q "$BATS_FILE_TMPDIR"/jobs/?
  epmt python -c 'import doctest, sys
failed, tried = doctest.testfile(sys.argv[1], module_relative=False)
print(tried)
sys.exit(failed != 0)' "$PL_SOURCE/docs/epmt_api.md" >said || fail "$(cat said)"
  at_least examples "$(tail -n 1 said)" 30
}

@test "the notebooks run: every cell, and every figure has something in it" {
  mkdir figures
  epmt python "$PL_SOURCE/tests/cli/run_notebook.py" figures "$PL_BUILD"/share/plimsoll/epmt/notebooks/*.ipynb >said
  equal figures "$(grep '^figure ' said | cut -d ' ' -f 2-3 | xargs)" "comparison plot comparison programs data_movement plot graphs gantt \
graphs concurrency graphs components graphs spread outliers scatter"
  ! grep -E '^figure [a-z_]+ [a-z]+ 0 ' said || fail "an empty figure"

  # 78060 us of cp and 990 us of mv, of 85650
  grep -qF '92.294 % of 0 s of CPU time' said
  grep -qF 'the longest: j5 1000.0 s' said
  grep -qF 'j5 is flagged most' said
  grep -qF "('E', 'ocean') 5 jobs" said
}
