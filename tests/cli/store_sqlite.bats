#!/usr/bin/env bats
# What can happen to a store that is a file.

bats_require_minimum_version 1.5.0
load store

@test "the user's own store: made below the data directory, readable by nobody else" {
  export HOME=$WORK/home
  unset XDG_DATA_HOME
  mkdir -p "$HOME"
  native_job a --id a
  plimsoll submit -q a
  [ -f "$HOME/.local/share/plimsoll/plimsoll.db" ] || fail 'not there'
  equal mode "$(stat -c %a "$HOME/.local/share/plimsoll")" 700
  XDG_DATA_HOME=$WORK/data plimsoll submit -q a
  [ -f data/plimsoll/plimsoll.db ] || fail 'XDG_DATA_HOME is not heeded'
}

@test "a store in a directory that is read-only: says so" {
  [ "$(id -u)" != 0 ] || skip 'root may write'
  native_job a --id a
  plimsoll submit -q --db there/one.db a
  chmod 500 there
  run -1 plimsoll list --db there/one.db
  chmod 700 there
  [[ $output == *"'there/one.db': SQLite keeps files beside a store that it reads, but this directory is read-only"* ]] || fail "$output"
  plimsoll list -q --db there/one.db
}

@test "a path, sqlite:///, an absolute one with four slashes, memory" {
  native_job a --id a
  plimsoll submit -q --db one.db a
  plimsoll submit -q --db sqlite:///two.db a
  plimsoll submit -q --db "sqlite:///$WORK/three.db" a
  for f in one two three; do [ -f $f.db ] || fail "no $f.db"; done
  plimsoll submit -q --db :memory: a
  run -1 plimsoll submit -q --db mysql://x/y a
  [[ $output == *"'mysql://x/y' is not a store"* ]] || fail "$output"
  run -1 plimsoll list --db nowhere.db
  [[ $output == *"there is no store 'nowhere.db' yet"* ]] || fail "$output"
}

@test "a store that somebody else holds: waits, then says so and keeps the input" {
  use_store
  native_job a --id a
  plimsoll submit -q a
  native_job b --id b
  python3 - <<'P' &
import sqlite3, time, os
d = sqlite3.connect("store.db", isolation_level=None)
d.execute("BEGIN IMMEDIATE")
open("held", "w").close()
while not os.path.exists("enough"):
    time.sleep(0.05)
P
  holder=$!
  until [ -e held ]; do sleep 0.05; done
  PLIMSOLL_DB_WAIT=100ms run -1 plimsoll submit -r b
  touch enough
  wait $holder
  [[ $output == *"locked; another command is writing; try again; nothing of it was stored"* ]] || fail "$output"
  [ -d b ] || fail 'the input is gone'
  plimsoll submit -q b
  equal jobs "$(ask 'SELECT count(*) FROM jobs')" 2
}

@test "an input goes into the store that is there: one that is restored while submit waits has all that is removed" {
  use_store
  native_job first --id first
  plimsoll submit -q first
  plimsoll db backup kept.db >/dev/null
  local options
  for options in "submit -r a b" "submit -r -p 2 a b" "submit a b" "submit --move-away a b"; do
    rm -rf a b failed
    native_job a --id a
    native_job b --id b
    cp kept.db store.db.old
    # shellcheck disable=SC2086
    restored_under "$STORE" plimsoll $options
    equal "status of $options" "$status" 0
    grep -q "'$STORE' was moved, removed or replaced; opening it again" restored.out || fail "$(cat restored.out)"
    equal "jobs after $options" "$(ask 'SELECT jobid FROM jobs ORDER BY jobid' | paste -sd ' ')" "a b first"
    plimsoll delete a b >/dev/null
  done
  [ ! -e failed ] || fail "$(ls failed)"
  # what is there already, but not in what is restored
  native_job first --id first
  rm -rf a
  native_job a --id a
  plimsoll submit -q a
  cp kept.db store.db.old
  restored_under "$STORE" plimsoll submit -r a first
  equal "status of what was there" "$status" 0
  equal jobs "$(ask 'SELECT jobid FROM jobs ORDER BY jobid' | paste -sd ' ')" "a first"
  [ ! -e a ] || fail "a is left: $(cat restored.out)"
  # a run
  cp kept.db store.db.old
  restored_under "$STORE" plimsoll run -q -o job -- true
  equal "jobs after run" "$(ask "SELECT count(*) FROM jobs WHERE jobid = '$(jq -r .jobid job/job.json)'")" 1
}

@test "a store that may not be written to, and one that is no database" {
  use_store
  native_job a --id a
  native_job b --id b
  plimsoll submit -q a
  printf 'this is not a database, it is a text of some length, and then some more of it' >text.db
  run -1 plimsoll submit --db text.db b
  [[ $output == *"'text.db' is not a Plimsoll store; choose another with --db"* ]] || fail "$output"
  equal kept "$(head -c 7 text.db)" 'this is'
  [ "$(id -u)" != 0 ] || skip "root may write everywhere"
  chmod 444 store.db
  run -1 plimsoll submit -r b
  [[ $output == *"readonly"* || $output == *"read-only"* || $output == *"cannot open store"* ]] || fail "$output"
  [ -d b ] || fail 'the input is gone'
}

# bats test_tags=root
@test "a full disk: a clear line, nothing half, the input stays" {
  [ "$(id -u)" = 0 ] || skip "mounting needs root"
  mkdir small
  mount -t tmpfs -o size=1m tmpfs small || skip "mounting needs root"
  native_job a --id a --procs 8000
  status=0
  plimsoll submit -r --db small/store.db a 2>err || status=$?
  rows=$(plimsoll sql --csv --db small/store.db 'SELECT count(*) FROM jobs' 2>/dev/null | sed 1d) || true
  umount small
  equal status "$status" 1
  grep -q 'full' err || fail "$(cat err)"
  [ -d a ] || fail 'the input is gone'
  [ -z "$rows" ] || equal jobs "$rows" 0
}

@test "a copy of the store that opens by itself" {
  use_store
  native_job a --id a
  plimsoll submit -q a
  plimsoll db backup copy.db
  equal jobs "$(plimsoll sql --csv --db copy.db 'SELECT jobid FROM jobs' | sed 1d)" a
  run -1 plimsoll db backup copy.db
  [[ $output == *"'copy.db' already exists"* ]] || fail "$output"
}

@test "a store of before processes were counted learns their number" {
  use_store
  plimsoll run -q -o job -j 5 -- bash -c "(:); exec $PROGRAMS/actor return 0"
  plimsoll submit -q job
  native_job other --id 6 --procs 3
  plimsoll submit -q other
  python3 - store.db "$WITHOUT_SUMS" <<'PYTHON'
import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
d.executescript(sys.argv[2])
d.executescript("""DROP VIEW jobs; ALTER TABLE job DROP COLUMN processes; DELETE FROM schema_version WHERE number >= 5;
DROP VIEW job_analyses; DROP TABLE job_analysis; ALTER TABLE sample_series DROP COLUMN begin_us;
CREATE VIEW jobs AS SELECT no AS job, jobid, num_procs FROM job;""")
PYTHON
  plimsoll db migrate -q
  equal numbers "$(ask 'SELECT jobid, processes, images, num_procs FROM jobs ORDER BY jobid' | tr '\n' ' ')" '5,2,3,3 6,3,3,3 '
  sums_agree
}
