#!/usr/bin/env bats
# Jobs that go on after they were stored, and inputs that come again: nothing that was recorded is lost, nothing counts
# twice, and nothing is removed that is not in the store.

bats_require_minimum_version 1.5.0
# shellcheck source=tests/cli/store.bash
. "${PL_SOURCE:?}/tests/cli/store.bash"

processes() {
  ask "SELECT processes FROM jobs WHERE jobid = '${1:-4242}'"
}

commands() {
  ask "SELECT exename FROM processes WHERE jobid = '${1:-4242}' ORDER BY exename" | paste -sd ' '
}

# what the daemon does with all that lies in in/
ingest() {
  settle
  run --separate-stderr plimsoll daemon --once -i in
}

# a look leaves what is younger than two seconds
settle() {
  local i
  for ((i = 0; i < 200; i++)); do
    [ -z "$(find in -newermt '-3 seconds' -print -quit)" ] && return
    sleep 0.1
  done
}

# bats test_tags=engine
@test "steps after stop and submit are added, by submit and by the daemon" {
  use_store
  export SLURM_JOB_ID=4242
  plimsoll start -q
  plimsoll run -q -- true
  plimsoll stop -q
  plimsoll submit -q
  equal "stored first" "$(processes)" 1
  plimsoll run -q -- sh -c '/bin/true; exit 0'
  run --separate-stderr plimsoll submit
  equal status "$status" 0
  [[ $output == "submitted 4242: 3 processes"* ]] || fail "$output $stderr"
  equal processes "$(processes)" 3
  # what is there is there
  run --separate-stderr plimsoll submit
  equal status "$status" 0
  [[ $stderr == *"job 4242 is in the store already, skipped"* ]] || fail "$stderr"
  # a third step, by way of an archive
  plimsoll run -q -- cat /dev/null
  local old
  old=$(jq .stop_us "$PLIMSOLL_PREFIX/4242/job.json")
  run --separate-stderr plimsoll stop
  equal "status of stop" "$status" 0
  [[ $stderr != *"nothing to do"* ]] || fail "$stderr"
  at_least "the end, moved" "$(jq .stop_us "$PLIMSOLL_PREFIX/4242/job.json")" $((old + 1))
  mkdir in
  plimsoll stage -q -d in >/dev/null
  cp in/4242.tgz copy.tgz
  ingest
  equal "status of the daemon" "$status" 0
  [[ $stderr == *"submitted 4242: 4 processes"* ]] || fail "$stderr"
  equal programs "$(commands)" "cat sh true true"
  equal "left in in/" "$(ls in)" ""
  # the same once more is in the store: it may go
  cp copy.tgz in/4242.tgz
  ingest
  [[ $stderr == *"job 4242 is in the store already, skipped"* ]] || fail "$stderr"
  equal "left in in/" "$(ls in)" ""
  equal processes "$(processes)" 4
}

@test "a job that a run began ends with its runs, and once more by nothing" {
  plimsoll run -q --no-submit -j 4242 -- true
  cp "$PLIMSOLL_PREFIX/4242/job.json" before.json
  run --separate-stderr plimsoll stop -j 4242
  [[ $stderr == *"job 4242 was already stopped; nothing to do"* ]] || fail "$stderr"
  cmp before.json "$PLIMSOLL_PREFIX/4242/job.json"
}

@test "an archive of before the last step does not take the step away, whichever comes first" {
  use_store
  export SLURM_JOB_ID=4242
  plimsoll start -q
  plimsoll run -q -- true
  plimsoll stop -q
  cp -r "$PLIMSOLL_PREFIX/4242" before
  plimsoll run -q -- cat /dev/null
  cp -r "$PLIMSOLL_PREFIX/4242" after
  unset SLURM_JOB_ID
  pack before before.tgz
  mkdir in
  plimsoll submit -q after
  mv before.tgz in
  ingest
  [[ $stderr == *"in the store already, skipped"* ]] || fail "$stderr"
  equal programs "$(commands)" "cat true"
  plimsoll delete 4242 >/dev/null
  plimsoll submit -q before after
  equal programs "$(commands)" "cat true"
}

@test "one part of several goes on: its new steps are added" {
  use_store
  local n
  for n in 1 2; do
    PLIMSOLL_PREFIX=$WORK/p$n plimsoll run -q --no-submit -j 4242 -- true
  done
  plimsoll submit -q p1/4242 p2/4242
  equal before "$(processes)" 2
  PLIMSOLL_PREFIX=$WORK/p1 plimsoll run -q --no-submit -j 4242 -- sh -c '/bin/true; exit 3' || true
  mkdir in
  pack p1/4242 in/p1.tgz
  ingest
  equal "status of the daemon" "$status" 0
  equal programs "$(commands)" "sh true true true"
  equal "left in in/" "$(ls in)" ""
  equal "exit status" "$(ask "SELECT exitcode FROM jobs")" 3
  equal "sum of CPU time" "$(ask "SELECT j.cpu_time - sum(p.cpu_time) FROM jobs j JOIN processes p ON p.job = j.job GROUP BY j.cpu_time")" 0
  local total
  total=$(cat p?/4242/*/*.json | jq -s 'map(.books.cpu_total) | add')
  equal "CPU time that the runs saw" "$(plimsoll dump --json 4242 | jq '(.[0]? // .) | .. | objects | select(has("cpu_total")) | .cpu_total' | sort -n | tail -1)" "$total"
  # and once more, with a run that says so
  PLIMSOLL_PREFIX=$WORK/p2 plimsoll run -q --submit -j 4242 -- cat /dev/null
  equal programs "$(commands)" "cat sh true true true"
  run --separate-stderr plimsoll submit p1/4242 p2/4242
  equal "both are there" "$(grep -c "in the store already, skipped" <<<"$stderr")" 2
}

# bats test_tags=engine
@test "samples that came after submission are added; those that are there stay" {
  use_store
  export SLURM_JOB_ID=4242
  plimsoll start -q
  plimsoll run -q -- true
  plimsoll stop -q
  local dir n
  dir=$(echo "$PLIMSOLL_PREFIX"/4242/*.*/)
  "$PROGRAMS/make_samples" -h "$(hostname)" -j 4242 -r one -s 1700000000 -c 10 "${dir}one.smp"
  plimsoll submit -q
  n=$(ask "SELECT count(*) FROM samples")
  at_least samples "$n" 10
  "$PROGRAMS/make_samples" -h "$(hostname)" -j 4242 -r two -s 1700000100 -c 10 "${dir}two.smp"
  plimsoll submit -q
  equal samples "$(ask "SELECT count(*) FROM samples")" $((2 * n))
  run --separate-stderr plimsoll submit
  [[ $stderr == *"in the store already, skipped"* ]] || fail "$stderr"
}

@test "the daemon keeps what it cannot store, and another job of the id" {
  use_store
  mkdir in
  # other records of the same run
  plimsoll run -q --no-submit -j 4242 -- true
  cp -r "$PLIMSOLL_PREFIX/4242" other
  plimsoll submit -q "$PLIMSOLL_PREFIX/4242"
  cp -r other third
  python3 "$PL_SOURCE/tests/fixtures/break_records.py" third/*/*.rec
  pack third in/third.tgz
  # another user's
  jq '.user = "somebody"' other/job.json >new
  mv new other/job.json
  jq '.start_us += 1' other/job.json >new
  mv new other/job.json
  pack other in/other.tgz
  ingest
  equal "left" "$(cd in && find . -name '*.tgz' | sort | paste -sd ' ')" "./failed/third.tgz"
  [[ $(cat in/failed/third.tgz.reason) == *"with other records of the same run"* ]] || fail "$(cat in/failed/*.reason)"
  equal jobs "$(ask "SELECT jobid, processes FROM jobs ORDER BY jobid" | paste -sd ' ')" "4242,1 4242,1"
  equal users "$(ask "SELECT count(DISTINCT \"user\") FROM jobs WHERE jobid = '4242'")" 2
}

# bats test_tags=engine,epmt
@test "the daemon sets a second job of EPMT's with one id aside, and takes the first once more" {
  use_store
  mkdir in
  make_job e1 --id 641 --procs 3
  make_job e2 --id 641 --procs 7
  plimsoll submit -q e1
  pack e1 in/e1.tgz
  pack e2 in/e2.tgz
  ingest
  equal "left" "$(cd in && find . -name '*.tgz')" "./failed/e2.tgz"
  [[ $(cat in/failed/e2.tgz.reason) == *"job 641 is in the store already, and differs from this one"* ]] || fail "$(cat in/failed/*.reason)"
  equal jobs "$(ask "SELECT jobid, processes FROM jobs")" 641,3
}

# bats test_tags=engine
@test "a job that an older version stored is compared by its sums" {
  use_store
  plimsoll run -q --no-submit -j 4242 -- sh -c '/bin/true; exit 0'
  plimsoll submit -q "$PLIMSOLL_PREFIX/4242"
  forget_files
  mkdir in
  pack "$PLIMSOLL_PREFIX/4242" in/a.tgz
  ingest
  [[ $stderr == *"in the store already, skipped"* ]] || fail "$stderr"
  equal "left in in/" "$(ls in)" ""
  # with another step, and no later end
  local stop
  stop=$(jq .stop_us "$PLIMSOLL_PREFIX/4242/job.json")
  plimsoll run -q --no-submit -j 4242 -- cat /dev/null
  cp -r "$PLIMSOLL_PREFIX/4242" same
  jq ".stop_us = $stop" same/job.json >new
  mv new same/job.json
  pack same in/b.tgz
  ingest
  equal "left" "$(cd in && find . -name '*.tgz')" "./failed/b.tgz"
  # with a later one it takes its place
  plimsoll submit -q "$PLIMSOLL_PREFIX/4242"
  equal programs "$(commands)" "cat sh true"
}

# the metadata in the store as a version without inventories wrote them
forget_files() {
  if [ "${PL_ENGINE:-sqlite}" = sqlite ]; then
    python3 - "$STORE" <<'END'
import re, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
(text,) = db.execute("SELECT json FROM job_meta").fetchone()
text = text if isinstance(text, str) else text.decode()
less = re.sub(r',?"files":"[^"]*"', '', text)
assert less != text
db.execute("UPDATE job_meta SET json = ?", (less.encode(),))
db.commit()
END
  else
    "$(postgres_bin)/psql" -q "$PGURL" -c "SET search_path TO t$BATS_TEST_NUMBER" -c \
      "UPDATE job_meta SET json = convert_to(regexp_replace(convert_from(json, 'UTF8'), ',?\"files\":\"[^\"]*\"', ''), 'UTF8')"
  fi
}

# bats test_tags=engine
@test "what was noted in the store stays when the job is stored again" {
  use_store
  PLIMSOLL_JOB_TAGS='a:1;b:2' plimsoll run -q --submit -j 100 -- true
  plimsoll annotate 100 m=2
  plimsoll tag --replace 100 'b:mine;k:v'
  plimsoll run -q --submit -j 100 -- true
  equal processes "$(processes 100)" 2
  equal notes "$(ask "SELECT key, value FROM job_annotations" | paste -sd ' ')" "m,2"
  equal tags "$(ask "SELECT key, value FROM job_tags ORDER BY key" | paste -sd ' ')" "b,mine k,v"
  # a run that left a process behind is stored when that has ended
  # shellcheck disable=SC2016
  plimsoll run -q -o left -- sh -c '(setsid sh -c "while [ ! -e go ]; do sleep 0.05; done" </dev/null >/dev/null 2>&1 &); exit 0'
  local id
  id=$(jq -r .jobid left/job.json)
  plimsoll submit -q left
  plimsoll annotate "$id" note=1
  local before i
  before=$(ask "SELECT job FROM jobs WHERE jobid = '$id'")
  touch go
  for ((i = 0; i < 200; i++)); do
    [ "$(ask "SELECT job FROM jobs WHERE jobid = '$id'")" = "$before" ] || break
    sleep 0.1
  done
  [ "$(ask "SELECT job FROM jobs WHERE jobid = '$id'")" != "$before" ] || fail "it was not stored again"
  equal "ends that are not known" "$(ask "SELECT count(*) FROM processes WHERE jobid = '$id' AND ended = 'unknown'")" 0
  equal notes "$(ask "SELECT key, value FROM job_annotations WHERE jobid = '$id'")" "note,1"
}

@test "a job that is stored while a process of it runs says so, and has its figures when that has ended" {
  use_store
  mkfifo go
  plimsoll run -q -o left -- sh -c 'setsid sh -c ": >ready; read -r x <go" </dev/null >/dev/null 2>&1 &
    until [ -e ready ]; do :; done; exit 4' && fail "the status is not the command's"
  equal "processes when run ends" "$(plimsoll records --jsonl left | jq -r 'select(.ended == "running") | .argv[2]')" ": >ready; read -r x <go"
  plimsoll submit -q left
  plimsoll show --json last >show.json
  equal warnings "$(jq -r '.warnings[]' show.json)" "1 process still running when the job was stored; values recorded at exit are missing"
  equal exit "$(jq .exitcode show.json)" 4
  equal ends "$(plimsoll procs --json last | jq -r '.[] | select(.ended != "exec").ended' | sort | paste -sd ' ')" "exit running"
  plimsoll procs last | grep -q 'running *sh -c : >ready' || fail "$(plimsoll procs last)"
  plimsoll report last >report.txt
  grep -q 'CPU *at least' report.txt || fail "$(cat report.txt)"
  grep -q '1 process still running when' report.txt || fail "$(cat report.txt)"
  : >go
  local i
  for ((i = 0; i < 200; i++)); do
    [ "$(plimsoll show --json last | jq '.warnings | length')" != 0 ] || break
    sleep 0.1
  done
  equal "warnings afterwards" "$(plimsoll show --json last | jq -c .warnings)" "[]"
  equal "ends afterwards" "$(plimsoll procs --json last | jq -r '.[] | select(.ended != "exec") | "\(.ended) \(.exitcode)"' | sort | paste -sd ' ')" "exit 1 exit 4"
}

# bats test_tags=engine
@test "curves that a collector fed stay when the job is stored again" {
  use_store
  plimsoll run -q --no-submit -j 100 -- true
  "$PROGRAMS/make_samples" -h "$(hostname)" -j 100 -r one -s 1700000000 -c 10 "$(echo "$PLIMSOLL_PREFIX"/100/*.*/)one.smp"
  plimsoll submit -q "$PLIMSOLL_PREFIX/100"
  change "UPDATE sample_metric SET name = 'jobs.' || name"
  local n
  n=$(ask "SELECT count(*) FROM samples WHERE metric LIKE 'jobs.%'")
  at_least samples "$n" 10
  plimsoll run -q --submit -j 100 -- cat /dev/null
  equal programs "$(commands 100)" "cat true"
  equal samples "$(ask "SELECT count(*) FROM samples WHERE metric LIKE 'jobs.%'")" "$n"
}

# figures of job 4242: processes, images, CPU time; those of the first call are wanted from all that follow
count_once() {
  plimsoll delete 4242 >/dev/null 2>&1 || true
  plimsoll submit -q "$1"
  equal "$1" "$(ask "SELECT processes, images, cpu_time FROM jobs")" "$WANT"
  equal "$1: CPU time of the runs" "$(plimsoll dump --json 4242 | jq -c '[.. | objects | select(has("cpu_total")) | .cpu_total] | unique')" "$TOTAL"
}

@test "the same records twice count once: appended to an archive, copied, under another name" {
  use_store
  plimsoll run -q --no-submit -j 4242 -- sh -c '/bin/true; /bin/true; exit 0'
  local dir=$PLIMSOLL_PREFIX/4242 rec
  plimsoll submit -q "$dir"
  WANT=$(ask "SELECT processes, images, cpu_time FROM jobs")
  TOTAL=$(plimsoll dump --json 4242 | jq -c '[.. | objects | select(has("cpu_total")) | .cpu_total] | unique')
  [[ $WANT == 3,3,* ]] || fail "$WANT"
  [[ $TOTAL != "[]" ]] || fail "no total"
  tar cf twice.tar -C "$dir" .
  tar rf twice.tar -C "$dir" .
  count_once twice.tar
  # an archive that has an earlier state before the whole
  cp -r "$dir" early
  rec=$(echo early/*/*.rec)
  head -c $(($(stat -c %s "$rec") * 2 / 3)) "$rec" >shorter
  mv shorter "$rec"
  jq 'del(.end_us, .books)' "${rec%.rec}.json" >shorter
  mv shorter "${rec%.rec}.json"
  jq 'del(.stop_us)' early/job.json >shorter
  mv shorter early/job.json
  tar cf grew.tar -C early .
  tar rf grew.tar -C "$dir" .
  count_once grew.tar
  equal "end" "$(ask 'SELECT "end" FROM jobs')" "$(jq .stop_us "$dir/job.json")"
  cp -r "$dir" copied
  rec=$(echo copied/*/*.rec)
  cp "$rec" "${rec%/*}/copy-${rec##*/}"
  cp "${rec%.rec}.json" "${rec%/*}/copy.json"
  count_once copied
  equal "rows of records" "$(plimsoll records --jsonl copied | wc -l)" 3
  cp -r "$dir" boots
  cp -r boots/*.*/ "boots/$(hostname).01234567"
  count_once boots
}

# bats test_tags=epmt
@test "an archive of EPMT's that has a file twice is refused" {
  use_store
  make_job e1 --id 641 --procs 3
  tar cf twice.tar -C e1 .
  tar rf twice.tar -C e1 .
  run --separate-stderr plimsoll submit twice.tar
  equal status "$status" 1
  [[ $stderr == *"'twice.tar': has '"*"' twice: unpack it and submit the directory; nothing of it was stored"* ]] || fail "$stderr"
  equal jobs "$(ask "SELECT count(*) FROM jobs")" 0
  mkdir one
  tar xf twice.tar -C one
  plimsoll submit -q one
  equal processes "$(ask "SELECT processes FROM jobs")" 3
}

# left_behind DIRECTORY: a job whose run is over, with a process of it that goes on until it is let go
left_behind() {
  mkfifo go
  plimsoll run -q --no-submit -j 4242 -o "$1" -- sh -c '(setsid sh -c "read line; head -c 100000 /dev/zero >/dev/null" <>go >/dev/null 2>&1 &); exit 0'
}

let_go() {
  echo >go
  local i
  for ((i = 0; i < 200; i++)); do
    plimsoll records --jsonl "$1" | jq -e 'select(.ended == "running")' >/dev/null || return 0
    sleep 0.1
  done
  fail "it runs on"
}

all_known() {
  equal "ends that are not known" "$(ask "SELECT count(*) FROM processes WHERE ended NOT IN ('exit', 'exec')")" 0
  equal "the last program" "$(ask "SELECT count(*) FROM processes WHERE exename = 'head' AND wchar = 100000")" 1
}

@test "stage leaves a job alone that is still recorded" {
  use_store
  left_behind job
  run --separate-stderr plimsoll stage -d arch job
  equal status "$status" 1
  [[ $stderr =~ "cannot stage job 4242: sh (pid "[0-9]+") still records to it" ]] || fail "$stderr"
  [[ $stderr == *"; stage it afterwards (\`tail --pid=PID -f /dev/null\` waits for a process)"* ]] || fail "$stderr"
  run --separate-stderr plimsoll stage --no-compress-and-tar -d arch job
  equal status "$status" 1
  [ -e job/job.json ] || fail "it was moved"
  let_go job
  plimsoll stage -q -d arch job
  [ ! -e job ] || fail "not removed"
  plimsoll submit -q arch/*.tgz
  all_known
}

@test "submit --remove keeps a directory that is still recorded, and removes it later" {
  use_store
  left_behind job
  run --separate-stderr plimsoll submit --remove job
  equal status "$status" 1
  [[ $output == "submitted 4242: "* ]] || fail "$output"
  [[ $stderr =~ "'job' was submitted but is kept: sh (pid "[0-9]+") still records to it" ]] || fail "$stderr"
  [ -e job/job.json ] || fail "it was removed"
  let_go job
  cp -r job copy
  plimsoll submit -q --remove job
  [ ! -e job ] || fail "not removed"
  all_known
  # what is there already, all of it, goes as well; what is not the same stays
  run --separate-stderr plimsoll submit --remove copy
  equal status "$status" 0
  [ ! -e copy ] || fail "not removed"
  ! without epmt || return 0
  make_job e1 --id 641 --procs 3
  make_job e2 --id 641 --procs 7
  plimsoll submit -q e1
  plimsoll submit -q --remove e1 e2
  [ ! -e e1 ] || fail "not removed"
  [ -e e2/job_metadata ] || fail "removed"
}

@test "what is not of a job is never removed with it" {
  use_store
  mkdir -p proj/src in
  echo precious >proj/thesis.tex
  plimsoll run -q --no-submit -o proj -- true
  for i in 1 2 3; do cp -r proj proj$i; done
  mv proj2/thesis.tex proj2/src/package.json
  rm proj3/thesis.tex
  for which in proj proj2; do
    run --separate-stderr plimsoll submit --remove $which
    equal status "$status" 1
    [[ $stderr == *"'$which' was submitted but is kept: it contains '"*"', which is not part of a job"* ]] || fail "$stderr"
  done
  equal precious "$(cat proj/thesis.tex proj2/src/package.json | sort -u)" precious
  # nor is a store in it
  rm -r proj3/src
  run --separate-stderr plimsoll submit --remove --db proj3/store.db proj3
  equal status "$status" 1
  equal stored "$(plimsoll list --db proj3/store.db --json | jq length)" 1
  # in an archive neither
  tar czf proj.tgz proj
  run --separate-stderr plimsoll submit --remove proj.tgz
  equal status "$status" 1
  [[ $stderr == *"'proj.tgz' was submitted but is kept"* ]] || fail "$stderr"
  # the daemon sets it aside
  mv proj1 proj.tgz in/
  ingest
  equal "status of the daemon" "$status" 0
  equal kept "$(cat in/done/proj1/thesis.tex)" precious
  [ -e in/done/proj.tgz ] || fail "$(ls -R in)"
  # a job of EPMT's, with nothing else, goes
  ! without epmt || return 0
  make_job e1 --id 642 --procs 3
  plimsoll submit -q --remove e1
  [ ! -e e1 ] || fail "not removed"
}

@test "the daemon takes a directory when nothing records it any more" {
  use_store
  mkdir in
  left_behind in/job
  ingest
  equal status "$status" 0
  [[ $stderr == *"ignoring '"*"in/job': still recorded by sh (pid "*"; will be stored when"* ]] || fail "$stderr"
  [ -e in/job/job.json ] || fail "it was taken"
  let_go in/job
  ingest
  [ ! -e in/job ] || fail "not taken"
  all_known
}

@test "a script of the job may stage it: whoever calls does not count" {
  use_store
  export SLURM_JOB_ID=4242
  plimsoll start -q
  printf 'plimsoll stop -q\nplimsoll stage -q -d arch\n' >end.sh
  (
    eval "$(plimsoll source)"
    sh end.sh
  )
  equal archives "$(ls arch)" 4242.tgz
  plimsoll submit -q arch/4242.tgz
  equal "the script" "$(ask "SELECT count(*) FROM processes WHERE exename = 'sh'")" 1
}

@test "runs that begin beside submit --remove are in the store, each once" {
  use_store
  export PLIMSOLL_PREFIX=$WORK/jobs
  (
    until [ -e stop ]; do
      [ ! -d jobs/R ] || plimsoll submit -r jobs/R || :
    done
  ) >>said 2>&1 &
  local loop=$! i
  for ((i = 1; i <= 25; i++)); do
    plimsoll run -q -j R --no-submit -- /bin/echo "marker$i" >>out 2>>err
  done
  touch stop
  wait $loop
  [ ! -d jobs/R ] || plimsoll submit -q -r jobs/R
  equal outputs "$(wc -l <out)" 25
  equal complaints "$(cat err)" ""
  equal stored "$(ask "SELECT count(*) FROM processes WHERE exename = 'echo'")" 25
  equal distinct "$(ask "SELECT count(DISTINCT args) FROM processes WHERE exename = 'echo'")" 25
  [ ! -d jobs/R ] || fail "not removed: $(cat said)"
}
