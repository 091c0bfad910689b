#!/usr/bin/env bats
# Every function that the library stands in for, in every place that a program may call it from (programs/matrix.c): the
# same results, errno and memory as without it, and the rows of matrix.txt, cell by cell.

# shellcheck disable=SC2034,SC2153 # variables of lib.bash
load lib

# The rows of the last comparison, cell by cell, are those of matrix.txt. Nobody counted the threads
# of a child that was killed.
same_rows() {
  jq -s -r -f "$PL_SOURCE/tests/preload/matrix.jq" rows.jsonl >cells
  diff "$PL_SOURCE/tests/preload/matrix.txt" cells || fail "the rows differ from matrix.txt"
}

@test "every function that the library stands in for is in the matrix" {
  "$PROGRAMS/host-matrix" list >functions
  diff "$PL_SOURCE/tests/preload/exports.txt" functions
}

@test "plain, in a thread, in a child of vfork, in a signal handler" {
  OBSERVE=(-u)
  compare "$PROGRAMS/host-matrix"
  equal status "$status" 0
  same_rows
}

@test "the same with a tracer" {
  need strace
  OBSERVE=(-u)
  compare strace -f -o /dev/null "$PROGRAMS/host-matrix"
  equal status "$status" 0
  same_rows
}

@test "the same with musl, where nothing is recorded" {
  [ -x "$PROGRAMS/host-matrix-musl" ] || skip "musl-gcc is not installed"
  OBSERVE=(-u)
  compare "$PROGRAMS/host-matrix-musl"
  equal status "$status" 0
  equal rows "$(rows '.exename == "host-matrix-musl"')" 0
}

@test "the cells that cannot be are named, and stand in the documentation" {
  "$PROGRAMS/host-matrix" | sed -n 's/: cannot be:.*//p' >missing
  equal missing "$(cat missing)" $'pthread_create vfork\nthrd_create vfork'
  # all others have rows
  cut -d: -f1 "$PL_SOURCE/tests/preload/matrix.txt" >cells
  "$PROGRAMS/host-matrix" | sed -n '/^[^ ].*: status/s/:.*//p' | LC_ALL=C sort >all
  LC_ALL=C sort cells | diff all -
  while read -r function place; do
    grep -q "\`$function\` in a child of $place" "$PL_SOURCE/docs/testing.md" || fail "docs/testing.md does not name $function $place"
  done <missing
}
