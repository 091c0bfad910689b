#!/usr/bin/env bats
# bats file_tags=colmet
# colmet's records as others read them, and `extract`.

bats_require_minimum_version 1.5.0
load lib

# ---- records, by a receiver in Python -----------------------------------------------------------------

# check_records FILE: every record that colmet_send makes, value by value
check_records() {
  equal "backends" "$(jq -r .backend "$1" | paste -sd' ')" "taskstats_default procstats_default infinibandstats_default \
lustrestats_default perfhwstats_default RAPLstats_default temperaturestats_default jobprocstats_default \
ipmipowerstats_default nvidiastats_default"
  equal "heads" "$(jq -c '[.host, .time]' "$1" | sort -u)" '["node-1",1794709883]'
  equal "jobs" "$(jq -r .job "$1" | paste -sd' ')" "1000 0 0 0 1000 0 0 1000 0 1000"
  equal "numbers of values" "$(jq '.values | length' "$1" | paste -sd' ')" "30 64 5 5 5 25 6 10 2 7"
  # all but the last of those with a sign, the text and the five that are no whole numbers
  equal "values" "$(jq -c '[.values[] | select(type == "number")] | to_entries | map(select(.value != 1000 * .key + 7) |
    [.key, .value])' "$1" | paste -sd' ')" "[] \
[[58,14.5],[59,14.75],[60,15],[61,15.25],[62,15.5]] [[3,-1]] [] [[4,-1]] [[23,-1]] [[5,-1]] [[9,-1]] [[0,-1]] [[6,-1]]"
  equal "lists of jobs" "$(jq -c '.values[] | select(type == "array")' "$1" | sort | uniq -c | xargs)" "5 [1000,1001]"
}

@test "a packed message is what Python's struct unpacks" {
  "$PROGRAMS/colmet_send" message
  equal "size" "$(stat -c %s message)" "$((762 + 9202 + 8750 + 8750 + 566 + 8910 + 574 + 606 + 8726 + 582))"
  python3 "$PL_SOURCE/tests/cli/colmet_receive.py" message >records
  check_records records
}

@test "a message arrives at a PULL socket of Python's" {
  /usr/bin/python3 -c 'import zmq' 2>/dev/null || skip "python3-zmq is not installed"
  /usr/bin/python3 "$PL_SOURCE/tests/cli/colmet_receive.py" --port-file port >records &
  local receiver=$!
  for _ in $(seq 600); do
    [ -e port ] && break
    sleep 0.1
  done
  "$PROGRAMS/colmet_send" "tcp://127.0.0.1:$(cat port)"
  wait "$receiver"
  check_records records
}

# ---- extract ------------------------------------------------------------------------------------------

# extract ARGUMENT...: the answer in answer.json, as the API reads it. With sanitizers leaks are not looked for: the
# checker itself crashes on memory that HDF5 keeps for its thread, depending on the arguments; valgrind finds nothing.
extract() {
  ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 plimsoll extract "$@" >answer.gz && gunzip -c answer.gz >answer.json
}

# make_files: what a collector left: two files of one minute each, a job on two hosts, and its nodes. What a node could
# not send at once is in the second file.
make_files() {
  /usr/bin/python3 - <<'P'
import tables

def table(f, group, name, columns, rows):
    if "/" + group not in f:
        f.create_group("/", group)
    t = f.create_table("/" + group, name, columns)
    for r in rows:
        for k, v in r.items():
            t.row[k] = v
        t.row.append()

T, I, F = tables.StringCol, tables.Int64Col, tables.Float32Col
task = {"hostname": T(255), "timestamp": I(), "job_id": I(), "read_bytes": I(dflt=-1), "cpu_run_real_total": I(dflt=-1)}
proc = {"hostname": T(255), "timestamp": I(), "loadavg_1min": F(), "meminfo_memfree": I()}
jobp = {"hostname": T(255), "timestamp": I(), "read_bytes": I()}
ipmi = {"hostname": T(255), "timestamp": I(), "average_power_consumption": I(), "involved_jobs": T(8192)}
for epoch, late in ((1700000000, 0), (1700000060, 1)):
    with tables.open_file("data.x.%d.hdf5" % epoch, "w") as f:
        stamps = range(epoch, epoch + 60, 20)
        hosts = ("n1", "n2")
        table(f, "job_42", "taskstats_default", task, [dict(hostname=h, timestamp=t, job_id=42, read_bytes=t - 1700000000,
              cpu_run_real_total=2**62 + t) for t in stamps for h in hosts] +
              ([dict(hostname="n1", timestamp=1700000050, job_id=42, read_bytes=50, cpu_run_real_total=5)] if late else []))
        table(f, "job_42", "jobprocstats_default", jobp, [dict(hostname="n1", timestamp=t, read_bytes=9) for t in stamps])
        table(f, "job_0", "procstats_default", proc, [dict(hostname=h, timestamp=t, loadavg_1min=0.25, meminfo_memfree=7)
              for t in stamps for h in hosts + ("n3",)])
        table(f, "job_0", "ipmipowerstats_default", ipmi, [dict(hostname=h, timestamp=t, average_power_consumption=100,
              involved_jobs="[41, 42]" if t % 40 else "[4, 420]") for t in stamps for h in hosts])
        table(f, "job_0", "temperaturestats_default", {"counter_1": I()}, [dict(counter_1=30)])
        # tables of our own sources
        own = {"time": I(pos=0), "host": T(255, pos=1), "entity": T(255, pos=2)}
        table(f, "job_42", "jobs", dict(own, cpu_usage=I()), [dict(time=epoch * 10**9 + 999, host="n2", entity="job:42",
              cpu_usage=-1 if late else 7)])
        table(f, "job_44", "job_tasks", dict(own, ac_utime=I(), read_bytes=I()), [dict(time=t * 10**9, host="n2",
              entity="job:44", ac_utime=t - 1700000000, read_bytes=3) for t in stamps])
        table(f, "job_0", "system", dict(own, load1=tables.Float64Col()), [dict(time=t * 10**9, host=h, entity=w,
              load1=0.5 if w == "node:node" else 9) for t in stamps for h in ("n2", "n3") for w in ("cpu:cpu0", "node:node")])
P
  touch data.y.1700000000.hdf5 data.x.17.hdf5.old
}

@test "extract: rows of the window, of all hosts, in order" {
  make_files
  extract data.x 42 1700000020 1700000060 read_bytes
  equal "answer" "$(cat answer.json)" '{"read_bytes":[20,20,40,40,50,60,60],"timestamp":[1700000020,1700000020,1700000040,1700000040,1700000050,1700000060,1700000060],"hostname":["n1","n2","n1","n2","n1","n1","n2"]}'
  # numbers are whole: 2^62 and some
  extract data.x 42 1700000000 1700000000 cpu_run_real_total
  equal "large" "$(cat answer.json)" '{"cpu_run_real_total":[4611686020127387904,4611686020127387904],"timestamp":[1700000000,1700000000],"hostname":["n1","n2"]}'
  # one file
  extract data.x.1700000060.hdf5 42 0 1700000050 read_bytes
  equal "one file" "$(jq -c .read_bytes answer.json)" "[50]"
}

@test "extract: backends are joined by time and host, those of the node where the job was" {
  make_files
  extract data.x 42 1700000000 1700000020 read_bytes,jobprocstats.read_bytes,loadavg_1min,average_power_consumption
  equal "joined" "$(jq -c '[.["jobprocstats.read_bytes"], .loadavg_1min, .average_power_consumption, .hostname]' answer.json)" \
    '[[9,null,9,null],[0.25,0.25,0.25,0.25],[null,null,100,100],["n1","n2","n1","n2"]]'
  extract data.x 42 1700000000 1700000020 meminfo_memfree
  equal "of the node" "$(jq -c '[.meminfo_memfree, .hostname]' answer.json)" '[[7,7,7,7],["n1","n2","n1","n2"]]'
  # tables of our own sources, which have names of their own
  extract data.x 42 1700000000 1700000060 jobs.cpu_usage,load1
  equal "our own" "$(jq -c '[.["jobs.cpu_usage"], .load1, .timestamp, .hostname]' answer.json)" \
    '[[7,null,null,null],[0.5,0.5,0.5,0.5],[1700000000,1700000020,1700000040,1700000060],["n2","n2","n2","n2"]]'
  # those that colmet has too are found by its bare name
  extract data.x 44 1700000000 1700000040 ac_utime,read_bytes,job_tasks.ac_utime,loadavg_1min
  equal "names of colmet's" "$(jq -c '[.ac_utime, .read_bytes, .["job_tasks.ac_utime"], .loadavg_1min, .hostname]' answer.json)" \
    '[[0,20,40],[3,3,3],[0,20,40],[0.25,0.25,0.25],["n2","n2","n2"]]'
  extract data.x 42 1700000000 1700000020 read_bytes,ac_utime
  equal "only the other job's" "$(jq -c '[.read_bytes, .ac_utime]' answer.json)" '[[0,0,20,20],[null,null,null,null]]'
  extract data.x 0 1700000000 1700000000 meminfo_memfree
  equal "job 0" "$(jq -c '.hostname' answer.json)" '["n1","n2","n3"]'
}

@test "extract: statuses" {
  make_files
  run -1 --separate-stderr plimsoll extract data.x 42 1 2
  run -1 --separate-stderr plimsoll extract data.x 42 2 1 read_bytes
  run -1 --separate-stderr plimsoll extract data.x 42 1 2 read_bytes,
  run -1 --separate-stderr plimsoll extract --nothing
  run -2 --separate-stderr plimsoll extract nothing 42 1 2 read_bytes
  equal "no file" "$stderr" "plimsoll: error: there is no file 'nothing' and none named 'nothing.EPOCH.hdf5'"
  run -2 --separate-stderr plimsoll extract data.y 42 1 2 read_bytes
  [[ $stderr == *"cannot read 'data.y.1700000000.hdf5': "* ]] || fail "$stderr"
  run -4 --separate-stderr plimsoll extract data.x 42 1 2 read_bytes
  run -4 --separate-stderr plimsoll extract data.x 43 1 1800000000 read_bytes
  equal "no data" "$stderr" "plimsoll: error: job 43 has no values of these metrics in this time window"
  run -4 --separate-stderr plimsoll extract data.x 42 1 1800000000 nonsense
  [[ $stderr == *"no table has a metric 'nonsense'"* ]] || fail "$stderr"
  # a disk that is full
  run -3 --separate-stderr bash -c 'plimsoll extract data.x 42 1 1800000000 read_bytes >/dev/full'
  [[ $stderr == *"cannot write: No space left on device"* ]] || fail "$stderr"
}

@test "extract: a file that is damaged is named, and the answer is not a part of one" {
  make_files
  printf 'x' | dd of=data.x.1700000000.hdf5 bs=1 seek=2 conv=notrunc status=none
  status=0
  plimsoll extract --plain data.x 42 1 1800000000 read_bytes 2>messages >answer.json || status=$?
  equal "status" "$status" 3
  equal "size of the answer" "$(stat -c %s answer.json)" 0
  grep -q "warning: cannot read 'data.x.1700000000.hdf5': " messages || fail "$(cat messages)"
  equal "lines" "$(wc -l <messages)" 2
  # one that is not in the window is not missed
  plimsoll extract --plain data.x 42 1700000070 1800000000 read_bytes >answer.json
  equal "rows" "$(jq -c .read_bytes answer.json)" "[80,80,100,100]"
  plimsoll extract --skip-damaged --plain data.x 42 1 1800000000 read_bytes,loadavg_1min 2>messages >answer.json
  equal "rows" "$(jq -c .read_bytes answer.json)" "[50,60,60,80,80,100,100]"
  equal "messages" "$(grep -c "cannot read 'data.x.1700000000.hdf5': " messages) of $(wc -l <messages)" "1 of 1"
}

@test "extract: of a file that is damaged further in, not even the rows before the damage are left" {
  make_files
  # the second table of the job: what is before it can be read
  /usr/bin/python3 - <<'P'
import tables, zlib
name = "data.x.1700000000.hdf5"
with tables.open_file(name, "a") as f:
    f.create_table("/job_42", "zstats_default", {"hostname": tables.StringCol(255), "timestamp": tables.Int64Col(),
        "zeal": tables.Int64Col()}, chunkshape=(8,), filters=tables.Filters(complevel=5, fletcher32=True))
    for i in range(8):
        r = f.root.job_42.zstats_default.row
        r["hostname"], r["timestamp"], r["zeal"] = "marked" * 20, 1700000000 + i, i
        r.append()
    f.root.job_42.zstats_default.flush()
data = bytearray(open(name, "rb").read())
places = []
for i in range(len(data) - 2):
    if data[i] == 0x78:
        try:
            if len(zlib.decompressobj().decompress(bytes(data[i:i + 4096]))) >= 8 * 271:
                places.append(i)
        except zlib.error:
            pass
assert len(places) == 1, places
for i in range(places[0] + 2, places[0] + 30): data[i] ^= 0x5a
open(name, "wb").write(data)
P
  status=0
  plimsoll extract --plain data.x 42 1 1800000000 read_bytes,zeal 2>messages >answer.json || status=$?
  equal "status" "$status" 3
  equal "size of the answer" "$(stat -c %s answer.json)" 0
  plimsoll extract --skip-damaged --plain data.x 42 1 1800000000 read_bytes,zeal 2>messages >answer.json
  equal "rows" "$(jq -c .read_bytes answer.json)" "[50,60,60,80,80,100,100]"
  grep -q "cannot read 'data.x.1700000000.hdf5': " messages || fail "$(cat messages)"
}

@test "extract: colmet's own file" {
  local file=$PL_SOURCE/../shared/data/colmet/pycollector_zlib9_small.hdf5
  [ -e "$file" ] || skip "no sample data beside the project"
  extract "$file" 1000 1794709882 1794709883 cpu_run_real_total,loadavg_1min,meminfo_memfree
  equal "answer" "$(cat answer.json)" '{"cpu_run_real_total":[1067780983,1567149170],"loadavg_1min":[2.450000047683716,2.450000047683716],"meminfo_memfree":[18990976,18943524],"timestamp":[1794709882,1794709883],"hostname":["vm","vm"]}'
}

# stored_job ID: a job of ours with 30 s of samples of node1, in s.db
stored_job() {
  rm -rf job
  mkdir -p job/node1.0123abcd
  "$PROGRAMS/make_samples" -h node1 -j "$1" -s 1700000000 -p 1 -c 30 job/node1.0123abcd/run1.smp
  echo '{"plimsoll_job": 1, "jobid": "'"$1"'", "user": "jo", "start_us": 1700000000000000, "stop_us": 1700000060000000,
    "exitcode": 0, "tags": {}, "annotations": {}}' >job/job.json
  plimsoll submit -q --db s.db job
}

@test "extract: from a store" {
  stored_job 4711
  extract --db s.db 4711 1700000005 1700000007 load,system.rx_bytes
  equal "answer" "$(cat answer.json)" '{"load":[0.0,0.001,0.002],"system.rx_bytes":[5000,6000,7000],"timestamp":[1700000005,1700000006,1700000007],"hostname":["node1","node1","node1"]}'
  # processes are no rows of a job
  run -4 --separate-stderr plimsoll extract --db s.db 4711 1 1800000000 process.rss
  run -4 --separate-stderr plimsoll extract --db s.db 9 1 2 load
  run -3 --separate-stderr plimsoll extract --db nowhere/s.db 4711 1 2 load
  # the nodes themselves, as a collector stores them: a day of each is a job
  run -4 --separate-stderr plimsoll extract --db s.db 0 1 1800000000 load
  stored_job node:node1:2023-11-14
  extract --db s.db 0 1700000028 1800000000 load
  equal "nodes" "$(jq -c '[.load, .hostname]' answer.json)" '[[0.023,0.024],["node1","node1"]]'
}
