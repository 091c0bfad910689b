#!/usr/bin/env bats
# The library in a root with glibc 2.31, where dlsym() and the functions of threads are libraries of their own: every
# host program, compiled there, does the same with it as without it, and is recorded. scripts/old-root makes the root.

# shellcheck disable=SC2034,SC2094,SC2153 # variables of lib.bash
load lib

setup_file() {
  need mmdebstrap
  OLD_ROOT=$(PLIMSOLL_FRESH_CACHE=$PL_ROOTS "$PL_SOURCE/scripts/old-root") || fail "no root of an older Debian"
  export OLD_ROOT BUILT=/opt/plimsoll
  mkdir -p "$OLD_ROOT$BUILT"
  cp "$PL_BUILD"/lib/libplimsoll.so "$PL_SOURCE"/tests/preload/programs/*.[ch] "$PL_SOURCE"/tests/programs/actor*.* \
    "$OLD_ROOT$BUILT/"
  # a program without threads does not load libpthread there
  chroot "$OLD_ROOT" bash -ec '
    cd "$1"
    cc="gcc -w -O1 -D_GNU_SOURCE"
    for name in arguments errnos exits filters limits matrix observe places state threads vforks; do
      $cc -o host-$name $name.c -pthread -ldl
    done
    $cc -o actor actor*.c -pthread
    $cc -o host-late late.c -ldl
    $cc -shared -fPIC -DPLUGIN -o late.so late.c -pthread
    $cc -DALONE -o host-exits-alone exits.c' - "$BUILT"
}

eval "$(declare -f setup | sed '1s/setup/make_work/')"
setup() {
  make_work
  PROGRAMS=$BUILT LIBRARY=$BUILT/libplimsoll.so
  ENTER=("$PL_SOURCE/tests/preload/enter-root" "$OLD_ROOT" "$WORK")
}

@test "glibc before 2.34, and no libdl in a plain program" {
  "${ENTER[@]}" /bin/sh -c 'ldd --version; ldd /bin/true' >said
  grep -q ' 2\.31$' said || fail "$(cat said)"
  ! grep libdl said || fail "$(cat said)"
}

@test "every function that it stands in for: results and errno" {
  compare "$PROGRAMS/host-errnos" calls
  equal status "$status" 0
  compare "$PROGRAMS/host-errnos" bad_pointers
}

@test "every function in every place that it may be called from" {
  OBSERVE=(-u)
  compare "$PROGRAMS/host-matrix"
  equal status "$status" 0
  jq -s -r -f "$PL_SOURCE/tests/preload/matrix.jq" rows.jsonl >cells
  diff "$PL_SOURCE/tests/preload/matrix.txt" cells || fail "the rows differ from matrix.txt"
}

@test "a shell sees the status of its children" {
  compare /bin/sh -c '(exit 1); echo $?; /bin/true; echo $?; /bin/false; echo $?; nosuch; echo $?; exit 7'
  recorded '.exename == "sh" and .exitcode == 7' ended exit
  recorded '.exename == "true"' exitcode 0
  recorded '.exename == "false"' exitcode 1
}

@test "threads of a library that is loaded later" {
  compare "$PROGRAMS/host-late" "$PROGRAMS/late.so"
  equal output "$(cat with/stdout)" $'first 7\nsecond 7'
  recorded '.exename == "host-late"' numtids 3
}

@test "threads: ends, cancellation, copies, keys" {
  for mode in ends many fork keys all_keys cancel_waits cancel_before cancel_loops exit_main exit_thread; do
    compare "$PROGRAMS/host-threads" "$mode"
  done
  compare "$PROGRAMS/actor" c11_threads 5
  compare "$PROGRAMS/actor" live_threads 3
  compare timeout -s KILL 5 "$PROGRAMS/actor" cancel_wait
}

@test "children of vfork, spawn, system and popen" {
  for mode in suspends memory bare spawn; do
    compare "$PROGRAMS/host-vforks" "$mode"
  done
  compare "$PROGRAMS/actor" waits
  compare "$PROGRAMS/actor" system
  compare "$PROGRAMS/actor" popen
  compare "$PROGRAMS/actor" chain 4
  for how in execv execve execvp execvpe execl execlp execle fexecve; do
    compare "$PROGRAMS/actor" exec "$how"
  done
}

@test "ends, filters, arguments" {
  for mode in return exit _exit quick_exit abort daemon; do
    compare "$PROGRAMS/host-exits" "$mode"
    compare "$PROGRAMS/host-exits-alone" "$mode"
  done
  compare "$PROGRAMS/host-state" 17
  compare "$PROGRAMS/host-arguments" print 'a b' x
  for mode in prctl syscall child refused; do
    compare /bin/sh -c '"$@"; echo "status $?"' sh "$PROGRAMS/host-filters" "$mode"
  done
}

@test "a program is recorded as with a new libc" {
  compare "$PROGRAMS/actor" fork 7
  equal images "$(jq -s 'map(select(.exename == "actor")) | length' rows.jsonl)" 2
  equal ends "$(jq -s -c 'map(.ended) | unique' rows.jsonl)" '["exit"]'
}
