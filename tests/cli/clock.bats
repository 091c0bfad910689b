#!/usr/bin/env bats
# bats file_tags=colmet
# The wall clock is set forwards and backwards, for the node and for the collector: nothing is lost, nothing is there
# twice, numbers and order stay, durations are right, and nobody waits for an hour that is not over.

bats_require_minimum_version 1.5.0
load lib
load node
load collect

setup() {
  node_setup
  for f in node collector; do clock_is $f 0; done
}
teardown() { node_teardown; }

# clock_is WHOSE SECONDS: so far ahead from now on; negative: behind
clock_is() { perl -e 'print pack("q", $ARGV[0])' -- "$2" | dd of="clock.$1" conv=notrunc status=none; }
# on_clock WHOSE COMMAND...: in the background, by the clock that can be set
on_clock() {
  CLOCKSTEP_FILE=$WORK/clock.$1 LD_PRELOAD=$PROGRAMS/libclockstep.so "${@:2}" 3>&- &
  PIDS+=($!)
}
ticks() { plimsoll configure n --show --json | jq .counts.ticks; }
ticks_are() { [ "$(ticks)" -ge "$1" ]; }
# some more of it
a_while() { until_true ticks_are $(($(ticks) + 4)); }
uptime_ms() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

start_collector() {
  on_clock collector plimsoll collect -v --commit 100ms --log "$WORK/c" --sink stdout:jsonl --sink "store:$WORK/s.db" \
    --sink "hdf5:$WORK/data/c" "$@" >>c.out 2>>c.err
  PID=${PIDS[-1]}
  collector_up c "$PID"
}

@test "steps of an hour and a day, of either clock, with a kill and a restart between" {
  start_collector --bind 'tcp://127.0.0.1:*' --bind-colmet 'tcp://127.0.0.1:*'
  begin=$(uptime_ms)
  on_clock node plimsoll node --name n -i 100ms --batch 300ms --spool "$WORK/spool" --connect "$NATIVE" --wire colmet "$COLMET" \
    -o node.smp -s system 2>>node.log
  node=${PIDS[-1]}
  until_true node_is_up
  a_while
  clock_is node 3600
  a_while
  clock_is node -3600
  clock_is collector -86400
  a_while
  # a sink behind a clock that went back a day is fed as before
  until_status c "[.sinks[].position >= $(status_of c .log.next)] | all"
  at_most 'seconds that sinks are behind' "$(status_of c '[.sinks[].seconds_behind] | max')" 60
  kill -9 "$PID"
  wait "$PID" || true
  clock_is collector 86400
  a_while
  start_collector --bind "$NATIVE" --bind-colmet "$COLMET"
  a_while
  clock_is node 7200
  clock_is collector 0
  a_while
  clock_is node 0
  a_while
  end_node
  end=$(uptime_ms)
  until_status c '.log.next == .log.first'
  equal 'batches that were none' "$(status_of c .native.bad)" 0
  # what it waits for at its end does not go by the wall clock either
  clock_is collector -86400
  collector_stop "$PID"
  ! grep 'does not come back' c.err || fail "$(cat c.err)"

  # the node's own account: readings in order of boot time, a period apart, none left out or doubled
  plimsoll samples --json node.smp >all
  jq -c 'select(.event == "reading" and .source == "sampler") | .rows[0].values' all >own
  count=$(wc -l <own)
  equal 'numbers of readings' "$(jq -c .ticks own | tr '\n' ' ')" "$(seq -s ' ' 1 "$count") "
  # an hour has 36000 periods, and a busy machine leaves out some
  at_most 'overruns' "$(jq -s 'map(.overruns) | max' own)" 5000
  jq -c 'select(.event == "clock")' all >clocks
  at_most 'milliseconds by boot time' "$(jq -s '(last.boottime - first.boottime) * 1000' clocks)" $((end - begin + 1000))
  # every reading is in every sink, once, with the label that the clock had then
  jq -r 'select(.source == "sampler") | "\(.values.ticks) \(.time)"' c.out | sort -u >lines
  export PLIMSOLL_DB=$WORK/s.db
  plimsoll sql --csv "SELECT CAST(value AS INTEGER), time FROM samples WHERE metric = 'sampler.ticks' ORDER BY 1" >stored
  /usr/bin/python3 - clocks lines stored "$count" data/c.*.hdf5 <<'P'
import csv, datetime, json, sys
import h5py

clocks, lines, stored, count, files = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]
moment = lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
offsets = [moment(c["time"]) - c["boottime"] for c in map(json.loads, open(clocks))]
steps = [round(b - a) for a, b in zip(offsets, offsets[1:])]
assert [s for s in steps if s] == [3600, -7200, 10800, -7200], steps
told = dict(line.split() for line in open(lines))
assert sorted(map(int, told)) == list(range(1, count + 1)), told
times = [moment(told[str(i)]) for i in range(1, count + 1)]
jumps = [round((b - a) / 3600) for a, b in zip(times, times[1:])]
assert [j for j in jumps if j] == [1, -2, 3, -2], jumps
rows = list(csv.reader(open(stored)))[1:]
assert [int(r[0]) for r in rows] == list(range(1, count + 1)), rows
assert [round(int(r[1]) / 1e6 - t, 3) for r, t in zip(rows, times)] == [0] * count, rows
# a file for each start of the collector
found = []
for name in files:
    with h5py.File(name, "r") as f:
        found += [int(r["ticks"]) for r in f["job_0/sampler"][:]]
assert sorted(found) == list(range(1, count + 1)), found
P
  # colmet's records, of every hour that it was
  at_least 'hours' "$(jq -r 'select(.source == "procstats_default") | .time[:13]' c.out | sort -u | wc -l)" 4
  # where the steps go over midnight, the node has a job for another day as well
  equal 'increase' "$(plimsoll sql --csv "SELECT CAST(max(increase) AS INTEGER) FROM series WHERE metric = 'sampler.ticks'" | sed 1d)" $((count - 1))
}

@test "a node that begins again with its clock set back: all of it is taken" {
  start_collector --bind 'tcp://127.0.0.1:*'
  for ahead in 0 -86400 3600 -86400; do
    clock_is node $ahead
    on_clock node plimsoll node --once --name n --connect "$NATIVE" --spool "$WORK/spool" -s system 2>>node.log
    wait "${PIDS[-1]}"
  done
  until_stored c 4
  equal 'batches, duplicates, bad' "$(status_of c '.native | [.batches, .duplicates, .bad] | join(" ")')" '4 0 0'
  collector_stop "$PID"
  equal 'first readings' "$(jq -r 'select(.source == "sampler" and .values.ticks == 1) | .time' c.out | sort -u | wc -l)" 4
}
