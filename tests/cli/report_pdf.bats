#!/usr/bin/env bats
# The report as pages of A4: which there are, in which order, and what is on them.

bats_require_minimum_version 1.5.0
load store

setup() {
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  export PLIMSOLL_PREFIX="$WORK/prefix" TZ=UTC
  cd "$WORK" || return 1
}

# sampled DIRECTORY [OPTION...]: a job of ours, see tests/fixtures/sampled_job.py
sampled() {
  python3 "$PL_SOURCE/tests/fixtures/sampled_job.py" "$PROGRAMS/make_samples" "$@"
}

# results DIRECTORY [OPTION...]: a job of perfmon's with much more of the same
results() {
  python3 "$PL_SOURCE/tests/fixtures/perfmon_results.py" "$@"
}

# page FILE NUMBER: its text
page() {
  pdftotext -layout -f "$2" -l "$2" "$1" -
}

# on_page FILE NUMBER TEXT...: each of them is there, in this order
on_page() {
  local file=$1 number=$2 text at=0 line
  shift 2
  page "$file" "$number" >page.txt
  for text; do
    line=$(grep -nF -- "$text" page.txt | cut -d: -f1 | awk -v at=$at '$1 > at' | head -1)
    [ -n "$line" ] || fail "page $number has no '$text' behind line $at: $(cat page.txt)"
    at=$line
  done
}

# chart FILE TITLE ALL EACH: the chart of the job, the one of its parts beside it, and their figures below
chart() {
  grep -A1 -E "^ *$2 +$2, by (host|device)\$" "$1" >chart.txt || fail "no charts '$2' beside each other: $(cat "$1")"
  tail -1 chart.txt | tr -s ' ' | grep -qF -- "$3 $4" || fail "$2: $(cat chart.txt)"
}

# bats test_tags=perfmon
@test "a job of perfmon's with all it can measure: pages, header, order, figures" {
  results job -n 3 -g 2
  plimsoll report job -o report.pdf
  pdfinfo report.pdf >info
  grep -q '^Page size: *595.28 x 841.89 pts (A4)' info
  n=$(awk '/^Pages:/ { print $2 }' info)
  for ((i = 1; i <= n; i++)); do
    on_page report.pdf "$i" 'Job ID: job, User: jo, Nodes: 3, Date: 2023-11-14 22:13:20' "page $i of $n"
  done
  on_page report.pdf 1 'Job job' 'What limited the job' 'Key figures' 'node001, node002, node003' '29 min 30 s'
  # the job on the left, its hosts on the right; panels in one order: over all pages
  pdftotext -layout report.pdf all.txt
  grep -nE '^ *(CPU|Memory|Input and output|Network|Interconnect|Power and temperature|GPUs|Nodes|Energy)$' all.txt |
    sed 's/.*: *//' | paste -sd, >panels
  equal panels "$(cat panels)" 'CPU,Memory,Network,Interconnect,Power and temperature,GPUs,Nodes,Energy'
  # over time: of 59 intervals six had four times as much, (53 + 6 * 4) / 59 * 2 CPUs
  chart all.txt 'CPU of the job' 'sum of all hosts: mean 7.83 CPUs, maximum 24 CPUs' 'per host: mean 2.61 CPUs, maximum 12 CPUs'
  chart all.txt 'RSS \(shared pages in each\)' 'sum of all hosts: mean 6 GiB, maximum 6 GiB' 'per host: mean 2 GiB, maximum 3 GiB'
  chart all.txt 'Memory bandwidth' 'sum of all hosts: mean 6 GiB/s, maximum 6 GiB/s' 'per host: mean 2 GiB/s, maximum 3 GiB/s'
  chart all.txt 'Packets sent by the node' 'sum of all hosts: mean 30 /s, maximum 30 /s' 'per host: mean 10 /s, maximum 10 /s'
  chart all.txt 'Sent' 'sum of all hosts: mean 3 GiB/s, maximum 3 GiB/s' 'per host: mean 1 GiB/s, maximum 1 GiB/s'
  # 100, 200 and 300 W in each of two packages, 20 W in each of two DRAMs; of 12 devices the mean
  chart all.txt 'Power of processors' 'sum of all devices: mean 1.32 kW, maximum 1.32 kW' 'per device: mean 110 W, maximum 300 W'
  chart all.txt 'GPU busy' 'mean of all devices: mean 90 %, maximum 90 %' 'per device: mean 90 %, maximum 90 %'
  chart all.txt 'GPU temperature' 'largest of all devices: mean 60 °C, maximum 60 °C' 'per device: mean 60 °C, maximum 60 °C'
  grep -qE 'node001 +node002 +node003' all.txt
  grep -q 'node001, gpu 0' all.txt
  on_page report.pdf "$n" 'Nodes' 'node003' 'Energy' 'package-0'
}

@test "plots that were not measured are left out" {
  sampled job -n 2 -m
  plimsoll report job -o report.pdf
  pdftotext -layout report.pdf all.txt
  equal plots "$(grep -oE 'sum of all hosts|per host|of all devices' all.txt | sort | uniq -c | awk '{ print $1 }' | paste -sd' ')" '2 2'
  equal charts "$(grep -cE '^ *(CPU of the job|RSS \(shared pages in each\)) .*, by host$' all.txt)" 2
}

# bats test_tags=perfmon
@test "one node: each chart once, two beside each other, and none of nothing but zeros" {
  results job -n 1 -g 1
  python3 - job/metrics/cpu_metrics.json <<'P'
import json, sys
m = json.load(open(sys.argv[1]))
net = m["node001"]["net_io_counters"]
net["bytes_recv"] = [0] * len(net["bytes_recv"])
json.dump(m, open(sys.argv[1], "w"))
P
  plimsoll report job -o report.pdf
  pdftotext -layout report.pdf all.txt
  sed -n '/^ *CPU$/,$p' all.txt >charts.txt # behind the tables in front
  run ! grep -qE 'of all hosts|by host|per host' all.txt
  for title in 'CPU of the job' 'RSS \(shared pages in each\)' 'Memory bandwidth' 'Sent by the node' 'Packets received by the node' \
    Received 'GPU busy' 'GPU power'; do
    equal "$title" "$(grep -cE "^( *|.* {2,})$title( {2,}.*)?\$" charts.txt)" 1
  done
  run ! grep -qE '(^| {2,})Received by the node( {2,}|$)' charts.txt
  # its name is there, in the list of what is all 0
  grep -A1 'Over time, always 0' all.txt | grep -q 'received by the node (network)'
  # two beside each other: below the end of the tables CPU, threads, two of memory; then two of memory, three of the network
  equal 'below the tables' "$(page report.pdf 2 | grep -oE 'mean [0-9]' | wc -l)" 4
  equal 'on a page' "$(page report.pdf 3 | grep -oE 'mean [0-9]' | wc -l)" 5
  # 19 charts behind what is in front, and the tables
  at_most pages "$(pdfinfo report.pdf | awk '/^Pages:/ { print $2 }')" 6
  # of several nodes, too, what is nothing but zeros has no chart
  results zeros -n 2
  python3 - zeros/metrics/cpu_metrics.json <<'P'
import json, sys
m = json.load(open(sys.argv[1]))
for node in "node001", "node002":
    for name in m[node]["ib_io_counters"]:
        m[node]["ib_io_counters"][name] = [0] * len(m[node]["ib_io_counters"][name])
json.dump(m, open(sys.argv[1], "w"))
P
  plimsoll report zeros -o zeros.pdf
  pdftotext -layout zeros.pdf all.txt
  run ! grep -qE '^ *Interconnect$' all.txt
  # names of metrics that are all 0 stand in one list, and in no row of a table
  tr -s ' \n' '  ' <all.txt | grep -oE 'Over time, always 0 .*' | grep -q 'received (interconnect), sent (interconnect)'
  run ! grep -E 'interconnect +0 ' all.txt
  equal load "$(grep -cE '^ *CPU of the job +CPU of the job, by host$' all.txt)" 1
}

@test "records without curves: executables, no plot; the figures are the store's" {
  use_store
  native_job old
  plimsoll submit old >/dev/null
  id=$(ask 'SELECT jobid FROM jobs')
  plimsoll report "$id" -f pdf >name
  equal name "$(cat name)" "report-$id.pdf"
  pdftotext -layout "report-$id.pdf" all.txt
  grep -q '^ *Executables$' all.txt
  grep -qE '^ *Executable +Images +Failed +CPU +Wall +Memory +Read +Written$' all.txt
  run ! grep -q 'mean [0-9]' all.txt
  want=$(ask 'SELECT processes FROM jobs')
  grep -qE "^ *Processes +$want, at most" all.txt
  grep -q 'Processes and threads at once' all.txt
}

@test "hostile texts are shown as they are, and make no lines of their own" {
  use_store
  sampled job -n 1 -m --user $'</Title>#\t|x\n# Heading of mine' --names '#\t<script>'
  plimsoll report job -o report.pdf
  pdftotext -layout report.pdf all.txt
  grep -qF 'User: </Title>#\x09|x\x0a# Heading of mine' all.txt
  grep -qF '#\t<script>' all.txt
  run ! grep -qE '^ *Heading of mine' all.txt
}

@test "one sample, a node name of a megabyte, 300 nodes" {
  sampled one -n 1 -c 1 -m
  plimsoll report one -o one.pdf
  pdftotext -layout one.pdf all.txt
  # figures, and no chart of one point
  grep -qE '^ *CPU of the job +CPU +1 CPUs? +1 CPUs?$' all.txt
  run ! grep -q 'mean [0-9]' all.txt
  sampled long -n 1 -c 3 -m --names "$(head -c 60000 /dev/zero | tr '\0' n)"
  plimsoll report long -o long.pdf
  at_most size "$(stat -c %s long.pdf)" 200000
  sampled crowd -n 300 -c 3 -m
  plimsoll report crowd -o crowd.pdf
  pdftotext -layout crowd.pdf all.txt
  grep -q 'Nodes: 300' all.txt
  grep -q 'node001, .*node008 and 292 more' all.txt
  # of that many hosts a band, of those that the report has curves of
  grep -q '64 of 300 hosts: mean' all.txt
  grep -q 'mean of 64, smallest to largest' all.txt
}

@test "a full disk and a closed directory: a line, and the old report stays" {
  sampled job -n 1 -c 5
  mkdir small
  if [ "$(id -u)" = 0 ]; then
    mount -t tmpfs -o size=16k none small
    want='No space left on device'
  else
    want='Permission denied'
  fi
  echo old >small/report.pdf
  [ "$(id -u)" = 0 ] || chmod 500 small
  run --separate-stderr plimsoll report job -o small/report.pdf
  content=$(cat small/report.pdf)
  names=$(ls -A small)
  umount small 2>/dev/null || chmod 700 small
  equal status "$status" 1
  equal lines "${#stderr_lines[@]}" 1
  [[ $stderr == *"small/report.pdf"*"$want"* ]] || fail "$stderr"
  equal kept "$content" old
  equal names "$names" report.pdf
}

@test "a sampled job: charts of its input and output, and reasons that are not cut off" {
  use_store
  plimsoll run -q --sample 50ms -- sh -c 'for i in 1 2 3 4 5; do head -c 20000000 /dev/zero >"$0"; sleep 0.1; done' "$PWD/file"
  plimsoll report -o report.pdf
  pdftotext -layout report.pdf all.txt
  grep -qE '(^| {2,})Written by system calls( {2,}|$)' all.txt
  # what is read seldom says how often
  grep -qE 'Private memory' all.txt
  run ! grep -q 'per host:' all.txt
  run ! grep -q '…' all.txt
  run ! grep -qE 'Metric +Of' all.txt
}

@test "core time: a stacked time line behind the verdict, with a table whose names begin in upper case" {
  use_store
  plimsoll run -q --sample 50ms -- sh -c 'sleep 0.6; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
  plimsoll report -o report.pdf
  plimsoll report --json >report.json
  pdftotext -layout report.pdf all.txt
  at=0
  for text in 'What limited the job' 'Where the core time went' 'from left to right' 'Core time +Share$' 'Key figures'; do
    line=$(grep -nE -- "$text" all.txt | cut -d: -f1 | awk -v at=$at '$1 > at' | head -1)
    [ -n "$line" ] || fail "no '$text' behind line $at: $(cat all.txt)"
    at=$line
  done
  # the shares are those of the JSON, and the colors of the parts are in the picture
  share=$(python3 -c 'import json
for p in json.load(open("report.json"))["core_time"]["parts"]:
    if p["name"] == "user": print("%.1f" % (100 * p["share"]))')
  grep -qE "^ *Computing .* $share %\$" all.txt || fail "computing is not $share %: $(cat all.txt)"
  sed -n '/Core time  *Share$/,/Key figures/p' all.txt >table.txt
  at_least rows "$(grep -cE '^ *[A-Z].* [0-9.]+ %$' table.txt)" 2
  run ! grep -qE '^ *[a-z].* %$' table.txt
}
