#!/usr/bin/env bats
# Programs end the same with the library: what is in the buffers is written once, handlers and destructors
# run in their order, the last status wins; and that status is recorded.

# shellcheck disable=SC2016 # scripts for other shells
load lib

# exits MODE STATUS
exits() {
  compare "$PROGRAMS/host-exits" "$1"
  equal status "$status" "$2"
  recorded_end '.forked | not'
}

@test "return from main: buffered output is written once, handlers in their order" {
  exits return 91
  equal output "$(cat with/stdout)" "constructor
this stays in the buffer until the end
third handler
handler registered by a handler
second handler
status 91 argument given
first handler
destructor"
  recorded true wchar "$(wc -c <with/stdout)"
  recorded true syscw 1
}

@test "exit" {
  exits exit 98
}

@test "exit within an exit handler" {
  exits exit_in_handler 92
}

@test "_exit within an exit handler" {
  exits _exit_in_handler 93
}

@test "_exit within a destructor" {
  exits _exit_in_destructor 94
}

@test "fork within an exit handler" {
  exits fork_in_handler 98
  recorded .forked exitcode 4
}

@test "more exit handlers than libc has room for" {
  exits many_handlers 98
  equal handlers "$(grep -c 'first handler' with/stdout)" 41
}

@test "_exit and _Exit: what is in the buffer is lost" {
  exits _exit 95
  equal output "$(cat with/stdout)" ''
  exits _Exit 96
  equal output "$(cat with/stdout)" ''
}

@test "quick_exit" {
  exits quick_exit 97
  grep -q 'quick handler' with/stdout
}

@test "quick_exit with a handler that waits for a thread: not delayed" {
  exits quick_join 97
  grep -q 'joined at once' with/stdout
}

@test "fork with a full buffer: both write it" {
  exits fork_with_buffer 98
  equal twice "$(grep -c 'this stays in the buffer' with/stdout)" 2
  recorded .forked exitcode 3
}

@test "standard output closed before the end" {
  exits closed 98
}

@test "abort" {
  compare sh -c '"$1" abort; echo "status $?"' sh "$PROGRAMS/host-exits"
  grep -q 'status 134' with/stdout
  recorded '.exename == "host-exits"' exitsignal 6
}

@test "standard output is full" {
  compare sh -c '"$1" return >/dev/full; echo "status $?"' sh "$PROGRAMS/host-exits"
  grep -q 'status 91' with/stdout
  recorded '.exename == "host-exits"' exitcode 91
}

@test "ended by a signal, by an illegal access, by the bare system call" {
  compare sh -c 'for m in "kill 15" segv "raw_exit 3" "syscall_exit 4"; do "$1" $m; echo "status $?"; done' \
    sh "$PROGRAMS/actor"
  recorded '.argv[1] == "kill"' exitsignal 15
  recorded '.argv[1] == "segv"' exitsignal 11
  recorded '.argv[1] == "raw_exit"' exitcode 3
  recorded '.argv[1] == "syscall_exit"' exitcode 4
}
