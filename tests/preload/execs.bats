#!/usr/bin/env bats
# Executing programs with threads alive, and in vain: each image has what it used itself, and there are as many images as
# programs.

load lib

MIB=1048576
FIRST='.argv[1] == "threads" and (.forked | not)' NEXT='.argv[1] == "work"'

# about NAME VALUE MIB: so much was read, and no more than a little beside it
about() {
  at_least "$1" "$2" "$(($3 * MIB))" && at_most "$1" "$2" "$(($3 * MIB + 65536))"
}

@test "what an image used after an exec with threads: by the first thread and another, with and without children" {
  local by children
  for by in leader thread; do
    for children in alone waits; do
      compare "$PROGRAMS/host-execs" threads 4 8 $by $children "$PROGRAMS/host-execs" work 10
      equal status "$status" 0
      equal images "$(rows '.forked | not')" 2
      about "rchar before the exec, by $by, $children" "$(value "$FIRST" rchar)" 8
      about "rchar after it, by $by, $children" "$(value "$NEXT" rchar)" 10
      # 50 sleeps in each thread, and in the program afterwards
      at_least 'slices before' "$(value "$FIRST" timeslices)" 200
      at_least 'slices after' "$(value "$NEXT" timeslices)" 50
      at_most 'slices after' "$(value "$NEXT" timeslices)" 150
      # which may be nothing on an idle CPU
      equal 'waiting after is known' "$(rows "$NEXT and .time_waiting != null")" 1
      at_least 'calls after' "$(value "$NEXT" syscr)" 160
      at_most 'calls after' "$(value "$NEXT" syscr)" 190
    done
  done
}

@test "a chain of programs with and without threads, the last of which waits for a child" {
  compare "$PROGRAMS/host-execs" threads 4 8 leader alone "$PROGRAMS/host-execs" threads 1 4 leader alone \
    "$PROGRAMS/host-execs" threads 0 0 leader alone "$PROGRAMS/host-execs" threads 2 6 thread waits "$PROGRAMS/host-execs" work 5
  equal images "$(rows '.forked | not')" 5
  local i=0 mib
  for mib in 8 4 0 6 5; do
    about "rchar of image $i" "$(value "(.forked | not) and .generation == $i" rchar)" $mib
    i=$((i + 1))
  done
}

@test "a thread that was not recorded in full leaves later images their own values" {
  export PLIMSOLL_THREADS=basic
  compare "$PROGRAMS/host-execs" threads 4 8 thread waits "$PROGRAMS/host-execs" work 10
  recorded "$FIRST" timeslices null
  recorded "$FIRST" rchar null
  about 'rchar after it' "$(value "$NEXT" rchar)" 10
  at_least 'slices after' "$(value "$NEXT" timeslices)" 50
  at_most 'slices after' "$(value "$NEXT" timeslices)" 150
}

@test "a hundred failed execs count nothing twice" {
  compare "$PROGRAMS/host-execs" fails 100 2 execvp 4 exit
  recorded_end true
  recorded true numtids 4
  recorded true 'thread_rows | length' 4
  about rchar "$(value true rchar)" 10
  at_least slices "$(value true timeslices)" 200
  at_most slices "$(value true timeslices)" 600
}

@test "the same with children that were waited for" {
  compare "$PROGRAMS/host-execs" fails 100 2 execve 4 waits
  about rchar "$(value '.forked | not' rchar)" 10
}

@test "a failed exec and then a signal: there is no image of what was not executed" {
  local how
  for how in execvp execvpe execlp execve execv execl execle execveat fexecve syscall syscall_at chroot; do
    compare "$PROGRAMS/host-execs" fails 1 0 $how 0 signal
    equal "images after $how" "$(rows true)" 1
    recorded true exitsignal null
    recorded true ended unknown
    recorded true 'warnings // empty | length' ''
  done
}

@test "a program that only the effective user may execute" {
  [ "$(id -u)" = 0 ] || skip "needs root"
  cp "$PROGRAMS/actor" mine
  chmod 700 mine
  chmod 755 .
  OBSERVE=(-u)
  compare /usr/bin/python3 -c 'import os, sys; os.setresuid(65534, 0, 0); os.execv(sys.argv[1], ["mine", "return", "4"])' "$WORK/mine"
  equal status "$status" 4
  recorded '.exename | startswith("python")' ended exec
}
