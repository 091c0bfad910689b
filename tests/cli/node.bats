#!/usr/bin/env bats
# The node daemon with real jobs, made of control groups of version 1: curves, ends, short jobs, restarts, what it
# keeps of root's capabilities, and what a colmet collector receives.

bats_require_minimum_version 1.5.0
load lib
load node

setup() {
  [ -w /sys/fs/cgroup/cpuacct/cgroup.procs ] || skip "no control groups of version 1"
  node_setup
  mkdir "/sys/fs/cgroup/cpuacct/$GROUP"
}
teardown() { node_teardown; }

burn() { perl -e 'while ((times)[0] < $ARGV[0]) { for (1 .. 10000) {} } sleep($ARGV[1] // 0)' "$@"; }
export -f burn
jobs_are() { [ "$(plimsoll configure n --show --json | jq .jobs)" = "$1" ]; }
readings_are() { [ "$(plimsoll configure n --show --json | jq .counts.readings)" -ge "$1" ]; }
ended_are() { [ "$(plimsoll configure n --show --json | jq .counts.jobs_ended)" = "$1" ]; }
has_row() { rows_of "$1" | grep -q "\"kind\":\"job\",\"name\":\"$2\""; }

@test "two jobs at once: right CPU for each, a last sample at the end, and then never again" {
  job_groups alice_11
  job_groups bob_22
  node -i 200ms -o out.smp -s jobs -s job_tasks
  job bob_22 bash -c 'burn 0.1 600'
  job alice_11 bash -c 'burn 0.4 0'
  wait "$job"
  used=$(job_cpu_us alice_11)
  until_true has_row out.smp 11
  end_job_groups alice_11
  until_true ended_are 1
  before=$(plimsoll configure n --show --json | jq .counts.readings)
  until_true readings_are $((before + 3))
  other=$(job_cpu_us bob_22)
  end_node
  rows_of out.smp >rows
  # exactly what the kernel booked
  equal 'CPU of the job that ended' "$(jq -s '[.[] | select(.source == "jobs" and .name == "11")] | last | .values.cpu_usage' rows)" "$used"
  at_least 'its curve' "$(jq -s '[.[] | select(.source == "jobs" and .name == "11")] | length' rows)" 2
  at_least 'CPU of the other' "$(jq -s '[.[] | select(.source == "jobs" and .name == "22")] | last | .values.cpu_usage' rows)" $((other - 20000))
  if ! in_container; then
    at_least 'by exit records' "$(jq -s '[.[] | select(.source == "job_tasks" and .name == "11")] | last | .values.cpu_run_virtual_total / 1000' rows)" $((used * 95 / 100))
    at_most 'by exit records' "$(jq -s '[.[] | select(.source == "job_tasks" and .name == "11")] | last | .values.cpu_run_virtual_total / 1000' rows)" $((used * 102 / 100))
  fi
  # readings of the other go on behind its last one
  at_least 'readings behind its end' "$(jq -s '([.[] | select(.source == "jobs" and .name == "11")] | last | .time) as $t | [.[] | select(.source == "jobs" and .name == "22" and .time > $t)] | length' rows)" 3
  equal 'counters never fall' "$(jq -s '[.[] | select(.source == "jobs" and .name == "11") | .values.cpu_usage] | . == sort' rows)" true
  equal 'whose' "$(plimsoll samples --json out.smp | jq -r 'select(.event == "entity" and .source == "jobs" and .name == "11") | .facts.user' | sort -u)" alice
}

@test "a job shorter than a period is complete by the exit records of its processes" {
  ! in_container || skip "no exit records in a container"
  node -i 20s -o out.smp -s jobs -s job_tasks
  job carol_33 bash -c 'for i in 1 2 3 4 5 6 7 8; do perl -e "while ((times)[0] < 0.02) {}"; done'
  wait "$job"
  used=$(job_cpu_us carol_33)
  end_job_groups carol_33
  until_true ended_are 1
  end_node
  rows_of out.smp | jq -s '[.[] | select(.source == "job_tasks" and .name == "33")] | last' >last
  equal 'processes that ended' "$(jq .values.processes last)" 9
  at_least 'their CPU' "$(jq '.values.cpu_run_virtual_total / 1000' last)" $((used * 90 / 100))
  at_most 'their CPU' "$(jq '.values.cpu_run_virtual_total / 1000' last)" $((used * 102 / 100))
}

@test "a daemon that is started again in mid-job goes on with the same counters" {
  node -i 100ms -o out.smp -s jobs
  job dave_44 bash -c 'burn 0.2 600'
  until_true has_row out.smp 44
  kill -9 "$node"
  wait "$node" || true
  node -i 100ms -o out.smp -s jobs
  until_true readings_are 3
  end_node
  equal damage "$(plimsoll samples --json out.smp | jq -s '[.[] | select(.event == "head")] | length')" 2
  equal 'counters never fall' "$(rows_of out.smp | jq -s '[.[] | select(.name == "44") | .values.cpu_usage] | . == sort and length >= 3')" true
}

@test "of root's capabilities it keeps what its sources need, in every thread" {
  node -i 1s -o out.smp
  for t in /proc/"$node"/task/*/status; do
    # CAP_NET_ADMIN is number 12
    equal "effective in $t" "$(sed -n 's/^CapEff:[^0-9a-f]*//p' "$t")" 0000000000001000
    equal "permitted in $t" "$(sed -n 's/^CapPrm:[^0-9a-f]*//p' "$t")" 0000000000001000
    equal "bounding in $t" "$(sed -n 's/^CapBnd:[^0-9a-f]*//p' "$t")" 0000000000001000
    equal "no new ones in $t" "$(sed -n 's/^NoNewPrivs:[^0-9]*//p' "$t")" 1
  done
  at_least threads "$(ls "/proc/$node/task" | wc -l)" 3
  grep -q 'capabilities: CAP_NET_ADMIN$' node.log || fail "$(cat node.log)"
  end_node
  node -i 1s -o out.smp -s jobs
  equal 'effective without exit records' "$(sed -n 's/^CapEff:[^0-9a-f]*//p' "/proc/$node/status")" 0000000000000000
  end_node
  node -i 1s -o out.smp --per-process
  # CAP_DAC_READ_SEARCH, CAP_NET_ADMIN, CAP_SYS_PTRACE
  equal 'effective with processes' "$(sed -n 's/^CapEff:[^0-9a-f]*//p' "/proc/$node/status")" 0000000000081004
  end_node
}

@test "curves of every process know their job" {
  job erin_55 sleep 600
  first=$job
  job frank_66 setpriv --reuid=65534 --regid=65534 --clear-groups sleep 601
  node -i 100ms -o out.smp --per-process -s jobs -s process
  until_true readings_are 4
  end_node
  plimsoll samples --json out.smp | jq -c 'select(.event == "entity" and .source == "process") | {pid: .facts.pid, job: .facts.job, comm: .facts.comm}' | sort -u >seen
  grep -qxF "{\"pid\":\"$first\",\"job\":\"55\",\"comm\":\"sleep\"}" seen || fail "$(cat seen)"
  grep -qxF "{\"pid\":\"$job\",\"job\":\"66\",\"comm\":\"sleep\"}" seen || fail "$(cat seen)"
  # a process may be seen before it runs its program
  equal 'processes' "$(jq -r .pid seen | sort -u | wc -l)" 2
  # I/O of another user's process is there
  equal 'I/O' "$(rows_of out.smp | jq -s --arg p "$job." '[.[] | select(.source == "process" and (.name | startswith($p))) | .values.rchar >= 0] | all and length > 1')" true
}

# bats test_tags=colmet
@test "colmet's records of jobs have the right sizes and values" {
  receiver
  job gina_77 bash -c 'burn 0.3 600'
  node -i 200ms --wire colmet "tcp://127.0.0.1:$(cat port)" -s jobs -s job_tasks=living -s jobproc -s procstats
  until_true received 'select(.backend == "taskstats_default" and .job == 77 and .values.cpu_run_virtual_total >= 250000000)'
  until_true received 'select(.backend == "jobprocstats_default" and .job == 77 and .values.VmRSS > 1000)'
  until_true received 'select(.backend == "procstats_default" and .job == 0 and .values.involved_jobs == "[77]")'
  kill_job gina_77
  used=$(job_cpu_us gina_77)
  end_job_groups gina_77
  until_true ended_are 1
  last=$(jq -s 'last.message' got)
  until_true received "select(.message > $last + 2)"
  end_node
  equal hosts "$(jq -r .host got | sort -u)" n
  equal 'memory of the node' "$(jq -s '[.[] | select(.backend == "procstats_default")] | last.values.memtotal' got)" "$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)"
  at_most 'CPU of the job' "$(jq -s '[.[] | select(.backend == "taskstats_default" and .job == 77)] | last.values.cpu_run_virtual_total / 1000' got)" $((used * 102 / 100 + 20000))
  equal 'an ended job' "$(jq -c "select(.message > $last + 1 and .job == 77)" got | wc -l)" 0
}

# A collector of colmet's kind; records in got, port in the file port.
receiver() {
  local python=python3
  "$python" -c 'import zmq' 2>/dev/null || python=/usr/bin/python3
  "$python" -c 'import zmq' 2>/dev/null || skip "python3-zmq is not installed"
  : >got
  "$python" "$PL_SOURCE/tests/fixtures/colmet_receiver.py" port got 2>receiver.log 3>&- &
  PIDS+=($!)
  until_true test -s port
}
received() { [ -n "$(jq -c "$1" got 2>/dev/null | head -n1)" ]; }
