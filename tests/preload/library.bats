#!/usr/bin/env bats
# The files libplimsoll.so and libpapiex.so themselves ask for nothing that a program could lack, bring nothing that a
# program could notice, and stand in for exactly the functions of exports.txt.

# shellcheck disable=SC2034,SC2094,SC2153 # variables of lib.bash
load lib

LIBRARIES=("$PL_BUILD"/lib/lib*.so)

@test "no strong undefined symbol" {
  need nm
  for LIBRARY in "${LIBRARIES[@]}"; do
    equal undefined "$(nm -D --undefined-only "$LIBRARY" | awk '$(NF - 1) != "w"')" ''
  done
}

@test "no symbol version, needed or defined" {
  need readelf
  for LIBRARY in "${LIBRARIES[@]}"; do
    equal versions "$(nm -D --with-symbol-versions "$LIBRARY" | grep -c @ || true)" 0
    readelf -VW "$LIBRARY" >versions
    grep -q 'No version information' versions || fail "$(cat versions)"
  done
}

@test "no library needed, no search path, no text relocation" {
  need readelf
  for LIBRARY in "${LIBRARIES[@]}"; do
    readelf -dW "$LIBRARY" >dynamic
    # a file without a dynamic section would pass every other check
    grep -q '(SYMTAB)' dynamic
    for tag in NEEDED RPATH RUNPATH TEXTREL SONAME; do
      equal "$tag" "$(grep -c "($tag)" dynamic || true)" 0
    done
  done
}

@test "exports exactly the committed list" {
  need nm
  for LIBRARY in "${LIBRARIES[@]}"; do
    nm -D --defined-only "$LIBRARY" | awk '{ print $NF }' | LC_ALL=C sort >exports
    diff "$PL_SOURCE/tests/preload/exports.txt" exports || fail "new exports need a row in errnos.c, too"
    LC_ALL=C sort -c "$PL_SOURCE/tests/preload/exports.txt"
  done
}

@test "only functions are exported" {
  need nm
  for LIBRARY in "${LIBRARIES[@]}"; do
    equal 'not functions' "$(nm -D --defined-only "$LIBRARY" | awk '$(NF - 1) != "T"')" ''
  done
}

@test "programs keep their shadow stacks and branch tracking" {
  need readelf
  [ "$(uname -m)" = x86_64 ] || skip "marks of x86 only"
  for LIBRARY in "${LIBRARIES[@]}"; do
    readelf -nW "$LIBRARY" >notes
    grep -q 'IBT, SHSTK' notes || fail "$(cat notes)"
  done
}

@test "no executable stack, no memory both writable and executable" {
  need readelf
  for LIBRARY in "${LIBRARIES[@]}"; do
    readelf -lW "$LIBRARY" >segments
    equal 'stack' "$(awk '$1 == "GNU_STACK" { print $(NF - 1) }' segments)" RW
    equal 'writable and executable' "$(awk '$1 == "LOAD"' segments | grep -c 'RWE' || true)" 0
  done
}

@test "every exported function has a row in the tests of errno" {
  "$PROGRAMS/host-errnos" calls >calls
  while read -r name; do
    grep -q -E "^$name( |:)" calls || fail "errnos.c does not call $name"
  done <"$PL_SOURCE/tests/preload/exports.txt"
}

@test "preloaded without being asked to record, it does nothing" {
  for LIBRARY in "${LIBRARIES[@]}"; do
    compare_without_output() {
      HOST=("$@")
      once plain ''
      once with "$LIBRARY"
      diff -r -a plain with || fail "differs"
    }
    compare_without_output "$PROGRAMS/host-state" 7
    equal status "$status" 7
    compare_without_output "$PROGRAMS/host-threads" ends
    compare_without_output "$PROGRAMS/actor" waits
    compare_without_output bash "$HOSTS/script.bash"
  done
}
