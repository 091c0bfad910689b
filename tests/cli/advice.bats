#!/usr/bin/env bats
# What the verdict advises for programs whose trouble is known: never something that makes it worse.

bats_require_minimum_version 1.5.0
load store

teardown() {
  [ -z "$GROUP" ] || rmdir "$GROUP" 2>/dev/null || true
  clear_work
}

# In an allocation of so many cores and MiB: granted CORES MIB [NAME=VALUE...] -- COMMAND...; the report is in report.json.
granted() {
  local cores=$1 mib=$2
  shift 2
  local more=()
  while [ "$1" != -- ]; do
    more+=("$1")
    shift
  done
  shift
  rm -rf job
  status=0
  env SLURM_JOB_ID=4711 SLURM_JOB_CPUS_PER_NODE="$cores" SLURM_MEM_PER_NODE="$mib" "${more[@]}" \
    plimsoll run -q -o job "${SAMPLE[@]}" -- "$@" || status=$?
  plimsoll report --json job >report.json
}

# found ID: advice of the findings with this id, a line each
found() {
  jq -r ".findings[] | select(.id == \"$1\") | .advice" report.json
}

# first ID...: the verdict is one of these. On a machine that is busy with others the job waited for cores, and that may come first
first() {
  local got
  got=$(jq -r '[.findings[].id] | map(select(. != "neighbour"))[0] // "neighbour"' report.json)
  [[ " $* neighbour " == *" $got "* ]] || fail "found $got, and not $*: $(jq -c '[.findings[] | [.id, .details]]' report.json)"
}

advice() {
  jq -r '.findings[].advice' report.json
}

# never PATTERN: no advice says that
never() {
  ! advice | grep -E -e "$1" || fail "harmful advice: $(jq -c .findings report.json)"
}

@test "threads that wait for a lock need neither threads nor cores" {
  SAMPLE=(--sample 100ms)
  granted 8 1024 -- "$PROGRAMS/actor" lock 10 15
  first lock
  found lock | grep -q 'more threads or cores make it worse'
  never '-c ([2-9]|1[0-9])|more threads,|use more threads|fewer cores'
  # records do not say what threads waited for: that is said, and how to know it
  SAMPLE=()
  granted 8 1024 -- "$PROGRAMS/actor" lock 10 15
  first unmeasured
  found unmeasured | grep -q -e '--sample 1s'
  jq -r '.findings[] | select(.id == "unmeasured") | .command' report.json | grep -q -e '^plimsoll run --sample 1s -- .*actor lock 10 15$'
  never 'more threads,|use more threads|side by side|-c [0-9]'
}

@test "one thread on many cores: as many cores as it has threads" {
  granted 8 1024 -- "$PROGRAMS/actor" burn 1200
  first serial
  [ -z "$(found serial)" ] || found serial | grep -q 'as it is, ask for 1 core (-c 1) instead of 8\.$'
  # all of them at times, which a mean does not show
  granted 4 1024 -- sh -c "$PROGRAMS/actor threads 4 100; sleep 1.5"
  never '-c [123]'
}

@test "a program that sleeps is told of no change of its request" {
  SAMPLE=(--sample 100ms)
  granted 4 1024 -- "$PROGRAMS/actor" sleep 1300
  first timer
  never 'more threads|--mem|--time|-c [0-9]'
  equal share "$(jq '.findings[0].saving > 1' report.json)" true
}

@test "what failed or was killed is not told to ask for less, nor for a time" {
  granted 8 65536 -- sh -c "$PROGRAMS/actor burn 1200; exit 3"
  equal status "$status" 3
  never '--mem|-c [0-9]|--time|Nothing needs'
  for signal in TERM KILL XCPU; do
    granted 8 65536 -- sh -c "sleep 1.2; kill -$signal \$\$"
    never '--mem=|-c [0-9]|--time=|Nothing needs'
  done
}

@test "two ranks: -c is for each of them" {
  # busier than two cores, as two ranks with five threads each would be
  granted 10 1024 SLURM_NTASKS=2 -- sh -c \
    "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 $PROGRAMS/actor burn 1300 & \
     OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 $PROGRAMS/actor burn 1300 & wait"
  never '-c ([3-9]|10)'
  first serial
  [ -z "$(found serial)" ] || found serial | grep -q 'for each of 2 ranks) instead of 10'
  granted 2 1024 SLURM_NTASKS=2 -- sh -c \
    "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 $PROGRAMS/actor threads 5 400 5 & \
     OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 $PROGRAMS/actor threads 5 400 5 & wait"
  never '-c ([6-9]|1[0-9])'
}

@test "two ranks of mpirun" {
  command -v mpirun >/dev/null || skip 'no mpirun here'
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 HOME="$WORK" TMPDIR="$WORK"
  plimsoll run -q -o job -- mpirun --oversubscribe -n 2 "$PROGRAMS/actor" burn 1200 2>errors || skip 'mpirun does not run here'
  plimsoll report --json job >report.json
  equal ranks "$(jq '.ranks.list | length' report.json)" 2
  never '-c ([3-9]|1[0-9])|Nothing needs a change.*below'
}

@test "reading and writing is not answered with cores, threads or memory" {
  granted 2 65536 -- sh -c "for i in 1 2 3 4 5; do dd if=/dev/zero of=data bs=1M count=20 conv=fsync 2>/dev/null; done; sleep 1"
  never 'more threads|/dev/shm first|-c ([3-9]|1[0-9])'
}

@test "nothing needs a change is never said above something else" {
  plimsoll run -q -o job -- sh -c "for i in 1 2 3; do $PROGRAMS/actor kill 9; done; $PROGRAMS/actor burn 1200" 2>errors
  plimsoll report --json job >report.json
  at_least findings "$(jq '.findings | length' report.json)" 2
  never 'Nothing needs a change'
  run -1 grep -q 'nothing stands out' report.json
}

# $GROUP: a control group with 64 MiB for its processes
memory_group() {
  [ "$(id -u)" = 0 ] || skip "control groups are root's"
  v1=/sys/fs/cgroup/memory v2=/sys/fs/cgroup
  if [ -e $v1/memory.limit_in_bytes ]; then
    GROUP=$v1/plimsoll-test.$$
    mkdir "$GROUP" 2>/dev/null || skip 'no control group for memory can be made here'
    echo 67108864 >"$GROUP/memory.limit_in_bytes"
    echo 0 >"$GROUP/memory.swappiness" || true
  elif grep -q memory $v2/cgroup.subtree_control 2>/dev/null; then
    GROUP=$v2/plimsoll-test.$$
    mkdir "$GROUP" 2>/dev/null || skip 'no control group for memory can be made here'
    echo 67108864 >"$GROUP/memory.max"
    echo 0 >"$GROUP/memory.swap.max" || true
  else
    skip 'no control group for memory can be made here'
  fi
}

# bats test_tags=root
@test "a process that the kernel killed for memory is named so, with the limit of its control group" {
  memory_group
  for sampling in '' '--sample=100ms'; do
    rm -rf job
    status=0
    # shellcheck disable=SC2016  # the shell inside says its own number
    sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$GROUP" \
      plimsoll run -q $sampling -o job -- "$PROGRAMS/actor" touch_memory 200 2>errors || status=$?
    equal status "$status" 137
    plimsoll report --json job >report.json
    equal finding "$(jq -c '.findings[0] | [.id, .weight, .title]' report.json)" '["oom","severe","it ran out of memory"]'
    jq -r '.findings[0].details' report.json | grep -q 'The kernel killed 1 process because memory was short (actor, SIGKILL); .* of 64 MiB'
    jq -r '.findings[0].advice' report.json | grep -q 'Give it more than 64 MiB'
    never '--time|Nothing needs'
  done
  # killed by a person in the same group: memory had nothing to do with it
  rm -rf job
  # shellcheck disable=SC2016
  sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$GROUP" \
    plimsoll run -q -o job -- "$PROGRAMS/actor" kill 9 2>errors || status=$?
  plimsoll report --json job >report.json
  equal kind "$(jq -r '.findings[0].id' report.json)" killed
}

# bats test_tags=root
@test "a job between start and stop knows the limit of its control group and the kills for it" {
  memory_group
  cat >script <<'S'
plimsoll start -q -j 5 -o job || exit 1
eval "$(plimsoll source -o job)"
bash -c '"$PROGRAMS/actor" touch_memory 200; true'
plimsoll stop -q -o job
S
  export PROGRAMS
  # shellcheck disable=SC2016
  sh -c 'echo $$ >"$1/cgroup.procs"; exec bash script' sh "$GROUP" 2>errors || fail "$(cat errors)"
  equal limits "$(jq -c '[.limits.memory, .limits.oom_kills]' job/job.json)" '[67108864,1]'
  plimsoll report --json job >report.json
  equal finding "$(jq -c '.findings[0] | [.id, .weight, .title]' report.json)" '["oom","severe","it ran out of memory"]'
  jq -r '.findings[0].advice' report.json | grep -q 'Give it more than 64 MiB'
}

@test "a process whose end nobody saw: no verdict, no advice and no figure as if it were known" {
  use_store
  local id
  id=$(plimsoll start)
  eval "$(plimsoll source sh)"
  sh -c 'sleep 1.2; kill -KILL $$' || true
  true
  plimsoll stop >/dev/null
  plimsoll_uninstrument
  plimsoll submit "$PLIMSOLL_PREFIX/$id" >/dev/null
  plimsoll report --json "$id" >report.json
  equal title "$(jq -r '.findings[0].title' report.json)" 'too little is known for a verdict'
  jq -r '.findings[0].details' report.json | grep -q 'of 1 process are unknown' || fail "$(jq -c .findings report.json)"
  plimsoll report "$id" >report.txt
  grep -qE '^  CPU +at least [0-9.]+ [mu]s$' report.txt || fail "$(cat report.txt)"
  grep -qE '^  memory +at least ' report.txt || fail "$(cat report.txt)"
  plimsoll report "$id" -o report.html
  grep -q 'unknown for 1 process' report.html
  run ! grep -q 'CPUs busy on average' report.html
}

@test "the advice names the job, and of failed processes the one to look at first" {
  use_store
  local id
  run -7 plimsoll run -q -- sh -c '"$PROGRAMS/actor" return 1; "$PROGRAMS/actor" return 7; exit 7'
  id=$(plimsoll list --ids)
  plimsoll report --json >report.json
  equal advice "$(found failed)" "List them with \`plimsoll procs $id --failed\`: look first at the last one with status 7."
}
