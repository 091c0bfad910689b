#!/usr/bin/env bats
# Exports: every value of every table in every format by its readers, several jobs, files that stay when something goes
# wrong. readers.bats has more of parquet, feather and orc.

bats_require_minimum_version 1.5.0
load store
load readers

check() {
  /usr/bin/python3 -W ignore "$PL_SOURCE/tests/cli/export_check.py" "$@"
}

# every FILE[,FILE...] ROWS COLUMNS: what check says when all are right
every() {
  local f
  for f in ${1//,/ }; do echo "$f $2 rows, $3 columns"; done
}

# A stored job with every type, absent values and odd texts: odd_job ID [PROCESSES]
odd_job() {
  native_job "$1.d" --id "$1" --procs "${2:-40}" --threads 3 --odd
  plimsoll submit "$1.d" >/dev/null
  check odd "$STORE" "$1"
}

@test "processes in every format: each value as the store has it" {
  use_store
  odd_job 77
  for f in csv json jsonl sqlite pkl h5; do
    plimsoll export 77 -q -o "out.$f"
  done
  files=out.csv,out.json,out.jsonl,out.sqlite,out.pkl,out.h5
  equal values "$(check equal "$STORE" processes $files 77)" "$(every $files 40 66)"
  plimsoll export 77 -q --raw -o raw.csv
  equal raw "$(RAW=1 check equal "$STORE" processes raw.csv 77)" "$(every raw.csv 40 66)"
  # nothing else is there, and the columnar ones are what they say
  equal left "$(find . -maxdepth 1 -name '.*' ! -name . | wc -l)" 0
  for f in parquet feather orc; do
    plimsoll export 77 -q -o "out.$f"
  done
  equal parquet "$(head -c 4 out.parquet)" PAR1
  equal feather "$(head -c 6 out.feather)" ARROW1
  equal orc "$(head -c 3 out.orc)" ORC
}

@test "the same by readers of other makers" {
  need_readers
  use_store
  odd_job 77
  mkdir expected
  EXPECTED=$(check write "$STORE" processes expected 77)
  plimsoll export 77 -q -o out.parquet
  plimsoll export 77 -q -o out.feather
  same duckdb out.parquet wasm out.parquet arrow out.feather
}

@test "threads, samples and jobs: each value as the store has it" {
  use_store
  odd_job 77 12
  plimsoll export 77 -q --what threads -o threads.pkl
  equal threads "$(check equal "$STORE" threads threads.pkl 77)" "$(every threads.pkl 14 38)"
  plimsoll export 77 -q --what jobs -o jobs.h5
  equal jobs "$(check equal "$STORE" jobs jobs.h5 77)" "$(every jobs.h5 1 20)"
  mkdir -p smp/node1.0123abcd
  "$PROGRAMS/make_samples" -j 78 smp/node1.0123abcd/run1.smp
  echo '{"plimsoll_job": 1, "jobid": "78", "user": "jo", "start_us": 1700000000000000, "stop_us": 1700000060000000,
    "exitcode": 0, "tags": {}, "annotations": {}}' >smp/job.json
  plimsoll submit smp >/dev/null
  for f in csv jsonl sqlite pkl h5; do
    plimsoll export 78 -q -o "samples.$f"
  done
  files=samples.csv,samples.jsonl,samples.sqlite,samples.pkl,samples.h5
  equal samples "$(check equal "$STORE" samples $files 78)" "$(every $files 433 10)"
  # a directory that was never submitted gives the same
  plimsoll export ./smp -q -o never.jsonl
  equal never "$(sed 's/"job":[0-9]*/"job":2/' never.jsonl | sha256sum)" "$(sha256sum <samples.jsonl)"
  plimsoll export 78 -f csv -m 'process.rss' >rss.csv
  equal rss "$(cut -d, -f4 rss.csv | sort -u | tr '\n' ' ')" "metric process.rss "
  run ! plimsoll export 78 -o x.csv -m rs
  [[ $output == *"no job has metric 'rs'; did you mean process.rss"* ]] || fail "$output"
  [ ! -e x.csv ]
}

@test "several jobs: one table with jobid, or one for each job; what is there already is replaced" {
  use_store
  odd_job 77 12
  native_job two --id 78 --procs 5
  plimsoll submit two >/dev/null
  for f in csv jsonl sqlite pkl h5; do
    plimsoll export 77 78 -q -o "both.$f"
  done
  # one after the other, and again: a database has each job once
  for job in 77 78 78; do
    plimsoll export $job -q -o "later.sqlite"
    plimsoll export $job -q -o "later.h5"
  done
  files=both.csv,both.jsonl,both.sqlite,both.pkl,both.h5,later.sqlite
  equal both "$(check equal "$STORE" processes $files 77 78)" "$(every $files 17 66)"
  equal sqlite "$(sqlite3 later.sqlite 'SELECT jobid, count(*) FROM processes GROUP BY 1' | tr '\n' ' ')" "77|12 78|5 "
  equal summary "$(plimsoll export 77 78 -o s.json --json | jq -c '[.file, .format, .what, .jobs, .rows, .columns, .bytes > 0]')" \
    '["s.json","json","processes",["77","78"],17,66,true]'
  run ! plimsoll export 77 77 -o x.csv
  [[ $output == *"job 77 is given twice"* ]] || fail "$output"
  # several at once add to one file, and none is lost
  pids=()
  for job in 77 78; do
    plimsoll export $job -q -o at-once.h5 &
    pids+=($!)
    plimsoll export $job -q -o at-once.sqlite &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
  equal hdf5 "$(check equal "$STORE" processes later.h5,at-once.h5 77)" "$(every later.h5,at-once.h5 12 66)"
  equal sqlite "$(sqlite3 at-once.sqlite 'SELECT count(*) FROM processes')" 17
}

@test "all types, extremes and batches of any size, by what make_tables lists" {
  mkdir list
  "$PROGRAMS/make_tables" expect 700 list
  for f in hdf5:h5 jsonl:jsonl pickle:pkl; do
    "$PROGRAMS/make_tables" "${f%:*}" none 700 97 "table.${f#*:}"
  done
  equal values "$(check rows list table.h5,table.jsonl,table.pkl)" "$(every table.h5,table.jsonl,table.pkl 700 20)"
}

@test "CSV on stdout: formulas are harmless, absent is empty, an empty text is not" {
  use_store
  odd_job 77 40
  plimsoll export 77 -f csv -o - >out.csv
  equal header "$(head -1 out.csv | cut -d, -f1-8)" id,job,jobid,hostname,exename,path,args,tags
  ! grep -qE '(^|,)"?[=+@-][^0-9]' out.csv || fail "a formula: $(grep -E '(^|,)"?[=+@-][^0-9]' out.csv)"
  grep -q "'=1+1" out.csv
  grep -q "'@SUM(A1)" out.csv
  grep -q ',"",' out.csv
  plimsoll export 77 -f csv | cmp - out.csv
  plimsoll export 77 -f csv --raw | grep -q ',@SUM(A1)'
}

@test "a table of nothing is a file, and said to be empty" {
  use_store
  mkdir -p smp/node1.0123abcd
  "$PROGRAMS/make_samples" -j 78 smp/node1.0123abcd/run1.smp
  echo '{"plimsoll_job": 1, "jobid": "78", "start_us": 1, "stop_us": 2}' >smp/job.json
  plimsoll submit smp >/dev/null
  for f in csv json jsonl sqlite pkl h5 parquet feather orc; do
    run --separate-stderr plimsoll export 78 --what processes -o "empty.$f"
    equal "$f" "$status" 0
    [[ $stderr == *"the table is empty"* ]] || fail "$f: $stderr"
  done
  equal csv "$(wc -l <empty.csv)" 1
  equal json "$(jq length empty.json)" 0
  equal jsonl "$(wc -c <empty.jsonl)" 0
  equal sqlite "$(sqlite3 empty.sqlite 'SELECT count(*) FROM processes')" 0
  equal pandas "$(/usr/bin/python3 -W ignore -c "import pandas
print(pandas.read_pickle('empty.pkl').shape, pandas.read_hdf('empty.h5', 'processes_78').shape)")" "(0, 64) (0, 64)"
}

@test "whatever goes wrong, the old file stays and nothing is left" {
  use_store
  native_job big --id 77 --procs 5000
  plimsoll submit big >/dev/null
  for f in csv json pkl sqlite h5 parquet feather orc; do
    plimsoll export 77 -q -o "old.$f" --what jobs
    cp "old.$f" "copy.$f"
    # no room: a limit on the size of files is met like a full disk
    status=0 codec=()
    case $f in parquet | feather | orc) codec=(--codec none) ;; esac
    (
      ulimit -f 36
      exec plimsoll export 77 -q -o "old.$f" "${codec[@]}"
    ) 2>message || status=$?
    equal "$f" "$status" 1
    equal lines "$(grep -c "cannot write.*old.$f" message)" 1
    cmp "old.$f" "copy.$f"
    # no permission
    if [ "$(id -u)" != 0 ]; then
      chmod a-w "old.$f"
      run ! plimsoll export 77 -q -o "old.$f"
      [[ $output == *"old.$f': Permission denied"* ]] || fail "$f: $output"
      chmod u+w "old.$f"
    fi
  done
  equal left "$(find . -maxdepth 1 -name '.*' ! -name . | wc -l)" 0
  # what is no database, and no HDF5 file
  echo "something of the user's" >notes.sqlite
  cp notes.sqlite notes.h5
  for f in sqlite h5; do
    run ! plimsoll export 77 -o notes.$f
    equal "$f" "$(cat notes.$f)" "something of the user's"
  done
  mkdir dir.csv
  run ! plimsoll export 77 -o dir.csv
  [[ $output == *"cannot write 'dir.csv': Is a directory"* ]] || fail "$output"
  run ! plimsoll export 77 -o nowhere/x.csv
  [[ $output == *"nowhere"*"No such file or directory"* ]] || fail "$output"
  run ! plimsoll export 77 -f csv -o /dev/full
  [[ $output == *"No space left on device"* ]] || fail "$output"
  # a link stays a link, and modes stay
  ln -s old.csv link.csv
  chmod 640 old.csv
  plimsoll export 77 -q -o link.csv
  [ -L link.csv ] || fail "the link is gone"
  equal mode "$(stat -c %a old.csv)" 640
}

@test "a signal or a kill in the middle: the old file stays" {
  use_store
  native_job big --id 99 --procs 20000
  plimsoll submit big >/dev/null
  echo old >x.json
  for signal in TERM KILL; do
    plimsoll export 99 -q -f json -o x.json &
    pid=$!
    # it is being written: the file beside it has grown
    for _ in $(seq 1000); do
      [ -z "$(find . -maxdepth 1 -name '.x.json.*' -size +16k)" ] || break
      sleep 0.01
    done
    kill -$signal $pid 2>/dev/null || true
    status=0
    wait $pid || status=$?
    # it may have been faster than we are: then all of it is there
    if [ $status = 0 ] || [ "$(head -c 3 x.json)" != old ]; then
      [ $signal = KILL ] || equal status $status 0
      equal rows "$(jq length x.json)" 20000
    else
      equal bytes "$(wc -c <x.json)" 4
      [ $signal = KILL ] || equal left "$(find . -maxdepth 1 -name '.x.json.*' | wc -l)" 0
    fi
    echo old >x.json
    rm -f .x.json.*
  done
}

@test "what is wrong with the command line is said" {
  use_store
  odd_job 77 12
  run -2 plimsoll export
  run -2 plimsoll export 77
  run -2 plimsoll export 77 -o x.txt
  [[ $output == *"csv, feather, hdf5, json, jsonl, orc, parquet, pickle, sqlite"* ]] || fail "$output"
  run -2 plimsoll export 77 -f excel -o x
  [[ $output == *"unknown format 'excel'"* ]] || fail "$output"
  run -2 plimsoll export 77 -f parquet -o -
  [[ $output == *"cannot write parquet to standard output"* ]] || fail "$output"
  run -2 plimsoll export 77 --what things -o x.csv
  run -2 plimsoll export 77 --what jobs -m x -o x.csv
  run -1 plimsoll export 77 --codec zstd -o x.csv
  [[ $output == *"csv does not support zstd; use none"* ]] || fail "$output"
  run -1 plimsoll export 4711 -o x.csv
  equal files "$(find . -maxdepth 1 -name 'x*' | wc -l)" 0
  plimsoll export --list --json | jq -e 'length == 9 and all(.[]; .available)' >/dev/null
}

# more than one batch and one range of the store; with PL_LONG a million processes, in every format
@test "many processes" {
  use_store
  count=10000 formats="pkl"
  [ -z "${PL_LONG:-}" ] || count=1000000 formats="csv jsonl sqlite pkl h5"
  native_job big --id 5 --procs $count
  plimsoll submit big >/dev/null
  for f in $formats; do
    plimsoll export 5 -q -o "m.$f"
    equal "$f" "$(check equal "$STORE" processes "m.$f" 5)" "$(every "m.$f" $count 65)"
    rm "m.$f"
  done
}
