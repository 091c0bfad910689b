#!/usr/bin/env bats
# plimsoll import sacct with a real Slurm that has accounting: slurmdbd and MariaDB, private and on loopback. Jobs that
# complete, fail, are cancelled or time out, an array and steps, recorded by plimsoll run; each gets what sacct says of it.
# PL_SLURM_PLUGINS names the directory of Slurm's plugins where it is not the usual one.

bats_require_minimum_version 1.5.0
load lib
load slurm

setup_file() {
  command -v slurmdbd mariadbd mariadb-install-db mariadb sacct >/dev/null || skip "slurmdbd or MariaDB is not installed"
  slurm_start || return 1
  # the command that submits comes back when the job has ended
  export STORE=$S/jobs/store.db
  cd "$S/jobs" || return 1
  submit() { sbatch -Q -W --parsable "$@" >>ids || true; }
  record="PLIMSOLL_PREFIX=$S/jobs/prefix $PL_BUILD/bin/plimsoll run -q --no-submit --"
  submit -J timeout -t 1 --wrap "$record sleep 300" &
  local late=$!
  submit -J 'a | b' -N 2 -n 2 --mem=100 --wrap "$record sleep 0.2; srun -n 2 true; srun -n 1 sh -c 'exit 3'; true"
  submit -J array --array=1-3 --wrap "$record sh -c 'exit \$((SLURM_ARRAY_TASK_ID == 2))'"
  submit -J failed --wrap "$record sh -c 'exit 7'"
  submit -J cancelled --wrap "$record sleep 300" &
  late+=" $!"
  for _ in $(seq 100); do
    squeue -h -n cancelled -t R | grep -q . && break
    sleep 0.2
  done
  sleep 1
  scancel -n cancelled
  # not for the daemons
  # shellcheck disable=SC2086
  wait $late || true
  for dir in prefix/[0-9]*; do "$PL_BUILD/bin/plimsoll" submit -q --db "$STORE" "$dir"; done
}

teardown_file() {
  slurm_stop
}

# Starts MariaDB and slurmdbd; prints the lines of slurm.conf.
slurm_accounting() {
  local port=$((30000 + RANDOM % 10000)) base
  base=$(command -v mariadbd)
  base=${base%/sbin/mariadbd}
  mkdir "$S/db"
  mariadb-install-db --no-defaults --basedir="$base" --datadir="$S/db" --user=root --auth-root-authentication-method=normal >"$S/db.log" 2>&1
  mariadbd --no-defaults --basedir="$base" --lc-messages-dir="$base/share/mysql" --datadir="$S/db" --user=root --socket="$S/db.socket" \
    --port=$port --bind-address=127.0.0.1 --innodb-buffer-pool-size=32M >>"$S/db.log" 2>&1 3>&- &
  echo $! >>"$S/pids"
  for _ in $(seq 100); do
    mariadb --no-defaults -S "$S/db.socket" -u root -e "CREATE DATABASE slurm_acct_db; CREATE USER slurm@'127.0.0.1' IDENTIFIED BY 'x'; CREATE USER slurm@localhost IDENTIFIED BY 'x'; GRANT ALL ON *.* TO slurm@'127.0.0.1'; GRANT ALL ON *.* TO slurm@localhost" 2>/dev/null && break
    sleep 0.2
  done
  cat >"$S/slurmdbd.conf" <<C
AuthType=auth/munge
AuthInfo=socket=$S/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$((port + 1))
SlurmUser=root
LogFile=$S/slurmdbd.log
PidFile=$S/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$port
StorageUser=slurm
StoragePass=x
StorageLoc=slurm_acct_db
${PL_SLURM_PLUGINS:+PluginDir=$PL_SLURM_PLUGINS}
C
  chmod 600 "$S/slurmdbd.conf"
  slurmdbd -D >/dev/null 2>&1 3>&- &
  echo $! >>"$S/pids"
  for _ in $(seq 150); do
    grep -q 'slurmdbd version .* started' "$S/slurmdbd.log" 2>/dev/null && break
    sleep 0.2
  done
  cat <<C
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((port + 1))
AccountingStoragePass=$S/munge/socket
KillWait=1
C
}

# of NAME KEY...: annotations of the jobs of this name, sorted
of() {
  local name=$1
  shift
  plimsoll sql --csv --db "$STORE" "SELECT DISTINCT job FROM job_annotations WHERE key = 'sacct.jobname' AND value = '\"$name\"'" | sed 1d | while read -r job; do
    plimsoll sql --csv --db "$STORE" "SELECT jobid FROM jobs WHERE job = $job" | sed 1d
  done | while read -r id; do
    plimsoll show --db "$STORE" --json "$id" | jq -c "[$(printf '.annotations["sacct.%s"],' "$@" | sed 's/,$//')]"
  done | sort | tr -d '\n'
}

@test "every job has what sacct says of it" {
  cd "$S/jobs"
  sacct -P -a -S now-1hour --format=JobID,JobIDRaw,JobName,User,Cluster,Account,Partition,State,ExitCode,Submit,Start,End,Elapsed,Timelimit,ReqMem,AllocTRES,NNodes,NodeList,TotalCPU,MaxRSS >sacct.txt
  equal result "$(plimsoll import sacct --db "$STORE" --json sacct.txt | jq -c '[.jobs, .joined, .not_stored, .ambiguous]')" '[7,7,0,0]'
  equal okay "$(of 'a | b' state exit_code alloc_nodes req_mem step_count nodelist)" '["COMPLETED",0,2,209715200,3,"n[1-2]"]'
  equal array "$(of array state exit_code)" '["COMPLETED",0]["COMPLETED",0]["FAILED",1]'
  equal failed "$(of failed state exit_code exit_signal)" '["FAILED",7,0]'
  equal cancelled "$(of cancelled state cancelled_by)" '["CANCELLED","0"]'
  equal timeout "$(of timeout state timelimit)" '["TIMEOUT",60]'
}

@test "all columns, and the default ones" {
  cd "$S/jobs"
  sacct -P -a -S now-1hour --name=array,failed,timeout --format=ALL >all.txt
  equal all "$(plimsoll import sacct --db "$STORE" --json all.txt | jq -c '[.jobs, .joined]')" '[5,5]'
  sacct -p -a -S now-1hour >default.txt
  equal default "$(plimsoll import sacct --db "$STORE" --json default.txt | jq -c '[.jobs, .joined]')" '[7,7]'
  sacct --json -a -S now-1hour >json.txt 2>/dev/null || skip "this sacct has no JSON"
  run -1 plimsoll import sacct --db "$STORE" json.txt
  [[ $output == *"this is JSON; let sacct print --parsable2"* ]] || fail "$output"
}
