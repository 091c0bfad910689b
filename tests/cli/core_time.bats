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
  # one thread sleeps: of two cores the other had nothing to run
  at_least 'asleep, s' "$(part wait-timer)" 1.2
  at_most 'asleep, s' "$(part wait-timer)" "$(jq .wall_seconds where.json)"
  at_least 'nothing to run, s' "$(part idle-serial)" "$(jq '.total_seconds - .wall_seconds - 0.1' where.json)"
  jq -e '[.parts[] | select(.name == "residue") | .share][0] < 0.05' where.json >/dev/null || fail "$(cat where.json)"
  plimsoll where --over time >text
  grep -q '^over time, a column is ' text
  equal 'its lines: the sum, and over time by the same words' "$(grep -c 'sleeping until a time ' text)" 2
  at_most 'columns of the widest line' "$(LC_ALL=C.UTF-8 wc -L <text)" 80
  # the same in the report, in all its forms
  plimsoll report --json | jq .core_time >report.json
  equal 'in the report' "$(jq -S . report.json | md5sum)" "$(jq -S . where.json | md5sum)"
  plimsoll report >text
  grep -q '^CORE TIME$' text
  plimsoll report -o page.html
  grep -q '<section id="core-time">' page.html
}

@test "who waits for another process of the job waits for what that one waits for" {
  use_store
  plimsoll run -q --sample 100ms -- sh -c "for i in 1 2 3 4 5; do echo \$i; sleep 0.3; done | tr 1 2 | cat"
  plimsoll where --json >where.json
  adds_up where.json
  at_least 'asleep, s' "$(part wait-timer)" 1.2
  at_most 'for another process, s' "$(part wait-process)" 0.8
  equal verdict "$(plimsoll report --json | jq -r '.findings[0].id')" timer
}

@test "a program and a process of a sampled job are divided by their own samples" {
  use_store
  plimsoll run -q --sample 100ms -- sh -c "'$PROGRAMS/actor' burn 900 & '$PROGRAMS/waiter' 2 threads 1; wait"
  plimsoll where --executable waiter --json >where.json
  adds_up where.json
  equal by "$(jq -c '[.by, .waits_sampled]' where.json)" '["samples",true]'
  at_least 'asleep, s' "$(part wait-timer)" 1.6
  at_most 'computing, s' "$(part user)" 0.2
  plimsoll where --process "$(plimsoll procs --json --where 'exename = actor' last | jq .[0].pid)" --json >where.json
  adds_up where.json
  equal by "$(jq -c '[.by, .waits_sampled]' where.json)" '["samples",true]'
  at_least 'computing, s' "$(part user)" 0.3
  at_most 'asleep, s' "$(part wait-timer)" 0.2
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
  equal lines "$(wc -l <where.csv)" 70
  run ! plimsoll where 78 --rank 9
  [[ $output == *'nothing of the job matches'* ]]
  run ! plimsoll where 78 --rank x
  [[ $output == *"'x' is no rank"* ]]
  run ! plimsoll where 78 --over space
  [[ $output == *"--over takes 'time'"* ]]
}

@test "the same work for 9 s and for 12 s: the same verdict and the same shares; parts by host, rank and step add up" {
  use_store
  local seconds of
  for seconds in 9 12; do
    python3 "$PL_SOURCE/tests/fixtures/hour_job.py" "$PROGRAMS/make_samples" "job$seconds" -n 2 -p 4 -c "$seconds"
    plimsoll submit -q "job$seconds"
    mv "job$seconds" "was$seconds" # otherwise the name means the directory
    plimsoll where "job$seconds" --json >where.json
    adds_up where.json
    equal by "$(jq -c '[.by, .waits_sampled, .granted_cores, (.wall_seconds | round)]' where.json)" "[\"samples\",true,8,$((seconds - 1))]"
    jq '[.parts[].share]' where.json >"shares$seconds"
    plimsoll report "job$seconds" --json | jq '[.findings[].id]' >"found$seconds"
    for of in '--host node2' '--rank 5' '--step 1' '--executable mesh' '--process 1002'; do
      # shellcheck disable=SC2086  # an option and its value
      plimsoll where "job$seconds" $of --json >where.json
      adds_up where.json
      equal "$of" "$(jq -c '[.by, .waits_sampled]' where.json)" '["samples",true]'
      # a process computes for 0.4 s of each second
      jq -e '([.parts[] | select(.name == "user") | .share][0]) as $u | $u > 0.05 and $u < 0.6' where.json >/dev/null || fail "$of: $(cat where.json)"
    done
  done
  equal verdict "$(jq -c '.[0]' found12)" "$(jq -c '.[0]' found9)"
  jq -e -n --slurpfile a shares9 --slurpfile b shares12 '[range($a[0] | length) as $i | ($a[0][$i] - $b[0][$i]) | fabs] | max < 0.05' >/dev/null ||
    fail "$(paste shares9 shares12)"
}

@test "a job of which nothing is known says what to do" {
  use_store
  mkdir empty
  echo '{"plimsoll_job": 1, "jobid": "5", "start_us": 1700000000000000, "stop_us": 1700000060000000, "exitcode": 0}' >empty/job.json
  plimsoll submit -q empty
  run ! plimsoll where 5
  [[ $output == *'plimsoll run --sample 1s'* ]]
}
