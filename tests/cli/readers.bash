# Shared by the bats files of tables for readers of other makers.

# rows that make several row groups, and dictionaries that grow
MANY=70000
[ -z "${PL_LONG:-}" ] || MANY=1000000
export PL_NPM=${PL_NPM:-$PL_SOURCE/build/npm}

need_readers() {
  [ -e "$PL_NPM/installed" ] || skip "the readers from npm are not installed"
}

expect() {
  rm -rf expected
  mkdir expected
  "$PROGRAMS/make_tables" expect "$1" expected
  EXPECTED=$(($1 * $(jq length expected/columns.json)))
}

# write FORMAT CODEC ROWS BATCH FILE
write() {
  "$PROGRAMS/make_tables" "$@"
}

# compare READER FILE [READER FILE]...
compare() {
  node "$PL_SOURCE/tests/readers/compare.mjs" expected "$@"
}

# same READER FILE [READER FILE]...: all values of all
same() {
  local want
  want=$(printf "same: $EXPECTED, %s of %s\n" "$@")
  equal "values" "$(compare "$@" 2>&1 | tail -c 1000)" "$want"
}
