#!/usr/bin/env bats
# What threads wait for: the reason and the partner of each kind of wait, and what it costs when nothing happens.

bats_require_minimum_version 1.5.0
load lib

# the last row of each process of the source, with its longest wait: PID WAITED REASON SHARE TEXT
waits() {
  plimsoll samples --json "$1"/*/*.smp | jq -rn '
    reduce inputs as $e ({rows: {}, text: {}};
      if $e.source != "waits" then .
      elif $e.event == "entity" then .text[$e.name] = $e.metadata.waits
      elif $e.event == "reading" then reduce $e.rows[] as $r (.; .rows[$r.name] = $r.values)
      else . end) | .text as $text | .rows | to_entries[] | select(.key != "job") |
    (.value.observed - .value.running) as $waited |
    (.value | del(.observed, .running, .threads, .members, .busiest) | to_entries | max_by(.value)) as $most |
    [.key, $waited, $most.key, if $waited > 0 then $most.value / $waited else 0 end, $text[.key] // "-"] | @tsv'
}

@test "every kind of wait has its reason and its partner for nine tenths of the time and more" {
  plimsoll run -q --sample 500ms -o job -- "$PROGRAMS/waiter" 3 list
  waits job >found
  [ "$(wc -l <list)" -ge 23 ] || fail "$(cat list)"
  while read -r pid name reason partner; do
    row=$(grep "^$pid\." found) || fail "$name ($pid) has no row: $(cat found)"
    IFS=$'\t' read -r _ waited most share text <<<"$row"
    text=${text%%; *}
    [ "$most" = "$reason" ] || fail "$name waits for $most: $row"
    awk -v s="$share" -v w="$waited" 'BEGIN { exit !(s >= 0.9 && w >= 1.5e6) }' || fail "$name: $row"
    [[ $text == "$reason "*"${partner//_/ }"* ]] || fail "$name: the partner is not $partner: $row"
  done <list
}

@test "a thread that computes is seen running, and the parts are what was looked at" {
  plimsoll run -q --sample 500ms -o job -- "$PROGRAMS/actor" burn 1500
  plimsoll samples --json job/*/*.smp | jq -e -n '[inputs | select(.source == "waits" and .event == "reading") |
    .rows[] | select(.kind == "job") | .values] | last |
    .running >= 0.6 * .observed and .observed > 5e5 and
    .observed == ([.storage, .network, .process, .lock, .condition, .timer, .child, .device, .poll, .other, .running] | add)'
}

@test "100 threads that keep waking up are all seen, at the cost of a few per cent of a core at most" {
  plimsoll run -q --sample 500ms -o job -- "$PROGRAMS/waiter" 2 wakers 100
  plimsoll samples --json job/*/*.smp >samples.json
  jq -e -n '[inputs | select(.source == "waits" and .event == "reading") | .rows[] | select(.kind == "process") |
    .values.threads] | max == 100' samples.json
  share=$(jq -n '[inputs | select(.source == "sampler" and .event == "reading") | .rows[0].values.cpu_time] |
    (last - .[0]) / 2e4' samples.json)
  awk -v s="$share" 'BEGIN { exit !(s < 3) }' || fail "$share %"
}

@test "2,000 threads that keep waking up: looks keep to their budget, and all of them are seen" {
  "$PROGRAMS/waiter" 60 wakers 2000 3>&- &
  pid=$!
  plimsoll monitor -q --no-submit -i 500ms --budget 0 --source waits -d job --pid "$pid" --duration 16s
  # a look takes 0.3 % of the time at most; on a busy machine each costs more. Without a budget it would be 5 %
  share=$(plimsoll samples --json job/*/*.smp | jq -n '[inputs | select(.source == "sampler" and .event == "reading") |
    .rows[0].values.cpu_time][2:-1] | (last - first) / (length - 1) / 5e3')
  echo "looks: $share % of a core"
  at_most 'looks, % of a core' "$share" 1.5
  # 32,000 s of thread time; a thread counts from its first look on, and on a busy machine looks take in fewer of them
  plimsoll samples --json job/*/*.smp | jq -c -n '[inputs | select(.source == "waits" and .event == "reading") | .rows[] |
    select(.kind == "process") | .values] | {most: map(.threads) | max, last: last}' >seen.json
  jq -e '.most == 2000 and (.last | .timer > 0.8 * .observed and .observed > 1.5e9)' seen.json || fail "$(cat seen.json)"
  # all sources together cost more than the budget of half a per cent: they are read less often
  plimsoll monitor -q --no-submit -i 500ms -d all --pid "$pid" --duration 7s
  kill "$pid"
  plimsoll samples --json all/*/*.smp | jq -e -n '[inputs | select(.source == "sampler" and .event == "reading") |
    .rows[0].values] | (last.stretch >= 2) or (last.cpu_time - .[2].cpu_time) / (length - 3) / 5e3 <= 0.5'
}

@test "a setting switches it off, and naming it on again" {
  export PLIMSOLL_SAMPLE_SKIP='rapl waits'
  plimsoll run -q --sample 200ms -o job -- sleep 0.5
  run -0 plimsoll samples --json job/*/*.smp
  [[ $output == *'"source":"process"'* && $output != *'"source":"waits"'* ]] || fail "$output"
  plimsoll monitor -q --no-submit -i 200ms -d named --source waits -- sleep 0.5
  run -0 plimsoll samples --json named/*/*.smp
  [[ $output == *'"source":"waits"'* && $output == *'"timer"'* ]] || fail "$output"
}

# switches of the process since it began
switches() { awk '/ctxt_switches/ { s += $2 } END { print s }' "/proc/$1/status"; }

@test "a run in which nothing happens sleeps" {
  plimsoll run -q -o job -- sleep 3 3>&- &
  pid=$!
  sleep 1
  before=$(switches "$pid")
  sleep 1.5
  after=$(switches "$pid")
  wait "$pid"
  # 200 a second before it slept; events of other tests' processes wake it
  [ $((after - before)) -le 60 ] || fail "$((after - before)) wake-ups in 1.5 s"
}

@test "a process that begins after a quiet time is complete" {
  # static programs: known by kernel events only
  plimsoll run -q -o job -- bash -c 'sleep 1.3; for i in 1 2 3; do "$0" return 3; done; sleep 1.2; "$0" return 4; true' "$PROGRAMS/actor-static"
  plimsoll records --jsonl job >rows
  equal ends "$(jq -s '[.[].exitcode | select(. == 3 or . == 4)] | sort | map(tostring) | join(" ")' rows)" '"3 3 3 4"'
}
