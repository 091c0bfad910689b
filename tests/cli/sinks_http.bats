#!/usr/bin/env bats
# A collector with servers: one that comes late, one that is there, and a collector that is killed meanwhile.

bats_require_minimum_version 1.5.0
# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash"
# shellcheck source=tests/cli/collect.bash
. "$PL_SOURCE/tests/cli/collect.bash"

# server SCRIPT ARGUMENT...: a stand-in; its port in $PORT
server() {
  local script=$1
  shift
  tail -f /dev/null 3>&- | python3 "$PL_SOURCE/tests/cli/$script" "$@" >"$script.port" 2>"$script.err" 3>&- &
  for _ in $(seq 300); do
    PORT=$(cat "$script.port")
    [ -z "$PORT" ] || return 0
    sleep 0.1
  done
  fail "$script did not start: $(cat "$script.err")"
}

state_of() {
  python3 -c "import sys, urllib.request as u; sys.stdout.write(u.urlopen('http://127.0.0.1:$1/_state').read().decode())"
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

@test "three servers have every value once, the one that came late, too" {
  local sinks late clickhouse remote
  late=$(free_port)
  server fake_clickhouse.py
  clickhouse=$PORT
  server fake_remote_write.py
  remote=$PORT
  sinks=(--sink "elastic:http://127.0.0.1:$late" --sink "clickhouse:http://127.0.0.1:$clickhouse"
    --sink "remote-write:http://127.0.0.1:$remote")
  collector c --bind 'tcp://127.0.0.1:*' "${sinks[@]}"
  deliver n1 1 20
  until_status c '[.sinks[] | select(.position == 21)] | length == 2'
  equal "the late one" "$(status_of c '.sinks[0].phase')" opening
  kill -KILL "$PID"
  wait "$PID" || true
  collector c --bind "$NATIVE" "${sinks[@]}"
  deliver n1 21 40
  server fake_elastic.py --port "$late"
  deliver n2 1 5
  until_stored c 45
  equal "skipped and missing" "$(status_of c '[.sinks[] | .skipped + .missing] | add')" 0
  collector_stop "$PID"
  # three jobs and the node in 225 readings
  state_of "$late" >elastic
  equal "complaints" "$(jq -c .complaints elastic)" '[]'
  equal "documents" "$(jq '[.documents[] | select(has("@timestamp"))] | length' elastic)" $((225 * 4))
  equal "a document" "$(jq -c '.documents[] | select(.hostname == "n1" and .["@timestamp"] == 1800000049000 and .job_id == "1002") | [.cpu_time, ._index]' elastic)" \
    '[49002,"plimsoll_group-2027.01.15"]'
  state_of "$clickhouse" >clickhouse
  equal "complaints" "$(jq -c .complaints clickhouse)" '[]'
  python3 -c "import sys, urllib.request as u; sys.stdout.write(u.urlopen('http://127.0.0.1:$clickhouse/', b'SELECT * FROM plimsoll_group FORMAT JSONEachRow').read().decode())" >rows
  equal "rows" "$(wc -l <rows)" $((225 * 3))
  state_of "$remote" >remote
  equal "complaints" "$(jq -c .complaints remote)" '[]'
  equal "samples of a series" "$(jq '.series[] | select(.metric.__name__ == "plimsoll_group_cpu_time_seconds_total" and .metric.host == "n1" and .metric.job_id == "1002") | .values | length' remote)" 200
}

# put PORT PATH JSON: to a stand-in
put() {
  python3 -c 'import sys, urllib.request as u; u.urlopen(u.Request("http://127.0.0.1:%s%s" % (sys.argv[1], sys.argv[2]), sys.argv[3].encode(), method="PUT"))' "$@"
}

rows_of() {
  python3 -c "import sys, urllib.request as u; sys.stdout.write(u.urlopen('http://127.0.0.1:$1/', b'SELECT * FROM plimsoll_$2 FORMAT JSONEachRow').read().decode())" | wc -l
}

@test "rows that ClickHouse never takes are left out, counted, kept aside, and sent again when that is mended" {
  local sink
  server fake_clickhouse.py
  sink="clickhouse:http://127.0.0.1:$PORT"
  put "$PORT" /_poison '{"column": "host", "value": "n2", "code": 469, "status": 500}'
  collector c --bind 'tcp://127.0.0.1:*' --sink "$sink"
  deliver n1 1 4
  deliver n2 1 2
  deliver n1 5 8
  until_stored c 10
  equal "left out" "$(status_of c '.sinks[0] | [.skipped, .kept_aside, .missing] | join(" ")')" "2 2 0"
  equal "rows" "$(rows_of "$PORT" group)" $((8 * 5 * 3))
  collector_stop "$PID"
  grep -q "skipped part of entry [0-9]*, all of it kept in '$WORK/c/sinks/clickhouse-.*/left-out': rows of plimsoll_group: status 500: Code: 469" c.err
  run -1 plimsoll collect --log c --resend --sink "$sink/x"
  equal "another sink" "$output" \
    "plimsoll: error: no entries of $sink/x are kept aside in 'c', but of $sink: name the --sink as for the collector"
  run -1 plimsoll collect --log c --resend --sink "$sink"
  [[ $output == *"0 sent again, 2 left out again"* ]]
  put "$PORT" /_poison '{}'
  run -0 plimsoll collect --log c --resend --sink "$sink" --sink stdout:csv
  [[ $output == *"$sink: 2 sent again, 0 left out again"* ]]
  [[ $output == *"stdout:csv: no entries are kept aside"* ]]
  equal "rows" "$(rows_of "$PORT" group)" $((10 * 5 * 3))
  run -1 plimsoll collect --log c --resend --sink "$sink"
  equal "no sink" "$output" "plimsoll: error: no entries are kept aside in 'c' for any sink"
}
