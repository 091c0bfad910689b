#!/usr/bin/env bats
# Standard input, output and error that are closed, or whose reader is gone, and a typo in a configuration file: for
# every program that stays. `run` is in child.bats.

bats_require_minimum_version 1.5.0
load lib
load node
load collect

setup() {
  node_setup
  export PLIMSOLL_NODE_NAME=n PLIMSOLL_DB="$WORK/jobs.db" HOME="$WORK"
  mkdir in
  ID=$$$BATS_TEST_NUMBER$RANDOM.test
}
teardown() { node_teardown; }

CLOSED='<&- >&- 2>&-'
# closed_reader COMMAND...: both streams are a pipe that nobody reads any more; its status is in ./status
closed_reader() {
  python3 - "$@" <<'P'
import os, subprocess, sys
r, w = os.pipe()
os.close(r)
open("status", "w").write("%d\n" % subprocess.call(sys.argv[1:], stdout=w, stderr=w, stdin=subprocess.DEVNULL))
P
}

# behind WORDS...: a shell line in the background, without bats' own descriptor; its pid in $PID
behind() {
  bash -c "exec 3>&-; exec $*" &
  PID=$!
  PIDS+=("$PID")
}
# in_pieces COMMAND...: in the background, both streams broken pipes; its pid in $PID
in_pieces() {
  python3 -c '
import os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
r, w = os.pipe()
os.close(r)
os.dup2(w, 1)
os.dup2(w, 2)
os.execvp(sys.argv[1], sys.argv[1:])' "$@" 3>&- &
  PID=$!
  PIDS+=("$PID")
}
ends_well() {
  local status=0
  kill -TERM "$PID"
  wait "$PID" || status=$?
  equal "status of $1" "$status" 0
}
readings_in() { [ "$(plimsoll samples --json "$1" 2>/dev/null | jq -c 'select(.event == "reading")' | wc -l)" -ge "$2" ]; }
sound() { equal "damage of $1" "$(plimsoll samples --json "$1" 2>&1 >/dev/null)" ""; }
no_words() { ! grep -a -r -l -e 'plimsoll: ' -e 'colmet-[a-z]*: ' "$@" || fail "words in data"; }
# make_archive ID: in/ID.tgz
make_archive() {
  python3 "$PL_SOURCE/tests/fixtures/job.py" "made-$1" --id "$1" --procs 3
  tar czf "$1.tgz" -C "made-$1" .
  mv "$1.tgz" in/
}
stored() { plimsoll list --json 2>/dev/null | jq -r '.[].jobid' | grep -qx "$1"; }

@test "closed: a monitor and top end with the command's status, and nothing is written into data" {
  for closed in '<&-' '>&-' '2>&-' "$CLOSED"; do
    rm -rf job
    bash -c "plimsoll monitor --no-submit -i 100ms -d job -- sh -c 'sleep 0.3; exit 7' $closed; echo \$? >status"
    equal "monitor $closed" "$(cat status)" 7
    find job -name '*.smp' >files
    at_least files "$(wc -l <files)" 1
    sound "$(head -1 files)"
    no_words job
    bash -c "plimsoll top --json -i 100ms -- sh -c 'sleep 0.3; exit 6' $closed; echo \$? >status"
    equal "top $closed" "$(cat status)" 6
  done
}

@test "closed: a node, a collector and a daemon work, and nothing is written into data" {
  behind "plimsoll collect -v --commit 100ms --log '$WORK/c' --bind 'ipc://$WORK/native' --sink 'hdf5:$WORK/data' --sink 'store:$WORK/s.db' --sink stdout:jsonl $CLOSED"
  collector=$PID
  collector_up c "$PID"
  behind "plimsoll node -v --name n -i 100ms --batch 200ms --spool '$WORK/spool' -s system -o '$WORK/node.smp' --connect 'ipc://$WORK/native' $CLOSED"
  until_true readings_in node.smp 3
  until_status c '.native.batches >= 2'
  ends_well node
  PID=$collector
  ends_well collect
  sound node.smp
  no_words node.smp c spool data* s.db
  equal "store" "$(plimsoll db --db s.db check 2>&1 | grep -ci 'malformed\|corrupt\|damaged')" 0
  behind "plimsoll daemon -v --foreground --pidfile '$WORK/daemon.pid' -i '$WORK/in' $CLOSED"
  make_archive 55
  until_true stored 55
  ends_well daemon
  no_words jobs.db daemon.pid
}

# bats test_tags=colmet,perfmon
@test "closed: colmet's node and collector, and perfmon" {
  behind "colmet-collector --log '$WORK/c' --zeromq-bind-uri 'ipc://$WORK/colmet' --hdf5-filepath '$WORK/data' $CLOSED"
  collector=$PID
  collector_up c "$PID"
  behind "colmet-node -vvv -s 0.2 --zeromq-uri 'ipc://$WORK/colmet' $CLOSED"
  until_status c '.colmet.records >= 3'
  ends_well colmet-node
  PID=$collector
  ends_well colmet-collector
  no_words c data*
  PBS_JOBID=$ID "$PROGRAMS/actor" burn 3000 0 3>&- &
  PIDS+=("$!")
  PBS_JOBID=$ID bash -c "perfmon -i 1 $CLOSED; echo \$? >status"
  equal perfmon "$(cat status)" 0
  jq -e .host_names metrics/cpu_metrics.json >/dev/null
}

@test "a reader that is gone: a monitor, perfmon and top end with the status that they have otherwise" {
  closed_reader plimsoll monitor -i 100ms -d job -- sh -c 'sleep 0.3; exit 7'
  equal monitor "$(cat status)" 7
  equal 'stored' "$(plimsoll list --json | jq length)" 1
  closed_reader plimsoll top --json -i 100ms -- sh -c 'sleep 0.5; touch done; exit 6'
  equal top "$(cat status)" 6
  [ -e "done" ] || fail 'top did not wait for its command'
  closed_reader plimsoll top --once -i 100ms -- sh -c 'sleep 0.5; exit 5'
  equal 'top --once' "$(cat status)" 5
  ! without perfmon || return 0
  PBS_JOBID=$ID "$PROGRAMS/actor" burn 3000 0 3>&- &
  PIDS+=("$!")
  PBS_JOBID=$ID closed_reader perfmon -i 1 -v
  equal perfmon "$(cat status)" 0
  jq -e .host_names metrics/cpu_metrics.json >/dev/null
}

@test "a reader that is gone: what is sent to top while it waits goes to its command" {
  in_pieces plimsoll top --json -i 50ms -- sh -c 'trap "exit 9" TERM; touch ready; while :; do sleep 0.05; done'
  until_true test -e ready
  sleep 0.5
  kill -TERM "$PID"
  status=0
  wait "$PID" || status=$?
  equal status "$status" 9
}

@test "a reader that is gone: daemons go on" {
  local colmet=(--bind-colmet "ipc://$WORK/colmet")
  ! without colmet || colmet=()
  in_pieces plimsoll collect -v --commit 100ms --log "$WORK/c" --bind "ipc://$WORK/native" "${colmet[@]}" --sink "store:$WORK/s.db"
  collector=$PID
  collector_up c "$PID"
  in_pieces plimsoll node -v --name n -i 100ms --batch 200ms --spool "$WORK/spool" -s system -o "$WORK/node.smp" --connect "ipc://$WORK/native"
  until_true readings_in node.smp 3
  until_status c '.native.batches >= 2'
  # something that it has to say
  without colmet || printf x | "$PROGRAMS/feeder" push "ipc://$WORK/colmet" /dev/stdin || true
  ends_well node
  sound node.smp
  if ! without colmet; then
    in_pieces colmet-node -vvv -s 0.2 --zeromq-uri "ipc://$WORK/colmet"
    until_status c '.colmet.records >= 3'
    ends_well colmet-node
  fi
  PID=$collector
  ends_well collect
  if ! without colmet; then
    in_pieces colmet-collector --log "$WORK/c2" --zeromq-bind-uri "ipc://$WORK/colmet2" --hdf5-filepath "$WORK/data"
    collector_up c2 "$PID"
    ends_well colmet-collector
  fi
  in_pieces plimsoll daemon -v --foreground --pidfile "$WORK/daemon.pid" -i "$WORK/in"
  make_archive 56
  until_true stored 56
  ends_well daemon
}

@test "a reader that is gone and something to say at the start: it is done all the same" {
  mkdir -p .config/plimsoll
  echo 'bogus = 1' >.config/plimsoll/plimsoll.conf
  for words in 'run --no-submit' 'monitor --no-submit -i 100ms -d job' 'top --json -i 100ms'; do
    closed_reader plimsoll $words -- sh -c "sleep 0.2; exit 7"
    equal "$words" "$(cat status)" 7
  done
  ! without colmet || return 0
  in_pieces colmet-collector --log "$WORK/c" --zeromq-bind-uri "ipc://$WORK/colmet" --hdf5-filepath "$WORK/data"
  collector=$PID
  collector_up c "$PID"
  in_pieces colmet-node -s 0.2 --zeromq-uri "ipc://$WORK/colmet"
  until_status c '.colmet.records >= 1'
  ends_well colmet-node
  PID=$collector
  ends_well colmet-collector
}

@test "a typo in a configuration file: one warning, and the work is done" {
  local bind="--bind-colmet 'ipc://$WORK/colmet'"
  ! without colmet || bind=
  mkdir -p .config/plimsoll
  echo 'bogus = 1' >.config/plimsoll/plimsoll.conf
  warned() { equal "warnings of $1" "$(grep -c bogus "$2")" 1; }
  status=0
  plimsoll monitor -i 100ms -d job -- sh -c 'sleep 0.2; exit 7' 2>err || status=$?
  equal monitor "$status" 7
  warned monitor err
  status=0
  plimsoll top --json -i 100ms -- sh -c 'sleep 0.2; exit 6' >out 2>err || status=$?
  equal top "$status" 6
  warned top err
  behind "plimsoll collect --log '$WORK/c' --bind 'ipc://$WORK/native' $bind --sink 'store:$WORK/s.db' 2>collect.err"
  collector=$PID
  collector_up c "$PID"
  behind "plimsoll node --name n -i 100ms --batch 200ms --spool '$WORK/spool' -s system --connect 'ipc://$WORK/native' 2>node.err"
  until_status c '.native.batches >= 1'
  ends_well node
  warned node node.err
  if ! without colmet; then
    behind "colmet-node -s 0.2 --zeromq-uri 'ipc://$WORK/colmet' 2>colmet.err"
    until_status c '.colmet.records >= 1'
    ends_well colmet-node
    warned colmet-node colmet.err
  fi
  PID=$collector
  ends_well collect
  warned collect collect.err
  if ! without colmet; then
    behind "colmet-collector --log '$WORK/c2' --zeromq-bind-uri 'ipc://$WORK/colmet2' --hdf5-filepath '$WORK/data' 2>collector.err"
    collector_up c2 "$PID"
    ends_well colmet-collector
    warned colmet-collector collector.err
  fi
  behind "plimsoll daemon --foreground --pidfile '$WORK/daemon.pid' -i '$WORK/in' 2>daemon.err"
  make_archive 57
  until_true stored 57
  ends_well daemon
  warned daemon daemon.err
  ! without perfmon || return 0
  PBS_JOBID=$ID "$PROGRAMS/actor" burn 3000 0 3>&- &
  PIDS+=("$!")
  PBS_JOBID=$ID perfmon -i 1 2>perfmon.err
  warned perfmon perfmon.err
  jq -e .host_names metrics/cpu_metrics.json >/dev/null
}
