#!/usr/bin/env bats
# A real Slurm with two nodes on this machine: one job over both, steps and ranks kept, and the
# TaskProlog and TaskEpilog of contrib/.

bats_require_minimum_version 1.5.0
load lib

# Private daemons on loopback, ended by pid.
setup_file() {
  command -v slurmctld slurmd srun munged >/dev/null || skip "slurm is not installed"
  S=$(mktemp -d "$BATS_TMPDIR/slurm-XXXXXX")
  export S SLURM_CONF=$S/slurm.conf
  chmod 755 "$S"
  port=$((20000 + RANDOM % 10000))
  mkdir -p "$S/munge" "$S/state" "$S/spool.n1" "$S/spool.n2" "$S/jobs"
  chmod 1777 "$S/jobs"
  chmod 755 "$S/munge"
  head -c 128 /dev/urandom >"$S/munge/key"
  chmod 400 "$S/munge/key"
  chown -R munge: "$S/munge"
  setpriv --reuid=munge --regid=munge --clear-groups munged -F --force --key-file="$S/munge/key" \
    --socket="$S/munge/socket" --pid-file="$S/munge/pid" --log-file="$S/munge/log" --seed-file="$S/munge/seed" >/dev/null 2>&1 3>&- &
  echo $! >>"$S/pids"
  printf '#!/bin/sh\n[ -n "$USE_PROLOG" ] || exit 0\nPATH=%s:$PATH PLIMSOLL_PREFIX=%s/jobs/prolog-$SLURM_JOB_UID-$SLURMD_NODENAME exec %s/contrib/slurm/task_prolog.sh\n' "$PL_BUILD/bin" "$S" "$PL_SOURCE" >"$S/prolog"
  printf '#!/bin/sh\n[ -n "$USE_PROLOG" ] || exit 0\nPATH=%s:$PATH PLIMSOLL_PREFIX=%s/jobs/prolog-$SLURM_JOB_UID-$SLURMD_NODENAME exec %s/contrib/slurm/task_epilog.sh\n' "$PL_BUILD/bin" "$S" "$PL_SOURCE" >"$S/epilog"
  chmod +x "$S/prolog" "$S/epilog"
  cat >"$SLURM_CONF" <<C
ClusterName=plimsoll
FirstJobId=$port
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$S/munge/socket
StateSaveLocation=$S/state
SlurmdSpoolDir=$S/spool.%n
SlurmctldPidFile=$S/slurmctld.pid
SlurmdPidFile=$S/slurmd.%n.pid
SlurmctldLogFile=$S/slurmctld.log
SlurmdLogFile=$S/slurmd.%n.log
SlurmctldPort=$port
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog=$S/prolog
TaskEpilog=$S/epilog
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=8 RealMemory=1000
NodeName=n2 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=8 RealMemory=1000
PartitionName=main Nodes=n1,n2 Default=YES State=UP
C
  slurmctld -D >/dev/null 2>&1 3>&- &
  echo $! >>"$S/pids"
  for n in n1 n2; do
    slurmd -N $n -D >/dev/null 2>&1 3>&- &
    echo $! >>"$S/pids"
  done
  for _ in $(seq 100); do
    [ "$(sinfo -h -o '%D %t' 2>/dev/null)" = "2 idle" ] && return
    sleep 0.2
  done
  echo "Slurm did not come up: $(cat "$S"/*.log)" >&2
  return 1
}

teardown_file() {
  [ -n "${S:-}" ] || return 0
  while read -r pid; do kill "$pid" 2>/dev/null || true; done <"$S/pids"
  sleep 0.5
  while read -r pid; do kill -9 "$pid" 2>/dev/null || true; done <"$S/pids"
}

@test "srun plimsoll run: eight ranks on two nodes are one job" {
  export PLIMSOLL_PREFIX=$S/jobs/one
  srun -n 8 -N 2 plimsoll run -q "$PROGRAMS/actor" return 0
  jobs=("$S"/jobs/one/[0-9]*)
  equal jobs "${#jobs[@]}" 1
  dir=${jobs[0]}
  id=$(basename "$dir")
  equal id "$(jq -r .jobid "$dir/job.json")" "$id"
  equal scheduler "$(jq -r .scheduler.name "$dir/job.json")" slurm
  equal partition "$(jq -r .scheduler.partition "$dir/job.json")" main
  equal runs "$(find "$dir" -name '*.rec' | wc -l)" 8
  plimsoll records --jsonl "$dir" >rows.jsonl
  equal images "$(wc -l <rows.jsonl)" 8
  equal ranks "$(jq .mpirank rows.jsonl | sort -n | tr '\n' ' ')" "0 1 2 3 4 5 6 7 "
  equal sizes "$(jq .numranks rows.jsonl | sort -u)" 8
  equal steps "$(jq -r .step "$dir"/*/*.json | sort -u)" 0
}

@test "two steps of a batch script between start and stop are one job" {
  cat >script.sh <<'J'
#!/bin/sh
export PLIMSOLL_PREFIX=$S/jobs/two
plimsoll start -q
srun -n 2 -N 2 plimsoll run -q "$PROGRAMS/actor" return 0
srun -n 2 -N 2 plimsoll run -q "$PROGRAMS/actor" return 3
plimsoll stop
J
  chmod +x script.sh
  export PROGRAMS
  sbatch -W -n 2 -N 2 -o "$S/batch.out" --export=ALL script.sh || true
  jobs=("$S"/jobs/two/[0-9]*)
  equal jobs "${#jobs[@]}" 1
  plimsoll records --jsonl "${jobs[0]}" >rows.jsonl || fail "$(cat "$S/batch.out")"
  equal images "$(wc -l <rows.jsonl)" 4
  equal exitcode "$(jq -r .exitcode "${jobs[0]}/job.json")" 3
  equal name "$(jq -r .jobname "${jobs[0]}/job.json")" script.sh
  equal steps "$(jq -r .step "${jobs[0]}"/*/*.json | sort -u | tr '\n' ' ')" "0 1 "
}

@test "TaskProlog and TaskEpilog record a job that knows nothing of it" {
  export USE_PROLOG=1
  id=$(srun -n 2 -N 2 sh -c "$PROGRAMS/actor burn 20 0; echo \$SLURM_JOB_ID" | sort -u)
  sleep 1
  for node in n1 n2; do
    job=$S/jobs/prolog-0-$node/$id
    [ -f "$job/job.json" ] || fail "$(find "$S/jobs")"
    equal "$node stopped" "$(jq 'has("stop")' "$job/job.json")" true
    plimsoll records --jsonl "$job" >rows.jsonl
    equal "$node actor" "$(value '.exename == "actor"' exitcode)" 0
    equal "$node rank" "$(value '.exename == "actor"' numranks)" 2
  done
}

@test "an ordinary user's job" {
  export USE_PROLOG=1
  setpriv --reuid=65534 --regid=65534 --clear-groups srun -n 2 -N 2 "$PROGRAMS/actor" return 0
  sleep 1
  plimsoll records --jsonl "$S"/jobs/prolog-65534-n1/[0-9]* >rows.jsonl
  equal actor "$(value '.exename == "actor"' exitcode)" 0
  equal owner "$(stat -c %u "$S"/jobs/prolog-65534-n1)" 65534
}

@test "monitor beside a step on two nodes: one result with both hosts, and only the step's processes" {
  cat >script.sh <<'J'
#!/bin/sh
srun --overlap -n 2 -N 2 --ntasks-per-node 1 plimsoll monitor -i 200ms --source process -d "$S/jobs/mon" &
srun --overlap -n 4 -N 2 --ntasks-per-node 2 sh -c '"$PROGRAMS/actor" burn 1500 0; sleep 1'
wait
J
  chmod +x script.sh
  export PROGRAMS
  sbatch -W -n 4 -N 2 -o "$S/mon.out" --export=ALL script.sh || fail "$(cat "$S/mon.out")"
  dir=$S/jobs/mon
  [ -d "$dir" ] || fail "$(cat "$S/mon.out")"
  equal files "$(find "$dir" -name '*.smp' | wc -l)" 1
  plimsoll samples --json "$dir/samples.smp" >events
  equal hosts "$(jq -r 'select(.event == "head") | .host' events | sort | xargs)" 'n1 n2'
  equal ends "$(jq -r 'select(.event == "end") | .reason' events | sort -u)" job
  equal missing "$(jq -r '.missing_hosts // "none"' "$dir/job.json")" none
  # the step's programs, perhaps the batch script before the step is there; never the monitor's own step
  names=$(jq -r 'select(.event == "entity" and .kind == "process") | .facts.comm' events | sort -u | xargs)
  [[ $names == 'actor sh sleep'?( slurm_script)?( srun) ]] || fail "$names"
  # 4 ranks of 1.5 s each, by the last row of each host
  total=0
  for host in n1 n2; do
    jq -c "if .event == \"head\" then .host else empty end, (select(.event == \"reading\" and .source == \"process\") | .rows[] | select(.kind == \"job\") | .values | .usertime + .systemtime)" events |
      awk -v host="\"$host\"" '/^"/ { here = $0 == host; next } here { last = $0 } END { print last + 0 }' >last
    total=$((total + $(cat last)))
  done
  at_least "CPU of four ranks in us" "$total" 5700000
  at_most "CPU of four ranks in us" "$total" 6900000
  equal ranks "$(jq -r 'select(.event == "entity" and .kind == "process") | .facts.rank' events | sort -un | xargs)" '0 1 2 3'
}
