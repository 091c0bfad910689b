# A store for the tests of one file, on the engine that $PL_ENGINE names: sqlite, or a private PostgreSQL
# server, where every test has a schema of its own.

# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash" || exit 1
# shellcheck source=tests/cli/postgres.bash
. "$PL_SOURCE/tests/cli/postgres.bash" || exit 1

setup_file() {
  [ "${PL_ENGINE:-sqlite}" = sqlite ] || postgres_start
}

teardown_file() {
  [ "${PL_ENGINE:-sqlite}" = sqlite ] || postgres_stop
}

# Called by tests that want a store: $STORE, also in the environment.
use_store() {
  if [ "${PL_ENGINE:-sqlite}" = sqlite ]; then
    STORE=$WORK/store.db
  else
    local schema=t$BATS_TEST_NUMBER
    "$(postgres_bin)/psql" -q "$PGURL" -c "CREATE SCHEMA $schema" >/dev/null
    STORE="$PGURL&options=-csearch_path%3D$schema"
  fi
  export PLIMSOLL_DB=$STORE
}

# ask SQL: rows as CSV without the header.
ask() {
  plimsoll sql --csv "$1" | sed 1d
}

# change SQL: in the tables themselves
change() {
  if [ "${PL_ENGINE:-sqlite}" = sqlite ]; then
    python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]); db.commit()' "$STORE" "$1"
  else
    "$(postgres_bin)/psql" -q "$PGURL" -c "SET search_path TO t$BATS_TEST_NUMBER" -c "$1"
  fi
}

# A job as `plimsoll run` leaves it: native_job DIRECTORY [OPTION...], see tests/fixtures/job.py.
native_job() {
  python3 "$PL_SOURCE/tests/fixtures/job.py" "$@"
}

# The same as EPMT leaves it, for tests with the tag epmt: make_job DIRECTORY [OPTION...], see tests/fixtures/epmt_job.py.
make_job() {
  python3 "$PL_SOURCE/tests/fixtures/epmt_job.py" "$@"
}

# pack DIRECTORY ARCHIVE [tar's option for compression]
pack() {
  tar "${3:--z}" -cf "$2" -C "$1" .
}
