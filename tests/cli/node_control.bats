#!/usr/bin/env bats
# The node daemon without jobs: how it is configured at the start and while it runs, delivery with a collector that
# is away, and what it refuses.

bats_require_minimum_version 1.5.0
load lib
load node

setup() {
  node_setup
  export XDG_CONFIG_HOME="$WORK/config"
  mkdir -p config/plimsoll
}
teardown() { node_teardown; }

shown() { plimsoll configure n --show --json | jq -cr "$1"; }
shown_is() { [ "$(shown "$1")" = "$2" ]; }
at_least_shown() { [ "$(shown "$1")" -ge "$2" ]; }

@test "a change is acknowledged with what is in force, a wrong one changes nothing" {
  node -i 200ms -o out.smp -s system -s network@1s
  equal 'at the start' "$(shown '[.period_ms, .metrics, .sources, .states.system]')" '[200,"","system network@1000ms","sampled"]'
  plimsoll configure n --period 100ms --metrics 'system.cpu_*,load1' --sources 'system disk' >answer
  grep -q '^period   0.1 s$' answer || fail "$(cat answer)"
  want='[100,"system.cpu_*,load1","system disk"]'
  equal 'in force' "$(shown '[.period_ms, .metrics, .sources]')" "$want"
  for bad in '--period 1ms' '--period 2d' '--period soon' '--metrics nonsense' '--metrics system.nothing' \
    '--sources nosuch' '--sources system@never' '--period 50ms --metrics nonsense' '--sources system --period x'; do
    status=0
    plimsoll configure n $bad >out 2>err || status=$?
    equal "status of $bad" "$status" 1
    equal "output of $bad" "$(cat out)" ""
    equal "lines of $bad" "$(wc -l <err)" 1
    grep -q '^plimsoll: error: nothing was changed: ' err || fail "$(cat err)"
    equal "in force after $bad" "$(shown '[.period_ms, .metrics, .sources]')" "$want"
  done
  at=$(shown .counts.readings)
  until_true at_least_shown .counts.readings $((at + 3))
  plimsoll configure n --metrics '' --sources '' -q >/dev/null
  equal 'the usual again' "$(shown '[.metrics, .sources]')" '["",""]'
  end_node
  # one file, three heads; behind the change only what was chosen
  plimsoll samples --json out.smp >events
  equal heads "$(jq -c 'select(.event == "head") | .period' events | tr '\n' ' ')" "0.2 0.1 0.1 "
  jq -s '[.[] | select(.event == "head" or .event == "reading")] | reduce .[] as $e ([]; if $e.event == "head" then . + [[]] else .[-1] += [$e] end) | .[1] | map(select(.source != "sampler"))' events >second
  equal sources "$(jq -c '[.[].source] | unique' second)" '["system"]'
  equal metrics "$(jq -c '[.[].rows[] | select(.kind == "node") | .values | keys[]] | unique | map(select(startswith("cpu_") | not))' second)" '["load1"]'
}

@test "a device that is not there is sampled neither at the start nor after a change" {
  node -i 30s -o out.smp -s system -s ipmi -s gpfs
  states='[.states | to_entries[] | select(.value == "sampled") | .key]'
  absent='[.states.ipmi, .states.gpfs] | map(test("^(sampled|not read yet|asked, .*)$")) | any'
  [ ! -e /dev/ipmi0 ] || skip "there is a management controller"
  equal 'sampled at the start' "$(shown "$states")" '["system"]'
  until_true shown_is "$absent" false
  before=$(shown .states | jq -cS .)
  plimsoll configure n --period 20s --json >answer
  equal 'told of a change' "$(jq -cS .states answer)" "$before"
  equal 'after it' "$(shown .states | jq -cS .)" "$before"
  plimsoll configure n --sources 'system gpfs ipmi' --json >answer
  equal 'another order' "$(jq -c "$states" answer)" '["system"]'
}

@test "HUP reads the configuration again, and a file with an error changes nothing" {
  echo 'node_period = 300ms' >config/plimsoll/plimsoll.conf
  node -o out.smp -s system
  equal 'at the start' "$(shown .period_ms)" 300
  plimsoll configure n --period 700ms -q >/dev/null
  printf 'node_period = 250ms\nnode_sources = disk\nnode_metrics = load1\n' >config/plimsoll/plimsoll.conf
  kill -HUP "$node"
  # what the command line says comes first
  until_true shown_is '[.period_ms, .sources, .metrics]' '[250,"system","load1"]'
  printf 'node_period = 100ms\nnode_metrics = nonsense\n' >config/plimsoll/plimsoll.conf
  kill -HUP "$node"
  until_true grep -q "the old one stays in force: there is no metric 'nonsense'" node.log
  equal 'still in force' "$(shown '[.period_ms, .metrics]')" '[250,"load1"]'
  # of the sources on the command line nothing would be left
  printf 'node_period = 100ms\nnode_metrics = reads\n' >config/plimsoll/plimsoll.conf
  kill -HUP "$node"
  until_true grep -q "the old one stays in force: nothing would be sent: nothing matches the metrics 'reads' of the sources 'system'" node.log
  equal 'still in force' "$(shown '[.period_ms, .metrics]')" '[250,"load1"]'
  end_node
}

@test "what makes no sense is refused at the start with one line" {
  while IFS='|' read -r options text; do
    [[ $options != *--wire* ]] || ! without colmet || continue
    status=0
    timeout 20 plimsoll node $options >out 2>err || status=$?
    at_least "status of '$options'" "$status" 1
    equal "lines of '$options'" "$(grep -c 'error: ' err)" 1
    grep -qF -e "$text" err || fail "'$options' says $(cat err), not '$text'"
  done <<'C'
|nowhere to send samples
-o out.smp -i 1ms|--interval takes a time
-o out.smp -s nosuch|there is no sampled source 'nosuch'
-o out.smp --metrics nosuch|there is no metric 'nosuch'
-o out.smp -s system --metrics jobs.*|nothing would be sent: nothing matches the metrics 'jobs.*' of the sources 'system'
--wire colmet tcp://127.0.0.1:9 -s network|nothing would be sent: colmet's records have no field for the sources 'network'
-o out.smp --spool-limit 3|--spool-limit takes a size
-o out.smp --budget 200%|--budget takes a share
-o out.smp --pattern (|cannot look for jobs
-o out.smp --control tcp://127.0.0.1:*|needs the node's keys
-o /nowhere/at/all.smp|cannot open '/nowhere/at/all.smp'
--connect tcp://192.0.2.1:5558|is on another host: use --keys
--connect tcp://127.0.0.1:5558 --keys none|--keys needs the collector's public key
--connect tcp://127.0.0.1:5558 --keys none --server-key other --spool spool|cannot deliver
--connect ftp://127.0.0.1:5558 --insecure --spool spool|cannot deliver
--wire colmet|needs the address of a colmet collector
--wire smoke|--wire takes native or colmet
-o out.smp stray|unexpected argument 'stray'
C
}

@test "a second daemon of the same name does not take the first one's place" {
  node -i 1s -o out.smp -s system
  status=0
  plimsoll node --name n -o other.smp -s system 2>err || status=$?
  equal status "$status" 1
  grep -q 'another node daemon holds' err || fail "$(cat err)"
  equal 'the first one answers' "$(shown .node)" n
  end_node
  status=0
  plimsoll configure n --show 2>err || status=$?
  equal 'status without one' "$status" 1
  grep -q "no node daemon 'n' is running here" err || fail "$(cat err)"
}

@test "which daemon answers, since when, and whether its program was replaced" {
  local before pid
  before=$(date +%s)
  # a copy, which can be replaced
  mkdir -p copy/bin copy/lib
  cp "$(command -v plimsoll)" copy/bin/plimsoll
  cp -r "$(dirname "$(command -v plimsoll)")/../lib/." copy/lib/
  copy/bin/plimsoll node --name n -i 200ms -o out.smp -s system 2>node.log 3>&- &
  pid=$!
  PIDS+=("$pid")
  until_true plimsoll configure n --show --json >/dev/null 2>&1
  equal which "$(shown '[.version, .pid, .replaced]')" "[\"$(plimsoll version | cut -d' ' -f2)\",$pid,false]"
  at_least since "$(shown '.since_us / 1000000 | floor')" "$before"
  at_most since "$(shown '.since_us / 1000000 | floor')" "$(date +%s)"
  plimsoll configure n --show >answer
  grep -qE "^daemon   plimsoll [0-9.]+, process $pid, since 20..-..-.. ..:..:..$" answer || fail "$(cat answer)"
  rm copy/bin/plimsoll
  cp "$(command -v plimsoll)" copy/bin/plimsoll
  equal replaced "$(shown .replaced)" true
  plimsoll configure n --show | grep -q '^daemon .*; its program was replaced; restart it$'
  kill "$pid"
  wait "$pid" || true
}

@test "over TCP only who has a key may configure" {
  plimsoll keys new -o node.key >node.public
  plimsoll keys new -o admin.key >admin.public
  plimsoll keys new -o other.key >/dev/null
  port=$((20000 + RANDOM % 12000))
  uri=tcp://127.0.0.1:$port
  node_without_socket -i 1s -o out.smp -s system --keys node.key --control "$uri" --allow "$(cat admin.public)"
  until_true plimsoll configure "$uri" --keys node.key --show --timeout 2s >/dev/null
  equal 'by the node key' "$(plimsoll configure "$uri" --keys node.key --period 300ms --json | jq .period_ms)" 300
  equal 'by an allowed key' "$(plimsoll configure "$uri" --keys admin.key --server-key "$(cat node.public)" --show --json | jq .period_ms)" 300
  status=0
  plimsoll configure "$uri" --keys other.key --server-key "$(cat node.public)" --period 400ms --timeout 1s 2>err || status=$?
  equal 'status of a stranger' "$status" 1
  status=0
  plimsoll configure "$uri" --period 400ms 2>err || status=$?
  equal 'status without keys' "$status" 2
  equal 'in force' "$(plimsoll configure "$uri" --keys node.key --show --json | jq .period_ms)" 300
  end_node
}

@test "garbage at the control address is nobody's request" {
  node -i 1s -o out.smp -s system
  python_zmq
  "$python" - "ipc://$WORK/run/node.n" <<'P'
import json, sys, zmq
s = zmq.Context().socket(zmq.DEALER)
s.connect(sys.argv[1])
for m in [b"", b"x" * 60000, b'{"configure": 1, "period": 5}', b'{"configure": 2}', b"[1]", b'{"configure": 1, "period": "100ms"', b"\0" * 100,
          b'{"configure": 1, "metrics": "a\\u0000b"}', b'{"configure": "1", "period": "100ms"}']:
    s.send(m)
    answer = json.loads(s.recv())
    assert answer["ok"] is False and answer["error"], answer
s.send_multipart([b"a", b"b", b'{"configure": 1}'])
assert json.loads(s.recv())["ok"] is True
P
  equal 'in force' "$(shown .period_ms)" 1000
  end_node
}

python_zmq() {
  python=python3
  "$python" -c 'import zmq' 2>/dev/null || python=/usr/bin/python3
  "$python" -c 'import zmq' 2>/dev/null || skip "python3-zmq is not installed"
}

# collector: its pid in $collector; what its sink has in got
collector() {
  plimsoll collect --bind "$uri" --log log --sink stdout:jsonl >>got 2>>collector.log 3>&- &
  collector=$!
  PIDS+=("$collector")
}

@test "a collector that is away: nothing is lost, what waits is counted, and it goes on where it was" {
  uri=ipc://$WORK/collector
  : >got
  node -i 100ms --batch 300ms --connect "$uri" --spool spool -s system -o out.smp
  until_true at_least_shown .counts.spooled 3
  equal 'who is away' "$(shown .counts.collector)" away
  equal 'acknowledged' "$(shown .counts.acknowledged)" 0
  collector
  until_true shown_is .counts.spooled 0
  # killed in mid-stream, and there again
  kill -9 "$collector"
  wait "$collector" || true
  until_true at_least_shown .counts.spooled 2
  collector
  until_true shown_is .counts.spooled 0
  end_node
  equal 'dropped' "$(grep -c 'not acknowledged' node.log || true)" 0
  # every reading that is in the file has come out; the counter names it. A standard output cannot take back what a
  # kill interrupted: lines may be there twice, and one may be cut off
  rows_of out.smp | jq -c 'select(.source == "system" and .kind == "node") | .values.context_switches' | sort -u >want
  until_true same_rows
}
same_rows() {
  jq -R -c 'fromjson? | select(.source == "system" and .kind == "node") | .values.context_switches' got | sort -u >have
  cmp -s want have
}

@test "a spool that is full drops its oldest, counted, and a node that ends leaves the rest for the next" {
  uri=ipc://$WORK/collector
  : >got
  node -i 20ms --batch 20ms --connect "$uri" --spool spool --spool-limit 64K -s system -s network -s disk
  until_true at_least_shown .counts.dropped 1
  at_most 'size of the spool' "$(shown .counts.spooled_bytes)" 65536
  end_node
  grep -q 'not acknowledged and waits\? in the spool' node.log || fail "$(cat node.log)"
  collector
  node -i 1s --connect "$uri" --spool spool -s system
  until_true shown_is .counts.spooled 0
  at_least 'batches of the daemon before' "$(shown .counts.acknowledged)" 3
  end_node
}

@test "the service manager is told: ready, what it does, reloading, stopping" {
  python3 - notify.sock >told 3>&- <<'P' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode(), flush=True)
P
  PIDS+=($!)
  until_true test -S notify.sock
  NOTIFY_SOCKET=$WORK/notify.sock WATCHDOG_USEC=600000 node -i 100ms -o out.smp -s system
  until_true grep -q '^WATCHDOG=1$' told
  kill -HUP "$node"
  until_true grep -q '^RELOADING=1$' told
  end_node
  until_true grep -q '^STOPPING=1$' told
  equal 'the first word' "$(head -n1 told)" READY=1
  grep -q '^STATUS=0 jobs, 0 ended' told || fail "$(cat told)"
}

@test "200 connections that say nothing, or not all, do not keep a scrape out" {
  local port
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  node -i 200ms -s system --prometheus "127.0.0.1:$port"
  python3 - "$port" <<'P'
import http.client, socket, sys, time
port = int(sys.argv[1])
kept = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
def scrape(c):
    c.request("GET", "/metrics")
    r = c.getresponse()
    body = r.read()
    assert r.status == 200 and b"plimsoll_system_load1" in body, body[:200]
deadline = time.time() + 60
while True:
    try:
        scrape(kept)
        break
    except (AssertionError, ConnectionError):
        assert time.time() < deadline
        time.sleep(0.1)
silent = []
for i in range(200):
    s = socket.create_connection(("127.0.0.1", port), timeout=60)
    if i % 2:
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    silent.append(s)
def is_open(s):
    s.settimeout(0.01)
    try:
        return s.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionError:
        return False
# those that the node still has open are as many as it takes: only then does a scrape show anything
before = [is_open(s) for s in silent]
assert sum(before) >= 50, sum(before)
for _ in range(20):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    scrape(c)
    c.close()
scrape(kept) # one that was served stays
after = [is_open(s) for s in silent]
# they are open still: a scrape takes the place of one at a time, and nobody waited for a time-out
assert sum(after) >= sum(before) - 21, (sum(before), sum(after))
assert sum(after) >= 30, sum(after)
# the oldest made room, not the newest
assert not after[0] and after[-1], after
P
  end_node
}

@test "a root that is not there, or is no control group, is warned of by name, and said to be there when it comes" {
  plimsoll node --name n -i 100ms -o out.smp -s system --cgroup-root "$WORK/nowhere" --cgroup-root "$WORK/run" 2>node.log 3>&- &
  node=$!
  PIDS+=("$node")
  until_true node_is_up
  grep -q "warning: '$WORK/nowhere' (--cgroup-root) does not exist: waiting for it to appear; .*correct it and restart" node.log || fail "$(cat node.log)"
  grep -q "warning: '$WORK/run' (--cgroup-root) is not in a cgroup file system: waiting for it to appear" node.log || fail "$(cat node.log)"
  plimsoll configure n --show >shown
  grep -q "^problem  '$WORK/nowhere' (--cgroup-root) does not exist: no job is found there$" shown || fail "$(cat shown)"
  equal 'problems' "$(shown '.problems | length')" 2
  at=$(shown .counts.readings)
  until_true at_least_shown .counts.readings $((at + 5))
  equal 'how often it is said' "$(grep -c 'waiting for it to appear' node.log)" 2
  # a batch system makes its place with the first job
  group=$(awk '$3 == "cgroup2" || $3 == "cgroup" { print $2; exit }' /proc/mounts)
  if [ -n "$group" ]; then
    ln -s "$group" nowhere
    until_true grep -q "'$WORK/nowhere' (--cgroup-root) exists now" node.log
    equal 'problems now' "$(shown '.problems | length')" 1
  fi
  end_node
}
