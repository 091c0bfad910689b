#!/usr/bin/env bats
# Jobs that are analysed by themselves: plimsoll analyze, analyses and alerts, and the daemon with its hook.

bats_require_minimum_version 1.5.0
load store

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}
K=kern-6656-20190614

setup() {
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  export PLIMSOLL_PREFIX="$WORK/prefix" TZ=UTC
  cd "$WORK" || return 1
  SERVER=
}

teardown() {
  [ -z "$SERVER" ] || kill "$SERVER" 2>/dev/null || true
  [ ! -e d.pid ] || plimsoll daemon --stop -q --pidfile d.pid || true
  clear_work
}

# job ID [COMPONENT [SECONDS [CPU]]]: a directory d.ID of a job that lasted 60 s unless said otherwise, with two operations
job() {
  cat >spec.json <<J
{"user": "alice", "start": ${START:-0}, "end": $((${START:-0} + ${3:-60})), "tags": {"exp_name": "e", "exp_component": "${2:-c}"}, "procs": [
  {"pid": 10, "ppid": 1, "exename": "sh", "start": ${START:-0}, "end": $((${START:-0} + ${3:-60})), "tags": "op:read", "usertime": ${4:-1000000}, "systemtime": 0},
  {"pid": 11, "ppid": 10, "exename": "cp", "start": ${START:-0}, "end": $((${START:-0} + 1)), "tags": "op:copy", "usertime": 5000, "systemtime": 0}]}
J
  native_job "d.$1" --id "$1" --spec <spec.json
}

# jobs N...: jobs jN in the store, alike but for some milliseconds of CPU time
jobs() {
  local n
  for n; do
    START=$((n * 100)) job "j$n" c $((60 + n % 3)) $((1000000 + n * 1000))
    plimsoll submit -q "d.j$n"
  done
}

# arrive ID...: archives for the daemon, old enough for its first look
arrive() {
  mkdir -p in
  for id; do
    pack "d.$id" "in/$id.tgz"
    touch -d '-1 minute' "in/$id.tgz"
  done
}

once() {
  plimsoll daemon --ingest in --once --pidfile d.pid "$@" >d.log 2>&1 3>&- || echo "status $?" >>d.log
}

serve() {
  python3 "$PL_SOURCE/tests/cli/hook_server.py" "$@" >port 3>&- 8>&- &
  SERVER=$!
  until [ -s port ]; do sleep 0.02; done
  URL=http://127.0.0.1:$(cat port)/hook
}

# results JOB FILTER: of what is stored with a job
results() {
  plimsoll analyses --json "$1" | jq -c ".outlier_detection | $2"
}

# ---- analyze ---------------------------------------------------------------------------------------------

# bats test_tags=engine
@test "new jobs that no model is for are compared with those that have the same tags" {
  use_store
  jobs 1 2 3
  run -0 --separate-stderr plimsoll analyze --json
  equal few "$(jq -c '[.analysed, .outliers, .left]' <<<"$output")" '[0,0,3]'
  [[ $stderr == *"exp_name:e;exp_component:c: no model is for these jobs, and 3 jobs are too few to compare with each other: 4 are needed"* ]] || fail "$stderr"
  START=900 job other c2 600
  job untagged
  jq -c '.tags = {}' spec.json | native_job d.bare --id bare --spec
  plimsoll submit -q d.other d.bare
  # an outlier by duration and by CPU time
  START=700 job j4 c 600 9000000
  plimsoll submit -q d.j4
  run -4 --separate-stderr plimsoll analyze --json
  equal counts "$(jq -c '[.analysed, .outliers, .left]' <<<"$output")" '[4,1,2]'
  equal who "$(jq -c '[.jobs[] | select(.results[0].count > 0) | [.jobid, .results[0].model, .results[0].compared, [.results[0].outliers[].feature]]]' <<<"$output")" '[["j4",null,4,["cpu_time","duration"]]]'
  [[ $stderr == *"exp_component:c2: no model is for this job, and 1 job is too few"* && $stderr == *"1 job was left out: no model is for it, and it has no tags exp_name exp_component"* ]] || fail "$stderr"
  # durations are 60, 61, 62 and 600 s: MADZ of the last is 0.6745 * (600 - 61.5) / 1, halves to even
  equal stored "$(results j4 '.[0].outliers[1] | [.value, .typical, .methods.madz.score, .methods.madz.threshold, (.methods | keys)]')" '[600000000,61500000,363.2182,3.5,["iqr","madz"]]'
  equal view "$(ask "SELECT jobid, key FROM job_analyses ORDER BY jobid" | paste -sd' ')" "j1,outlier_detection j2,outlier_detection j3,outlier_detection j4,outlier_detection"
  # each job once; a new one is compared with those that were analysed before
  equal idempotent "$(plimsoll analyze --json 2>/dev/null | jq -c '[.analysed, .left]')" '[0,2]'
  jobs 5
  equal fifth "$(plimsoll analyze --json 2>/dev/null | jq -c '[.jobs[] | [.jobid, .results[0].compared, .results[0].count]]')" '[["j5",5,0]]'
  # by other tags, and again
  run -4 --separate-stderr plimsoll analyze --again --keys exp_name --json j1 j2 j3 j4 j5 other
  equal again "$(jq -c '[.analysed, [.jobs[] | select(.results[0].count > 0) | .jobid]]' <<<"$output")" '[6,["j4","other"]]'
  run -4 plimsoll analyze --again --csv j4
  [[ $output == *"j4,,,duration,600000000,62000000,\"iqr,madz\",\"1 > 0, 362.881 > 3.5\""* ]] || fail "$output"
  run -1 plimsoll analyze nosuch
  run -2 plimsoll analyze --where 'nosuch = 1'
  run -2 plimsoll analyze --all-new j1
}

# bats test_tags=engine
@test "a job is compared with the enabled models whose tags it has, also by operation" {
  use_store
  jobs 1 2 3
  plimsoll model create whole --tag exp_name:e --tag exp_component:c j1 j2 j3
  plimsoll model create ops --ops --tag exp_component:c j1 j2 j3
  plimsoll model create untagged j1 j2 j3
  plimsoll model create off --tag exp_name:e j1 j2 j3
  plimsoll model disable off
  plimsoll model create elsewhere j1 j2 j3 --tag exp_name:e --tag exp_component:c2
  START=700 job j4 c 61 9000000
  plimsoll submit -q d.j4
  run -4 --separate-stderr plimsoll analyze --json j4
  equal models "$(jq -c '[.jobs[0].results[] | [.model, .level, .compared, .count]]' <<<"$output")" '[["ops","operations",3,1],["whole","jobs",3,1]]'
  equal operation "$(results j4 '.[0].outliers[0] | [.feature, .tags, .value, .typical]')" '["cpu_time",{"op":"read"},9000000,1002000]'
  # MADZ: 0.6745 * (9005000 - 1007000) / 1000; the highest of the model is 0.6745
  equal whole "$(results j4 '.[1].outliers[0] | [.value, .typical, .methods.madz]')" '[9005000,1007000,{"score":5394.651,"threshold":0.6745}]'
  # the three are as usual
  equal usual "$(plimsoll analyze --json | jq -c '[.analysed, .outliers]')" '[3,0]'
  # detectors, and a model that cannot be read: the others are used
  plimsoll model create detectors -m cof,hbos --tag exp_name:e j1 j2 j3
  change "UPDATE model SET json = '{' WHERE name = 'whole'"
  change "UPDATE model SET json = '{\"version\": 99}' WHERE name = 'ops'"
  run -4 --separate-stderr plimsoll analyze --again --json j4
  equal detectors "$(jq -c '[.jobs[0].results[] | [.model, .count, .outliers[0].feature]]' <<<"$output")" '[["detectors",1,"cof"]]'
  [[ $stderr == *"model 'whole' is damaged"* && $stderr == *"model 'ops' was written by a newer version"* ]] || fail "$stderr"
}

# bats test_tags=engine
@test "alerts: listed until somebody acknowledges them, and again if something else is unusual" {
  use_store
  jobs 1 2 3
  equal none "$(plimsoll alerts)" "there are no open alerts"
  plimsoll model create whole --tag exp_name:e j1 j2 j3
  START=700 job j4 c 61 9000000
  START=800 job j5 c 900 1002000
  plimsoll submit -q d.j4 d.j5
  run -4 plimsoll analyze
  [[ $output == *"5 jobs analysed, 2 are outliers"* ]] || fail "$output"
  equal open "$(plimsoll alerts --csv | cut -d, -f2,4- | sort | paste -sd' ')" 'j4,alice,whole,cpu_time,1,,, j5,alice,whole,duration,1,,, jobid,user,model,features,outliers,acknowledged,by,note'
  equal detail "$(plimsoll alerts --json j4 | jq -c '.[0] | [.jobid, .model, .count, .outliers[0].value, .acknowledged]')" '["j4","whole",1,9005000,null]'
  equal by_model "$(plimsoll alerts --json --model nosuch)" '[]'
  run -2 plimsoll alerts --acknowledge
  run -2 plimsoll alerts --note x
  equal acknowledged "$(plimsoll alerts --acknowledge --by bob --note 'it'\''s known; DROP TABLE job' j4)" "1 alert acknowledged"
  equal twice "$(plimsoll alerts --acknowledge j4)" "0 alerts acknowledged"
  equal left "$(plimsoll alerts --json | jq -r '.[].jobid')" j5
  equal all "$(plimsoll alerts --all --json j4 | jq -c '.[0] | [.acknowledged != null, .acknowledged_by, .note]')" '[true,"bob","it'\''s known; DROP TABLE job"]'
  equal view "$(ask "SELECT jobid, model, features, acknowledged_by FROM alerts ORDER BY jobid" | paste -sd' ')" 'j4,whole,cpu_time,bob j5,whole,duration,'
  # the same finding again stays acknowledged; a job that is as usual has none
  plimsoll analyze --again j4 >/dev/null || equal status $? 4
  equal still "$(plimsoll alerts --json | jq -r '.[].jobid')" j5
  # another feature: somebody has to look again
  change "UPDATE job SET duration_us = 999000000 WHERE jobid = 'j4'"
  plimsoll analyze --again j4 >/dev/null || equal status $? 4
  equal reopened "$(plimsoll alerts --json j4 | jq -c '.[0] | [.features, .acknowledged, .acknowledged_by]')" '["cpu_time,duration",null,null]'
  plimsoll model delete whole
  plimsoll model create wide --tag exp_name:e j1 j2 j3 j4 j5
  equal usual "$(plimsoll analyze --again --json | jq .outliers)" 0
  equal gone "$(plimsoll alerts --all)" "there are no alerts"
  # deleted with the job
  plimsoll model create narrow --tag exp_name:e j1 j2 j3
  plimsoll analyze --again j5 >/dev/null || equal status $? 4
  equal one "$(ask 'SELECT count(*) FROM alerts' | tail -1)" 1
  plimsoll delete -q j5
  equal deleted "$(ask "SELECT (SELECT count(*) FROM job_alert) + (SELECT count(*) FROM job_analysis WHERE job NOT IN (SELECT no FROM job)) AS n")" 0
}

# bats test_tags=engine
@test "a job that grows counts as new; its own analyses and its alerts are kept" {
  use_store
  jobs 1 2 3
  plimsoll model create whole --tag exp_component:c j1 j2 j3
  export SLURM_JOB_ID=4242 PLIMSOLL_JOB_TAGS='exp_name:e;exp_component:c'
  plimsoll start -q
  plimsoll run -q -- true
  plimsoll stop -q
  plimsoll submit -q
  plimsoll analyze >/dev/null || equal status $? 4
  equal acknowledged "$(plimsoll list --ids --where 'not analysis.outlier_detection' | wc -l)" 0
  plimsoll alerts -q --acknowledge --by bob 4242
  plimsoll analyses 4242 mine='{"a": [1, 2]}'
  plimsoll run -q -- sh -c '/bin/true; exit 0'
  plimsoll submit -q
  equal new "$(plimsoll list --ids --where 'not analysis.outlier_detection')" 4242
  equal kept "$(plimsoll analyses --json 4242 | jq -c .)" '{"mine":{"a":[1,2]}}'
  equal alert "$(ask "SELECT jobid, acknowledged_by FROM alerts")" 4242,bob
  plimsoll analyze >/dev/null || equal status $? 4
  equal both "$(plimsoll analyses --json 4242 | jq -c keys)" '["mine","outlier_detection"]'
  equal orphans "$(ask "SELECT count(*) AS n FROM job_alert WHERE job NOT IN (SELECT no FROM job)")" 0
}

# bats test_tags=engine
@test "analyses: set, printed, removed, and limited to 64 KiB" {
  use_store
  job j1
  plimsoll submit -q d.j1
  equal none "$(plimsoll analyses --json j1 | jq -c .)" '{}'
  plimsoll analyses j1 number=3 text='not JSON' list='[1, {"b": null}]' empty= quoted='"3"'
  equal all "$(plimsoll analyses --json j1 | jq -c .)" '{"empty":"","list":[1,{"b":null}],"number":3,"quoted":"3","text":"not JSON"}'
  equal table "$(plimsoll analyses j1 | tail -1)" 'text                 not JSON'
  equal dumped "$(plimsoll dump --json j1 | jq -c .analyses.list)" '[1,{"b":null}]'
  equal filter "$(plimsoll list --ids --where 'analysis.number = 3 and analyses')" j1
  plimsoll analyses j1 --remove number --remove text
  equal removed "$(plimsoll analyses --json j1 | jq -c keys)" '["empty","list","quoted"]'
  run -1 plimsoll analyses j1 --remove number
  [[ $output == *"job j1: it has no analysis 'number'"* ]] || fail "$output"
  plimsoll analyses j1 --replace only=1
  equal replaced "$(plimsoll analyses --json j1 | jq -c .)" '{"only":1}'
  # too large: nothing is changed
  printf 'large="%065600d"' 0 >large
  run -1 plimsoll analyses j1 --replace "$(cat large)"
  [[ $output == *"the analyses of a job have at most 64 KiB, and these would have 65; nothing was changed"* ]] || fail "$output"
  equal unchanged "$(plimsoll analyses --json j1 | jq -c .)" '{"only":1}'
  plimsoll analyses j1 "k'; DROP TABLE job; --=1"
  equal hostile "$(plimsoll analyses --json j1 | jq -c keys)" '["k'\''; DROP TABLE job; --","only"]'
  plimsoll analyses j1 --clear
  equal cleared "$(plimsoll analyses --json j1 | jq -c .)" '{}'
  run -2 plimsoll analyses j1 novalue
  run -2 plimsoll analyses j1 --replace
  run -2 plimsoll analyses
  run -1 plimsoll analyses nosuch
}

@test "many new jobs are compared in parts of at most 50 of about the same size" {
  use_store
  jobs 1
  python3 - "$STORE" <<'P'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
columns = [row[1] for row in db.execute("PRAGMA table_info(job)")]
for i in range(2, 61):
    values = ", ".join({"no": f"no + {i}", "jobid": f"'j{i}'", "duration_us": f"duration_us + {i}" if i < 60 else "9000000000"}.get(c, c) for c in columns)
    db.execute(f"INSERT INTO job ({', '.join(columns)}) SELECT {values} FROM job WHERE jobid = 'j1'")
    for table, of in ("job_tag", "key, value"), ("job_sum", "metric, sum, max"):
        db.execute(f"INSERT INTO {table} (job, {of}) SELECT j.no, {of} FROM {table}, job j WHERE j.jobid = 'j{i}' AND {table}.job = (SELECT no FROM job WHERE jobid = 'j1')")
db.commit()
P
  run -4 plimsoll analyze --json
  equal parts "$(jq -c '[.analysed, ([.jobs[].results[0].compared] | unique), [.jobs[] | select(.results[0].count > 0) | .jobid]]' <<<"$output")" '[60,[30],["j60"]]'
}

# ---- the daemon ------------------------------------------------------------------------------------------

# bats test_tags=engine
@test "the daemon compares new jobs with the models, stores what it finds and tells the hook" {
  use_store
  jobs 1 2 3
  plimsoll model create whole --tag exp_name:e j1 j2 j3
  START=700 job j4 c 61 9000000
  START=800 job j5 c 61 1002000
  START=900 job j6 c 900 1002000
  arrive j4 j5 j6
  once --hook 'cat >>received; echo >>received'
  equal events "$(jq -r '[.event, .jobid] | join(" ")' received | sort | paste -sd,)" "outlier j4,outlier j6,submitted j4,submitted j5,submitted j6"
  equal event "$(jq -c 'select(.event == "outlier" and .jobid == "j4") | [.user, .cpu_time, .model, .level, .compared, .count, .outliers[0].feature, .outliers[0].value, .outliers[0].typical, .outliers[0].methods.madz, (.time | length), (.store | length > 3)]' received)" \
    '["alice",9005000,"whole","jobs",3,1,"cpu_time",9005000,1007000,{"score":5394.651,"threshold":0.6745},32,true]'
  grep -q "job j4 is an outlier by model 'whole': cpu_time" d.log || fail "$(cat d.log)"
  equal alerts "$(plimsoll alerts --json | jq -r '.[].jobid' | sort | paste -sd' ')" "j4 j6"
  # those that were submitted otherwise are analysed, too
  equal new "$(plimsoll list --ids --where 'not analysis.outlier_detection' | wc -l)" 0
  # the next daemon has nothing to do
  rm received
  once --hook 'cat >>received; echo >>received'
  [ ! -e received ] || fail "$(cat received)"
}

# bats test_tags=engine,epmt
@test "the daemon finds the kernel build that took longer, by a model of the others" {
  [ -d "$DATA/epmt/outliers" ] || skip "no sample data beside the project"
  use_store
  plimsoll submit -q "$DATA"/epmt/outliers/$K-19{0245,1138,4024}.tgz
  plimsoll model create kernel -m madz --tag exp_name:linux_kernel $K-190245 $K-191138 $K-194024
  plimsoll model create kernel_ops --ops -m madz --tag exp_name:linux_kernel --tag exp_component:kernel_tiny $K-190245 $K-191138 $K-194024
  mkdir in
  cp -p "$DATA/epmt/outliers/$K-192044-outlier.tgz" in/
  touch -d '-1 minute' in/*
  once --hook 'cat >>received; echo >>received' --hook-on outlier
  equal job "$(jq -r .jobid received | sort -u)" "$K-192044-outlier"
  equal event "$(jq -c 'select(.model == "kernel") | [.count, [.outliers[] | [.feature, .value, .typical, .methods.madz.score, .methods.madz.threshold]]]' received)" \
    '[2,[["cpu_time",627670563,449914707,269.6293,1.3207],["duration",1173629067,542680315,28.6388,1.0287]]]'
  equal build "$(jq -c 'select(.model == "kernel_ops") | [.outliers[] | select(.tags.op == "build" and .feature == "cpu_time") | [.value, .typical, .methods.madz.score]]' received)" '[[540737924,381227732,274.8777]]'
  equal alerts "$(plimsoll alerts --csv | sed 1d | cut -d, -f2,5- | sort | paste -sd' ')" "$K-192044-outlier,kernel,\"cpu_time,duration\",2,,, $K-192044-outlier,kernel_ops,\"cpu_time,duration\",10,,,"
  # in EPMT's forms
  equal unanalyzed "$(epmt list unanalyzed_jobs)" "[]"
  equal dump "$(epmt dump -k analyses $K-192044-outlier | grep -o "'model': '[a-z_]*'" | paste -sd' ')" "'model': 'kernel' 'model': 'kernel_ops'"
  equal metrics "$(epmt list op_metrics $K-190245 tags=op:build | awk 'NR == 1 { print $1, $2, $3, $4, $5 } NR == 2 { print $2, $5, $6, $7 }' | paste -sd' ')" \
    "jobid tags duration cpu_time num_procs $K-190245 2158730624 380807266 9549"
  equal rows "$(epmt list op_metrics | wc -l) $(epmt list op_metrics group_by_tag=True | wc -l)" "21 6"
  equal union "$(epmt list op_metrics group_by_tag=True tags=op:build op_duration_method=sum-minus-overlap | awk 'NR == 2 { print $4 }')" 2401738505
  run -1 epmt list op_metrics nosuch=1
  run -1 epmt list op_metrics op_duration_method=mean
  equal analyze "$(epmt analyze $K-190245)" "1 job analysed, 0 are outliers"
  run -0 epmt analyze $K-192044-outlier
  [[ $output == *"1 job analysed, 1 is an outlier"* ]] || fail "$output"
}

@test "a model that cannot be read, one that is deleted, and jobs without tags do not keep the daemon from its work" {
  use_store
  jobs 1 2 3
  plimsoll model create broken --tag exp_name:e j1 j2 j3
  plimsoll model create whole --tag exp_name:e j1 j2 j3
  change "UPDATE model SET json = 'x' WHERE name = 'broken'"
  START=700 job j4 c 61 9000000
  START=800 job j5 c 62 9000000
  job untagged
  jq -c '.tags = {} | .start = 5000 | .end = 5060' spec.json | native_job d.bare --id bare --spec
  arrive j4 j5 bare
  once --hook 'cat >>received; echo >>received' --hook-on outlier
  equal told "$(jq -r .jobid received | sort | paste -sd' ')" "j4 j5"
  equal warned "$(grep -c "model 'broken' is damaged" d.log)" 1
  equal ended "$(tail -n 2 d.log | head -1)" "plimsoll: ended: ingested 3, failed 0, already stored 0"
  equal new "$(plimsoll list --ids --where 'not analysis.outlier_detection')" bare
  # off, by option and by setting
  START=900 job j7 c 61 9000000
  arrive j7
  once --no-analysis
  START=1000 job j8 c 61 9000000
  arrive j8
  PLIMSOLL_ANALYSIS=no once
  equal off "$(plimsoll list --ids --where 'not analysis.outlier_detection' | sort | paste -sd' ')" "bare j7 j8"
  run -1 env PLIMSOLL_ANALYSIS=maybe plimsoll daemon --ingest in --once --pidfile d.pid
  [[ $output == *"yes or no"* ]] || fail "$output"
  # what a daemon did not do, the next one does
  once
  equal caught_up "$(plimsoll list --ids --where 'not analysis.outlier_detection')" bare
}

@test "a hook that hangs or answers 500 delays neither the jobs nor their analysis" {
  use_store
  jobs 1 2 3
  plimsoll model create whole --tag exp_name:e j1 j2 j3
  for n in 4 5 6; do START=$((n * 100)) job j$n c 61 9000000; done
  arrive j4 j5 j6
  serve hang
  before=$EPOCHREALTIME
  PLIMSOLL_HOOK_TIMEOUT=500ms once --hook "$URL" --hook-on outlier
  at_most seconds "$(awk -v a="$before" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')" 15
  equal alerts "$(plimsoll alerts --json | jq length)" 3
  equal pending "$(ls d.hook | wc -l)" 3
  kill "$SERVER"
  rm received port
  serve 500 ok
  START=1700 job j7 c 61 9000000
  arrive j7
  plimsoll daemon --ingest in --pidfile d.pid --hook "$URL" --hook-on outlier >d.log 2>&1 3>&- &
  for ((i = 0; i < 400; i++)); do
    [ "$(wc -l <received 2>/dev/null || echo 0)" -lt 5 ] || break
    sleep 0.05
  done
  plimsoll daemon --stop --pidfile d.pid
  equal answers "$(cut -d' ' -f1 received | sort | uniq -c | sed 's/^ *//' | paste -sd' ')" "1 500 4 ok"
  equal told "$(grep ^ok received | cut -d' ' -f4- | jq -r .jobid | sort | paste -sd' ')" "j4 j5 j6 j7"
  equal left "$(ls d.hook)" ''
}

@test "killed before the analysis: the next daemon does it, and a deleted job is forgotten" {
  use_store
  jobs 1 2 3
  START=700 job j4 c 61 9000000
  START=800 job j5 c 61 9000000
  arrive j4 j5
  # stored by a daemon that has no models, as if it had been killed
  once
  equal none "$(plimsoll alerts)" "there are no open alerts"
  plimsoll model create whole --tag exp_name:e j1 j2 j3
  plimsoll delete -q j5
  once
  equal found "$(plimsoll alerts --json | jq -r '.[].jobid')" j4
  equal orphans "$(ask "SELECT count(*) AS n FROM job_analysis WHERE job NOT IN (SELECT no FROM job)")" 0
}
