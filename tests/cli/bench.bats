#!/usr/bin/env bats
# bench: repeats commands, records each run as a job, compares them; what it does when a command fails or ^C comes.

bats_require_minimum_version 1.5.0
load store

# what COMMAND...: its output in $output, its messages in messages, its exit status in $status
what() {
  status=0
  output=$("$@" 2>messages) || status=$?
}

get() {
  python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}

# bats test_tags=engine
@test "two commands: interleaved, recorded, compared" {
  use_store
  # the second writes more, and nothing else is certain on a busy machine
  what plimsoll bench -n 8 -N old -N new --metric wchar,images --json -- sh -c 'head -c 20000 /dev/zero' -- sh -c 'head -c 60000 /dev/zero'
  equal status "$status" 0
  equal verdict "$(get 'd["verdict"], [r["metric"] for r in d["comparisons"] if r["verdict"] == "worse"]' <<<"$output")" "('worse', ['wchar'])"
  equal medians "$(get '[(r["baseline_median"], r["median"]) for r in d["comparisons"]]' <<<"$output")" "[(20000.0, 60000.0), (2.0, 2.0)]"
  equal jobs "$(ask "SELECT jobname, count(*), min(exitcode) FROM job GROUP BY jobname ORDER BY jobname" | tr '\n' ' ')" "new,8,0 old,8,0 "
  # each round has both, in an order that the seed determines
  order=$(ask "SELECT jobid FROM job ORDER BY start_us" | sed 's/.*-//')
  equal rounds "$(sed 's/.$//' <<<"$order" | uniq -c | tr -s ' \n' ' ')" " 2 001 2 002 2 003 2 004 2 005 2 006 2 007 2 008 "
  equal "both orders" "$(grep -A1 -e 1a -e 1b <<<"$order" | head -n 1 | wc -l)" 1
  [ "$(sed -n 'p;n' <<<"$order" | sed 's/.*\(.\)$/\1/' | sort -u | wc -l)" = 2 ] || fail "the order is always the same: $order"
  # these are the jobs that compare compares
  what plimsoll compare --metric wchar new -- old
  equal "the same verdict" "$status" 3
  what plimsoll bench -n 6 --gate --metric images -- true -- true
  equal "gate: not worse" "$status" 0
  what plimsoll bench -n 2 --gate --metric images -- true -- true
  equal "gate: inconclusive" "$status" 4
}

@test "one command: a summary; warm-up runs are not recorded" {
  use_store
  what plimsoll bench -n 6 --warmup 2 --metric wchar,duration --csv -- sh -c 'echo run >>log; head -c 5000 /dev/zero'
  equal status "$status" 0
  equal runs "$(wc -l <log)" 8
  equal stored "$(ask "SELECT count(*) FROM job")" 6
  equal summary "$(grep ,wchar, <<<"$output")" "job,,wchar,bytes,6,5004,5004,5004,5004,5004"
  equal "no output of the commands" "$(wc -l <<<"$output")" 3
  what plimsoll bench -n 5 -- true
  grep -q -x '5 runs of true' <<<"$output"
  grep -q '^duration ' <<<"$output"
  equal "why there is no interval" "$(tail -n 1 <<<"$output")" "an interval needs 6 runs"
  what plimsoll bench -n 5 --confidence 90 -- true
  equal "90 % need fewer" "$(grep -c 'an interval needs' <<<"$output")" 0
  what plimsoll bench -n 5 --json -- true
  equal "five runs have none of 95 %" "$(get 'd["metrics"][0]["low"], d["metrics"][0]["high"], d["metrics"][0]["runs"]' <<<"$output")" "(None, None, 5)"
  what plimsoll bench -n 1 --json -- true
  equal "one run has no interval" "$(get 'd["metrics"][0]["low"], d["metrics"][0]["runs"]' <<<"$output")" "(None, 1)"
}

@test "a command that fails ends the benchmark with one line" {
  use_store
  what plimsoll bench -n 5 -- sh -c 'echo run >>log; [ "$(wc -l <log)" -lt 3 ]'
  equal status "$status" 1
  equal message "$(cat messages)" \
    "plimsoll: error: run 3 of sh failed with status 1; --show-output shows what it says, --ignore-failure goes on, the runs before it are stored"
  grep -q -x '2 runs of sh' <<<"$output"
  equal "good runs" "$(ask "SELECT count(*) FROM job WHERE exitcode = 0")" 2
  # nothing to compare with: the command that succeeded is summarised
  what plimsoll bench -n 3 --gate -- true -- false
  equal "the other one failed" "$status" 1
  grep -q -x '[01] runs\? of true' <<<"$output" || equal "false was first" "$output" ''
  ! grep -q 'not recorded' <<<"$output" || fail "$output"
  what plimsoll bench -n 3 -i -- false
  equal "ignored" "$status" 0
  grep -q -x '3 runs of false' <<<"$output"
  what plimsoll bench -n 2 -- ./nothing
  equal "no such command" "$status$(wc -l <messages)" 11
  grep -q "cannot run './nothing'" messages
  PLIMSOLL_DB=/proc/none.db what plimsoll bench -n 2 -- touch ran
  equal "a store that cannot be written" "$status$(wc -l <messages)" 11
  [ ! -e ran ] || fail "it ran, though it could not be stored"
  what plimsoll bench -n 2 --warmup 1 -- false
  equal "failure while warming up" "$status" 1
  grep -q 'warm-up run 1 of false failed with status 1' messages
  for usage in "" "a --" "a -- b -- c" "-N x -N y a" "--gate a" "-n 0 a"; do
    # shellcheck disable=SC2086
    what plimsoll bench $usage
    equal "'$usage'" "$status" 2
  done
}

@test "commands get no input, and their output is shown on request" {
  use_store
  what plimsoll bench -n 2 --show-output --metric images -- sh -c 'cat; echo out; echo err >&2' <<<"input"
  equal "output" "$(grep -c -x out <<<"$output")" 2
  equal "errors" "$(grep -c -x err messages)" 2
  equal "input" "$(grep -c input <<<"$output")" 0
}

@test "^C shows and keeps the complete runs" {
  use_store
  plimsoll bench -n 1000 --metric duration -- sh -c 'echo run >>log; sleep 0.05' >out 2>messages &
  pid=$!
  for _ in $(seq 200); do [ "$(cat log 2>/dev/null | wc -l)" -lt 4 ] || break; sleep 0.05; done
  kill -INT $pid || true # not all: a shell in the background has it ignored
  kill -TERM $pid
  status=0
  wait $pid || status=$?
  [ "$status" = 143 ] || [ "$status" = 130 ] || fail "ended with $status"
  grep -q 'interrupted: showing the runs that are complete' messages
  grep -q -E '^[0-9]+ runs of sh' out
  at_least "stored" "$(ask "SELECT count(*) FROM job WHERE exitcode = 0")" 3
}
