#!/usr/bin/env bats
# Threads behave the same with the library: cancellation, ends of every kind, thread-specific values,
# the smallest stacks; and each of them is recorded.

load lib

@test "cancellation in wait, waitpid, wait3, wait4 and waitid, deferred and asynchronous" {
  compare "$PROGRAMS/host-threads" cancel_waits
  equal cancelled "$(grep -c cancelled with/stdout)" 10
  recorded_end '.argv[1] == "cancel_waits"'
  recorded '.argv[1] == "cancel_waits"' numtids 11
  recorded '.argv[1] == "cancel_waits"' 'thread_rows | length' 11
  equal 'killed children' "$(rows '.source == "reaped" and .exitsignal == 15')" 10
}

@test "cancelled before it waits: the child is left for others" {
  compare "$PROGRAMS/host-threads" cancel_before
  grep -q 'late: join 0 cancelled' with/stdout
  recorded_end '.forked | not'
  recorded .forked exitcode 9
}

@test "cancellation in loops, deferred and asynchronous, and before they begin" {
  compare "$PROGRAMS/host-threads" cancel_loops
  equal cancelled "$(grep -c cancelled with/stdout)" 20
  recorded_end true
  recorded true numtids 21
}

@test "pthread_exit in main: the process goes on without its first thread" {
  compare "$PROGRAMS/host-threads" exit_main
  recorded_end true
  recorded true numtids 2
}

@test "exit called by another thread" {
  compare "$PROGRAMS/host-threads" exit_thread
  equal output "$(cat with/stdout)" 'still in the buffer'
  recorded_end true
}

@test "pthread_exit, values, detached threads" {
  compare "$PROGRAMS/host-threads" ends
  recorded_end true
  recorded true numtids 4
}

@test "threads alive at the end" {
  compare "$PROGRAMS/actor" live_threads 3
  recorded_end true
  recorded true numtids 4
  recorded true 'thread_rows | length' 4
}

@test "hundreds of threads that end when their process does: each is recorded, and once" {
  local mode
  OBSERVE=(-u) # the first thread may leave while the ends of others are being recorded
  for mode in crowd_exit crowd_handler crowd_main crowd_main crowd_main crowd_main crowd_main crowd_main; do
    compare "$PROGRAMS/host-threads" $mode
    recorded_end true
    recorded true numtids 401
    recorded true 'thread_rows | length' 401
    recorded true 'thread_rows | map(.tid) | unique | length' 401
  done
}

# bats test_tags=root
@test "a thread with the tid of one that ended is another" {
  [ "$(id -u)" = 0 ] && unshare -pf --mount-proc true 2>/dev/null || skip "no pid namespace for this user"
  ENTER=(unshare -pf --mount-proc)
  compare "$PROGRAMS/host-threads" tid_again
  equal output "$(cat with/stdout)" 'again 1'
  recorded_end true
  recorded true numtids 3
  recorded true 'thread_rows | length' 3
}

@test "C11 threads" {
  compare "$PROGRAMS/actor" c11_threads 5
  recorded_end true
  recorded true numtids 6
}

@test "two thousand threads" {
  compare "$PROGRAMS/host-threads" many
  equal output "$(cat with/stdout)" '2000 threads, 0 failed'
  recorded_end true
  recorded true numtids 2001
  recorded true 'thread_rows | length' 2001
  equal damage "$(cat rows.err)" ''
}

@test "copies of a program with threads" {
  compare "$PROGRAMS/host-threads" fork
  recorded_end '.forked | not'
  recorded '.forked | not' numtids 4
  equal 'forked copies' "$(rows '.forked')" 3
  recorded '.forked and .exitcode == 10' numtids 1
  equal 'copies with a thread' "$(rows '.forked and .exitcode == 11 and .numtids == 2')" 2
}

@test "destructors of thread-specific values run in the same order and as often" {
  compare "$PROGRAMS/host-threads" keys
  grep -q 'round 4' with/stdout
  recorded_end true
}

@test "all keys for thread-specific values are the program's before it has threads" {
  compare "$PROGRAMS/host-threads" all_keys
  recorded_end true
}

@test "of the keys for thread-specific values one is ours when the program has threads" {
  HOST=("$PROGRAMS/host-threads" keys_after_threads)
  once plain ''
  mkdir records
  once with "$LIBRARY" "$WORK/records"
  equal without "$(grep keys plain/stdout)" 'keys 1024 of 1024'
  equal with "$(grep keys with/stdout)" 'keys 1023 of 1024'
  read_rows
  recorded_end true
}

@test "the message of a failed dlopen outlives pthread_create" {
  compare "$PROGRAMS/host-threads" dlerror
  recorded_end '.forked | not'
}

@test "ends, exec and waits on a signal stack of 8 KiB" {
  local what
  for what in _exit _Exit syscall execve waitpid waitid; do
    compare "$PROGRAMS/host-stacks" signal 8192 $what
    grep -q 'on the signal stack' with/stdout
    [ $what = execve ] || recorded_end '.exename == "host-stacks" and (.forked | not)'
  done
  compare "$PROGRAMS/host-stacks" signal 8192 _exit 3
  recorded_end true
  recorded true numtids 4
}

@test "ends, exec and waits on the smallest signal stack plus 4 KiB" {
  local what
  for what in _exit _Exit syscall execve waitpid waitid; do
    compare "$PROGRAMS/host-stacks" signal minimum $what
    grep -q 'on the signal stack' with/stdout
    [ $what = execve ] || recorded_end '.exename == "host-stacks" and (.forked | not)'
  done
  compare "$PROGRAMS/host-stacks" signal minimum _exit 3
  recorded_end true
  recorded true numtids 4
}

@test "threads with the smallest stack" {
  local what
  for what in return waitpid waitid _exit; do
    compare "$PROGRAMS/host-stacks" thread $what
    recorded_end '.exename == "host-stacks" and (.forked | not)'
    if [ $what = return ]; then recorded true numtids 4; fi
  done
  compare "$PROGRAMS/host-stacks" thread execve
  recorded '.path | endswith("/false")' exitcode 1
}

@test "what recording an end needs of a stack" {
  local threads plain with
  mkdir records
  for threads in 0 3; do
    plain=$("$PROGRAMS/host-stacks" used $threads)
    with=$(LD_PRELOAD=$LIBRARY PLIMSOLL_OUTPUT=$WORK/records "$PROGRAMS/host-stacks" used $threads)
    echo "$threads threads: $((with - plain)) bytes more than $plain"
    at_least "bytes with $threads threads" $((with - plain)) 256
    at_most "bytes with $threads threads" $((with - plain)) $((threads ? 3500 : 2400))
  done
}

# filled N: so many variables more
filled() {
  local i
  for ((i = 0; i < $1; i++)); do printf 'FILLED_%d=x\0' "$i"; done
}

@test "what executes on a small stack where the library cannot be loaded overwrites nothing" {
  local how more
  for how in fails forks vforks; do
    for more in 0 300; do
      mapfile -d '' -t variables < <(filled $more)
      compare env "${variables[@]}" "$PROGRAMS/host-stacks" crowded 16384 $how
      equal status "$status" 56
      equal "$how with $more variables" "$(cat with/stdout)" "result $([ $how = fails ] && echo 13 || echo 127), overwritten 0, memory given back"
    done
  done
  # more than goes on a stack: by a copy that has its memory to itself
  mapfile -d '' -t variables < <(filled 3000)
  compare env "${variables[@]}" "$PROGRAMS/host-stacks" crowded 16384 forks
  equal 'with many variables' "$(cat with/stdout)" 'result 127, overwritten 0, memory given back'
  # by one that has not nothing is overwritten either; its loader may say that there is a library
  HOST=(env "${variables[@]}" "$PROGRAMS/host-stacks" crowded 16384 vforks)
  once with "$LIBRARY" "$WORK/records"
  equal 'many in a child of vfork' "$(cat with/stdout)" 'result 127, overwritten 0, memory given back'
}

@test "what executing needs of a stack" {
  local how plain with
  mkdir records
  for how in fails vforks; do
    plain=$(env -i "$PROGRAMS/host-stacks" crowded 65536 $how used 2>/dev/null) || equal status $? 56
    with=$(env -i LD_PRELOAD="$LIBRARY" PLIMSOLL_OUTPUT="$WORK/records" "$PROGRAMS/host-stacks" crowded 65536 $how used 2>/dev/null) || equal status $? 56
    echo "$how: $((with - plain)) bytes more than $plain"
    at_most "bytes of $how" $((with - plain)) "$([ $how = fails ] && echo 2800 || echo 1300)"
  done
}
