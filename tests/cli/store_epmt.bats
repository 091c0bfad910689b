#!/usr/bin/env bats
# bats file_tags=epmt
# Called as epmt: the commands that have to do with the store, with EPMT's output.

bats_require_minimum_version 1.5.0
load store

@test "a dry run says that nothing was imported" {
  use_store
  make_job one --id 1 --form collated --procs 3
  pack one one.tgz
  run -0 epmt submit -n one.tgz
  [[ $output == *"Dry run, nothing imported - job: 1 processes: 3"* && $output != *successfully* ]] || fail "$output"
  run -0 epmt submit one.tgz
  [[ $output == *"Imported successfully - job: 1 processes: 3"* ]] || fail "$output"
}

# bats test_tags=engine
@test "epmt: submit, list, dump, delete" {
  use_store
  make_job first --id a
  make_job second --id b --form tsv
  pack second second.tgz
  run -0 epmt submit first second.tgz
  [[ $output == *"Imported successfully - job: a processes: 10 rate: "*"Imported successfully - job: b processes: 10 rate: "* ]] || fail "$output"
  equal list "$(epmt list)" "['a', 'b']"
  equal limit "$(epmt list jobs limit=1 offset=1)" "['b']"
  equal tags "$(epmt list job_proc_tags a fold=True)" "{'op': ['build'], 'step': ['0', '1', '2']}"
  equal unprocessed "$(epmt list unprocessed_jobs)" '[]'
  equal procs "$(epmt list procs a fmt=terse | tr ',' '\n' | wc -l)" 10
  epmt dump a >out
  grep -q "^cpu_time            75  " out
  grep -q "^tags                {'exp': 'a', 'run': '7'}" out
  grep -q "^usertime            55 " out
  equal key "$(epmt dump -k rssmax a)" 10055
  equal key "$(epmt dump -k num_procs b)" 10
  epmt annotate a k=v
  equal note "$(epmt dump -k annotations a)" "{'k': 'v', 'n': 3, 'note': 'first'}"
  epmt delete a
  equal list "$(epmt list)" "['b']"
  run -1 epmt delete a
}

@test "epmt: a job that is there fails with -e and stops the list" {
  use_store
  make_job a --id a
  make_job b --id b
  epmt submit a >/dev/null
  run -1 epmt -e submit a b
  equal list "$(epmt list)" "['a']"
  run -1 epmt submit a b
  equal list "$(epmt list)" "['a', 'b']"
}

@test "epmt: convert CSV to TSV gives the same job, with the same columns and negative numbers" {
  use_store
  for columns in 41 46 48; do
    make_job first$columns --id a --threads 3 --columns $columns --negative
    pack first$columns a$columns.tgz
    equal name "$(epmt convert a$columns.tgz out$columns.tgz)" out$columns.tgz
    epmt submit a$columns.tgz >/dev/null
    epmt dump a | grep -v -E '^(submit|created_at|updated_at)' >one
    epmt delete a >/dev/null
    epmt submit out$columns.tgz >/dev/null
    epmt dump a | grep -v -E '^(submit|created_at|updated_at)' >two
    epmt delete a >/dev/null
    diff one two
    tar xzOf out$columns.tgz ./node1-papiex-header.tsv | sed 's/}.*//; s/{//' | tr ',' '\n' | sort >got
    head -1 first$columns/node1-papiex-1001-0.csv | tr ',' '\n' | grep -v -x -E 'tags|hostname|exename|path|args|exit.*|p*pid|generation|pgid|sid|numtids|tid|start|end|mpi.*' | sort >want
    diff want got
    tar xzOf out$columns.tgz ./node1-papiex.tsv | sed -n 3p | grep -q -- ',-7,-300}' || fail "$(tar xzOf out$columns.tgz ./node1-papiex.tsv | sed -n 3p)"
  done
  grep -q '^rdtsc_duration  *-1 ' one || fail "$(cat one)"
}

@test "epmt: convert keeps what papiex wrote in the wrong columns, and each host's rows in its own file" {
  use_store
  make_job a --id a --procs 3
  sed -i 's/,1,0,0,0,0,/,0,987654321,0,0,0,/' a/*.csv
  for f in a/*.csv; do sed 's/node1/node2/' "$f" >"a/node2-${f#a/node1-}"; done
  pack a a.tgz
  epmt convert a.tgz out.tgz >/dev/null
  equal files "$(tar tzf out.tgz | sort | tr '\n' ' ')" "./job_metadata ./node1-papiex-header.tsv ./node1-papiex.tsv ./node2-papiex-header.tsv ./node2-papiex.tsv "
  equal rows "$(tar xzOf out.tgz ./node2-papiex.tsv | cut -f3 | sort | uniq -c | tr -s ' ')" " 3 node2"
  printf 'pid,hostname,X\n1,node1,2\n' >a/node1-papiex-9-0.csv
  pack a b.tgz
  run -1 epmt convert b.tgz other.tgz
  [[ $output == *"the files of host node1 have different columns"* ]] || fail "$output"
  [ ! -e other.tgz ]
}

@test "epmt: archives that EPMT's own convert made, with blanks, quotes and carriage returns" {
  use_store
  make_job a --id a --threads 2 --odd --negative --form tsv
  make_job b --id b --threads 2 --odd --negative --form converted
  grep -q "^{[0-9]*, " b/node1-papiex.tsv || fail 'no blanks to read'
  epmt submit a b >/dev/null
  for id in a b; do
    ask "SELECT pid, exename, args, tags, usertime, rssmax, rdtsc_duration, start, \"end\" FROM processes WHERE jobid = '$id' ORDER BY pid" >$id.csv
    ask "SELECT event, sum(value) FROM events WHERE jobid = '$id' GROUP BY event" >>$id.csv
  done
  diff a.csv b.csv
  # whether papiex misread a field cannot be told there, so it is absent
  equal misread "$(ask "SELECT count(*) FROM processes WHERE jobid = 'b' AND processor IS NULL")" 10
  printf '{1, 2 x}\t\tnode1\te\t/e\t0\t0\t1\t0\t1\t1\t1\t1\t1\t2\ta\r\n' >>b/node1-papiex.tsv
  run -1 plimsoll submit -n b
  [[ $output == *"line 11: "* ]] || fail "$output"
}

@test "epmt dump: no metric replaces what the job has, and starttime is not added up" {
  use_store
  make_job first --id a --threads 4
  epmt submit first >/dev/null
  equal threads "$(epmt dump -k num_threads a)" 13
  equal processes "$(epmt dump -k num_procs a)" 10
  [ -z "$(epmt dump a | grep '^starttime')" ]
}

@test "epmt: the store by its variables and settings, and never one in memory" {
  make_job a --id a
  export HOME=$WORK/home
  unset PLIMSOLL_DB XDG_DATA_HOME
  mkdir -p "$HOME"
  EPMT_DB_URL=sqlite:///$WORK/url.db epmt submit a >/dev/null
  [ -f url.db ] || fail 'EPMT_DB_URL is not heeded'
  EPMT_DB_PROVIDER=sqlite EPMT_DB_FILENAME=$WORK/parts.db epmt submit a >/dev/null
  [ -f parts.db ] || fail 'EPMT_DB_FILENAME is not heeded'
  printf "db_params = {'url': 'sqlite:///%s/settings.db', 'echo': False}\n" "$WORK" >settings.py
  EPMT_SETTINGS=$WORK/settings.py epmt submit a >/dev/null
  [ -f settings.db ] || fail 'settings.py is not heeded'
  printf "db_params = {'provider': 'sqlite', 'filename': ':memory:'}\n" >settings.py
  EPMT_SETTINGS=$WORK/settings.py epmt submit a >/dev/null 2>err
  [ -f home/.local/share/plimsoll/plimsoll.db ] || fail 'not in the own store'
  equal notices "$(grep -c 'in memory and would be lost' err)" 1
}

# bats test_tags=engine
@test "epmt: retire keeps all by default; drop, dbsize, schema, migrate, dbcare" {
  use_store
  make_job a --id a
  epmt submit a >/dev/null
  epmt retire 2>/dev/null
  epmt dbcare 2>/dev/null
  equal list "$(epmt list)" "['a']"
  epmt schema | grep -q 'CREATE TABLE process'
  epmt migrate | grep -q 'nothing to do'
  equal size "$(epmt dbsize | jq '.database | to_entries | .[0].value > 10000')" true
  epmt drop -f >/dev/null
  equal list "$(epmt list)" '[]'
}

@test "epmt: tests of the older tool say what there is instead" {
  for command in unittest integration; do
    run -1 epmt $command
    [[ $output == *"$command: "* ]] || fail "$output"
  done
}

# ---- EPMT's own sample jobs, with the numbers that its tests expect ----------------------------------

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}

samples() {
  [ -d "$DATA/epmt/query" ] || skip "no sample data beside the project"
}

# bats test_tags=engine
@test "EPMT's numbers: one job" {
  samples
  use_store
  epmt submit "$DATA/epmt/query/685000.tgz" >/dev/null
  while read -r key value; do
    equal "$key" "$(epmt dump -k "$key" 685000)" "$value"
  done <<'N'
num_procs 3480
num_threads 3668
cpu_time 113135329
duration 6460243317
exitcode 0
usertime 71155254
systemtime 41980075
rssmax 31621528
minflt 4972187
majflt 8
inblock 13672
outblock 23933624
vol_ctxsw 770843
invol_ctxsw 20900
rchar 15458131996
wchar 15066048420
syscr 2182175
syscw 897834
read_bytes 7000064
write_bytes 12254015488
cancelled_write_bytes 8925798400
time_oncpu 115330986461
time_waiting 10152666725
timeslices 795433
PERF_COUNT_SW_CPU_CLOCK 86903088007
rdtsc_duration -1
N
  equal pids "$(plimsoll show --json 685000 | jq -c '.annotations["papiex-error-process-ids"]')" '[22121,23756,24562,26138]'
  equal start "$(ask "SELECT start_us, end_us FROM job")" 1560599524073965,1560605984317282
  equal 'distinct tags' "$(ask 'SELECT count(*) FROM job_proc_tags')" 89
  equal durations "$(ask 'SELECT sum(duration) FROM processes')" 24717624686
  equal tree "$(ask 'SELECT children, descendants FROM processes WHERE pid = 6098')" 735,3448
  equal ancestors "$(ask 'SELECT p.depth, q.pid FROM processes p JOIN processes q ON q.id = p.job * 4294967296 + p.parent WHERE p.pid = 26860')" 2,26859
  equal latest "$(ask 'SELECT depth FROM processes ORDER BY start DESC LIMIT 1')" 3
}

@test "EPMT's numbers: ten jobs" {
  samples
  use_store
  plimsoll submit -q "$DATA"/epmt/query/*.tgz "$DATA"/epmt/submit/*.tgz "$DATA"/epmt/outliers/*.tgz
  while read -r id procs threads cpu duration rssmax rchar wchar tags; do
    equal "$id" "$(ask "SELECT num_procs, num_threads, cpu_time, duration, (SELECT sum FROM job_sums s WHERE s.job = j.job AND metric = 'rssmax'),
      (SELECT sum FROM job_sums s WHERE s.job = j.job AND metric = 'rchar'), (SELECT sum FROM job_sums s WHERE s.job = j.job AND metric = 'wchar'),
      (SELECT count(*) FROM job_proc_tags t WHERE t.job = j.job) FROM jobs j WHERE jobid = '$id'")" "$procs,$threads,$cpu,$duration,$rssmax,$rchar,$wchar,$tags"
  done <<'N'
685000 3480 3668 113135329 6460243317 31621528 15458131996 15066048420 89
685003 3785 4030 93538033 6615525773 38915884 10716703983 6511179009 395
685016 3412 3596 427082965 7005618511 33653664 101149878203 74236867987 89
692500 6486 6772 1478399629 1663860093 108149368 343283284595 249317353699 281
804268 6844 7203 206350486 3077170841 81373960 37451902236 23579108853 851
804280 6039 6368 204964705 3150704527 70200608 30339991956 19088538407 731
kern-6656-20190614-190245 10600 10600 449044045 527820255 79333996 4192953035 1826045522 5
kern-6656-20190614-191138 10600 10600 449914707 542680315 79438980 4192944396 1826045282 5
kern-6656-20190614-192044-outlier 10600 10600 627670563 1173629067 79524924 4192947651 1826045379 5
kern-6656-20190614-194024 10600 10600 450359378 565343997 79338332 4192947086 1826045427 5
N
  equal 'longer than a second' "$(ask "SELECT count(*), max(duration) FROM processes WHERE duration > 1000000 AND jobid IN ('685000', '685003', '685016')")" 630,7005558348
  equal host "$(ask "SELECT jobid FROM job_hosts WHERE host = 'pp208'")" 685000
}

@test "EPMT's numbers: other forms" {
  samples
  use_store
  plimsoll submit -q "$DATA/epmt/submit/3455" "$DATA/epmt/tsv/collated-tsv-2220.tgz" "$DATA/epmt/tsv/12340"
  equal 3455 "$(ask "SELECT duration FROM jobs WHERE jobid = '3455'")" 28111
  equal 2220 "$(ask "SELECT num_procs, (SELECT sum FROM job_sums s WHERE s.job = j.job AND metric = 'rssmax') FROM jobs j WHERE jobid = '2220'")" 2,9952
  equal 12340 "$(ask "SELECT num_procs FROM jobs WHERE jobid = '12340'")" 18
  run -1 epmt submit -r "$DATA/epmt/misc/corrupted-csv.tgz"
  [ -f "$DATA/epmt/misc/corrupted-csv.tgz" ] || fail 'removed'
  run -1 plimsoll submit "$DATA/epmt/corrupted_csv"
  [[ $output == *"line 2: the header has 40 delimiters, this row has 39"* ]] || fail "$output"
}

@test "EPMT's numbers: collated and single files give the same job" {
  samples
  use_store
  plimsoll submit -q "$DATA/epmt/collated/615503.tgz"
  query="SELECT num_procs, num_threads, cpu_time, duration, peak_procs FROM jobs"
  one=$(ask "$query"; ask 'SELECT metric, sum, max FROM job_sums ORDER BY metric')
  plimsoll delete -q 615503
  plimsoll submit -q "$DATA/epmt/uncollated/615503.tgz"
  equal job "$(ask "$query"; ask 'SELECT metric, sum, max FROM job_sums ORDER BY metric')" "$one"
}
