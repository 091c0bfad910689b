#!/usr/bin/env bats
# The contract of the store's engines against a real PostgreSQL server; SQLite's turn is in the unit
# tests. The checks themselves are in tests/unit/store/test_store_engine_*.c.

bats_require_minimum_version 1.5.0
load lib
load postgres

setup_file() {
  postgres_start || skip "no PostgreSQL server here"
}

teardown_file() {
  postgres_stop
}

@test "the engine keeps its contract on PostgreSQL" {
  for part in statements writing postgres; do
    run env PL_STORE_URLS="$PGURL" "$PROGRAMS/test_store_engine_$part"
    echo "$output"
    [ "$status" -eq 0 ]
  done
}

@test "viewers see their jobs on PostgreSQL" {
  run env PL_STORE_URLS="$PGURL" "$PROGRAMS/test_viewer"
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the list of jobs is right on PostgreSQL" {
  run env PL_STORE_URLS="$PGURL" "$PROGRAMS/test_job_list"
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a store is used as the user that the URL names" {
  run env PL_STORE_URLS="${PGURL/user=plimsoll/user=nobody-at-all}" "$PROGRAMS/test_store_engine_statements"
  [ "$status" -ne 0 ]
  [[ $output == *'role "nobody-at-all" does not exist'* ]] || fail "$output"
}
