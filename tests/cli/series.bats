#!/usr/bin/env bats
# Samples: sample files and perfmon's results into the store, and `series`, `samples` and SQL on them.

bats_require_minimum_version 1.5.0
load store

START=1700000000

# smp_job DIRECTORY ID [make_samples's options...]: a job of ours with samples of one host, and no records.
smp_job() {
  local dir=$1 id=$2
  shift 2
  mkdir -p "$dir/node1.0123abcd"
  "$PROGRAMS/make_samples" -j "$id" "$@" "$dir/node1.0123abcd/run1.smp"
  cat >"$dir/job.json" <<J
{"plimsoll_job": 1, "jobid": "$id", "user": "jo", "start_us": ${START}000000, "stop_us": $((START + 60))000000,
 "exitcode": 0, "tags": {"k": "v"}, "annotations": {}}
J
}

# values JOB OPTION...: the values of one curve in a line
values() {
  plimsoll series "$@" --json | jq -r '[.[0].samples[][1]] | map(tostring) | join(" ")'
}

# perfmon DIRECTORY: results of perfmon with two hosts, five time stamps and odd values
perfmon_job() {
  mkdir -p "$1/metrics"
  python3 - "$1/metrics" <<'P'
import json, sys
n, d = 5, sys.argv[1]
stamps = [1700000000 + 30 * i for i in range(n)]
def host(k):
    return {"cpu_percent": [10.5 * i + k for i in range(n)], "cpu_time": [1.5 * i for i in range(n)],
            "memory_info": {"rss": [1000 * i for i in range(n)], "vms": [2**60 + 1] * n},
            "net_io_counters": {"bytes_recv": [100 * i for i in range(n)]},
            "rapl_powercap": {"package-0": [1000000 * i for i in range(n)]},
            "num_fds": [3, None, "x", float("nan"), 7, 8, 9], "memory_percent": [1.5], "strange": [1, 2.5, 3],
            "parent_proc_md": {"a": [1]}, "child_proc_md": ["x"], "time_stamps": stamps}
def write(name, content):
    json.dump(content, open(f"{d}/{name}.json", "w"))
write("cpu_metrics", {"host_names": ["n1", "n2"], "sampling_frequency": 30, "n1": host(0), "n2": host(1)})
write("perf_metrics", {"host_names": ["n1"], "n1": {"time_stamps": stamps,
      "hardware_events": {"cycles": [10, 20, 30, 40, 50], "branch-misses": [1, None, 1, 1, 1]},
      "L2": {"derv_bandwidth": [1.5] * n}}})
write("nv_gpu_metrics", {"host_names": ["gpu-1.n1"], "gpu-1.n1": {"time_stamps": stamps,
      "power_usage": [50000] * n, "clock_info": {"sm": [1000] * n}, "temperature": [33.5] * n}})
write("meta_data", {"n1": {"system": "alaska", "env": None, "user": "jo"}})
P
}

# ---- into the store --------------------------------------------------------------------------------------

# bats test_tags=engine
@test "a directory with samples alone: the job, its hosts and times, and every value by SQL" {
  use_store
  smp_job job 42
  plimsoll submit job | grep -q '^submitted 42: 0 processes, 0 threads, 433 samples in '
  equal job "$(ask "SELECT jobid, \"user\", start, \"end\", num_procs, format FROM jobs")" \
    "42,jo,${START}000000,$((START + 60))000000,0,plimsoll"
  equal hosts "$(ask 'SELECT host, num_procs FROM job_hosts')" node1,0
  equal series "$(ask 'SELECT count(*), sum(count) FROM series')" 10,433
  # every value as it was made, on both engines
  equal usertime "$(ask "SELECT count(*) FROM samples WHERE jobid = '42' AND metric = 'process.usertime' AND entity = 'p2.102'
    AND raw = 100 * ((time - ${START}000000) / 1000000) * 3 + 2 AND value = raw * 10000.0")" 60
  equal rss "$(ask "SELECT count(*) FROM samples WHERE metric = 'process.rss' AND entity = 'p0.100'
    AND raw = 1000000 + 4096 * (((time - ${START}000000) / 1000000) % 10)")" 60
  equal load "$(ask "SELECT count(*) FROM samples WHERE metric = 'system.load'
    AND raw = (time - ${START}000000) / 1000000 - 5")" 60
  equal gpu "$(ask "SELECT count(*) FROM samples WHERE metric = 'nvidia.power' AND entity_kind = 'gpu'
    AND raw = 50000 + (time - ${START}000000) / 1000000 AND (time / 1000000) % 4 = 0")" 15
  equal short "$(ask "SELECT min(time), max(time), count(*) FROM samples WHERE entity = 'p1.101' AND metric = 'process.rss'")" \
    "$((START + 10))000000,$((START + 19))000000,10"
  equal late "$(ask "SELECT min(time), count(*) FROM samples WHERE entity = 'late.1'")" "$((START + 22))000000,38"
  equal facts "$(ask "SELECT facts FROM series WHERE entity = 'p0.100' AND metric = 'process.rss'")" '"{""exe"":""prog\""0\""""}"'
  equal absent "$(ask 'SELECT host, metric, reason FROM absences')" 'node1,system.entropy,the kernel does not say'
  equal statistics "$(ask "SELECT count, first, last, minimum, mean, maximum FROM series WHERE metric = 'nvidia.power'" |
    sed 's/\.0\b//g')" "15,${START}000000,$((START + 56))000000,50,50.028,50.056"
  equal increase "$(ask "SELECT increase FROM series WHERE metric = 'system.rx_bytes'" | sed 's/\.0$//')" 59000
  equal size "$(plimsoll db size --json | jq .samples)" 433
  plimsoll db check -q
}

# bats test_tags=engine
@test "several hosts, an archive, a file that is there twice, records beside samples" {
  use_store
  plimsoll run -q --no-submit -j both -o both -- true
  "$PROGRAMS/make_samples" -j both -h node1 both/a.smp
  mkdir both/node2.0123abcd
  "$PROGRAMS/make_samples" -j both -h node2 -s "$START.25" both/node2.0123abcd/b.smp
  cat both/a.smp both/node2.0123abcd/b.smp >both/samples.smp
  plimsoll submit -q both
  equal hosts "$(ask "SELECT host FROM job_hosts WHERE host LIKE 'node%' ORDER BY host" | tr '\n' ' ')" 'node1 node2 '
  equal twice "$(ask 'SELECT host, sum(count) FROM series GROUP BY host ORDER BY host' | tr '\n' ' ')" 'node1,433 node2,433 '
  equal processes "$(ask 'SELECT num_procs FROM jobs')" 1
  equal time "$(ask "SELECT min(time) FROM samples WHERE host = 'node2'")" "${START}250000"
  plimsoll delete -q both
  pack both both.tgz
  plimsoll submit -q both.tgz
  equal archive "$(ask 'SELECT host, sum(count) FROM series GROUP BY host ORDER BY host' | tr '\n' ' ')" 'node1,433 node2,433 '
  equal again "$(ask 'SELECT num_procs FROM jobs')" 1
}

@test "two runs on one host are one series; a process that comes back goes on" {
  use_store
  smp_job job 42 -c 30
  "$PROGRAMS/make_samples" -j 42 -r run2 -s $((START + 100)) -c 25 job/node1.0123abcd/run2.smp
  plimsoll submit -q job
  equal one "$(ask "SELECT count, first, last, minimum, maximum FROM series WHERE metric = 'process.usertime' AND entity = 'p0.100'" |
    sed 's/\.0\b//g')" "55,${START}000000,$((START + 124))000000,0,29000000"
  equal mean "$(ask "SELECT mean FROM series WHERE metric = 'system.load'" | cut -c1-12)" "$(python3 -c \
    'print(str((29 * (-5 + 24) / 2 + 24 * (-5 + 19) / 2) / 53 / 1000)[:12])')" # from -5 to 24, and from -5 to 19
  equal rows "$(ask "SELECT count(*) FROM samples WHERE metric = 'process.usertime' AND entity = 'p0.100'")" 55
  equal growth "$(ask "SELECT increase FROM series WHERE metric = 'process.usertime' AND entity = 'p0.100'" | sed 's/\.0$//')" 53000000
}

# bats test_tags=engine
@test "extremes of 64 bits" {
  use_store
  smp_job job 42 -x
  plimsoll submit -q job
  equal all "$(ask "SELECT count(*) FROM samples WHERE metric = 'system.rx_bytes'")" 60
  equal exact "$(plimsoll series 42 -m rx_bytes --csv | awk -F, 'NR == 2 || NR == 3 || NR == 60 { print $6 }' | tr '\n' ' ')" \
    '-9223372036854775808 9223372036854775806 -9223372036854775750 '
  equal sql "$(ask "SELECT raw FROM samples WHERE metric = 'system.rx_bytes' AND time IN (${START}000000, $((START + 1))000000)
    ORDER BY time" | tr '\n' ' ')" '-9223372036854775808 9223372036854775806 '
}

# bats test_tags=engine
@test "long series: chunks begin and end where they should" {
  use_store
  smp_job job 42 -c 1000 -p 0.1
  plimsoll submit -q job
  equal usertime "$(ask "SELECT count(*) FROM samples WHERE metric = 'process.usertime' AND entity = 'p2.102'
    AND raw = 300 * ((time - ${START}000000) / 100000) + 2 AND time % 100000 = 0")" 1000
  equal gauge "$(ask "SELECT count(*) FROM samples WHERE metric = 'process.rss' AND entity = 'late.1'
    AND raw = (time - ${START}000000) / 100000")" 978
  at_most 'bytes in chunks' "$(ask 'SELECT sum(length(data)) / sum(count) FROM sample_chunk')" 6
}

# bats test_tags=engine
@test "delete and retire remove samples, drop all" {
  use_store
  smp_job a a
  smp_job b b
  plimsoll submit -q a b
  left() {
    ask 'SELECT (SELECT count(*) FROM sample_chunk), (SELECT count(*) FROM sample_tick), (SELECT count(*) FROM sample_series),
      (SELECT count(*) FROM sample_entity), (SELECT count(*) FROM sample_metric), (SELECT count(*) FROM sample_absence)'
  }
  two=$(left)
  plimsoll delete -q a
  one=$(left)
  equal half "$(awk -F, '{ for (i = 1; i <= NF; i++) printf("%s%d", (i > 1 ? "," : ""), $i / 2) }' <<<"$two")" "$one"
  plimsoll retire -q --older-than 1d
  equal none "$(left)" 0,0,0,0,0,0
  plimsoll db check -q
  plimsoll submit -q a
  plimsoll db drop --force -q
  equal dropped "$(left)" 0,0,0,0,0,0
}

# bats test_tags=engine
@test "killed at any instant: wholly there or wholly absent, and a second submission completes it" {
  use_store
  mkdir -p job/node1.0123abcd
  "$PROGRAMS/make_samples" -m -n 150 -c 400 job/node1.0123abcd/a.smp
  echo '{"plimsoll_job": 1, "jobid": "a", "start_us": 1, "stop_us": 2, "tags": {}, "annotations": {}}' >job/job.json
  plimsoll submit -q job
  chunks=$(ask 'SELECT count(*) FROM sample_chunk')
  plimsoll delete -q a
  absent=0
  for i in $(seq 25); do
    plimsoll submit -q job 2>/dev/null &
    pid=$!
    sleep "0.0$((i * 37 % 9))$((i * 7919 % 10))"
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    found=$(ask 'SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM sample_chunk), (SELECT count(*) FROM sample_series),
      (SELECT sum(count) FROM sample_series)')
    case $found in
    0,0,0,*) absent=$((absent + 1)) ;;
    "1,$chunks,1800,720000") plimsoll delete -q a ;;
    *) fail "half a job: $found" ;;
    esac
  done
  plimsoll submit -q job
  equal complete "$(ask 'SELECT sum(count) FROM series')" 720000
  at_least 'killed in time' "$absent" 1
}

@test "a damaged sample file keeps the rest, with a warning; one that is none is left out" {
  use_store
  smp_job job 42 -c 300
  size=$(stat -c %s job/node1.0123abcd/run1.smp)
  printf 'XXXX' | dd of=job/node1.0123abcd/run1.smp bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
  echo 'no samples' >job/node1.0123abcd/none.smp
  : >job/node1.0123abcd/empty.smp
  plimsoll submit -q job
  plimsoll show 42 | grep -q "in 1 place are damaged, .* sample[s ]*\(is\|are\) missing"
  plimsoll show 42 | grep -q "none.smp' is not a sample file; left out"
  found=$(ask "SELECT count(*) FROM samples WHERE metric IN ('system.load', 'process.rss') AND entity IN ('node', 'p0.100')")
  at_least kept "$found" 530
  at_most kept "$found" 599
  equal 'nothing invented' "$(ask "SELECT count(*) FROM samples WHERE metric = 'process.usertime' AND entity = 'p2.102'
    AND raw <> 300 * ((time - ${START}000000) / 1000000) + 2")" 0
  run -1 plimsoll samples job/node1.0123abcd/run1.smp
  [[ $output == *"in 1 place"* ]] || fail "${output: -200}"
}

# ---- series ----------------------------------------------------------------------------------------------

# bats test_tags=engine
@test "the list: metric, entity, host, unit, count, minimum, mean, maximum" {
  use_store
  smp_job job 42
  plimsoll submit -q job
  plimsoll series 42 --json >list.json
  equal number "$(jq length list.json)" 10
  equal one "$(jq -c '.[] | select(.metric == "system.load") | [.host, .entity_kind, .entity, .unit, .kind, .count, .minimum, .mean, .maximum, .increase]' list.json)" \
    '["node1","node","node","","gauge",60,-0.005,0.0245,0.054,null]' # half way from the first to the last
  equal counter "$(jq -c '.[] | select(.entity == "p1.101" and .kind == "counter") | [.unit, .count, .minimum, .maximum, .increase, .first, .metadata.exe]' list.json)" \
    '["us",10,20010000,38010000,18000000,"2023-11-14T22:13:30.000000+00:00","prog\"1\""]'
  equal 'older name of the key' "$(jq 'all(.[]; .facts == .metadata)' list.json)" true
  equal csv "$(plimsoll series 42 --csv | sed -n '1p;$p' | cut -d, -f1-10)" \
    $'metric,host,entity_kind,entity,count,minimum,mean,maximum,increase,unit\nsystem.rx_bytes,node1,node,node,60,0,29500,59000,59000,bytes'
  plimsoll series 42 | grep -q '^process.rss  *node1  *process p0.100  *60 '
  equal kind "$(plimsoll series 42 --kind gpu --json | jq length)" 1
  equal entity "$(plimsoll series 42 --entity 'p*' --host 'node?' --json | jq length)" 6
  equal nothing "$(plimsoll series 42 --host other --json | jq length)" 0
}

# bats test_tags=engine
@test "values: exact, by pattern, with times, of one entity" {
  use_store
  smp_job job 42
  plimsoll submit -q job
  equal values "$(values 42 -m system.load --until '2023-11-14T22:13:26Z')" '-0.005 -0.004 -0.003 -0.002 -0.001 0'
  equal since "$(values 42 -m rx_bytes --since '2023-11-14T22:14:18Z')" '58000 59000'
  equal shape "$(plimsoll series 42 -m rss --entity p1.101 --json | jq -c '.[0] | keys_unsorted')" \
    '["metric","unit","kind","host","entity_kind","entity","metadata","facts","samples"]'
  equal 'older name of the key' "$(plimsoll series 42 -m rss --entity p1.101 --json | jq '.[0] | .facts == .metadata and (.facts | length > 0)')" true
  equal first "$(plimsoll series 42 -m rss --entity p1.101 --json | jq -c '.[0].samples[0]')" \
    '["2023-11-14T22:13:30.000000+00:00",2000000]'
  equal several "$(plimsoll series 42 -m rss -m usertime --json | jq length)" 7
  equal pattern "$(plimsoll series 42 -m 'process.*' --json | jq length)" 7
  equal csv "$(plimsoll series 42 -m power --csv | sed -n '1,2p')" \
    $'time,metric,host,entity_kind,entity,value,unit\n2023-11-14T22:13:20.000000+00:00,nvidia.power,node1,gpu,0,50,W'
  plimsoll series 42 -m power | grep -q '^2023-11-14 22:13:24.000  nvidia.power  node1  0   50.004 W'
}

# bats test_tags=engine
@test "steps: means with extremes of levels, rates of counters" {
  use_store
  smp_job job 42
  plimsoll submit -q job
  # 10 s steps begin at multiples of ten: 22:13:20 is one
  equal means "$(plimsoll series 42 -m load -s 10s --json | jq -c '[.[0].samples[] | .[1:]] | .[0:2]')" \
    '[[0,-0.005,0.004],[0.01,0.005,0.014]]' # the mean up to the reading at the end of the step
  # steps with a reading beside their border, and without one: no mean lies outside of the extremes
  for how in '' --total --per-host; do
    # shellcheck disable=SC2086
    plimsoll series 42 -m load -s 700ms $how --json >steps.json
    at_least "steps $how" "$(jq '.[0].samples | length' steps.json)" 80
    equal "within $how" "$(jq -c '[.[].samples[] | select(.[1] < .[2] or .[1] > .[3])]' steps.json)" '[]'
    at_least "ranges $how" "$(jq '[.[].samples[] | select(.[2] < .[3])] | length' steps.json)" 40
  done
  equal times "$(plimsoll series 42 -m load -s 1m --json | jq -c '[.[0].samples[][0]]')" \
    '["2023-11-14T22:13:00.000000+00:00","2023-11-14T22:14:00.000000+00:00"]'
  equal rates "$(values 42 -m usertime --entity p2.102 -s 10s)" '3000000 3000000 3000000 3000000 3000000 3000000'
  equal unit "$(plimsoll series 42 -m usertime --entity p2.102 -s 10s --json | jq -r '.[0].unit + " " + .[0].kind')" 'us/s rate'
  equal rate "$(values 42 -m rx_bytes --rate --until '2023-11-14T22:13:24Z')" '1000 1000 1000'
  equal csv "$(plimsoll series 42 -m load -s 10s --csv | sed -n '1,2p')" \
    $'time,metric,host,entity_kind,entity,value,minimum,maximum,unit\n2023-11-14T22:13:20.000000+00:00,system.load,node1,node,node,0,-0.005,0.004,'
}

@test "a counter that began again: no rate, never a negative one" {
  use_store
  smp_job job 42 -z 30
  plimsoll submit -q job
  equal number "$(plimsoll series 42 -m rx_bytes --rate --json | jq '.[0].samples | length')" 58
  equal only "$(plimsoll series 42 -m rx_bytes --rate --json | jq -c '[.[0].samples[][1]] | unique')" '[1000]'
  equal steps "$(values 42 -m rx_bytes -s 20s)" '1000 1000 1000'
  equal increase "$(plimsoll series 42 --json | jq '.[] | select(.metric == "system.rx_bytes") | .increase')" 58000
}

# bats test_tags=engine
@test "totals: at the times of readings, in steps, over hosts that are read at other moments" {
  use_store
  mkdir job
  "$PROGRAMS/make_samples" -j 42 -h a job/a.smp
  "$PROGRAMS/make_samples" -j 42 -h b -s "$START.4" -c 40 job/b.smp
  echo '{"plimsoll_job": 1, "jobid": "42", "start_us": 1, "stop_us": 2, "tags": {}, "annotations": {}}' >job/job.json
  plimsoll submit -q job
  # process 1 is there from 10 to 19
  equal host "$(plimsoll series 42 -m rss --per-host --host a --json | jq -c '[.[0].samples[9:11][][1]]')" '[4073728,6000000]'
  equal hosts "$(plimsoll series 42 -m rss --per-host --json | jq -c '[.[] | [.host, .entity, (.samples | length)]]')" \
    '[["a",null,60],["b",null,40]]'
  # a counter of what has ended counts on
  equal carried "$(plimsoll series 42 -m usertime --per-host --host a --json | jq -c '[.[0].samples[18:21][][1]]')" \
    '[108030000,114030000,118030000]'
  # but a rate is of those that are there
  equal rates "$(plimsoll series 42 -m usertime --total --host a --rate --json | jq -c '[.[0].samples[][1]] | unique')" '[4000000,6000000]'
  equal both "$(values 42 -m rx_bytes --total --rate | tr ' ' '\n' | sort | uniq -c | awk '{ print $2 }' | tr '\n' ' ')" '1000 2000 '
  equal maximum "$(plimsoll series 42 -m load --total --step 20s --json | jq -c '[.[0].samples[][1]]')" '[0.005,0.025,0.0445]'
  equal sum "$(plimsoll series 42 -m rx_bytes --total --step 20s --json | jq -c '[.[0].samples[][1]]')" '[2000,2000,1000]'
  # in step without being asked for: one value a second, none missing
  equal grid "$(plimsoll series 42 -m power --total --json | jq -c '[.[0].samples[][1] | floor] | unique')" '[50,100]'
  run plimsoll series 42 -m '*' --total --json
  equal all "$status" 0
}

@test "what was never submitted: a directory, a file, a job that runs" {
  smp_job job 42
  export PLIMSOLL_DB=/nowhere/at/all.db
  equal directory "$(plimsoll series ./job --json | jq length)" 10
  equal file "$(values job/node1.0123abcd/run1.smp -m load --until '2023-11-14T22:13:22Z')" '-0.005 -0.004'
  rm job/job.json
  equal bare "$(plimsoll series job --json | jq length)" 10
  run -1 plimsoll submit --db "$WORK/a.db" job
  [[ $output == *"no metadata of a job in it"* ]] || fail "$output"
  echo '{"plimsoll_job": 1, "jobid": "42", "start_us": 1}' >job/job.json
  equal running "$(plimsoll series ./job --json | jq length)" 10
  printf 'XX' | dd of=job/node1.0123abcd/run1.smp bs=1 seek=2000 conv=notrunc 2>/dev/null
  run --separate-stderr plimsoll series ./job --json
  equal damaged "$status" 0
  [[ $stderr == *"1 place are damaged"* ]] || fail "$stderr"
  mkdir empty
  run -1 plimsoll series ./empty
  run -1 plimsoll series ./not-there
  [[ $output == *"no such file or directory: './not-there'"* ]] || fail "$output"
}

@test "wrong questions get an answer" {
  use_store
  smp_job job 42
  plimsoll submit -q job
  run -2 plimsoll series 42 43
  run -2 plimsoll series 42 --total
  [[ $output == *"require --metric"* ]] || fail "$output"
  run -2 plimsoll series 42 -m x --step soon
  [[ $output == *"not 'soon'"* ]] || fail "$output"
  run -2 plimsoll series 42 -m x --since someday
  run -2 plimsoll series 42 --kind teapot
  [[ $output == *"--kind takes node, job, process, "*", not 'teapot'"* ]] || fail "$output"
  run -1 plimsoll series 42 -m nothing
  [[ $output == *"the job has no metric 'nothing'; "* ]] || fail "$output"
  # a metric that is there, of a host that is not
  run -1 plimsoll series 42 -m process.rss --host nowhere
  [[ $output == *"the job has no such series; "* ]] || fail "$output"
  run -1 plimsoll series 43 -m nothing
}

@test "samples: the events of a file, for people and as JSON" {
  "$PROGRAMS/make_samples" -c 25 a.smp
  plimsoll samples --json a.smp >events.jsonl
  equal readings "$(jq -c 'select(.event == "reading")' events.jsonl | wc -l)" 57
  equal head "$(jq -c 'select(.event == "head") | [.host, .job, .run, .period]' events.jsonl)" '["node1","42","run1",1]'
  equal metrics "$(jq -c 'select(.event == "source" and .source == "process") | [.metrics[].name]' events.jsonl)" '["usertime","rss"]'
  equal row "$(jq -c 'select(.event == "reading" and .source == "nvidia") | .rows' events.jsonl | head -n 1)" \
    '[{"kind":"gpu","name":"0","values":{"power":50}}]'
  equal end "$(tail -n 1 events.jsonl | jq -r .reason)" 'done'
  plimsoll samples a.smp | grep -q '^absent system.entropy: the kernel does not say$'
  run -1 plimsoll samples /etc/passwd
  [[ $output == *"'/etc/passwd' is not a sample file"* ]] || fail "$output"
  run -2 plimsoll samples
}

# ---- perfmon ---------------------------------------------------------------------------------------------

# bats test_tags=perfmon
@test "perfmon's results: our names and units, its job, warnings about what is odd" {
  use_store
  perfmon_job job77
  plimsoll submit -q job77
  equal job "$(ask "SELECT jobid, \"user\", start, \"end\", format FROM jobs")" "job77,jo,${START}000000,$((START + 120))000000,perfmon"
  equal tags "$(ask 'SELECT key, value FROM job_tags')" system,alaska
  equal hosts "$(ask 'SELECT host FROM job_hosts ORDER BY host' | tr '\n' ' ')" 'n1 n2 '
  one() { # HOST METRIC: kind and name of the entity, unit, values
    ask "SELECT DISTINCT entity_kind, entity, unit FROM series WHERE host = '$1' AND metric = '$2'"
    ask "SELECT value FROM samples WHERE host = '$1' AND metric = '$2' ORDER BY time" | sed 's/\.0$//' | tr '\n' ' '
  }
  equal cpu "$(one n2 process.cpu_percent)" $'job,job,%\n1 11.5 22 32.5 43 '
  equal time "$(one n1 perfmon.cpu_time)" $'job,job,us\n0 1500000 3000000 4500000 6000000 '
  equal net "$(one n1 network.rx_bytes)" $'node,node,bytes\n0 100 200 300 400 '
  equal rapl "$(one n1 rapl.energy)" $'package,package-0,J\n0 1 2 3 4 '
  equal short "$(one n1 process.memory_percent)" $'job,job,%\n1.5 '
  equal odd "$(one n1 process_memory.num_fds)" $'job,job,count\n3 7 '
  equal unknown "$(one n1 perfmon.strange)" $'job,job,\n1 2.5 3 '
  equal events "$(one n1 counters.cycles)" $'job,job,count\n10 30 60 100 150 '
  equal gap "$(one n1 counters.branch_misses)" $'job,job,count\n1 2 3 4 '
  equal derived "$(one n1 counters.L2.bandwidth)" $'job,job,bytes/s\n1500000 1500000 1500000 1500000 1500000 '
  equal gpu "$(one n1 nvidia.power)" $'gpu,1,W\n50 50 50 50 50 '
  equal clock "$(one n1 nvidia.clock_sm | tail -n 1 | cut -d' ' -f1)" 1000000000
  equal large "$(ask "SELECT DISTINCT raw FROM samples WHERE metric = 'process.vms'")" 1152921504606846977
  plimsoll show job77 | grep -q '4 values are not numbers, or too large'
  plimsoll show job77 | grep -q '4 values are beyond the time stamps'
  equal direct "$(plimsoll series ./job77 --json | jq length)" "$(ask 'SELECT count(*) FROM series')"
  # the directory itself is the same job
  run plimsoll submit job77/metrics
  [[ $output == *"job job77 is in the store already"* ]] || fail "$output"
}

# bats test_tags=perfmon
@test "hostile JSON under perfmon's names: refused with the line, or left out and counted" {
  use_store
  mkdir -p bad/metrics
  refuse() { # WHAT TEXT MESSAGE
    printf '%b' "$2" >bad/metrics/cpu_metrics.json
    run -1 timeout 20 plimsoll submit bad
    [[ $output == *"'cpu_metrics.json': $3"* ]] || fail "$1: $output"
    equal "$1" "$(ask 'SELECT count(*) FROM jobs')" 0
  }
  refuse deep "$(printf '{"a":%.0s' $(seq 100))" 'line 1, column 166: nested too deeply'
  refuse brackets "{\"h\": {\"x\": $(printf '[%.0s' $(seq 20000))" 'line 1, column 44: nested too deeply'
  refuse cut '{"h": {"time_stamps": [1,\n2' 'line 2, column 2: unexpected end of the document'
  refuse list '[1, 2]' 'line 1: not a JSON object'
  refuse text 'hello' 'line 1, column 6: expected a value'
  refuse more '{} {}' 'line 1, column 4: unexpected text after the document'
  refuse empty '' 'line 1, column 1: unexpected end of the document'
  head -c 100000 /dev/urandom >bad/metrics/cpu_metrics.json
  run -1 plimsoll submit bad
  cat >bad/metrics/cpu_metrics.json <<'J'
{"host_names": 7, "sampling_frequency": "often", "n1": [1, 2], "n2": {"time_stamps": "none", "rss": [1]}, "n3": {},
 "n4": {"time_stamps": [1700000000, "x", null, -5, 1e400, 1700000050], "cpu_percent": [1e400, -1e400, 1e18, {"a": []}, [[]], 2],
        "memory_info": {"rss": [9223372036854775807, 1, 2, 3, 4, 1e300], "deep": {"x": [1]}}, "num_threads": true,
        "\u0000\ud800": [1, 2, 3, 4, 5, 6], "time_stamps": [1]},
 "n5": {"cpu_percent": [1, 2, 3]}}
J
  plimsoll submit -q bad
  equal percent "$(ask "SELECT time, value FROM samples WHERE metric = 'process.cpu_percent'" | sed 's/\.0$//')" "$((START + 50))000000,2"
  equal rss "$(ask "SELECT time, raw FROM samples WHERE metric = 'process.rss'")" "${START}000000,9223372036854775807"
  equal hosts "$(ask 'SELECT count(*) FROM job_hosts')" 1
  plimsoll show bad | grep -q '2 hosts have no time stamps'
}

# ---- means and totals over time ----------------------------------------------------------------------

mean_of() { plimsoll series "$1" --json | jq ".[] | select(.metric == \"$2\") | .mean"; }

# text_job DIR JOB, lines of make_samples -t on standard input; more hosts by further calls with HOST
text_job() {
  mkdir -p "$1/${3-node1}.0123abcd"
  "$PROGRAMS/make_samples" -t -j "$2" -h "${3-node1}" -r "run-${3-node1}" "$1/${3-node1}.0123abcd/run.smp"
  echo '{"plimsoll_job": 1, "jobid": "'"$2"'", "start_us": 1700000000000000, "stop_us": 1700000022000000, "tags": {}, "annotations": {}}' >"$1/job.json"
}

# bats test_tags=engine
@test "the mean is over time: one value in the list, SQL, the report's table and JSON, the verdict and the chart" {
  use_store
  # busy for about 12 of 22 s, read every second while idle and every 2 s while busy; the last reading is 1 ms behind.
  # It became busy within a second and idle within two: half of each counts
  {
    for t in 0 1 2 3 4; do echo "$t nvidia utilization_gpu % gauge none gpu 0 0"; done
    for t in 5 7 9 11 13 15; do echo "$t nvidia utilization_gpu % gauge none gpu 0 100"; done
    for t in 17 18 19 20 21 22 22.001; do echo "$t nvidia utilization_gpu % gauge none gpu 0 0"; done
  } | text_job job gpu
  plimsoll submit -q job
  want=$(python3 -c 'print("%.9f" % ((1000 + 50 + 100) / 22.001))')
  equal list "$(mean_of gpu nvidia.utilization_gpu | xargs printf '%.9f')" "$want"
  equal sql "$(ask "SELECT mean FROM series WHERE metric = 'nvidia.utilization_gpu'" | xargs printf '%.9f')" "$want"
  plimsoll report gpu --json >report.json
  equal report "$(jq '.series[] | select(.metric == "nvidia.utilization_gpu" and .entity == null) | .mean' report.json | xargs printf '%.6f')" \
    "$(printf '%.6f' "$want")"
  equal device "$(jq '.series[] | select(.metric == "nvidia.utilization_gpu" and .entity != null) | .mean' report.json | xargs printf '%.6f')" \
    "$(printf '%.6f' "$want")"
  plimsoll report gpu >report.txt
  grep -q '52\.3' report.txt || grep -q '52 %' report.txt
  if plimsoll plot gpu -m utilization_gpu -o gpu.svg; then
    grep -qE 'mean 52\.3' gpu.svg || { grep -o 'mean[^<]*' gpu.svg; false; }
  fi
}

@test "the mean of what is over the time since the reading before; the last, short interval weighs what it lasts" {
  use_store
  # 1.2 s of CPU in 2.7 s
  { echo '0 process usertime us counter sum job job 0'
    echo '1 process usertime us counter sum job job 600000'; echo '1 process cpu_percent % mean sum job job 60'
    echo '2 process usertime us counter sum job job 1200000'; echo '2 process cpu_percent % mean sum job job 60'
    echo '2.7 process usertime us counter sum job job 1200000'; echo '2.7 process cpu_percent % mean sum job job 0'
    echo '2.700001 process usertime us counter sum job job 1200000'; echo '2.700001 process cpu_percent % mean sum job job 0'
  } | text_job job cpu
  plimsoll submit -q job
  # the first of them is over the time since the source was read before
  equal percent "$(mean_of cpu process.cpu_percent | xargs printf '%.4f')" "$(python3 -c 'print("%.4f" % (120 / 2.700001))')"
  plimsoll report cpu --json >report.json
  equal rate "$(jq '.series[] | select(.metric == "process.usertime") | .mean' report.json | xargs printf '%.4f')" "$(python3 -c 'print("%.4f" % (1.2 / 2.700001))')"
  if plimsoll plot cpu -m usertime -o cpu.svg; then grep -q 'mean 444 ms/s\|mean 0.444' cpu.svg || { grep -o 'mean[^<]*' cpu.svg; false; }; fi
}

# busy_job DIRECTORY ID [HOST]: 3.7 s at 88 %, then idle for 4.5 s; the source is read at 0.3, 4, 8 and 8.5 s
busy_job() {
  { echo '0.3 process rss bytes gauge sum job job 1000'
    for t in 4:88 8:0 8.5:0; do
      echo "${t%:*} process rss bytes gauge sum job job 1000"
      echo "${t%:*} process cpu_percent % mean sum job job ${t#*:}"
    done
  } | text_job "$@"
}

@test "the first percentage is over the time before it: one mean in list, SQL, steps, sums, report and chart" {
  use_store
  busy_job job one
  busy_job both two a
  busy_job both two b
  plimsoll submit -q job both
  want=$(python3 -c 'print("%.6f" % (88 * 3.7 / 8.2))')
  equal list "$(mean_of one process.cpu_percent | xargs printf '%.6f')" "$want"
  equal sql "$(ask "SELECT mean FROM series WHERE jobid = 'one' AND metric = 'process.cpu_percent'" | xargs printf '%.6f')" "$want"
  equal steps "$(plimsoll series one -m cpu_percent --step 2s --json | jq -c '[.[0].samples[][1]]')" '[88,88,0,0,0]'
  equal hosts "$(mean_of two process.cpu_percent | xargs printf '%.6f ')" "$want $want "
  equal total "$(plimsoll series two -m cpu_percent --total --step 2s --json | jq -c '[.[0].samples[][1]]')" '[176,176,0,0,0]'
  plimsoll report one --json >report.json
  jq '.series[] | select(.metric == "process.cpu_percent")' report.json >curve.json
  equal report "$(jq '.mean * 100' curve.json | xargs printf '%.6f')" "$want"
  equal maximum "$(jq .maximum curve.json)" 0.88
  plimsoll report two --json >two.json
  equal 'report of two' "$(jq '.series[] | select(.metric == "process.cpu_percent" and .host == null) | .mean * 50' two.json | xargs printf '%.6f')" "$want"
  plimsoll report one | grep 'CPU of the job' | grep -q ' 0.397 '
  if plimsoll plot one -m cpu_percent -q -o one.svg; then grep -q 'mean 0.397 CPUs' one.svg || fail "$(grep -o 'mean [^<]*' one.svg)"; fi
}

@test "the first percentage of a second run is not over the time between the runs" {
  use_store
  mkdir -p job/node1.0123abcd
  one() { # RUN BEGIN PERCENT
    { echo "0 process rss bytes gauge sum job job 1000"
      for k in 1 2 3; do echo "$k process cpu_percent % mean sum job job $3"; done
    } | "$PROGRAMS/make_samples" -t -s $((START + $2)) -j after -r "$1" "job/node1.0123abcd/$1.smp"
  }
  one run1 0 10
  one run2 100 90
  echo '{"plimsoll_job": 1, "jobid": "after", "start_us": 1700000000000000, "stop_us": 1700000104000000, "tags": {}, "annotations": {}}' >job/job.json
  plimsoll submit -q job
  equal list "$(mean_of after process.cpu_percent)" 50
  equal steps "$(plimsoll series after -m cpu_percent --step 1s --json | jq -c '[.[0].samples[][1]]')" '[10,10,10,10,90,90,90,90]'
  equal report "$(plimsoll report after --json | jq '.series[] | select(.metric == "process.cpu_percent") | .mean')" 0.5
}

@test "a level that was read a few times has no mean beside one that was read all the time" {
  use_store
  # 200 MB for 6 s, then 1 MB; what is read seldom has its last reading long before the end
  level() { echo "$1 $2 $3 bytes gauge sum job job $(($1 < 6 ? 200000000 : 1000000))"; }
  for t in $(seq 0 13); do
    level "$t" process rss
    case $t in 0 | 1 | 3 | 7) level "$t" process_memory uss ;; esac
  done | text_job job few
  # the same level, and enough readings for a mean
  for t in $(seq 0 59); do
    echo "$t process rss bytes gauge sum job job 1000000"
    [ $((t % 5)) != 0 ] || echo "$t process_memory uss bytes gauge sum job job 900000"
  done | text_job long many
  plimsoll submit -q job long
  plimsoll series few >list.txt
  grep -qE '^process.rss .* 14 +13 s ' list.txt || fail "$(cat list.txt)"
  grep -qE '^process_memory.uss .* 4 +7 s ' list.txt || fail "$(cat list.txt)"
  mean() { plimsoll report "$1" --json | jq ".series[] | select(.metric == \"$2\" and .host == null) | .mean"; }
  equal few "$(mean few process_memory.uss)" null
  equal rss "$(mean few process.rss | xargs printf '%.0f')" "$(python3 -c 'print(round((5 * 200 + 100.5 + 7) / 13 * 1e6))')"
  equal many "$(mean many process_memory.uss)" 900000
  plimsoll report few >report.txt
  grep -qE 'private memory .* 4 samples +191 MiB' report.txt || fail "$(cat report.txt)"
  plimsoll report few -o page.html
  grep -q 'maximum 191 MiB; 4 samples' page.html
  if plimsoll report few -q -o few.pdf; then
    pdftotext -layout few.pdf - | grep -qE 'private memory .* 4 samples +191 MiB'
  fi
}

@test "a gap is known: no value is taken for granted in it, and the sum of hosts shows it" {
  use_store
  for t in 0 1 2 3 4 5 10 11 12; do echo "$t process rss bytes gauge sum job job 20000"; done | text_job job gap a
  for t in 0 1 2 3 4 5 6 7 8 9 10 11 12; do echo "$t process rss bytes gauge sum job job 10000"; done | text_job job gap b
  plimsoll submit -q job
  equal mean "$(mean_of gap process.rss | xargs)" '20000 10000'
  plimsoll series gap -m rss --total --json >total.json
  equal values "$(jq -c '[.[0].samples[][1]] | unique' total.json)" '[null,30000]'
  equal holes "$(jq -c '[.[0].samples[] | select(.[1] == null)] | length' total.json)" 4
  equal step "$(plimsoll series gap -m rss --total --step 1s --json | jq -c '[.[0].samples[][1]]')" '[30000,30000,30000,30000,30000,30000,null,null,null,null,30000,30000,30000]'
  plimsoll series gap -m rss --total --csv | grep -q ',,bytes$'
  plimsoll series gap -m rss --total | grep -q ' gap'
  plimsoll report gap --json | jq -c '[.series[] | select(.metric == "process.rss" and .host == null) | .mean, .maximum]' >all
  equal all "$(cat all)" '[30000,30000]'
}

@test "a sum has only what may be added: not lo, not a dm device over its disk, not cores and the platform" {
  use_store
  for t in 0 1 2; do
    echo "$t network rx_bytes bytes counter sum interface eth0 $((t * 100)) in_node_sum=yes"
    echo "$t network rx_bytes bytes counter sum interface lo $((t * 7000)) in_node_sum=no"
    echo "$t disk read_bytes bytes counter sum disk sda $((t * 10)) in_node_sum=yes"
    echo "$t disk read_bytes bytes counter sum disk dm-0 $((t * 10)) in_node_sum=no"
    echo "$t rapl energy J counter sum package package-0 $((t * 50))"
    echo "$t rapl energy J counter sum package package-0/core $((t * 40))"
    echo "$t rapl energy J counter sum package core-0 $((t * 40))"
    echo "$t rapl energy J counter sum package dram-0 $((t * 5))"
    echo "$t rapl energy J counter sum package psys $((t * 90))"
  done | sed '/package-0.core/d' | text_job job sums
  plimsoll submit -q job
  last() { plimsoll series sums --total --kind "$1" -m "$2" --json 2>notes | jq -c '.[0].samples[-1][1]'; }
  equal interface "$(last interface rx_bytes)" 200
  grep -q 'lo: left out of the sum' notes
  equal disk "$(last disk read_bytes)" 20
  equal package "$(last package energy)" 110
  equal named "$(plimsoll series sums --total --kind interface --entity lo -m rx_bytes --json | jq -c '.[0].samples[-1][1]')" 14000
}

# bats test_tags=engine
@test "two runs of one job on one host at a time add up; the node is taken once" {
  use_store
  mkdir -p job/node1.0123abcd
  one() { # RUN OFFSET MEMORY PID
    for k in 0 1 2 3; do
      echo "$k.$2 process rss bytes gauge sum job job $3"
      echo "$k.$2 process rchar bytes counter sum job job $((k * $3))"
      echo "$k.$2 process rss bytes gauge sum process $4 $3"
      echo "$k.$2 network rx_bytes bytes counter sum node node $((k * 100))"
    done | sort -s -n -k1,1 | "$PROGRAMS/make_samples" -t -j two -r "$1" "job/node1.0123abcd/$1.smp"
  }
  one run1 1 1000 11.100
  one run2 3 500 12.100
  echo '{"plimsoll_job": 1, "jobid": "two", "start_us": 1700000000000000, "stop_us": 1700000004000000, "tags": {}, "annotations": {}}' >job/job.json
  plimsoll submit -q job
  list() { plimsoll series two --json | jq -c "[.[] | select(.metric == \"$1\" and .entity_kind == \"$2\") | .$3]"; }
  equal means "$(list process.rss job mean)" '[1000,500]'
  equal counts "$(list process.rss job count)" '[4,4]'
  equal node "$(list network.rx_bytes node increase)" '[300]'
  plimsoll report two --json >report.json
  equal memory "$(jq -c '[.series[] | select(.metric == "process.rss" and .host == null) | .maximum]' report.json)" '[1500]'
  equal read "$(plimsoll series two -m rchar --kind job --total --json | jq -c '.[0].samples[-1][1]')" 4500
}

@test "between two runs of one job nothing is known: no rate of 0 in sums, and none from one run to the next" {
  use_store
  mkdir -p job/node1.0123abcd
  one() { # RUN BEGIN FIRST PID
    for k in 0 1 2 3; do
      echo "$(($2 + k)) process wchar bytes counter sum job job $(($3 + k * 1000))"
      echo "$(($2 + k)) process wchar bytes counter sum process $4 $(($3 + k * 1000))"
      echo "$(($2 + k)) network rx_bytes bytes counter sum node node $((($2 + k) * 100))"
    done | sort -s -n -k1,1 | "$PROGRAMS/make_samples" -t -j after -r "$1" "job/node1.0123abcd/$1.smp"
  }
  one run1 0 0 11.100
  one run2 10 9000 12.100
  echo '{"plimsoll_job": 1, "jobid": "after", "start_us": 1700000000000000, "stop_us": 1700000014000000, "tags": {}, "annotations": {}}' >job/job.json
  plimsoll submit -q job
  for kind in job process; do
    plimsoll series after -m wchar --kind $kind --total --rate --json >rate.json
    equal "rates of $kind" "$(jq -c '[.[0].samples[][1]] | unique' rate.json)" '[1000]'
    equal "number of $kind" "$(jq -c '[.[0].samples[]] | length' rate.json)" 6
    plimsoll series after -m wchar --kind $kind --total --step 1s --json >step.json
    equal "steps of $kind" "$(jq -c '[.[0].samples[][1]]' step.json)" '[1000,1000,1000,1000,1000,1000]'
    equal "per host of $kind" "$(plimsoll series after -m wchar --kind $kind --per-host --rate --json | jq -c '[.[0].samples[][1]] | unique')" '[1000]'
  done
  # a device counts while nobody looks
  equal node "$(plimsoll series after -m rx_bytes --total --rate --json | jq -c '[.[0].samples[][1]]')" '[100,100,100,100,100,100,100]'
  # the last value stays where values are asked for
  equal last "$(plimsoll series after -m wchar --kind process --total --json | jq -c '.[0].samples[-1][1]')" 15000
}

@test "a job's counter has no rate over a gap; means of sums are over the time that is known" {
  use_store
  for host in node1 node2; do
    mkdir -p "job/$host.0123abcd"
    for k in 0 1 2 3 4 5 6 7 8 9 100 101 102 103; do
      echo "$k process wchar bytes counter sum job job $((k < 100 ? k * 1000 : (k - 90) * 1000))"
    done | "$PROGRAMS/make_samples" -t -h $host -j gaps -r run1 "job/$host.0123abcd/run1.smp"
  done
  echo '{"plimsoll_job": 1, "jobid": "gaps", "start_us": 1700000000000000, "stop_us": 1700000104000000, "tags": {}, "annotations": {}}' >job/job.json
  plimsoll submit -q job
  plimsoll series gaps -m wchar --kind job --rate --json >rate.json
  equal rates "$(jq -c '[.[].samples | length]' rate.json)" '[12,12]'
  equal times "$(jq -c '[.[0].samples[][0] | .[17:19]]' rate.json)" \
    '["21","22","23","24","25","26","27","28","29","01","02","03"]'
  equal steps "$(plimsoll series gaps -m wchar --kind job --step 1s --json | jq -c '[.[].samples | length]')" '[12,12]'
  # a begin just before the first reading, which is just before the first tick, makes the next one no gap
  for t in 0:0 0.04:4 0.06:6 0.2:20 0.4:40 0.6:60; do echo "${t%:*} process wchar bytes counter sum job job ${t#*:}"; done |
    text_job short short
  plimsoll submit -q short
  equal short "$(plimsoll series short -m wchar --rate --json | jq -c '[.[0].samples[][1] | round]')" '[100,100,100,100,100]'
  # 12 kB in 12 s on each of two hosts
  plimsoll plot gaps -m process.wchar --total -q -o plot.svg
  grep -q 'mean 1.95 KiB/s, maximum 1.95 KiB/s' plot.svg || fail "$(grep -o 'mean [^<]*' plot.svg)"
}

@test "extract takes the job that was stored last" {
  use_store
  plimsoll run -q --sample 50ms -- sleep 0.2
  plimsoll extract --plain last 0 9999999999 process.rss >answer.json
  equal hosts "$(jq -r '.hostname | unique | join(" ")' answer.json)" "$(hostname)"
  at_least rss "$(jq '."process.rss" | max' answer.json)" 100000
}
