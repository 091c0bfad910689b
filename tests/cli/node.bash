# Shared by the bats files of the node daemon: starting one, jobs made of control groups of version 1, and what a
# sample file says about them.

# Controllers that are mounted here as hierarchies of version 1.
controllers() {
  local c
  for c in cpuacct cpu memory pids freezer; do
    [ -w "/sys/fs/cgroup/$c/cgroup.procs" ] && echo $c
  done
}

node_setup() {
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  export PLIMSOLL_PREFIX="$WORK/prefix" RUNTIME_DIRECTORY="$WORK/run"
  mkdir -m 700 "$WORK/run"
  cd "$WORK" || return 1
  PIDS=()
  GROUP=plimsoll-test-$$-$RANDOM
}

# By pid, and only those that this test started; then its groups.
node_teardown() {
  local c pid
  for pid in "${PIDS[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  for pid in "${PIDS[@]}"; do wait "$pid" 2>/dev/null || true; done
  for c in $(controllers); do
    [ -d "/sys/fs/cgroup/$c/$GROUP" ] || continue
    find "/sys/fs/cgroup/$c/$GROUP" -name cgroup.procs -exec cat {} + | while read -r pid; do kill -9 "$pid" 2>/dev/null || true; done
  done
  for _ in $(seq 100); do
    find /sys/fs/cgroup/*/"$GROUP" -depth -type d -exec rmdir {} + 2>/dev/null && break
    [ -n "$(find /sys/fs/cgroup/*/"$GROUP" -type d 2>/dev/null)" ] || break
    sleep 0.05
  done
  clear_work
}

# until_true COMMAND...: generously
until_true() {
  for ((i = 0; i < 1200; i++)); do
    if "$@" 2>/dev/null; then return 0; fi
    sleep 0.05
  done
  fail "never: $*; log: $(cat ./*.log 2>/dev/null)"
}

# node OPTION...: a daemon of name n that samples jobs below our group; its pid in $node, log in node.log
node() {
  node_without_socket "$@"
  until_true node_is_up
}
node_without_socket() {
  plimsoll node --name n --cgroup-root "/sys/fs/cgroup/cpuacct/$GROUP" --pattern '_([0-9]+)$' "$@" 2>>node.log 3>&- &
  node=$!
  PIDS+=("$node")
}
node_is_up() { kill -0 "$node" 2>/dev/null || return 0; [ -S run/node.n ] && plimsoll configure -q n --show >/dev/null 2>&1; }

end_node() {
  kill -TERM "$node"
  status=0
  wait "$node" || status=$?
  equal 'status of the node daemon' "$status" 0
}

# job_groups NAME: the groups of a job, empty
job_groups() {
  local c
  for c in $(controllers); do mkdir -p "/sys/fs/cgroup/$c/$GROUP/$1"; done
}

# job NAME COMMAND...: runs a command in the groups of a job, its pid in $job
job() {
  local name=$1
  shift
  job_groups "$name"
  (
    for c in $(controllers); do echo $BASHPID >"/sys/fs/cgroup/$c/$GROUP/$name/cgroup.procs"; done
    exec "$@"
  ) 3>&- &
  job=$!
  PIDS+=("$job")
}

# job_cpu_us NAME: what the kernel has booked on its group
job_cpu_us() { awk '{ printf "%d", $1 / 1000 }' "/sys/fs/cgroup/cpuacct/$GROUP/$1/cpuacct.usage"; }

# kill_job NAME: all of its processes
kill_job() {
  local pid
  for pid in $(cat "/sys/fs/cgroup/cpuacct/$GROUP/$1/cgroup.procs"); do kill -9 "$pid" 2>/dev/null || true; done
}

# end_job_groups NAME: removes them, as soon as nobody is in them
end_job_groups() {
  local c
  for c in $(controllers); do
    until_true rmdir "/sys/fs/cgroup/$c/$GROUP/$1" 2>/dev/null
  done
}

# rows_of FILE: the readings of a sample file as lines of JSON, one a row: source, kind, entity, time, values
rows_of() {
  plimsoll samples --json "$1" | jq -c 'select(.event == "reading") | .source as $s | .time as $t | .rows[] | {source: $s, time: $t} + .'
}
