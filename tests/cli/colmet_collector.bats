#!/usr/bin/env bats
# The collector under colmet's name: its options, its messages, its files.

# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash"
# shellcheck source=tests/cli/collect.bash
. "$PL_SOURCE/tests/cli/collect.bash"

bats_require_minimum_version 1.5.0
DATA=$PL_SOURCE/../shared/data/colmet

# colmet NAME OPTION...: as collector(), under the old name
colmet() {
  local name=$1
  shift
  colmet-collector --log "$WORK/$name" "$@" >>"$name.out" 2>>"$name.err" 3>&- &
  PID=$!
  collector_up "$name" "$PID"
}

needs_data() {
  [ -d "$DATA" ] || skip "no sample data beside the project"
}

@test "captured messages of both versions come out with the values they have" {
  needs_data
  colmet c --zeromq-bind-uri 'tcp://127.0.0.1:*' --sink stdout:jsonl
  "$PROGRAMS/feeder" push "$COLMET" "$DATA/pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin" "$DATA/rustnode_2jobs_5metrics.bin"
  until_stored c 2
  equal "records" "$(status_of c .colmet.records)" 10
  collector_stop "$PID"
  equal "CPU of a job" "$(jq -r 'select(.source == "taskstats_default" and .job == "1001") | .values.cpu_run_real_total' c.out)" 1445209528
  equal "when" "$(jq -r 'select(.source == "taskstats_default" and .job == "1001") | .time' c.out)" 2026-11-15T02:31:23.000000Z
  equal "page faults" "$(jq -r 'select(.source == "memory" and .job == "1000") | .values.pgfault' c.out)" 1
  equal "the node's" "$(jq -r 'select(.source == "procstats_default") | [.kind, .entity] | join(" ")' c.out)" "node node"
}

@test "what colmet shows on the terminal" {
  needs_data
  colmet c --zeromq-bind-uri 'tcp://127.0.0.1:*' --enable-stdout-backend true
  "$PROGRAMS/feeder" push "$COLMET" "$DATA/pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin" "$DATA/rustnode_2jobs_5metrics.bin"
  until_stored c 2
  collector_stop "$PID"
  equal "records" "$(grep -c ' -> Host(vm) -> {$' c.out)" 10
  grep -qF '1794709883  Job(1001)/ taskstats_default -> Host(vm) -> {' c.out
  grep -qP '^\t +ac_btime : 15/11/2026 - 02:31:20$' c.out
  grep -qF '1794710223  Job(1000)/ memory -> Host(vm) -> {' c.out
}

@test "files are rolled over by HUP" {
  needs_data
  plimsoll sinks --json | jq -e 'any(.[]; .name == "hdf5")' >/dev/null
  colmet c --zeromq-bind-uri 'tcp://127.0.0.1:*' --hdf5-filepath "$WORK/data/colmet" --hdf5-complevel 9 --hdf5-complib blosc
  grep -q 'zlib is used' c.err
  "$PROGRAMS/feeder" push "$COLMET" "$DATA/pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin"
  until_stored c 1
  local first
  first=$(ls data)
  [[ $first =~ ^colmet\.[0-9]+\.hdf5$ ]]
  kill -HUP "$PID"
  "$PROGRAMS/feeder" push "$COLMET" "$DATA/pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin"
  until_stored c 2
  collector_stop "$PID"
  equal "files" "$(find data -name 'colmet.*.hdf5' | wc -l)" 2
  equal "rows of each" "$(for f in data/*.hdf5; do h5ls "$f/job_1001/taskstats_default"; done | awk '{ print $3 }' | sort | uniq -c | awk '{ print $1, $2 }')" \
    "2 {1/Inf}"
}

@test "options of both versions, with and without values" {
  run -2 colmet-collector
  [[ $output == *"colmet-collector: error: at least one output is needed"* ]]
  run -2 colmet-collector --enable-stdout-backend false
  [[ $output == *"at least one output"* ]]
  run -2 colmet-collector --nonsense
  [[ $output == *"there is no option --nonsense"* ]]
  run -2 colmet-collector --zeromq-hwm many --enable-stdout-backend
  [[ $output == *"--zeromq-hwm takes a whole number"* ]]
  run -2 colmet-collector --zeromq
  [[ $output == *"--zeromq can be"* ]]
  run -0 colmet-collector --version
  [[ $output == colmet-collector* ]]
  run -0 colmet-collector --help
  local option
  for option in sample-period buffer-size enable-stdout-backend zeromq-bind-uri zeromq-uri zeromq-hwm zeromq-linger \
    zeromq-swap hdf5-filepath hdf5-complevel hdf5-complib elastic-host elastic-index-prefix http-credentials \
    no-check-certificates; do
    [[ $output == *"--$option"* ]] || fail "--$option is not listed"
  done
  # the Rust version's form: every flag has a value, the address is that of nodes
  colmet c -v 2 -s 1.5 --zeromq-uri 'tcp://127.0.0.1:*' --zeromq-hwm 5 --zeromq-linger 0 --zeromq_swap 100 --buffer-size=5000 -P none \
    --no-check-certificates true
  grep -q 'zeromq-swap has no effect' c.err
  equal "sinks" "$(status_of c '[.sinks[].sink] | join(" ")')" stdout:text
  collector_stop "$PID"
}

# With addresses and directories of its own: nothing of this host is touched.
@test "the examples of colmet's documentation, as they are written" {
  [ "$PL_AS" = root ] || skip "needs root"
  unshare -n -m true 2>/dev/null || skip "no namespaces here"
  mkdir data log
  cat >example <<'S'
set -eu
ip link set lo up
cd "$WORK"
colmet-collector -vvv --zeromq-bind-uri tcp://127.0.0.1:5556 --hdf5-filepath /data/colmet.hdf5 --hdf5-complevel 9 &
PID=$!
for _ in $(seq 200); do
  [ "$(jq -r .pid "$HOME/state/colmet-tcp___127.0.0.1_5556/status.json" 2>/dev/null)" != "$PID" ] || break
  sleep 0.05
done
"$PROGRAMS/feeder" push tcp://127.0.0.1:5556 "$MESSAGE"
for _ in $(seq 200); do
  [ "$(jq -r '.sinks[0].position' "$HOME/state/colmet-tcp___127.0.0.1_5556/status.json" 2>/dev/null)" != 2 ] || break
  kill -0 "$PID"
  sleep 0.05
done
kill "$PID"
wait "$PID"
S
  needs_data
  mkdir -p home
  [ -d /data ] || { mkdir /data 2>/dev/null && touch made; } || skip "there is no /data to mount over"
  HOME=$WORK/home PLIMSOLL_COLLECT_LOG=$WORK/home/state PROGRAMS=$PROGRAMS WORK=$WORK \
    MESSAGE=$DATA/pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin \
    unshare -n -m bash -c 'mount --bind "$WORK/data" /data && mount --bind "$WORK/log" /var/log && . ./example' >example.out 2>&1 || {
    cat example.out
    [ ! -e made ] || rmdir /data
    return 1
  }
  [ ! -e made ] || rmdir /data
  equal "rows" "$(h5ls data/colmet.hdf5/job_1000/taskstats_default | awk '{ print $3 }')" "{1/Inf}"
}
