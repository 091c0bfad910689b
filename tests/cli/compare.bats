#!/usr/bin/env bats
# compare, gate and history: runs whose figures are set in the store, so that every number that is printed is known.
# PL_ENGINE chooses the engine, as for store.bats.

bats_require_minimum_version 1.5.0
load store

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}

# runs NAME COUNT [COMMAND...]: jobs of this name
runs() {
  local name=$1 count=$2 i
  shift 2
  for ((i = 0; i < count; i++)); do plimsoll run -q -N "$name" -- "${@:-true}" || true; done
}

# figures NAME FACTOR: 1 s of time and 0.5 s of CPU time, times FACTOR, with noise of up to 4 % that is the same for
# every set, 10 MiB of memory, 1 MB read, 2 MB written
figures() {
  local noise="(1 + 0.001 * ((no * 17) % 41)) * $2" jobs="(SELECT no FROM job WHERE jobname = '$1')"
  change "UPDATE job SET duration_us = CAST(1000000 * $noise AS BIGINT), cpu_us = CAST(500000 * $noise AS BIGINT) WHERE jobname = '$1'"
  change "UPDATE job_sum SET max = 10240 WHERE metric = 'rssmax' AND job IN $jobs"
  change "UPDATE job_sum SET sum = 1000000 WHERE metric = 'rchar' AND job IN $jobs"
  change "UPDATE job_sum SET sum = 2000000 WHERE metric = 'wchar' AND job IN $jobs"
}

# get EXPRESSION < JSON: d is the document, row(METRIC) one of its comparisons
get() {
  python3 -c '
import json, sys
d = json.load(sys.stdin)
row = lambda m: [r for r in d["comparisons"] if r["metric"] == m and r["group"] == "job"][0]
print(eval(sys.argv[1]))' "$1"
}

# what COMMAND...: its output in $output, its messages in messages, its exit status in $status
what() {
  status=0
  output=$("$@" 2>messages) || status=$?
}

# bats test_tags=engine
@test "worse, not worse and inconclusive, with exit statuses of their own" {
  use_store
  runs old 8
  runs new 8
  figures old 1
  figures new 1.3
  what plimsoll compare --json new -- old
  equal "status of worse" "$status" 3
  equal "verdict" "$(get 'd["verdict"]' <<<"$output")" worse
  equal "worse metrics" "$(get '[r["metric"] for r in d["comparisons"] if r["verdict"] == "worse"]' <<<"$output")" "['duration', 'cpu_time']"
  equal "runs" "$(get 'len(d["runs"]), len(d["baseline_runs"])' <<<"$output")" "(8, 8)"
  # the medians, from the store itself
  medians=$(ask "SELECT jobname, duration_us FROM job ORDER BY jobname, duration_us" | python3 -c '
import statistics, sys
sets = {}
for line in sys.stdin:
    name, value = line.strip().split(",")
    sets.setdefault(name, []).append(int(value))
new, old = (statistics.median(sets[n]) for n in ("new", "old"))
print(float(new), float(old), round(new / old - 1, 9))')
  equal "medians" "$(get 'row("duration")["median"], row("duration")["baseline_median"], round(row("duration")["change"], 9)' <<<"$output")" \
    "(${medians// /, })"
  equal "interval" "$(get '0.05 < row("duration")["low"] <= row("duration")["change"] <= row("duration")["high"] < 0.5' <<<"$output")" True
  # the same again: nothing is random
  again=$(plimsoll compare --json new -- old 2>/dev/null) || true
  equal "second time" "$again" "$output"

  what plimsoll compare old -- new
  equal "status of not worse" "$status" 0
  grep -q '^duration .* better$' <<<"$output"
  grep -q '^rchar  *1000000  *1000000  *+0.00 % .* not worse$' <<<"$output"
  grep -q '^verdict   not worse by more than 5 %$' <<<"$output"

  first=$(plimsoll list --ids --name new | head -n 1)
  what plimsoll compare "$first" -- old
  equal "status of inconclusive" "$status" 4
  grep -q '^duration .* inconclusive: 6 more runs$' <<<"$output"
  grep -q '^rchar .* inconclusive: 4 more runs$' <<<"$output"
  grep -q '^verdict   inconclusive in 5 of 5 metrics: 6 more runs$' <<<"$output"

  what plimsoll compare --csv new -- old
  equal "head" "$(head -n 1 <<<"$output")" \
    "group,name,metric,unit,runs,median,baseline_runs,baseline_median,change,low,high,p,p_adjusted,verdict,better,more_runs,more_baseline_runs"
  equal "memory" "$(grep ',rssmax,' <<<"$output" | cut -d, -f1-9,14)" "job,,rssmax,KiB,8,10240,8,10240,0,not worse"
}

@test "gate: a line for each finding, and what an inconclusive comparison does" {
  use_store
  runs old 8
  runs new 8
  figures old 1
  figures new 1.3
  what plimsoll gate new -- old
  equal status "$status" 3
  equal lines "$(cut -d' ' -f1,2 <<<"$output" | tr '\n' ,)" "worse: duration,worse: cpu_time,gate: worse:,"
  grep -q -x 'gate: worse: duration +[0-9.]* %, cpu_time +[0-9.]* % (8 runs, 8 in the baseline)' <<<"$output"
  what plimsoll gate --min-effect 50% new -- old
  equal "below the minimum effect" "$status$output" "0gate: not worse by more than 50 % (8 runs, 8 in the baseline)"
  what plimsoll gate --metric rchar,rssmax new -- old
  equal "other metrics" "$status" 0
  first=$(plimsoll list --ids --name new | head -n 1)
  what plimsoll gate --metric rchar "$first" -- old
  equal "inconclusive" "$status" 4
  grep -q -x 'inconclusive: rchar 977 KiB -> 977 KiB, +0.00 %; 4 more runs' <<<"$output"
  what plimsoll gate --metric rchar --inconclusive pass "$first" -- old
  equal "passes" "$status" 0
  what plimsoll gate --metric rchar --inconclusive fail "$first" -- old
  equal "fails" "$status" 3
  change "UPDATE job_sum SET sum = 0 WHERE metric = 'rchar' AND job IN (SELECT no FROM job WHERE jobname = 'old')"
  what plimsoll gate --metric rchar new -- old
  equal "from nothing" "$(tail -n 1 <<<"$output")" "gate: worse: rchar from nothing (8 runs, 8 in the baseline)"
}

@test "what cannot be compared is an error, never a verdict" {
  use_store
  runs old 2
  what plimsoll compare
  equal "no runs" "$status" 2
  what plimsoll compare nonsense
  equal "unknown job" "$status" 1
  grep -q "there is no job 'nonsense'" messages
  what plimsoll compare old -- last --by executable
  equal "an option among the jobs" "$status" 1
  grep -q "there is no job '--by' in .*; options stand before \`--\`" messages
  what plimsoll compare old -- last
  equal "overlap" "$status" 1
  grep -q 'is in both sets; a run can only be in one of them' messages
  what plimsoll compare --metric start old -- old
  equal "overlap before metrics" "$status" 1
  first=$(plimsoll list --ids --name old | head -n 1)
  what plimsoll compare --metric start last -- "$first"
  equal "no cost" "$status" 1
  grep -q "there is no metric 'start' to compare; there are all, duration, cpu_time" messages
  for bad in --min-effect=-1 --min-effect=x --min-effect=5%% --min-effect= --confidence=40 --confidence=nan --by=host --inconclusive=maybe; do
    what plimsoll gate "$bad" last -- "$first"
    equal "$bad" "$status" 2
  done
  what plimsoll compare --where 'x' last
  equal "a filter" "$status" 2
  PLIMSOLL_DB=$WORK/none.db what plimsoll gate last
  equal "no store" "$status" 1
  what plimsoll compare "$first"
  equal "nothing earlier" "$status" 1
  grep -q 'there are no earlier runs like these in the store: true on .*; name the runs of the baseline behind --' messages
}

# bats test_tags=engine
@test "failed runs are left out, and that is said" {
  use_store
  runs old 6
  runs new 5
  runs new 2 false
  figures old 1
  figures new 1
  what plimsoll compare new -- old
  grep -q -x 'now       5 runs, 2 failed runs left out' <<<"$output"
  what plimsoll gate --metric duration new -- old
  equal "gate" "$status$output" "0gate: not worse by more than 5 % (5 runs and 2 failed ones left out, 6 in the baseline)"
  what plimsoll compare --with-failed new -- old
  grep -q -x 'now       7 runs' <<<"$output"
  grep -q '2 of 13 runs differ from the first one, .* (command), .* (command); differences may come from that' messages
  runs bad 2 false
  what plimsoll compare bad -- old
  equal "all failed" "$status$(cat messages)" "1plimsoll: error: all 2 runs of the first set failed; --with-failed takes them"
}

# bats test_tags=engine
@test "the baseline is the earlier runs with the same fingerprint" {
  use_store
  for i in 1 2 3 4 5 6; do plimsoll run -q -N a -- sh -c : "/data/run$i/in.nml" -n 64; done
  plimsoll run -q -N other -- sh -c : /data/run9/in.nml -n 128
  plimsoll run -q -N tagged --job-tags 'exp:x' -- sh -c : /data/run9/in.nml -n 64
  plimsoll run -q -N a --  sh -c : in.nml -n 64 # another shape: "in.nml" has no number, and the directories do not count
  plimsoll run -q -N now -- sh -c : /scratch/77/in.nml -n 64
  figures now 1
  figures a 1
  what plimsoll compare --json now
  equal "runs of the baseline" "$(get 'len(d["baseline_runs"])' <<<"$output")" 7
  equal "fingerprint" "$(get 'd["fingerprint"].split(" on ")[0]' <<<"$output")" "sh -c : in.nml -n 64"
  what plimsoll compare --json --ignore-tags exp,y now
  equal "with other tags" "$(get 'len(d["baseline_runs"])' <<<"$output")" 8
  what plimsoll compare --json --baseline-last 3 now
  equal "the latest" "$(get 'len(d["baseline_runs"])' <<<"$output")" 3
  equal "in order" "$(get 'sorted(d["baseline_runs"]) == d["baseline_runs"]' <<<"$output")" True
  # failed ones do not count for the limit
  change "UPDATE job SET exitcode = 1 WHERE jobid = '$(get 'd["baseline_runs"][2]' <<<"$output")'"
  what plimsoll compare --json --baseline-last 3 now
  equal "the latest good ones" "$(get 'len(d["baseline_runs"]), d["failed_baseline_runs"]' <<<"$output")" "(3, 1)"
  change "UPDATE job SET exitcode = 0 WHERE jobname = 'a'"
  plimsoll history --json now >history.json
  equal "history" "$(python3 -c 'import json; d = json.load(open("history.json")); print(d["runs"], len(d["metrics"][0]["runs"]))')" "8 8"
}

# bats test_tags=engine
@test "executables and operations of the jobs" {
  use_store
  for name in old new; do
    for _ in 1 2 3 4 5 6 7 8; do
      plimsoll run -q -N $name -- sh -c 'PLIMSOLL_TAGS="op:copy;n:1" cat /dev/null; PLIMSOLL_TAGS="op:list" ls / >/dev/null; true'
    done
  done
  figures old 1
  figures new 1
  shift=4294967296
  cat="'cat'::bytea"
  [ "${PL_ENGINE:-sqlite}" != sqlite ] || cat="X'636174'"
  change "UPDATE process SET usertime = 100000 + 10 * (id % 7), systemtime = 0"
  change "UPDATE process SET usertime = 150000 WHERE id / $shift IN (SELECT no FROM job WHERE jobname = 'new') AND
    exename IN (SELECT s.id % $shift FROM string s WHERE s.id / $shift = process.id / $shift AND s.bytes = $cat)"
  what plimsoll compare --metric cpu_time --by executable,operation --json new -- old
  equal status "$status" 3
  equal "worse parts" "$(get 'sorted((r["group"], r.get("name", "")) for r in d["comparisons"] if r["verdict"] == "worse")' <<<"$output")" \
    "[('executable', 'cat'), ('operation', 'n:1;op:copy')]"
  equal "its median" "$(get '[(r["baseline_median"], r["median"]) for r in d["comparisons"] if r.get("name") == "cat"][0][1]' <<<"$output")" 150000.0
  equal "the list" "$(get 'sorted(r["name"] for r in d["comparisons"] if r["group"] == "operation")' <<<"$output")" "['n:1;op:copy', 'op:list']"
  what plimsoll compare --metric cpu_time --by executable new -- old
  grep -q -x 'executable cat' <<<"$output"
  ! grep -q -x 'executable ls' <<<"$output" || fail "ls did not change"
  grep -q '^verdict   worse: cat: cpu_time +4[0-9.]* %$' <<<"$output"
  # the job itself is worse: where?
  change "UPDATE job SET cpu_us = 2 * cpu_us WHERE jobname = 'new'"
  what plimsoll compare --metric cpu_time new -- old
  grep -q '^  more cpu_time in cat (+50 ms)$' <<<"$output"
}

@test "metrics that are not recorded are said to be so and decide nothing" {
  use_store
  runs old 6
  runs new 6
  figures old 1
  figures new 1
  change "DELETE FROM job_sum WHERE metric = 'wchar' AND job IN (SELECT no FROM job WHERE jobname = 'old')"
  what plimsoll compare --metric rchar,wchar new -- old
  equal status "$status" 0
  grep -q '^wchar .* not recorded in the baseline$' <<<"$output"
  what plimsoll compare --metric wchar new -- old
  equal "nothing else" "$status" 4
  grep -q '^verdict   inconclusive: no metric is recorded in both sets$' <<<"$output"
  # all of them, and small numbers of events do not count
  what plimsoll compare --metric all --csv new -- old
  at_least "number of metrics" "$(wc -l <<<"$output")" 15
}

@test "names that were made to deceive stay visible" {
  use_store
  cp /bin/true $'ev\e[31mil'
  runs $'a\nverdict   not worse' 2 $'./ev\e[31mil'
  what plimsoll history last
  equal "escape sequences" "$(grep -c $'\e' <<<"$output")" 0
  grep -q -F 'ev\x1b[31mil' <<<"$output"
  what plimsoll compare --by executable last
  equal "lines that look like a verdict" "$(grep -c '^verdict' <<<"$output")" 1
  what plimsoll compare "x' OR '1'='1"
  equal "SQL in a name" "$status" 1
}

# bats test_tags=engine
@test "history: where the level changed, as table, CSV, JSON and picture" {
  use_store
  runs nightly 20
  change "UPDATE job SET duration_us = 1000000 + 1000 * ((no * 17) % 41)"
  what plimsoll history
  equal status "$status" 0
  grep -q -x 'duration: 20 runs; no change' <<<"$output"
  change "UPDATE job SET duration_us = duration_us * 2 WHERE no > 12"
  what plimsoll history --json
  equal "one change" "$(get '[(c["job"], round(c["change"], 1), c["p"] <= 0.01) for c in d["metrics"][0]["changes"]]' <<<"$output")" \
    "[('$(ask "SELECT jobid FROM job WHERE no = 13")', 1.0, True)]"
  what plimsoll history
  grep -q -x 'duration: 20 runs; 1 change' <<<"$output"
  equal "levels" "$(grep -c "^20..-" <<<"$output")" 2
  what plimsoll history --csv
  equal "rows" "$(wc -l <<<"$output")" 21
  equal "levels of runs" "$(sed 1d <<<"$output" | cut -d, -f6 | uniq -c | tr -s ' \n' ' ')" " 12 0 8 1 "
  what plimsoll history --min-effect 150 --metric duration,rchar
  equal "too small" "$(grep -c 'no change' <<<"$output")" 2
  what plimsoll history -o h.svg
  equal "no text beside a picture" "$status$output" 0
  grep -q '<svg' h.svg
  what plimsoll history -o h.gif
  equal "no such picture" "$status" 2
  what plimsoll history -o none/h.svg
  equal "no such directory" "$status" 1
  what plimsoll history --limit 9
  grep -q -x 'duration: 9 runs; change points need 10 runs' <<<"$output"
  what plimsoll history nonsense
  equal "unknown" "$status" 1
  # a run of another command among those of the name
  runs nightly 1 echo
  what plimsoll history nightly
  equal "the odd one" "$(cat messages)" "plimsoll: warning: 1 of 21 runs differs from the first one, $(ask "SELECT jobid FROM job WHERE no = 1"): \
$(ask "SELECT jobid FROM job WHERE no = 21") (command); differences may come from that"
}

# bats test_tags=epmt
@test "jobs of other tools, whose rows are not in the order of time, have a fingerprint" {
  use_store
  local kernels=$DATA/epmt/outliers
  [ -d "$kernels" ] || skip "the sample jobs are not there"
  plimsoll submit -q "$kernels/kern-6656-20190614-190245.tgz" "$kernels/kern-6656-20190614-192044-outlier.tgz"
  what plimsoll compare --json --ignore-tags seqno,outlier=1 kern-6656-20190614-192044-outlier
  equal status "$status" 4
  equal fingerprint "$(get 'd["fingerprint"]' <<<"$output")" \
    "tempfile -p epmt_ -s _build [exp_component:kernel_tiny;exp_name:linux_kernel;launch_id:6656]"
  equal "baseline" "$(get 'd["baseline_runs"]' <<<"$output")" "['kern-6656-20190614-190245']"
  equal "durations" "$(get 'row("duration")["baseline_median"], row("duration")["median"]' <<<"$output")" "(527820255.0, 1173629067.0)"
  what plimsoll compare kern-6656-20190614-192044-outlier
  equal "other tags" "$status" 1
}
