#!/usr/bin/env bats
# Peers that want a collector's or a node's memory, or all of its connections: what they get is bounded, they are closed,
# and honest nodes deliver meanwhile. hostile_peer.py speaks ZeroMQ's protocol by hand.

bats_require_minimum_version 1.5.0
load lib
source "$PL_SOURCE/tests/cli/collect.bash"

# attack ADDRESS WHAT...: from an address of its own, which is what it prints in attack.json
attack() {
  local at=${1#tcp://}
  shift
  timeout 100 python3 "$PL_SOURCE/tests/cli/hostile_peer.py" "$at" "$@" --from 127.0.0.2 >attack.json
}

# memory PID: resident now and at most, in MiB
memory() {
  awk '/VmRSS/ { now = $2 } /VmHWM/ { most = $2 } END { printf "%d %d\n", now / 1024, most / 1024 }' "/proc/$1/status"
}

# within PID BEFORE MIB: it never had so much more than before
within() {
  local most
  read -r _ most <<<"$(memory "$1")"
  at_most "memory under attack, $2 MiB before" "$most" $(($2 + $3))
}

keys() {
  plimsoll keys new -o server.key >server.pub
  plimsoll keys new -o node.key >node.pub
  plimsoll keys new -o stranger.key >stranger.pub
  plimsoll keys allow allowed "$(cat node.pub)" 'n*'
}
secret() { sed -n 's/^secret = "\(.*\)"$/\1/p' "$1"; }
# as NAME: the options by which the peer has that key
as() {
  # a key may begin with a dash
  printf '%s\n' "--server=$(cat server.pub)" "--public=$(cat "$1.pub")" "--secret=$(secret "$1.key")"
}

@test "a message without an end costs its sender the connection, and no more than some memory" {
  for size in 65536 0; do
    collector "log$size" --bind 'tcp://127.0.0.1:*' --sink stdout:jsonl
    read -r before _ <<<"$(memory "$PID")"
    attack "$NATIVE" parts --size "$size" --connections 8 --limit 1500 --seconds 30 --again &
    peer=$!
    deliver "n$size" 1 60
    wait "$peer"
    at_least "bytes that were tried" "$(jq .sent attack.json)" 60000000
    at_least "closed for it" "$(jq .closed attack.json)" 2
    within "$PID" "$before" 380
    until_status "log$size" '.native.closed > 0'
    equal "what is said" "$(grep -c 'closed a connection from 127.0.0.2: .*an endless message\|closed a connection from 127.0.0.2: memory is short\|closed a connection from 127.0.0.2: all connections' "log$size.err" | sed 's/[123]/some/')" some
    ! grep 'closed a connection from 127.0.0.1' "log$size.err" || fail "an honest node was closed"
    deliver "n$size" 61 70
    until_status "log$size" '.native.batches == 70'
    collector_stop "$PID"
  done
}

@test "a hundred peers that each hold little and call again get no more than one" {
  collector log --bind 'tcp://127.0.0.1:*' --sink stdout:jsonl
  read -r before _ <<<"$(memory "$PID")"
  attack "$NATIVE" parts --size 0 --connections 100 --limit 8000 --seconds 10 --again
  at_least "closed for it" "$(jq .closed attack.json)" 100
  within "$PID" "$before" 380
  collector_stop "$PID"
}

@test "with a key as well, and without one nothing is held" {
  python3 -c 'import ctypes; ctypes.CDLL("libsodium.so.23")' || skip "no libsodium for the hostile peer"
  keys
  collector log --bind 'tcp://127.0.0.1:*' --keys server.key --allow allowed --sink stdout:jsonl
  read -r before _ <<<"$(memory "$PID")"
  mapfile -t who < <(as node)
  attack "$NATIVE" parts --connections 4 --limit 600 --seconds 30 "${who[@]}"
  at_least closed "$(jq .closed attack.json)" 4
  within "$PID" "$before" 400
  collector_stop "$PID"
  collector log2 --bind 'tcp://127.0.0.1:*' --keys server.key --allow allowed --sink stdout:jsonl
  read -r before _ <<<"$(memory "$PID")"
  # a hundred handshakes, none of which comes to who it is: each has a command of 8 MB
  attack "$NATIVE" commands --size 8000000 --connections 100 --limit 800 --seconds 30 --server x &
  peer=$!
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool" n1 1 20 3 5 node.key "$(cat server.pub)"
  wait "$peer"
  equal "of a hundred" "$(jq .closed attack.json)" 100
  within "$PID" "$before" 150
  until_status log2 '.native.closed > 0'
  grep -q 'closed a connection from 127.0.0.2: its handshake is too long' log2.err || fail "$(cat log2.err)"
  equal "what came" "$(status_of log2 .native.batches)" 20
  collector_stop "$PID"
}

@test "handshakes that are begun and left are few, and end" {
  python3 -c 'import ctypes; ctypes.CDLL("libsodium.so.23")' || skip "no libsodium for the hostile peer"
  keys
  collector log --bind 'tcp://127.0.0.1:*' --keys server.key --allow allowed --sink stdout:jsonl
  read -r before _ <<<"$(memory "$PID")"
  mapfile -t who < <(as stranger)
  attack "$NATIVE" half --connections 200 --seconds 60 "${who[@]}" &
  peer=$!
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool" n1 1 20 3 5 node.key "$(cat server.pub)"
  until_status log '.native.closed >= 72'
  wait "$peer"
  equal "all of them" "$(jq .closed attack.json)" 200
  grep -q '127.0.0.2: too many handshakes at once' log.err || fail "$(cat log.err)"
  within "$PID" "$before" 50
  collector_stop "$PID"
}

@test "connections are bounded in number, for each address and in all" {
  collector log --bind 'tcp://127.0.0.1:*' --connections 40 --sink stdout:jsonl
  # ten are a quarter
  attack "$NATIVE" parts --size 10 --connections 60 --limit 0 --seconds 1 &
  peer=$!
  deliver n1 1 20
  wait "$peer"
  # those that say nothing go before those that have said who they are
  attack "$NATIVE" idle --connections 60 --seconds 5
  at_least closed "$(jq .closed attack.json)" 50
  at_most open "$(jq .open attack.json)" 10
  until_status log '.native.closed >= 50'
  grep -q '127.0.0.2: too many connections from one address' log.err || fail "$(cat log.err)"
  deliver n1 21 30
  until_status log '.native.batches == 30'
  collector_stop "$PID"
  run plimsoll collect --bind 'tcp://127.0.0.1:*' --connections none --sink stdout:jsonl
  equal status "$status" 2
}

# bats test_tags=colmet
@test "the same where colmet's nodes call" {
  collector log --bind-colmet 'tcp://127.0.0.1:*' --sink stdout:jsonl
  read -r before _ <<<"$(memory "$PID")"
  attack "$COLMET" parts --type PUSH --connections 8 --limit 1200 --seconds 30
  equal closed "$(jq .closed attack.json)" 8
  within "$PID" "$before" 450
  until_status log '.colmet.closed >= 8'
  printf 'x' >message
  "$PROGRAMS/feeder" push "$COLMET" message
  until_status log '.colmet.messages == 1'
  collector_stop "$PID"
}

# node OPTION...: a node "n"; its pid in $NODE
node() {
  mkdir -p -m 700 run
  RUNTIME_DIRECTORY=$WORK/run plimsoll node --name n -i 1s -s system "$@" 2>node.log 3>&- &
  NODE=$!
  for _ in $(seq 200); do
    ! grep -q -s . run/up "$WORK"/spool/state && [ ! -S run/node.n ] || return 0
    kill -0 "$NODE" 2>/dev/null || break
    sleep 0.05
  done
  fail "no node: $(cat node.log)"
}

# bats test_tags=colmet
@test "the same where colmet's messages configure a node" {
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  node -o out.smp --colmet-config "tcp://127.0.0.1:$port"
  read -r before _ <<<"$(memory "$NODE")"
  attack "127.0.0.1:$port" parts --type PUSH --size 0 --connections 20 --limit 300 --seconds 30
  equal closed "$(jq .closed attack.json)" 20
  within "$NODE" "$before" 100
  RUNTIME_DIRECTORY=$WORK/run plimsoll configure n --show >/dev/null
  grep -q 'closed a connection from 127.0.0.2' node.log || fail "$(cat node.log)"
  kill "$NODE"
  wait "$NODE" || true
}

@test "a node ends a connection to a collector that answers without an end" {
  timeout 60 python3 "$PL_SOURCE/tests/cli/hostile_peer.py" 127.0.0.1:0 parts --listen --type ROUTER --size 1000 --seconds 30 --limit 20000 >attack.json &
  peer=$!
  for _ in $(seq 200); do
    port=$(head -n 1 attack.json)
    [ -z "$port" ] || break
    sleep 0.05
  done
  node --spool spool --connect "tcp://127.0.0.1:$port"
  wait "$peer"
  equal closed "$(tail -n 1 attack.json | jq .closed)" 1
  kill -0 "$NODE"
  kill "$NODE"
  wait "$NODE" || true
}

@test "a server's answers have an end, whatever it sends" {
  for how in body headers continue bomb; do
    timeout 100 python3 "$PL_SOURCE/tests/cli/hostile_http.py" "$how" >"port.$how" 3>&- &
    server=$!
    for _ in $(seq 200); do
      [ ! -s "port.$how" ] || break
      sleep 0.05
    done
    sinks=()
    for sink in elastic clickhouse remote-write; do
      sinks+=(--sink "$sink:http://127.0.0.1:$(cat "port.$how")")
    done
    collector "log.$how" --bind 'tcp://127.0.0.1:*' "${sinks[@]}"
    read -r before _ <<<"$(memory "$PID")"
    deliver n1 1 3
    for sink in elastic clickhouse remote-write; do
      until_status "log.$how" ".sinks[] | select(.sink | startswith(\"$sink\")) | (.reason // \"\") | contains(\"the reply is too long\")"
    done
    within "$PID" "$before" 100
    kill -9 "$PID"
    wait "$PID" || true
    kill "$server"
    wait "$server" || true
  done
}
