#!/usr/bin/env bats
# `plimsoll report`: what it says of a job, from records, curves or both. How it is written is in report_output.bats.

bats_require_minimum_version 1.5.0
load store

# get FILTER: a filter of jq over report.json, on one line
get() {
  jq -c "$1" report.json
}

# report ARGUMENT...: into report.json
report() {
  plimsoll report --json "$@" >report.json
}

# A job of ours from what its metadata say beside the usual: meta DIRECTORY ID KEYS
meta() {
  mkdir -p "$1"
  cat >"$1/job.json" <<J
{"plimsoll_job": 1, "jobid": "$2", "user": "jo", "start_us": 1700000000000000, "tags": {}, "annotations": {}$3}
J
}

# perfmon's results of two hosts, 11 readings 10 s apart
perfmon_job() {
  mkdir -p "$1/metrics"
  python3 - "$1/metrics" <<'P'
import json, sys
n, d = 11, sys.argv[1]
stamps = [1700000000 + 10 * i for i in range(n)]
def host(k):
    return {"cpu_percent": [100 * k] * n, "cpu_time": [10 * k * i for i in range(n)],
            "memory_info": {"rss": [1 << 20] * 5 + [5 << 20] + [1 << 20] * 5},
            "net_io_counters": {"bytes_recv": [1000 * i for i in range(n)]},
            "rapl_powercap": {"package-0": [2000000 * i * k for i in range(n)],
                              "core-0": [1000000 * i * k for i in range(n)]}, "strange": [7] * n, "time_stamps": stamps}
def write(name, content):
    json.dump(content, open(f"{d}/{name}.json", "w"))
write("cpu_metrics", {"host_names": ["n1", "n2"], "sampling_frequency": 10, "n1": host(1), "n2": host(3)})
write("nv_gpu_metrics", {"host_names": ["gpu-0.n1", "gpu-1.n1"],
      "gpu-0.n1": {"time_stamps": stamps, "utilization_rates": {"gpu": [90] * n}, "power_usage": [50000] * n},
      "gpu-1.n1": {"time_stamps": stamps, "utilization_rates": {"gpu": [0] * n}, "power_usage": [20000] * n}})
write("meta_data", {"n1": {"system": "alaska", "env": None, "user": "jo"}})
P
}

# ---- records --------------------------------------------------------------------------------------------------

# bats test_tags=engine
@test "a small job: groups, tree and bars add up to what the store has" {
  use_store
  native_job job --id 77 --procs 20
  plimsoll submit -q job
  report 77
  equal job "$(get '[.job.jobid, .job.jobname, .job.user, .job.duration, .job.num_procs, .job.running]')" \
    '["77","weather","alice",60000000,20,false]'
  equal executables "$(get '[.executables.list[] | [.name, .images, .failed, .cpu, .rssmax, .read]]')" \
    '[["prog0",4,0,58,1020,500],["prog4",4,1,54,1019,460],["prog3",4,0,50,1018,420],["prog2",4,1,46,1017,380],["prog1",4,0,42,1016,340]]'
  equal 'wall is not counted twice' "$(get '[.hosts.list[] | [.name, .wall, .duration, .cpu]]')" '[["node1",10000000,10009500,250]]'
  equal operations "$(get '[.operations.list[] | [.name, .images, .cpu]]')" \
    '[["op:build;step:2",7,91],["op:build;step:1",7,84],["op:build;step:0",6,75]]'
  equal ranks "$(get '.ranks.list')" '[]'
  equal 'sums of groups' "$(get '[.executables.list[].cpu] | add')" "$(ask 'SELECT sum(cpu_time) FROM processes')"
  equal root "$(get '.flame[0] | [.[0], .[2], .[3], .[4], .[6], .[7]]')" '[0,0,1,250,1020,2100]'
  equal 'parents are before' "$(get '[.flame | to_entries[] | select(.value[0] > .key)] | length')" 0
  equal 'processes in the tree' "$(get '[.flame[][3]] | add')" 20
  equal 'processes in bars' "$(get '([.bars[][5]] | add) + .bars_left_out')" 20
  equal 'CPU of bars' "$(get '[.bars[][7]] | add')" 250
  equal timeline "$(get '.timeline | [length, .[1][1], .[-1][1]]')" '[40,2,0]'
  equal series "$(get '[.series, .energy.joules, .hardware]')" '[[],null,null]'

  report 77 --tag step
  equal 'by one tag' "$(get '[.operations.list[] | [.name, .images]]')" '[["2",7],["1",7],["0",6]]'
  report 77 --tag nothing
  equal 'a tag that nobody has' "$(get '.operations.list')" '[]'
}

@test "a failed job, a killed one, and one of a single process" {
  use_store
  plimsoll run -q -o one true
  report last
  equal one "$(get '[.job.num_procs, .job.exitcode, (.flame | length), (.bars | length), .lanes, .executables.list[0].name]')" \
    '[1,0,1,1,1,"true"]'
  equal 'older names of keys' "$(get '[.books == .accounting, .curves == .series, .curves_left_out == .series_left_out]')" '[true,true,true]'
  equal 'accounting adds up' "$(get '.accounting | .cpu_total - .cpu_itemised - .cpu_residue')" 0
  get .accounting.cpu_total | grep -q '^[0-9]'
  plimsoll run -q sh -c 'ls /nowhere; exit 3' 2>errors || true
  report last
  equal failed "$(get '.findings[0] | [.id, .weight, .title]')" '["failed","severe","it failed with exit status 3"]'
  get '.findings[0].details' | grep -q '2 of 2 processes ended with a status other than 0'
  # a process that a signal ended counts as that, and not as failed too
  plimsoll run -q sh -c 'sh -c "kill -TERM \$\$"; ls /nowhere; exit 3' 2>errors || true
  report last
  equal once "$(get '[.findings[] | [.id, (.details | split(";")[0] | split(",")[0])]]')" \
    '[["failed","The program sh ended with status 3"],["killed","1 of 3 processes: 1 by SIGTERM"]]'
  # shellcheck disable=SC2016  # the shell that is run kills itself
  plimsoll run -q sh -c 'kill -TERM $$' || true
  report last
  equal killed "$(get '.findings[0] | [.id, .weight]')" '["killed","severe"]'
}

# bats test_tags=engine
@test "ranks and hosts: who had more work than the others" {
  use_store
  python3 -c '
import json
print(json.dumps({"user": "x", "start": 0, "end": 60, "procs": [
    {"pid": 1001 + i, "ppid": 1, "exename": "prog", "start": i, "end": 40, "hostname": "n%d" % (i % 4 // 2), "mpirank": i % 4, "numranks": 4,
     "usertime": 30000000 if i % 4 == 3 else 10000000} for i in range(8)]}))' | native_job job --id 78 --spec
  report job
  equal ranks "$(get '[.ranks.list[] | [.name, .host, .images, .cpu]]')" \
    '[["0","n0",2,20000000],["1","n0",2,20000000],["2","n1",2,20000000],["3","n1",2,60000000]]'
  equal hosts "$(get '[.hosts.list[] | [.name, .images, .cpu]]')" '[["n0",4,40000000],["n1",4,80000000]]'
  equal found "$(get '.findings[0] | [.id, .details, .saving]')" \
    '["imbalance","The busiest of 4 ranks (3) used 60 s of CPU, 30 s is the mean: the others had nothing to do up to 67 % of the time.",30]'
  plimsoll report job >text
  grep -q '^RANKS ' text
  grep -q '^HOSTS ' text
}

@test "hostile strings are shown and never taken for anything else" {
  use_store
  native_job job --id '<script>alert(1)<script>' --procs 9 --odd
  report job
  equal id "$(get .job.jobid)" '"<script>alert(1)<script>"'
  get '[.executables.list[].name]' | grep -q -F "it's"
  # bytes that are no UTF-8 are replaced in JSON
  get '[.operations.list[].name]' | grep -q -F "k:it's �;b"
  plimsoll report job >text
  run -1 grep -q -P '[\x00-\x08\x0b-\x1f\x7f]' text
  grep -q -F 'job <script>alert(1)<script>' text
  grep -q -F "k:it's \\xff;b" text
}

# bats test_tags=engine,epmt
@test "a name of a megabyte, and 10,000 hosts" {
  use_store
  make_job job --id 79 --procs 10000 --form collated
  python3 - job/*.csv <<'P'
import sys
lines = open(sys.argv[1]).read().splitlines()
for i in range(2, len(lines)):
    row = lines[i].split(",")
    row[1] = "host%d" % (i - 2)
    if i == 5:
        row[0] = "op:" + "x" * 1000000
    lines[i] = ",".join(row)
open(sys.argv[1], "w").write("\n".join(lines) + "\n")
P
  report job
  equal hosts "$(get '[(.hosts.list | length), .hosts.left_out, .hosts.list[0].name, .hosts.list[-1].name]')" \
    '[200,9800,"host0","host9999"]'
  equal operation "$(get '[.operations.list[].name | length] | max')" 1000003
  equal 'processes in bars' "$(get '([.bars[][5]] | add) + .bars_left_out')" 10000
  at_most bars "$(get '.bars | length')" 3000
  plimsoll report job >text
  at_most 'size of the text' "$(stat -c %s text)" 20000
  grep -q 'and 9992 more$' text
}

# ---- curves ---------------------------------------------------------------------------------------------------

# bats test_tags=engine,perfmon
@test "curves alone: totals, hosts, devices, energy and what they say" {
  use_store
  perfmon_job 4711
  report 4711 --co2 360
  equal job "$(get '[.job.num_procs, .flame, .bars, .timeline, .accounting.cpu_itemised, .accounting.cpu_total]')" '[null,[],[],[],null,400000000]'
  equal total "$(get '.series[] | select(.metric == "process.cpu_percent" and .host == null) | [.unit, .mean, .maximum, (.values | length), .values[0] * .scale]')" \
    '["CPUs",4,4,11,4]'
  equal 'per host' "$(get '[.series[] | select(.metric == "process.cpu_percent" and .host) | [.host, .mean]]')" '[["n1",1],["n2",3]]'
  equal 'CPU time is CPUs' "$(get '.series[] | select(.metric == "perfmon.cpu_time" and .host == null) | [.unit, .mean]')" '["CPUs",4]'
  equal 'a peak stays' "$(get '.series[] | select(.metric == "process.rss" and .host == null) | [.unit, .maximum]')" '["bytes",10485760]'
  equal 'counters are rates' "$(get '.series[] | select(.metric == "network.rx_bytes" and .host == null) | [.unit, .rate, .mean]')" \
    '["bytes/s",true,200]'
  equal packages "$(get '[.series[] | select(.metric == "rapl.energy") | [.host, .entity, .unit, .mean]]')" \
    '[[null,null,"W",0.8],["n1","package-0","W",0.2],["n2","package-0","W",0.6]]'
  equal GPUs "$(get '[.series[] | select(.metric == "nvidia.utilization_gpu") | [.host, .entity, .mean]]')" \
    '[[null,null,45],["n1","gpu 0",90],["n1","gpu 1",0]]'
  equal other "$(get '[.series[] | select(.metric == "perfmon.strange") | [.panel, .host, .mean]] | .[0]')" '["other",null,7]'
  equal energy "$(get '.energy | [.joules, .co2_g, [.domains[].joules]]')" '[80,0.008,[10,20,30,60]]'
  equal 'panels in order' "$(get '[.series[].panel] | reduce .[] as $p ([]; if .[-1] == $p then . else . + [$p] end)')" \
    '["cpu","memory","network","power","gpu","other"]'
  equal hosts "$(get '[.hosts.list[] | [.name, .cpu, .rssmax]]')" '[["n1",100000000,null],["n2",300000000,null]]'
  equal found "$(get '[.findings[] | select(.id == "gpu-idle") | .title]')" '["1 of 2 GPUs were idle"]'
  plimsoll report 4711 >text
  grep -q '^  RSS (shared pages in each)  *▂▂▂▂▅▅▂▂▂▂▂ ' text
  # from two sources, and the same: shown once, and the other one named
  equal once "$(grep -c '^  CPU of the job ' text)" 1
  plimsoll report 4711 -o page.html
  equal 'one chart' "$(grep -c 'aria-label="CPU of the job"' page.html)" 2 # of all, and by host
  grep -q 'The same from other sources: <code>perfmon.cpu_time</code>.' page.html
  plimsoll report 4711 -o page.pdf
  pdftotext -layout page.pdf pdf.txt
  equal 'one row' "$(grep -cE '^ *CPU of the job +CPU +4 CPUs' pdf.txt)" 1
  # the same from the store
  plimsoll submit -q 4711
  cp report.json before.json
  report 4711 --co2 360
  equal 'same curves' "$(get .curves)" "$(jq -c .curves before.json)"
}

# bats test_tags=perfmon
@test "sources that do not agree are both shown" {
  use_store
  perfmon_job 4712
  sed -i 's/"cpu_time": \[0, 10, 20/"cpu_time": [0, 10, 2000/' 4712/metrics/cpu_metrics.json
  plimsoll report 4712 -o page.html
  grep -q 'aria-label="CPU of the job (perfmon)"' page.html
  run ! grep -q 'The same from other sources' page.html
  report 4712
  equal 'each has a name' "$(get '[.series[] | select(.host == null) | [.panel, .label]] | (length == (unique | length))')" true
}

@test "curves say whether they are of the node, of the job or of its control group" {
  use_store
  local host=n1.0123abcd
  mkdir -p "job/$host"
  awk 'BEGIN { for (k = 0; k <= 10; k++) {
    print k, "cgroup", "cpu_usage", "us", "counter", "sum", "cgroup", "/x", 1600000 * k
    print k, "cgroup", "cpu_pressure_some", "us", "counter", "sum", "cgroup", "/x", 300000 * k
    printf "%d job_tasks cpu_run_virtual_total ns counter sum job job %.0f\n", k, 1010000000 * k
    print k, "job_tasks", "tasks_alive", "count", "gauge", "sum", "job", "job", 3
    print k, "jobs", "cpu_usage", "us", "counter", "sum", "job", "job", 1300000 * k
    print k, "jobs", "cpu_pressure_some", "us", "counter", "sum", "job", "job", 200000 * k
    print k, "pressure", "cpu_some", "us", "counter", "sum", "node", "node", 100000 * k
    print k, "process", "cpu_percent", "%", "gauge", "sum", "job", "job", 100 } }' |
    "$PROGRAMS/make_samples" -t -h n1 -j 42 "job/$host/run1.smp"
  report job
  equal CPU "$(get '[.series[] | select(.panel == "cpu" and .host == null) | [.label, (.mean * 100 | round)]]')" \
    '[["CPU of the job",100],["CPU of the job'"'"'s cgroup",130],["CPU of the cgroup",160],["CPU of the job",101]]'
  equal pressure "$(get '[.series[] | select(.panel == "pressure" and .host == null) | [.label, (.mean | round)]]')" \
    '[["node waits for a CPU",10],["job waits for a CPU",20],["cgroup waits for a CPU",30]]'
  plimsoll report job >text
  equal 'the job once' "$(grep -cE '^  CPU of the job  ' text)" 1
  for label in "CPU of the job's cgroup" 'CPU of the cgroup' 'node waits for a CPU' 'job waits for a CPU' 'cgroup waits for a CPU'; do
    equal "$label" "$(grep -c "^  $label " text)" 1
  done
}

@test "a node: how busy it was, and no rate of exit records, which tell of whole lives" {
  use_store
  meta() { rm -rf job && mkdir -p job/n1.0123abcd && echo '{"plimsoll_job": 1, "jobid": "'"$1"'", "user": "jo", "exitcode": 0, "tags": {}, "annotations": {}}' >job/job.json; }
  meta node:n1:2026-01-02
  # a task that ran for 8 s ended in the last of ten
  awk 'BEGIN { for (k = 0; k <= 10; k++) {
    printf "%d job_tasks cpu_run_virtual_total ns counter sum node node %.0f\n", k, k < 10 ? 0 : 8000000000
    print k, "job_tasks", "read_bytes", "bytes", "counter", "sum", "node", "node", k < 10 ? 0 : 1000000
    print k, "system", "cpus_online", "count", "gauge", "sum", "node", "node", 2
    print k, "system", "cpu_percent", "%", "mean", "none", "node", "node", k == 5 ? 90 : 40 } }' |
    "$PROGRAMS/make_samples" -t -h n1 -j node:n1:2026-01-02 job/n1.0123abcd/run1.smp
  report job
  equal curves "$(get '[.series[] | select(.host == null) | .metric]')" '["system.cpu_percent"]'
  equal verdict "$(get '[.findings[] | [.title, .details, .advice]]')" \
    '[["the node was 45 % busy","0.90 of its 2 cores were busy on average, 1.8 at most.","Its jobs have their own reports: `plimsoll list --host n1` lists them."]]'
  # a job on it, of ended tasks alone; and a node of which nothing was sampled
  meta 43
  awk 'BEGIN { for (k = 0; k <= 10; k++) printf "%d job_tasks cpu_run_virtual_total ns counter sum job job %.0f\n", k, k < 10 ? 0 : 8000000000 }' |
    "$PROGRAMS/make_samples" -t -h n1 -j 43 job/n1.0123abcd/run1.smp
  report job
  equal 'ended tasks' "$(get '[.series[].metric]')" '[]'
  equal 'CPU time' "$(get '.job.cpu_time')" 8000000
  meta node:n1:2026-01-02
  awk 'BEGIN { for (k = 0; k <= 10; k++) print k, "system", "load1", "count", "gauge", "none", "node", "node", 1 }' |
    "$PROGRAMS/make_samples" -t -h n1 -j node:n1:2026-01-02 job/n1.0123abcd/run1.smp
  report job
  equal unknown "$(get '[.findings[].title]')" '["it is unknown how busy the node was"]'
}

@test "labels of times with fractions have room" {
  use_store
  mkdir -p job/n1.0123abcd
  awk 'BEGIN { for (k = 0; k <= 2; k++) print k, "process", "rss", "bytes", "gauge", "sum", "job", "job", 1000 * k }' |
    "$PROGRAMS/make_samples" -t -h n1 -j 42 job/n1.0123abcd/run1.smp
  plimsoll report job -o page.html
  # half seconds below a chart of a third of the page would touch each other
  at_least labels "$(grep -oE '<text x="[0-9.]+%" y="14"[^>]*>[0-9:.]+</text>' page.html | wc -l)" 2
  equal fractions "$(grep -oE '<text x="[0-9.]+%" y="14"[^>]*>[0-9:]+\.[0-9]+</text>' page.html | wc -l)" 0
}

@test "energy: each host by the best source that it has, and those without one are named" {
  use_store
  local host
  for host in n1 n2 n3 n4; do mkdir -p "job/$host.0123abcd"; done
  # the job's part, the controller beside RAPL, RAPL and a GPU, nothing
  awk 'BEGIN { for (k = 0; k <= 10; k++) {
    print k, "job_energy", "energy", "J", "counter", "sum", "job", "job", 5 * k
    print k, "rapl", "energy", "J", "counter", "sum", "package", "package-0", 100 * k } }' >n1
  awk 'BEGIN { for (k = 0; k <= 10; k++) {
    print k, "ipmi", "power", "W", "gauge", "sum", "node", "node", 300
    print k, "rapl", "energy", "J", "counter", "sum", "package", "package-0", 100 * k } }' >n2
  awk 'BEGIN { for (k = 0; k <= 10; k++) {
    print k, "rapl", "energy", "J", "counter", "sum", "package", "package-0", 100 * k
    print k, "rapl", "energy", "J", "counter", "sum", "package", "core-0", 50 * k
    print k, "nvidia", "energy", "J", "counter", "sum", "gpu", "gpu-0", 200 * k } }' >n3
  awk 'BEGIN { for (k = 0; k <= 10; k++) print k, "process", "rss", "bytes", "gauge", "sum", "job", "job", 1000 }' >n4
  for host in n1 n2 n3 n4; do "$PROGRAMS/make_samples" -t -h $host -j 42 "job/$host.0123abcd/run1.smp" <$host; done
  report job
  # 50, 3000, 1000 + 2000
  equal energy "$(get '.energy | [.joules, .hosts_without]')" '[6050,["n4"]]'
  plimsoll report job >text
  grep -q '^  energy  *6.05 kJ (1.68 Wh), without n4, which had no measurement$' text || fail "$(grep energy text)"
  plimsoll report job -o page.html
  grep -q 'Energy without n4, which had no measurement.' page.html
}

@test "a long curve has at most 400 points, and keeps its peak" {
  use_store
  mkdir -p long/n1.0123abcd
  awk 'BEGIN { for (k = 0; k < 4000; k++) print k, "process", "rss", "bytes", "gauge", "sum", "job", "job", k == 1234 ? 999000 : 1000 }' |
    "$PROGRAMS/make_samples" -t -h n1 -j long -s 1700000000 long/n1.0123abcd/run1.smp
  report long
  equal curve "$(get '.series[0] | [.metric, .maximum, ((.values | length) <= 400), ((.values | length) > 350)]')" '["process.rss",999000,true,true]'
  equal times "$(get '[(.times | length) == (.series[0].values | length), .times[1]]')" '[true,10000000]'
  equal peak "$(get '.series[0] | [range(.values | length) as $i | select(.above[$i] > 0) | (.values[$i] + .above[$i], .values[$i] - .below[$i]) * .scale]')" '[999000,1000]'
  equal 'what is small beside it' "$(get '.series[0] | [.values[] * .scale] | [min, (map(select(. == 1000)) | length)] == [1000, (length - 1)]')" true
}

@test "records and curves of one run; hardware, sources that were not there, books" {
  use_store
  plimsoll monitor -q -i 50ms -d mon -- sleep 0.4
  report last
  equal records "$(get '[.job.num_procs, .job.running]')" '[null,false]'
  equal 'described host' "$(get '.hardware | [keys[0], (.[keys[0]] | has("cpu"))]')" "[\"$(hostname)\",true]"
  get '[.absences[].metric]' | grep -q '"[a-z]*\.\*"'
  get '[.series[].metric]' | grep -q '"process.rss"'
  plimsoll run -q --sample 50ms sh -c 'sleep 0.3'
  report last
  equal both "$(get '[.job.num_procs > 0, ([.series[] | select(.metric == "process.rss")] | length > 0)]')" '[true,true]'
}

# bats test_tags=colmet
@test "curves of a file that colmet wrote" {
  use_store
  local data=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}/colmet/pycollector_zlib9_small.hdf5
  [ -e "$data" ] || skip "no sample data beside the project"
  report "$data" 2>warnings
  equal CPU "$(get '.series[0] | [.panel, .metric, .label, .unit, .host]')" \
    '["cpu","taskstats_default.cpu_run_virtual_total","CPU of the job","CPUs",null]'
  get '[.series[].metric]' | grep -q '"procstats_default.loadavg_1min"'
  at_least 'CPU time' "$(get .accounting.cpu_total)" 1000000
}

# ---- little or nothing ----------------------------------------------------------------------------------------

@test "no data at all, one sample, and a job that has not ended" {
  use_store
  meta empty 5 ', "stop_us": 1700000060000000, "exitcode": 0'
  report empty
  equal nothing "$(get '[.job.num_procs, .series, .flame, .bars, .timeline, .hosts.list, .names]')" '[0,[],[],[],[],[],[""]]'
  equal verdict "$(get '[.findings[] | [.id, .title]]')" '[["unmeasured","too little is known for a verdict"]]'
  plimsoll report empty >text
  grep -q '^  start      2023-11-14' <(TZ=UTC plimsoll report empty)

  mkdir -p one/n1.0123abcd
  echo '0 process cpu_percent % mean sum job job 50' | "$PROGRAMS/make_samples" -t -h n1 -j one -s 1700000000 one/n1.0123abcd/run1.smp
  report one
  equal 'one sample' "$(get '[.series[] | [.metric, .mean, .maximum, .first, [.values[] * .scale], .below, .above]]')" '[["process.cpu_percent",0.5,0.5,0,[0.5],null,null]]'
  plimsoll report one >text
  grep -q '^  CPU of the job  *█ ' text

  meta running 6 ''
  report running
  equal running "$(get '[.job.running, .job.end, .job.exitcode]')" '[true,null,null]'
  plimsoll report running | grep -q 'still running'
}

# ---- a real job -----------------------------------------------------------------------------------------------

# bats test_tags=engine,epmt
@test "65,304 processes: the page is below a megabyte, and all of them are in it" {
  use_store
  local data=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}/epmt/bench/2557072.tgz
  [ -e "$data" ] || skip "no sample data beside the project"
  plimsoll submit -q "$data"
  report 2557072
  equal job "$(get '[.job.num_procs, .job.cpu_time, .accounting.cores]')" '[65304,4987230801,1]'
  equal 'processes in the tree' "$(get '[.flame[][3]] | add')" 65304
  equal 'processes in bars' "$(get '([.bars[][5]] | add) + .bars_left_out')" 65304
  equal 'CPU of executables' "$(get '[.executables.list[].cpu] | add')" 4987230801
  at_most 'tree' "$(get '.flame | length')" 4000
  at_most 'bars' "$(get '.bars | length')" 3000
  equal busiest "$(get '.executables.list[0] | [.name, .images]')" '["fregrid",15]'
  equal found "$(get '[.findings[] | .id]')" '["storage-write","killed"]'
  plimsoll report 2557072 -o r.html
  at_most size "$(stat -c %s r.html)" 1048576
}
