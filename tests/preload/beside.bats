#!/usr/bin/env bats
# The library gets along with its neighbours: allocators and other preloaded libraries before and after
# it, programs that load libraries by the hundred, another libc, the loader as a command, setuid.

# shellcheck disable=SC2016,SC2034 # scripts for other shells; variables of lib.bash
load lib

# An allocator in front of us and behind us; threads, forks and exits all allocate.
check_allocator() {
  local allocator=$1 order
  [ -e "$allocator" ] || skip "$allocator is not installed"
  for order in before after; do
    if [ $order = before ]; then BEFORE=$allocator AFTER=''; else BEFORE='' AFTER=$allocator; fi
    compare "$PROGRAMS/host-threads" many
    recorded_end '.argv[1] == "many"'
    recorded '.argv[1] == "many"' numtids 2001
    compare "$PROGRAMS/host-threads" fork
    equal 'forked copies' "$(rows '.forked')" 3
    compare "$PROGRAMS/actor" exec execv
    recorded '.exename == "echo"' ended exit
    compare /usr/bin/python3 "$HOSTS/script.py" fork
    recorded_end '(.exename | startswith("python")) and (.forked | not)'
  done
}

library_path() {
  ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'
}

@test "jemalloc, before and after" {
  check_allocator "$(PATH=$PATH:/sbin:/usr/sbin library_path libjemalloc.so.2)"
}

@test "tcmalloc, before and after" {
  check_allocator "$(PATH=$PATH:/sbin:/usr/sbin library_path libtcmalloc_minimal.so.4)"
}

# Every function in turn, so that a failure names it.
check_neighbour() {
  local name wrong=''
  for name in execve execv execvp _exit _Exit wait waitpid pthread_create prctl syscall; do
    compare "$PROGRAMS/host-calls" "$name" || wrong+=" $name"
    # the neighbour speaks of every call: silence would compare equal, too
    grep -q "beside: $name" plain/stderr || fail "$name does not reach the neighbour at all"
  done
  [ -z "$wrong" ] || fail "not as without the library:$wrong"
  recorded_end '.exename == "host-calls"'
}

@test "another library that stands in for the same functions, before us" {
  BEFORE=$PROGRAMS/libbeside.so
  check_neighbour
}

@test "another library that stands in for the same functions, after us" {
  AFTER=$PROGRAMS/libbeside.so
  check_neighbour
}

@test "another library that stands in for one function of a family, after us" {
  local name wrong=''
  OBSERVE=(-u)
  for name in execl execle execlp execv execve execvp execvpe wait wait3 wait4 waitid waitpid; do
    AFTER=$PROGRAMS/libonly-$name.so
    compare "$PROGRAMS/host-matrix" || wrong+=" $name"
    grep -q "only: $name" plain/stderr || fail "$name does not reach the neighbour at all"
  done
  [ -z "$wrong" ] || fail "not as without the library:$wrong"
}

@test "two hundred libraries loaded and unloaded" {
  local i libraries=()
  mkdir libraries
  for i in $(seq 200); do
    cp "$PROGRAMS/libtiny.so" "libraries/lib$i.so"
    libraries+=("$WORK/libraries/lib$i.so")
  done
  compare "$PROGRAMS/host-dlopens" "${libraries[@]}"
  equal output "$(cat with/stdout)" "in turn: 200 work, 200 unloaded
at once: 200 work, 200 unloaded"
  recorded_end '.exename == "host-dlopens" and (.forked | not)'
  recorded '.exename == "host-dlopens" and (.forked | not)' numtids 11
  equal 'forked copies' "$(rows '.forked')" 10
}

@test "musl: the library is there and does nothing" {
  [ -x "$PROGRAMS/actor-musl" ] || skip "musl-gcc is not installed"
  local mode wrong=''
  for mode in 'return 3' 'exit 3' '_exit 3' '_Exit 3' 'quick_exit 3' 'syscall_exit 3' 'kill 9' fork vfork \
    'vfork_exec true' 'spawn true' 'system true' waits 'chain 2' 'exec execv' 'exec execvp' 'exec execl' 'exec fexecve' 'exec fails' 'threads 5' \
    'c11_threads 3' thread_ends live_threads leader_leaves; do
    # shellcheck disable=SC2086 # a mode and its argument
    compare "$PROGRAMS/actor-musl" $mode || wrong+=" '$mode'"
  done
  [ -z "$wrong" ] || fail "not as without the library:$wrong"
}

@test "musl: waitpid is a cancellation point" {
  [ -x "$PROGRAMS/actor-musl" ] || skip "musl-gcc is not installed"
  compare timeout -s KILL 5 "$PROGRAMS/actor-musl" cancel_wait
  equal status "$status" 0
}

@test "musl: results and errno of every function" {
  [ -x "$PROGRAMS/host-errnos-musl" ] || skip "musl-gcc is not installed"
  compare "$PROGRAMS/host-errnos-musl" calls
  at_least rows "$(wc -l <with/stdout)" 100
}

# bats test_tags=root
@test "musl: a child of a recorded program is known from its reaper" {
  [ -x "$PROGRAMS/actor-musl" ] || skip "musl-gcc is not installed"
  compare sh -c '"$1" return 5; echo $?; "$1" kill 9; echo $?' sh "$PROGRAMS/actor-musl"
  recorded '.source == "reaped" and .exitcode == 5' ended exit
  recorded '.source == "reaped" and .exitsignal == 9' ended signal
}

@test "a program run by the loader as a command" {
  need readelf
  local loader
  loader=$(readelf -lW "$PROGRAMS/actor" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
  compare "$loader" "$PROGRAMS/actor" fork 7
  equal status "$status" 0
  recorded_end '.forked | not'
  recorded '.forked | not' 'argv | tojson' "[\"$PROGRAMS/actor\",\"fork\",\"7\"]"
  recorded .forked exitcode 7
  compare "$loader" --library-path /nowhere "$PROGRAMS/host-state" 9
  recorded_end true
}

# bats test_tags=root
@test "a setuid program is left alone, and is known from its reaper" {
  # a traced program would not get its privilege
  OBSERVE=(-u)
  if [ "$(id -u)" = 0 ]; then
    install -o 65534 -m 4755 "$PROGRAMS/actor" "$WORK/actor-setuid"
    chmod 755 "$WORK"
    if findmnt -no OPTIONS -T "$WORK" | grep -qw nosuid; then skip "the test directory is mounted nosuid"; fi
    compare sh -c '"$1" return 5; echo $?' sh "$WORK/actor-setuid"
    recorded '.source == "reaped"' exitcode 5
    equal 'by itself' "$(rows '.argv[1:3] == ["return", "5"]')" 0
  else
    [ -u /usr/bin/su ] || skip "/usr/bin/su is not setuid here"
    compare sh -c '/usr/bin/su --version; echo $?' sh
    recorded '.source == "reaped"' exitcode 0
    equal 'by itself' "$(rows '.exename == "su"')" 0
  fi
}
