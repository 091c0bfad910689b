# A real Slurm with two nodes, n1 and n2, on this machine: private daemons on loopback, ended by pid. Files that
# load this call slurm_start in setup_file and slurm_stop in teardown_file. $S is its directory, where
# $S/jobs is open to all. A file that has a function slurm_accounting gets what that prints in place of the lines without
# accounting; it is called when munged runs.

slurm_start() {
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
  local accounting='JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none'
  if declare -F slurm_accounting >/dev/null; then slurm_accounting >"$S/accounting" || return 1; fi
  [ ! -f "$S/accounting" ] || accounting=$(cat "$S/accounting")
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
$accounting
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

slurm_stop() {
  [ -n "${S:-}" ] || return 0
  while read -r pid; do kill "$pid" 2>/dev/null || true; done <"$S/pids"
  sleep 0.5
  while read -r pid; do kill -9 "$pid" 2>/dev/null || true; done <"$S/pids"
}
