#!/usr/bin/env bats
# Exit records in the node daemon: short processes of a job are complete, and without permission the rest works.

bats_require_minimum_version 1.5.0
load lib
load collect

GROUPS_DIR=/sys/fs/cgroup/cpuacct/plimsoll-exits$$

teardown() {
  if [ -n "${NODE:-}" ]; then
    kill -9 "$NODE" 2>/dev/null || true
    wait "$NODE" 2>/dev/null || true
  fi
  for _ in $(seq 100); do
    [ -d "$GROUPS_DIR" ] || break
    rmdir "$GROUPS_DIR"/* "$GROUPS_DIR" 2>/dev/null && break
    rmdir "$GROUPS_DIR" 2>/dev/null && break
    sleep 0.05
  done
  clear_work
}

start_node() {
  plimsoll node -i 200ms -o node.smp --control off "$@" 2>node.log 3>&- &
  NODE=$!
  until [ -s node.smp ]; do
    kill -0 "$NODE" || fail "the node ended: $(cat node.log)"
    sleep 0.05
  done
}

stop_node() {
  kill -TERM "$NODE"
  wait "$NODE"
  NODE=
}

# values METRIC: of job 12, one a line
values() {
  plimsoll samples --json node.smp |
    jq -r --arg m "$1" 'select(.event == "reading" and .source == "job_tasks") | .rows[] |
      select(.kind == "job" and .name == "12") | .values[$m] // empty'
}

@test "short processes of a job are complete, and it is not sent again after its end" {
  [ "$(id -u)" = 0 ] || skip "needs root"
  ! in_container || skip "no exit records in a container"
  mkdir -p "$GROUPS_DIR" 2>/dev/null || skip "no control groups of version 1 that may be written"
  start_node -s job_tasks -s jobs --cgroup-root "$GROUPS_DIR"
  mkdir "$GROUPS_DIR/alice_12"
  bash -c 'echo $$ >'"$GROUPS_DIR"'/alice_12/cgroup.procs
    for k in 1 2 3 4 5 6 7 8 9 10; do
      bash -c "for ((i = 0; i < 100000; i++)); do :; done; exit $((k == 4 ? 3 : 0))"
    done
    (kill -9 $BASHPID)
    true' 3>&-
  total=$(cat "$GROUPS_DIR/alice_12/cpuacct.usage")
  rmdir "$GROUPS_DIR/alice_12"
  sleep 1
  stop_node
  equal processes "$(values processes | tail -1)" 12
  equal signalled "$(values signalled | tail -1)" 1
  at_least "part of the CPU time" "$(values cpu_run_virtual_total | tail -1 | awk -v t="$total" '{ print $1 / t }')" 0.95
  at_most "part of the CPU time" "$(values cpu_run_virtual_total | tail -1 | awk -v t="$total" '{ print $1 / t }')" 1.1
  # a second of ticks has passed since the end
  ticks=$(plimsoll samples --json node.smp | jq -c 'select(.event == "reading" and .source == "job_tasks")' | wc -l)
  rows=$(values tasks | wc -l)
  [ "$ticks" -gt "$((rows + 2))" ] || fail "$rows rows in $ticks readings"
}

# in_group GROUP COMMAND: a shell in a group, of which nothing is inherited that bats waits for
in_group() {
  bash -c 'echo $$ >"$1/cgroup.procs"; eval "$2"' - "$1" "$2" 3>&-
}

@test "a job that a collector stored is reported in every form, though no process has a record" {
  [ "$(id -u)" = 0 ] || skip "needs root"
  ! in_container || skip "no exit records in a container"
  mkdir -p "$GROUPS_DIR" 2>/dev/null || skip "no control groups of version 1 that may be written"
  export PLIMSOLL_DB=$WORK/store.db
  collector c --bind 'tcp://127.0.0.1:*' --sink "store:$PLIMSOLL_DB"
  start_node -s job_tasks -s jobs --cgroup-root "$GROUPS_DIR" --connect "$NATIVE" --spool "$WORK/spool" --batch 200ms
  mkdir "$GROUPS_DIR/alice_12"
  in_group "$GROUPS_DIR/alice_12" 'for k in 1 2 3 4 5 6; do bash -c "for ((i = 0; i < 30000; i++)); do :; done"; done; sleep 0.5'
  usage=$(cat "$GROUPS_DIR/alice_12/cpuacct.usage")
  # before a minute is over its sums are there, and it is marked as one that may go on
  sums_are_there() { [ "$(plimsoll list --json 2>/dev/null | jq '.[] | select(.jobid == "12") | .cpu_time')" = $((usage / 1000)) ]; }
  for _ in $(seq 300); do
    if sums_are_there; then break; fi
    sleep 0.1
  done
  sums_are_there || fail "the sums are stale: $(plimsoll list)"
  equal "marked" "$(plimsoll list --json | jq '.[] | select(.jobid == "12") | .open')" true
  run -0 plimsoll show 12
  [[ $output == *"state        running, or ended a moment ago"* ]] || fail "$output"
  rmdir "$GROUPS_DIR/alice_12"
  sleep 1
  stop_node
  collector_stop "$PID"
  # a file of the same samples: counters of the job began at 0 with it
  PLIMSOLL_DB=$WORK/file.db plimsoll submit node.smp
  equal "CPU of the file" "$(PLIMSOLL_DB=$WORK/file.db plimsoll list --json | jq ".[0].cpu_time")" $((usage / 1000))
  equal processes "$(plimsoll list --json | jq '.[] | select(.jobid == "12") | .processes')" 8
  run -0 plimsoll report 12
  [[ $output == *"8; 8 threads"* ]] || fail "no processes: $output"
  [[ $output != *"at most 0"* ]]
  equal "CPU of the report" "$(plimsoll report --json 12 | jq '.cpu.total // .job.cpu_time')" $((usage / 1000))
  plimsoll report 12 -o page.html
  grep -q '<dt>Processes' page.html || grep -q Processes page.html
  run -0 --separate-stderr plimsoll tree 12
  equal "the tree" "$output" ""
  [[ $stderr == *"sampled, not recorded"* ]]
  equal "its JSON" "$(plimsoll tree --json 12 2>/dev/null | jq -c .)" "[]"
  run -0 --separate-stderr plimsoll timeline 12
  [[ $output == "job 12: 8 processes; took "* ]] || fail "$output"
  [[ $stderr == *"sampled, not recorded"* ]]
  equal "most at once" "$(plimsoll timeline --json 12 2>/dev/null | jq .peak_processes)" null
  run -0 --separate-stderr plimsoll procs 12
  [[ $stderr == *"sampled, not recorded"* ]]
  equal threads "$(plimsoll threads --json 12 | jq length)" 0
  run -0 plimsoll show 12
  [[ $output == *"8; 8 threads"* ]] || fail "$output"
}

@test "without permission one line says so, and the rest is sampled" {
  ! in_container || skip "no exit records in a container"
  if [ "$(id -u)" = 0 ]; then
    command -v capsh >/dev/null || skip "no capsh"
    capsh --drop=cap_net_admin -- -c "exec $PL_BUILD/bin/plimsoll node --once -o node.smp --control off" 2>node.log
  else
    plimsoll node --once -o node.smp --control off 2>node.log
  fi
  equal lines "$(grep -c 'CAP_NET_ADMIN' node.log)" 1
  [ "$(plimsoll samples --json node.smp | jq -c 'select(.event == "reading" and .source == "system")' | wc -l)" -gt 0 ] || fail "no reading of the node"
}
