#!/usr/bin/env bats
# Operations: images grouped by their tags, what they cost, and sums over the whole store.

bats_require_minimum_version 1.5.0
load store

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}/epmt

# value JQ ARGUMENT...: of ops --json
value() {
  local what=$1
  shift
  plimsoll ops --json "$@" | jq -c "$what"
}

# bats test_tags=engine
@test "ops: processes, threads, durations, runs and metrics of each set of tags" {
  use_store
  make_job a --id a --procs 10 --threads 3 --set 5:read_bytes=70 --set 8:read_bytes=7
  plimsoll submit -q a
  # processes 1, 4, 7, 10 have step:1; 1 lasts 10 s, the others 500 us in it; 2, 5, 8 are apart
  equal ops "$(value '[.[] | .operation] | sort' a)" '["op:build;step:0","op:build;step:1","op:build;step:2"]'
  two='.[] | select(.tags.step == "2")'
  equal step2 "$(value "$two | [.processes, .images, .numtids, .cpu_time, .usertime, .duration, .runs, .contiguous]" a)" '[3,3,3,21,15,1500,3,false]'
  equal peak "$(value "$two | [.rssmax, .rssmax_sum, .read_bytes, .rchar, .counters.PERF_COUNT_SW_CPU_CLOCK]" a)" '[1008,3015,77,150,1500]'
  equal union "$(value "$two | .duration" a --duration union)" 1500
  equal span "$(value "$two | .duration" a --duration span)" 6500
  equal intervals "$(value "$two | .intervals[1]" a)" '[1600000000005000,1600000000005500]'
  one='.[] | select(.tags.step == "1")'
  equal step1 "$(value "$one | [.processes, .numtids, .duration, .runs, .contiguous]" a)" '[4,6,10001500,1,true]'
  equal overlap "$(value "$one | .duration" a --duration union)" 10000000
  # sums over operations are those of the job
  equal sums "$(value '[.[] | .cpu_time] | add' a)" "$(ask "SELECT cpu_time FROM jobs")"
  equal sums "$(value '[.[] | .rssmax_sum] | add' a)" "$(ask "SELECT sum FROM job_sums WHERE metric = 'rssmax'")"
  # sorted by the metric
  equal order "$(value '[.[] | .tags.step]' a --metric read_bytes)" '["2","0","1"]'
  equal order "$(value '[.[] | .tags.step]' a --metric duration -n 1)" '["1"]'
  # the table has numbers without units in a pipe, CSV every metric
  plimsoll ops a | grep -Eq '^op:build;step:2 +a +3 +3 +21 +1500 +3 +150 +0 +1008$' || fail "$(plimsoll ops a)"
  equal csv "$(plimsoll ops a --csv --tag step:2 | python3 -c 'import csv, sys; r = list(csv.DictReader(sys.stdin)); print(len(r), r[0]["operation"], r[0]["read_bytes"], r[0]["runs"], r[0]["rssmax_sum"])')" '1 step:2 77 3 3015'
}

# bats test_tags=engine
@test "ops: by a key, by some tags, over several jobs, and their roots" {
  use_store
  make_job a --id a --procs 9
  make_job b --id b --procs 9 --tags 'x:1'
  plimsoll submit -q a b
  equal by "$(value '[.[] | [.jobid, .operation, .processes]]' a b --by op)" '[["a","op:build",9],["b","op:build",9]]'
  equal total "$(value '.[] | [.jobs, .operation, .processes, .duration, .intervals]' a b --by op --total)" '[2,"op:build",18,20008000,null]'
  equal total "$(value length a b)$(value length a b --total)" 63
  # a tag is an operation of its own, whatever else its images have
  equal tags "$(value '[.[] | [.operation, .processes]] | sort' a --tag op:build --tag 'step:1;op:build' --tag step)" \
    '[["op:build",9],["op:build;step:1",3],["step",9]]'
  equal tags "$(value '[.[] | [.operation, .processes]] | sort' a --tag step:1 --tag step:2 --by step)" '[["step:1",3],["step:2",3]]'
  # process 1 started all others: it is the root of what it is in
  equal root "$(value '[.[] | [.operation, .pid, .exename, .descendants]]' a --by op --roots)" '[["op:build",1001,"prog1",8]]'
  equal roots "$(value '[.[] | .pid] | sort' a --tag step:1 --roots)" '[1001]'
  equal roots "$(value '[.[] | .pid] | sort' a --tag step:2 --roots)" '[1002,1005,1008]'
  equal csv "$(plimsoll ops a --tag step:2 --roots --csv -n 2 | wc -l)" 3
  plimsoll submit -q --db last.db a
  equal last "$(value length)" 3
}

@test "ops: tags in another order are the same operation, images without tags are in none" {
  use_store
  make_job a --id a --procs 5 --set '2:tags=' --odd
  plimsoll submit -q a
  equal odd "$(value '[.[] | select(.tags.k)] | length' a)" 1
  change "UPDATE string SET bytes = CAST('step:1;op:build' AS BLOB) WHERE CAST(bytes AS TEXT) = 'op:build;step:0'"
  equal same "$(value '[.[] | select(.tags.step == "1") | .operation]' a)" '["op:build;step:1"]'
}

@test "ops: images without an end count and have no duration" {
  use_store
  make_job a --id a --procs 6
  plimsoll submit -q a
  change "UPDATE process SET duration = NULL WHERE id & 3 = 2"
  change "UPDATE process SET start = NULL, duration = NULL WHERE tags = (SELECT tags FROM process WHERE pid = 1003)"
  equal absent "$(value '.[] | select(.tags.step == "0") | [.processes, .duration, .start, .runs, .contiguous, .intervals]' a)" '[2,null,null,0,false,[]]'
  equal some "$(value '.[] | select(.tags.step == "2") | [.processes, .duration, .runs]' a)" '[2,500,1]'
}

# bats test_tags=engine
@test "ops --cost: the share of operations that move data, or of others" {
  use_store
  make_job a --id a --procs 10
  make_job b --id b --procs 4
  plimsoll submit -q a b
  export PLIMSOLL_DATA_MOVEMENT='step:1 step:2'
  # user n and system 2 us a process: step 1 has 22 + 8, step 2 15 + 6, of 75; in b 5 + 4 and 2 + 2 of 18
  equal all "$(plimsoll ops a b --cost --json | jq -c '[.metric, .set, .value, .total, .percent]')" '["cpu_time","data movement",64,93,68.817]'
  equal jobs "$(plimsoll ops a b --cost --json | jq -c '[.jobs[] | [.jobid, .value, .total, .percent]]')" '[["a",51,75,68],["b",13,18,72]]'
  equal ops "$(plimsoll ops a --cost --json | jq -c '[.operations[] | [.operation, .in_set, .value, .percent]]')" \
    '[["step:1",true,30,40],["step:0",false,24,32],["step:2",true,21,28]]'
  plimsoll ops a --cost --csv >cost.csv
  equal first "$(sed -n 2p cost.csv)" 'a,job,data movement,51,75,68'
  equal order "$(cut -d, -f2,3 cost.csv | sed 1,2d | tr '\n' ' ')" 'data movement,step:1 data movement,step:2 other,step:0 total,data movement '
  # durations do not count twice what overlaps
  equal time "$(plimsoll ops a --cost --metric duration --tag step:1 --json | jq -c '[.set, .value]')" '["selected",10000000]'
  equal time "$(plimsoll ops a --cost --metric duration --duration sum --tag step:1 --json | jq -c '.value')" 10001500
  equal other "$(plimsoll ops a --cost --metric rchar --tag step:1 --json | jq -c '[.value, .total, .percent]')" '[220,550,40]'
  # nothing to divide by
  change "UPDATE job SET cpu_us = 0 WHERE jobid = 'a'"
  equal none "$(plimsoll ops a --cost --json | jq -c '[.percent, .jobs[0].percent]')" '[null,null]'
}

@test "ops: what cannot be answered" {
  use_store
  make_job a --id a --procs 3
  make_job b --id b --procs 3 --set 1:tags= --set 2:tags= --set 3:tags=
  plimsoll submit -q a b
  run -1 plimsoll ops nobody
  [[ $output == *nobody* ]] || fail "$output"
  run -2 plimsoll ops a --metric nonsense
  [[ $output == *"unknown metric 'nonsense'; use cpu_time"* ]] || fail "$output"
  run -2 plimsoll ops a --metric pid
  run -2 plimsoll ops a --tag ''
  [[ $output == *"invalid tag ''"* ]] || fail "$output"
  run -2 plimsoll ops a --tag a:b:c
  run -2 plimsoll ops a --cost --roots
  run -2 plimsoll ops a --duration sideways
  run -0 plimsoll ops a --tag op=build
  [[ $output == *"a tag is KEY:VALUE: --tag 'op:build'"* ]] || fail "$output"
  run -0 plimsoll ops a --by nothing
  [[ $output == *"has such tags; \`plimsoll tags JOB\` lists"* ]] || fail "$output"
  run -0 plimsoll ops b
  [[ $output == *"no process of the job has tags"* ]] || fail "$output"
  equal json "$(plimsoll ops b --json)" '[]'
  # a hostile name is a name
  run -0 plimsoll ops a --by "op' OR 1=1; DROP TABLE job; --"
  equal there "$(plimsoll list --ids | tr '\n' ' ')" 'a b '
  PLIMSOLL_DATA_MOVEMENT=' ' run -2 plimsoll ops a --cost
  [[ $output == *"--cost needs tags"* ]] || fail "$output"
  PLIMSOLL_DATA_MOVEMENT='a:b:c' run -2 plimsoll ops a --cost
}

# used JQ ARGUMENT...: of usage --json
used() {
  local what=$1
  shift
  plimsoll usage --json "$@" | jq -c "$what"
}

# bats test_tags=engine
@test "usage: sums over jobs by executable, user, operation, tag and month" {
  use_store
  make_job a --id a --procs 10 --tags 'exp:x'
  make_job b --id b --procs 5 --shift 3000000 --tags 'exp:y'
  plimsoll submit -q a b
  change "UPDATE job SET username = 'bob' WHERE jobid = 'b'"
  # processes n, n + 5 are prog(n % 5), with n + 2 us each
  equal first "$(used '.[0] | [.executable, .jobs, .processes, .images, .cpu_time, .duration, .rchar, .rssmax]')" '["prog0",2,3,3,26,1500,200,1010]'
  equal sum "$(used '[.[] | .cpu_time] | add')" "$(ask 'SELECT sum(cpu_time) FROM jobs')"
  equal percent "$(used '[.[] | .cpu_percent] | add | round')" 100
  equal users "$(used '[.[] | [.user, .jobs, .processes, .cpu_time]]' --by user)" "[[\"$(ask "SELECT \"user\" FROM jobs WHERE jobid = 'a'")\",1,10,75],[\"bob\",1,5,25]]"
  TZ=UTC0 equal months "$(used '[.[] | [.month, .jobs]]' --by month)" '[["2020-09",1],["2020-10",1]]'
  equal operations "$(used '[.[] | [.operation, .jobs, .processes]]' --by operation)" '[["op:build;step:1",2,6],["op:build;step:2",2,5],["op:build;step:0",2,4]]'
  equal tag "$(used '[.[] | [.tag, .jobs, .processes, .cpu_time]]' --by tag:op)" '[["build",2,15,100]]'
  equal without "$(used '[.[] | [.tag, .processes]]' --by tag:none)" '[[null,15]]'
  equal job_tag "$(used '[.[] | [.job_tag, .cpu_time]]' --by job-tag:exp)" '[["x",75],["y",25]]'
  equal jobs "$(used '[.[] | .processes] | add' b)" 5
  equal limit "$(used length -n 2)" 2
  equal csv "$(plimsoll usage --csv -n 1 --by user | cut -d, -f2-5)" $'jobs,processes,images,cpu_time\n1,10,10,75'
  plimsoll usage --by month | grep -Eq '^2020-10 +1 +5 +5 +25 +25.000 ' || fail "$(plimsoll usage --by month)"
  sums_agree
  run -2 plimsoll usage --by weather
  [[ $output == *"tag:KEY or job-tag:KEY, not 'weather'"* ]] || fail "$output"
  run -2 plimsoll usage --by tag:
  run -1 plimsoll usage nobody
  equal hostile "$(used length --by "tag:x' OR 1=1; --")" 1
  equal hostile "$(used length --by "job-tag:x' OR 1=1; --")" 1
  plimsoll delete -q a b
  run -0 plimsoll usage
  [[ $output == *"has recorded processes"* ]] || fail "$output"
}

# bats test_tags=engine
@test "usage: the sums are those of the processes after parts, replacing, deleting and retiring" {
  use_store
  # a name that is no text, images without a name, tags or times, one that executes another
  make_job odd --id odd --procs 8 --odd --negative --threads 3 --set 7:tags=
  plimsoll submit -q odd
  change "UPDATE job SET end_us = 5 WHERE jobid = 'odd'"
  sums_agree
  export PLIMSOLL_TAGS=op:first
  plimsoll run -q --no-submit -j 640 -o one -- sh -c "(:); (:); exec $PROGRAMS/actor return 0"
  plimsoll submit -q one
  sums_agree
  before=$(ask "SELECT images FROM job_users WHERE jobid = '640'")
  PLIMSOLL_TAGS=op:second plimsoll run -q --no-submit -j 640 -o two -- sh -c "$PROGRAMS/actor return 0; :"
  plimsoll submit -q two
  [ "$(ask "SELECT images FROM job_users WHERE jobid = '640'")" -gt "$before" ] || fail 'the second part is not in the sums'
  equal parts "$(used '[.[] | .tag] | sort' --by tag:op 640)" '["first","second"]'
  sums_agree
  # more of the first part
  plimsoll run -q --no-submit -j 640 -o one -- "$PROGRAMS/actor" return 0
  plimsoll submit -q one
  sums_agree
  # a job that is stored again
  plimsoll run -q --submit -j 641 -o three -- "$PROGRAMS/actor" return 0
  plimsoll run -q --submit -j 641 -o three -- "$PROGRAMS/actor" return 0
  equal again "$(ask "SELECT count(*) FROM jobs WHERE jobid = '641'")" 1
  sums_agree
  # one that a collector streamed before it was submitted
  change "INSERT INTO job (no, jobid, username, start_us, end_us, duration_us, cpu_us, num_procs, num_threads, peak_procs, peak_threads,
    bytes, format, ingested_us, processes) VALUES (900, 's', NULL, 1600000000000000, 1600000010000000, 10000000, 7, 3, 3, 0, 0, 0, 'node', 5, 3)"
  change "UPDATE job_number SET last = 900"
  equal streamed "$(used '[.[] | select(.user == null) | [.jobs, .processes, .images, .cpu_time]]' --by user s)" '[[1,3,0,7]]'
  make_job s --id s --procs 4
  plimsoll submit -q s
  equal merged "$(ask "SELECT count(*), sum(processes), sum(cpu_time) FROM job_users WHERE jobid = 's'")" '1,4,18'
  sums_agree
  plimsoll retire -q --older-than 3000d
  plimsoll delete -q 641
  equal left "$(plimsoll list --ids | sort | tr '\n' ' ')" '640 s '
  sums_agree
}

# bats test_tags=engine
@test "usage: a store of before gets the sums when it is migrated" {
  use_store
  make_job a --id a --procs 10 --odd --threads 3 --negative --set 7:tags=
  plimsoll submit -q a
  PLIMSOLL_TAGS=op:x plimsoll run -q --submit -j 7 -o one -- sh -c "(:); exec $PROGRAMS/actor return 0"
  ask 'SELECT * FROM job_executables ORDER BY 1, 3' >before
  ask 'SELECT * FROM job_operations ORDER BY 1, 3' >>before
  ask 'SELECT * FROM job_users ORDER BY 1' >>before
  ask 'SELECT * FROM processes ORDER BY 1' >processes.before
  if [ "${PL_ENGINE:-sqlite}" = sqlite ]; then
    sqlite3 "$STORE" "$WITHOUT_SUMS DELETE FROM schema_version WHERE number >= 9"
  else
    "$(postgres_bin)/psql" -q "$STORE" -c "$WITHOUT_SUMS DELETE FROM schema_version WHERE number >= 9"
  fi
  run -1 plimsoll usage
  [[ $output == *"run \`plimsoll db migrate\`"* ]] || fail "$output"
  plimsoll db migrate -q
  ask 'SELECT * FROM job_executables ORDER BY 1, 3' >after
  ask 'SELECT * FROM job_operations ORDER BY 1, 3' >>after
  ask 'SELECT * FROM job_users ORDER BY 1' >>after
  diff before after
  ask 'SELECT * FROM processes ORDER BY 1' | diff processes.before -
  sums_agree
}

@test "EPMT's operations: the same rows, durations and costs" {
  [ -d "$DATA/query" ] || skip "EPMT's sample jobs are not beside the project"
  use_store
  plimsoll submit -q "$DATA"/query/*.tgz
  equal two "$(value length 685000 685016)" 178
  equal three "$(value length 685000 685003 685016)" 573
  equal grouped "$(value length 685000 685003 685016 --total)" 459
  equal top "$(value '.[0] | [.jobid, .tags.op, .tags.op_sequence, .duration]' 685000 685016 --metric duration)" '["685016","dmput","89",7008334182]'
  equal union "$(value '.[0].duration' 685000 685016 --metric duration --duration union)" 7005558348
  plimsoll ops --cost --json 685000 685003 685016 >cost.json
  equal cost "$(jq -c '[.percent, .total]' cost.json)" '[43.157,633756327]'
  equal jobs "$(jq -c '[.jobs[] | [.value, .total, .percent]]' cost.json)" '[[69603181,113135329,62],[61358737,93538033,66],[142548435,427082965,33]]'
}
