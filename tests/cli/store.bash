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

# ordinary_user: from here on, the store is opened by a user of the server who is no superuser
ordinary_user() {
  [ "${PL_ENGINE:-sqlite}" != sqlite ] || return 0
  local schema=t$BATS_TEST_NUMBER
  "$(postgres_bin)/psql" -q "$PGURL" -c "CREATE ROLE ordinary$schema LOGIN" -c "GRANT ALL ON SCHEMA $schema TO ordinary$schema" \
    -c "GRANT ALL ON ALL TABLES IN SCHEMA $schema TO ordinary$schema" >/dev/null
  STORE=${STORE/user=plimsoll/user=ordinary$schema}
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

# For stores as they were before the lists of migration 12.
WITHOUT_LISTS='DROP TABLE job_word; DROP INDEX job_host_start; DROP INDEX job_tag_value; DROP INDEX job_start; DROP INDEX job_user;
  DROP INDEX job_failed; DROP INDEX job_without_status; DROP INDEX job_streamed; ALTER TABLE job_host DROP COLUMN start_us;
  ALTER TABLE job_tag DROP COLUMN start_us; ALTER TABLE job DROP COLUMN core_us; ALTER TABLE job DROP COLUMN energy_mj;
  CREATE INDEX job_tag_value ON job_tag (key, value); CREATE INDEX job_start ON job (start_us); CREATE INDEX job_user ON job (username);'
if [ "${PL_ENGINE:-sqlite}" = sqlite ]; then WITHOUT_LISTS="DROP TRIGGER job_start_moves; $WITHOUT_LISTS"; fi

# For stores as they were before the sums of migration 9.
# shellcheck disable=SC2034 # of tests
WITHOUT_SUMS=$WITHOUT_LISTS'DROP VIEW job_executables; DROP VIEW job_operations; DROP VIEW job_users; DROP TABLE job_executable;
  DROP TABLE job_operation; DROP TABLE job_user_sum;'

# newest_schema: the number of the last migration
newest_schema() {
  plimsoll db schema | sed -n 's/^-- migration \([0-9]*\):.*/\1/p' | tail -n 1
}

# sums_agree: what is stored by executable, by tags and by job is what the processes add up to
sums_agree() {
  local sums='sum(images), sum(processes), sum(cpu_time), sum(duration), sum(rchar), sum(wchar), sum(read_bytes), sum(write_bytes), max(rssmax)'
  local counted="count(*), sum(CASE WHEN ended = 'exec' THEN 0 ELSE 1 END), \
    sum(cpu_time), sum(duration), sum(rchar), sum(wchar), sum(read_bytes), sum(write_bytes), max(rssmax)"
  local by
  for by in exename:job_executables tags:job_operations jobid:job_users; do
    ask "SELECT job, ${by%:*}, $counted FROM processes GROUP BY 1, 2 ORDER BY 1, 2" >sums.counted
    ask "SELECT job, ${by%:*}, $sums FROM ${by#*:} WHERE images > 0 GROUP BY 1, 2 ORDER BY 1, 2" >sums.stored
    diff sums.counted sums.stored || fail "$by"
  done
  equal 'sums without a job' "$(ask 'SELECT (SELECT count(*) FROM job_executable WHERE job NOT IN (SELECT no FROM job)) +
    (SELECT count(*) FROM job_operation WHERE job NOT IN (SELECT no FROM job)) +
    (SELECT count(*) FROM job_user_sum WHERE job NOT IN (SELECT no FROM job)) AS n' | tail -n 1)" 0
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
