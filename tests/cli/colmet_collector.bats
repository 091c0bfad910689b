#!/usr/bin/env bats
# bats file_tags=colmet
# The collector under colmet's name: its options, its messages, its files.

# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash"
# shellcheck source=tests/cli/collect.bash
. "$PL_SOURCE/tests/cli/collect.bash"

bats_require_minimum_version 1.5.0
DATA=$PL_SOURCE/../shared/data/colmet

# colmet NAME OPTION...: as collector(), under the old name
colmet() {
  local name=$1
  shift
  colmet-collector --log "$WORK/$name" "$@" >>"$name.out" 2>>"$name.err" 3>&- &
  PID=$!
  collector_up "$name" "$PID"
}

needs_data() {
  [ -d "$DATA" ] || skip "no sample data beside the project"
}

@test "captured messages of both versions come out with the values they have" {
  needs_data
  colmet c --zeromq-bind-uri 'tcp://127.0.0.1:*' --sink stdout:jsonl
  "$PROGRAMS/feeder" push "$COLMET" "$DATA/pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin" "$DATA/rustnode_2jobs_5metrics.bin"
  until_stored c 2
  equal "records" "$(status_of c .colmet.records)" 10
  collector_stop "$PID"
  equal "CPU of a job" "$(jq -r 'select(.source == "taskstats_default" and .job == "1001") | .values.cpu_run_real_total' c.out)" 1445209528
  equal "when" "$(jq -r 'select(.source == "taskstats_default" and .job == "1001") | .time' c.out)" 2026-11-15T02:31:23.000000Z
  equal "page faults" "$(jq -r 'select(.source == "memory" and .job == "1000") | .values.pgfault' c.out)" 1
  equal "the node's" "$(jq -r 'select(.source == "procstats_default") | [.kind, .entity] | join(" ")' c.out)" "node node"
}

@test "what colmet shows on the terminal" {
  needs_data
  colmet c --zeromq-bind-uri 'tcp://127.0.0.1:*' --enable-stdout-backend true
  "$PROGRAMS/feeder" push "$COLMET" "$DATA/pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin" "$DATA/rustnode_2jobs_5metrics.bin"
  until_stored c 2
  collector_stop "$PID"
  equal "records" "$(grep -c ' -> Host(vm) -> {$' c.out)" 10
  grep -qF '1794709883  Job(1001)/ taskstats_default -> Host(vm) -> {' c.out
  grep -qP '^\t +ac_btime : 15/11/2026 - 02:31:20$' c.out
  grep -qF '1794710223  Job(1000)/ memory -> Host(vm) -> {' c.out
}

@test "files are rolled over by HUP" {
  needs_data
  plimsoll sinks --json | jq -e 'any(.[]; .name == "hdf5")' >/dev/null
  colmet c --zeromq-bind-uri 'tcp://127.0.0.1:*' --hdf5-filepath "$WORK/data/colmet" --hdf5-complevel 9 --hdf5-complib blosc
  grep -q 'zlib is used' c.err
  "$PROGRAMS/feeder" push "$COLMET" "$DATA/pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin"
  until_stored c 1
  local first
  first=$(ls data)
  [[ $first =~ ^colmet\.[0-9]+\.hdf5$ ]]
  kill -HUP "$PID"
  "$PROGRAMS/feeder" push "$COLMET" "$DATA/pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin"
  until_stored c 2
  collector_stop "$PID"
  equal "files" "$(find data -name 'colmet.*.hdf5' | wc -l)" 2
  equal "rows of each" "$(for f in data/*.hdf5; do h5ls "$f/job_1001/taskstats_default"; done | awk '{ print $3 }' | sort | uniq -c | awk '{ print $1, $2 }')" \
    "2 {1/Inf}"
}

@test "options of both versions, with and without values" {
  run -2 colmet-collector
  [[ $output == *"colmet-collector: error: at least one output is needed"* ]]
  run -2 colmet-collector --enable-stdout-backend false
  [[ $output == *"at least one output"* ]]
  run -2 colmet-collector --nonsense
  [[ $output == *"there is no option --nonsense"* ]]
  run -2 colmet-collector --zeromq-hwm many --enable-stdout-backend
  [[ $output == *"--zeromq-hwm takes a whole number"* ]]
  run -2 colmet-collector --zeromq
  [[ $output == *"--zeromq can be"* ]]
  run -0 colmet-collector --version
  [[ $output == colmet-collector* ]]
  run -0 colmet-collector --help
  local option
  for option in sample-period buffer-size enable-stdout-backend zeromq-bind-uri zeromq-uri zeromq-hwm zeromq-linger \
    zeromq-swap hdf5-filepath hdf5-complevel hdf5-complib elastic-host elastic-index-prefix http-credentials \
    no-check-certificates; do
    [[ $output == *"--$option"* ]] || fail "--$option is not listed"
  done
  # the Rust version's form: every flag has a value, the address is that of nodes
  colmet c -v 2 -s 1.5 --zeromq-uri 'tcp://127.0.0.1:*' --zeromq-hwm 5 --zeromq-linger 0 --zeromq_swap 100 --buffer-size=5000 -P none \
    --no-check-certificates true
  grep -q 'zeromq-swap has no effect' c.err
  equal "sinks" "$(status_of c '[.sinks[].sink] | join(" ")')" stdout:text
  collector_stop "$PID"
}

# A server that takes everything and keeps the documents of bulk requests in ./documents.
stand_in() {
  cat >stand_in.py <<'P'
import gzip, http.server, json, sys

class Answer(http.server.BaseHTTPRequestHandler):
    def reply(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        items = []
        if "_bulk" in self.path:
            lines = body.decode().splitlines()
            with open("documents", "a") as out:
                for action, document in zip(lines[::2], lines[1::2]):
                    kind, target = list(json.loads(action).items())[0]
                    items.append({kind: {"_index": target["_index"], "_id": target.get("_id"), "status": 201}})
                    out.write(json.dumps([target["_index"], json.loads(document)]) + "\n")
        text = json.dumps({"errors": False, "items": items, "acknowledged": True, "version": {"number": "8.0.0"}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)
    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = reply
    def log_message(self, *words):
        pass

http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Answer).serve_forever()
P
}

# With addresses and directories of their own: nothing of this host is in the way.
@test "the examples of colmet's documentation, as they are written" {
  needs_data
  unshare -n -m true 2>/dev/null || skip "no namespaces here"
  [ -d /data ] || { mkdir /data 2>/dev/null && touch made; } || skip "there is no /data to mount over"
  stand_in
  mkdir data log home
  cat >example <<'S'
set -eu
mount --bind "$WORK/data" /data
mount --bind "$WORK/log" /var/log
ip link set lo up
ip address add 192.168.0.1/32 dev lo
ip address add 192.168.0.2/32 dev lo
# once STATE: a message is taken and stored, and the collector ended
once() {
  for _ in $(seq 400); do
    [ "$(jq -r .pid "$2/status.json" 2>/dev/null)" != "$PID" ] || break
    kill -0 "$PID"
    sleep 0.05
  done
  "$PROGRAMS/feeder" push "$1" "$MESSAGE"
  for _ in $(seq 400); do
    [ "$(jq -r '.sinks[0].position' "$2/status.json" 2>/dev/null)" != 2 ] || break
    kill -0 "$PID"
    sleep 0.05
  done
  kill "$PID"
  wait "$PID"
}
colmet-collector -vvv --zeromq-bind-uri tcp://127.0.0.1:5556 --hdf5-filepath /data/colmet.hdf5 --hdf5-complevel 9 &
PID=$!
once tcp://127.0.0.1:5556 "$PLIMSOLL_COLLECT_LOG/colmet-tcp___127.0.0.1_5556"
python3 stand_in.py 192.168.0.2 9200 &
SERVER=$!
  colmet-collector -vvv \
    --zeromq-bind-uri tcp://192.168.0.1:5556 \
    --buffer-size 5000 \
    --sample-period 3 \
    --elastic-host http://192.168.0.2:9200 \
    --elastic-index-prefix colmet_dahu_ 2>>/var/log/colmet_err.log >> /var/log/colmet.log &
PID=$!
once tcp://192.168.0.1:5556 "$PLIMSOLL_COLLECT_LOG/colmet-tcp___192.168.0.1_5556"
kill "$SERVER"
S
  export PLIMSOLL_COLLECT_LOG=$WORK/home/state PROGRAMS WORK
  MESSAGE=$DATA/pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin \
    unshare -n -m bash example >example.out 2>&1 3>&- || {
    cat example.out log/*
    touch failed
  }
  [ ! -e made ] || rmdir /data
  [ ! -e failed ]
  equal "rows" "$(h5ls data/colmet.hdf5/job_1000/taskstats_default | awk '{ print $3 }')" "{1/Inf}"
  equal "documents" "$(wc -l <documents)" 6
  equal "a value" "$(jq -r 'select(.[1].job_id == 1001 and .[1].cpu_run_real_total) | .[1] | "\(.hostname) \(.timestamp) \(.cpu_run_real_total)"' documents)" \
    "vm 1794709883 1445209528"
  jq -r '.[0]' documents | grep -q '^colmet_dahu_taskstats_default'
  grep -q "accepts messages from any host" log/colmet_err.log
}
