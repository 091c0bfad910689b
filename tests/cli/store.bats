#!/usr/bin/env bats
# Jobs into the store: every form that there is, exactly, wholly or not at all. Runs on both engines.

bats_require_minimum_version 1.5.0
load store

# What is the same for every form of the fixture's job.
check_job() {
  local id=$1
  equal "$id job" "$(ask "SELECT jobname, username, start_us, duration_us, cpu_us, exitcode, num_procs, num_threads FROM job WHERE jobid = '$id'")" \
    weather,alice,1600000000000000,60000000,"${2:-75},0,10,${3:-10}"
  equal "$id sums" "$(ask "SELECT sum, max FROM job_sums WHERE jobid = '$id' AND metric = 'rchar'")" "${4:-550},100"
  equal "$id event" "$(ask "SELECT sum FROM job_sums WHERE jobid = '$id' AND metric = 'PERF_COUNT_SW_CPU_CLOCK'")" "${5:-5500}"
  equal "$id tree" "$(ask "SELECT pid, children, descendants, inclusive_cpu_time FROM processes WHERE jobid = '$id' AND depth = 0")" "1001,9,9,${2:-75}"
  equal "$id tags" "$(ask "SELECT key, value FROM job_tags WHERE jobid = '$id' ORDER BY key" | tr '\n' ' ')" 'exp,a run,7 '
  equal "$id failed" "$(ask "SELECT count(*) FROM processes WHERE jobid = '$id' AND exitcode = 1")" 1
  equal "$id warnings" "$(ask "SELECT count(*) FROM job_warnings WHERE jobid = '$id'")" 0
}

# bats test_tags=epmt
@test "single CSV files, collated ones, TSV; 41, 46 and 48 columns" {
  use_store
  for form in csv collated tsv; do
    for columns in 41 46 48; do
      make_job "$form$columns" --id "$form$columns" --form $form --columns $columns
      plimsoll submit -q "$form$columns"
      check_job "$form$columns"
    done
  done
}

# bats test_tags=epmt
@test "pickles of every protocol, and metadata of the older generation" {
  use_store
  for protocol in 0 1 2 3 4 5; do
    make_job p$protocol --id p$protocol --protocol $protocol
    plimsoll submit -q p$protocol
    check_job p$protocol
  done
  make_job old --id old --generation old
  plimsoll submit -q old
  equal tags "$(ask "SELECT key, value FROM job_tags WHERE jobid = 'old' ORDER BY key" | tr '\n' ' ')" 'exp,a exp_name,CM4 run,7 '
  equal name "$(ask "SELECT jobname, duration_us FROM job WHERE jobid = 'old'")" weather,60000000
}

# bats test_tags=epmt
@test "times without a zone are those of the job's TZ" {
  use_store
  make_job naive --id naive --naive
  TZ=Asia/Kolkata plimsoll submit -q naive
  equal start "$(ask "SELECT start_us FROM job WHERE jobid = 'naive'")" 1600000000000000
}

@test "archives told by content: plain, gzip, bzip2, xz, zstd" {
  use_store
  for kind in --no-auto-compress -z -j -J --zstd; do
    native_job "job$kind" --id "job$kind"
    pack "job$kind" archive "$kind"
    plimsoll submit -q archive
    check_job "job$kind"
  done
}

# check_threads ID
check_threads() {
  check_job "$1" 81 12 570 5700
  equal "$1 rows" "$(ask "SELECT count(*), sum(usertime) FROM threads WHERE jobid = '$1'")" 3,3
  equal "$1 process" "$(ask "SELECT numtids, usertime, rssmax FROM processes WHERE jobid = '$1' AND pid = 1001")" 3,3,1001
}

# bats test_tags=engine
@test "threads are kept where there are several, and added up" {
  use_store
  native_job own --id own --threads 3
  plimsoll submit -q own
  check_threads own
}

# bats test_tags=engine,epmt
@test "threads in every form of papiex files" {
  use_store
  for form in csv collated tsv; do
    make_job $form --id $form --form $form --threads 3
    plimsoll submit -q $form
    check_threads $form
    # for EPMT's users the sum over threads, for all others the largest
    equal "$form rssmax" "$(ask "SELECT sum, max FROM job_sums WHERE jobid = '$form' AND metric = 'rssmax'")" 12057,1010
  done
}

# check_odd ID: the arguments, names and tags of the fixture's option --odd
check_odd() {
  plimsoll procs --json "$1" >procs.json
  python3 - "$1" <<'P'
import base64, json, sys
tsv = sys.argv[1] == "tsv"
rows = {p["pid"]: p for p in json.load(open("procs.json"))}
def args(pid):
    p = rows[pid]
    return base64.b64decode(p["args_b64"]) if "args_b64" in p else p["args"].encode()
every = bytes(b for b in range(1, 256) if not tsv or b not in b"\t\n")
assert args(1003) == every, args(1003)
assert args(1002) == (b"" if tsv else b"a\tb\nc ") + b"'quo\"te' \\ , ; DROP TABLE job; --", args(1002)
assert args(1004) == b"\"unbalanced", args(1004)
assert rows[1002]["exename"] == "it's"
P
  equal "$1 names" "$(ask "SELECT count(*) FROM processes WHERE jobid = '$1' AND exename = 'it''s'")" 3
}

# bats test_tags=engine
@test "arguments with every byte, names with quotes and SQL, tags that are no UTF-8" {
  use_store
  native_job own --id own --odd
  plimsoll submit -q own
  check_odd own
}

# bats test_tags=engine,epmt
@test "the same in every form of papiex files" {
  use_store
  for form in csv collated tsv; do
    make_job $form --id $form --form $form --odd
    plimsoll submit -q $form
    check_odd $form
  done
}

# bats test_tags=engine,epmt
@test "arguments of 10 MB" {
  use_store
  make_job big --id big --form collated --procs 2
  python3 - <<'P'
p = "big/node1-collated-papiex-big-0.csv"
s = open(p, "rb").read().replace(b"-n 2", b"x" * 10_000_000)
open(p, "wb").write(s)
P
  plimsoll submit -q big
  equal length "$(plimsoll procs --json big | jq '.[1].args | length')" 10000000
}

# bats test_tags=engine
@test "a job of our own: records, threads, events; the same from its archive" {
  use_store
  plimsoll run -q --no-submit -o job -E PERF_COUNT_SW_PAGE_FAULTS --job-tags a:b -- "$PROGRAMS/actor" threads 3 5
  plimsoll submit -q job
  id=$(jq -r .jobid job/job.json)
  equal job "$(ask "SELECT num_procs, num_threads, format FROM jobs WHERE jobid = '$id'")" 1,4,plimsoll
  equal threads "$(ask "SELECT count(*) FROM threads WHERE jobid = '$id'")" 4
  at_least faults "$(ask "SELECT value FROM events WHERE jobid = '$id' AND thread = 0")" 5
  equal tags "$(ask "SELECT key, value FROM job_tags WHERE jobid = '$id'")" a,b
  mkdir archive
  cpu=$(ask "SELECT cpu_time FROM jobs WHERE jobid = '$id'")
  plimsoll stage -q --dest "$WORK/archive/" job
  plimsoll delete -q "$id"
  plimsoll submit -q archive/*.tgz
  equal again "$(ask "SELECT num_procs, num_threads, cpu_time FROM jobs WHERE jobid = '$id'")" "1,4,$cpu"
}

@test "run submits a job of its own, and not one of a batch system, unless asked" {
  use_store
  plimsoll run -q -- true
  equal jobs "$(ask 'SELECT num_procs, exitcode FROM jobs')" 1,0
  plimsoll run -q --no-submit -- true
  equal 'not that' "$(ask 'SELECT count(*) FROM jobs')" 1
  SLURM_JOB_ID=77 plimsoll run -q -- true
  equal 'nor that' "$(ask 'SELECT count(*) FROM jobs')" 1
  SLURM_JOB_ID=78 plimsoll run -q --submit -- true
  equal asked "$(ask "SELECT count(*) FROM jobs WHERE jobid = '78'")" 1
  plimsoll start >/dev/null
  plimsoll run -q -- true
  plimsoll stop
  equal 'between start and stop' "$(ask 'SELECT count(*) FROM jobs')" 2
  plimsoll submit -q
  equal submitted "$(ask 'SELECT count(*) FROM jobs')" 3
}

# bats test_tags=engine
@test "a run that joins a job replaces it in the store" {
  use_store
  plimsoll run -q -o job -- true
  plimsoll run -q -o job -- true
  equal jobs "$(ask 'SELECT num_procs FROM jobs')" 2
  equal rows "$(ask 'SELECT count(*) FROM processes')" 2
}

@test "a store that cannot be used never changes the status of a run" {
  export PLIMSOLL_DB=/dev/null/nowhere.db
  run -3 plimsoll run -- sh -c 'exit 3'
  [[ $output == *"cannot open store '/dev/null/nowhere.db': "*"the job is not in the store, its records stay in '"*"'"* ]] || fail "$output"
  PLIMSOLL_DB="postgresql:///none?host=$WORK/nowhere" run -4 plimsoll run -- sh -c 'exit 4'
  [[ $output == *"cannot connect to postgresql:"*"the job is not in the store, its records stay in '"* ]] || fail "$output"
}

# bats test_tags=engine
@test "a job that is there is skipped with a warning, and with -e ends the list" {
  use_store
  native_job a --id a
  native_job b --id b
  plimsoll submit -q a
  run -0 plimsoll submit a b
  [[ $output == *"job a is in the store already, skipped"*"submitted b: 10 processes, 10 threads"* ]] || fail "$output"
  plimsoll delete -q b
  run -1 plimsoll submit -e a b
  [[ $output == *"job a is in the store already"* ]] || fail "$output"
  equal 'b is not loaded' "$(ask 'SELECT jobid FROM jobs')" a
}

@test "a dry run stores nothing, -r removes, -m moves away, --drop begins anew, --json tells" {
  use_store
  native_job a --id a
  native_job b --id b
  pack b b.tgz
  plimsoll submit -n a | grep -q 'read a: 10 processes'
  [ ! -e store.db ] || fail 'a store was made'
  plimsoll submit -q -r a b.tgz
  [ ! -e a ] && [ ! -e b.tgz ] || fail 'not removed'
  equal jobs "$(ask 'SELECT count(*) FROM jobs')" 2
  printf 'not an archive' >bad.tgz
  run -1 plimsoll submit -m bad.tgz
  [ -e failed/bad.tgz ] || fail 'not moved'
  [[ $output == *"nothing of it was stored"* ]] || fail "$output"
  plimsoll submit --json b >out.json
  equal json "$(jq -c '[.jobid, .result, .processes]' out.json)" '["b","exists",0]'
  native_job c --id c
  plimsoll submit --json --drop c >out.json
  equal json "$(jq -c '[.jobid, .result, .processes, .threads, .cpu_time]' out.json)" '["c","submitted",10,10,75]'
  equal jobs "$(ask 'SELECT jobid FROM jobs')" c
}

@test "what -v tells: files, hosts, metrics, times, numbers" {
  use_store
  native_job a --id a
  plimsoll submit -v a >out 2>err
  for line in '1 file, 1 host' 'host node1: 10 images' 'earliest start 2020-09-13T12:26:40.001000+00:00' \
    'latest end 2020-09-13T12:26:50.001000+00:00' 'duration 10.000000 s' '10 processes, 10 images, 10 threads' committed; do
    grep -qxF "$line" err || fail "no '$line' in" "$(cat err)"
  done
  grep -q '^metrics .*usertime .*PERF_COUNT_SW_CPU_CLOCK$' err
}

# bats test_tags=engine
@test "several workers: every job once, no quarrel about locks" {
  use_store
  for i in $(seq 12); do native_job j$i --id j$i --procs 50; done
  plimsoll submit -p 4 j* >out 2>err
  equal trouble "$(cat err)" ''
  equal lines "$(grep -c '^submitted j' out)" 12
  equal jobs "$(ask 'SELECT count(*), sum(num_procs) FROM jobs')" 12,600
}

# bats test_tags=engine
@test "workers that have the same job: one stores it, the others say that it is there" {
  use_store
  native_job a --id a --procs 2000
  for i in 1 2 3 4; do cp -r a a$i; done
  run plimsoll submit -p 4 a1 a2 a3 a4
  equal status "$status" 0
  equal stored "$(grep -c '^submitted a:' <<<"$output")" 1
  equal refused "$(grep -c 'job a is in the store already' <<<"$output")" 3
  equal rows "$(ask 'SELECT count(*) FROM processes')" 2000
  equal jobs "$(ask 'SELECT count(*), sum(num_procs) FROM jobs')" 1,2000
}

# bats test_tags=engine
@test "a worker that reads does not keep another from storing" {
  use_store
  native_job slow --id slow --procs 200
  native_job quick --id quick --procs 200
  pack slow slow.tgz
  # the worker that has the first input is stopped while it reads
  mkfifo slow.pipe
  (
    head -c 200 slow.tgz
    until [ "$(ask "SELECT count(*) FROM jobs WHERE jobid = 'quick'")" = 1 ]; do sleep 0.05; done
    tail -c +201 slow.tgz
  ) >slow.pipe &
  timeout 60 "$(command -v plimsoll)" submit -p 2 slow.pipe quick >out 2>err || fail "$(cat out err)"
  wait
  equal jobs "$(ask 'SELECT count(*) FROM jobs')" 2
}

# bats test_tags=engine
@test "two at once submit the same job: it is there once" {
  use_store
  native_job a --id a --procs 2000
  plimsoll submit a >one 2>&1 &
  plimsoll submit a >two 2>&1 &
  wait
  equal jobs "$(ask 'SELECT count(*) FROM jobs')" 1
  equal rows "$(ask 'SELECT count(*) FROM processes')" 2000
  equal winners "$(cat one two | grep -c '^submitted')" 1
}

# bats test_tags=engine
@test "killed at any instant: wholly there or wholly absent, and a second submission completes it" {
  use_store
  native_job a --id a --procs 3000
  pack a a.tgz
  plimsoll submit -q a.tgz
  plimsoll delete -q a
  absent=0
  for i in $(seq 50); do
    plimsoll submit -q a.tgz 2>/dev/null &
    pid=$!
    sleep "0.0$((i * 37 % 6))$((i * 7919 % 10))"
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    rows=$(ask 'SELECT (SELECT count(*) FROM jobs), (SELECT count(*) FROM process), (SELECT count(*) FROM tree)')
    case $rows in
    0,0,0) absent=$((absent + 1)) ;;
    1,3000,3000) plimsoll delete -q a ;;
    *) fail "half a job: $rows" ;;
    esac
  done
  plimsoll submit -q a.tgz
  equal complete "$(ask 'SELECT num_procs FROM jobs')" 3000
  at_least 'killed in time' "$absent" 1
}

nothing_stored() {
  equal jobs "$(ask 'SELECT count(*) FROM jobs')" 0
  equal rows "$(ask 'SELECT count(*) FROM process')" 0
  equal strings "$(ask 'SELECT count(*) FROM string')" 0
}

@test "bad input: the file, the reason, and nothing is stored" {
  use_store
  native_job cut --id cut --procs 200
  pack cut cut.tgz
  head -c 1500 cut.tgz >half.tgz
  run -1 plimsoll submit half.tgz
  [[ $output == *"damaged"* || $output == *"truncated"* || $output == *"Truncated"* ]] || fail "$output"
  mkdir empty
  run -1 plimsoll submit empty
  [[ $output == *"'empty'"* ]] || fail "$output"
  run -1 plimsoll submit nowhere.tgz
  [[ $output == *"no such file or directory: 'nowhere.tgz'"* ]] || fail "$output"
  nothing_stored
}

# bats test_tags=epmt
@test "bad papiex files: the file, the place, what was expected, and nothing is stored" {
  use_store
  make_job short --id short --procs 3
  sed -i '2s/,[^,]*$//' short/node1-papiex-1002-0.csv
  run -1 plimsoll submit short
  [[ $output == *"'node1-papiex-1002-0.csv': line 2: the header has 47 delimiters, this row has 46; nothing of it was stored"* ]] || fail "$output"
  make_job letters --id letters --procs 3
  sed -i '2s/,1002,/,ten,/' letters/node1-papiex-1002-0.csv
  run -1 plimsoll submit letters
  [[ $output == *"line 2: column 'pid' is not a number: 'ten'"* ]] || fail "$output"
  make_job headless --id headless --form tsv
  rm headless/node1-papiex-header.tsv
  run -1 plimsoll submit headless
  [[ $output == *"'node1-papiex.tsv': has no header file beside it"* ]] || fail "$output"
  nothing_stored
}

@test "hostile archives store nothing" {
  use_store
  native_job a --id a
  ln -s /etc/passwd a/node1.00000001/2-2.rec
  tar -czf link.tgz -C a .
  run -1 plimsoll submit link.tgz
  [[ $output == *"is a link; refused"* ]] || fail "$output"
  rm a/node1.00000001/2-2.rec
  tar -czf up.tgz --transform 's,^\./node1,../node1,' -C a . 2>/dev/null
  run -1 plimsoll submit up.tgz
  [[ $output == *"points outside the archive; refused"* ]] || fail "$output"
  equal jobs "$(ask 'SELECT count(*) FROM jobs')" 0
}

# bats test_tags=epmt
@test "a process outside of the job's time is kept with a warning; EPMT's name refuses it" {
  use_store
  make_job a --id a --procs 3
  sed -i 's/1600000000002000,1600000000002500/1599999999002000,1599999999002500/' a/node1-papiex-1002-0.csv
  epmt_status=0
  PLIMSOLL_DB=$STORE epmt submit a 2>err || epmt_status=$?
  equal status "$epmt_status" 1
  grep -q 'corrupted: 1 process is outside' err
  plimsoll submit -q a
  equal processes "$(ask 'SELECT num_procs FROM jobs')" 3
  equal warning "$(ask 'SELECT text FROM job_warnings')" '"1 process began before the job or ended after it, by the clocks"'
}

# bats test_tags=epmt
@test "papiex's misread fields are absent, with a warning; a cycle counter that went back" {
  use_store
  make_job a --id a --procs 3 --form collated
  python3 - <<'P'
p = "a/node1-collated-papiex-a-0.csv"
lines = open(p, "rb").read().split(b"\n")
names = lines[1].split(b",")
for i in (2, 3, 4):
    row = lines[i].split(b",")
    row[names.index(b"num_threads")] = b"0"
    row[names.index(b"starttime")] = b"204308480000"
    row[names.index(b"rdtsc_duration")] = b"-5" if i == 3 else b"5000"
    lines[i] = b",".join(row)
open(p, "wb").write(b"\n".join(lines))
P
  plimsoll submit -q a
  equal absent "$(ask 'SELECT count(starttime), count(num_threads), count(processor), count(guest_time) FROM processes')" 0,0,0,0
  equal warnings "$(ask 'SELECT count(*) FROM job_warnings')" 2
  equal sum "$(ask "SELECT sum FROM job_sums WHERE metric = 'rdtsc_duration'")" -1
  equal note "$(plimsoll show --json a | jq -c '.annotations["papiex-error-process-ids"]')" '[1002]'
}

# bats test_tags=engine
@test "tag, annotate, delete" {
  use_store
  native_job first --id a
  native_job second --id b
  plimsoll submit -q first second
  plimsoll tag a run:8 'new tag:it'\''s'
  equal tags "$(plimsoll show --json a | jq -c .tags)" '{"exp":"a","new tag":"it'\''s","run":"8"}'
  plimsoll tag --replace a only:this
  equal tags "$(plimsoll show --json a | jq -c .tags)" '{"only":"this"}'
  plimsoll annotate a reviewed=True n=4 note=second
  equal notes "$(plimsoll show --json a | jq -c .annotations)" '{"n":4,"note":"second","reviewed":true}'
  plimsoll annotate --replace a PLIMSOLL_JOB_TAGS=x:y
  equal tags "$(plimsoll show --json a | jq -c .tags)" '{"x":"y"}'
  plimsoll delete -q a
  equal left "$(ask 'SELECT jobid FROM jobs')" b
  for table in process tree string thread event; do
    equal "$table" "$(ask "SELECT count(*) FROM $table WHERE $([ $table = thread ] || [ $table = event ] && echo process || echo id) < 8589934592")" 0
  done
  run -1 plimsoll delete a
  [[ $output == *"there is no job 'a'"* ]] || fail "$output"
  run -1 plimsoll tag a k:v
  [[ $output == *"there is no job 'a'"* ]] || fail "$output"
}

@test "dump has the tags and annotations that were given in the store" {
  use_store
  plimsoll run -q --submit -j 4242 --job-tags first:1 -- true
  plimsoll tag -q 4242 a:b
  plimsoll annotate -q 4242 n=3
  equal tags "$(plimsoll dump --json 4242 | jq -c .tags)" '{"a":"b","first":"1"}'
  equal annotations "$(plimsoll dump --json 4242 | jq -c .annotations)" '{"n":3}'
  equal shown "$(plimsoll dump 4242 | grep ^tags)" 'tags                 {"a":"b","first":"1"}'
  plimsoll tag -q --clear 4242
  equal cleared "$(plimsoll dump -k tags --json 4242)" '{}'
}

# bats test_tags=epmt
@test "dump of EPMT's job has the tags that were given in the store by the name that they have there" {
  use_store
  make_job job --id a
  plimsoll submit -q job
  plimsoll tag -q a a:b
  equal tags "$(plimsoll dump --json a | jq -r .job_tags.a)" b
}

@test "bad input of tag and annotate changes nothing; --clear forgets all" {
  use_store
  native_job first --id a
  plimsoll submit -q first
  plimsoll tag --replace a exp:a run:8
  plimsoll annotate a n=4 note=kept
  unchanged() {
    equal "$*: tags" "$(plimsoll show --json a | jq -c .tags)" '{"exp":"a","run":"8"}'
    equal "$*: notes" "$(plimsoll show --json a | jq -c .annotations)" '{"n":4,"note":"kept"}'
  }
  for bad in key= = =v key ' =v' PLIMSOLL_JOB_TAGS= PLIMSOLL_JOB_TAGS=a:b:c 'PLIMSOLL_JOB_TAGS=x:1;:v' 'PLIMSOLL_JOB_TAGS=;'; do
    for option in '' --replace --clear; do
      run -2 plimsoll annotate $option a good=1 "$bad"
      unchanged annotate $option "$bad"
      [[ $output == *"nothing was changed"* ]] || fail "$output"
    done
  done
  run -1 plimsoll annotate --replace a
  unchanged annotate --replace
  for bad in key: : :v '' ' ' ';' a:b:c 'x:1;:v' 'x:1;y:'; do
    for option in '' --replace --clear; do
      run -2 plimsoll tag $option a good:1 "$bad"
      unchanged tag $option "$bad"
    done
  done
  run -2 plimsoll tag --replace a
  [[ $output == *--clear* ]] || fail "$output"
  unchanged tag --replace
  # bytes that are no UTF-8 are kept as they are, beside the rest
  plimsoll annotate a "$(printf 'odd=\377x')"
  equal notes "$(plimsoll show --json a | jq -c '.annotations | keys')" '["n","note","odd"]'
  plimsoll annotate --clear a
  equal notes "$(plimsoll show --json a | jq -c .annotations)" '{}'
  plimsoll tag --clear a
  equal tags "$(plimsoll show --json a | jq -c .tags)" '{}'
}

# bats test_tags=epmt
@test "bad tags by EPMT's name change nothing" {
  use_store
  make_job first --id a
  plimsoll submit -q first
  for bad in EPMT_JOB_TAGS= EPMT_JOB_TAGS=a:b:c 'EPMT_JOB_TAGS=x:1;:v' 'EPMT_JOB_TAGS=;'; do
    for option in '' --replace --clear; do
      run -2 plimsoll annotate $option a good=1 "$bad"
      equal "annotate $option $bad" "$(plimsoll show --json a | jq -c '[.tags, .annotations]')" '[{"exp":"a","run":"7"},{"n":3,"note":"first"}]'
      [[ $output == *"nothing was changed"* ]] || fail "$output"
    done
  done
}

@test "bad job tags in the environment change nothing, in a directory and in an archive" {
  use_store
  PLIMSOLL_JOB_TAGS='exp:a;run:8' plimsoll start -q -o job
  plimsoll annotate job n=4
  for bad in '' ';' a:b:c; do
    cp -r job again
    PLIMSOLL_JOB_TAGS=$bad plimsoll stop -o again 2>err
    equal "'$bad'" "$(jq -c '[.tags, .annotations]' again/job.json)" '[{"exp":"a","run":"8"},{"n":4}]'
    [ -z "$bad" ] || grep -q "job tags: .*'$bad'" err || fail "$(cat err)"
    rm -r again
  done
  # a bad one among good ones is left out, as EPMT does
  cp -r job again
  PLIMSOLL_JOB_TAGS=' x : 1 ;a:b:c;word;:v' plimsoll stop -o again 2>err
  equal mixed "$(jq -c '[.tags, .annotations]' again/job.json)" '[{"exp":"a","run":"8","x":"1","word":"1"},{"n":4}]'
  grep -q "job tags: ignoring 'a:b:c, :v', which is not of the form KEY:VALUE" err || fail "$(cat err)"
  rm -r again
  for bad in key= =v key PLIMSOLL_JOB_TAGS= PLIMSOLL_JOB_TAGS=a:b:c; do
    run -2 plimsoll annotate --replace job good=1 "$bad"
    equal "'$bad'" "$(jq -c '[.tags, .annotations]' job/job.json)" '[{"exp":"a","run":"8"},{"n":4}]'
  done
  plimsoll stop -q -o job
  mkdir there
  plimsoll stage -d there job >where
  sum=$(sha256sum <there/job.tgz)
  run -2 plimsoll annotate --replace there/job.tgz key=
  run -2 plimsoll annotate --replace there/job.tgz PLIMSOLL_JOB_TAGS=
  equal archive "$(sha256sum <there/job.tgz)" "$sum"
}

# bats test_tags=epmt
@test "bad job tags in EPMT's variable: tags that were there before stay" {
  plimsoll start -q -o job
  for bad in EPMT_JOB_TAGS= EPMT_JOB_TAGS=a:b:c; do
    run -2 plimsoll annotate --replace job good=1 "$bad"
  done
  equal annotations "$(jq -c '[.tags, .annotations]' job/job.json)" '[{},{}]'
  export EPMT_SETTINGS=$WORK/settings.py SLURM_JOB_ID=7
  printf "epmt_output_prefix = '%s/out/'\n" "$WORK" >settings.py
  epmt start
  epmt annotate EPMT_JOB_TAGS=k:v
  EPMT_JOB_TAGS=a:b:c epmt stop 2>err
  equal tags "$(/usr/bin/python3 -c "import datetime, pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))['job_tags'])" out/*/7/job_metadata)" "{'k': 'v'}"
  grep -q "ignoring 'a:b:c'" err
}

# bats test_tags=engine
@test "retire: by age, number and size; nothing without a limit" {
  use_store
  for i in 1 2 3 4 5; do native_job j$i --id j$i --procs 2; done
  plimsoll submit -q j1 j2 j3 j4 j5
  run -0 plimsoll retire
  [[ $output == *"no job is removed"* ]] || fail "$output"
  equal all "$(ask 'SELECT count(*) FROM jobs')" 5
  plimsoll retire --keep 3 --dry-run | grep -c 'would retire' | grep -qx 2
  equal all "$(ask 'SELECT count(*) FROM jobs')" 5
  plimsoll retire -q --keep 3
  equal number "$(ask 'SELECT count(*) FROM jobs')" 3
  equal 'the newest stay' "$(ask 'SELECT jobid FROM jobs ORDER BY jobid' | tr '\n' ' ')" 'j3 j4 j5 '
  plimsoll retire -q --max-size 30k
  equal size "$(ask 'SELECT count(*) FROM jobs')" 2
  plimsoll retire -q --older-than 36500d
  equal young "$(ask 'SELECT count(*) FROM jobs')" 2
  plimsoll retire -q --older-than 1d
  equal old "$(ask 'SELECT count(*) FROM jobs')" 0
  run -2 plimsoll retire --older-than soon
  [[ $output == *"--older-than takes an age such as 90d or 12h, not 'soon'"* ]] || fail "$output"
}

# bats test_tags=engine
@test "db: migrate, schema, size, check, vacuum, drop" {
  use_store
  native_job a --id a
  plimsoll submit -q a
  plimsoll db migrate | grep -q "schema $(newest_schema), nothing to do"
  plimsoll db schema | grep -q 'CREATE VIEW processes'
  equal size "$(plimsoll db size --json | jq -c '[.jobs, .processes]')" '[1,10]'
  plimsoll db check | grep -q "sound, schema $(newest_schema)"
  plimsoll db vacuum | grep -q now
  run -1 plimsoll db drop </dev/null
  [[ $output == *"confirm with --force"* ]] || fail "$output"
  plimsoll db drop -f -q
  equal empty "$(ask 'SELECT count(*) FROM jobs')" 0
  equal 'no string is left' "$(ask 'SELECT count(*) FROM string')" 0
}

# bats test_tags=engine
@test "a store of a newer program is refused with a line that says so" {
  use_store
  native_job a --id a
  plimsoll submit -q a
  if [ "${PL_ENGINE:-sqlite}" = sqlite ]; then
    python3 -c "import sqlite3; d = sqlite3.connect('store.db'); d.execute(\"INSERT INTO schema_version VALUES (99, 'later', 0)\"); d.commit()"
  else
    "$(postgres_bin)/psql" -q "$STORE" -c "INSERT INTO schema_version VALUES (99, 'later', 0)"
  fi
  newest=$(newest_schema)
  for command in 'list' 'submit a' 'delete a' 'db migrate'; do
    # shellcheck disable=SC2086 # a command and its argument
    run -1 plimsoll $command
    [[ $output == *"has schema 99, but this program knows only $newest; use a newer plimsoll"* ]] || fail "$command: $output"
  done
}

# bats test_tags=engine
@test "the columns of the tables are those of the metric table" {
  use_store
  native_job a --id a
  plimsoll submit -q a
  for name in usertime systemtime rssmax minflt majflt inblock outblock vol_ctxsw invol_ctxsw cminflt cmajflt cutime cstime num_threads \
    starttime processor delayacct_blkio_time guest_time rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes \
    time_oncpu time_waiting timeslices rdtsc_duration exitcode exitsignal pid generation ppid pgid sid numtids numranks mpirank; do
    ask "SELECT $name FROM processes LIMIT 1" >/dev/null || fail "processes has no $name"
  done
}

@test "job ids: what run refuses submit refuses, and none reaches a terminal raw" {
  use_store
  local id n=0
  for id in 'a\n\u001b[31mb' '../../x' 'a b' '.a' 'a\u0000b' 'a\u009bb' ''; do
    mkdir -p "d$((++n))"
    echo '{"plimsoll_job": 1, "jobid": "'"$id"'", "host": "n", "start_us": 1700000000000000, "stop_us": 1700000001000000}' >d$n/job.json
    pack d$n d$n.tgz
    run --separate-stderr plimsoll submit d$n d$n.tgz
    equal "status of '$id'" "$status" 1
    equal "lines of '$id'" "$(wc -l <<<"$stderr")" 2
    ! LC_ALL=C grep -q '[[:cntrl:]]' <<<"${stderr//$'\n'/}" || fail "$(cat -v <<<"$stderr")"
    [ -z "$id" ] || [[ $stderr == *"invalid job id '"*"': use at most 128 printable characters, without slashes"* ]] || fail "$stderr"
  done
  equal jobs "$(ask "SELECT count(*) FROM jobs")" 0
}

# bats test_tags=epmt
@test "job ids of EPMT: any text but control characters, and none reaches a terminal raw" {
  use_store
  make_job e --id $'a\x1b[31mb'
  run --separate-stderr plimsoll submit e
  equal status "$status" 1
  [[ $stderr == *"invalid job id 'a\\x1b[31mb': it has control characters"* ]] || fail "$(cat -v <<<"$stderr")"
  # one that an older version stored stays usable
  make_job f --id 'a b'
  plimsoll submit -q f
  if [ "${PL_ENGINE:-sqlite}" = sqlite ]; then
    python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute("UPDATE job SET jobid = ?", ("a\x1b[31mb",)); db.commit()' "$STORE"
  else
    "$(postgres_bin)/psql" -q "$PGURL" -c "SET search_path TO t$BATS_TEST_NUMBER" -c "UPDATE job SET jobid = E'a\\x1b[31mb'"
  fi
  equal deleted "$(plimsoll delete $'a\x1b[31mb')" 'deleted a\x1b[31mb'
}

@test "times and exit codes that cannot be are left out, with a line" {
  use_store
  mkdir back far code
  echo '{"plimsoll_job": 1, "jobid": "back", "host": "n", "start_us": 1700000080000000, "stop_us": 1700000000000000}' >back/job.json
  echo '{"plimsoll_job": 1, "jobid": "far", "host": "n", "start_us": 9223372036854775807, "stop_us": 1700000000000000}' >far/job.json
  echo '{"plimsoll_job": 1, "jobid": "code", "host": "n", "start_us": 1700000000000000, "stop_us": 1700000001000000, "exitcode": 99999999999999}' >code/job.json
  plimsoll submit -q back far code
  equal "stop before start" "$(ask "SELECT start, \"end\", duration FROM jobs WHERE jobid = 'back'")" 1700000080000000,,
  equal "no time" "$(ask "SELECT start, \"end\", duration FROM jobs WHERE jobid = 'far'")" ,1700000000000000,
  equal "no exit code" "$(ask "SELECT exitcode, duration FROM jobs WHERE jobid = 'code'")" ,1000000
  equal lines "$(ask "SELECT jobid, text FROM job_warnings ORDER BY jobid" | tr -d '"')" \
    'back,ignored an impossible time in the metadata, or an end before the start
code,ignored an invalid exit status in the metadata
far,ignored an impossible time in the metadata, or an end before the start'
}

@test "what cannot be stored or printed is said, with -q too" {
  use_store
  [ "${PL_ENGINE:-sqlite}" = sqlite ] || return 0 # the lock is SQLite's
  plimsoll run -q true
  run --separate-stderr plimsoll series last
  equal "series of what was not sampled" "$status" 1
  run --separate-stderr sh -c 'plimsoll records >/dev/full'
  equal "records on a full disk" "$status" 1
  [[ $stderr == *"No space left on device"* ]] || fail "$stderr"
  # a store that takes nothing
  mkfifo end
  python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None); db.execute("BEGIN EXCLUSIVE"); open("held", "w"); open("end").read()' "$STORE" 3>&- &
  local i
  for ((i = 0; i < 200; i++)); do
    [ ! -e held ] || break
    sleep 0.05
  done
  export PLIMSOLL_DB_WAIT=100ms
  run --separate-stderr plimsoll run -q sh -c 'exit 5'
  equal "the command's own status" "$status" 5
  echo >end
  wait
  [[ $stderr == *"cannot store the job"*"the exit status is that of the command"* ]] || fail "$stderr"
}
