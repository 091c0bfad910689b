#!/usr/bin/env bats
# Many nodes at once: a collector that is killed meanwhile stores what they send once, within bounds.

# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash"
# shellcheck source=tests/cli/collect.bash
. "$PL_SOURCE/tests/cli/collect.bash"

ask() {
  plimsoll sql --csv "$1" | sed 1d
}

# known FILTER: what the nodes said at their end
known() {
  jq -r "$1" nodes.json
}

@test "50 nodes, a collector that is killed twice: every batch is stored once" {
  local i met=0 sinks=(--sink stdout:jsonl --sink "store:$WORK/s.db")
  collector c --bind 'tcp://127.0.0.1:*' "${sinks[@]}"
  "$PROGRAMS/bench-nodes" "$NATIVE" nodes=50 jobs=2 metrics=2 readings=1 seconds=3 links=4 patience=100 >nodes.json 3>&- &
  local nodes=$!
  for i in 20 80; do
    until_status c ".log.next > $i"
    kill -KILL "$PID"
    wait "$PID" || true
    # on a machine that is slow enough they may be done already
    ! kill -0 "$nodes" 2>/dev/null || met=$((met + 1))
    collector c --bind "$NATIVE" "${sinks[@]}"
  done
  wait "$nodes"
  equal "acknowledged" "$(known '"\(.acknowledged) of \(.batches)"')" "150 of 150"
  at_least "connections that were made again" "$(known .reconnected)" "$met"
  until_stored c 150
  equal "skipped and missing" "$(status_of c '[.sinks[] | .skipped + .missing] | add')" 0
  at_most "memory in KiB" "$(awk '/VmHWM/ { print $2 }' "/proc/$PID/status")" 100000
  collector_stop "$PID"

  export PLIMSOLL_DB=$WORK/s.db
  equal "values" "$(ask 'SELECT count(*) FROM samples')" 600
  equal "different ones" "$(ask 'SELECT count(*) FROM (SELECT DISTINCT jobid, host, metric, entity, time FROM samples)')" 600
  equal "hosts" "$(ask 'SELECT count(DISTINCT host) FROM samples')" 50
  equal "sum of the gauges" "$(ask "SELECT CAST(sum(value) AS INTEGER) FROM samples WHERE metric = 'group.metric1'")" "$(known .gauges)"
  # lines may come twice behind a kill, and the last one before it may be torn
  equal "lines" "$(jq -R -c 'fromjson? // empty' c.out | sort -u | wc -l)" 300
  equal "the sum of theirs" "$(jq -R -c 'fromjson? // empty' c.out | sort -u | jq -s 'map(.values.metric1) | add')" "$(known .gauges)"
}

@test "every node gets its answer when many share a connection" {
  collector c --bind 'tcp://127.0.0.1:*' --sink stdout:jsonl
  # nothing is sent again: an answer that is lost is missing at the end
  "$PROGRAMS/bench-nodes" "$NATIVE" nodes=400 jobs=1 metrics=1 readings=1 seconds=1 links=1 speed=0 resend=600 patience=60 >nodes.json
  equal "acknowledged, sent" "$(known '"\(.acknowledged) \(.sent)"')" "400 400"
  until_stored c 400
  collector_stop "$PID"
  equal "lines" "$(wc -l <c.out)" 400
}
