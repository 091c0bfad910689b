#!/usr/bin/env bats
# bats file_tags=colmet
# Called as colmet-node and colmet-node-config: the options of colmet's two node programs, its documentation's
# examples as they are written, and what arrives at a collector.

bats_require_minimum_version 1.5.0
load lib
load node
load collect

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

# bats test_tags=root
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
  local counting=
  for example in first second third fourth; do
    mkdir "of_$example"
    # shellcheck disable=SC1090
    (exec 3>&- && sudo() { exec "$@"; } && cd "of_$example" && . "../$example") >>"$example.log" 2>&1 &
    example_pid=$!
    PIDS+=("$example_pid")
    until_true shown_is .ok true
    case $example in
    first) equal "$example" "$(shown '[.period_ms, .sources]')" '[5000,"jobs job_tasks=living procstats"]' ;;
    second) equal "$example" "$(shown '[.period_ms, .sources]')" '[5000,"jobs job_tasks=living procstats infiniband jobproc rapl lustre=lustre- job_counters=instructions,cache_misses,page_faults,cpu_cycles,cache_references ipmi"]' ;;
    third) equal "$example" "$(shown .sources)" 'jobs job_tasks=living procstats job_counters=instructions,cpu_cycles,cache_misses' ;;
    fourth) equal "$example" "$(shown '[.period_ms, .metrics, .sources]')" '[500,"","jobs job_tasks=living procstats job_counters=instructions"]' ;;
    esac
    # a machine without counters of its own has only the kernel's, page_faults
    [ "$(shown .states.job_counters)" = sampled ] && counting="$counting of_$example/perfhw_mapping"
    # the daemon is the example's shell itself, or its child
    kill -TERM "$(pgrep -P "$example_pid" || echo "$example_pid")"
    wait "$example_pid"
  done
  # which counters are which: a file each of those that count some
  equal 'mapping files' "$(find of_* -name '*_mapping.*.csv' | sed 's/_mapping\..*/_mapping/' | sort | xargs)" "$(xargs -n1 <<<"$counting" | sort | xargs)"
  [[ $counting == *of_second* ]] || fail "page faults are not counted: $counting"
  equal 'of the second' "$(xargs <of_second/perfhw_mapping.*)" \
    'counter_1,instructions counter_2,cache_misses counter_3,page_faults counter_4,cpu_cycles counter_5,cache_references'
  [[ $counting == *of_third* ]] || return 0
  equal 'of the third' "$(xargs <of_third/perfhw_mapping.*)" \
    'counter_1,instructions counter_2,cpu_cycles counter_3,cache_misses counter_4,no_counter counter_5,no_counter'
  equal 'of the fourth' "$(xargs <of_fourth/perfhw_mapping.*)" \
    'counter_1,instructions counter_2,no_counter counter_3,no_counter counter_4,no_counter counter_5,no_counter'
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
  printf 'total_unevictable,\npgpgin\n' >rust_names
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
-m pgpgin,active_anon:1:-1|nothing would be sent: no source measures pgpgin, active_anon
-f rust_names|nothing would be sent: no source measures total_unevictable, pgpgin
-m jobs.memory_anon|nothing would be sent: colmet's records have no field for the metrics 'jobs.memory_anon' of the sources
-m rapl.energy|nothing would be sent: colmet's records have no field for the metrics 'rapl.energy' of the sources
-m job_counters.page_faults --enable-perfhw --perfhw-list instructions|nothing would be sent
-f /nowhere|cannot read '/nowhere'
--regex_job_id (?=x)|--regex_job_id
-p 99999999|takes a whole number
stray|unexpected argument 'stray'
C
  equal version "$(colmet-node --version | cut -d' ' -f1)" colmet-node
  colmet-node --help | grep -q -e '--perfhw-list EVENT ...' || fail "$(colmet-node --help)"
}

# send_message URI BYTES: as colmet's own tools send it, with escapes of Python's
send_message() {
  local python=python3
  "$python" -c 'import zmq' 2>/dev/null || python=/usr/bin/python3
  "$python" - "$@" <<'P'
import sys, zmq
context = zmq.Context()
socket = context.socket(zmq.PUSH)
socket.connect(sys.argv[1])
socket.send(sys.argv[2].encode().decode("unicode_escape").encode("latin-1"))
socket.close(60000)
context.term() # waits until it is sent: at its end Python itself does not
P
}
count_of() { jq -c "select($1)" got | wc -l; }
more_than() { [ "$(count_of "$1")" -gt "$2" ]; }
# keeps_coming FILTER: three more records than there are
keeps_coming() { until_true more_than "$1" $(($(count_of "$1") + 2)); }

@test "a filter that leaves nothing is refused with the reason, and records go on coming" {
  receiver
  config=tcp://127.0.0.1:$((20000 + RANDOM % 12000))
  colmet -s 0.2 --zeromq-uri "$uri" --colmet-config "$config"
  keeps_coming '.backend == "procstats_default"'
  want=$(shown '[.period_ms, .metrics, .sources]')
  # the message of the Rust version, as it was captured
  send_message "$config" '\x82\xa7metrics\xb2pgpgin,active_anon\xadsample_period\xa30.5'
  until_true grep -q "refused a configuration message: nothing would be sent: no source measures pgpgin, active_anon" node.log
  equal 'in force' "$(shown '[.period_ms, .metrics, .sources]')" "$want"
  keeps_coming '.backend == "procstats_default" and .values.memtotal > 100000'
  while IFS='|' read -r options text; do
    status=0
    plimsoll configure n $options >out 2>err || status=$?
    equal "status of $options" "$status" 1
    grep -qF -e "nothing was changed: nothing would be sent: $text" err || fail "$options: $(cat err)"
    equal "in force after $options" "$(shown '[.period_ms, .metrics, .sources]')" "$want"
  done <<'C'
--metrics jobs.memory_anon|colmet's records have no field for the metrics 'jobs.memory_anon' of the sources 'jobs job_tasks=living procstats'
--metrics jobs.page_faults|colmet's records have no field for the metrics 'jobs.page_faults'
--metrics rapl.energy|colmet's records have no field for the metrics 'rapl.energy'
--metrics job_counters.instructions|colmet's records have no field for the metrics
--metrics sampler.*|colmet's records have no field for the metrics
--sources network|colmet's records have no field for the sources 'network'
C
  keeps_coming '.backend == "procstats_default"'
  # a filter that leaves something is taken, and something comes
  plimsoll configure n --metrics meminfo_memtotal -q >/dev/null
  equal 'metrics' "$(shown .metrics)" meminfo_memtotal
  keeps_coming '.backend == "procstats_default" and .values.memtotal > 100000 and .values.uptime_total == 0'
  end_node
}

@test "the message of configure_colmet.py counts other events, and everything else goes on coming" {
  receiver
  config=tcp://127.0.0.1:$((20000 + RANDOM % 12000))
  colmet -s 0.2 --zeromq-uri "$uri" --colmet-config "$config" --enable-perfhw --perfhw-list page_faults
  keeps_coming '.backend == "procstats_default"'
  send_message "$config" '\x82\xaeperfhw_metrics\xb9cache_ll,emulation_faults\xadsample_period\xa31.5'
  until_true shown_is '[.period_ms, .metrics, .sources]' '[1500,"","jobs job_tasks=living procstats job_counters=cache_ll,emulation_faults"]'
  keeps_coming '.backend == "procstats_default"'
  # under a filter the events are added to it
  plimsoll configure n --period 200ms --metrics 'procstats.*' -q >/dev/null
  colmet-node-config 0.3 page_faults,cpu_clock "$config"
  until_true shown_is '[.period_ms, .metrics, .sources]' '[300,"procstats.* job_counters.page_faults job_counters.cpu_clock","jobs job_tasks=living procstats job_counters=page_faults,cpu_clock"]'
  keeps_coming '.backend == "procstats_default"'
  # wrong values change nothing, and say so in one line
  colmet-node-config 0.5 nosuch "$config"
  until_true grep -q "refused a configuration message: there is no metric 'nosuch'" node.log
  equal 'in force' "$(shown .period_ms)" 300
  keeps_coming '.backend == "procstats_default"'
  end_node
  status=0
  colmet-node-config x rss 2>err || status=$?
  equal 'status of no number' "$status" 2
  status=0
  colmet-node-config 2>err || status=$?
  equal 'status of no arguments' "$status" 2
}

@test "metrics under the names of the Rust version: events are counted, and what is not measured is named" {
  receiver
  colmet -s 0.2 --zeromq-uri "$uri" -m pgpgin,page_faults
  equal 'in force' "$(shown '[.metrics, .sources]')" '["","jobs job_tasks=living procstats job_counters=page_faults"]'
  grep -q "no source measures pgpgin: left out" node.log || fail "$(cat node.log)"
  keeps_coming '.backend == "procstats_default"'
  end_node
  printf 'page-faults:-1:-1,\ncpu_clock,procstats.meminfo_memtotal\n' >list
  colmet -s 0.2 --zeromq-uri "$uri" -f list
  equal 'in force' "$(shown .metrics)" 'procstats.meminfo_memtotal job_counters.page_faults:-1:-1 job_counters.cpu_clock'
  keeps_coming '.backend == "procstats_default" and .values.memtotal > 100000 and .values.uptime_total == 0'
  end_node
}

# bats test_tags=root
@test "every metric of the Rust version that is measured arrives in its messages, and records of the other no more" {
  [ "$PL_AS" = root ] && [ -w /sys/fs/cgroup/cpuacct/cgroup.procs ] || skip "control groups of version 1 are root's"
  # 256 page faults a round, whatever an allocator keeps
  job bob_77 python3 -c '
import mmap, time
kept = bytearray(b"x") * 20000000
while True:
    m = mmap.mmap(-1, 1 << 20)
    for i in range(0, 1 << 20, 4096): m[i] = 1
    m.close()
    time.sleep(0.01)'
  local names
  names=cache,rss,rss_huge,shmem,mapped_file,dirty,writeback,pgfault,pgmajfault,total_cache,total_rss,total_rss_huge
  names+=,total_shmem,total_mapped_file,total_dirty,total_writeback,total_pgfault,total_pgmajfault,nr_periods,nr_throttled,throttled_time
  config=ipc://$WORK/config
  collector c --bind-colmet 'tcp://127.0.0.1:*' --sink stdout:jsonl
  PIDS+=("$PID")
  ln -s c.out got
  colmet -s 0.2 --zeromq-uri "$COLMET" --cpuset_rootpath "/sys/fs/cgroup/cpuacct/$GROUP" --colmet-config "$config" -m "$names,page_faults"
  until_true received 'select(.source == "memory" and .job == "77" and .values.rss > 20000000 and .values.total_rss == .values.rss and .values.pgfault > 256)'
  until_true received 'select(.source == "perfhw" and .job == "77" and .values.page_faults > 256)'
  keeps_coming '.source == "perfhw"'
  keeps_coming '.source == "memory"'
  colmet-node-config 0.3 shmem "$config"
  until_true shown_is .period_ms 300
  until_true received 'select(.source == "memory" and (.values | keys == ["shmem"]))'
  end_node
  equal 'of the memory' "$(jq -r 'select(.source == "memory") | .values | keys[]' got | sort -u | xargs)" \
    "$(tr , '\n' <<<"$names" | grep -v '^nr_\|thrott' | sort | xargs)"
  equal 'of the cpu' "$(jq -r 'select(.source == "cpu") | .values | keys[]' got | sort -u | xargs)" 'nr_periods nr_throttled throttled_time'
  equal 'records of the other version' "$(jq -r .source got | grep -c _default)" 0
  equal 'hosts' "$(jq -r .host got | sort -u)" n
  # two accounts of one thing: what the events add up to, and what the group's counter grew by
  counted=$(jq -s 'map(select(.source == "perfhw").values.page_faults // 0) | add' got)
  grown=$(jq -s 'map(select(.source == "memory").values.pgfault // empty) | max - min' got)
  at_least 'page faults counted, of those of the group' "$((counted * 2))" "$grown"
  at_most 'page faults counted' "$counted" "$((grown * 2 + 20000))"
}

# bats test_tags=root
@test "events that are named as metrics arrive for a job" {
  [ "$PL_AS" = root ] && [ -w /sys/fs/cgroup/cpuacct/cgroup.procs ] || skip "control groups of version 1 are root's"
  receiver
  job bob_77 perl -e 'while (1) { my @a = map { "x" x 65536 } 1 .. 200; select(undef, undef, undef, 0.01) }'
  colmet -s 0.2 --zeromq-uri "$uri" --cpuset_rootpath "/sys/fs/cgroup/cpuacct/$GROUP" -m cpu_clock,page_faults
  until_true received 'select(.backend == "perfhwstats_default" and .job == 77 and .values.counters[0] > 0)'
  until_true received 'select(.backend == "taskstats_default" and .job == 77 and .values.ac_minflt > 0)'
  end_node
}

@test "a collector that is away never holds up sampling; the newest messages are kept" {
  colmet -s 0.05 --zeromq-uri tcp://127.0.0.1:9 --zeromq-hwm 5
  until_true at_least_shown .counts.colmet_dropped 3
  equal waiting "$(shown .counts.colmet_waiting)" 5
  end_node
}
at_least_shown() { [ "$(shown "$1")" -ge "$2" ]; }

# bats test_tags=root
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
  # a group that is named comes besides the others
  job odd-name sleep 600
  job bob_66 sleep 600
  colmet -s 0.2 --zeromq-uri "$uri" -c "/sys/fs/cgroup/cpuacct/$GROUP/odd-name" --cpuset_rootpath "/sys/fs/cgroup/cpuacct/$GROUP" --disable-procstats --enable-jobproc
  until_true received 'select(.backend == "jobprocstats_default" and .job > 2147483647 and .values.VmRSS > 0)'
  until_true received 'select(.backend == "jobprocstats_default" and .job == 66 and .values.VmRSS > 0)'
  end_node
  : >got
  job x99-job88x sleep 600
  job bob_77 sleep 600
  colmet -s 0.2 --zeromq-uri "$uri" --cpuset_rootpath "/sys/fs/cgroup/cpuacct/$GROUP" --regex_job_id 'job(\d+)x$' --disable-procstats --enable-jobproc
  until_true received 'select(.backend == "jobprocstats_default" and .job == 88 and .values.VmRSS > 0)'
  end_node
  equal 'other jobs' "$(jq -c 'select(.job != 88)' got | wc -l)" 0
}
