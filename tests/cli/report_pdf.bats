#!/usr/bin/env bats
# The report as pages of A4: which there are, in which order, and what is on them.

bats_require_minimum_version 1.5.0
load store

setup() {
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  export PLIMSOLL_PREFIX="$WORK/prefix" TZ=UTC
  cd "$WORK" || return 1
}

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

@test "a job of perfmon's with all it can measure: pages, header, order, figures" {
  results job -n 3 -g 2
  plimsoll report job -o report.pdf
  pdfinfo report.pdf >info
  grep -q '^Page size: *595.28 x 841.89 pts (A4)' info
  n=$(awk '/^Pages:/ { print $2 }' info)
  for ((i = 1; i <= n; i++)); do
    on_page report.pdf "$i" 'Job ID: job, User: jo, # Nodes: 3, Date: 2023-11-14 22:13:20' "page $i of $n"
  done
  on_page report.pdf 1 'Job job' 'What bounded the job' 'Key figures' 'node001, node002, node003' '29 min 30 s'
  # perfmon's order, the first page with a plot sought
  first=1
  until page report.pdf $first | grep -q 'CPU load, average'; do first=$((first + 1)); done
  # over time: of 59 intervals six had four times as much, (53 + 6 * 4) / 59 * 2 CPUs
  on_page report.pdf "$first" 'CPU load, average of all nodes' 'per node: average 2.61 CPUs, maximum 12 CPUs' \
    'Memory, average of all nodes' 'per node: average 2 GiB, maximum 3 GiB' 'Memory bandwidth (read), average of all nodes'
  on_page report.pdf $((first + 1)) 'Output traffic, sum of all nodes' 'Input traffic, sum' 'Packets, output, sum' \
    'per node: average 10 /s, maximum 10 /s' 'Packets, input, sum'
  on_page report.pdf $((first + 2)) 'Interconnect, output traffic, sum of all nodes' 'per node: average 1 GiB/s, maximum 1 GiB/s' \
    'Interconnect, input traffic, sum' 'Interconnect, packets, output, sum' 'Interconnect, packets, input, sum'
  # 100, 200 and 300 W in each of two packages
  on_page report.pdf $((first + 3)) 'Power of packages (RAPL), sum of all nodes' 'per node: average 400 W, maximum 600 W' \
    'Power of DRAM (RAPL), sum' 'per node: average 40 W, maximum 40 W' 'Power of cores (RAPL), sum' 'Power of uncore (RAPL), sum'
  on_page report.pdf $((first + 4)) 'CPU load, each node' 'node001' 'Memory, each node' 'Memory bandwidth (read), each node'
  on_page report.pdf $((first + 5)) 'Output traffic, each node' 'Input traffic, each node' 'Packets, output, each node'
  on_page report.pdf $((first + 6)) 'Interconnect, output traffic, each node' 'Interconnect, packets, input, each node'
  on_page report.pdf $((first + 7)) 'Power of packages (RAPL), each node' 'Power of uncore (RAPL), each node'
  on_page report.pdf $((first + 8)) 'GPU load, each GPU' 'per GPU: average 90 %' 'node001, GPU 0' 'GPU memory' 'GPU power' 'GPU temperature'
  on_page report.pdf $((first + 9)) 'Nodes' 'node003' 'Energy' 'package-0'
  equal last "$n" $((first + 9))
}

@test "plots that were not measured are left out" {
  results job -n 2 -m
  plimsoll report job -o report.pdf
  pdftotext -layout report.pdf all.txt
  equal plots "$(grep -oE '(average|sum) of all nodes|, each (node|GPU)' all.txt | sort | uniq -c | awk '{ print $1 }' | paste -sd' ')" '2 2'
  equal charts "$(grep -cE '^ *(CPU load|Memory), ' all.txt)" 4
}

@test "one node: each chart once, four on a page, and none of nothing but zeros" {
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
  run ! grep -qE 'of all nodes|each node' all.txt
  for title in 'CPU load' Memory 'Memory bandwidth \(read\)' 'Output traffic' 'Packets, input' 'Interconnect, input traffic' \
    'Power of packages \(RAPL\)' 'GPU load, each GPU'; do
    equal "$title" "$(grep -cE "^ *$title\$" all.txt)" 1
  done
  run ! grep -qE '^ *Input traffic$' all.txt
  # its name is there, in the list of what is all 0
  grep -A1 'Over time, all 0' all.txt | grep -q 'received by the node (network)'
  # a page between has four, whatever was left of the one before
  first=1
  until page report.pdf $first | grep -qE '^ *Packets, input$'; do first=$((first + 1)); done
  equal 'on a page' "$(page report.pdf $first | grep -c '^ *average')" 4
  # 18 charts behind what is in front, and the tables
  at_most pages "$(pdfinfo report.pdf | awk '/^Pages:/ { print $2 }')" 7
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
  run ! grep -q 'Interconnect,' all.txt
  # names of metrics that are all 0 stand in one list, and in no row of a table
  tr -s ' \n' '  ' <all.txt | grep -oE 'Over time, all 0 .*' | grep -q 'received (interconnect), sent (interconnect)'
  run ! grep -E 'interconnect +0 ' all.txt
  equal load "$(grep -cE '^ *CPU load, (average of all nodes|each node)$' all.txt)" 2
}

@test "records without curves: executables, no plot; the figures are the store's" {
  use_store
  make_job old
  plimsoll submit old >/dev/null
  id=$(ask 'SELECT jobid FROM jobs')
  plimsoll report "$id" -f pdf >name
  equal name "$(cat name)" "report-$id.pdf"
  pdftotext -layout "report-$id.pdf" all.txt
  grep -q '^ *Executables$' all.txt
  grep -qE '^ *Executable +Images +Failed +CPU +Wall +Memory +Read +Written$' all.txt
  run ! grep -q 'all nodes' all.txt
  want=$(ask 'SELECT processes FROM jobs')
  grep -qE "^ *Processes +$want, at most" all.txt
  grep -q 'Processes and threads at once' all.txt
}

@test "hostile texts are shown as they are, and make no lines of their own" {
  use_store
  results job -n 1 -m --user $'</Title>#\t|x\n# Heading of mine' --names '#\t<script>'
  plimsoll report job -o report.pdf
  pdftotext -layout report.pdf all.txt
  grep -qF 'User: </Title>#\x09|x\x0a# Heading of mine' all.txt
  grep -qF '#\t<script>' all.txt
  run ! grep -qE '^ *Heading of mine' all.txt
}

@test "one sample, a node name of a megabyte, 300 nodes" {
  results one -n 1 -c 1 -m
  plimsoll report one -o one.pdf
  pdftotext -layout one.pdf all.txt
  # figures, and no chart of one point
  grep -qE '^ *CPU of the job +CPU +1 CPUs? +1 CPUs?$' all.txt
  run ! grep -q 'CPU load' all.txt
  results long -n 1 -c 3 -m --names "$(head -c 60000 /dev/zero | tr '\0' n)"
  plimsoll report long -o long.pdf
  at_most size "$(stat -c %s long.pdf)" 200000
  results crowd -n 300 -c 3 -m
  plimsoll report crowd -o crowd.pdf
  pdftotext -layout crowd.pdf all.txt
  grep -q '# Nodes: 300' all.txt
  grep -q 'node001, .*node008 and 292 more' all.txt
  grep -q 'mean of 300, smallest to largest' all.txt
}

@test "a full disk and a closed directory: a line, and the old report stays" {
  results job -n 1 -c 5
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
  grep -qE '^ *Written by system calls$' all.txt
  run ! grep -q 'per node:' all.txt
  run ! grep -q '…' all.txt
  run ! grep -qE 'Metric +Of' all.txt
}
