#!/usr/bin/env bats
# All jobs of a node on the command line: in real control groups of version 1, as a batch system makes them that gives
# its jobs no memory group, and on a tree that is written here.

bats_require_minimum_version 1.5.0
load lib

# The job's groups, in a place of their own, so that nothing is shared with what else runs.
TOP=slurm_bats$$
CONTROLLERS="cpuacct freezer"

teardown() {
  if [ -n "${PID:-}" ]; then
    kill -9 "$PID" 2>/dev/null || true
    wait "$PID" 2>/dev/null || true
  fi
  for c in $CONTROLLERS; do
    for _ in $(seq 100); do
      [ -d "/sys/fs/cgroup/$c/$TOP" ] || break
      rmdir "/sys/fs/cgroup/$c/$TOP/uid_7/job_4711" "/sys/fs/cgroup/$c/$TOP/uid_7" "/sys/fs/cgroup/$c/$TOP" 2>/dev/null && break
      sleep 0.05
    done
  done
  clear_work
}

# the job with one process that wrote 3 MB and burnt some CPU before it fell asleep
make_job() {
  [ "$(id -u)" = 0 ] || skip "needs root"
  for c in $CONTROLLERS memory; do
    [ -f "/sys/fs/cgroup/$c/cgroup.procs" ] || skip "no control groups of version 1 that may be written"
  done
  for c in $CONTROLLERS; do
    mkdir -p "/sys/fs/cgroup/$c/$TOP/uid_7/job_4711" || skip "no control groups of version 1 that may be written"
  done
  bash -c 'for c in '"$CONTROLLERS"'; do echo $$ >/sys/fs/cgroup/$c/'"$TOP"'/uid_7/job_4711/cgroup.procs || exit 1; done
    head -c 3000000 /dev/zero >/dev/null
    touch ready
    exec sleep 1000' 3>&- &
  PID=$!
  for _ in $(seq 400); do
    [ -f ready ] && return
    sleep 0.05
  done
  fail "the job did not come up"
}

@test "the jobs of this node: values, metadata, what is absent and why" {
  make_job
  plimsoll sample -s jobs -s jobproc --json >out.json
  jq -c '.[] | select(.source == "jobs").rows[] | select(.name == "4711")' out.json >row
  equal 'older name of the key' "$(jq '.facts == .metadata' row)" true
  equal metadata "$(jq -c '.metadata' row)" "{\"user\":\"$(id -un 7 2>/dev/null || echo 7)\",\"manager\":\"slurm\",\"path\":\"/$TOP/uid_7/job_4711\"}"
  kernel=$(($(cat "/sys/fs/cgroup/cpuacct/$TOP/uid_7/job_4711/cpuacct.usage") / 1000))
  at_least cpu "$(jq .values.cpu_usage row)" 1000
  at_most cpu "$(jq .values.cpu_usage row)" "$kernel"
  equal memory "$(jq -c .values.memory_current row)" null
  jq -c '.[] | select(.source == "jobproc").rows[] | select(.name == "4711")' out.json >row
  at_least wchar "$(jq .values.wchar row)" 3000000
  equal processes "$(jq .values.processes row)" 1
  rss=$(awk '$1 == "VmRSS:" { print $2 * 1024 }' "/proc/$PID/status")
  equal VmRSS "$(jq .values.VmRSS row)" "$rss"
}

@test "check names the setting that jobs lack, while there are such jobs" {
  make_job
  plimsoll check --json >out.json || true
  line='.checks[] | select(.name == "groups of jobs" and (.detail | startswith("memory: jobs of Slurm have no memory group")))'
  equal result "$(jq -r "$line | .result" out.json)" Limited
  equal remedy "$(jq -r "$line | .remedy" out.json)" \
    "set TaskPlugin=task/cgroup in slurm.conf and ConstrainRAMSpace=yes in cgroup.conf"
  jq -e '.checks[] | select(.name == "jobs" and .result == "Pass")' out.json >/dev/null
}

@test "a recorded tree of OAR's" {
  mkdir -p tree/proc tree/sys/fs/cgroup/cpuset/oar/alice_12 tree/sys/fs/cgroup/cpuacct/oar/alice_12 tree/sys/fs/cgroup/memory
  echo 100 >tree/sys/fs/cgroup/cpuset/oar/alice_12/cgroup.procs
  echo 100 >tree/sys/fs/cgroup/cpuacct/oar/alice_12/cgroup.procs
  echo 5000000 >tree/sys/fs/cgroup/cpuacct/oar/alice_12/cpuacct.usage
  plimsoll sample --root "$PWD/tree" -s jobs --json >out.json
  equal row "$(jq -c '.[0].rows[0] | [.kind, .name, .facts.user, .values.cpu_usage]' out.json)" '["job","12","alice",5000]'
  equal why "$(jq -r '.[0].absent.memory_current' out.json)" \
    'memory: jobs of OAR have no memory group: set $Enable_mem_cg = "YES" in job_resource_manager_cgroups.pl'
  plimsoll sources --root "$PWD/tree" --json >out.json
  equal sources "$(jq -r '.[] | select(.name == "jobs").detail' out.json)" "1 batch job is running here"
  rm -r tree/sys
  plimsoll sources --root "$PWD/tree" --json >out.json
  equal sources "$(jq -r '.[] | select(.name == "jobs").state' out.json)" absent
}
