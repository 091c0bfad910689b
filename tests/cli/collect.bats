#!/usr/bin/env bats
# The collector: what comes in goes to every sink, whatever is killed, full, wrong or hostile.

# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash"
# shellcheck source=tests/cli/collect.bash
. "$PL_SOURCE/tests/cli/collect.bash"

bats_require_minimum_version 1.5.0
DATA=$PL_SOURCE/../shared/data/colmet

@test "batches become lines, once, and the log is emptied behind them" {
  collector c --bind 'tcp://127.0.0.1:*' --sink stdout:jsonl
  deliver n1 1 10
  deliver n2 1 4 1 2
  until_stored c 14
  until_status c ".log.next == .log.first" # it needs nothing of the log
  equal "batches" "$(status_of c .native.batches)" 14
  equal "nodes" "$(status_of c .native.nodes)" 2
  collector_stop "$PID"
  equal "lines" "$(wc -l <c.out)" $((10 * 5 * 4 + 4 * 2 * 2))
  equal "different lines" "$(sort -u c.out | wc -l)" "$(wc -l <c.out)"
  equal "a value" "$(jq -c 'select(.host == "n1" and .time == "2027-01-15T08:00:49.000000Z" and .job == "1002") | .values' c.out)" \
    '{"cpu_time":49002,"memory":0}'
  run -3 plimsoll collect --status --log c
  equal "status" "$output" "not running"
}

# bats test_tags=colmet
@test "what the status says" {
  collector c --bind 'tcp://127.0.0.1:*' --bind-colmet 'tcp://127.0.0.1:*' --sink stdout:csv --sink "store:$WORK/s.db"
  deliver n1 1 3
  until_stored c 3
  run -0 plimsoll collect --status --log c
  [[ $output == *"running, pid $PID"* ]]
  [[ $output == *"0 of 3 entries are still needed"* ]]
  [[ $output == *"nodes at $NATIVE: 3 batches, 1 nodes, 0 duplicates, 0 bad"* ]]
  [[ $output == *"colmet's nodes at $COLMET: 0 messages"* ]]
  [[ $output =~ stdout:csv\ +running\ +0 ]]
  [[ $output =~ store:$WORK/s.db\ +running\ +0 ]]
  # one log has one collector
  run -1 plimsoll collect --log c --bind 'tcp://127.0.0.1:*' --sink stdout:csv
  [[ $output == *"another collector uses the log"* ]]
  collector_stop "$PID"
}

@test "a state that the collector could not write any more is said to be old" {
  collector c --bind 'tcp://127.0.0.1:*' --sink stdout:csv
  run -0 --separate-stderr plimsoll collect --status --log c
  equal 'of one that is new' "$stderr" ''
  kill -STOP "$PID"
  touch -d '2 minutes ago' c/status.json
  run -0 --separate-stderr plimsoll collect --status --json --log c
  kill -CONT "$PID"
  [[ $stderr == *"this status is 2 min"*"old: the collector no longer writes 'c/status.json'"* ]] || fail "$stderr"
  jq -e .pid <<<"$output" >/dev/null
  collector_stop "$PID"
}

@test "nothing is lost and nothing twice when it is killed again and again" {
  # PL_LONG: twenty times in a minute, at random
  local i times=${PL_LONG:+20} batches=400
  [ -z "${PL_LONG:-}" ] || batches=12000
  collector c --bind 'tcp://127.0.0.1:*' --sink "store:$WORK/s.db"
  FEEDER_PACE=5000 "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool" n1 1 "$batches" 4 5 3>&- &
  local feeder=$!
  for i in $(seq "${times:-4}"); do
    sleep "$((RANDOM % ${times:-1} / 4)).$((RANDOM % 8 + 1))"
    kill -KILL "$PID"
    wait "$PID" || true
    collector c --bind "$NATIVE" --sink "store:$WORK/s.db"
  done
  wait "$feeder"
  until_stored c "$batches"
  # four jobs with two metrics and the node with one, in five readings of each batch
  export PLIMSOLL_DB=$WORK/s.db
  equal "values" "$(plimsoll sql --csv 'SELECT count(*) FROM samples' | sed 1d)" $((batches * 5 * 9))
  equal "different ones" "$(plimsoll sql --csv 'SELECT count(*) FROM (SELECT DISTINCT jobid, host, metric, entity, time FROM samples)' | sed 1d)" \
    $((batches * 5 * 9))
  equal "increase" "$(plimsoll sql --csv "SELECT CAST(increase AS INTEGER) FROM series WHERE jobid = '1003' AND metric = 'group.cpu_time'" | sed 1d)" \
    $((batches * 5000 - 1000))
  equal "skipped and missing" "$(status_of c '[.sinks[] | .skipped + .missing] | add')" 0
  collector_stop "$PID"
}

@test "notes of positions that are empty after a crash make nothing twice" {
  collector c --bind 'tcp://127.0.0.1:*' --sink "store:$WORK/s.db" --sink "hdf5:$WORK/h.hdf5"
  deliver n1 1 10
  until_stored c 10
  kill -KILL "$PID"
  wait "$PID" || true
  for note in c/sinks/*/position; do : >"$note"; done
  rm -f c/sinks/store-*/log
  collector c --bind "$NATIVE" --sink "store:$WORK/s.db" --sink "hdf5:$WORK/h.hdf5"
  deliver n1 11 12
  until_stored c 12
  collector_stop "$PID"
  equal "lines about it" "$(grep -c "position' is damaged: continues with entry 11, the first that the sink reports" c.err)" 2
  export PLIMSOLL_DB=$WORK/s.db
  equal "values" "$(plimsoll sql --csv 'SELECT count(*) FROM samples' | sed 1d)" $((12 * 5 * 7))
}

# rows_of FILE NODE: rows of a node in all tables of an HDF5 file
rows_of() {
  "$python" - "$@" <<'P'
import h5py, sys
count = 0
def add(name, table):
    global count
    if isinstance(table, h5py.Dataset) and "hostname" in (table.dtype.names or ()):
        count += sum(bytes(h).rstrip(b"\0") == sys.argv[2].encode() for h in table["hostname"])
h5py.File(sys.argv[1], "r").visititems(add)
print(count)
P
}

@test "a log that was put back to an earlier state: what comes then is stored, and nothing twice" {
  local python=python3
  "$python" -c 'import h5py' 2>/dev/null || python=/usr/bin/python3
  "$python" -c 'import h5py' 2>/dev/null || skip "python3-h5py is not installed"
  local sinks=(--sink "store:$WORK/s.db" --sink "hdf5:$WORK/h.hdf5" --sink stdout:jsonl)
  collector c --bind 'tcp://127.0.0.1:*' "${sinks[@]}"
  deliver n1 1 4
  until_stored c 4
  collector_stop "$PID"
  cp -a c earlier
  collector c --bind "$NATIVE" "${sinks[@]}"
  deliver n2 1 6
  until_stored c 10
  collector_stop "$PID"
  rm -r c
  mv earlier c
  : >c.err
  # twice: what was noted of it outlives an end of the collector
  collector c --bind "$NATIVE" "${sinks[@]}"
  deliver n3 1 3
  until_stored c 7
  kill -KILL "$PID"
  wait "$PID" || true
  collector c --bind "$NATIVE" "${sinks[@]}"
  deliver n4 1 1
  until_stored c 8
  collector_stop "$PID"
  equal "lines about it" "$(grep -c 'store:.*has entry 10, but the log ended with 4 when it was opened' c.err)" 1
  export PLIMSOLL_DB=$WORK/s.db
  equal "values" "$(plimsoll sql --csv 'SELECT count(*) FROM samples' | sed 1d)" $(((4 + 6 + 3 + 1) * 5 * 7))
  equal "lines" "$(sort -u c.out | wc -l)" $(((4 + 6 + 3 + 1) * 5 * 4))
  equal "rows in HDF5" "$(rows_of h.hdf5 n1) $(rows_of h.hdf5 n2) $(rows_of h.hdf5 n3) $(rows_of h.hdf5 n4)" "$((4 * 5)) $((6 * 5)) $((3 * 5)) 5"
}

@test "a batch that a power cut left out of the log is taken again, and the others are not" {
  # nobody takes anything out of the log
  collector c --bind 'tcp://127.0.0.1:*' --forward tcp://127.0.0.1:1
  deliver n1 1 10
  kill -KILL "$PID"
  wait "$PID" || true
  # pages of some entries never got to the disk
  python3 - c/log/*.log <<'P'
import sys
path = sys.argv[1]
data = bytearray(open(path, "rb").read())
at, starts = 24, []
while at < len(data):
    starts.append(at)
    at += 20 + int.from_bytes(data[at + 8:at + 12], "little")
for k in (3, 7):  # entries 4 and 8
    data[starts[k]:starts[k + 1]] = bytes(starts[k + 1] - starts[k])
open(path, "wb").write(data)
P
  collector c --bind "$NATIVE" --sink stdout:jsonl
  kill -KILL "$PID" # also past a start, which may have written a checkpoint
  wait "$PID" || true
  : >c.out
  rm -rf c/sinks
  collector c --bind "$NATIVE" --sink stdout:jsonl
  rm -rf spool.n1
  deliver n1 1 12
  until_stored c 14
  equal "known and taken" "$(status_of c '.native | [.batches, .duplicates] | join(" ")')" "4 8"
  collector_stop "$PID"
  equal "lines" "$(wc -l <c.out)" $((12 * 5 * 4))
  equal "different lines" "$(sort -u c.out | wc -l)" $((12 * 5 * 4))
}

@test "a store that is moved away has what was committed, and a new one the rest" {
  collector c --bind 'tcp://127.0.0.1:*' --sink "store:$WORK/s.db"
  deliver n1 1 5
  until_stored c 5
  mkdir old
  mv s.db old/
  deliver n1 6 12
  until_stored c 12
  # readings of three jobs and the node, five of each in a batch
  equal "what was moved" "$(PLIMSOLL_DB=$WORK/old/s.db plimsoll sql --csv "SELECT count(*) FROM samples WHERE metric LIKE '%.cpu_time'" | tail -1)" 75
  equal "what is new" "$(PLIMSOLL_DB=$WORK/s.db plimsoll sql --csv "SELECT count(*) FROM samples WHERE metric LIKE '%.cpu_time'" | tail -1)" 105
  equal "one line says so" "$(grep -c "'$WORK/s.db' was replaced or removed after it was opened" c.err)" 1
  collector_stop "$PID"
}

@test "jobs that are submitted or deleted while nodes feed them do not stop the sink" {
  export PLIMSOLL_DB=$WORK/s.db
  collector c --bind 'tcp://127.0.0.1:*' --sink "store:$WORK/s.db" --sink "hdf5:$WORK/nodes.hdf5"
  deliver n1 1 4
  until_stored c 4
  plimsoll delete -q 1001
  plimsoll delete -q 1002
  cp nodes.hdf5 copy.hdf5
  plimsoll submit copy.hdf5
  plimsoll delete -q 1002
  deliver n1 5 8
  until_stored c 8
  equal failures "$(status_of c '.sinks[0].failures')" 0
  collector_stop "$PID"
  ! grep -q "Stale\|works again" c.err || fail "$(cat c.err)"
  equal "job 1001" "$(plimsoll sql --csv "SELECT count(*) FROM samples WHERE jobid = '1001' AND metric = 'group.cpu_time'" | tail -1)" 40
  equal "job 1002" "$(plimsoll sql --csv "SELECT count(*) FROM samples WHERE jobid = '1002' AND metric = 'group.cpu_time'" | tail -1)" 20
}

@test "an HDF5 file that is removed is begun anew with what was not committed" {
  collector c --bind 'tcp://127.0.0.1:*' --sink "hdf5:$WORK/nodes.hdf5"
  deliver n1 1 5
  until_stored c 5
  cp nodes.hdf5 old.hdf5
  rm nodes.hdf5
  deliver n1 6 12
  until_stored c 12
  equal "one line says so" "$(grep -c "'$WORK/nodes.hdf5' or its filesystem was removed" c.err)" 1
  collector_stop "$PID"
  export PLIMSOLL_DB=$WORK/old.db
  plimsoll submit -q old.hdf5
  equal "before" "$(plimsoll sql --csv "SELECT count(*) FROM samples WHERE metric LIKE '%.cpu_time'" | tail -1)" 75
  PLIMSOLL_DB=$WORK/new.db
  plimsoll submit -q nodes.hdf5
  equal "afterwards" "$(plimsoll sql --csv "SELECT count(*) FROM samples WHERE metric LIKE '%.cpu_time'" | tail -1)" 105
}

@test "a sink that is not there holds up nobody" {
  collector c --bind 'tcp://127.0.0.1:*' --sink stdout:jsonl --sink "store:postgresql:///x?host=$WORK/nowhere"
  deliver n1 1 5
  until_status c '.sinks[0].position == 6 and .sinks[1].failures > 1'
  equal "the other one" "$(status_of c '.sinks[1] | "\(.phase) \(.entries_behind)"')" "opening 5"
  [[ $(status_of c '.sinks[1].reason') == *"cannot connect to postgresql"* ]]
  equal "what is needed of the log" "$(status_of c '.log.next - .log.first')" 5
  equal "one line says so" "$(grep -c 'cannot connect' c.err)" 1
  collector_stop "$PID"
}

@test "a wrong sink ends it at once" {
  run -1 plimsoll collect --log c --bind 'tcp://127.0.0.1:*' --sink stdout:xml
  [[ $output == *"stdout:xml: unknown format 'xml' of stdout; use text, jsonl or csv"* ]]
  run -2 plimsoll collect --log c --bind 'tcp://127.0.0.1:*' --sink nonsense:x
  [[ $output == *"collect: --sink: invalid sink 'nonsense:x', expected KIND:TARGET"*"stdout:text|jsonl|csv"* ]]
  run -2 plimsoll collect --log c --sink stdout:csv
  [[ $output == *"--bind URI"* ]]
  run -2 plimsoll collect --log c --bind 'tcp://127.0.0.1:*'
  [[ $output == *"--sink KIND:TARGET or --forward URI"* ]]
  run -2 plimsoll collect --log c --bind 'tcp://127.0.0.1:*' --sink stdout:csv --log-limit lots
  [[ $output == *"a size such as 500M"* ]]
}

@test "plain text is for loopback" {
  run -1 plimsoll collect --log c --bind 'tcp://*:15558' --sink stdout:csv
  [[ $output == *"other hosts can reach 'tcp://*:15558': use --keys FILE and --allow FILE"*"or --insecure"* ]]
  run -1 plimsoll collect --log c --bind 'tcp://127.0.0.1:*' --forward tcp://192.0.2.1:5558
  [[ $output == *"'tcp://192.0.2.1:5558' is on another host"* ]]
}

@test "settings of the configuration file" {
  mkdir -p home/plimsoll
  export XDG_CONFIG_HOME=$WORK/home
  cat >home/plimsoll/plimsoll.conf <<C
collect_bind = tcp://127.0.0.1:*
collect_sinks = stdout:jsonl store:$WORK/s.db
collect_log = $WORK/c
collect_commit = 100ms
C
  plimsoll collect >c.out 2>c.err 3>&- &
  PID=$!
  collector_up c "$PID"
  deliver n1 1 2
  until_stored c 2
  run -0 plimsoll collect --status
  [[ $output == *"pid $PID"* ]]
  collector_stop "$PID"
  equal "lines" "$(wc -l <c.out)" 40
}

@test "collectors form a chain, and what is killed on the way loses nothing" {
  local first last
  collector b --bind 'tcp://127.0.0.1:*' --sink "store:$WORK/s.db"
  last=$NATIVE
  local b=$PID
  collector a --bind 'tcp://127.0.0.1:*' --forward "$last" --sink stdout:jsonl
  first=$NATIVE
  local a=$PID
  deliver n1 1 20
  until_stored b 20
  kill -KILL "$b"
  wait "$b" || true
  NATIVE=$first deliver n1 21 30
  NATIVE=$first deliver n2 1 10
  until_status a '.forward.entries_behind == 20'
  kill -KILL "$a"
  wait "$a" || true
  collector a --bind "$first" --forward "$last" --sink stdout:jsonl
  a=$PID
  collector b --bind "$last" --sink "store:$WORK/s.db"
  b=$PID
  until_stored b 40
  until_status a '.forward.entries_behind == 0 and .log.next == .log.first'
  equal "taken by the second one since then" "$(status_of b .native.batches)" 20
  export PLIMSOLL_DB=$WORK/s.db
  equal "values" "$(plimsoll sql --csv 'SELECT count(*) FROM samples' | sed 1d)" $((40 * 5 * 7))
  equal "hosts of a job" "$(plimsoll sql --csv "SELECT count(*) FROM job_hosts WHERE jobid = '1001'" | sed 1d)" 2
  collector_stop "$a"
  collector_stop "$b"
}

# bats test_tags=colmet
@test "garbage at both doors is counted and dropped" {
  collector c --bind 'tcp://127.0.0.1:*' --bind-colmet 'tcp://127.0.0.1:*' --sink stdout:jsonl
  "$PROGRAMS/feeder" flood "$COLMET" 1
  "$PROGRAMS/feeder" flood "$NATIVE" 1
  deliver n1 1 2
  until_stored c 2
  until_status c '.colmet.bad > 10'
  equal "records" "$(status_of c .colmet.records)" 0
  at_most "lines about it" "$(wc -l <c.err)" 6
  at_most "memory in KiB" "$(awk '/VmHWM/ { print $2 }' "/proc/$PID/status")" 150000
  collector_stop "$PID"
  equal "lines" "$(wc -l <c.out)" 40
}

@test "a full log takes no more, and goes on when there is room" {
  collector c --bind 'tcp://127.0.0.1:*' --log-limit 64K --sink "store:postgresql:///x?host=$WORK/nowhere" --sink stdout:jsonl
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool" n1 1 200 20 5 3>&- &
  local feeder=$!
  until_status c '.native.no_room > 0'
  at_most "size of the log" "$(status_of c .log.bytes)" 65536
  equal "lines about it" "$(grep -c 'cannot write the log' c.err)" 1
  # who holds it is said once before that, with what helps, and is shown
  equal "lines about who" "$(grep -c "of its limit (--log-limit), held by store:postgresql:///x?host=$WORK/nowhere, which has stored nothing for .*remove it" c.err)" 1
  equal "who" "$(status_of c .log.held_by)" "store:postgresql:///x?host=$WORK/nowhere"
  run -0 plimsoll collect --status --log c
  [[ $output =~ [0-9]+\ %\ of\ its\ limit.*held\ by\ store:postgresql:///x.*,\ which\ has\ stored\ nothing\ for ]]
  # without the sink that holds it up
  collector_stop "$PID"
  collector c --bind "$NATIVE" --log-limit 64K --sink stdout:jsonl
  wait "$feeder"
  until_stored c 200
  collector_stop "$PID"
  equal "lines" "$(sort -u c.out | wc -l)" $((200 * 5 * 21))
}

@test "with keys only those who are known may send, and only for their nodes" {
  local server
  server=$(plimsoll keys new -o collector.key)
  plimsoll keys allow allowed "$(plimsoll keys new -o n1.key)" n1
  plimsoll keys new -o stranger.key
  run -1 plimsoll collect --log c --bind 'tcp://127.0.0.1:*' --keys collector.key --sink stdout:jsonl
  [[ $output == *"--allow FILE"* ]]
  collector c --bind 'tcp://127.0.0.1:*' --keys collector.key --allow allowed --sink stdout:jsonl
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n1" n1 1 3 3 5 n1.key "$server"
  until_stored c 3
  # another name than the key is for: refused, not asked for again, and nothing of it is in the log
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n2" n2 1 2 3 5 n1.key "$server" || true
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n3" n1 4 5 3 5 stranger.key "$server" 3>&- &
  local stranger=$!
  until_status c '.native.refused > 0'
  kill "$stranger"
  wait "$stranger" || true
  equal "entries" "$(status_of c '.log.next - 1')" 3
  collector_stop "$PID"
  equal "lines" "$(wc -l <c.out)" 60
}

@test "a key that is allowed for two names sends for both, at one time, and for no third" {
  local server one
  server=$(plimsoll keys new -o collector.key)
  plimsoll keys new -o shared.key >/dev/null
  plimsoll keys allow allowed shared.key n1
  plimsoll keys allow allowed shared.key n2
  collector c --bind 'tcp://127.0.0.1:*' --keys collector.key --allow allowed --sink stdout:jsonl
  FEEDER_PACE=20000 "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n1" n1 1 20 3 5 shared.key "$server" 3>&- &
  one=$!
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n2" n2 1 3 3 5 shared.key "$server"
  wait "$one"
  until_stored c 23
  # a node itself, under the second name
  timeout 60 plimsoll node --name n2 -i 200ms -s system --control off --connect "$NATIVE" --keys shared.key --server-key "$server" \
    --spool "$WORK/spool.node" 2>node.err 3>&- &
  local node=$!
  until_status c '.log.next > 24'
  kill -TERM "$node"
  wait "$node"
  equal "refused" "$(status_of c .native.refused)" 0
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n3" n3 1 2 3 5 shared.key "$server" || true
  collector_stop "$PID"
  equal "hosts" "$(jq -r .host c.out | sort -u | paste -sd ' ')" "n1 n2"
  at_least "lines of the node itself" "$(jq -r 'select(.host == "n2" and (.source == "system" or (.metric // "" | startswith("system")))) | .time' c.out | wc -l)" 1
}

@test "HUP reads the list of those who may send again, and keeps the old one when it is no good" {
  local server feeder
  server=$(plimsoll keys new -o collector.key)
  plimsoll keys allow allowed "$(plimsoll keys new -o n1.key)" n1
  plimsoll keys new -o n2.key >n2.public
  collector c --bind 'tcp://127.0.0.1:*' --keys collector.key --allow allowed --sink stdout:jsonl
  FEEDER_PACE=20000 "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n1" n1 1 60 3 5 n1.key "$server" 3>&- &
  feeder=$!
  until_status c '.native.batches > 0'
  # n1 is taken out while it is connected, and n2 is let in
  cp allowed before
  : >allowed
  plimsoll keys allow allowed "$(cat n2.public)" n2
  kill -HUP "$PID"
  until_status c '.native.withdrawn > 0'
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n2" n2 1 3 3 5 n2.key "$server"
  equal "lines about the key" "$(grep -c 'its key was revoked' c.err)" 1
  # a list that is no good changes nothing: n2 is still in, n1 still out
  { cat before && echo "nonsense"; } >allowed
  kill -HUP "$PID"
  for _ in $(seq 600); do
    ! grep -q 'stays in force' c.err || break
    sleep 0.05
  done
  grep -q "allowed:2: expected a public key of 40 characters.*; the previous list stays in force" c.err
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n2" n2 4 5 3 5 n2.key "$server"
  kill -0 "$feeder"
  # back in: its node has kept everything
  cp before allowed
  kill -HUP "$PID"
  wait "$feeder"
  until_stored c 65
  collector_stop "$PID"
  equal "lines" "$(sort -u c.out | wc -l)" $((65 * 5 * 4))
  equal "lines of n1" "$(jq -r 'select(.host == "n1") | .time' c.out | sort -u | wc -l)" 300
}

# bats test_tags=colmet
@test "the log is emptied also when only colmet's nodes send" {
  collector c --bind 'tcp://127.0.0.1:*' --bind-colmet 'tcp://127.0.0.1:*' --sink stdout:jsonl
  plimsoll node -q --name old -i 100ms --wire colmet "$COLMET" -s procstats --control off 2>node.err 3>&- &
  local node=$!
  until_status c '.colmet.messages >= 3'
  kill "$node"
  wait "$node"
  until_status c '.log.first > 3 and .log.first == .log.next'
  collector_stop "$PID"
  equal "hosts" "$(jq -r .host c.out | sort -u)" old
}

@test "a key that is refused is named once, with the node that it was for when it was revoked" {
  local server feeder stranger
  server=$(plimsoll keys new -o collector.key)
  plimsoll keys new -o n1.key >n1.public
  plimsoll keys new -o stranger.key >stranger.public
  plimsoll keys allow allowed "$(cat n1.public)" n1
  collector c --bind 'tcp://127.0.0.1:*' --keys collector.key --allow allowed --sink stdout:jsonl
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n1" n1 1 3 3 5 n1.key "$server"
  plimsoll keys revoke allowed n1
  kill -HUP "$PID"
  for _ in $(seq 600); do
    ! grep -q 'may not send any more' c.err || break
    sleep 0.05
  done
  grep -qF "key $(cat n1.public) of 'n1' is revoked and may not send any more" c.err || fail "$(cat c.err)"
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n1" n1 4 5 3 5 n1.key "$server" 3>&- &
  feeder=$!
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n2" n2 4 5 3 5 stranger.key "$server" 3>&- &
  stranger=$!
  until_status c '.native.refused > 1'
  for _ in $(seq 600); do
    [ "$(grep -c 'refused a connection from' c.err)" -lt 2 ] || break
    sleep 0.05
  done
  kill "$feeder" "$stranger"
  wait "$feeder" "$stranger" || true
  collector_stop "$PID"
  equal 'lines about calls' "$(grep -c 'refused a connection from' c.err)" 2
  grep -F "with key $(cat n1.public), which was revoked at 20" c.err | grep -q "it was for 'n1'" || fail "$(cat c.err)"
  grep -qF "with key $(cat stranger.public), which is not in the file of --allow" c.err || fail "$(cat c.err)"
}

@test "the status lists nodes by name: last batch, batches, what they dropped; bounded as text" {
  collector c --bind 'tcp://127.0.0.1:*' --sink stdout:jsonl
  deliver n1 1 3
  deliver n2 1 2
  # another start of n1: one node still
  rm -r "$WORK/spool.n1"
  FEEDER_BOOT=4243 FEEDER_BEGIN=1900000000 deliver n1 1 1
  until_stored c 6
  until_status c '[.nodes[].batches] == [2,4] or [.nodes[].batches] == [4,2]'
  equal 'nodes, by name' "$(status_of c .native.nodes)" 2
  equal 'names' "$(status_of c '[.nodes[].node] | sort | join(" ")')" "n1 n2"
  equal 'times' "$(status_of c '[.nodes[] | (.last_batch | test("^20.*T")) and .seconds_ago >= 0 and .dropped == 0 and .refused == 0] | all')" true
  run -0 plimsoll collect --status --log c
  [[ $output =~ NODE\ +LAST\ BATCH\ +AGO\ +BATCHES\ +DROPPED\ +REFUSED ]] || fail "$output"
  [[ $output =~ n1\ +20[^\ ]+\ +[0-9.]+\ m?s\ +4\ +0\ +0 ]] || fail "$output"
  # who says nothing after a restart is still in it
  collector_stop "$PID"
  collector c --bind 'tcp://127.0.0.1:*' --sink stdout:jsonl
  deliver n2 3 3
  until_status c '.nodes | length == 2 and .[1].batches == 1'
  equal 'the silent one first' "$(status_of c '.nodes[0] | [.node, .last_batch, .batches] | @json')" '["n1",null,0]'
  for i in $(seq 30); do deliver "m$i" 1 1 1 1; done
  until_status c '.nodes | length == 32'
  run -0 plimsoll collect --status --log c
  [[ $output == *"and 12 more nodes that sent more recently: --json lists all"* ]] || fail "$output"
  collector_stop "$PID"
}

@test "the log is held by nobody while sinks do their work, and by the one that does not" {
  collector c --commit 2s --bind 'tcp://127.0.0.1:*' --sink "store:$WORK/s.db"
  deliver n1 1 5
  # between two commits
  equal 'held by' "$(status_of c '.log | has("held_by")')" false
  until_stored c 5
  equal 'held by' "$(status_of c '.log | has("held_by")')" false
  collector_stop "$PID"
  collector d --bind 'tcp://127.0.0.1:*' --sink "store:postgresql:///x?host=$WORK/nowhere"
  deliver n2 1 1
  until_status d ".log.held_by == \"store:postgresql:///x?host=$WORK/nowhere\""
  run -0 plimsoll collect --status --log d
  [[ $output == *"held by store:postgresql"* ]] || fail "$output"
  collector_stop "$PID"
}

@test "sinks that are files make the directories that they need, and name the one that they cannot make" {
  collector c --bind 'tcp://127.0.0.1:*' --sink "store:$WORK/a/b/s.db" --sink "hdf5:$WORK/c/d/x.hdf5" --sink "csv:$WORK/e/f/x.csv"
  deliver n1 1 2
  until_stored c 2
  collector_stop "$PID"
  [ -s a/b/s.db ] && [ -s c/d/x.hdf5 ] && [ -s e/f/x.csv ]
  echo text >file
  for kind in store hdf5 csv; do
    run -1 plimsoll collect --log "log.$kind" --bind 'tcp://127.0.0.1:*' --sink "$kind:$WORK/file/sub/x"
    [[ $output == *"cannot create directory '$WORK/file/sub': Not a directory"* || $output == *"cannot create directory '$WORK/file/sub'"* ]] || fail "$kind: $output"
  done
}

@test "files of lines have every row once, whatever is killed, moved or begun anew" {
  local i feeder
  collector c --commit 50ms --bind 'tcp://127.0.0.1:*' --sink "csv:$WORK/x.csv" --sink "jsonl:$WORK/x.jsonl"
  FEEDER_PACE=20000 "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.n1" n1 1 150 3 5 3>&- &
  feeder=$!
  for i in 1 2 3; do
    until_status c ".native.batches > 5"
    kill -9 "$PID"
    wait "$PID" || true
    # of a commit that did not end
    printf '2027,torn' >>x.csv
    printf '{"time":"torn' >>x.jsonl
    collector c --commit 50ms --bind "$NATIVE" --sink "csv:$WORK/x.csv" --sink "jsonl:$WORK/x.jsonl"
  done
  # moved away, as logrotate does; then HUP
  mv x.csv x.1.csv
  kill -HUP "$PID"
  wait "$feeder"
  until_stored c 150
  mv x.jsonl x.1.jsonl # without a word
  deliver n1 151 152
  until_stored c 152
  collector_stop "$PID"
  equal 'rows of CSV' "$(cat x.1.csv x.csv | grep -vc '^time,')" $((152 * 5 * 4))
  equal 'different rows' "$(cat x.1.csv x.csv | grep -v '^time,' | sort -u | wc -l)" $((152 * 5 * 4))
  equal 'a header each' "$(head -qn 1 x.1.csv x.csv | sort -u)" 'time,host,source,kind,entity,job,values'
  equal 'headers' "$(cat x.1.csv x.csv | grep -c '^time,')" 2
  equal 'rows of JSON' "$(cat x.1.jsonl x.jsonl | jq -c . | sort -u | wc -l)" $((152 * 5 * 4))
  equal 'lines of JSON' "$(cat x.1.jsonl x.jsonl | wc -l)" $((152 * 5 * 4))
  equal 'the last two' "$(wc -l <x.jsonl)" $((2 * 5 * 4))
}

@test "a log that is put back from a backup cuts nothing off files of lines" {
  collector c --bind 'tcp://127.0.0.1:*' --sink "csv:$WORK/x.csv"
  deliver n1 1 3
  until_stored c 3
  collector_stop "$PID"
  cp -a c backup
  collector c --bind 'tcp://127.0.0.1:*' --sink "csv:$WORK/x.csv"
  deliver n1 4 6
  until_stored c 6
  collector_stop "$PID"
  rm -r c
  cp -a backup c
  collector c --bind 'tcp://127.0.0.1:*' --sink "csv:$WORK/x.csv"
  deliver n2 1 2
  until_stored c 5
  collector_stop "$PID"
  equal rows "$(grep -v '^time,' x.csv | sort -u | wc -l)" $((8 * 5 * 4))
  equal 'lines' "$(wc -l <x.csv)" $((8 * 5 * 4 + 1))
}

@test "the collector's own metrics are beside those of nodes" {
  local port
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  scrape() { python3 -c 'import sys, urllib.request as u; sys.stdout.write(u.urlopen(u.Request("http://127.0.0.1:%s/metrics" % sys.argv[1], headers={"Accept": sys.argv[2]})).read().decode())' "$port" "$1"; }
  collector c --bind 'tcp://127.0.0.1:*' --sink "prometheus:127.0.0.1:$port" --sink "csv:$WORK/a\"b.csv"
  deliver n1 1 3
  until_stored c 3
  for _ in $(seq 100); do
    scrape text/plain >page
    ! grep -q '^plimsoll_collector_batches_total 3$' page || break
    sleep 0.1
  done
  grep -q '^# TYPE plimsoll_collector_batches_total counter$' page || fail "$(grep collector page)"
  equal nodes "$(grep '^plimsoll_collector_nodes ' page)" 'plimsoll_collector_nodes 1'
  equal bytes "$(awk '/^plimsoll_collector_bytes_total / { print $2 }' page)" "$(status_of c .native.bytes)"
  grep -qF "plimsoll_collector_sink_stored_total{sink=\"csv:$WORK/a\\\"b.csv\"} 3" page || fail "$(grep sink_stored page)"
  grep -qF "plimsoll_collector_sink_entries_behind{sink=\"prometheus:127.0.0.1:$port\"} 0" page || fail "$(grep behind page)"
  equal 'left out' "$(grep -c '^plimsoll_collector_sink_left_out_total{.*} 0$' page)" 2
  equal 'refused' "$(grep '^plimsoll_collector_refused_connections_total' page)" 'plimsoll_collector_refused_connections_total 0'
  scrape application/openmetrics-text >open
  grep -q '^# TYPE plimsoll_collector_batches counter$' open
  equal 'the end' "$(tail -n 1 open)" '# EOF'
  python3 -c 'import prometheus_client' 2>/dev/null && python3 - open <<'P'
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
assert any(f.name == "plimsoll_collector_sink_stored" for f in parse(open(sys.argv[1]).read()))
P
  collector_stop "$PID"
}
