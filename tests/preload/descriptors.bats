#!/usr/bin/env bats
# The library keeps no descriptor and needs none: programs that close, use up or count all of theirs
# see the same numbers with it and without it.

# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # scripts for other shells; each test has its own variables
load lib

@test "a program that closes every descriptor in a loop" {
  compare "$PROGRAMS/host-descriptors" loop
  equal result "$(cat with/files/result)" 'number 0, child 4, open: 0 '
  recorded_end '.forked | not'
  recorded .forked exitcode 4
}

@test "a program that closes every descriptor by closefrom" {
  compare "$PROGRAMS/host-descriptors" closefrom
  equal result "$(cat with/files/result)" 'number 0, child 4, open: 0 '
  recorded_end '.forked | not'
}

@test "a program that closes every descriptor by close_range" {
  compare "$PROGRAMS/host-descriptors" close_range
  equal result "$(cat with/files/result)" 'number 0, child 4, open: 0 '
  recorded_end '.forked | not'
}

@test "a program that is started without standard input, output and error" {
  compare sh -c 'exec "$@" <&- >&- 2>&-' sh "$PROGRAMS/host-descriptors" loop
  equal result "$(cat with/files/result)" 'number 0, child 4, open: 0 '
  recorded_end '.exename == "host-descriptors" and (.forked | not)'
}

@test "sixteen descriptors, and all of them in use" {
  compare sh -c 'ulimit -n 16 && exec "$@"' sh "$PROGRAMS/host-descriptors" all
  equal status "$status" 12
  grep -q '13 opened, the last is 15' with/stdout
  # the end found none free: it is missing, the program is known
  recorded '.exename == "host-descriptors"' source preload
}

@test "sixteen descriptors for a script" {
  compare bash -c 'ulimit -n 16; "$1" fork; seq 3 | sort -r; "$1" return 5; exit $?' bash "$PROGRAMS/actor"
  equal status "$status" 5
  recorded '.exename == "actor" and .argv[1] == "return"' exitcode 5
  recorded '.exename == "sort"' ended exit
}

@test "hundreds of jumps out of waitpid leave no descriptor" {
  compare "$PROGRAMS/host-descriptors" jumps
  equal status "$status" 13
  recorded_end '.forked | not'
  at_least 'children' "$(rows '.forked and .exitcode == 0')" 400
}

@test "a lock on what standard input is stays through execs" {
  compare "$PROGRAMS/host-descriptors" locks
  equal status "$status" 20
  equal locked "$(cat with/stdout)" $'before: 1\nafter a failed exec: 1\nafter shells: 1\nafter an exec: 1'
}

# The more is recorded of threads, the more often there is a descriptor of ours for a moment.
@test "programs executed while threads end have no descriptor of ours" {
  export PLIMSOLL_THREADS=full
  compare "$PROGRAMS/host-descriptors" forks 300
  equal output "$(cat with/stdout)" 'programs with a descriptor of somebody else: 0'
  recorded_end '.argv[1] == "forks" and (.forked | not)'
}

@test "what a program writes to a closed descriptor while threads end costs no record" {
  export PLIMSOLL_THREADS=full
  HOST=("$PROGRAMS/host-descriptors" closed_output 20000)
  mkdir records
  once with "$LIBRARY" "$WORK/records"
  read_rows
  recorded_end true
  # the first one and the one that creates are threads too
  recorded true 'thread_rows | length' "$(($(sed -n 's/created //p' with/stderr) + 2))"
}

@test "event counters: a program that closes every descriptor" {
  export PLIMSOLL_EVENTS=PERF_COUNT_SW_TASK_CLOCK,PERF_COUNT_SW_PAGE_FAULTS
  compare "$PROGRAMS/host-descriptors" loop
  equal result "$(cat with/files/result)" 'number 0, child 4, open: 0 '
  recorded_end '.forked | not'
  recorded '.forked | not' 'counters.PERF_COUNT_SW_TASK_CLOCK.value' null
}

@test "event counters: a program that takes over their numbers" {
  export PLIMSOLL_EVENTS=PERF_COUNT_SW_TASK_CLOCK,PERF_COUNT_SW_PAGE_FAULTS
  compare "$PROGRAMS/host-descriptors" taken_over
  equal output "$(cat with/stdout)" 'open 1021, in the pipe 4096'
  # with all numbers in use the end cannot be written
  recorded true source preload
}

@test "event counters: a program that leaves them alone has them counted" {
  export PLIMSOLL_EVENTS=PERF_COUNT_SW_TASK_CLOCK,PERF_COUNT_SW_PAGE_FAULTS
  HOST=("$PROGRAMS/actor" threads 3 5)
  mkdir records
  once with "$LIBRARY" "$WORK/records"
  # its own numbers stay what they were, and the next program has none of ours
  grep -q 'descriptor 1023 -> anon_inode: flags 2000002' with/state
  equal 'low numbers' "$(grep -c -E '^descriptor [0-9] ' with/state)" 3
  read_rows
  at_least 'task clock' "$(value '.argv[1] == "threads"' counters.PERF_COUNT_SW_TASK_CLOCK.value)" 15000000
}

@test "event counters: a copy has its own and none of its parent's threads'" {
  export PLIMSOLL_EVENTS=PERF_COUNT_SW_TASK_CLOCK,PERF_COUNT_SW_PAGE_FAULTS
  HOST=("$PROGRAMS/host-descriptors" copies)
  mkdir records
  once with "$LIBRARY" "$WORK/records"
  equal status "$status" 18
  grep -v '^syscall fork' with/stdout >said
  equal counters "$(cat said)" $'process: 8\nfork: 2\n_Fork: 2\nclone: 2\nsyscall clone: 2\nshared: 8\nprocess: 8'
  ! grep '^syscall fork' with/stdout | grep -v ': 2$' || fail "a copy by the bare call has others"
  read_rows
  # what a copy used is counted, but for that which has its parent's descriptors
  equal counted "$(rows '.forked and .counters.PERF_COUNT_SW_TASK_CLOCK.value > 0')" "$(($(wc -l <with/stdout) - 3))"
  HOST=("$PROGRAMS/host-descriptors" copies_meanwhile)
  once with "$LIBRARY" "$WORK/records"
  equal meanwhile "$(cat with/stdout)" 'at most 2'
}

@test "a command of run sees the same descriptors, signals and limits as without" {
  HOST=("$PROGRAMS/host-state" 7)
  once plain ''
  HOST=(plimsoll run -q -o "$WORK/job" -- "$PROGRAMS/host-state" 7)
  once with ''
  equal status "$status" 7
  diff plain/stdout with/stdout
  diff plain/stderr with/stderr
}
