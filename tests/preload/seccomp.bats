#!/usr/bin/env bats
# Programs that install a seccomp filter which kills for every call but their own are not killed because
# of us: the library writes a last record before, which is flagged, and is silent afterwards.

# shellcheck disable=SC2016 # scripts for other shells
load lib

# Under a shell, so that a reaper knows the status.
silenced() {
  local mode=$1
  compare sh -c '"$@"; echo "status $?"' sh "$PROGRAMS/host-filters" "$mode"
  grep -q "status $2" with/stdout || fail "$(cat with/stdout)"
  recorded '.exename == "host-filters" and (.forked | not)' silenced true
  recorded '.exename == "host-filters" and (.forked | not)' exitcode "$2"
}

@test "a filter by prctl" {
  silenced prctl 31
}

@test "a filter by syscall" {
  silenced syscall 32
}

@test "a filter by syscall of prctl" {
  silenced syscall_prctl 33
}

@test "strict mode by prctl" {
  silenced strict 34
}

@test "strict mode by syscall" {
  silenced strict_syscall 35
}

@test "fork, wait, exec, threads, prctl and syscall behind a filter" {
  silenced everything 38
  equal output "$(cat with/stdout)" "waitpid
waitid
exec
thread
prctl
syscall works
status 38"
}

@test "a thread that ends behind a filter" {
  silenced thread_ends 39
}

@test "a thread that begins behind a filter" {
  compare "$PROGRAMS/host-filters" thread_begins
  equal output "$(cat with/stdout)" 'killed 0'
}

@test "a program that breaks its own filter dies as it would" {
  compare sh -c '"$@"; echo "status $?"' sh "$PROGRAMS/host-filters" broken
  grep -q 'status 159' with/stdout
  recorded '.exename == "host-filters"' exitsignal 31
}

@test "a filter that the kernel refuses silences nobody" {
  compare "$PROGRAMS/host-filters" refused
  recorded_end true
  recorded true silenced null
}

@test "a question whether there are filters is no filter" {
  compare sh -c '"$@"; echo "status $?"' sh "$PROGRAMS/host-filters" probe
  equal output "$(cat with/stdout)" "probed
status 36"
  recorded '.exename == "host-filters"' silenced null
  recorded '.exename == "host-filters"' exitcode 36
}

@test "a forked child silences itself, not its parent" {
  compare "$PROGRAMS/host-filters" child
  recorded_end '.forked | not'
  recorded '.forked | not' silenced null
  recorded .forked silenced true
  recorded .forked exitcode 5
}

@test "a vfork child silences itself, not the parent whose memory it has" {
  local how
  for how in execv syscall failed _exit killed; do
    compare "$PROGRAMS/host-filters" vfork $how
    recorded_end '.argv[1] == "vfork" and (.forked | not)'
    recorded '.argv[1] == "vfork" and (.forked | not)' silenced null
    recorded '.forked and .exitcode == 9' silenced null
  done
}

@test "a copy that installs a filter and executes a program leaves no row beside that program" {
  local way
  for way in fork vfork; do
    plimsoll run -q -o job -- "$PROGRAMS/host-doors" filter $way "$PROGRAMS/actor" return 6 >out
    plimsoll records --jsonl job >rows.jsonl
    equal images "$(rows true)" 4
    equal ends "$(rows '.exitcode == 6 and .ended == "exit"')" 3
    # the kernel tells that they executed it
    equal programs "$(rows '.exename == "actor" and (.forked or .silenced or .rchar != null)')" 0
    rm -r job
  done
}

@test "what a program did behind its filter is not said of the program that it executes" {
  plimsoll run -q -o job -- "$PROGRAMS/host-doors" filter image "$PROGRAMS/actor" return 6 >out || equal status $? 6
  plimsoll records --jsonl job >rows.jsonl
  equal 'I/O of both' "$(rows '.exename == "actor" and (.rchar != null or .minflt != null)')" 0
  recorded '.exename == "host-doors"' silenced true
}

# The launched program makes no record. Its status is that of the process that launched it.
launched() {
  compare sh -c '"$@"; echo "status $?"' sh "$PROGRAMS/host-filters" "$1" "$PROGRAMS/host-filters" small
  equal output "$(cat with/stdout)" "small program
status 41"
  recorded ".argv[1] == \"$1\"" silenced true
  recorded ".argv[1] == \"$1\"" source preload
}

@test "a launcher whose filter allows what the loader needs, uname, getpid and prctl" {
  launched launch
}

@test "a filter that was there before run is no reason to be silent" {
  "$PROGRAMS/host-filters" open "$PL_BUILD/bin/plimsoll" run -q -o job -- "$PROGRAMS/actor" fork 7
  plimsoll records --jsonl --threads job >rows.jsonl 2>rows.err
  recorded '.forked | not' exitcode 0
  recorded '.forked | not' ended exit
  recorded .forked exitcode 7
}
