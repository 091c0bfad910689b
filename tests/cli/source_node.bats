#!/usr/bin/env bats
# The sources of a node on this machine, against what the kernel says itself; on recorded trees; and the
# description of the hardware.

bats_require_minimum_version 1.5.0
load lib

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}

# sampled FILE KIND NAME METRIC: a value of a `sample --json`, "null" when there is none
sampled() {
  jq -r --arg kind "$2" --arg name "$3" --arg metric "$4" \
    '[.[].rows[] | select(.kind == $kind and .name == $name) | .values[$metric] | values][0]' "$1"
}

# between WHAT LOW GOT HIGH
between() {
  [[ $3 =~ ^[0-9.e+-]+$ ]] || fail "$1: got '$3', which is no number" || return 1
  at_least "$1" "$3" "$2" && at_most "$1" "$3" "$4"
}

teardown() {
  local pid
  for pid in "${STARTED[@]}"; do
    kill -9 "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  [ -z "${MADE_GROUPS-}" ] || rmdir $MADE_GROUPS 2>/dev/null || true
  clear_work
}

meminfo() {
  echo $(($(awk -v key="$1:" '$1 == key { print $2 }' /proc/meminfo) * 1024))
}

@test "system: CPU, memory and load as the kernel has them" {
  (while :; do :; done) &
  STARTED+=($!)
  local forks
  forks=$(awk '$1 == "processes" { print $2 }' /proc/stat)
  plimsoll sample --source system --over 600ms --json >now.json
  equal error "$(jq -r '.[0].error' now.json)" null
  equal cpus "$(jq '[.[0].rows[] | select(.kind == "cpu")] | length' now.json)" "$(grep -c '^cpu[0-9]' /proc/stat)"
  equal online "$(sampled now.json node node cpus_online)" "$(grep -c '^cpu[0-9]' /proc/stat)"
  equal total "$(sampled now.json node node mem_total)" "$(meminfo MemTotal)"
  equal swap "$(sampled now.json node node swap_total)" "$(meminfo SwapTotal)"
  between used 1 "$(sampled now.json node node mem_used)" "$(meminfo MemTotal)"
  between forks "$forks" "$(sampled now.json node node forks)" "$(awk '$1 == "processes" { print $2 }' /proc/stat)"
  # one program that never waits, on this many CPUs
  local cpus
  cpus=$(grep -c '^cpu[0-9]' /proc/stat)
  between percent "$((50 / cpus))" "$(sampled now.json node node cpu_percent)" 100
  between "of one CPU" 25 "$(jq '[.[0].rows[] | select(.kind == "cpu") | .values.cpu_percent // 0] | max' now.json)" 100
  # the whole is the sum of its CPUs, to within what the kernel rounds
  local all sum
  all=$(sampled now.json node node cpu_user)
  sum=$(jq '[.[0].rows[] | select(.kind == "cpu") | .values.cpu_user] | add' now.json)
  between "sum of CPUs" "$(jq -n "$all - 20000 * $cpus - 20000")" "$sum" "$(jq -n "$all + 20000")"
  # a part of the time needs two readings
  plimsoll sample --source system --json >once.json
  equal once "$(sampled once.json node node cpu_percent)" null
}

@test "pressure: as the kernel has it, or why not" {
  local state
  state=$(plimsoll sources --json | jq -r '.[] | select(.name == "pressure") | .state')
  if [ -r /proc/pressure/cpu ] && cat /proc/pressure/cpu >before 2>/dev/null; then
    equal state "$state" usable
    plimsoll sample --source pressure --json >now.json
    cat /proc/pressure/cpu >after
    between total "$(sed -n 's/^some.*total=//p' before)" "$(sampled now.json node node cpu_some)" "$(sed -n 's/^some.*total=//p' after)"
    between avg10 0 "$(sampled now.json node node cpu_some_avg10)" 100
  else
    equal state "$state" absent
    plimsoll sources --json | jq -e '.[] | select(.name == "pressure") | .remedy | contains("psi=1")' >/dev/null
  fi
}

# line of /proc/diskstats: field 4 is reads, 8 writes, 10 sectors written
stats_of() {
  awk -v name="$1" -v field="$2" '$3 == name { print $field }' /proc/diskstats
}

@test "disk: whole disks as the kernel has them" {
  local disk before after
  disk=$(awk '{ print $3 }' /proc/diskstats | while read -r d; do
    if [ -e "/sys/block/$d/device" ] && [ "$(stats_of "$d" 4)" -gt 0 ]; then echo "$d"; fi
  done | head -1)
  [ -n "$disk" ] || skip "no disk here"
  before=$(stats_of "$disk" 8)
  plimsoll sample --source disk --json >now.json
  after=$(stats_of "$disk" 8)
  between writes "$before" "$(sampled now.json disk "$disk" writes)" "$after"
  equal partitions "$(jq '[.[0].rows[] | select(.kind == "disk") | .name | select(test("^(sd[a-z]+|vd[a-z]+)[0-9]+$|p[0-9]+$"))] | length' now.json)" 0
  equal idle "$(jq '[.[0].rows[] | select(.kind == "disk") | select((.name | startswith("loop")) and .values.reads == 0 and .values.writes == 0)] | length' now.json)" 0
  jq -e --arg disk "$disk" '.[0].rows[] | select(.name == $disk) | .facts.size_bytes' now.json >/dev/null
  # the node is the sum of those that say so
  equal sum "$(jq '[.[0].rows[] | select(.kind == "disk" and .facts.in_node_sum == "yes") | .values.read_bytes] | add' now.json)" "$(sampled now.json node node read_bytes)"
}

# A network namespace with a /sys of its own; its pid is in $space.
new_space() {
  unshare -n -m --propagation private sh -c 'mount -t sysfs none /sys && exec sleep 600' 2>/dev/null &
  space=$!
  STARTED+=("$space")
  for _ in $(seq 100); do
    [ "$(cat "/proc/$space/comm" 2>/dev/null)" != sleep ] || return 0
    kill -0 "$space" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}

inside() {
  local pid=$1
  shift
  nsenter -t "$pid" -n -m "$@"
}

@test "network: a known amount between two namespaces" {
  [ "$PL_AS" = root ] || skip "network namespaces need root"
  local a b
  { new_space && a=$space && new_space && b=$space; } || skip "no network namespaces here"
  inside "$a" ip link add pl0 type veth peer name pl1 netns "$b" || skip "no network namespaces here"
  inside "$a" ip addr add 10.99.0.1/24 dev pl0
  inside "$b" ip addr add 10.99.0.2/24 dev pl1
  inside "$a" ip link set pl0 up
  inside "$b" ip link set pl1 up
  cat >send.py <<'END'
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[1])):
    s.sendto(bytes(1000), ("10.99.0.2", 9))
END
  inside "$a" /usr/bin/python3 "$WORK/send.py" 1
  sleep 0.5 # addresses are resolved
  inside "$a" plimsoll sample --source network --json >a0.json
  inside "$b" plimsoll sample --source network --json >b0.json
  inside "$a" /usr/bin/python3 "$WORK/send.py" 500
  inside "$a" plimsoll sample --source network --json >a1.json
  inside "$b" plimsoll sample --source network --json >b1.json
  # 1000 bytes and the headers of UDP, IP and Ethernet; what else is sent meanwhile is little
  local sent received
  sent=$(($(sampled a1.json interface pl0 tx_bytes) - $(sampled a0.json interface pl0 tx_bytes)))
  received=$(($(sampled b1.json interface pl1 rx_bytes) - $(sampled b0.json interface pl1 rx_bytes)))
  between sent 521000 "$sent" 525000
  between received 521000 "$received" 525000
  between packets 500 "$(($(sampled b1.json interface pl1 rx_packets) - $(sampled b0.json interface pl1 rx_packets)))" 540
  # in a container the end of a pair is its network
  equal type "$(jq -r '.[0].rows[] | select(.name == "pl0") | .facts.type' a1.json)" virtual
  equal node "$(sampled a1.json node node tx_bytes)" "$(sampled a1.json interface pl0 tx_bytes)"
  equal loopback "$(jq -r '.[0].rows[] | select(.name == "lo") | .facts.in_node_sum' a1.json)" no
}

# What the kernel has for an interface: column 2 is bytes received, 10 bytes sent.
dev_of() {
  sed 's/:/ /' /proc/net/dev | awk -v name="$1" -v field="$2" '$1 == name { print $field }'
}

@test "network: interfaces as the kernel has them" {
  local before after
  before=$(dev_of lo 2)
  plimsoll sample --source network --json >now.json
  after=$(dev_of lo 2)
  between received "$before" "$(sampled now.json interface lo rx_bytes)" "$after"
  equal interfaces "$(jq '[.[0].rows[] | select(.kind == "interface")] | length' now.json)" "$(($(wc -l </proc/net/dev) - 2))"
}

# The directories of a control group of our own, in $MADE_GROUPS; its path in $group.
make_group() {
  local mount
  group=/plimsoll-test-$$-$BATS_TEST_NUMBER
  MADE_GROUPS=
  for mount in /sys/fs/cgroup/cpuacct /sys/fs/cgroup/memory /sys/fs/cgroup/pids; do
    [ -e "$mount/cgroup.procs" ] || continue
    mkdir "$mount$group" 2>/dev/null || return 1
    MADE_GROUPS+=" $mount$group"
  done
  if [ -z "$MADE_GROUPS" ] && [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mkdir "/sys/fs/cgroup$group" 2>/dev/null || return 1
    MADE_GROUPS=" /sys/fs/cgroup$group"
  fi
  [ -n "$MADE_GROUPS" ]
}

@test "cgroup: a group made here, with a program that works in it" {
  make_group || skip "no control group can be made here"
  local burner dir
  # what it allocates is charged to the group that it is in by then
  bash -c 'for dir; do echo $$ >"$dir/cgroup.procs" || exit 1; done
    text=$(printf %05000000d 0) && touch ready && while :; do :; done' burner $MADE_GROUPS &
  burner=$!
  STARTED+=("$burner")
  for _ in $(seq 200); do
    [ ! -e ready ] || break
    kill -0 "$burner" 2>/dev/null || skip "no control group can be made here"
    sleep 0.05
  done
  plimsoll sample --source "cgroup=$group" --json >first.json
  sleep 0.5
  plimsoll sample --source "cgroup=$group" --json >second.json
  equal error "$(jq -r '.[0].error' second.json)" null
  equal rows "$(jq '.[0].rows | length' second.json)" 1
  local first second
  first=$(sampled first.json cgroup "$group" cpu_usage)
  second=$(sampled second.json cgroup "$group" cpu_usage)
  between grows "$((first + 1))" "$second" 600000000
  if [ -e "/sys/fs/cgroup/cpuacct$group/cpuacct.usage" ]; then
    at_most "what the kernel has" "$second" "$(($(cat "/sys/fs/cgroup/cpuacct$group/cpuacct.usage") / 1000))"
  fi
  if [ -e "/sys/fs/cgroup/memory$group" ]; then
    between memory 4000000 "$(sampled second.json cgroup "$group" memory_current)" 100000000
    # no limit is no value; a limit is one
    equal "no limit" "$(sampled second.json cgroup "$group" memory_limit)" null
    jq -e '.[0].absent.memory_limit | contains("no such limit")' second.json >/dev/null
    echo 536870912 >"/sys/fs/cgroup/memory$group/memory.limit_in_bytes"
    plimsoll sample --source "cgroup=$group" --json >third.json
    equal limit "$(sampled third.json cgroup "$group" memory_limit)" 536870912
  fi
  # the group is removed while it is watched: the end of the job, no error of ours
  plimsoll sample --source "cgroup=$group" --over 3s --json >last.json &
  local sampler=$!
  STARTED+=("$sampler")
  sleep 1
  kill -9 "$burner"
  wait "$burner" || true
  for dir in $MADE_GROUPS; do
    for _ in $(seq 50); do
      rmdir "$dir" 2>/dev/null && break
      sleep 0.05
    done
  done
  wait "$sampler"
  equal gone "$(jq '.[0].rows | length' last.json)" 0
  run plimsoll sample --source "cgroup=$group" --json
  equal status "$status" 0
  jq -e '.[0].error | contains("no control group")' <<<"$output" >/dev/null
}

@test "cgroup: without a job there is a reason" {
  plimsoll sample --source cgroup --json >now.json
  equal reason "$(jq -r '.[0].error' now.json)" "no job is watched, so there is no control group to read"
}

@test "nfs: on a tree of our own" {
  mkdir -p tree/proc/self tree/proc/net/rpc
  printf 'device s:/a\\040b mounted on /mnt/a\\040b with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.1\n\tbytes:\t10 20 30 40 50 60 7 8\n\tper-op statistics\n\t        READ: 3 5 1 100 200 4 5 6 0\n' >tree/proc/self/mountstats
  printf 'rpc 77 1 2\n' >tree/proc/net/rpc/nfs
  plimsoll sample --source nfs --root tree --json >now.json
  equal read "$(sampled now.json filesystem '/mnt/a b' server_read_bytes)" 50
  equal again "$(sampled now.json filesystem '/mnt/a b' retransmissions)" 2
  # milliseconds are microseconds
  equal rtt "$(sampled now.json filesystem '/mnt/a b' read_rtt)" 5000
  equal calls "$(sampled now.json node node rpc_calls)" 77
  equal export "$(jq -r '.[0].rows[0].facts.export' now.json)" 's:/a b'
}

@test "recorded trees: what other machines say" {
  [ -d "$DATA/trees/procfs" ] || skip "no sample data beside the project"
  local tree=$DATA/trees/procfs
  plimsoll sample --root "$tree" --source system --source network --source disk --source pressure --json >now.json
  equal errors "$(jq -r '[.[].error] | unique | .[]' now.json)" null
  equal user "$(sampled now.json node node cpu_user)" 3018540000
  equal cpus "$(sampled now.json node node cpus_online)" 8
  equal memory "$(sampled now.json node node mem_total)" "$((15666184 * 1024))"
  jq -e '.[] | select(.source == "system") | .absent.mem_available | contains("MemAvailable")' now.json >/dev/null
  equal received "$(sampled now.json interface eth0 rx_bytes)" 874354587
  equal node "$(jq -r '.[] | select(.source == "network") | .rows[] | select(.kind == "node") | .values.rx_bytes' now.json)" 874354587
  equal disks "$(jq -c '[.[] | select(.source == "disk") | .rows[] | select(.facts.in_node_sum == "yes") | .name]' now.json)" \
    '["sda","mmcblk0","fd0","vda","nvme0n1","sdb","sdc"]'
  equal sectors "$(sampled now.json disk sda read_bytes)" "$((1003346126 * 512))"
  equal waited "$(sampled now.json node node memory_full)" 25
  # links were kept as text: a tree with the link in its place
  mkdir -p nfs/proc/net/rpc
  ln -s "$tree/proc/26231" nfs/proc/self
  cp "$tree/proc/net/rpc/nfs" nfs/proc/net/rpc/nfs
  plimsoll sample --root nfs --source nfs --json >nfs.json
  equal bytes "$(sampled nfs.json filesystem /mnt/nfs/test server_read_bytes)" 1210214218
  equal reads "$(sampled nfs.json filesystem /mnt/nfs/test read_ops)" 1298
  # the kernel printed a negative time
  equal queue "$(sampled nfs.json filesystem /mnt/nfs/test queue_time)" 6000
  equal calls "$(sampled nfs.json node node rpc_calls)" 4329785
  equal processor "$(plimsoll hardware --root "$tree" --json | jq -c '.cpu | [.microarchitecture, .cores, .threads]')" '["skylake",4,8]'
  equal adapters "$(plimsoll hardware --root "$tree" --json | jq -c '[.infiniband[].name]')" '["hfi1_0","mlx4_0","mlx5_0"]'
}

@test "hardware: this machine" {
  plimsoll hardware --json >now.json
  equal memory "$(jq .memory_bytes now.json)" "$(meminfo MemTotal)"
  equal threads "$(jq .cpu.threads now.json)" "$(getconf _NPROCESSORS_ONLN)"
  equal kernel "$(jq -r .kernel now.json)" "$(uname -r)"
  jq -e '.cpu.microarchitecture | test("^[a-z0-9_]+$")' now.json >/dev/null
  plimsoll hardware >text
  grep -q "^  microarchitecture *$(jq -r .cpu.microarchitecture now.json)$" text
  mkdir empty
  run -1 plimsoll hardware --root empty
  [[ $output = *"cannot read empty/proc and empty/sys"* ]]
  run -2 plimsoll hardware more
}
