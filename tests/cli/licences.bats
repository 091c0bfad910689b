#!/usr/bin/env bats
# docs/licences.md lists every library that is linked.

bats_require_minimum_version 1.5.0
load lib

@test "every library of cmake/libraries.cmake has a row with its package and licence" {
  local list=$PL_SOURCE/cmake/libraries.cmake doc=$PL_SOURCE/docs/licences.md names name
  names=$(sed -nE 's/^find_library\([A-Z0-9]+ (NAMES [a-z0-9_]+ )?([a-z0-9]+).*/\2/p' "$list")
  names+=" $(sed -nE 's/^ *pkg_check_modules\([A-Z]+ QUIET (.*)\)/\1/p' "$list")"
  [ "$(wc -w <<<"$names")" -ge 20 ] || fail "too few names: $names"
  for name in $names; do
    grep -qE "^\| ([a-z0-9, -]+, )?$name(, [a-z0-9, -]+)? \| [^|]+ \| [a-z0-9.-]+ \| [A-Za-z].+ \|$" "$doc" || fail "no row for $name"
  done
  # no row is under the GPL alone
  ! sed -n 's/^| .* | \([^|]*\) |$/\1/p' "$doc" | grep -E '^(A?GPL)' || fail "a library under the GPL"
}

@test "every package of the list is one that the build installs" {
  local package
  for package in $(sed -nE 's/^\| .* \| (lib[a-z0-9.-]+|zlib1g-dev) \| .*/\1/p' "$PL_SOURCE/docs/licences.md" | sort -u); do
    grep -qwF -- "$package" "$PL_SOURCE/scripts/deps" || fail "scripts/deps does not install $package"
  done
}
