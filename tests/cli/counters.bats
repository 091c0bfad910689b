#!/usr/bin/env bats
# Event counters of a job: the files of groups encode for the CPUs that they are for, and what is
# counted live is what the program says of itself.

bats_require_minimum_version 1.5.0
load lib

# ---- the files -----------------------------------------------------------------------------------------

@test "every event of every group encodes on its microarchitecture" {
  plimsoll events --check-groups --json >check.json || fail "$(jq -c '.[] | select(.problem)' check.json)"
  equal problems "$(jq '[.[] | select(.problem != null)] | length' check.json)" 0
  for arch in westmere sandybridge ivybridge haswell broadwell skylake skylake_avx512 cascadelake icelake icelake_server \
    sapphirerapids zen zen2 zen3 zen4 neoverse_n1 neoverse_v1 neoverse_n2 neoverse_v2; do
    for group in hardware_events software_events IPC MISS L2 L2cache L3 MEM_READ; do
      equal "$arch $group" "$(jq "[.[] | select(.microarchitecture == \"$arch\" and .group == \"$group\")] | length" check.json)" 1
    done
  done
  # the table has a line for each, too
  equal lines "$(plimsoll events --check-groups | grep -c ' ok$')" "$(jq length check.json)"
}

@test "a wrong name, a wrong formula and a wrong line fail, and are named" {
  cp -rL "$PL_BUILD/share/plimsoll/events" files
  chmod -R u+w files
  plimsoll events --check-groups --group-files files >/dev/null
  sed -i 's/L2_RQSTS:MISS/L2_RQSTS:MISSES/' files/haswell.groups
  run -1 plimsoll events --check-groups --group-files files
  [[ $output == *"haswell"*"L2cache"*"l2_misses: hsw_ep::L2_RQSTS:MISSES: libpfm4: "* ]] || fail "$output"
  equal wrong "$(plimsoll events --check-groups --group-files files --json 2>/dev/null | jq -r '.[] | select(.problem) | .microarchitecture + " " + .group')" \
    "haswell L2cache"
  echo 'value more ratio l2_misses / nothing ; a value' >>files/zen.groups
  run -1 plimsoll events --check-groups --group-files files
  [[ $output == *"zen.groups, line "*"value 'more': no event of the group"* ]] || fail "$output"
  rm files/generic.groups
  run -1 plimsoll events --check-groups --group-files files
  [[ $output == *"cannot include 'files/generic.groups'"* ]] || fail "$output"
  mkdir empty
  run -1 plimsoll events --check-groups --group-files empty
  run -1 plimsoll events --groups --group-files nothing
  [[ $output == *"cannot read 'nothing'"* ]] || fail "$output"
}

@test "memory bandwidth for users: the codes of the two events" {
  while read -r arch config config1 other1; do
    plimsoll events --arch "$arch" --json >groups.json
    events=$(jq -c '[.groups[] | select(.name == "MEM_READ") | .events[] | [.type, .config, .config1]]' groups.json)
    equal "$arch" "$events" "[[4,$((config)),$((config1))],[4,$((0x1bb)),$((other1))]]"
  done <<'LIST'
westmere 0x1b7 0x10ff 0x20ff
sandybridge 0x1b7 0x3f80408fff 0x3fff808fff
haswell 0x1b7 0x3f80408fff 0x3fb8008fff
broadwell 0x1b7 0x3f84008fff 0x3fb8008fff
skylake_avx512 0x1b7 0x3f840085b7 0x3f900085b7
cascadelake 0x1b7 0x3f840085b7 0x3f900085b7
LIST
  equal skylake "$(plimsoll events --arch skylake --json | jq -c '[.groups[] | select(.name == "MEM_READ") | .events[] | [.config, .config1]]')" \
    "[[$((0x1b7)),$((0x3f840085b7))]]"
}

@test "groups are listed with formulas and what each event does here" {
  may_count
  plimsoll events --groups --json >groups.json
  equal here "$(jq .here groups.json)" true
  equal software "$(jq -r '.groups[] | select(.name == "software_events") | .events[] | select(.name == "page_faults") | .available' groups.json)" true
  equal formula "$(jq -r '.groups[] | select(.name == "IPC") | .values[] | select(.name == "ipc") | .formula' groups.json)" "instructions / cycles"
  equal unit "$(jq -r '.groups[] | select(.name == "IPC") | .values[] | select(.name == "ipc") | .unit' groups.json)" ratio
  # an event that is not counted has its reason
  equal reasons "$(jq '[.groups[].events[] | select(.available == false and (.reason // "") == "")] | length' groups.json)" 0
  plimsoll events --groups | grep -q '^software_events .*page_faults'
  plimsoll events --arch zen3 --json >zen3.json
  equal name "$(jq -r .microarchitecture zen3.json)" zen3
  equal pmu "$(jq -r '.pmus[0]' zen3.json)" amd64_fam19h_zen3
  run -1 plimsoll events --arch pentium
  [[ $output == *"no event groups for 'pentium'"* ]] || fail "$output"
  run -2 plimsoll events --groups CYC
  run -2 plimsoll events --groups --test PERF_COUNT_SW_CPU_CLOCK
}

# ---- counting ------------------------------------------------------------------------------------------

# A program that waits for a line on the pipe `go`, works, and writes what getrusage says of that into
# `usage`: faults, context switches, CPU in ns; its child does the same amount and is part of it.
make_worker() {
  mkfifo go
  cat >worker.py <<'P'
import mmap, os, resource, time

def used():
    s, c = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return [sum(getattr(u, f) for u in (s, c) for f in fields) for fields in
            (("ru_minflt", "ru_majflt"), ("ru_nvcsw", "ru_nivcsw"), ("ru_utime", "ru_stime"))]

def work():
    m = mmap.mmap(-1, 4096 * 10000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(m, "madvise"):
        m.madvise(mmap.MADV_NOHUGEPAGE)
    for i in range(0, len(m), 4096):
        m[i] = 1
    begin = time.process_time()
    while time.process_time() - begin < 0.1:
        pass
    for i in range(100):
        time.sleep(0.0005)

open("ready", "w").close()
open("go").readline()
before = used()
work()
if os.fork() == 0:
    work()
    os._exit(0)
os.wait()
after = used()
with open("usage.new", "w") as f:
    print(*(b - a for a, b in zip(before[:2], after[:2])), int((after[2] - before[2]) * 1e9), file=f)
os.rename("usage.new", "usage")
open("go").readline()
P
  python3 worker.py &
  worker=$!
  eventually test -e ready
}

# Debian's kernels know a level at which users may not even count themselves.
may_count() {
  [ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "users may count nothing here"
}

# Waits until a command succeeds.
eventually() {
  for _ in $(seq 300); do
    "$@" && return
    sleep 0.05
  done
  fail "never: $*"
}

has_counters() {
  [ "$(find "/proc/$1/fd" -lname '*perf_event*' | wc -l)" -ge 2 ]
}

sampled() {
  jq -r ".[0].rows[0].values.$1" sample.json
}

@test "what is counted is what the program says of itself" {
  may_count
  make_worker
  plimsoll sample --source counters --pid "$worker" --over 6s --json >sample.json &
  sampler=$!
  eventually has_counters "$sampler"
  echo >go
  eventually test -e usage
  # it must have been over before the second reading
  kill -0 "$sampler" || fail "the program took longer than the sampling"
  wait "$sampler"
  echo >go
  wait "$worker"
  read -r faults switches cpu <usage
  echo "getrusage: $(cat usage); sampled: $(jq -c '.[0].rows[0].values' sample.json)"
  at_least faults "$faults" 20000
  at_least "faults counted" "$(sampled page_faults)" "$((faults - faults / 20))"
  at_most "faults counted" "$(sampled page_faults)" "$((faults + faults / 20))"
  at_least "CPU counted" "$(sampled task_clock)" "$((cpu - cpu / 10 - 20000000))"
  at_most "CPU counted" "$(sampled task_clock)" "$((cpu + cpu / 10 + 20000000))"
  if [ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 1 ]; then
    at_least switches "$switches" 200
    at_least "switches counted" "$(sampled context_switches)" "$((switches - switches / 10))"
    at_most "switches counted" "$(sampled context_switches)" "$((switches + switches / 10 + 20))"
  else
    equal switches "$(sampled context_switches)" null
    [[ $(jq -r '.[0].absent.context_switches' sample.json) == *"sysctl kernel.perf_event_paranoid=1"* ]] ||
      fail "$(jq -c '.[0].absent' sample.json)"
    equal mode "$(jq -r '.[0].rows[0].facts.mode' sample.json)" user
  fi
  equal by "$(jq -r '.[0].rows[0].facts.counted_by' sample.json)" process
  # hardware events are numbers where there are counters, and absent with a reason where not
  if [ "$(sampled cycles)" = null ]; then
    [[ $(jq -r '.[0].absent.cycles' sample.json) == *"cannot count"* ]] || fail "$(jq -c '.[0].absent' sample.json)"
  else
    at_least cycles "$(sampled cycles)" 1000000
  fi
}

@test "an unknown group, a recorded tree and a missing job are said" {
  equal group "$(plimsoll sample --source counters=L9 --pid $$ --json | jq -r '.[0].error' | cut -d';' -f1 | cut -d' ' -f1-5)" "there is no group 'L9'"
  mkdir -p tree/proc
  printf 'processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nstepping\t: 1\n' >tree/proc/cpuinfo
  equal tree "$(plimsoll sources --root tree --json | jq -r '.[] | select(.name == "counters") | .detail')" \
    "zen3: 9 groups of events, which can be counted on a running machine only"
  equal state "$(plimsoll sources --root tree --json | jq -r '.[] | select(.name == "counters") | .state')" absent
  equal job "$(plimsoll sample --source counters --json | jq -r '.[0].error')" "counts the processes of a job, but there is no job"
  equal probe "$(plimsoll sources --json | jq -r '.[] | select(.name == "counters") | .sampled')" true
}

@test "processes of others are not counted, and that is said" {
  [ "$(id -u)" = 0 ] || skip "needs root"
  [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "users may count nothing here"
  sleep 60 &
  other=$!
  setpriv --reuid=65534 --regid=65534 --clear-groups -- plimsoll sample --source counters=software_events --pid "$other" --json >sample.json
  kill "$other"
  equal rows "$(jq '.[0].rows | length' sample.json)" 0
  equal reason "$(jq -r '.[0].absent["*"]' sample.json)" "the processes of the job: Permission denied"
}
