#!/usr/bin/env bats
# bats file_tags=epmt
# plimsoll db import: databases of EPMT into a store. The source is on the engine of $PL_ENGINE, the store on SQLite.

load store

# source_database OPTION...: $SOURCE is a database of EPMT's
source_database() {
  python3 "$PL_SOURCE/tests/fixtures/epmt_database.py" --engine "$PL_ENGINE" "$@" >epmt.sql
  if [ "$PL_ENGINE" = sqlite ]; then
    SOURCE=$WORK/epmt.sqlite
    rm -f "$SOURCE"
    sqlite3 "$SOURCE" <epmt.sql
  else
    use_store
    SOURCE=$STORE
    "$(postgres_bin)/psql" -q -v ON_ERROR_STOP=1 "$SOURCE" -f epmt.sql >/dev/null
  fi
  export PLIMSOLL_DB=$WORK/store.db
}

# what the source holds, to compare
state() {
  if [ "$PL_ENGINE" = sqlite ]; then cat "$SOURCE"; else "$(postgres_bin)/pg_dump" "$SOURCE" | grep -v '^.\(un\)\?restrict '; fi | sha256sum
}

# bats test_tags=engine
@test "jobs, processes, threads, tags, annotations, analyses and models, with their values" {
  source_database
  before=$(state)
  plimsoll db import --json "$SOURCE" >out
  equal counts "$(cat out)" '{"jobs":2,"imported":2,"there_already":0,"left_out":0,"processes":6,"models":1}'
  equal jobs "$(ask 'SELECT jobid, jobname, "user", submit, start, "end", duration, exitcode, num_procs, num_threads FROM jobs ORDER BY 1')" \
    "$(printf '4000,copying,ann,1599999999000000,1600000000000000,1600000060250000,60250000,0,3,5\n4001,copying,ann,1600003599000000,1600003600000000,1600003660250000,60250000,1,3,5')"
  equal processes "$(plimsoll sql --json "SELECT pid, ppid, exename, path, args, tags, hostname, start, exitcode, usertime, systemtime, rssmax, rchar, numtids FROM processes WHERE jobid = '4000' ORDER BY pid" | jq -c '.[1] | [.[]]')" \
    '[101,100,"cp","/bin/cp","a, b \\ \"c\" café","op:cp;op_instance:1","node7",1600000001000000,1,6003,30,4098,300,3]'
  equal threads "$(ask "SELECT tid, usertime, rssmax FROM threads WHERE jobid = '4000' AND pid = 101 ORDER BY n" | paste -sd' ')" "101,2000,4096 1101,2001,4097 2101,2002,4098"
  equal events "$(ask "SELECT sum(value) FROM events WHERE jobid = '4000' AND thread = 0")" $((77 + 77 + 78 + 79 + 77))
  equal absent "$(ask "SELECT count(*) FROM processes WHERE jobid = '4000' AND time_oncpu IS NULL")" 3
  equal tags "$(ask "SELECT key, value FROM job_tags WHERE jobid = '4001' ORDER BY key" | paste -sd' ')" "exp_name,fast n,1"
  equal notes "$(plimsoll sql --json "SELECT key, value FROM job_annotations WHERE jobid = '4000' ORDER BY key" | jq -c '[.[] | [.key, (.value | fromjson)]]')" \
    '[["abc",100],["note","café, a\tb"],["papiex-error","PAPI failed"],["papiex-error-process-ids",[1,2]]]'
  equal analyses "$(epmt dump -k analyses 4000)" "{'outlier': True, 'score': 3.25}"
  equal "models of a job" "$(epmt dump -k ref_models 4001)" "['ref1']"
  equal "ids of models" "$(epmt list refmodels fmt=terse)" "[1]"
  equal models "$(epmt list refmodels | sed 's/13:56:40.000000/13:56:40/')" "[{'id': 1, 'name': 'ref1', 'enabled': True, 'created_at': '2020-09-13 13:56:40', 'tags': {'exp_name': 'fast'}, 'op_tags': [], 'computed': {'z_score': {'cpu_time': [1.5, 2, 3]}}, 'info_dict': {}, 'jobs': ['4000', '4001']}]"
  equal "local times" "$(epmt dump -k start 4000)" "2020-09-13 13:56:40"
  equal source "$(state)" "$before"
}

# bats test_tags=engine
@test "imported analyses choose jobs, and those without one are unanalysed" {
  source_database --jobs 3
  # into a store on the same engine
  local with without change=(sqlite3 store.db)
  if [ "$PL_ENGINE" = postgres ]; then
    "$(postgres_bin)/psql" -q "$PGURL" -c 'CREATE SCHEMA analysed'
    export PLIMSOLL_DB="$PGURL&options=-csearch_path%3Danalysed"
    change=("$(postgres_bin)/psql" -q "$PLIMSOLL_DB" -c)
  fi
  plimsoll db import -q "$SOURCE" >/dev/null
  # by what dump says of each
  for id in $(plimsoll list --ids | sort); do
    if [ "$(epmt dump -k analyses "$id")" = "{}" ]; then without+="${without:+, }'$id'"; else with+="${with:+, }'$id'"; fi
  done
  [ -n "$with" ] && [ -n "$without" ] || fail "the database has both kinds of jobs: $with; $without"
  equal "by value" "$(epmt list jobs analyses="{'outlier': True}")" "['4000']"
  equal "by two values" "$(epmt list jobs analyses="{'outlier': True, 'score': 3.25}")" "['4000']"
  equal "one is wrong" "$(epmt list jobs analyses="{'outlier': True, 'score': 3}")" "[]"
  equal none "$(epmt list jobs analyses={})" "[$without]"
  equal unanalysed "$(epmt list unanalyzed_jobs)" "[$without]"
  equal "unanalysed among some" "$(epmt list unanalyzed_jobs limit=1)" "[${without%%,*}]"
  equal rows "$(ask "SELECT jobid, key, value FROM job_analyses WHERE jobid = '4000' ORDER BY key" | paste -sd ' ')" "4000,outlier,true 4000,score,3.25"
  # a store that was filled before there was a table for them
  "${change[@]}" "$WITHOUT_SUMS"
  if [ "$PL_ENGINE" = postgres ]; then
    "${change[@]}" 'ALTER TABLE job DROP COLUMN cluster CASCADE; ALTER TABLE job DROP COLUMN nth; ALTER TABLE job ADD UNIQUE (jobid)'
  fi
  "${change[@]}" 'DROP VIEW job_analyses; DROP TABLE job_analysis; ALTER TABLE sample_series DROP COLUMN begin_us;
    DELETE FROM schema_version WHERE number >= 6'
  plimsoll db migrate -q
  equal "rows of an older store" "$(ask "SELECT jobid, key, value FROM job_analyses WHERE jobid = '4000' ORDER BY key" | paste -sd ' ')" "4000,outlier,true 4000,score,3.25"
  sums_agree
  plimsoll delete 4000 >/dev/null
  equal "with the job goes its analysis" "$(ask "SELECT count(*) FROM job_analyses WHERE jobid = '4000'")" 0
}

# bats test_tags=engine
@test "again: nothing is doubled; broken off: it goes on where it was" {
  source_database --jobs 40
  plimsoll db import "$SOURCE" >/dev/null 2>&1 &
  pid=$!
  for _ in $(seq 200); do
    [ ! -e store.db ] || [ "$(plimsoll list --ids 2>/dev/null | wc -l)" -lt 3 ] || break
    sleep 0.01
  done
  kill -9 $pid || true
  wait $pid || true
  had=$(plimsoll list --ids | wc -l)
  plimsoll db import --json "$SOURCE" >out
  equal "there and new" "$(jq -c '[.there_already, .imported, .left_out]' out)" "[$had,$((40 - had)),0]"
  equal processes "$(ask 'SELECT count(*) FROM processes')" 120
  plimsoll db import --json "$SOURCE" >out
  equal again "$(jq -c '[.there_already, .imported, .models]' out)" "[40,0,0]"
}

@test "a job that cannot be read is named and left out, the others come" {
  source_database --bad --jobs 3
  run plimsoll db import "$SOURCE"
  equal status "$status" 1
  [[ $output == *"job 4001 not imported: 'processes': line 2: column 'pid' is not a number: 'many'"*"2 jobs imported (6 processes), 0 already there, 1 failed, 1 model"* ]] || fail "$output"
  equal jobs "$(ask 'SELECT jobid FROM jobs ORDER BY 1' | paste -sd' ')" "4000 4002"
}

@test "what of a job cannot be read is told and kept as text, and no time is negative" {
  source_database --jobs 3
  [ "$PL_ENGINE" = sqlite ] || skip "the source is changed as a SQLite file"
  file=${SOURCE#sqlite:///}
  sqlite3 "$file" "UPDATE jobs SET tags = '[[[[', start = NULL, annotations = '1' WHERE jobid = '4001'"
  sqlite3 "$file" "UPDATE processes SET threads_df = replace(threads_df, '\"systemtime\": 10', '\"systemtime\": -9223372036854775808') WHERE jobid = '4002'"
  plimsoll db import "$SOURCE" >out
  [[ $(cat out) == "3 jobs imported (9 processes)"* ]] || fail "$(cat out)"
  plimsoll show --json 4001 >job.json
  for what in job_tags annotations job_pl_start_ts; do
    grep -q "no usable $what" job.json || fail "$what: $(cat job.json)"
  done
  plimsoll dump --json 4001 | jq -r '.epmt_unread.job_tags' >raw
  equal raw "$(cat raw)" '[[[['
  plimsoll show --json 4002 >job.json
  grep -q 'CPU times of the database are negative: left out' job.json || fail "$(cat job.json)"
  equal negative "$(ask 'SELECT count(*) FROM jobs WHERE cpu_time < 0')" 0
}

@test "an EPMT database is no store: nothing writes to it, and check says what it is" {
  source_database
  before=$(state)
  make_job job
  for command in list "submit job" "db migrate" "db drop --force" "db vacuum"; do
    # shellcheck disable=SC2086 # words
    run plimsoll $command --db "$SOURCE"
    [ "$status" = 1 ] || fail "$command: status $status"
    [[ $output == *"is a database of EPMT"*"db import"* ]] || fail "$command: $output"
  done
  equal check "$(PLIMSOLL_DB=$SOURCE plimsoll check --json | jq -r '.checks[] | select(.name == "store") | .result + " " + .remedy')" "Fail plimsoll db import URL --db STORE"
  equal source "$(state)" "$before"
}

@test "what is not a database of EPMT is refused" {
  export PLIMSOLL_DB=$WORK/store.db
  run plimsoll db import nowhere.sqlite
  equal status "$status" 1
  equal message "$output" "plimsoll: error: there is no database 'nowhere.sqlite'"
  make_job job
  plimsoll submit --db other.db job >/dev/null
  run plimsoll db import other.db
  equal status "$status" 1
  equal message "$output" "plimsoll: error: 'other.db' is not a database of EPMT"
  echo text >text
  run plimsoll db import text
  equal status "$status" 1
  [[ $output == "plimsoll: error: "*text* ]] || fail "$output"
}

@test "EPMT's own database: every sum is the one that EPMT has" {
  local file=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}/epmt/database/epmt-4.11.sqlite.xz
  [ -e "$file" ] || skip "no sample data beside the project"
  [ "$PL_ENGINE" = sqlite ] || skip "the sample is a SQLite file"
  xz -dc "$file" >epmt.sqlite
  export PLIMSOLL_DB=$WORK/store.db
  plimsoll db import -q epmt.sqlite
  for job in 685000 685003 685016 3455 2220; do
    sqlite3 epmt.sqlite "SELECT proc_sums FROM jobs WHERE jobid = '$job'" >sums
    # what papiex misread is left out here; rdtsc_duration is EPMT's, which adds up -1 and counters that went back
    keys=$(jq -r 'del(.all_proc_tags, .rdtsc_duration, .processor, .delayacct_blkio_time, .guest_time, .num_threads, .starttime) | keys[]' sums)
    at_least "sums to compare" "$(wc -w <<<"$keys")" 20
    for key in $keys; do
      equal "$key of job $job" "$(epmt dump -k "$key" "$job")" "$(jq ".$key" sums)"
    done
    equal "threads of job $job" "$(epmt dump -k num_threads "$job")" "$(jq .num_threads sums)"
  done
}
