# Shared by the bats files: where things are, and small assertions that say what they saw.

export PATH="$PL_BUILD/bin:$PATH"
PROGRAMS="$PL_BUILD/tests"
ulimit -S -c 0

setup() {
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  export PLIMSOLL_PREFIX="$WORK/prefix"
  cd "$WORK" || return 1
}

# Ends what a test left running (a test that failed half-way did not come to it, and bats waits for whoever holds
# its descriptors), and clears its directory.
clear_work() {
  local file pid
  : "${WORK:?}" # without it every program that runs under a prefix would be ended
  for file in $(grep -l -s -z -F -e "PLIMSOLL_PREFIX=$WORK/" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    kill -9 "${pid%/environ}" 2>/dev/null || true
  done
  cd /
  rm -rf "$WORK"
}

teardown() {
  clear_work
}

# without TOOL: whether src/compat/TOOL is left out here (tests/interop/without_compat). Tests that need it as a whole have its
# tag instead.
without() {
  [ "${PL_WITHOUT:-}" = "$1" ]
}

fail() {
  echo "$*" >&2
  return 1
}

# Whether this is a pid namespace of its own, in which the kernel reports neither exits nor ids that mean something.
in_container() {
  [ "$(stat -L -c %i /proc/self/ns/pid)" != $((0xEFFFFFFC)) ]
}

# equal WHAT GOT WANT
equal() {
  [ "$2" = "$3" ] || fail "$1: got '$2', want '$3'"
}

# at_most WHAT GOT LIMIT (numbers, possibly with a fraction: nothing and "null" are no numbers, and fail)
at_most() {
  awk -v a="$2" -v b="$3" 'BEGIN { exit !(a ~ /^-?[0-9]/ && b ~ /^-?[0-9]/ && a + 0 <= b + 0) }' || fail "$1: got $2, want at most $3"
}

at_least() {
  awk -v a="$2" -v b="$3" 'BEGIN { exit !(a ~ /^-?[0-9]/ && b ~ /^-?[0-9]/ && a + 0 >= b + 0) }' || fail "$1: got $2, want at least $3"
}

# A recorded run into ./job: exit status in $status, summary in summary.json, rows in rows.jsonl.
record() {
  rm -rf job
  status=0
  plimsoll run -q -o job --json=summary.json "${RUN_OPTIONS[@]}" -- "$@" || status=$?
  plimsoll records --jsonl --threads job >rows.jsonl
}

# rows FILTER: how many rows match a jq condition
rows() {
  jq -c "select($1)" rows.jsonl | wc -l
}

# value FILTER KEY: the value of a key in the one row that matches
value() {
  [ "$(rows "$1")" = 1 ] || fail "'$1' matches $(rows "$1") rows: $(cat rows.jsonl)" || return 1
  jq -r "select($1) | .$2" rows.jsonl
}

# CPU of the one row that matches, in microseconds
cpu() {
  [ "$(rows "$1")" = 1 ] || fail "'$1' matches $(rows "$1") rows: $(cat rows.jsonl)" || return 1
  jq -r "select($1) | .usertime + .systemtime" rows.jsonl
}

summary() {
  jq -r ".$1" summary.json
}

# restored_under STORE COMMAND...: while COMMAND waits for somebody else who writes to a SQLite store, the store is
# restored from STORE.old by a rename. Exit status in $status, what was said in restored.out.
restored_under() {
  local store=$1 holder pid one i
  shift
  python3 - "$store" <<'P' &
import os, sqlite3, sys, time
d = sqlite3.connect(sys.argv[1], isolation_level=None)
d.execute("BEGIN IMMEDIATE")
open("held", "w").close()
while not os.path.exists("enough"):
    time.sleep(0.05)
d.execute("ROLLBACK")
P
  holder=$!
  until [ -e held ]; do sleep 0.05; done
  "$@" >restored.out 2>&1 &
  pid=$!
  for ((i = 0; i < 200; i++)); do
    # also of a process that it started
    for one in $pid $(pgrep -P $pid); do
      [ -z "$(find "/proc/$one/fd" -lname "$store" 2>/dev/null)" ] || break 2
    done
    sleep 0.05
  done
  sleep 0.5
  mv "$store.old" "$store"
  touch enough
  wait $holder
  status=0
  wait $pid || status=$?
  rm held enough
}
