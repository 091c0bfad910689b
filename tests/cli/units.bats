#!/usr/bin/env bats
# The units for systemd: they are what systemd understands, leave little open, and the daemons do their work under the
# system calls, address families, capabilities and file systems that the units leave them.

bats_require_minimum_version 1.5.0
load lib
load node
load collect

UNITS="$PL_SOURCE/contrib/systemd"

setup() {
  command -v systemd-analyze >/dev/null || skip "systemd is not installed"
  node_setup
}
teardown() {
  [ -z "${WORK:-}" ] || node_teardown
}

@test "systemd understands every line, and what is left open is little" {
  for unit in "$UNITS"/*.service; do
    name=$(basename "$unit")
    # with the program that is tested, which need not be installed
    sed "s|/usr/local/bin/plimsoll|$PL_BUILD/bin/plimsoll|" "$unit" >"$name"
    run systemd-analyze verify --man=no "./$name"
    equal "what systemd says of $name" "$status $output" '0 '
    case $name in
    plimsoll-node.service) limit=30 ;;
    *) limit=20 ;;
    esac
    systemd-analyze security --no-pager --offline=true --threshold=$limit "./$name" >says || fail "$(tail -n 1 says)"
  done
  # a line that systemd does not know would be told
  echo 'ProtectEverything=yes' >>plimsoll-node.service
  sed -i 's/^\[Install\]//' plimsoll-node.service
  run systemd-analyze verify --man=no ./plimsoll-node.service
  [[ $output == *ProtectEverything* ]] || fail "$output"
}

# under_unit NAME COMMAND...: in the background, its pid in $unit; its input and output are the caller's
under_unit() {
  local name=$1
  shift
  [ -f filter ] || systemd-analyze syscall-filter >filter
  TMPDIR=$WORK/tmp python3 "$PL_SOURCE/tests/cli/under_unit.py" "$UNITS/plimsoll-$name.service" filter "$WORK" -- "$@" 3>&- &
  unit=$!
  PIDS+=("$unit")
}

needs_sandbox() {
  [ "$PL_AS" = root ] || skip "needs root"
  unshare -m true 2>/dev/null || skip "no mount namespace"
  python3 -c 'import ctypes; ctypes.CDLL("libseccomp.so.2")' 2>/dev/null || skip "libseccomp is not installed"
  mkdir -m 777 "$WORK/tmp" "$WORK/own"
  chmod 711 "$WORK"
}

# stand_in SCRIPT: its port in $PORT
stand_in() {
  tail -f /dev/null 3>&- | python3 "$PL_SOURCE/tests/cli/$1" >"$1.port" 2>"$1.err" 3>&- &
  until_true test -s "$1.port"
  PORT=$(cat "$1.port")
}

@test "a call that is not on the list ends what makes it" {
  needs_sandbox
  under_unit collect perl -e 'exit 5'
  status=0
  wait "$unit" || status=$?
  equal 'a program with nothing unusual' "$status" 5
  # reboot, with arguments that mean nothing
  reboot=169
  [ "$(uname -m)" != aarch64 ] || reboot=142
  under_unit collect perl -e 'syscall($ARGV[0], 0, 0, 0); exit 5' $reboot
  status=0
  wait "$unit" || status=$?
  equal 'reboot' "$status" 159
  under_unit node perl -e 'my $r = syscall($ARGV[0], 0, 0, 0); exit($r == -1 && $! == 1 ? 6 : 7)' $reboot
  status=0
  wait "$unit" || status=$?
  equal 'reboot, for the node' "$status" 6
}

@test "a collector with every kind of sink" {
  needs_sandbox
  local colmet=(--bind-colmet 'tcp://127.0.0.1:*')
  ! without colmet || colmet=()
  stand_in fake_elastic.py
  elastic=$PORT
  stand_in fake_clickhouse.py
  clickhouse=$PORT
  stand_in fake_remote_write.py
  under_unit collect plimsoll collect -v --commit 100ms --log own/c --bind 'tcp://127.0.0.1:*' "${colmet[@]}" \
    --sink "store:own/s.db" --sink "hdf5:own/data/c" --sink "elastic:http://127.0.0.1:$elastic" --sink "clickhouse:http://127.0.0.1:$clickhouse" \
    --sink "remote-write:http://127.0.0.1:$PORT" --sink stdout:jsonl --sink csv:own/x.csv --sink jsonl:own/x.jsonl --sink prometheus:127.0.0.1:0 >c.out 2>own/c.err
  collector_up own/c "$unit"
  deliver n1 1 10
  deliver n2 1 10
  until_stored own/c 20
  kill -HUP "$unit"
  deliver n1 11 20
  until_stored own/c 30
  equal 'left out, missing, tries that failed' "$(status_of own/c '[.sinks[] | .skipped + .missing + .failures] | add')" 0
  collector_stop "$unit"
  equal lines "$(sort -u c.out | wc -l)" $((30 * 5 * 4))
  equal 'values in the store' "$(PLIMSOLL_DB=own/s.db plimsoll sql --csv 'SELECT count(*) FROM samples' | sed 1d)" $((30 * 5 * 7))
  equal "rows of files" "$(cat own/x.csv own/x.jsonl | wc -l)" $((2 * 30 * 5 * 4 + 1))
  equal files "$(find own/data -name 'c.*.hdf5' | wc -l)" 2
}

@test "a node with its default sources: short processes are complete, with the one capability" {
  needs_sandbox
  [ -w /sys/fs/cgroup/cpuacct/cgroup.procs ] || skip "no control groups of version 1"
  mkdir "/sys/fs/cgroup/cpuacct/$GROUP"
  collector c --bind 'tcp://127.0.0.1:*' --sink stdout:jsonl
  PIDS+=("$PID")
  # strictly: that nothing is tried which is not on the list
  UNDER_UNIT_STRICT=1 under_unit node plimsoll node --name n -i 200ms --batch 400ms --cgroup-root "/sys/fs/cgroup/cpuacct/$GROUP" \
    --pattern '_([0-9]+)$' --spool "$WORK/own/spool" --connect "$NATIVE" 2>own/node.log
  node=$unit
  until_true node_is_up
  kill -0 "$node" || fail "$(cat own/node.log)"
  job eve_55 bash -c 'for i in 1 2 3 4 5 6; do perl -e "for (1 .. 300000) {}"; done; exec sleep 600'
  in_container || until_true has 'select(.source == "job_tasks" and .job == "55" and .values.processes == 6)'
  until_true has 'select(.source == "jobs" and .job == "55" and .values.cpu_usage > 0)'
  plimsoll configure n --period 300ms
  kill -HUP "$node"
  kill_job eve_55
  end_job_groups eve_55
  until_true ended
  equal 'what it keeps' "$(sed -n 's/.*capabilities: //p' own/node.log)" CAP_NET_ADMIN
  end_node
  collector_stop "$PID"
}
has() { [ -n "$(jq -c "$1" c.out | head -n 1)" ]; }
ended() { [ "$(plimsoll configure n --show --json | jq .counts.jobs_ended)" = 1 ]; }

@test "the daemon that puts jobs into the store" {
  needs_sandbox
  mkdir -m 777 own/in
  python3 "$PL_SOURCE/tests/fixtures/job.py" made --id 7 --procs 3
  tar czf made.tgz -C made .
  export PLIMSOLL_DB=$WORK/own/jobs.db
  under_unit daemon plimsoll daemon --foreground --ingest "$WORK/own/in" --pidfile "$WORK/own/daemon.pid" >own/daemon.log 2>&1
  until_true test -e own/daemon.pid
  # whole at once: the daemon takes it as soon as it is there
  install -o nobody made.tgz own/in/.new
  mv own/in/.new own/in/7.tgz
  until_true in_store
  kill -TERM "$unit"
  wait "$unit" || fail "$(cat own/daemon.log)"
}
in_store() { [ "$(plimsoll list --ids 2>/dev/null)" = 7 ]; }
