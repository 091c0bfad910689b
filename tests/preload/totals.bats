#!/usr/bin/env bats
# I/O of processes with threads that wait for children: what all threads did, to the byte, without the children's and without
# what recording it took; and the same of each thread.

load lib

PROCESS='.exename == "host-totals" and (.forked | not) and .argv[1] != "child"'
ALL='[.rchar, .wchar, .syscr, .syscw]'

# totals ARGUMENT...: runs the program under the library and reads its records
totals() {
  rm -rf records
  mkdir records
  LD_PRELOAD=$LIBRARY PLIMSOLL_OUTPUT=$WORK/records "$PROGRAMS/host-totals" "$@" >stdout || true
  read_rows
}

# did PARTS: reads and writes of so many threads, beside those of the program's start
did() {
  echo "[$((START_BYTES + $1 * 65536)),$(($1 * 32768)),$((START_CALLS + $1 * 64)),$(($1 * 32))]"
}

# What the loader and libc read. Leaving by pthread_exit() loads a library more.
know_start() {
  totals 0 before none first "$1"
  equal "written by one thread" "$(value "$PROCESS" '| [.wchar, .syscw]|@json')" '[32768,32]'
  START_BYTES=$(($(value "$PROCESS" rchar) - 65536)) START_CALLS=$(($(value "$PROCESS" syscr) - 64))
}

whole() {
  jq -c "select($PROCESS) | $ALL" rows.jsonl
}

# The sum over the rows of the threads, and their number
rows_of_threads() {
  jq -c "select($PROCESS) | .thread_rows | map($ALL) | transpose | map(if any(. == null) then null else add end)" rows.jsonl
}

# check_children LIFE: with every kind of child and of waiting for it
check_children() {
  local child waiter
  know_start return
  for child in none fork vfork spawn system popen killed thrice; do
    for waiter in first thread other; do
      case $child.$waiter in none.thread | none.other | system.other | popen.other) continue ;; esac
      totals 3 "$1" $child $waiter return
      equal "I/O with '$1 $child $waiter'" "$(whole)" "$(did 4)"
      equal "I/O of the threads with '$1 $child $waiter'" "$(rows_of_threads)" "$(did 4)"
    done
  done
}

@test "threads that are gone before a child is waited for" {
  check_children before
}

@test "threads that begin after it" {
  check_children after
}

@test "threads that end when the process does" {
  check_children during
}

@test "threads alive at the end" {
  check_children alive
}

@test "detached threads" {
  check_children detached
}

@test "threads that work in the destructors of thread-specific values" {
  know_start return
  totals 3 keys none first return
  equal "I/O without a child" "$(whole)" "$(did 4)"
  totals 3 keys fork first return
  equal "I/O" "$(whole)" "$(did 4)"
  equal "I/O of the threads" "$(rows_of_threads)" "$(did 4)"
}

# bats test_tags=root
@test "every kind of end, by the first thread and another" {
  local end life child
  for end in exit _exit thread leave; do
    # the kernel shows what a thread did that has left to root alone, until its process is gone
    if [ $end = leave ] && [ "$PL_AS" = user ]; then
      totals 3 before fork thread leave
      equal "I/O without the first thread's" "$(whole)" '[null,null,null,null]'
      continue
    fi
    know_start $end
    for life in before alive during; do
      for child in none fork; do
        totals 3 $life $child thread $end
        equal "I/O with '$life $child $end'" "$(whole)" "$(did 4)"
        equal "I/O of the threads with '$life $child $end'" "$(rows_of_threads)" "$(did 4)"
      done
    done
  done
}

@test "the first thread of a program that another with threads executed has its own alone" {
  local end child threads
  know_start return
  PROCESS="($PROCESS) and .generation == 1"
  for end in exec exec_thread; do
    for child in none fork; do
      for threads in 0 3; do
        totals $threads before $child first $end "$PROGRAMS/host-totals" 2 before $child first return
        equal "I/O after '$end', $threads threads, child '$child'" "$(whole)" "$(did 3)"
        equal "I/O of its threads" "$(rows_of_threads)" "$(did 3)"
        equal "threads that began before their program" "$(rows "($PROCESS) and .start as \$begin | .thread_rows | any(.start < \$begin)")" 0
      done
    done
  done
}

@test "nor has it the time and the faults of the program before" {
  local end
  for end in leader thread; do
    compare "$PROGRAMS/host-execs" threads 4 2048 $end alone "$PROGRAMS/host-totals" 2 alive none first return
    at_least 'CPU time before' "$(value '.exename == "host-execs"' time_oncpu)" 10000000
    at_most 'CPU time of the threads after' "$(value "$PROCESS" 'thread_rows | map(.time_oncpu) | add')" "$(value "$PROCESS" time_oncpu)"
    at_most 'faults of the threads after' "$(value "$PROCESS" 'thread_rows | map(.minflt) | add')" "$(value "$PROCESS" minflt)"
    at_most 'user and system time after' "$(value "$PROCESS" 'thread_rows | map(.usertime + .systemtime) | add')" \
      "$(value "$PROCESS" '| .usertime + .systemtime + 20000')"
  done
}

# bats test_tags=root
@test "exit handlers that the last thread runs after its end" {
  local child
  [ "$PL_AS" = root ] || skip "the first thread has left: what it did is shown to root alone"
  know_start leave
  for child in none fork; do
    totals 3 before $child first last
    equal "I/O with child '$child'" "$(whole)" "$(did 5)"
  done
}

@test "what stdio holds at the end is the process's and that of the thread that exits" {
  local child want
  know_start return
  want=$(jq -nc "$(did 4) | .[1] += 10 | .[3] += 1")
  for child in none fork; do
    totals 3 before $child first buffer
    equal output "$(cat stdout)" '10 letters'
    equal "I/O with child '$child'" "$(whole)" "$want"
    equal "I/O of the threads with child '$child'" "$(rows_of_threads)" "$want"
  done
}

@test "with more threads than are read in full it is absent, never too small" {
  know_start return
  totals 80 before none first return
  equal "I/O without a child" "$(whole)" "$(did 81)"
  totals 80 before fork first return
  equal "I/O with a child" "$(whole)" '[null,null,null,null]'
  PLIMSOLL_THREADS=full totals 80 before fork first return
  equal "I/O with all of them in full" "$(whole)" "$(did 81)"
  equal "I/O of the threads" "$(rows_of_threads)" "$(did 81)"
}
