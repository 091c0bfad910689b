#!/usr/bin/env bats
# What can happen to a store on a server.

bats_require_minimum_version 1.5.0
load store

setup_file() {
  export PL_ENGINE=postgres
  postgres_start
}

@test "a server that is not there: one clear line without the password, and the input stays" {
  native_job a --id a
  run -1 plimsoll submit -r --db "postgresql://bob:secret@127.0.0.1:1/jobs" a
  [[ $output == *"cannot connect to postgresql://bob:***@127.0.0.1:1/jobs: "* ]] || fail "$output"
  [[ $output != *secret* ]] || fail "$output"
  equal lines "$(wc -l <<<"$output")" 1
  [ -d a ] || fail 'the input is gone'
}

@test "the server ends the connection in the middle: nothing half, a clear line, and a second try works" {
  use_store
  native_job a --id a --procs 20000
  plimsoll db migrate -q
  broken=0
  for i in $(seq 20); do
    plimsoll submit -r a >out 2>&1 &
    pid=$!
    sleep "0.0$i"
    "$(postgres_bin)/psql" -q "$PGURL" -c "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'plimsoll'" >/dev/null
    status=0
    wait $pid || status=$?
    jobs=$(ask 'SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM process)')
    if [ $status = 0 ]; then
      equal stored "$jobs" 1,20000
      plimsoll delete -q a
      native_job a --id a --procs 20000
    else
      broken=$((broken + 1))
      equal nothing "$jobs" 0,0
      [ -d a ] || fail 'the input is gone'
      grep -q 'error' out || fail "$(cat out)"
    fi
  done
  at_least 'ended in the middle' "$broken" 1
  plimsoll submit -q a
  equal stored "$(ask 'SELECT num_procs FROM jobs')" 20000
}

@test "a user who may only read: a clear line, and reading works" {
  use_store
  native_job a --id a
  native_job b --id b
  plimsoll submit -q a
  psql=$(postgres_bin)/psql schema=t$BATS_TEST_NUMBER
  "$psql" -q "$PGURL" -c "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA $schema TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA $schema TO reader"
  reader=${STORE/user=plimsoll/user=reader}
  run -1 plimsoll submit -r --db "$reader" b
  [[ $output == *"permission denied"* ]] || fail "$output"
  [ -d b ] || fail 'the input is gone'
  equal reads "$(plimsoll sql --csv --db "$reader" 'SELECT jobid FROM jobs' | sed 1d)" a
}

@test "sql as a superuser is refused, who could shed the guard; as another user it holds" {
  use_store
  native_job a --id a
  plimsoll submit -q a
  unset PLIMSOLL_SQL_SUPERUSER
  local s psql
  psql=$(postgres_bin)/psql
  run -1 --separate-stderr plimsoll sql "select set_config('role','none',false), query_to_xml('select pg_read_file(''PG_VERSION'')',true,true,'')"
  equal rows "$output" ""
  [[ $stderr == *"as a superuser of the server"*"CREATE ROLE reader LOGIN; GRANT SELECT"*"PLIMSOLL_SQL_SUPERUSER=yes"* ]] || fail "$stderr"
  run -1 --separate-stderr plimsoll sql 'SELECT jobid FROM jobs'
  "$psql" -q "$PGURL" -c "CREATE ROLE own_reader LOGIN" -c "CREATE ROLE own_files LOGIN IN ROLE own_reader, pg_read_server_files" \
    -c "GRANT USAGE ON SCHEMA t$BATS_TEST_NUMBER TO own_reader" -c "GRANT SELECT ON ALL TABLES IN SCHEMA t$BATS_TEST_NUMBER TO own_reader"
  run -1 --separate-stderr plimsoll sql --db "${STORE/user=plimsoll/user=own_files}" 'SELECT jobid FROM jobs'
  [[ $stderr == *"as a superuser of the server"* ]] || fail "$stderr"
  local reader=${STORE/user=plimsoll/user=own_reader}
  equal reads "$(plimsoll sql --csv --db "$reader" 'SELECT jobid FROM jobs' | sed 1d)" a
  for s in "select set_config('role','none',false), query_to_xml('select pg_read_file(''PG_VERSION'')',true,true,'')" \
    "select set_config('session_authorization','plimsoll',false)" "select count(*) from pg_authid"; do
    run --separate-stderr plimsoll sql --db "$reader" "$s"
    equal "$s: $output" "$status" 1
    [[ $stderr == *"permission denied"* ]] || fail "$s: $stderr"
  done
}

@test "sql as a superuser, where that is wanted: nothing stays, no file is read or written" {
  use_store
  native_job a --id a
  plimsoll submit -q a
  plimsoll sql "SELECT lo_from_bytea(77001, 'kept')" || true
  equal kept "$("$(postgres_bin)/psql" -qAt "$PGURL" -c 'SELECT count(*) FROM pg_largeobject_metadata')" 0
  "$(postgres_bin)/psql" -q "$PGURL" -c "SELECT lo_from_bytea(77002, 'x')" >/dev/null
  for s in "SELECT lo_export(77002, '$PLPG_DIR/out')" "SELECT pg_read_file('PG_VERSION')" "SELECT pg_ls_dir('.')"; do
    run -1 plimsoll sql "$s"
    [[ $output == *"permission denied"* ]] || fail "$output"
  done
  [ ! -e "$PLPG_DIR/out" ] || fail "a file was written"
  equal reads "$(plimsoll sql --csv 'SELECT jobid FROM jobs' | sed 1d)" a
}

@test "exports are the same, byte for byte, from both engines" {
  use_store
  native_job job --id 77 --procs 5000 --threads 3 --odd
  mkdir -p smp/node1.0123abcd
  "$PROGRAMS/make_samples" -j 78 smp/node1.0123abcd/run1.smp
  echo '{"plimsoll_job": 1, "jobid": "78", "start_us": 1, "stop_us": 2}' >smp/job.json
  for engine in postgres sqlite; do
    [ $engine = postgres ] || export PLIMSOLL_DB=$WORK/lite.db
    plimsoll submit job smp >/dev/null
    plimsoll export 77 -q -o $engine.jsonl
    plimsoll export 77 -q --what threads -o threads.$engine.jsonl
    plimsoll export 78 -q -o samples.$engine.jsonl
  done
  equal lines "$(cat ./*.postgres.jsonl postgres.jsonl | wc -l)" $((5000 + 5002 + 433))
  cmp postgres.jsonl sqlite.jsonl
  cmp threads.postgres.jsonl threads.sqlite.jsonl
  cmp samples.postgres.jsonl samples.sqlite.jsonl
}
