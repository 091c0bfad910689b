# A real OAR, in namespaces of its own (oar_world.bash); source it beside lib.bash and node.bash. $OAR is its directory,
# of which $OAR/jobs is open to all and called /mnt/jobs by jobs; $OAR_OUTER and $OAR_INNER are pids in its namespaces.

oar_missing() {
  local program
  for program in Almighty oarnodesetting oarsub oarstat oardel oar-database; do
    PATH=$PATH:/usr/sbin command -v $program >/dev/null || { echo "OAR is not installed" && return; }
  done
  [ -w /sys/fs/cgroup/cpuset/cgroup.procs ] || { echo "no control groups of version 1" && return; }
  [ ! -e /sys/fs/cgroup/cpuset/oar ] || { echo "this machine is a node of an OAR" && return; }
  unshare -m -p -n --fork --mount-proc true 2>/dev/null || echo "no namespaces here"
}

# oar_start: first job number in $OAR_FIRST
oar_start() {
  OAR=$WORK/oar OAR_FIRST=$((100000 + RANDOM * 10))
  mkdir -m 755 "$OAR"
  mkdir -m 1777 "$OAR/jobs"
  unshare -m "$PL_SOURCE/tests/cli/oar_world.bash" "$OAR" "$OAR_FIRST" >oar.log 2>&1 3>&- &
  OAR_OUTER=$!
  PIDS+=("$OAR_OUTER")
  until_true oar_is_up
  [ -e "$OAR/ready" ] || fail "OAR did not start: $(tail -n 30 "$OAR/log" oar.log)"
  OAR_INNER=$(pgrep -P "$(pgrep -P "$OAR_OUTER")")
}
oar_is_up() { [ -e "$OAR/ready" ] || ! kill -0 "$OAR_OUTER" 2>/dev/null; }

# With its first process all others end; then its groups can go.
oar_stop() {
  [ -n "${OAR_OUTER:-}" ] || return 0
  pgrep -P "$OAR_OUTER" | xargs -r kill -9 2>/dev/null || true
  wait "$OAR_OUTER" 2>/dev/null || true
  for _ in $(seq 200); do
    find /sys/fs/cgroup/*/oar -depth -type d -exec rmdir {} + 2>/dev/null || true
    [ -n "$(find /sys/fs/cgroup/*/oar -maxdepth 0 2>/dev/null)" ] || return 0
    sleep 0.05
  done
  fail "groups are left: $(find /sys/fs/cgroup/*/oar -type d)"
}

# oar COMMAND...: as a user of the cluster
oar() {
  nsenter -t "$OAR_INNER" -m -p -n setpriv --reuid=64999 --regid=65534 --clear-groups env -i HOME=/home/oartest USER=oartest \
    LOGNAME=oartest PATH=/usr/bin:/bin LC_ALL=C bash -c 'cd && exec "$@"' bash "$@"
}

# oar_submit SCRIPT: its number in $OAR_JOB; it runs on one CPU, for two minutes at most
oar_submit() {
  OAR_JOB=$(oar oarsub -l /resource_id=1,walltime=0:2:0 "/mnt/jobs/$1" | sed -n 's/^OAR_JOB_ID=//p')
  [ -n "$OAR_JOB" ] || fail "no job: $(tail -n 30 "$OAR/log")"
}

# oar_state_is ID STATE
oar_state_is() { [ "$(oar oarstat -s -j "$1" | sed 's/.*: //')" = "$2" ]; }
