#!/usr/bin/env bats
# A real Slurm with two nodes on this machine: a monitor that runs as a step of a job sees exactly the
# other steps' processes on its node, whichever way Slurm keeps them together.

bats_require_minimum_version 1.5.0
load lib

# slurm_up PROCTRACK [command in front of slurmd]: private daemons on loopback, ended by pid
slurm_up() {
  local proctrack=$1 port=$((20000 + RANDOM % 10000)) n
  shift
  S=$(mktemp -d "$BATS_TMPDIR/slurm-XXXXXX")
  export S SLURM_CONF=$S/slurm.conf PROGRAMS
  chmod 755 "$S"
  mkdir -p "$S/munge" "$S/state" "$S/spool.n1" "$S/spool.n2" "$S/out"
  chmod 1777 "$S/out"
  chmod 755 "$S/munge"
  head -c 128 /dev/urandom >"$S/munge/key"
  chmod 400 "$S/munge/key"
  chown -R munge: "$S/munge"
  setpriv --reuid=munge --regid=munge --clear-groups munged -F --force --key-file="$S/munge/key" \
    --socket="$S/munge/socket" --pid-file="$S/munge/pid" --log-file="$S/munge/log" --seed-file="$S/munge/seed" >/dev/null 2>&1 3>&- &
  echo $! >>"$S/pids"
  cat >"$S/cgroup.conf" <<C
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainCores=no
ConstrainRAMSpace=no
C
  cat >"$SLURM_CONF" <<C
ClusterName=plimsoll
FirstJobId=$((100000 + RANDOM * 10))
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
ProctrackType=proctrack/$proctrack
TaskPlugin=task/none
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
    "$@" slurmd -N $n -D >/dev/null 2>&1 3>&- &
    echo $! >>"$S/pids"
  done
  for _ in $(seq 100); do
    [ "$(sinfo -h -o '%D %t' 2>/dev/null)" = "2 idle" ] && return
    sleep 0.2
  done
  echo "Slurm did not come up: $(cat "$S"/*.log)" >&2
  return 1
}

setup() {
  command -v slurmctld slurmd srun munged >/dev/null || skip "slurm is not installed"
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  chmod 755 "$WORK"
  cd "$WORK" || return 1
}

teardown() {
  if [ -n "${S:-}" ] && [ -f "$S/pids" ]; then
    squeue -h -o %i 2>/dev/null | xargs -r scancel -s KILL 2>/dev/null || true
    squeue -h -o %i 2>/dev/null | xargs -r scancel 2>/dev/null || true
    for _ in $(seq 50); do
      [ -n "$(squeue -h 2>/dev/null)" ] || break
      sleep 0.2
    done
    # daemons of steps that did not end
    for pid in $(pgrep -x slurmstepd); do
      grep -qzxF "SLURM_CONF=$SLURM_CONF" "/proc/$pid/environ" 2>/dev/null && echo "$pid" >>"$S/pids"
    done
    for signal in TERM KILL; do
      while read -r pid; do kill -$signal "$pid" 2>/dev/null || true; done <"$S/pids"
      sleep 0.5
    done
    # slurmd leaves the groups of its own
    find /sys/fs/cgroup/*/slurm_n[12] -depth -type d -exec rmdir {} + 2>/dev/null || true
  fi
  clear_work
}

# A script whose monitor is a step on both nodes, and whose main step is four tasks of three processes.
# Each task notes its processes; the script waits for the monitor as users' scripts do.
write_script() {
  cat >script.sh <<'J'
#!/bin/bash
srun --overlap -N2 -n2 bash -c 'exec "$PROGRAMS/job_processes_dump" --until-over --interval 0.05 --ready "$S/out/ready.$SLURMD_NODENAME" >"$S/out/seen.$SLURMD_NODENAME"' &
monitor=$!
until [ -e "$S/out/ready.n1" ] && [ -e "$S/out/ready.n2" ]; do sleep 0.1; done
srun --overlap -N2 --ntasks-per-node=2 bash -c 'sleep 500 & one=$!; sleep 501 & echo "$$ $one $!" >>"$S/out/tasks.$SLURMD_NODENAME"; until [ -e "$S/out/enough" ]; do read -rt 0.1 <>"$S/out/never" || true; done; kill $one $!; wait'
wait $monitor
echo done >"$S/out/done"
J
  mkfifo "$S/out/never"
  chmod 666 "$S/out/never"
}

# run_script [identity ...]: the job, and when both monitors have seen all they should, its end
run_script() {
  write_script
  "$@" sbatch -N 2 --ntasks-per-node=2 -o "$S/out/batch" --export=ALL script.sh >id
  id=$(grep -o '[0-9]*' id)
  for _ in $(seq 600); do
    [ "$(tail -qn1 "$S"/out/seen.n[12] 2>/dev/null | jq -r '[.processes[] | select(.main)] | length' 2>/dev/null | tr '\n' ' ')" = "2 2 " ] &&
      [ "$(tail -qn1 "$S"/out/seen.n[12] | jq -r '.processes | length' | tr '\n' ' ')" = "6 6 " ] && break
    sleep 0.1
  done
  for node in n1 n2; do
    tail -n1 "$S/out/seen.$node" >"full.$node"
    equal "$node" "$(jq -c '[.processes[].pid]' "full.$node")" "$(tr -s ' \n' '\n' <"$S/out/tasks.$node" | jq -cs sort)"
    equal "$node main" "$(jq -c '[.processes[] | select(.main).pid]' "full.$node")" "$(cut -d' ' -f1 "$S/out/tasks.$node" | jq -cs sort)"
    equal "$node launcher" "$(jq -r .launcher "full.$node")" srun
  done
  equal ranks "$(cat full.n1 full.n2 | jq -cs '[.[].processes[] | select(.main).rank] | sort')" "[0,1,2,3]"
  [ -z "${WHILE:-}" ] || "$WHILE"
  touch "$S/out/enough"
  # the monitors end by themselves, and with them the script, which waits for them
  for _ in $(seq 600); do
    [ -e "$S/out/done" ] && break
    sleep 0.1
  done
  [ -e "$S/out/done" ] || fail "$(cat "$S/out/batch"; tail -n1 "$S"/out/seen.n?)"
  for node in n1 n2; do
    equal "$node over" "$(tail -n1 "$S/out/seen.$node" | jq .over)" true
  done
}

@test "processes kept together by their tree" {
  slurm_up linuxproc
  run_script
  equal how "$(jq -r .how full.n1 full.n2 | sort -u)" "job $id of Slurm by the process trees of slurmstepd"
  equal groups "$(jq -c .groups full.n1)" "{}"
}

# All jobs of the machine, which is two of Slurm's nodes: the job is there once for each.
jobs_of_the_machine() {
  plimsoll sample -s jobproc --json >jobs.json
  jq -c "[.[0].rows[] | select(.facts.path | endswith(\"/job_$id\"))] | sort_by(.facts.path)" jobs.json >rows
  equal paths "$(jq -c 'map(.facts.path)' rows)" "[\"/slurm_n1/uid_65534/job_$id\",\"/slurm_n2/uid_65534/job_$id\"]"
  equal whose "$(jq -c 'map([.facts.manager, .facts.user])' rows)" '[["slurm","nobody"],["slurm","nobody"]]'
  # the one that was found second has the id with what tells it apart
  equal ids "$(jq -r 'map(.name | sub("@slurm_n[12]$"; "")) | unique[]' rows)" "$id"
  equal apart "$(jq 'map(.name) | unique | length' rows)" 2
  for node in 1 2; do
    at_least "processes of n$node" "$(jq ".[$((node - 1))].values.processes" rows)" 6
    at_least "what they wrote on n$node" "$(jq ".[$((node - 1))].values.wchar" rows)" 1
  done
}

@test "processes kept together by control groups, an ordinary user's" {
  [ -w /sys/fs/cgroup/freezer/cgroup.procs ] || skip "no control groups of version 1"
  slurm_up cgroup
  # the daemon of a node finds the job by itself, on both
  mkdir -m 700 "$WORK/run"
  RUNTIME_DIRECTORY=$WORK/run plimsoll node -q -i 500ms -o node.smp --name n -s jobs -s job_tasks 2>node.log 3>&- &
  daemon=$!
  echo $daemon >>"$S/pids"
  WHILE=jobs_of_the_machine run_script setpriv --reuid=65534 --regid=65534 --clear-groups
  equal how "$(jq -r .how full.n1 full.n2 | sort -u)" "job $id of Slurm by its control groups"
  for node in n1 n2; do
    equal "$node group" "$(jq -r .groups.freezer full.$node)" "/sys/fs/cgroup/freezer/slurm_$node/uid_65534/job_$id"
  done
  # its processes have ended: their exit records are booked on it
  for _ in $(seq 200); do
    ! in_container || break
    plimsoll samples --json node.smp | jq -c 'select(.event == "reading" and .source == "job_tasks") | .rows[] | select(.kind == "job")' >tasks
    jq -se --arg id "$id" '[.[] | select(.name | startswith($id)) | .values.processes] | max > 4' tasks >/dev/null && break
    sleep 0.1
  done
  in_container || at_least 'processes that ended' "$(jq -s '[.[].values.processes] | max' tasks)" 5
  kill "$daemon"
  wait "$daemon" || fail "$(cat node.log)"
  plimsoll samples --json node.smp | jq -c 'select(.event == "entity" and .kind == "job" and .source == "job_tasks") | [(.name | sub("@slurm_n[12]$"; "")), .facts.manager, .facts.user] | select(.[1] == "slurm")' | sort -u >found
  in_container || equal 'jobs of Slurm that the node daemon found' "$(cat found)" "[\"$id\",\"slurm\",\"nobody\"]"
}

@test "where /proc hides the daemons, scontrol tells" {
  unshare -m mount -t proc -o hidepid=2 proc /proc 2>/dev/null || skip "no mount namespace"
  slurm_up linuxproc unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' sh
  run_script setpriv --reuid=65534 --regid=65534 --clear-groups
  equal how "$(jq -r .how full.n1 full.n2 | sort -u)" "job $id of Slurm by scontrol listpids"
}

@test "a program of the batch script itself is the job, the script is not" {
  slurm_up linuxproc
  cat >script.sh <<'J'
#!/bin/bash
srun --overlap -N1 -n1 "$PROGRAMS/job_processes_dump" --until-over --interval 0.05 --ready "$S/out/ready" >"$S/out/seen" &
monitor=$!
until [ -e "$S/out/ready" ]; do sleep 0.1; done
sh -c 'sleep 502 & echo $! >"$S/out/child"; wait' &
echo $! >"$S/out/program"
wait $monitor
echo done >"$S/out/done"
J
  sbatch -n 1 -N 1 -o "$S/out/batch" --export=ALL script.sh
  for _ in $(seq 300); do
    [ "$(tail -n1 "$S/out/seen" 2>/dev/null | jq '[.processes[] | select(.cmdline == "sleep 502")] | length' 2>/dev/null)" = 1 ] && break
    sleep 0.1
  done
  [ -s "$S/out/seen" ] || fail "$(cat "$S"/out/batch "$S"/slurmctld.log)"
  tail -n1 "$S/out/seen" >full
  # the script's own sleep may have been one of them for a moment
  equal main "$(jq -c '[.processes[] | select(.main and .comm != "sleep").pid]' full)" "[$(cat "$S/out/program")]"
  equal script "$(jq -c '[.processes[] | select(.comm == "slurm_script" or .comm == "bash") | .main]' full)" "[false]"
  equal srun "$(jq -c '[.processes[] | select(.comm == "srun")] | length' full)" 0
  kill "$(cat "$S/out/child")"
  for _ in $(seq 300); do
    [ -e "$S/out/done" ] && break
    sleep 0.1
  done
  [ -e "$S/out/done" ] || fail "$(cat "$S/out/batch"; tail -n1 "$S/out/seen")"
}

@test "a job by its id, and one step of it, from outside" {
  slurm_up linuxproc
  srun -n1 -N1 /usr/bin/sleep 503 3>&- &
  step=$!
  for _ in $(seq 100); do
    id=$(squeue -h -o %i -t R)
    [ -n "$id" ] && break
    sleep 0.1
  done
  for name in "$id" "$id.0"; do
    timeout 60 "$PROGRAMS/job_processes_dump" --job="$name" --until 1 --count 100 >seen
    equal "$name" "$(jq -r '.processes[] | .cmdline + " " + (.main | tostring)' seen)" "/usr/bin/sleep 503 true"
  done
  timeout 60 "$PROGRAMS/job_processes_dump" --job="$id.7" --count 3 >seen
  equal "no such step" "$(tail -n1 seen | jq -c .processes)" "[]"
  scancel "$id"
  wait $step || true
}
