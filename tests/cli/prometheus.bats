#!/usr/bin/env bats
# A real Prometheus: it scrapes a collector and a node daemon, takes remote write, and answers queries with what was sent.

bats_require_minimum_version 1.5.0
load lib
load node
load collect

setup() {
  command -v prometheus >/dev/null || skip "prometheus is not installed"
  node_setup
}
teardown() {
  [ -z "${WORK:-}" ] || node_teardown
}

free_ports() {
  python3 -c 'import socket, sys
s = [socket.socket() for _ in range(int(sys.argv[1]))]
for x in s: x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))' "$1"
}

# server [TARGET...]: scrapes these twice a second; its address in $SERVER
server() {
  local target
  SERVER=${SERVER:-127.0.0.1:$(free_ports 1)}
  {
    printf 'global: {scrape_interval: 500ms, scrape_timeout: 500ms}\nscrape_configs:\n'
    for target in "$@"; do printf -- '- job_name: "%s"\n  static_configs: [{targets: ["%s"]}]\n' "$target" "$target"; done
  } >prometheus.yml
  prometheus --config.file=prometheus.yml --storage.tsdb.path="$WORK/tsdb" --web.listen-address="$SERVER" \
    --web.enable-remote-write-receiver >>server.log 2>&1 3>&- &
  PIDS+=($!)
  until_true answers
}
answers() { python3 -c "import urllib.request as u; u.urlopen('http://$SERVER/-/ready')"; }

# ask PATH KEY VALUE...: an answer of its API
ask() {
  python3 - "http://$SERVER/api/v1/$1" "${@:2}" <<'P'
import json, sys, urllib.parse, urllib.request
url, words = sys.argv[1], sys.argv[2:]
q = urllib.parse.urlencode(list(zip(words[::2], words[1::2])))
print(json.dumps(json.load(urllib.request.urlopen(url + "?" + q))["data"]))
P
}
# query PROMQL: the one number that comes of it; nothing where there is none
query() { ask query query "$1" | jq -r '.result | if length > 1 then "several" else .[0].value[1] // empty end'; }
query_is() { [ "$(query "$1")" = "$2" ]; }

# bats test_tags=colmet
@test "what a collector shows is what its nodes sent, and a job that is gone is gone" {
  local show
  show=127.0.0.1:$(free_ports 1)
  collector c --bind 'tcp://127.0.0.1:*' --sink "prometheus:$show"
  PIDS+=("$PID")
  server "$show"
  deliver n1 1 4
  deliver n2 1 2 1
  until_stored c 6
  # tick 19 of n1: 1000 t + job nanoseconds, t % 7 bytes; tick 9 of n2
  until_true query_is 'plimsoll_group_memory_bytes{host="n1",job_id="1002"}' 5
  equal 'CPU time' "$(query 'plimsoll_group_cpu_time_seconds_total{host="n1",job_id="1002",user="alice"}')" 0.000019002
  equal 'CPU time of a job on all nodes, in ns' "$(query 'round(sum by (job_id) (plimsoll_group_cpu_time_seconds_total{job_id="1000"}) * 1e9)')" 28000
  equal 'of the node' "$(query 'plimsoll_system_forks_total{host="n2"}')" 90
  equal 'series of jobs' "$(query 'count(plimsoll_group_memory_bytes)')" 4
  equal 'health' "$(ask targets | jq -c '[.activeTargets[] | [.health, .lastError]]')" '[["up",""]]'
  equal 'type' "$(ask targets/metadata metric plimsoll_group_cpu_time_seconds | jq -c 'map([.type, .help, .unit])')" '[["counter","CPU time","seconds"]]'
  # every line that is shown was taken
  equal 'lines' "$(query "scrape_samples_post_metric_relabeling")" \
    "$(python3 -c "import urllib.request as u; print(sum(1 for l in u.urlopen('http://$show/metrics') if not l.startswith(b'#')))")"
  # job 1002 ends on n1
  deliver n1 5 5 2
  until_true query_is 'count(plimsoll_group_memory_bytes{host="n1"})' 2
  equal 'the job that is gone' "$(query 'plimsoll_group_memory_bytes{host="n1",job_id="1002"}')" ''
  equal 'it was there' "$(query 'max_over_time(plimsoll_group_memory_bytes{host="n1",job_id="1002"}[5m]) > 0')" 5
  collector_stop "$PID"
}

@test "what a node daemon shows is what the kernel says" {
  [ -w /sys/fs/cgroup/cpuacct/cgroup.procs ] || skip "no control groups of version 1"
  local show used
  show=127.0.0.1:$(free_ports 1)
  mkdir "/sys/fs/cgroup/cpuacct/$GROUP"
  node -i 200ms --prometheus "$show" -s jobs -s system
  server "$show"
  job carol_77 perl -e 'while ((times)[0] < 0.3) { for (1 .. 10000) {} } sleep 600'
  until_true query_is 'count(plimsoll_jobs_cpu_usage_seconds_total{job_id="77"})' 1
  until_true asleep carol_77
  used=$(job_cpu_us carol_77)
  until_true query_is "round(plimsoll_jobs_cpu_usage_seconds_total{host=\"n\",job_id=\"77\"} * 1e6)" "$used"
  equal 'memory of the node' "$(query 'plimsoll_system_mem_total_bytes{host="n"}')" \
    "$(awk '/^MemTotal:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)"
  equal 'health' "$(ask targets | jq -c '[.activeTargets[] | [.health, .lastError]]')" '[["up",""]]'
  kill_job carol_77
  end_job_groups carol_77
  until_true query_is 'plimsoll_jobs_cpu_usage_seconds_total{job_id="77"}' ''
  end_node
}
asleep() {
  local before
  before=$(job_cpu_us "$1")
  [ "$before" -ge 100000 ] && sleep 0.3 && [ "$(job_cpu_us "$1")" = "$before" ]
}

# written SERIES: time and value of all samples of a series that was written
written() { ask query query "$1[1h]" | jq -c '[.result[].values[] | [.[0], (.[1] | tonumber)]]'; }
# wanted FROM TO WHAT: ticks of FEEDER_BEGIN, and a term of t
wanted() { jq -nc --argjson b "$FEEDER_BEGIN" "[range($1; $2 + 1) as \$t | [\$b + \$t, (\$t | $3)]]"; }

# bats test_tags=colmet
@test "remote write: every value once with its time, also when the collector is killed and the server away" {
  export FEEDER_BEGIN=$(($(date +%s) - 600))
  server
  collector c --bind 'tcp://127.0.0.1:*' --sink "remote-write:http://$SERVER"
  PIDS+=("$PID")
  deliver n1 1 4
  deliver n2 1 4
  until_stored c 8
  kill -9 "$PID"
  wait "$PID" || true
  # as if the server had all of it, and the collector did not know: entries come again, and behind them new ones
  note=$(echo c/sinks/remote-write-*/position)
  sed -i -E 's/^position [0-9]+/position 1/' "$note"
  collector c --bind "$NATIVE" --sink "remote-write:http://$SERVER"
  PIDS+=("$PID")
  deliver n1 5 8
  until_stored c 12
  # the server is away for a while, and job 1002 ends
  kill "${PIDS[0]}"
  wait "${PIDS[0]}" || true
  deliver n1 9 10 2
  until_status c '.sinks[0].phase == "pausing"'
  server
  until_stored c 14
  equal 'missing and left out' "$(status_of c '.sinks[0] | .missing + .skipped')" 0
  collector_stop "$PID"
  for n in 'n1 49' 'n2 19'; do
    # shellcheck disable=SC2086
    set -- $n
    equal "memory of 1001 on $1" "$(written "plimsoll_group_memory_bytes{host=\"$1\",job_id=\"1001\",kind=\"job\"}")" "$(wanted 0 "$2" '. % 7')"
    equal "CPU time of 1001 on $1" "$(written "plimsoll_group_cpu_time_seconds_total{host=\"$1\",job_id=\"1001\"}")" \
      "$(wanted 0 "$2" '(1000 * . + 1) / 1e9')"
    equal "forks on $1" "$(written "plimsoll_system_forks_total{host=\"$1\",kind=\"node\"}")" "$(wanted 0 "$2" '. * 10')"
  done
  equal 'memory of the job that ended' "$(written 'plimsoll_group_memory_bytes{host="n1",job_id="1002"}')" "$(wanted 0 39 '. % 7')"
  # a stale marker, at its first reading without it
  equal 'just before' "$(ask query query 'plimsoll_group_memory_bytes{host="n1",job_id="1002"}' time $((FEEDER_BEGIN + 39)) | jq '.result | length')" 1
  equal 'and then' "$(ask query query 'plimsoll_group_memory_bytes{host="n1",job_id="1002"}' time $((FEEDER_BEGIN + 40)) | jq '.result | length')" 0
}
