#!/usr/bin/env bats
# The feed store on a PostgreSQL server: the same as on SQLite, and a server that goes away for a while.

# shellcheck source=tests/cli/store.bash
. "${PL_SOURCE:?}/tests/cli/store.bash"
# shellcheck source=tests/cli/collect.bash
. "$PL_SOURCE/tests/cli/collect.bash"

bats_require_minimum_version 1.5.0

@test "values, statistics and jobs are those of SQLite" {
  use_store
  PL_STORE_URL=$STORE "$PROGRAMS/test_feed_store"
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
