#!/usr/bin/env bats
# The sources process and process_memory on live processes that do a known amount of work.

load lib

WORKER=$PROGRAMS/worker

setup() {
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  cd "$WORK" || return 1
  started=() pid=
}

teardown() {
  for pid in "${started[@]}"; do
    kill -9 "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  clear_work
}

# start MODE ARGUMENT...: pid in $pid, output in out, once it is ready (so many times: READY)
start() {
  : >out
  "$WORKER" "$@" >out 3>&- &
  pid=$!
  started+=("$pid")
  for _ in $(seq 600); do
    [ "$(grep -c ready out)" -lt "${READY:-1}" ] || return 0
    kill -0 "$pid" || fail "worker $* ended: $(cat out)" || return 1
    sleep 0.1
  done
  fail "worker $* is not ready"
}

# read_job SOURCE PID [OVER]: rows of the second reading in rows.jsonl, absences in absent.json
read_job() {
  plimsoll sample --source "$1" --pid "$2" --over "${3:-100ms}" --json >sample.json
  jq -e '.[0].error == null' sample.json >/dev/null || fail "$(cat sample.json)" || return 1
  jq -c '.[0].rows[]' sample.json >rows.jsonl
  jq -c '.[0].absent' sample.json >absent.json
}

# of PID METRIC: the value in the row of a process; job METRIC: in the row of the job
of() {
  jq -r "select(.kind == \"process\" and .metadata.pid == \"$1\") | .values.$2" rows.jsonl
}
job() {
  jq -r "select(.kind == \"job\") | .values.$1" rows.jsonl
}
cpu_of() {
  jq -r "select(.kind == \"process\" and .metadata.pid == \"$1\") | .values.usertime + .values.systemtime" rows.jsonl
}
job_cpu() {
  jq -r 'select(.kind == "job") | .values.usertime + .values.systemtime' rows.jsonl
}
name_of() {
  echo "$1.$(sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f20)"
}
# near WHAT GOT WANT TOLERANCE
near() {
  awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { exit !(a - b <= t && b - a <= t) }' || fail "$1: got $2, want $3 within $4"
}

@test "CPU time is what the program itself was told" {
  start burn 300
  read_job process "$pid"
  told=$(sed -n 's/^cpu //p' out)
  at_least 'told' "$told" 300000
  # two whole ticks are not shown
  near 'CPU' "$(cpu_of "$pid")" "$told" 25000
  near 'exact' "$(of "$pid" time_oncpu)" "$((told * 1000))" 5000000
  equal 'job' "$(job_cpu)" "$(cpu_of "$pid")"
  equal 'name' "$(jq -r 'select(.kind == "process") | .name' rows.jsonl)" "$(name_of "$pid")"
  equal 'comm' "$(jq -r 'select(.kind == "process") | .metadata.comm' rows.jsonl)" worker
  equal 'exe' "$(jq -r 'select(.kind == "process") | .metadata.exe' rows.jsonl)" "$(readlink -f "$WORKER")"
  equal 'cmdline' "$(jq -r 'select(.kind == "process") | .metadata.cmdline' rows.jsonl)" "$WORKER burn 300"
}

@test "a busy loop has all the CPU that it was given, a sleeper none" {
  start rest
  sleeper=$pid
  start spin
  # on the CPU and waiting for one is all that a loop does: its share of that around the reading
  read_job process "$pid" 10ms
  c=$(of "$pid" time_oncpu) w=$(of "$pid" time_waiting)
  read_job process "$pid" 1s
  percent=$(of "$pid" cpu_percent) job_percent=$(job cpu_percent)
  share=$(awk -v c=$(($(of "$pid" time_oncpu) - c)) -v w=$(($(of "$pid" time_waiting) - w)) 'BEGIN { print 100 * c / (c + w) }')
  # the share is of a little more than the reading
  near 'busy' "$percent" "$share" 25
  near 'job' "$job_percent" "$percent" 5
  read_job process "$sleeper" 1s
  near 'asleep' "$(of "$sleeper" cpu_percent)" 0 0
  near 'job asleep' "$(job cpu_percent)" 0 0
}

@test "a program of eight threads is one process, and all of its threads count" {
  start threads 8 40
  read_job process "$pid"
  equal 'rows' "$(jq -s 'map(select(.kind == "process")) | length' rows.jsonl)" 1
  equal 'threads' "$(of "$pid" num_threads)" 9
  equal 'threads of the job' "$(job threads)" 9
  equal 'processes' "$(job processes)" 1
  # nine with 40 ms each, one of which had ended before we came
  at_least 'CPU' "$(cpu_of "$pid")" 340000
  at_least 'exact' "$(of "$pid" time_oncpu)" 360000000
  equal 'exact of the job' "$(job time_oncpu)" "$(of "$pid" time_oncpu)"
  equal 'waiting' "$(of "$pid" time_waiting)" "$(cat /proc/"$pid"/task/*/schedstat | awk '{ s += $2 } END { printf "%.0f", s }')"
  equal 'slices' "$(of "$pid" timeslices)" "$(cat /proc/"$pid"/task/*/schedstat | awk '{ s += $3 } END { printf "%.0f", s }')"
  equal 'memory' "$(job rss)" "$(of "$pid" rss)"
  read_job process_memory "$pid"
  equal 'switches' "$(jq -r 'select(.kind == "job") | .values.vol_ctxsw' rows.jsonl)" \
    "$(cat /proc/"$pid"/task/*/status | awk '/^voluntary/ { s += $2 } END { printf "%.0f", s }')"
}

@test "bytes written are counted to the byte" {
  start write data 5000000 100000
  read_job process "$pid"
  # and "ready", one line
  equal 'bytes' "$(of "$pid" wchar)" 5000006
  equal 'calls' "$(of "$pid" syscw)" 51
  equal 'bytes of the job' "$(job wchar)" 5000006
}

# burners SOURCE COUNT: so many children of 80 ms one after the other, all of them between two readings
burners() {
  for over in 8 25 60 180; do
    # one that was too slow writes no "done" for the next
    [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
    start children "$2" 80
    # the slower the machine, the later the first reading
    (
      sleep $((1 + over / 10))
      kill -USR1 "$pid"
    ) 3>&- &
    read_job "$1" "$pid" "${over}s"
    grep -q 'done' out && return 0
  done
  fail "$2 burners did not end within three minutes"
}

# how many tasks the machine has started
tasks_of_machine() {
  awk '$1 == "processes" { print $2 }' /proc/stat
}

@test "sixty children of 80 ms between two readings are all there" {
  local tasks
  tasks=$(tasks_of_machine)
  burners process 60
  tasks=$(($(tasks_of_machine) - tasks))
  # 4.8 s by their own clocks, and what forking them took
  at_least 'CPU of the job' "$(job_cpu)" 4780000
  at_most 'CPU of the job' "$(job_cpu)" 6000000
  at_most 'CPU of the parent itself' "$(cpu_of "$pid")" 600000
  equal 'alive' "$(job processes)" 1
  if [ "$PL_AS" = root ] && jq -e 'has("exits_lost") | not' absent.json; then
    # records of all tasks of the machine come, and 16 MiB of them wait for the next reading: if others started more
    # than that, some are lost, and it says so
    if [ "$(job exits_lost)" != 0 ]; then
      at_least 'tasks of the machine' "$tasks" 3000
      return 0
    fi
    equal 'started' "$(job started)" 61
    equal 'ended' "$(job ended)" 60
    equal 'lost' "$(job exits_lost)" 0
    at_least 'exact' "$(job time_oncpu)" 4800000000
  else
    jq -e '.exits_lost | test("CAP_NET_ADMIN|not those of the machine")' absent.json
  fi
}

@test "they are there without exit records, too" {
  burners process=no-exits 10
  at_least 'CPU' "$(job_cpu)" 780000
  at_most 'CPU' "$(job_cpu)" 1500000
  equal 'started' "$(job started)" 1
  jq -e '.exits_lost | test("no-exits")' absent.json
}

@test "children that nobody waits for stay in the account" {
  READY=2 start ignore 200
  (
    sleep 0.7
    kill -USR1 "$pid"
  ) 3>&- &
  read_job process "$pid" 2500ms
  grep -q 'done' out
  equal 'alive' "$(job processes)" 1
  equal 'ended' "$(job ended)" 2
  at_least 'CPU' "$(job_cpu)" 360000
  at_most 'CPU' "$(job_cpu)" 700000
}

@test "one that ends between two readings, and its parent is not of the job" {
  for over in 3 10 40; do
    start leave 300
    (
      sleep $((over / 3))
      kill -USR1 "$pid"
    ) 3>&- &
    read_job process "$pid" "${over}s"
    wait "$pid"
    [ "$(job processes)" != 0 ] || break
  done
  equal 'alive' "$(job processes)" 0
  equal 'ended' "$(job ended)" 1
  equal 'rows' "$(wc -l <rows.jsonl)" 1
  if [ "$PL_AS" = root ] && jq -e 'has("exits_lost") | not' absent.json; then
    # the kernel's record has what it did after the last reading
    at_least 'CPU' "$(job_cpu)" 280000
  else
    at_most 'CPU' "$(job_cpu)" 100000
  fi
}

@test "a program that becomes another keeps its row" {
  start become sleep 1000
  name=$(name_of "$pid")
  (
    sleep 0.5
    kill -USR1 "$pid"
  ) 3>&- &
  read_job process "$pid" 2s
  equal 'name' "$(jq -r 'select(.kind == "process") | .name' rows.jsonl)" "$name"
  equal 'comm' "$(jq -r 'select(.kind == "process") | .metadata.comm' rows.jsonl)" sleep
  equal 'cmdline' "$(jq -r 'select(.kind == "process") | .metadata.cmdline' rows.jsonl)" 'sleep 1000'
  # an open smaps_rollup is of the program before
  start become sleep 1000
  name=$(name_of "$pid")
  (
    sleep 0.5
    kill -USR1 "$pid"
  ) 3>&- &
  read_job process_memory "$pid" 2s
  equal 'name' "$(jq -r 'select(.kind == "process") | .name' rows.jsonl)" "$name"
  at_least 'pss' "$(job pss)" 1024
  equal 'comm' "$(cat "/proc/$pid/comm")" sleep
}

@test "shared memory is counted once" {
  group=
  for dir in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    if [ "$PL_AS" = root ] && [ -e "$dir/memory.stat" ] && mkdir "$dir/plimsoll-test-$$" 2>/dev/null; then
      group=$dir/plimsoll-test-$$
      break
    fi
  done
  if [ -n "$group" ] && [ -e "$group/memory.stat" ]; then
    (
      echo "$BASHPID" >"$group/cgroup.procs"
      exec "$WORKER" share 64 16 4 >out 3>&-
    ) &
    pid=$!
    started+=("$pid")
    for _ in $(seq 300); do grep -q ready out && break || sleep 0.1; done
  else
    start share 64 16 4
  fi
  read_job process_memory "$pid"
  sum=$(job 'pss_anon + .values.pss_shmem')
  near 'anonymous and shared' "$sum" $((128 << 20)) $(((128 << 20) / 50))
  near 'shared' "$(job pss_shmem)" $((64 << 20)) $(((64 << 20) / 50))
  # what rss says counts the shared part four times
  at_least 'rss of shared memory' "$(job rss_shmem)" $((255 << 20))
  at_least 'unshared' "$(job uss)" $((64 << 20))
  equal 'descriptors' "$(job num_fds)" "$(for p in "$pid" $(cat "/proc/$pid/task/$pid/children"); do ls "/proc/$p/fd"; done | wc -l)"
  near 'peak' "$(job rss_peak)" $((81 << 20)) $((3 << 20))
  if [ -n "$group" ]; then
    in_group=$(awk '/^(rss|anon|shmem) / { s += $2 } END { printf "%.0f", s }' "$group/memory.stat")
    for p in $(cat "$group/cgroup.procs"); do kill -9 "$p"; done
    for _ in $(seq 100); do rmdir "$group" 2>/dev/null && break || sleep 0.1; done
    near 'the group' "$sum" "$in_group" $((in_group / 50))
  fi
}

@test "another user's process: what is not permitted is absent with the reason" {
  other=1
  if [ "$PL_AS" = root ]; then
    chmod 711 . && : >out && chmod 666 out
    setpriv --reuid=65534 --regid=65534 --clear-groups -- "$WORKER" rest >out 3>&- &
    other=$!
    started+=("$other")
    for _ in $(seq 300); do grep -q ready out && break || sleep 0.1; done
  fi
  plimsoll sample --source process --source process_memory --pid $other --json >sample.json
  values='.rows[] | select(.name == "'"$(name_of $other)"'") | .values'
  has() {
    jq -e ".[] | select(.source == \"$1\") | $values | has(\"$2\")" sample.json >/dev/null
  }
  for m in usertime rss minflt timeslices; do has process $m || fail "no $m"; done
  for m in rss_peak vol_ctxsw; do has process_memory $m || fail "no $m"; done
  if [ "$PL_AS" = root ]; then
    has process wchar
    for m in pss num_fds; do has process_memory $m || fail "no $m"; done
    equal 'nothing is refused' "$(jq '[.[].absent | .. | strings | select(test("not permitted"))] | length' sample.json)" 0
  else
    if has process wchar; then fail "wchar is there"; fi
    jq -e '.[] | select(.source == "process") | .absent.wchar | test("^not permitted: /proc/PID/io")' sample.json
    if has process_memory pss; then fail "pss is there"; fi
    jq -e '.[] | select(.source == "process_memory") | .absent.pss | test("^not permitted: /proc/PID/smaps_rollup")' sample.json
  fi
}

@test "with few descriptors nothing is lost" {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    start rest
    args+=(--pid "$pid")
  done
  (
    ulimit -n 24
    plimsoll sample --source process --source process_memory "${args[@]}" --over 50ms --json >sample.json
  )
  equal 'rows' "$(jq -c '[.[].rows | length]' sample.json)" '[11,11]'
  equal 'complete' "$(jq '[.[0].rows[].values | select(has("wchar") and has("timeslices"))] | length' sample.json)" 11
  equal 'complete' "$(jq '[.[1].rows[].values | select(has("pss") and has("num_fds"))] | length' sample.json)" 11
}

@test "probes, and an option that is none" {
  plimsoll sources --json >sources.json || true
  grep -q 'stat, io and schedstat' sources.json
  plimsoll sample --source process=nothing --pid $$ --json >sample.json
  jq -e '.[0].error | test("no-exits")' sample.json
}
