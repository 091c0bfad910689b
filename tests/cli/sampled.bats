#!/usr/bin/env bats
# Jobs that were sampled and not recorded, or both: what `list`, `show` and `report` say of them.

bats_require_minimum_version 1.5.0
load store

# run_of RUN OFFSET CPU PID: a run of job "s" on node1, four readings a second apart, with a process and the job
run_of() {
  mkdir -p job/node1.0123abcd
  for k in 0 1 2 3; do
    echo "$k.$2 process usertime us counter sum job job $((k * $3))"
    echo "$k.$2 process systemtime us counter sum job job $((k * $3 / 2))"
    echo "$k.$2 process rss bytes gauge sum job job 2048000"
    echo "$k.$2 process rss bytes gauge sum process $4 1024000"
  done | sort -s -n -k1,1 | "$PROGRAMS/make_samples" -t -j s -r "$1" "job/node1.0123abcd/$1.smp"
}

end_job() {
  echo '{"plimsoll_job": 1, "jobid": "s", "start_us": 1700000000000000, "stop_us": 1700000004000000, "tags": {}, "annotations": {}}' >job/job.json
  plimsoll submit -q job
}

# bats test_tags=engine
@test "a job without records: CPU and processes as sampled, never 0; what is not known is absent" {
  use_store
  run_of run1 1 1000000 11.100
  end_job
  plimsoll list --json >list.json
  equal list "$(jq -c '.[0] | [.cpu_time, .processes, .images, .num_procs, .num_threads, .sampled]' list.json)" '[4500000,1,null,null,null,true]'
  equal csv "$(plimsoll list --csv | awk -F, 'NR == 2 { print $9 "," $11 "," $12 "," $14 }')" 4500000,1,,
  equal sql "$(plimsoll sql --csv 'SELECT cpu_time, processes FROM jobs' | tail -1)" 4500000,1
  plimsoll show s >show.txt
  grep -q "processes  *1 seen by sampling" show.txt
  grep -q "CPU  *4500000 us while sampled; 1.12 CPUs" show.txt
  run ! grep -qE "(CPU|processes) +0( |$)|0 images" show.txt
  equal "show --json" "$(plimsoll show s --json | jq -c '[.cpu_time, .processes, .peaks.processes, .peaks.threads]')" '[4500000,1,null,null]'
  plimsoll report s | grep -q "processes  *1 seen by sampling"
}

@test "a job of which only the node was sampled: its CPU and processes are not known" {
  use_store
  mkdir -p job/node1.0123abcd
  for k in 0 1 2; do echo "$k.1 system load1 count gauge sum node node 1"; done |
    "$PROGRAMS/make_samples" -t -j s -r run1 job/node1.0123abcd/run1.smp
  end_job
  equal list "$(plimsoll list --json | jq -c '.[0] | [.cpu_time, .processes, .images]')" '[null,null,null]'
  plimsoll show s >show.txt
  grep -q "processes  *unknown: neither sampled nor recorded" show.txt
  grep -q "CPU  *unknown" show.txt
}

# bats test_tags=engine
@test "a second monitor of the same processes is kept, and counts in no sum" {
  use_store
  run_of run1 1 1000000 11.100
  run_of run2 3 1000000 11.100
  end_job
  plimsoll series s --json >series.json
  of_job() { jq -c "[.[] | select(.metric == \"process.usertime\" and .entity_kind == \"job\") | $1]" series.json; }
  equal series "$(of_job .increase)" '[3000000,3000000]'
  equal marks "$(of_job .facts.in_sum)" '[null,"no"]'
  equal total "$(plimsoll series s -m usertime --kind job --total --json | jq -c '.[0].samples[-1][1]')" 3000000
  equal list "$(plimsoll list --json | jq -c '.[0] | [.cpu_time, .processes]')" '[4500000,1]'
  plimsoll report s --json >report.json
  equal cpu "$(jq -c .accounting.cpu_total report.json)" 4500000
  equal host "$(jq -c '[.hosts.list[].cpu]' report.json)" '[4500000]'
  equal memory "$(jq -c '[.series[] | select(.metric == "process.rss" and .host == null) | .maximum]' report.json)" '[2048000]'
}

@test "a peak between two samples: the memory of all is not less than that of one" {
  use_store
  plimsoll run -q --sample 1m -N peak -- sh -c 'sleep 0.3; dd if=/dev/zero of=/dev/null bs=60M count=1 status=none; sleep 0.3'
  plimsoll report peak >report.txt
  grep -qE "memory +6[0-9](\.[0-9])? MiB in the largest process; samples missed that peak" report.txt || fail "$(cat report.txt)"
  run ! grep -q "in all processes together" report.txt
  tr -s ' \n' ' ' <report.txt | grep -qE "missed that peak and saw at most [0-9.]+ (M|K)iB in all processes"
  run ! grep -qE "at most +6[0-9.]+ MiB in all processes" <(tr -s ' \n' ' ' <report.txt)
  plimsoll report peak -f html -o report.html
  grep -q "Memory when sampled" report.html
  run ! grep -q "Peak memory" report.html
}

@test "a host's largest process is one process, not all of them" {
  use_store
  run_of run1 1 1000000 11.100
  end_job
  equal largest "$(plimsoll report s --json | jq -c '[.hosts.list[].rssmax]')" '[1000]'
}

@test "the only GPU of a job has one chart, two have one of both and one each" {
  use_store
  gpus() { # NUMBER...
    rm -rf job
    mkdir -p job/n1.0123abcd
    for k in 0 1 2 3 4 5; do
      for gpu; do echo "$k nvidia utilization_gpu % gauge none gpu $gpu $((50 + k))"; done
    done | "$PROGRAMS/make_samples" -t -h n1 -j s job/n1.0123abcd/run1.smp
    plimsoll report job -o page.html
    grep -c 'aria-label="GPU busy' page.html
  }
  equal one "$(gpus 0)" 1
  at_least two "$(gpus 0 1)" 2
}

# seen RUN FROM TO PID...: from FROM to TO the run saw these processes of 100 bytes each, and the job as their sum
seen() {
  local name=$1 from=$2 to=$3 k pid
  shift 3
  mkdir -p job/node1.0123abcd
  for k in $(seq "$from" "$to"); do
    echo "$k process rss bytes gauge sum job job $((100 * $#))"
    echo "$k process usertime us counter sum job job $((k * 10 * $#))"
    for pid; do
      echo "$k process rss bytes gauge sum process $pid 100"
      echo "$k process usertime us counter sum process $pid $((k * 10))"
    done
  done | "$PROGRAMS/make_samples" -t -j s -r "$name" "job/node1.0123abcd/$name.smp"
}

# totals: seconds (the start is 22:13:20) and value of the first and the last point of all memory, most memory in the report, CPU time
totals() {
  plimsoll series s -m rss --kind job --total --json >total.json
  plimsoll report s --json >report.json
  jq -c '.[0].samples | [.[0], .[-1]] | map([.[0][17:19], .[1]])' total.json
  jq -c '[.series[] | select(.metric == "process.rss" and .host == null) | .maximum]' report.json
  plimsoll list --json | jq -c '.[0].cpu_time'
}

# bats test_tags=engine
@test "a run inside another counts once, whichever is read first" {
  use_store
  # the outer run saw the 2 processes of the inner one besides its own, and longer
  seen a-outer 0 10 1.1 2.2 3.3
  seen b-inner 2 8 2.2 3.3
  end_job
  equal "outer first" "$(totals)" $'[["20",300],["30",300]]\n[300]\n300'
  plimsoll delete s >delete.txt 2>&1 || fail "$(cat delete.txt)"
  rm -r job
  seen a-inner 2 8 2.2 3.3
  seen b-outer 0 10 1.1 2.2 3.3
  end_job
  equal "inner first" "$(totals)" $'[["20",300],["30",300]]\n[300]\n300'
  equal marks "$(plimsoll series s -m rss --kind job --json | jq -c '[.[] | [(.samples | length), .facts.in_sum]] | sort')" '[[7,"no"],[11,null]]'
}

@test "two inner runs at once inside another count once, one beside them for itself" {
  use_store
  seen a-one 2 8 2.2
  seen b-two 3 9 3.3
  seen c-outer 0 10 1.1 2.2 3.3
  seen d-beside 4 6 4.4
  end_job
  # 300 of the outer run, 400 while the other one was there, too
  equal all "$(totals)" $'[["20",300],["30",300]]\n[400]\n320'
  equal marks "$(plimsoll series s -m rss --kind job --json | jq -c '[.[] | [(.samples | length), .facts.in_sum]] | sort')" '[[3,null],[7,"no"],[7,"no"],[11,null]]'
}

@test "a monitor of a part of the job that was there longer does not hide one of all" {
  use_store
  seen a-part 0 10 1.1
  seen b-all 2 10 1.1 2.2 3.3
  end_job
  equal all "$(totals)" $'[["22",300],["30",300]]\n[300]\n240'
}

@test "a sampled run inside a sampled run: its memory is there once" {
  use_store
  # shellcheck disable=SC2016
  plimsoll run -q -N nest --sample 100ms -- sh -c 'plimsoll run -q --sample 100ms -- python3 -c "import time; b = bytearray(100 << 20); time.sleep(1)"; true'
  at_once=$(plimsoll series nest -m process.rss --kind job --total --json 2>/dev/null | jq '[.[0].samples[][1]] | max / 1048576 | floor')
  at_least "series" "$at_once" 100
  [ "$at_once" -lt 190 ] || fail "the inner run counts twice: $at_once MiB"
  equal report "$(plimsoll report nest --json | jq '[.series[] | select(.metric == "process.rss" and .host == null) | .maximum][0] / 1048576 | floor')" "$at_once"
}

@test "what is read seldom is read several times in a short job, too" {
  use_store
  # 7 ticks or more: readings at the first, and 1, 3 and 7 later
  plimsoll run -q -N short --sample 200ms -- python3 -c 'import time; time.sleep(0.3); b = bytearray(150 << 20); time.sleep(2)'
  plimsoll series short --json >series.json
  of_job() { jq "[.[] | select(.metric == \"process_memory.$1\" and .entity_kind == \"job\") | .$2] | max // 0 | floor" series.json; }
  at_least readings "$(of_job pss count)" 3
  at_least "largest process" "$(of_job rss_peak maximum)" $((150 << 20))
  at_least "memory of its own" "$(of_job uss maximum)" $((150 << 20))
}

# of_series KIND METRIC FIELD: of the series in series.json, as a whole number
of_series() { jq "[.[] | select(.entity_kind == \"$1\" and .metric == \"$2\") | .$3] | max // -1 | floor" series.json; }

@test "a job that we begin has 0 in its counters at its begin, whenever it is first read" {
  use_store
  for way in 'monitor -i 200ms' 'run --sample 200ms'; do
    # shellcheck disable=SC2086 # a command and its options
    plimsoll $way -q -N begun -- sh -c 'head -c 300000000 /dev/zero >/dev/null; sleep 1'
    id=$(plimsoll list --json | jq -r '.[0].jobid')
    plimsoll series "$id" --json >series.json
    at_least "$way: written" "$(of_series job process.wchar increase)" 300000000
    at_least "$way: read" "$(of_series job process.rchar increase)" 300000000
    equal "$way: least" "$(of_series job process.wchar minimum)" 0
    at_least "$way: CPU" "$(plimsoll list --json | jq '.[0].cpu_time')" 1
    # a rate for each time between two readings, however short the first of them are
    plimsoll series "$id" -m process.wchar --kind job --rate --json >rate.json
    plimsoll series "$id" -m process.wchar --kind job --json >values.json
    equal "$way: rates" "$(jq '.[0].samples | length' rate.json)" "$(jq '.[0].samples | length - 1' values.json)"
    # percentages, too, are there from the first reading on
    equal "$way: percentages" "$(of_series job process.cpu_percent count)" "$(jq '.[0].samples | length - 1' values.json)"
    at_least "$way: report" "$(plimsoll report "$id" --json |
      jq '.series[] | select(.metric == "process.wchar" and .host == null) | .maximum | floor')" 100000
    plimsoll delete -q "$id"
  done
}

@test "what a job used that was there before is not what it used while it was sampled" {
  use_store
  mkfifo pipe
  sh -c 'head -c 50000000 /dev/zero >/dev/null; echo ready; read -r go; head -c 1000000 /dev/zero >/dev/null; read -r end' <pipe >told &
  pid=$!
  exec 7>pipe
  until grep -q ready told; do sleep 0.02; done
  plimsoll monitor -q -i 100ms --submit -N there --pid "$pid" --duration 1s &
  monitor=$!
  sleep 0.5
  echo go >&7
  wait "$monitor"
  exec 7>&-
  wait "$pid" || true
  plimsoll series "$(plimsoll list --json | jq -r '.[0].jobid')" --json >series.json
  at_least maximum "$(of_series job process.wchar maximum)" 51000000
  at_least increase "$(of_series job process.wchar increase)" 1000000
  at_most increase "$(of_series job process.wchar increase)" 2000000
}

@test "the mean percentage of a command is its CPU time over its life" {
  use_store
  plimsoll monitor -q -i 300ms -- sh -c "$PROGRAMS/actor burn 500; sleep 0.7"
  id=$(plimsoll list --json | jq -r '.[0].jobid')
  plimsoll series "$id" --json >series.json
  python3 - series.json <<'P'
import datetime, json, sys
of = {s["metric"]: s for s in json.load(open(sys.argv[1])) if s["entity_kind"] == "job"}
time = lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
percent, user, system = (of["process." + m] for m in ("cpu_percent", "usertime", "systemtime"))
life = time(user["last"]) - time(user["first"])
cpu = (user["increase"] + system["increase"]) / 1e6
assert cpu >= 0.4, cpu
# ticks of 10 ms, of user and of system time
assert abs(percent["mean"] / 100 * life - cpu) < 0.03, (percent["mean"], life, cpu)
P
}

@test "what a process counts begins at 0 with it, where it began between two readings" {
  use_store
  mkdir -p job/node1.0123abcd
  # the source is read at 1, 2, 3 and 4 s: one is older than the first reading, one began at 2.5 s, one is older and was found late
  {
    for t in 1 2 3 4; do echo "$t process wchar bytes counter sum process 11.50 $((t * 1000)) start=50"; done
    for t in 3 4; do echo "$t process wchar bytes counter sum process 12.250 $((t * 100)) start=250"; done
    for t in 3 4; do echo "$t process wchar bytes counter sum process 13.40 $((t * 10)) start=40"; done
  } | sort -s -n -k1,1 | "$PROGRAMS/make_samples" -t -j s "job/node1.0123abcd/run.smp"
  end_job
  plimsoll series s --json >series.json
  equal increase "$(jq -c '[.[] | [.entity, .increase]]' series.json)" '[["11.50",3000],["12.250",400],["13.40",10]]'
  equal counts "$(jq -c '[.[].count]' series.json)" '[4,2,2]'
  rates() { plimsoll series s -m wchar --json --entity "$1" --rate | jq -c '[.[0].samples[][1]]'; }
  equal 'rates of one that is older' "$(rates 11.50)" '[1000,1000,1000]'
  equal 'rates of one that began' "$(rates 12.250)" '[300,100]'
  equal 'rates of one that was found' "$(rates 13.40)" '[10]'
  equal sum "$(plimsoll series s -m wchar --total --rate --json | jq -c '[.[0].samples[][1]]')" '[1000,1300,1110]'
  equal steps "$(plimsoll series s -m wchar --total --step 1s --json | jq -c '[.[0].samples[][1]]')" '[1000,1300,1110]'
  equal report "$(plimsoll report s --json | jq -c '[.series[] | select(.metric == "process.wchar" and .host == null) |
    .mean, .maximum | round]')" '[1137,1300]'
}
