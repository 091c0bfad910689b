#!/usr/bin/env bats
# Children that libc waits for from within (system, pclose, fclose): the program sees the same, and how they ended is
# known without the kernel's events.

# shellcheck disable=SC2016 # scripts for other shells
load lib

# ends: how the shells ended, one word each
ends() {
  jq -r 'select(.exename == "sh" or .exename == "dash" or .exename == "bash") |
    if .ended == "exit" then "exit\(.exitcode)" elif .ended == "signal" then "signal\(.exitsignal)" else .ended end' rows.jsonl |
    sort | tr '\n' ' '
}

@test "system: every way that a shell can end" {
  compare "$PROGRAMS/host-reaps" system
  recorded_end '.exename == "host-reaps"'
  equal ends "$(ends)" 'exit0 exit0 exit127 exit3 signal15 signal9 '
  equal 'rows' "$(rows true)" 7
  # usage of the one that could not tell it itself
  equal usage "$(value '.exitsignal == 9' 'minflt > 0 and .usertime + .systemtime >= 0')" true
}

@test "system: what a killed child used, and is counted once" {
  compare "$PROGRAMS/host-reaps" kill "$PROGRAMS/actor burn 150; kill -9 \$\$"
  recorded '.exitsignal == 9' ended signal
  equal 'rows' "$(rows true)" 3
  at_least 'burnt' "$(value '.exename == "actor"' 'usertime + .systemtime')" 150000
  at_most 'the shell alone' "$(value '.exitsignal == 9' 'usertime + .systemtime')" 100000
  at_most 'the parent alone' "$(value '.exename == "host-reaps"' 'usertime + .systemtime')" 100000
}

@test "system: what a killed shell used itself" {
  compare "$PROGRAMS/host-reaps" kill 'i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done; kill -9 $$'
  at_least 'the shell' "$(value '.exitsignal == 9' 'usertime + .systemtime')" 20000
  at_most 'the parent alone' "$(value '.exename == "host-reaps"' 'usertime + .systemtime')" 15000
}

@test "system: the shell becomes a program that cannot be entered" {
  [ -x "$PROGRAMS/actor-static" ] || skip "no static libc"
  compare "$PROGRAMS/host-reaps" kill "exec $PROGRAMS/actor-static burn 150"
  equal 'rows' "$(rows true)" 3
  at_least 'burnt' "$(value '.exename == "actor-static"' 'usertime + .systemtime')" 150000
  recorded '.exename == "actor-static"' exitcode 0
}

@test "system: no process could be made, SIGCHLD ignored" {
  compare "$PROGRAMS/host-reaps" refused
  recorded_end true
  compare "$PROGRAMS/host-reaps" ignored
  recorded_end '.exename == "host-reaps"'
}

@test "pclose: exits, kills, writes that nobody reads, in any order" {
  compare "$PROGRAMS/host-reaps" pclose
  recorded_end '.exename == "host-reaps"'
  equal ends "$(ends)" 'exit0 exit4 exit5 exit6 exit7 signal9 '
  equal 'rows' "$(rows true)" 7
}

@test "fclose of what popen opened, and of other streams" {
  compare "$PROGRAMS/host-reaps" fclose
  recorded_end '.exename == "host-reaps"'
  equal ends "$(ends)" 'exit4 signal9 '
}

@test "streams with a cookie that looks like a child of popen" {
  compare "$PROGRAMS/host-reaps" cookies
  recorded_end '.exename == "host-reaps"'
  equal ends "$(ends)" 'exit3 exit4 exit5 '
  equal 'rows but for a sleep' "$(rows '.exename != "sleep"')" 4
}

@test "pclose after the child was waited for, and in a copy" {
  compare "$PROGRAMS/host-reaps" taken
  recorded_end '.exename == "host-reaps" and (.forked | not)'
  equal ends "$(ends)" 'exit8 exit9 '
  equal 'rows' "$(rows true)" 4
}

@test "system in several threads at once" {
  compare "$PROGRAMS/host-reaps" threads
  recorded_end '.exename == "host-reaps"'
  equal 'known' "$(rows '.argv[2] == "sleep 0.1; exit 5" and .exitcode == 5 or .argv[2] == "exit 6" and .exitcode == 6')" 2
  # of two that were killed nobody can tell which is which
  equal "another's" "$(rows '.argv[2] == "sleep 0.2; kill -9 $$" and .exitsignal == 15 or .argv[2] == "sleep 0.15; kill -15 $$" and .exitsignal == 9')" 0
  equal killed "$(rows '.argv[1] == "-c" and (.ended == "signal" or .ended == "unknown")')" 2
}

@test "system in two threads: the end of a shell that does not tell it is its own, or is not known" {
  compare "$PROGRAMS/host-reaps" mute
  equal shells "$(rows '.source != "preload" or .ended == "unknown"')" 40
  equal 'ends of others' "$(rows '.argv[2] == "exit 5" and .ended == "signal" or .argv[2] == "kill -9 $$" and .ended == "exit"')" 0
  # one after the other each has its own
  compare "$PROGRAMS/host-reaps" kill "exec env -i /bin/sh -c 'kill -9 \$\$'"
  recorded '.argv[2] == "kill -9 $$" and .exename != "env"' exitsignal 9
}

@test "system beside children that are waited for by their pid: each is there once" {
  local way
  for way in '' fork; do
    compare "$PROGRAMS/host-reaps" beside $way
    equal rows "$(rows '.thread | not')" 97
    equal shells "$(rows '.exename == "sh" and .exitcode == 0')" 48
    equal programs "$(rows '.exename == "true" and .exitcode == 0')" 48
    plimsoll run -q -o job -- "$PROGRAMS/host-reaps" beside $way >out
    equal 'with the kernel' "$(plimsoll records --jsonl job | jq -s length)" 97
    rm -r job
  done
}

@test "system: a thread is cancelled in it" {
  compare "$PROGRAMS/host-reaps" cancelled
  recorded_end '.exename == "host-reaps"'
}

@test "system and pclose: handlers, and SIGINT meanwhile" {
  compare "$PROGRAMS/host-reaps" handlers
  recorded_end '.exename == "host-reaps"'
  equal ends "$(ends)" 'signal9 signal9 '
}

# bats test_tags=root
@test "the same with plimsoll run: nothing missing, nothing twice" {
  plimsoll run -q -o job -- "$PROGRAMS/host-reaps" system >/dev/null
  plimsoll records --jsonl job >rows.jsonl
  equal ends "$(ends)" 'exit0 exit0 exit127 exit3 signal15 signal9 '
  plimsoll run -q -o job2 -- "$PROGRAMS/host-reaps" pclose >/dev/null
  plimsoll records --jsonl job2 >rows.jsonl
  equal ends "$(ends)" 'exit0 exit4 exit5 exit6 exit7 signal9 '
}
