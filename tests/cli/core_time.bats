#!/usr/bin/env bats
# Where the core time of a job went: parts that add up, of the job and of what is in it.

bats_require_minimum_version 1.5.0
load store

teardown() {
  clear_work
}

# adds_up FILE: the parts of the job and of its hosts are what was granted, and none is negative
adds_up() {
  jq -e '((([.parts[].seconds] | add) - .total_seconds) | fabs) < 1e-3 and ([.parts[].seconds] | min) >= 0 and
    ((([.hosts[].parts[]] | add) - .total_seconds) | fabs) < 1e-3 and
    ((([.over_time.parts[][]] | add) - .total_seconds) | fabs) < 0.05' "$1" >/dev/null || fail "$(cat "$1")"
}

# part NAME: its seconds in where.json
part() {
  jq ".parts[] | select(.name == \"$1\") | .seconds" where.json
}

@test "a sampled job: sleeping is sleeping, and all of granted cores x duration is divided" {
  use_store
  plimsoll run -q --sample 100ms -- "$PROGRAMS/actor" sleep 1500
  plimsoll where --json >where.json
  adds_up where.json
  equal by "$(jq -c '[.by, .waits_sampled]' where.json)" '["samples",true]'
  jq -e '((.granted_cores * .wall_seconds - .total_seconds) | fabs) < 0.01' where.json >/dev/null
  at_least 'asleep, ms' "$(jq '.parts[] | select(.name == "wait-timer") | .seconds * 1000 | floor' where.json)" 1200
  jq -e '[.parts[] | select(.name == "residue") | .share][0] < 0.05' where.json >/dev/null || fail "$(cat where.json)"
  plimsoll where --over time >text
  grep -q 'sleeping until a time' text
  grep -q '^over time, a column is ' text
  grep -q '^  wait-timer ' text
  # the same in the report, in all its forms
  plimsoll report --json | jq .core_time >report.json
  equal 'in the report' "$(jq -S . report.json | md5sum)" "$(jq -S . where.json | md5sum)"
  plimsoll report >text
  grep -q '^CORE TIME$' text
  plimsoll report -o page.html
  grep -q '<section id="core-time">' page.html
}

@test "by records: a program that computes, one that waits, and a parent" {
  use_store
  plimsoll run -q -- sh -c "'$PROGRAMS/actor' burn 700; '$PROGRAMS/actor' sleep 700; sleep 0.7; true"
  plimsoll where --json >where.json
  adds_up where.json
  equal by "$(jq -c '[.by, .waits_sampled]' where.json)" '["records",false]'
  # what one waited for is not known; sleep(1) sleeps
  at_least 'not known, ms' "$(jq '.parts[] | select(.name == "residue") | .seconds * 1000 | floor' where.json)" 500
  at_least 'asleep, ms' "$(jq '.parts[] | select(.name == "wait-timer") | .seconds * 1000 | floor' where.json)" 500
  at_least 'computing, ms' "$(jq '.parts[] | select(.name == "user") | .seconds * 1000 | floor' where.json)" 400
}

# bats test_tags=engine
@test "a host, a rank, a program, a step and a process of a job" {
  use_store
  python3 -c '
import json
print(json.dumps({"user": "x", "start": 0, "end": 60, "procs": [
    {"pid": 1001 + i, "ppid": 1, "exename": "solve" if i % 2 else "mesh", "start": 10 * i, "end": 40, "hostname": "n%d" % (i // 2), "mpirank": i,
     "numranks": 4, "tags": "step:%d" % i, "usertime": 10000000 + i} for i in range(4)]}))' | native_job job --id 78 --spec
  plimsoll submit -q job
  plimsoll where 78 --json >where.json
  adds_up where.json
  equal hosts "$(jq -c '[.hosts[].host]' where.json)" '["n0","n1"]'
  for of in '--host n1' '--rank 2' '--executable sol*' '--step 3' '--process 1002'; do
    # shellcheck disable=SC2086  # an option and its value
    plimsoll where 78 $of --json >where.json
    adds_up where.json
    case $of in
      --host*) equal "$of" "$(jq -c '[[.hosts[].host], .granted_cores]' where.json)" '[["n1"],1]' ;;
      --rank*) equal "$of" "$(jq '.wall_seconds' where.json)" 20 ;;
      --exec*) equal "$of" "$(jq '.wall_seconds' where.json)" 30 ;;
      --step*) equal "$of" "$(part user)" 10.000003 ;;
      --proc*) equal "$of" "$(jq -c '[.wall_seconds, .total_seconds]' where.json)" '[30,30]' ;;
    esac
  done
  plimsoll where 78 --csv >where.csv
  equal head "$(head -1 where.csv)" host,part,seconds,share
  equal lines "$(wc -l <where.csv)" 67
  run ! plimsoll where 78 --rank 9
  [[ $output == *'nothing of the job matches'* ]]
  run ! plimsoll where 78 --rank x
  [[ $output == *"'x' is no rank"* ]]
  run ! plimsoll where 78 --over space
  [[ $output == *"--over takes 'time'"* ]]
}

@test "a job of which nothing is known says what to do" {
  use_store
  mkdir empty
  echo '{"plimsoll_job": 1, "jobid": "5", "start_us": 1700000000000000, "stop_us": 1700000060000000, "exitcode": 0}' >empty/job.json
  plimsoll submit -q empty
  run ! plimsoll where 5
  [[ $output == *'plimsoll run --sample 1s'* ]]
}
