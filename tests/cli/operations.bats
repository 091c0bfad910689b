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
  PLIMSOLL_DATA_MOVEMENT='a:b:c' run -2 plimsoll ops a --cost
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
