#!/usr/bin/env bats
# Every command of docs/operating.md, in its order, with a collector and a node in place of the services.

# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash"
# shellcheck source=tests/cli/collect.bash
. "$PL_SOURCE/tests/cli/collect.bash"

bats_require_minimum_version 1.5.0

# Directories of a machine are those of the test.
here() { sed "s#/etc/plimsoll.conf#$WORK/config/plimsoll/plimsoll.conf#g; s#/etc/plimsoll/#$WORK/etc/#g; s#/var/lib/plimsoll#$WORK/lib#g; s#/data2#$WORK/data2#g; s#/data/#$WORK/data/#g; s#/backup#$WORK/backup#g"; }

# The commands below a heading; all of them without one.
commands() {
  awk -v head="$1" '/^## / { in_it = head == "" || $0 == "## " head } in_it && /^    [a-z0-9]*[$] / { sub(/^    [a-z0-9]*[$] /, ""); print }' \
    "$PL_SOURCE/docs/operating.md" | here
}

start_collector() {
  plimsoll collect -v --commit 100ms >>collector.out 2>>collector.err 3>&- &
  COLLECTOR=$!
  LOG=$(sed -n 's/^collect_log = //p' config/plimsoll/plimsoll.conf)
  for _ in $(seq 600); do
    [ "$(jq -r .pid "$LOG/status.json" 2>/dev/null)" != "$COLLECTOR" ] || return 0
    kill -0 "$COLLECTOR" || break
    sleep 0.05
  done
  fail "the collector did not come up: $(cat collector.err)"
}

start_node() {
  plimsoll node --name node17 -i 100ms --batch 100ms -s system --control off --connect "$ADDRESS" --keys "$WORK/etc/node.key" \
    --server-key "$WORK/etc/collector.key" --spool "$WORK/spool" 2>>node.err 3>&- &
  NODE=$!
}

# What the page asks of the service manager.
systemctl() {
  case "$1 $2" in
  'start plimsoll-collect') start_collector ;;
  'stop plimsoll-collect') kill -TERM "$COLLECTOR" && wait "$COLLECTOR" ;;
  'restart plimsoll-collect') kill -TERM "$COLLECTOR" && wait "$COLLECTOR" && start_collector ;;
  'reload plimsoll-collect') kill -HUP "$COLLECTOR" && sleep 0.5 ;;
  'start plimsoll-node') start_node ;;
  'restart plimsoll-node') kill -TERM "$NODE" && wait "$NODE" && start_node ;;
  *) fail "systemctl $*" ;;
  esac
}

ended() { for pid in "${NODE:-}" "${COLLECTOR:-}"; do [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true; done; }

# follow HEADING: runs the commands below it, in this shell. $key is the public key that a node printed last,
# as the page says.
follow() {
  local line done=0
  while IFS= read -r line <&4; do
    ran=$((ran + 1)) done=$((done + 1))
    status=0
    # another machine has nothing there yet
    case $line in *' -xpf '*) mv "$WORK/lib/collect" "$WORK/old-collector" ;; esac
    eval "$line" >follow.out 2>follow.err || status=$?
    case $line in
    *--resend*) # nothing was refused here
      equal "status of $line" "$status" 1
      grep -q 'no entries are kept aside in' follow.err || fail "$(cat follow.err)"
      ;;
    *) equal "status of $line: $(cat follow.err)" "$status" 0 ;;
    esac
    # shellcheck disable=SC2034 # the page uses it
    case $line in *'keys new -o'*) key=$(cat follow.out) ;; esac
  done 4< <(commands "$1")
  [ "$done" -gt 0 ] || fail "no commands below '$1'"
}

taken() { plimsoll collect --status --json | jq -r "$1"; }
# until_more: the node gets something through
until_more() {
  local before
  before=$(taken .native.batches)
  for _ in $(seq 600); do
    [ "$(taken .native.batches)" -le "$before" ] || return 0
    sleep 0.1
  done
  fail "nothing came: $(cat node.err collector.err)"
}
# Times of the node's readings, which a store has once each.
readings() { cut -d, -f1,3,5 "$@" | grep -v '^time' | sort; }

@test "every command of the page on operating does what it says" {
  local port ran=0
  trap ended EXIT
  mkdir -p config/plimsoll etc lib data data2 backup
  export XDG_CONFIG_HOME=$WORK/config
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  ADDRESS=tcp://127.0.0.1:$port
  # the configuration of the page, at an address of the test
  sed -n 's/^    \(collect_.*\)/\1/p' "$PL_SOURCE/docs/operating.md" | here | sed "s#tcp://\*:5558#$ADDRESS#" >config/plimsoll/plimsoll.conf
  plimsoll keys new -o etc/collector.key >/dev/null
  : >etc/allowed
  systemctl start plimsoll-collect
  follow 'Watch it'
  follow 'Add a node'
  until_more
  first=$(plimsoll keys show etc/node.key)
  follow 'Change the key of a node'
  until_more
  [ "$(plimsoll keys show etc/node.key)" != "$first" ] || fail "the key is the old one"
  equal 'who may send' "$(plimsoll keys list etc/allowed)" "$(plimsoll keys show etc/node.key) node17"
  follow 'Revoke a key'
  equal 'revoked' "$(wc -l <follow.out)" 2
  before=$(taken .native.batches)
  sleep 1
  equal 'nothing of a revoked key' "$(taken .native.batches)" "$before"
  plimsoll keys allow etc/allowed etc/node.key node17
  systemctl reload plimsoll-collect
  until_more
  public=$(plimsoll keys show etc/collector.key)
  follow 'Change the key of the collector'
  [ "$(plimsoll keys show etc/collector.key)" != "$public" ] || fail "the key is the old one"
  systemctl restart plimsoll-node # which reads the new key
  until_more
  follow 'Send again what a sink refused'
  until_more
  follow 'Move a store'
  until_more
  [ -s data2/jobs.db ] && [ ! -e data/jobs.db ] || fail "the store was not moved"
  follow 'Back up and restore'
  until_more
  follow 'Replace a collector'
  until_more
  kill -TERM "$NODE"
  wait "$NODE"
  for _ in $(seq 600); do
    [ "$(taken '[.sinks[].entries_behind] | add')" != 0 ] || break
    sleep 0.1
  done
  systemctl stop plimsoll-collect
  equal 'commands of the page that ran' "$ran" "$(commands '' | wc -l)"
  # both sinks have all, once
  readings data/rows.1.csv data/rows.csv >rows
  equal 'rows that are there twice' "$(uniq -d rows)" ''
  at_least 'rows' "$(wc -l <rows)" 50
}
