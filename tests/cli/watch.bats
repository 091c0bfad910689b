#!/usr/bin/env bats
# Finding and following the processes of a job on this machine, by `job_processes_dump`, which prints what the
# finder of `monitor`, `sample` and `top` sees.

bats_require_minimum_version 1.5.0
load lib

# Processes that a test started, ended by their id at its end.
started() {
  echo "$1" >>"$WORK/started"
}

teardown() {
  if [ -f "$WORK/started" ]; then
    while read -r pid; do kill -9 "$pid" 2>/dev/null || true; done <"$WORK/started"
  fi
  [ -z "${GROUP:-}" ] || leave_group
  clear_work
}

dump() {
  timeout 60 "$PROGRAMS/job_processes_dump" "$@"
}

# what a line of the dump has of each process
names() {
  jq -r '[.processes[].cmdline] | sort | join(",")'
}

# waits until a file has a number in it
number() {
  for _ in $(seq 200); do
    [ -s "$1" ] && cat "$1" && return
    sleep 0.05
  done
  fail "nothing in $1"
}

@test "a tree: descendants, but neither siblings nor ourselves" {
  sleep 1000 3>&- &
  started $!
  sh -c 'sleep 1001 & sh -c "sleep 1002 & echo \$! >two; wait" & echo $! >one; wait' 3>&- &
  started $!
  root=$!
  started "$(number one)"
  started "$(number two)"
  dump --pid $root --until 4 --count 200 >seen
  equal main "$(jq -c '[.processes[] | select(.main).pid]' seen)" "[$root]"
  [[ "$(names <seen)" == *"sleep 1001"*"sleep 1002"* ]] || fail "$(cat seen)"
  [[ "$(names <seen)" != *"sleep 1000"* ]] || fail "$(cat seen)"
  equal parents "$(jq -c --argjson p "$(cat two)" '[.processes[] | select(.pid == $p).ppid]' seen)" \
    "[$(jq --argjson p "$(cat two)" '.processes[] | select(.pid == $p).ppid' seen)]"
  # the shell that runs this is named: it and the sleepers are there, job_processes_dump is not
  dump --pid $$ >seen
  equal dumps "$(jq '[.processes[] | select(.comm == "job_processes_dump")] | length' seen)" 0
  equal sleepers "$(jq '[.processes[] | select(.cmdline == "sleep 1000")] | length' seen)" 1
  started "$(jq '.processes[] | select(.cmdline == "sleep 1001").pid' seen)"
}

@test "a process that execs, and one that ends, while they are watched" {
  mkfifo gate end
  sh -c 'read -r x <gate; exec sleep 1003' 3>&- &
  started $!
  root=$!
  dump --pid $root --until-over --ready ready >seen 3>&- &
  watcher=$!
  started $watcher
  until [ -e ready ]; do sleep 0.05; done
  echo >gate
  until [ "$(cat /proc/$root/comm)" = sleep ]; do sleep 0.05; done
  kill -0 $watcher
  equal image "$(dump --pid $root | jq -c '[.processes[] | [.comm, .main]]')" '[["sleep",true]]'
  kill $root
  wait $watcher
  equal over "$(tail -1 seen | jq .over)" true
  equal first "$(head -1 seen | jq '.processes | length')" 1
}

@test "zombies are not alive" {
  sh -c 'true & exec sleep 1004' 3>&- &
  started $!
  root=$!
  for _ in $(seq 100); do
    ps -o stat= --ppid $root | grep -q Z && break
    sleep 0.05
  done
  ps -o stat= --ppid $root | grep -q Z
  equal alive "$(dump --pid $root | jq -c '[.processes[].pid]')" "[$root]"
}

@test "an orphan left in its parent's session is known by it" {
  mkfifo gate
  setsid sh -c 'echo $$ >root; read -r x <gate; sh -c "sleep 1007 & echo \$! >orphan"; sleep 1008' 3>&- &
  root=$(number root)
  started "$root"
  dump --pid "$root" --until 3 --count 300 --ready ready >seen 3>&- &
  watcher=$!
  started $watcher
  until [ -e ready ]; do sleep 0.05; done
  echo >gate
  started "$(number orphan)"
  wait $watcher
  [[ "$(names <seen)" == *"sleep 1007"* ]] || fail "$(cat seen)"
  started "$(jq '.processes[] | select(.cmdline == "sleep 1008").pid' seen)"
}

@test "many short processes: none is missed for long, none is left" {
  sh -c 'i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; sleep 1009 & sleep 1010' 3>&- &
  started $!
  root=$!
  dump --pid $root --interval 0.02 --until 3 --count 2000 >seen
  equal names "$(jq -r '[.processes[] | select(.comm == "sleep").cmdline] | sort | join(",")' seen)" "sleep 1009,sleep 1010"
  for p in $(jq '.processes[] | select(.comm == "sleep").pid' seen); do started "$p"; done
}

# A group of our own, where we may make one: version 1 or 2, whatever is mounted.
make_group() {
  local dir
  for dir in /sys/fs/cgroup/freezer /sys/fs/cgroup/unified /sys/fs/cgroup; do
    [ -w "$dir/cgroup.procs" ] && mkdir "$dir/plimsoll-test-$$" 2>/dev/null && GROUP=$dir/plimsoll-test-$$ && return
  done
  return 1
}

leave_group() {
  local dir
  for dir in "$GROUP"/below "$GROUP"; do
    for _ in $(seq 100); do
      rmdir "$dir" 2>/dev/null && break
      [ -d "$dir" ] || break
      sleep 0.05
    done
  done
}

@test "a control group and those below it" {
  if ! make_group; then
    # an ordinary user may look at those of others
    dir=/sys/fs/cgroup/freezer
    [ -d $dir ] || dir=/sys/fs/cgroup
    sleep 1011 3>&- &
    started $!
    dump --cgroup $dir >seen
    equal ours "$(jq --argjson p $! '[.processes[] | select(.pid == $p)] | length' seen)" 1
    equal dumps "$(jq '[.processes[] | select(.comm == "job_processes_dump")] | length' seen)" 0
    return
  fi
  mkdir "$GROUP/below"
  sleep 1011 3>&- &
  started $!
  one=$!
  sleep 1012 3>&- &
  started $!
  two=$!
  echo $one >"$GROUP/cgroup.procs"
  echo $two >"$GROUP/below/cgroup.procs"
  dump --cgroup "$GROUP" >seen
  equal whole "$(jq -c '[.processes[].pid]' seen)" "$(printf '%s\n' $one $two | jq -cs sort)"
  equal main "$(jq -c '[.processes[].main] | unique' seen)" "[true]"
  equal group "$(jq -r '.groups | to_entries[].value' seen)" "$GROUP"
  equal relative "$(dump --cgroup "/$(basename "$GROUP")" | jq '.processes | length')" 2
  # over when all have left, and only then
  dump --cgroup "$GROUP" --until-over --ready ready >seen 3>&- &
  watcher=$!
  started $watcher
  until [ -e ready ]; do sleep 0.05; done
  kill $one
  until [ "$(tail -1 seen | jq '.processes | length')" = 1 ]; do sleep 0.05; done
  kill -0 $watcher
  kill $two
  wait $watcher
  equal over "$(tail -1 seen | jq -c '[.over, (.processes | length)]')" "[true,0]"
  # named processes that have a group to themselves: it is theirs
  sleep 1013 3>&- &
  started $!
  rmdir "$GROUP/below"
  echo $! >"$GROUP/cgroup.procs"
  equal own "$(dump --pid $! | jq -r '.groups | to_entries[].value')" "$GROUP"
  kill $!
  run dump --cgroup no/such/group
  equal status "$status" 1
  equal message "$output" "job_processes_dump: there is no control group 'no/such/group'"
}

@test "a job by the environment of its processes" {
  PBS_JOBID=31.test setsid sleep 1014 3>&- &
  started $!
  job=$!
  PBS_JOBID=310.test setsid sleep 1015 3>&- &
  started $!
  # from outside, by the whole id and by its number
  for id in 31.test 31; do
    dump --job=$id --until 1 --count 100 >seen
    equal "$id" "$(jq -c '[.processes[] | [.pid, .main]]' seen)" "[[$job,true]]"
  done
  # from inside
  PBS_JOBID=31.test dump --until 1 --count 100 >seen
  equal inside "$(jq -c '[.processes[].pid]' seen)" "[$job]"
  equal how "$(jq -r .how seen)" "job 31.test of PBS by the environment of processes"
  # one that comes later, and the end
  FLUX_JOB_ID=later dump --until-over >seen 3>&- &
  watcher=$!
  started $watcher
  sleep 0.3
  FLUX_JOB_ID=later PMI_RANK=5 setsid sleep 1016 3>&- &
  started $!
  until [ "$(tail -1 seen | jq '.processes | length')" = 1 ]; do sleep 0.05; done
  equal rank "$(dump --job=later | jq -c '[.processes[] | select(.comm == "sleep") | [.pid, .rank]]')" "[[$!,5]]"
  kill $!
  wait $watcher
}

@test "scontrol that answers, hangs, babbles, or is not there" {
  mkdir bin
  setsid sleep 1017 3>&- &
  started $!
  job=$!
  export SLURM_JOB_ID=777 SLURM_STEP_ID=0 SLURMD_NODENAME=here
  printf '#!/bin/sh\necho "$*" >>%s/asked\necho "PID JOBID STEPID LOCALID GLOBALID"\necho "$PPID 777 0 0 0"\necho "%s 777 1 0 0"\necho "-1 777 extern - -"\n' "$PWD" $job >bin/scontrol
  chmod +x bin/scontrol
  PATH=$PWD/bin:$PATH dump --until 1 --count 400 >seen
  equal list "$(jq -c '[.processes[] | [.pid, .main]]' seen)" "[[$job,true]]"
  equal how "$(jq -r .how seen)" "job 777 of Slurm by scontrol listpids"
  equal asked "$(head -1 asked)" "listpids 777 here"
  # of the same job as far as its environment says
  SLURM_STEP_ID=1 setsid sleep 1018 3>&- &
  started $!
  for body in 'exec sleep 1000' 'exec yes 1 2 3' 'exit 1' 'kill -9 $$'; do
    printf '#!/bin/sh\n%s\n' "$body" >bin/scontrol
    PATH=$PWD/bin:$PATH dump --until 1 --count 400 >seen
    equal "$body" "$(jq -r '.processes[].cmdline' seen)" "sleep 1018"
    equal "$body" "$(jq -r .how seen)" "job 777 of Slurm by the environment of processes"
  done
  rm bin/scontrol
  PATH=$PWD/bin:/usr/bin:/bin dump --until 1 --count 400 >seen
  equal "none" "$(jq -r '.processes[].cmdline' seen)" "sleep 1018"
}

@test "outside of any batch system: the session, else the user's processes" {
  setsid sh -c 'sleep 1019 & echo $! >sibling; "$1" >seen; kill "$(cat sibling)"' sh "$PROGRAMS/job_processes_dump"
  equal how "$(jq -r .how seen)" "processes of this session"
  equal list "$(jq -c '[.processes[] | [.pid, .main]]' seen)" "[[$(cat sibling),true]]"
  setsid sleep 1020 3>&- &
  started $!
  setsid -w "$PROGRAMS/job_processes_dump" >seen
  equal how "$(jq -r .how seen)" "processes of this user"
  equal there "$(jq --argjson p $! '[.processes[] | select(.pid == $p)] | length' seen)" 1
  equal strangers "$(jq -r '.processes[].pid' seen | while read -r p; do stat -c %u "/proc/$p" 2>/dev/null || true; done | sort -u)" "$(id -u)"
}

@test "other users' processes, hidden and not" {
  [ "$(id -u)" = 0 ] || skip "needs root"
  unshare -m true 2>/dev/null || skip "no mount namespace"
  chmod 755 "$WORK"
  as=(setpriv --reuid=65533 --regid=65533 --clear-groups)
  setsid "${as[@]}" sleep 1021 3>&- &
  started $!
  theirs=$!
  sleep 1022 3>&- &
  started $!
  for options in hidepid=0 hidepid=1 hidepid=2; do
    unshare -m sh -c "mount -t proc -o $options proc /proc && exec \"\$@\"" sh \
      "${as[@]}" "$PROGRAMS/job_processes_dump" --user --count 20 --interval 0.05 >seen
    equal "$options" "$(tail -1 seen | jq -c '[.processes[].pid]')" "[$theirs]"
  done
}

@test "sources of processes sample those that were found" {
  sh -c 'sleep 1023 & echo $! >child; wait' 3>&- &
  started $!
  root=$!
  started "$(number child)"
  plimsoll sample --pid $root --source process --json >rows.json
  equal rows "$(jq -r '.[0].rows[] | select(.kind == "process").name | split(".")[0]' rows.json | sort -n | tr '\n' ' ')" "$(printf '%s\n' $root "$(cat child)" | sort -n | tr '\n' ' ')"
  make_group || return 0
  echo "$(cat child)" >"$GROUP/cgroup.procs"
  plimsoll sample --cgroup "$GROUP" --source process --json >rows.json
  equal group "$(jq -r '.[0].rows[] | select(.kind == "process").name | split(".")[0]' rows.json)" "$(cat child)"
}

@test "what is not there is said in one line" {
  run dump --pid 999999999
  equal status "$status" 1
  equal message "$output" "job_processes_dump: there is no process 999999999"
  run dump --job
  equal status "$status" 1
  equal message "$output" "job_processes_dump: not inside a batch job: name a job"
}
