#!/usr/bin/env bats
# Called as colmet-node and colmet-node-config: the options of colmet's two node programs, its documentation's
# examples as they are written, and what arrives at a collector.

bats_require_minimum_version 1.5.0
load lib
load node

setup() {
  node_setup
  export PLIMSOLL_NODE_NAME=n
}
teardown() { node_teardown; }

# Its records are in got.
receiver() {
  local python=python3
  "$python" -c 'import zmq' 2>/dev/null || python=/usr/bin/python3
  "$python" -c 'import zmq' 2>/dev/null || skip "python3-zmq is not installed"
  : >got
  "$python" "$PL_SOURCE/tests/fixtures/colmet_receiver.py" port got 2>receiver.log 3>&- &
  PIDS+=($!)
  until_true test -s port
  uri=tcp://127.0.0.1:$(cat port)
}
received() { [ -n "$(jq -c "$1" got 2>/dev/null | head -n1)" ]; }
shown() { plimsoll configure n --show --json | jq -cr "$1"; }
shown_is() { [ "$(shown "$1")" = "$2" ]; }

# colmet OPTION...: in the background; its pid in $node
colmet() {
  colmet-node "$@" 2>>node.log 3>&- &
  node=$!
  PIDS+=("$node")
  until_true node_is_up
}

@test "without root: one line about taskstats, and the node's own records" {
  [ "$PL_AS" = user ] || skip "root has what this is about"
  receiver
  colmet -s 0.2 --zeromq-uri "$uri"
  until_true received 'select(.backend == "procstats_default" and .job == 0)'
  end_node
  equal 'lines about taskstats' "$(grep -c taskstats node.log)" 1
  grep -q 'taskstats needs root' node.log || fail "$(cat node.log)"
  equal hosts "$(jq -r .host got | sort -u)" n
  at_least 'total memory' "$(jq -s 'last.values.memtotal' got)" 100000
  equal 'seconds apart at most' "$(jq -s '[.[].time] | (last - first) <= 60' got)" true
}

@test "the examples of colmet's documentation run as they are written" {
  cat >first <<'S'
sudo colmet-node -vvv --zeromq-uri tcp://127.0.0.1:5556
S
  cat >second <<'S'
export LIB_PERFHW_PATH=/usr/local/lib/lib_perf_hw.so
export LIB_RAPL_PATH=/applis/site/colmet/lib_rapl.so

colmet-node -vvv --zeromq-uri tcp://192.168.0.1:5556 \
   --cpuset_rootpath /dev/cpuset/oar \
   --enable-infiniband --omnipath \
   --enable-lustre \
   --enable-perfhw --perfhw-list instructions cache_misses page_faults cpu_cycles cache_references \
   --enable-RAPL \
   --enable-jobproc \
   --enable-ipmipower >> /var/log/colmet.log 2>&1
S
  # the log is ours, nothing else is changed
  sed -i "s|/var/log/colmet.log|$WORK/colmet.log|" second
  cat >third <<'S'
colmet-node --enable-perfhw --perfhw-list instructions cpu_cycles cache_misses
S
  cat >fourth <<'S'
colmet-node -v 2 -s 0.5 --enable-perfhw true --enable-infiniband false -m rss,nr_throttled:1:-1,instructions --zeromq-hwm 10 --zeromq-linger 100 --cgroup-root-path /sys/fs/cgroup --cgroup-path-suffix /oar --wait-cgroup-cpuset-path true --regex-job-id '_(\d+)$'
S
  for example in first second third fourth; do
    # shellcheck disable=SC1090
    (exec 3>&- && sudo() { exec "$@"; } && . "./$example") >>"$example.log" 2>&1 &
    example_pid=$!
    PIDS+=("$example_pid")
    until_true shown_is .ok true
    case $example in
    first) equal "$example" "$(shown '[.period_ms, .sources]')" '[5000,"jobs job_tasks=living procstats"]' ;;
    second) equal "$example" "$(shown '[.period_ms, .sources]')" '[5000,"jobs job_tasks=living procstats infiniband jobproc rapl lustre=lustre- job_counters=instructions,cache_misses,page_faults,cpu_cycles,cache_references ipmi"]' ;;
    third) equal "$example" "$(shown .sources)" 'jobs job_tasks=living procstats job_counters=instructions,cpu_cycles,cache_misses' ;;
    fourth) equal "$example" "$(shown '[.period_ms, .metrics]')" '[500,"jobs.memory_anon jobs.cpu_throttled_periods:1:-1 job_counters.instructions"]' ;;
    esac
    # the daemon is the example's shell itself, or its child
    kill -TERM "$(pgrep -P "$example_pid" || echo "$example_pid")"
    wait "$example_pid"
  done
  # which counters are which; a machine without counters of its own has only the kernel's
  at_least 'mapping files' "$(ls perfhw_mapping.*.csv | wc -l)" 2
  equal 'of the second' "$(head -n1 -q perfhw_mapping.*.csv | sort -u)" counter_1,instructions
  equal 'of the second' "$(grep -h counter_4 perfhw_mapping.*.csv | sort -u | head -n1)" counter_4,cpu_cycles
}

@test "the power that a command tells" {
  receiver
  printf '#!/bin/sh\necho "Minutes: none"\necho "$1 : 217 W"\n' >power
  chmod +x power
  colmet -s 0.2 --zeromq-uri "$uri" --disable-procstats --enable-ipmipower --ipmipower-cmd "$WORK/power" 'Power'
  until_true received 'select(.backend == "ipmipowerstats_default" and .job == 0 and .values.power == 217 and .values.involved_jobs == "[]")'
  end_node
}

@test "options that make no sense are refused with one line and status 2" {
  while IFS='|' read -r options text; do
    status=0
    timeout 20 colmet-node $options >out 2>err || status=$?
    equal "status of '$options'" "$status" 2
    grep -qF -e "$text" err || fail "'$options' says $(cat err), not '$text'"
    equal "lines of '$options'" "$(grep -c error: err)" 1
  done <<'C'
--nosuch|there is no option --nosuch
--enable|can be --enable-
-s 0|--sample-period takes seconds
-s x|--sample-period takes seconds
--enable-perfhw=maybe|takes true or false
--zeromq-uri|needs a value
-m rss -f /etc/passwd|named twice
-m nosuch|there is no metric 'nosuch'
-f /nowhere|cannot read '/nowhere'
--regex_job_id (?=x)|--regex_job_id
-p 99999999|takes a number
stray|nothing for 'stray' to mean
C
  equal version "$(colmet-node --version | cut -d' ' -f1)" colmet-node
  colmet-node --help | grep -q -e '--perfhw-list EVENT ...' || fail "$(colmet-node --help)"
}

@test "the configuration message of colmet's Rust version is taken on request, and works" {
  port=$((20000 + RANDOM % 20000))
  colmet -s 5 --colmet-config "tcp://127.0.0.1:$port"
  colmet-node-config 0.3 rss,nr_throttled "tcp://127.0.0.1:$port"
  until_true shown_is '[.period_ms, .metrics]' '[300,"jobs.memory_anon jobs.cpu_throttled_periods"]'
  # wrong values change nothing, and say so in one line
  colmet-node-config 0.5 nosuch "tcp://127.0.0.1:$port"
  until_true grep -q "configuration message was refused: there is no metric 'nosuch'" node.log
  equal 'in force' "$(shown .period_ms)" 300
  end_node
  status=0
  colmet-node-config x rss 2>err || status=$?
  equal 'status of no number' "$status" 2
  status=0
  colmet-node-config 2>err || status=$?
  equal 'status of no arguments' "$status" 2
}

@test "a collector that is away never holds up sampling; the newest messages are kept" {
  colmet -s 0.05 --zeromq-uri tcp://127.0.0.1:9 --zeromq-hwm 5
  until_true at_least_shown .counts.colmet_dropped 3
  equal waiting "$(shown .counts.colmet_waiting)" 5
  end_node
}
at_least_shown() { [ "$(shown "$1")" -ge "$2" ]; }

@test "processes and groups that are named, and a pattern that is really used" {
  [ "$PL_AS" = root ] && [ -w /sys/fs/cgroup/cpuacct/cgroup.procs ] || skip "control groups of version 1 are root's"
  receiver
  perl -e 'while (1) { for (1 .. 1000) {} select(undef, undef, undef, 0.01) }' 3>&- &
  busy=$!
  PIDS+=("$busy")
  colmet -s 0.2 --zeromq-uri "$uri" -p "$busy" --disable-procstats
  until_true received "select(.backend == \"taskstats_default\" and .job == $busy and .values.cpu_run_real_total > 1000000 and .values.ac_minflt > 10)"
  until_true received "select(.backend == \"jobprocstats_default\" and .job == $busy and .values.VmRSS > 1000)"
  equal 'procstats' "$(jq -c 'select(.backend == "procstats_default")' got | wc -l)" 0
  end_node
  : >got
  job odd-name sleep 600
  colmet -s 0.2 --zeromq-uri "$uri" -c "/sys/fs/cgroup/cpuacct/$GROUP/odd-name" --disable-procstats --enable-jobproc
  until_true received 'select(.backend == "jobprocstats_default" and .job > 2147483647 and .values.VmRSS > 0)'
  end_node
  : >got
  job x99-job88x sleep 600
  job bob_77 sleep 600
  colmet -s 0.2 --zeromq-uri "$uri" --cpuset_rootpath "/sys/fs/cgroup/cpuacct/$GROUP" --regex_job_id 'job(\d+)x$' --disable-procstats --enable-jobproc
  until_true received 'select(.backend == "jobprocstats_default" and .job == 88 and .values.VmRSS > 0)'
  end_node
  equal 'other jobs' "$(jq -c 'select(.job != 88)' got | wc -l)" 0
}
