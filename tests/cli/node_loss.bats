#!/usr/bin/env bats
# What stands between a node and its collector: keys, names, room. Each is said once on the node, shown by `configure
# --show` and in its metrics; what can be kept is kept, and what is lost is counted to the batch.

bats_require_minimum_version 1.5.0
load lib
load node
load collect

setup() {
  node_setup
  export XDG_CONFIG_HOME="$WORK/config"
}
teardown() {
  [ ! -d small ] || umount small 2>/dev/null || true
  node_teardown
}

shown() { plimsoll configure n --show --json | jq -cr "$1"; }
shown_is() { [ "$(shown "$1")" = "$2" ]; }
at_least_shown() { [ "$(shown "$1")" -ge "$2" ]; }

# said TEXT: how many lines of the node's log have it
said() { grep -cF -e "$1" node.log || true; }

# The numbers of the node's last words: made, acknowledged, in the spool, dropped, refused, damaged
account() {
  sed -n 's/.*of \([0-9]*\) batches, and those of earlier runs: \([0-9]*\) acknowledged, \([0-9]*\) in the spool, \([0-9]*\) dropped, \([0-9]*\) refused, \([0-9]*\) damaged.*/\1 \2 \3 \4 \5 \6/p' node.log | tail -n 1
}

collector_here() {
  collector "$@"
  PIDS+=("$PID")
}

end_status() {
  kill -TERM "$node"
  status=0
  wait "$node" || status=$?
}

@test "a spool that takes no more and a collector that refuses: the loss at the end is counted, said, and the status" {
  local made acked kept dropped refused damaged entries
  collector_here c --bind 'tcp://127.0.0.1:*' --sink stdout:jsonl --log-limit 64K
  # files of 8 KiB at most are as good as a full disk; the collector's log holds its own sink's position back
  kill -STOP "$PID"
  (
    ulimit -f 8
    exec plimsoll node --name n --cgroup-root /nowhere -i 20ms --batch 20ms --connect "$NATIVE" --spool spool -s system 2>>node.log 3>&-
  ) &
  node=$!
  PIDS+=("$node")
  until_true at_least_shown .counts.batches 120
  equal 'the disk is said' "$(said "cannot write to the spool 'spool': No space left on device")" 1
  at_least 'problems' "$(shown '[.problems[] | select(test("cannot write to the spool"))] | length')" 1
  end_status
  equal 'status' "$status" 1
  read -r made acked kept dropped refused damaged <<<"$(account)"
  at_least 'lost' "$dropped" 1
  equal 'the account' $((acked + kept + dropped + refused + damaged)) "$made"
  grep -q "error: $dropped batch[eswar ]* lost: neither the collector nor the spool could take" node.log || fail "$(cat node.log)"
  kill -CONT "$PID"
  # the spool has what it says
  node -i 10s --connect "$NATIVE" --spool spool -s system
  until_true at_least_shown .counts.acknowledged "$kept"
  end_status
  equal 'status of the next' "$status" 0
  collector_stop "$PID"
  entries=$(jq -c 'select(.source == "system" and .kind == "node") | .time' c.out | sort -u | wc -l)
  at_least 'what came' "$entries" "$kept"
}

@test "a collector without room is said once, and nothing is lost" {
  local first
  : >n.out
  collector_here c --bind 'tcp://127.0.0.1:*' --forward tcp://127.0.0.1:1 --log-limit 64K
  node -i 20ms --batch 20ms --connect "$NATIVE" --spool spool -s system
  until_true shown_is .counts.collector refuses
  until_true at_least_shown .counts.spooled 30
  equal 'said' "$(said 'has no room: No space left on device; batches wait in the spool')" 1
  equal 'shown' "$(shown '[.problems[] | select(test("has no room"))] | length')" 1
  end_node
  first=$(account)
  read -r made acked kept dropped refused damaged <<<"$first"
  equal 'nothing is lost' "$dropped $refused $damaged" "0 0 0"
  equal 'the account' $((acked + kept)) "$made"
}

@test "a name that the key is not for: said at once with what to do, batches are kept, and come when it is mended" {
  local server made
  server=$(plimsoll keys new -o collector.key)
  plimsoll keys allow allowed "$(plimsoll keys new -o n.key)" other
  collector_here c --bind 'tcp://127.0.0.1:*' --keys collector.key --allow allowed --sink stdout:jsonl
  node -i 100ms --batch 100ms --connect "$NATIVE" --spool spool -s system --keys n.key --server-key "$server" -o out.smp
  until_true shown_is .counts.collector refuses
  until_true at_least_shown .counts.spooled 5
  equal 'said' "$(said "refuses batches of 'n' with our key: its key is not allowed for node 'n'; run \`plimsoll keys allow\` there")" 1
  plimsoll configure n --show >text
  grep -q "^problem  the collector at '$NATIVE' refuses batches of 'n'" text || fail "$(cat text)"
  grep -q '^collector refuses; batches: 0 acknowledged, [0-9]* waiting, 0 dropped, 0 refused, 0 damaged$' text || fail "$(cat text)"
  # its own metrics say it, too
  until_true metric_is delivery_problems 1
  at_least 'waiting, as a metric' "$(rows_of out.smp | jq -s '[.[] | select(.source == "sampler") | .values.batches_waiting] | max')" 2
  plimsoll keys allow allowed n.key n
  sed -i '/ other$/d' allowed
  kill -HUP "$PID"
  until_true shown_is .counts.spooled 0
  equal 'over' "$(shown '[.problems[] | select(contains("--cgroup-root") | not)] | length')" 0
  equal 'said that it is' "$(said "recovered from: the collector at '$NATIVE' refuses batches")" 1
  end_node
  read -r made acked kept dropped refused damaged <<<"$(account)"
  equal 'all came' "$acked $kept $dropped $refused $damaged" "$made 0 0 0 0"
  collector_stop "$PID"
  rows_of out.smp | jq -c 'select(.source == "system" and .kind == "node") | .values.context_switches' | sort -u >want
  jq -c 'select(.source == "system" and .kind == "node") | .values.context_switches' c.out | sort -u >have
  cmp want have
}
metric_is() { [ "$(rows_of out.smp | jq -s "[.[] | select(.source == \"sampler\") | .values.$1] | last")" = "$2" ]; }

@test "a key that the collector does not know, a wrong key of the collector, and no keys at all" {
  local server
  server=$(plimsoll keys new -o collector.key)
  plimsoll keys allow allowed "$(plimsoll keys new -o n.key)" n
  plimsoll keys new -o stranger.key >stranger.public
  collector_here c --bind 'tcp://127.0.0.1:*' --keys collector.key --allow allowed --sink stdout:jsonl
  while IFS='|' read -r options text; do
    : >node.log
    # shellcheck disable=SC2086
    node -i 100ms --batch 100ms --connect "$NATIVE" --spool spool -s system $options
    until_true shown_is .counts.collector 'refuses our key'
    until_true at_least_shown .counts.spooled 2
    equal "said with $options" "$(said "$text")" 1
    equal "shown with $options" "$(shown "[.problems[] | select(contains(\"$text\"))] | length")" 1
    end_node
  done <<C
--keys stranger.key --server-key $server|does not know our key: run \`plimsoll keys allow\` there
--keys n.key --server-key $(cat stranger.public)|--server-key is not its key
--insecure|one side has keys and the other has none
C
  # all of it was kept: with the right keys it comes
  node -i 100ms --batch 100ms --connect "$NATIVE" --spool spool -s system --keys n.key --server-key "$server"
  until_true at_least_shown .counts.acknowledged 7
  until_true shown_is .counts.spooled 0
  equal problems "$(shown '[.problems[] | select(contains("--cgroup-root") | not)] | length')" 0
  end_node
}

@test "a node whose key is allowed while it runs is let in without being started again" {
  local server
  server=$(plimsoll keys new -o collector.key)
  plimsoll keys allow allowed "$(plimsoll keys new -o other.key)" other
  plimsoll keys new -o n.key >n.public
  collector_here c --bind 'tcp://127.0.0.1:*' --keys collector.key --allow allowed --sink stdout:jsonl
  node -i 100ms --batch 100ms --connect "$NATIVE" --spool spool -s system --keys n.key --server-key "$server"
  until_true shown_is .counts.collector 'refuses our key'
  plimsoll keys allow allowed "$(cat n.public)" n
  kill -HUP "$PID"
  until_true at_least_shown .counts.acknowledged 3
  equal problems "$(shown '[.problems[] | select(contains("our key"))] | length')" 0
  end_node
}

@test "one sample that nobody takes is no success, and is kept" {
  run --separate-stderr plimsoll node --once --name n --control off --connect tcp://127.0.0.1:1 --spool kept -s system
  equal status "$status" 1
  [[ $stderr == *"1 batch is not acknowledged and waits in the spool"* ]] || fail "$stderr"
  collector_here c --bind 'tcp://127.0.0.1:*' --sink stdout:jsonl
  plimsoll node --once --name n --control off --connect "$NATIVE" --spool kept -s system
}

@test "a spool that cannot be written ends the node at its start, with the place" {
  mkdir -m 500 closed
  if touch closed/x 2>/dev/null; then
    rm -rf closed
    echo text >closed
  fi
  status=0
  timeout 20 plimsoll node --name n --connect ipc://c --spool closed -s system 2>err || status=$?
  equal status "$status" 1
  grep -q "cannot deliver to 'ipc://c': .*'closed'" err || fail "$(cat err)"
}

# bats test_tags=root
@test "a disk that is full for a while: said, over when there is room, nothing lost" {
  mkdir small
  mount -t tmpfs -o size=64k none small 2>/dev/null || skip "nothing can be mounted here"
  node -i 20ms --batch 20ms --connect "ipc://$WORK/nobody" --spool small/spool -s system
  until_true grep -q "cannot write to the spool 'small/spool': No space left on device" node.log
  mount -o remount,size=16m small
  until_true grep -q "recovered from: cannot write to the spool 'small/spool'" node.log
  end_node
  read -r made acked kept dropped refused damaged <<<"$(account)"
  equal 'all are kept' "$kept $dropped $damaged" "$made 0 0"
}
