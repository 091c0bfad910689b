#!/usr/bin/env bats
# Trees of processes in every shape: each process is there once, and their CPU times add up to the total.
load lib

# once PROCESSES: so many processes, all CPU accounted once, the rows add up to it, and no excess is talked away
once() {
  local part
  equal processes "$(summary processes)" "$1" || fail "$(cat summary.json rows.jsonl)" || return 1
  part=$(jq '100 * (.cpu_itemised + .cpu_exit_tail_unseen) / .cpu_total' summary.json)
  at_least "per cent accounted" "$part" 95 || fail "$(cat summary.json rows.jsonl)" || return 1
  at_most "per cent accounted" "$part" 101 || fail "$(cat summary.json rows.jsonl)" || return 1
  equal "sum of the rows" "$(jq -s 'map(select(.tid == null or .tid == .pid) | .usertime + .systemtime) | add' rows.jsonl)" \
    "$(summary cpu_itemised)"
  equal warnings "$(jq -c '.warnings' summary.json)" "[]"
}

# burnt NAME MS COUNT [MOST]: so many rows of a program burnt about MS each (at most MOST). An ordinary user, and who is in a
# container or does not listen to the kernel, learns the name of a static program only where somebody looked at it in time
burnt() {
  local name=".exename == \"$1\""
  { [ "$PL_AS" = root ] && [ "${RUN_OPTIONS[*]}" != --no-kernel ] && connector; } || [[ $1 != *static ]] || name="($name or .exename == null)"
  equal "rows of $1 that burnt $2 ms" \
    "$(rows "$name and .usertime + .systemtime >= $2 * 900 and .usertime + .systemtime <= (${4:-$2 + 15}) * 1000")" "$3" ||
    fail "$(cat rows.jsonl)"
}

connector() {
  [ "$(plimsoll check --json | jq -r '.checks[] | select(.name == "cn_proc") | .result')" = Pass ]
}

@test "a pid namespace under the same /proc: each process once, with its own CPU" {
  local unshare=(unshare --pid --fork)
  [ "$(id -u)" = 0 ] || unshare=(unshare -U -r --pid --fork)
  "${unshare[@]}" true 2>/dev/null || skip "no user or pid namespaces here"
  record "${unshare[@]}" sh -c "$PROGRAMS/tree burn:50; $PROGRAMS/tree burn:50; true"
  equal status "$status" 0
  once 4
  burnt tree 50 2
}

@test "a pid namespace with a /proc of its own, and one inside another" {
  unshare -rpf --mount-proc true 2>/dev/null || skip "no user or pid namespaces here"
  record unshare -rpf --mount-proc sh -c "$PROGRAMS/tree burn:50; $PROGRAMS/tree burn:50; true"
  once 4
  burnt tree 50 2
  record unshare -rpf --mount-proc sh -c "unshare -pf --mount-proc sh -c '$PROGRAMS/tree burn:50; $PROGRAMS/tree-static burn:60; true'; true"
  once 6
  burnt tree 50 1
  burnt tree-static 60 1
}

@test "threads in a pid namespace, under its own /proc and under the one outside" {
  local own=(unshare -rpf --mount-proc) outer=(unshare -rpf)
  "${own[@]}" true 2>/dev/null || skip "no user or pid namespaces here"
  record "${own[@]}" "$PROGRAMS/tree" thread:30 thread:30 thread:30 burn:30
  once 2
  equal "threads by its own word" "$(value '.exename == "tree"' numtids)" 4
  equal "rows of threads" "$(jq -c 'select(.exename == "tree") | [.thread_rows[].tid] | sort' rows.jsonl)" "[1,2,3,4]"
  record "${outer[@]}" "$PROGRAMS/tree" thread:30 thread:30 thread:30 burn:30
  once 2
  equal "threads by its own word" "$(value '.exename == "tree"' numtids)" 4
  equal "rows of threads" "$(jq -c 'select(.exename == "tree") | [.thread_rows[].tid] | sort' rows.jsonl)" "[1,2,3,4]"
  # its own bytes, apart from those of the children that it waited for
  record "${outer[@]}" sh -c "$PROGRAMS/tree burn:30; true"
  at_least "bytes that the shell read" "$(value '.exename == "sh"' rchar)" 1
}

@test "a namespace made by the first process of another, over whose /proc it mounts its own" {
  unshare -rpf --mount-proc unshare -pf --mount-proc true 2>/dev/null || skip "no user or pid namespaces here"
  record unshare -rpf --mount-proc unshare -pf --mount-proc "$PROGRAMS/tree" burn:50
  once 3
  burnt tree 50 1
  equal "copies" "$(rows '.forked')" 0
}

@test "a pid namespace: children of a copy that was killed, and a killed program that is waited for late" {
  unshare -rpf --mount-proc true 2>/dev/null || skip "no user or pid namespaces here"
  record unshare -rpf --mount-proc "$PROGRAMS/tree" fork:1 [ fork:1 [ burn:20 exit:3 ] wait fork:1 [ burn:30 exit:5 ] wait kill:9 ] wait
  once 5
  record unshare -rpf --mount-proc sh -c "$PROGRAMS/tree burn:30 kill:9 & sleep 0.7; wait"
  once 4
}

@test "a run in a pid namespace that sees the /proc outside: its own processes, and nobody else's" {
  unshare -rpf true 2>/dev/null || skip "no user or pid namespaces here"
  unshare -rpf plimsoll run -q -o job --json=summary.json -- sh -c "$PROGRAMS/tree burn:150; true"
  plimsoll records --jsonl --threads job >rows.jsonl
  once 2
  burnt tree 150 1
}

@test "without the kernel's events the threads of who was killed are not known" {
  RUN_OPTIONS=(--no-kernel)
  record sh -c "$PROGRAMS/tree thread:20 thread:20 kill:9; true"
  equal "threads of a killed program" "$(value '.exitsignal == 9' numtids)" null
  record sh -c "$PROGRAMS/tree-static thread:20 thread:20; true"
  equal "threads of a static program" "$(value '.exename != "sh"' numtids)" null
}

@test "another /proc of the same pid namespace is no other namespace" {
  unshare -m --mount-proc true 2>/dev/null || skip "may not mount /proc here"
  record sh -c "unshare -m --mount-proc sh -c '$PROGRAMS/tree burn:50; $PROGRAMS/tree-static burn:60; true'; true"
  once 4
  burnt tree 50 1
  burnt tree-static 60 1
}

# in_time COMMAND...: in a time namespace of its own, whose clocks are ahead by $AHEAD seconds
in_time() {
  "${TIME_NS[@]}" --boottime "$AHEAD" --monotonic "$AHEAD" --fork "$@"
}

# of_time: TIME_NS, how this user makes such a namespace
of_time() {
  TIME_NS=(unshare -T)
  [ "$(id -u)" = 0 ] || TIME_NS=(unshare -U -r -T)
  AHEAD=86400
  in_time true 2>/dev/null || skip "no time namespaces here"
}

# lasted: the job and each of its images lasted as long as they did, not for what clocks differ by
lasted() {
  at_most "wall, us" "$(summary wall)" 3600000000 || return 1
  at_most "longest image, us" "$(jq -s 'map(.end - .start) | max' rows.jsonl)" 3600000000
  at_least "shortest image, us" "$(jq -s 'map(.end - .start) | min' rows.jsonl)" 0
  equal "starts apart" "$(jq -s '(map(.start) | max) - (map(.start) | min) < 3600000000' rows.jsonl)" true
}

@test "time namespaces below the run: each process once, and the job lasts as long as it did" {
  of_time
  local job="$PROGRAMS/tree burn:100; $PROGRAMS/tree-static burn:60; $PROGRAMS/tree fork:1 [ burn:40 thread:10 ] wait"
  for option in -q --no-kernel; do
    RUN_OPTIONS=("$option")
    for AHEAD in 86400 -5; do
      record sh -c "${TIME_NS[*]} --boottime $AHEAD --monotonic $AHEAD --fork sh -c '$job; true'; sleep 0.1"
      once 8
      burnt tree 100 1
      burnt tree-static 60 1
      lasted
    done
    # one that is entered by exec alone, where the kernel does that, and one below another
    record sh -c "${TIME_NS[*]} --boottime 1000 unshare -T --boottime 5000 --fork sh -c '$job; true'; true"
    once 7
    burnt tree-static 60 1
    lasted
  done
}

@test "a forked copy in a time namespace, and clocks that differ by no whole ticks" {
  of_time
  local own=()
  [ "$(id -u)" = 0 ] || own=(unshare -U -r)
  for option in -q --no-kernel; do
    RUN_OPTIONS=("$option")
    for offset in "86400 0" "86400 123456789"; do
      record "${own[@]}" "$PROGRAMS/tree" "timens:$offset" fork:1 [ burn:100 fork:1 [ burn:20 ] wait ] \
        spawn "$PROGRAMS/tree" [ burn:40 sleep:20 ] fork:1 [ exec:"$PROGRAMS/tree-static" burn:60 ] wait
      once 5
      burnt tree 100 1
      burnt tree-static 60 1
      lasted
    done
  done
}

@test "a time namespace that is entered by setns" {
  of_time
  local enter=(-T) more=() inside
  # other pid namespaces than their own are not for users; with one it forks, and waits there
  [ "$(id -u)" = 0 ] && more=(-p) || enter=(-U --preserve-credentials -T)
  in_time sh -c 'echo $$ >inside; exec sleep 60' 3>&- &
  until [ -s inside ]; do sleep 0.02; done
  inside=$(cat inside)
  for option in -q --no-kernel; do
    RUN_OPTIONS=("$option")
    record sh -c "nsenter -t $inside ${enter[*]} $PROGRAMS/tree burn:50; true"
    once 2
    burnt tree 50 1
    lasted
    record sh -c "nsenter -t $inside ${enter[*]} ${more[*]} $PROGRAMS/tree-static burn:60; true"
    once $((2 + ${#more[@]}))
    burnt tree-static 60 1
    lasted
  done
  kill "$inside"
}

@test "a run in a time namespace: each process once, with and without one below it" {
  of_time
  local job="$PROGRAMS/tree burn:100; $PROGRAMS/tree-static burn:60; $PROGRAMS/tree fork:1 [ burn:40 ] wait"
  for option in -q --no-kernel; do
    RUN_OPTIONS=("$option")
    for AHEAD in 86400 -5; do
      rm -rf job
      in_time plimsoll run -q -o job --json=summary.json "${RUN_OPTIONS[@]}" -- sh -c "$job; true"
      plimsoll records --jsonl --threads job >rows.jsonl
      once 5
      burnt tree 100 1
      burnt tree-static 60 1
      lasted
    done
    rm -rf job
    in_time plimsoll run -q -o job --json=summary.json "${RUN_OPTIONS[@]}" -- sh -c "unshare -T --boottime 5000 --fork sh -c '$job; true'; true"
    plimsoll records --jsonl --threads job >rows.jsonl
    once 7
    lasted
  done
}

@test "bubblewrap: with and without a /proc of its own, dynamic and static programs" {
  local proc bwrap=(bwrap --dev-bind / / --unshare-pid)
  "${bwrap[@]}" true 2>/dev/null || skip "bubblewrap is not installed, or may do nothing here"
  for proc in "" "--proc /proc"; do
    # shellcheck disable=SC2086
    record "${bwrap[@]}" $proc sh -c "$PROGRAMS/tree burn:50; $PROGRAMS/tree burn:50; true"
    equal status "$status" 0
    once 5
    burnt tree 50 2
    equal "copies of bwrap" "$(rows '.exename == "bwrap" and .forked')" 1
    # shellcheck disable=SC2086
    record "${bwrap[@]}" $proc "$PROGRAMS/tree-static" burn:60
    once 3
    burnt tree-static 60 1
    # shellcheck disable=SC2086
    record "${bwrap[@]}" $proc "$PROGRAMS/tree" burn:50 fork:2 [ exec:"$PROGRAMS/tree-static" burn:30 ] wait
    once 5
  done
}

@test "a run inside a run: what both heard of is there once" {
  local tree=$PROGRAMS/tree static=$PROGRAMS/tree-static
  record plimsoll run -q -- "$static" burn:60
  once 2
  burnt tree-static 60 1
  record plimsoll run -q -- "$tree" fork [ burn:60 kill:9 ] wait
  once 3
  record sh -c "plimsoll run -q -- $static fork:2 [ exec:$tree burn:60 ] wait burn:50; true"
  once 5
  burnt tree 60 2
  burnt tree-static 50 1
}

@test "a forked copy that waits for children and executes a static program has its own CPU only" {
  local tree=$PROGRAMS/tree static=$PROGRAMS/tree-static ms
  for ms in 5 20 60; do
    record "$tree" fork [ fork [ "burn:$ms" ] wait "exec:$static" burn:4 ] wait
    once 3
    at_most "CPU of the static program" "$(cpu '.exename == "tree-static" or .exename == null')" 15000
  done
  record sh -c "for i in 1 2 3 4 5 6 7 8 9 10; do ( $tree burn:4; exec $static burn:1 ); done; true"
  once 21
}

@test "what was seen of a copy is not the name of the static program that it executes" {
  connector || skip "no process connector here"
  record sh -c "( sleep 0.3; exec $PROGRAMS/tree-static burn:20 ); true"
  once 3
  if [ "$(id -u)" = 0 ]; then # by taskstats
    equal name "$(jq -rs 'map(select(.exename == "tree-static")) | length' rows.jsonl)" 1
  fi
  equal "rows with the arguments of the shell" "$(rows '.args != null and (.args | startswith("-c ( sleep"))')" 1
}

@test "children that a static parent ignores are not taken off it, and belong to the total" {
  record "$PROGRAMS/tree-static" ignore fork:2 [ "exec:$PROGRAMS/tree" burn:100 ] sleep:600 burn:100
  equal processes "$(summary processes)" 3
  at_least "CPU of the parent" "$(cpu '.exename == "tree-static"')" 90000
  at_least "CPU of all" "$(summary cpu_total)" 280000
  at_most "per cent accounted" "$(jq '100 * .cpu_itemised / .cpu_total' summary.json)" 105
  at_least "per cent accounted" "$(jq '100 * .cpu_itemised / .cpu_total' summary.json)" 90
  equal warnings "$(jq -c '.warnings | map(contains("SIGCHLD ignored"))' summary.json)" "[true]"
}

@test "orphans whose adopter is a program of the job that ignores them belong to the total" {
  cat >adopts.py <<'P'
import ctypes, os, signal, time

def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) # PR_SET_CHILD_SUBREAPER
if os.fork() == 0:
    for _ in range(3):
        if os.fork() == 0:
            time.sleep(0.3) # an orphan by then
            burn(0.1)
            os._exit(0)
    os._exit(0)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
try:
    while True: # the first of them may have ended before they were ignored
        os.wait()
except ChildProcessError:
    pass
time.sleep(0.2)
P
  record /usr/bin/python3 adopts.py
  equal status "$status" 0
  equal processes "$(summary processes)" 5
  at_least "CPU of all" "$(summary cpu_total)" 290000
  at_most "per cent accounted" "$(jq '100 * .cpu_itemised / .cpu_total' summary.json)" 105
  at_least "per cent accounted" "$(jq '100 * .cpu_itemised / .cpu_total' summary.json)" 90
  equal warnings "$(jq -c '.warnings | map(contains("SIGCHLD ignored"))' summary.json)" "[true]"
}

@test "eighty programs in one process, every second one static" {
  connector || skip "no process connector here"
  local steps=() i
  for ((i = 0; i < 40; i++)); do
    steps+=("exec:$PROGRAMS/tree-static" "exec:$PROGRAMS/tree")
  done
  record "$PROGRAMS/tree" "${steps[@]}"
  equal processes "$(summary processes)" 1
  equal images "$(summary images)" 81
}

@test "a fork that is still running is no program" {
  connector || skip "no process connector here"
  RUN_OPTIONS=(--no-submit)
  record "$PROGRAMS/tree" daemon [ sleep:2000 ] burn:20
  equal running "$(summary running)" 1
  equal programs "$(summary programs)" 1
  equal forks "$(summary forks)" 2
}

# a lack has its true reason, and what has no CPU time is not shown as 0
lack_named() {
  at_most "per cent accounted" "$(jq '100 * .cpu_itemised / .cpu_total' summary.json)" 90
  equal warnings "$(jq -c '.warnings | map(contains("used by children of static or killed programs"))' summary.json)" "[true]"
}

@test "CPU that is in no process is named with its reason" {
  local tree=$PROGRAMS/tree static=$PROGRAMS/tree-static steps
  for steps in "$static fork [ burn:100 ] wait exec:$tree burn:2" "$tree fork [ burn:100 kill:9 ] raw-wait" \
    "$tree fork:3 [ exec:$static burn:50 ] raw-wait burn:10"; do
    # shellcheck disable=SC2086
    record $steps
    if [ "$(id -u)" = 0 ] && connector; then
      at_least "per cent accounted" "$(jq '100 * .cpu_itemised / .cpu_total' summary.json)" 95
      equal "warnings of $steps" "$(jq -c '.warnings' summary.json)" "[]"
    else
      lack_named
    fi
  done
}

@test "a fork's own CPU is no way out" {
  record "$PROGRAMS/tree-static" fork [ fork [ burn:200 ] raw-wait "exec:$PROGRAMS/tree-static" burn:2 ] wait
  at_most "unseen ways out" "$(summary cpu_exit_tail_unseen)" 20000
}

@test "generations of forks of a static program: what their children recorded is in no other process too" {
  local tree=$PROGRAMS/tree static=$PROGRAMS/tree-static i
  connector || skip "no process connector here"
  # forks that live long enough to be looked at, and began in one tick of the clock
  for i in 1 2 3 4 5; do
    record "$static" fork [ fork:2 [ fork:2 [ spawn "$tree" [ burn:20 ] sleep:250 raw-wait ] raw-wait ] wait ] burn:20 wait
    once 12
    at_most "CPU of the first" "$(cpu '.exename == "tree-static" and .forked != true')" 45000
  done
  record "$static" thread:10 fork:1 [ spawn "$tree" [ burn:1 burn:4 burn:4 raw-wait ] \
    fork:1 [ burn:1 fork:1 [ burn:15 raw-wait "exec:$static" burn:40 "exec:$tree" burn:4 ] wait ] raw-wait ] burn:1 wait
  once 5
}

# fits COUNT: a tree adds up, or its records say truly why not
fits() {
  local part
  equal processes "$(summary processes)" "$1" || return 1
  equal "ends unknown" "$(summary missing)" 0 || return 1
  part=$(jq '100 * (.cpu_itemised + .cpu_exit_tail_unseen) / .cpu_total' summary.json)
  at_most "per cent accounted" "$part" 103 || return 1
  equal "riddles" "$(jq -c '.warnings | map(select(contains("do not say why")))' summary.json)" "[]" || return 1
  [ "$(jq '.warnings | length' summary.json)" != 0 ] || at_least "per cent accounted" "$(jq \
    '100 * (.cpu_itemised + .cpu_exit_tail_unseen + 20000) / .cpu_total' summary.json)" 96
}

@test "trees that were wrong once: killed copies that only their threads spoke of, daemons below static programs" {
  connector || skip "no process connector here"
  local count command i
  RUN_OPTIONS=(--wait=10s)
  for ((i = 0; i < 3; i++)); do
    while read -r count command; do
      # shellcheck disable=SC2086
      record $command
      fits "$count" || fail "$command" "$(cat summary.json)"
      equal "rows without a parent" "$(rows '.tid == null and .ppid == 0')" 0
    done < <(python3 "$BATS_TEST_DIRNAME/trees.py" 7 80 "$PROGRAMS" | tail -1)
  done
}

@test "random trees: every process once, and CPU that adds up or is explained" {
  connector || skip "no process connector here"
  local count command
  RUN_OPTIONS=(--wait=10s)
  while read -r count command; do
    # shellcheck disable=SC2086
    record $command
    fits "$count" || fail "$command" "$(cat summary.json)"
  done < <(python3 "$BATS_TEST_DIRNAME/trees.py" 7 "${TREES:-25}" "$PROGRAMS")
}

# traced COUNT: so many processes beside strace and the two that it makes and kills to try what it may do
traced() {
  equal processes "$(jq -s 'map(select(.exename != "strace" and .exitsignal != 9 and (.tid == null or .tid == .pid))) | length' rows.jsonl)" "$1" ||
    fail "$(cat rows.jsonl)" || return 1
  at_most "per cent accounted" "$(jq '100 * (.cpu_itemised + .cpu_exit_tail_unseen) / .cpu_total' summary.json)" 101
  equal warnings "$(jq -c '.warnings' summary.json)" "[]"
}

@test "a tracer: threads and others' children that it waits for are no children of its own" {
  command -v strace >/dev/null || skip "strace is not installed"
  strace -f -o /dev/null true 2>/dev/null || skip "strace may not trace here"
  record strace -f -o /dev/null "$PROGRAMS/actor" threads 4
  equal status "$status" 0
  traced 1
  equal threads "$(jq -s 'map(select(.exename == "actor" and .tid == null)) | .[0].numtids' rows.jsonl)" 5
  record strace -f -o /dev/null sh -c "$PROGRAMS/tree burn:50; $PROGRAMS/tree-static burn:60; (exit 3); true"
  traced 4
  # what the stops of a traced program cost is its own CPU time: as much again where others use the cores
  burnt tree 50 1 200
  burnt tree-static 60 1 240
}

@test "a process that one traces who is not its parent is there once, with its own CPU" {
  local way
  [ -z "$("$PROGRAMS/tree" traced [ exit:3 ] wait 2>&1)" ] || skip "no process may trace another here"
  for way in traced raw-traced; do
    record "$PROGRAMS/tree" "$way" [ burn:50 exit:7 ] wait
    once 3
    equal "copies that burnt" "$(rows '.exitcode == 7 and .usertime + .systemtime >= 45000')" 1
    record "$PROGRAMS/tree" "$way" [ exec:"$PROGRAMS/tree" burn:60 exit:7 ] "$way" [ exec:"$PROGRAMS/tree-static" burn:70 kill:9 ] wait
    once 5
    equal "that exited" "$(rows '.exitcode == 7')" 1
    equal "that were killed" "$(rows '.exitsignal == 9')" 1
    burnt tree 60 1
    burnt tree-static 70 1
    RUN_OPTIONS=(--no-kernel)
    record "$PROGRAMS/tree" "$way" [ exec:"$PROGRAMS/tree" burn:60 exit:7 ] wait
    once 3
    burnt tree 60 1
    RUN_OPTIONS=()
  done
}

# Every process has the same parent in all views of the last job.
parents() {
  plimsoll records --jsonl job | jq -c '[.pid, .ppid]' | sort >records.txt
  plimsoll procs last --json | jq -c '.[] | [.pid, .ppid]' | sort >procs.txt
  plimsoll export last -q -f jsonl -o - | jq -c '[.pid, .ppid]' | sort >export.txt
  cmp records.txt procs.txt && cmp records.txt export.txt || return 1
  # of those whose parent is a process of the job, the tree has it above them
  plimsoll tree last --json | jq -c 'def walk($p): .[] | [.pid, $p], (.pid as $q | .children | walk($q)); walk(null) | select(.[1])' |
    sort -u >tree.txt
  jq -cs 'map(.[0]) as $all | .[] | select(.[1] as $p | $all | index($p))' records.txt | sort -u >within.txt
  cmp tree.txt within.txt || fail "$(cat records.txt)" "tree:" "$(cat tree.txt)"
}

# chain N: all processes of the job, each the parent of one other
chain() {
  equal processes "$(rows true)" "$1"
  equal parents "$(jq -rs 'map(.pid) as $all | map(select(.ppid as $p | $all | index($p)).ppid) | unique | length' rows.jsonl)" $(($1 - 1))
}

# generations ARGUMENT: how many there are from the process with that argument up to the first, itself included
generations() {
  jq -rs --arg a "$1" 'INDEX(.pid) as $all | def up: ., ($all[.ppid | tostring] // empty | up);
    map(select(.argv[-1] == $a and .argv[1] != "-c" and (.argv | index("fork:1") | not)))[0] | [up] | length' rows.jsonl
}

@test "a process whose parent ends before it has the parent that started it, in every view" {
  connector || skip "no process connector here"
  RUN_OPTIONS=(--wait=10s)
  # a copy, and one that executes a program when its parent is gone
  record "$PROGRAMS/tree" fork:1 [ daemon [ sleep:50 burn:5 ] ] wait sleep:100
  parents
  chain 4
  record "$PROGRAMS/tree" fork:1 [ daemon [ sleep:50 exec:"$PROGRAMS/tree" sleep:50 burn:6 ] ] wait
  parents
  equal "generations" "$(generations burn:6)" 4
  # and one that cannot be entered
  record "$PROGRAMS/tree" fork:1 [ daemon [ sleep:50 exec:"$PROGRAMS/tree-static" sleep:50 burn:7 ] ] wait
  parents
  # in the background of a shell that is gone at once
  record sh -c '{ sleep 0.2; exit 3; } & exit 0'
  parents
  equal "parent of the background" "$(value '.exitcode == 3' ppid)" "$(value '.exename == "sh" and .exitcode == 0' pid)"
}

@test "the same in a pid namespace of its own, whose first process adopts" {
  connector || skip "no process connector here"
  unshare -rpf --mount-proc true 2>/dev/null || skip "no user or pid namespaces here"
  record unshare -rpf --mount-proc sh -c "$PROGRAMS/tree fork:1 [ daemon [ sleep:50 exec:$PROGRAMS/tree sleep:50 burn:6 ] ] wait; sleep 0.3"
  parents
  equal "generations" "$(generations burn:6)" 5
}

@test "a copy remembers who made it without the kernel's events" {
  RUN_OPTIONS=(--wait=10s --no-kernel)
  record "$PROGRAMS/tree" fork:1 [ daemon [ sleep:50 burn:5 ] ] wait sleep:100
  parents
  chain 4
}

@test "two runs whose programs replace each other by turns: the tree puts the images of a process behind each other" {
  plimsoll start -q -o job
  plimsoll run -q -o job -- sh -c "sleep 0.3; exec $PROGRAMS/tree burn:30" &
  plimsoll run -q -o job -- sh -c "sleep 0.4; exec $PROGRAMS/tree burn:30"
  wait $!
  plimsoll stop -q -o job
  plimsoll submit -q job
  plimsoll tree last >tree.txt
  equal "images behind another" "$(grep -c '→ ' tree.txt)" 2
  equal "CPU as in the list" "$(plimsoll tree last --json | jq '[.. | .cpu_time? // empty] | add')" \
    "$(plimsoll procs last --json | jq '[.[].cpu_time] | add')"
}
