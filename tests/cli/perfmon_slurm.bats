#!/usr/bin/env bats
# bats file_tags=perfmon
# perfmon in batch scripts of a real Slurm with two nodes, as its guide has them. Both nodes are this machine,
# so their names are Slurm's. Steps of newer versions of Slurm take all of a node's CPUs: --overlap lets the monitor
# run beside them.

bats_require_minimum_version 1.5.0
load lib
load slurm

setup_file() {
  slurm_start
}

teardown_file() {
  slurm_stop
}

# batch NAME: runs ./NAME.sh as a job of two nodes in a directory that all may use; leaves $DIR and $JOBID
batch() {
  DIR=$S/jobs/$1
  mkdir -p "$DIR"
  chmod 1777 "$DIR"
  cp "$1.sh" "$DIR/script.sh"
  chmod 755 "$DIR/script.sh"
  export PROGRAMS TMPDIR=/tmp
  JOBID=$(cd "$DIR" && "${AS[@]}" timeout 120 sbatch --parsable -W -N 2 -n 8 -o batch.out --export=ALL script.sh) ||
    fail "job failed: $(cat "$DIR/batch.out" "$DIR"/*.log)"
}

setup() {
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  cd "$WORK" || return 1
  AS=()
}

metric() {
  jq -c "$1" "$DIR/metrics/cpu_metrics.json"
}

matmul_script() {
  cat >"$1.sh" <<'J'
#!/bin/bash
srun --overlap -n $SLURM_JOB_NUM_NODES --ntasks-per-node 1 perfmon -i 1 &
srun -n 4 --ntasks-per-node 2 "$PROGRAMS/actor" burn 5000 0
wait
echo end
J
}

check_matmul() {
  equal output "$(cat "$DIR/batch.out")" end
  equal hosts "$(metric .host_names)" '["n1","n2"]'
  for host in n1 n2; do
    at_least "ticks of $host" "$(metric ".$host.time_stamps | length")" 3
    at_least "cpu of $host" "$(metric ".$host.cpu_time | map(select(. != null)) | max")" 2
    equal "lengths of $host" "$(metric ".$host | (.time_stamps | length) as \$n |
      del(.child_proc_md, .parent_proc_md) | [.. | arrays | length] | all(. == \$n)")" true
    equal "actor on $host" "$(metric "[.$host.parent_proc_md.cmdline, .$host.child_proc_md[]] | any(test(\"actor burn\"))")" true
    grep -qE "^[0-9 :-]+ \| INFO \| $host \| " "$DIR/ska_sdp_monitoring_metrics.log"
  done
  equal "no errors" "$(grep -cE '\| (ERROR|WARNING) \|' "$DIR/ska_sdp_monitoring_metrics.log" || true)" 0
  equal meta "$(jq -c .host_names "$DIR/metrics/meta_data.json")" '["n1","n2"]'
  # no one measured himself
  equal "perfmon among them" "$(metric '[.n1, .n2] | map(.child_proc_md[]) | map(select(test("(^|[ /])perfmon( |$)")))')" '[]'
  [ ! -e "$DIR/.ipc-$JOBID" ]
}

@test "a matrix multiplication on two nodes, monitored beside it" {
  matmul_script matmul
  batch matmul
  check_matmul
}

@test "the same of an ordinary user" {
  AS=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  matmul_script matmul-user
  batch matmul-user
  check_matmul
  equal owner "$(stat -c %u "$DIR/metrics/cpu_metrics.json")" 65534
}

@test "a dask-like job: workers come later and never end, FINISHED does" {
  cat >dask.sh <<'J'
#!/bin/bash
"$PROGRAMS/actor" sleep 600000 >/dev/null 2>&1 & # the scheduler, which is not torn down in time
SCHEDULER=$!
srun --overlap -n $SLURM_JOB_NUM_NODES --ntasks-per-node 1 perfmon -i 1 -d metrics-of-$SLURM_JOB_ID -p run &
MON_PID=$!
sleep 2
srun --overlap -n 2 --ntasks-per-node 1 "$PROGRAMS/actor" burn 600000 0 &
sleep 1
"$PROGRAMS/actor" burn 3000 0
echo "FINISHED" > .ipc-$SLURM_JOB_ID
wait $MON_PID
echo "monitor $?"
kill $SCHEDULER
J
  begin=$(date +%s)
  batch dask
  at_most seconds $(($(date +%s) - begin)) 60
  grep -qx "monitor 0" "$DIR/batch.out" || fail "$(cat "$DIR/batch.out")"
  DIR=$DIR/metrics-of-$JOBID/run
  equal hosts "$(metric .host_names)" '["n1","n2"]'
  for host in n1 n2; do
    at_least "ticks of $host" "$(metric ".$host.time_stamps | length")" 3
    at_least "cpu of $host" "$(metric ".$host.cpu_time | map(select(. != null)) | max")" 1.5
    equal "end of $host" "$(jq -r .sampling.ended_by "$DIR/plimsoll-$JOBID/$host".*/*.json)" finished
  done
}

@test "a node whose processes end later is waited for" {
  cat >uneven.sh <<'J'
#!/bin/bash
srun --overlap -n $SLURM_JOB_NUM_NODES --ntasks-per-node 1 env PLIMSOLL_WAIT_HOSTS=3s perfmon -i 1 &
srun -n 2 --ntasks-per-node 1 sh -c 'if [ $SLURM_NODEID = 0 ]; then exec "$PROGRAMS/actor" burn 2500 0; else exec "$PROGRAMS/actor" burn 9000 0; fi'
wait
J
  batch uneven
  equal hosts "$(metric .host_names)" '["n1","n2"]'
  equal "no warnings" "$(grep -cE '\| (ERROR|WARNING) \|' "$DIR/ska_sdp_monitoring_metrics.log" || true)" 0
  at_least "cpu of n2" "$(metric '.n2.cpu_time | map(select(. != null)) | max')" 6
}

@test "a job that Slurm ends at its time limit leaves its files" {
  cat >limit.sh <<'J'
#!/bin/bash
srun --overlap -n $SLURM_JOB_NUM_NODES --ntasks-per-node 1 perfmon -i 1 &
srun -n 2 --ntasks-per-node 1 "$PROGRAMS/actor" sleep 600000
wait
J
  DIR=$S/jobs/limit
  mkdir -p "$DIR"
  cp limit.sh "$DIR/script.sh"
  chmod 755 "$DIR/script.sh"
  export PROGRAMS
  JOBID=$(cd "$DIR" && sbatch --parsable -N 2 -n 8 -o batch.out --export=ALL script.sh)
  for _ in $(seq 200); do
    [ "$(find "$DIR/plimsoll-$JOBID" -name '*.smp' 2>/dev/null | wc -l)" = 2 ] && break
    sleep 0.1
  done
  sleep 3
  # what the end of the time does: SIGTERM to all steps
  scancel --signal=TERM "$JOBID"
  for _ in $(seq 200); do
    [ -e "$DIR/metrics/cpu_metrics.json" ] && break
    sleep 0.1
  done
  scancel "$JOBID"
  for _ in $(seq 100); do
    [ -z "$(squeue -h -j "$JOBID")" ] && break
    sleep 0.1
  done
  equal hosts "$(metric .host_names)" '["n1","n2"]'
  at_least ticks "$(metric '.n2.time_stamps | length')" 2
}

# counted HOST METRIC: the last value of an event of the whole job on a host
counted() {
  plimsoll samples --json "$DIR/plimsoll-$JOBID/$1".*/*.smp |
    jq -s "[.[] | select(.event == \"reading\" and .source == \"counters\") | .rows[] | select(.kind == \"job\") | .values.$2] | last // empty"
}

# told HOST FIELD: what the tasks of a host say of themselves, added up
told() {
  awk -v host="$1" -v field="$2" '$1 == host { sum += $field } END { print sum + 0 }' "$DIR"/task.*
}

# How the tasks of a step are written: they wait until they are seen, and tell their node, the page faults before
# and after their work, their children's included, and how many children they waited for.
tasks_script() {
  cat >"$1.sh" <<J
#!/bin/bash
srun --overlap $2 --ntasks-per-node 1 perfmon -i 5 &
sleep 3
$3
wait
echo end
J
  cat >"$S/jobs/task" <<'J'
#!/bin/bash
faults() { read -ra f </proc/$$/stat; n=$((f[9] + f[10] + f[11] + f[12])); }
sleep 2.5
faults
before=$n
for i in {1..400}; do sleep 0.005; done
faults
echo "$SLURMD_NODENAME $before $n 400" >task.$$
J
  chmod 755 "$S/jobs/task"
}

check_tasks() {
  for host in $1; do
    before=$(told "$host" 2) after=$(told "$host" 3) children=$(told "$host" 4)
    faults=$(counted "$host" page_faults)
    [ -n "$faults" ] || skip "page faults cannot be counted here"
    echo "# $host: $faults of $((after - before)) page faults"
    # without CAP_PERFMON those that happen inside the kernel are not counted
    at_least "page faults on $host" "$faults" $(((after - before) * 8 / 10))
    at_most "page faults on $host" "$faults" $((after * 13 / 10))
    switches=$(counted "$host" context_switches)
    [ -z "$switches" ] || at_least "context switches on $host" "$switches" $((children * 2 * 95 / 100))
  done
}

@test "events of all tasks that srun starts behind the monitor are counted, on both nodes" {
  tasks_script events '-N 2 -n 2' 'srun -n 4 --ntasks-per-node 2 -m cyclic "$S/jobs/task"'
  batch events
  equal output "$(cat "$DIR/batch.out")" end
  equal "tasks of n1" "$(told n1 4)" 800
  equal "tasks of n2" "$(told n2 4)" 800
  check_tasks "n1 n2"
  # what they did before they were found is said
  plimsoll submit -q --db "$WORK/store.db" "$DIR/plimsoll-$JOBID"
  plimsoll report --db "$WORK/store.db" --json "$JOBID" |
    jq -e '[.absences[] | select(.reason | test("^counted only after they were found: [0-9]+ processes? after [0-9.]+ s of CPU on n[12]$"))] | length >= 1'
}

@test "events of ranks that mpirun starts behind the monitor are counted" {
  command -v mpirun >/dev/null || skip "mpirun is not installed"
  tasks_script ranks '-N 1 -n 1 -w n1' 'export SLURMD_NODENAME=n1 OMPI_MCA_ras=^slurm OMPI_MCA_plm=isolated OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
timeout 60 mpirun --oversubscribe --host localhost:3 -np 3 -x SLURMD_NODENAME "$S/jobs/task"'
  batch ranks
  equal output "$(cat "$DIR/batch.out")" end
  equal ranks "$(told n1 4)" 1200
  check_tasks n1
}
