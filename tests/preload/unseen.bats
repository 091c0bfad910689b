#!/usr/bin/env bats
# Threads that no pthread_create() of the program made: while they are alive they are recorded with the others; when they are
# gone again, what is kept for each thread alone is absent, and never too small.

load lib

MIB=1048576
PROGRAM='.exename == "host-unseen" and (.forked | not)'

absent() {
  local key
  for key in "$@"; do
    recorded "$PROGRAM" "$key" null
  done
}

@test "threads of POSIX AIO and of a bare clone, alive at the end: they are there" {
  local what
  for what in aio clone; do
    compare "$PROGRAMS/host-unseen" $what 4 waits
    recorded_end "$PROGRAM"
    recorded "$PROGRAM" numtids 2
    recorded "$PROGRAM" 'thread_rows | length' 2
    at_least "rchar by $what" "$(value "$PROGRAM" rchar)" $((4 * MIB))
    at_most "rchar by $what" "$(value "$PROGRAM" rchar)" $((4 * MIB + 65536))
    at_least "slices by $what" "$(value "$PROGRAM" timeslices)" 2
  done
}

@test "the same when they are gone: absent is what nobody knows" {
  local what
  for what in aio clone; do
    compare "$PROGRAMS/host-unseen" $what 16 waits late
    recorded_end "$PROGRAM"
    absent numtids rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes timeslices time_waiting
    # which the kernel keeps for the whole process
    at_least "CPU by $what" "$(value "$PROGRAM" time_oncpu)" 1
    # and here it keeps I/O, too: there was no child
    compare "$PROGRAMS/host-unseen" $what 16 alone late
    at_least "rchar by $what" "$(value "$PROGRAM" rchar)" $((16 * MIB))
    at_most "rchar by $what" "$(value "$PROGRAM" rchar)" $((16 * MIB + 65536))
    absent numtids timeslices time_waiting
  done
}

@test "and beside threads that were seen" {
  compare "$PROGRAMS/host-unseen" clone 64 threads late
  recorded_end "$PROGRAM"
  absent numtids timeslices time_waiting
}

@test "a thread that another library's constructor makes, wherever that library stands" {
  export EARLY_MIB=4
  for where in BEFORE AFTER; do
    BEFORE='' AFTER=''
    declare -g $where="$PROGRAMS/libearly.so"
    compare "$PROGRAMS/host-unseen" clone 1 waits
    recorded_end "$PROGRAM"
    recorded "$PROGRAM" numtids 3
    at_least "rchar, $where" "$(value "$PROGRAM" rchar)" $((5 * MIB))
    at_most "rchar, $where" "$(value "$PROGRAM" rchar)" $((5 * MIB + 65536))
  done
}

@test "where the constructor of another comes first, its threads leave values absent" {
  AFTER=$PROGRAMS/libearly-first.so
  compare "$PROGRAMS/host-unseen" clone 1 waits
  recorded_end "$PROGRAM"
  absent numtids rchar timeslices time_waiting
}

@test "threads that give large stacks back are all known" {
  compare "$PROGRAMS/host-unseen" stacks 8 alone
  recorded_end "$PROGRAM"
  recorded "$PROGRAM" numtids 9
  at_least slices "$(value "$PROGRAM" timeslices)" 9
}
