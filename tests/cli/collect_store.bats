#!/usr/bin/env bats
# The feed store on a PostgreSQL server: the same as on SQLite, and a server that goes away for a while.

# shellcheck source=tests/cli/store.bash
. "${PL_SOURCE:?}/tests/cli/store.bash"
# shellcheck source=tests/cli/collect.bash
. "$PL_SOURCE/tests/cli/collect.bash"

bats_require_minimum_version 1.5.0

@test "values, statistics and jobs are those of SQLite" {
  use_store
  PL_STORE_URL=$STORE "$PROGRAMS/test_sink_store"
  PL_STORE_URL=$STORE "$PROGRAMS/test_sink_store_submitted"
}

@test "a file of the collector that fed the store adds nothing: what is there stays as it is, with processes and tags" {
  use_store
  collector c --bind 'tcp://127.0.0.1:*' --sink "store:$STORE" --sink "hdf5:$WORK/nodes.hdf5"
  deliver n1 1 10
  until_stored c 10
  collector_stop "$PID"
  plimsoll tag -q 1001 kept:yes
  plimsoll sql "SELECT * FROM jobs ORDER BY jobid" >jobs.before
  plimsoll sql "SELECT * FROM series ORDER BY jobid, host, metric, entity" >series.before
  run --separate-stderr plimsoll submit nodes.hdf5
  plimsoll sql "SELECT * FROM jobs ORDER BY jobid" >jobs.after
  plimsoll sql "SELECT * FROM series ORDER BY jobid, host, metric, entity" >series.after
  diff series.before series.after
  diff jobs.before jobs.after
  equal tag "$(ask "SELECT value FROM job_tags WHERE key = 'kept'")" yes
  [[ $stderr == *"all its 3 jobs are in the store already, skipped: 'nodes.hdf5'"* ]] || fail "$stderr"
  equal status "$status" 0
  # of one job the file has more than the store
  change "UPDATE sample_series SET count = count - 1, last_us = last_us - 5000000 WHERE job = (SELECT no FROM job WHERE jobid = '1002')"
  plimsoll sql "SELECT * FROM series ORDER BY jobid, host, metric, entity" >series.before
  run --separate-stderr plimsoll submit nodes.hdf5
  equal status "$status" 1
  [[ $stderr == *"job 1002 is in the store already, from a collector, with a part of these samples; run \`plimsoll delete 1002\` first"* ]] ||
    fail "$stderr"
  plimsoll sql "SELECT * FROM series ORDER BY jobid, host, metric, entity" >series.after
  diff series.before series.after
  plimsoll delete -q 1002
  run -0 --separate-stderr plimsoll submit nodes.hdf5
  [[ $output == "submitted 1002: "* ]] || fail "$output"
  equal readings "$(ask "SELECT count(*) FROM samples WHERE jobid = '1002' AND metric = 'group.cpu_time'")" 50
}

# The server without its directory being removed.
server_kill() {
  kill -QUIT "$PLPG_PID"
  for _ in $(seq 200); do
    kill -0 "$PLPG_PID" 2>/dev/null || return 0
    sleep 0.05
  done
  return 1
}

server_again() {
  local bin
  bin=$(postgres_bin)
  rm -f "$PLPG_DIR/data/postmaster.pid"
  (cd / && postgres_as "$bin/postgres" -D "$PLPG_DIR/data") >>"$PLPG_DIR.log" 2>&1 </dev/null 3>&- &
  for _ in $(seq 200); do
    PLPG_PID=$(head -n 1 "$PLPG_DIR/data/postmaster.pid" 2>/dev/null) || PLPG_PID=
    if [ -n "$PLPG_PID" ] && "$bin/pg_isready" -q -h "$PLPG_DIR" -U plimsoll -d postgres; then return 0; fi
    sleep 0.1
  done
  return 1
}

# The administrator, from another database.
psql_as() {
  "$(postgres_bin)/psql" -qAt "${PGURL/\/postgres\?//template1?}" -c "$1"
}

psql_in() {
  PGOPTIONS="-csearch_path=t$BATS_TEST_NUMBER" "$(postgres_bin)/psql" -qAt "$PGURL" -c "$1"
}

end_backends() {
  psql_as "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plimsoll'" >/dev/null
}

# Waits until the sink has failed this often since it was last looked at.
until_failed() {
  local before
  before=$(status_of c '.sinks[0].failures')
  until_status c ".sinks[0].failures >= $before + ${1:-2}"
}

@test "a server that refuses for a while gets everything, whatever its reason" {
  use_store
  collector c --bind 'tcp://127.0.0.1:*' --sink "store:$STORE"
  deliver n1 1 10
  until_stored c 10
  # its backend is killed, again and again
  for i in 1 2 3; do
    end_backends
    deliver n1 $((10 + i * 5 - 4)) $((10 + i * 5))
    until_stored c $((10 + i * 5))
  done
  # the database is read-only
  psql_as "ALTER DATABASE postgres SET default_transaction_read_only = on"
  end_backends
  deliver n1 26 35
  until_failed 3
  psql_as "ALTER DATABASE postgres RESET default_transaction_read_only"
  end_backends
  until_stored c 35
  # it takes no connections
  psql_as "ALTER DATABASE postgres ALLOW_CONNECTIONS false"
  end_backends
  deliver n1 36 45
  until_failed 3
  psql_as "ALTER DATABASE postgres ALLOW_CONNECTIONS true"
  until_stored c 45
  # a table is not there for a while
  psql_in "ALTER TABLE sample_chunk RENAME TO elsewhere"
  deliver n1 46 60
  until_failed 2
  psql_in "ALTER TABLE elsewhere RENAME TO sample_chunk"
  until_stored c 60
  equal "skipped and missing" "$(status_of c '[.sinks[] | .skipped + .missing] | add')" 0
  collector_stop "$PID"
  equal "values" "$(ask 'SELECT count(*) FROM samples')" $((60 * 5 * 7))
  equal "different ones" "$(ask 'SELECT count(*) FROM (SELECT DISTINCT jobid, host, metric, entity, time FROM samples) x')" $((60 * 5 * 7))
}

@test "what a server refuses is kept aside, and sent again when the cause is mended" {
  use_store
  collector c --bind 'tcp://127.0.0.1:*' --sink "store:$STORE"
  deliver n1 1 4
  until_stored c 4
  psql_in "ALTER TABLE job ADD CONSTRAINT ours CHECK (jobid <> 'node:n2:2027-01-15')"
  deliver n2 1 3
  deliver n1 5 8
  until_stored c 11
  equal "left out" "$(status_of c '.sinks[0] | [.skipped, .kept_aside] | join(" ")')" "3 3"
  collector_stop "$PID"
  grep -q "skipped entry [0-9]*, kept in '$WORK/c/sinks/store-.*/left-out': PostgreSQL: .*ours" c.err
  equal "values" "$(ask 'SELECT count(*) FROM samples')" $((8 * 5 * 7))
  run -1 plimsoll collect --log c --resend --sink "store:$STORE"
  [[ $output == *"0 sent again, 3 left out again"* ]]
  psql_in "ALTER TABLE job DROP CONSTRAINT ours"
  run -0 plimsoll collect --log c --resend --sink "store:$STORE"
  [[ $output == *"3 sent again, 0 left out again"* ]]
  equal "values" "$(ask 'SELECT count(*) FROM samples')" $((11 * 5 * 7))
  run -1 plimsoll collect --log c --resend --sink "store:$STORE"
  equal "nothing is left" "$output" "plimsoll: error: no entries are kept aside in 'c' for any sink"
  # and the collector goes on where it was
  collector c --bind "$NATIVE" --sink "store:$STORE"
  deliver n2 4 5
  until_stored c 13
  collector_stop "$PID"
  equal "values" "$(ask 'SELECT count(*) FROM samples')" $((13 * 5 * 7))
}

@test "the server is away for a while, and the collector is killed meanwhile" {
  use_store
  collector c --bind 'tcp://127.0.0.1:*' --sink "store:$STORE" --sink stdout:jsonl
  deliver n1 1 10
  until_stored c 10
  server_kill
  deliver n1 11 20
  until_status c '.sinks[1].position == 21 and .sinks[0].phase == "pausing" and .sinks[0].entries_behind == 10'
  kill -KILL "$PID"
  wait "$PID" || true
  collector c --bind "$NATIVE" --sink "store:$STORE" --sink stdout:jsonl
  deliver n1 21 25
  server_again
  until_stored c 25
  equal "skipped and missing" "$(status_of c '[.sinks[] | .skipped + .missing] | add')" 0
  collector_stop "$PID"
  equal "values" "$(ask 'SELECT count(*) FROM samples')" $((25 * 5 * 7))
  equal "different ones" "$(ask 'SELECT count(*) FROM (SELECT DISTINCT jobid, host, metric, entity, time FROM samples) x')" $((25 * 5 * 7))
  equal "increase" "$(ask "SELECT increase FROM series WHERE jobid = '1002' AND metric = 'group.cpu_time'")" 124000.0
  # what people see
  run -0 plimsoll list --json
  equal "jobs" "$(jq -r '[.[] | .jobid] | sort | join(" ")' <<<"$output")" "1000 1001 1002 node:n1:2027-01-15"
  run -0 plimsoll series 1002
  [[ $output == *group.cpu_time*n1*125* ]]
}
