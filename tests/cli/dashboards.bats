# The dashboards of contrib/grafana: made from their table, and their SQL runs on a store.
load lib
load postgres

teardown() {
  [ -z "${PLPG_DIR:-}" ] || postgres_stop
  clear_work
}

@test "the dashboards are what their table makes" {
  python3 "$PL_SOURCE/contrib/grafana/make_dashboards.py" --check
}

@test "every query of the PostgreSQL dashboard runs on an empty store" {
  postgres_start
  plimsoll db migrate --db "$PGURL"
  python3 "$PL_SOURCE/contrib/grafana/make_dashboards.py" --queries postgresql >queries
  equal queries "$(wc -l <queries)" 20
  "$(postgres_bin)/psql" -q -v ON_ERROR_STOP=1 -A -t -d "$PGURL" -f queries >rows
  equal rows "$(wc -c <rows)" 0
}
