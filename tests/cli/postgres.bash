# A private PostgreSQL server for the tests, on a Unix socket only; source it beside lib.bash.
#     postgres_start      fails without a server program here; else $PGURL is where it listens
#     postgres_stop

# The newest installed one; distributions keep several beside each other, and out of PATH.
postgres_bin() {
  local dir found
  found=$(command -v postgres) && found=$(dirname "$(readlink -f "$found")")
  for dir in $(compgen -G '/usr/lib/postgresql/*/bin' | sort -V) $(compgen -G '/usr/pgsql-*/bin' | sort -V); do
    [ ! -x "$dir/postgres" ] || found=$dir
  done
  [ -n "$found" ] && [ -x "$found/initdb" ] && [ -x "$found/pg_isready" ] && echo "$found"
}

# The server refuses to be root.
postgres_as() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid="$PLPG_USER" --regid="$PLPG_USER" --clear-groups -- "$@"
  else
    "$@"
  fi
}

postgres_start() {
  local bin v
  for v in $(compgen -e); do
    case $v in PG*) unset "$v" ;; esac
  done
  bin=$(postgres_bin) || return 1
  PLPG_USER=65534
  if id postgres >/dev/null 2>&1; then PLPG_USER=postgres; fi
  PLPG_DIR=$(mktemp -d /tmp/plpg-XXXXXX) || return 1 # the path of a socket is short
  chmod 755 "$PLPG_DIR"
  [ "$(id -u)" != 0 ] || chown "$PLPG_USER" "$PLPG_DIR"
  (cd / && postgres_as "$bin/initdb" -D "$PLPG_DIR/data" -U plimsoll --auth=trust --no-sync \
    --encoding=UTF8 --locale=C) >"$PLPG_DIR.log" 2>&1 </dev/null 3>&- || {
    cat "$PLPG_DIR.log" >&2
    return 1
  }
  cat >>"$PLPG_DIR/data/postgresql.conf" <<C
listen_addresses = ''
unix_socket_directories = '$PLPG_DIR'
fsync = off
max_connections = 20
C
  (cd / && postgres_as "$bin/postgres" -D "$PLPG_DIR/data") >"$PLPG_DIR.log" 2>&1 </dev/null 3>&- &
  export PLPG_DIR PLPG_USER
  for _ in $(seq 200); do
    PLPG_PID=$(head -n 1 "$PLPG_DIR/data/postmaster.pid" 2>/dev/null) || PLPG_PID=
    if [ -n "$PLPG_PID" ] && "$bin/pg_isready" -q -h "$PLPG_DIR" -U plimsoll -d postgres; then
      export PLPG_PID PGURL="postgresql:///postgres?host=$PLPG_DIR&user=plimsoll"
      export PLIMSOLL_SQL_SUPERUSER=yes # who made the server is one
      return 0
    fi
    sleep 0.1
  done
  cat "$PLPG_DIR.log" >&2
  return 1
}

# Fast: sessions that are still open are ended.
postgres_stop() {
  [ -n "${PLPG_DIR:-}" ] || return 0
  if [ -n "${PLPG_PID:-}" ]; then
    kill -INT "$PLPG_PID" 2>/dev/null
    for _ in $(seq 200); do
      kill -0 "$PLPG_PID" 2>/dev/null || break
      sleep 0.05
    done
    kill -KILL "$PLPG_PID" 2>/dev/null
  fi
  rm -rf "$PLPG_DIR" "$PLPG_DIR.log"
}
