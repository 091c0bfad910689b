#!/usr/bin/env bats
# Jobs that have the same id: of another cluster, of another year, begun again, of another user. Each is a job of its own,
# nothing of one gets into another, and people can name the one they mean.

bats_require_minimum_version 1.5.0
# shellcheck source=tests/cli/store.bash
. "${PL_SOURCE:?}/tests/cli/store.bash"

# ours DIRECTORY START STOP [JQ]: a job 4711 of ours, without records, from START to STOP (seconds)
ours() {
  mkdir -p "$1"
  jq -n "{plimsoll_job: 1, jobid: \"4711\", user: \"alice\", host: \"n1\", boot: \"0123abcd\", scheduler: {name: \"slurm\"},
    start_us: ($2 * 1000000), stop_us: ($3 * 1000000), tags: {from: \"$1\"}, annotations: {}} | ${4:-.}" >"$1/job.json"
}

# ids and tags of all jobs, the first first
stored() {
  ask "SELECT j.jobid, t.value FROM jobs j LEFT JOIN job_tags t ON t.job = j.job AND t.key = 'from' ORDER BY j.start, t.value" | paste -sd ' '
}

parts_of() {
  plimsoll dump --json "$1" | jq '.parts | length'
}

NOW=1750000000
DAY=86400

# bats test_tags=engine
@test "another cluster, another year, another user, a job that was put back: all are jobs of their own" {
  use_store
  ours here $NOW $((NOW + 600)) '.scheduler.cluster = "a"'
  ours elsewhere $((NOW + 60)) $((NOW + 660)) '.scheduler.cluster = "b"'
  ours before $((NOW - 347 * DAY)) $((NOW - 347 * DAY + 60)) '.scheduler.cluster = "a"'
  ours bob $((NOW + 1)) $((NOW + 600)) '.scheduler.cluster = "a" | .user = "bob"'
  ours again $((NOW + 900)) $((NOW + 1500)) '.scheduler.cluster = "a" | .scheduler.restart = "1"'
  plimsoll submit -q here elsewhere before bob again
  equal jobs "$(stored)" "4711,before 4711,here 4711,bob 4711,elsewhere 4711,again"
  equal clusters "$(ask "SELECT cluster, count(*) FROM jobs GROUP BY cluster ORDER BY cluster" | paste -sd ' ')" "a,4 b,1"
  # each of them again is there
  run --separate-stderr plimsoll submit here elsewhere before bob again
  equal status "$status" 0
  equal "said of each" "$(grep -c 'job 4711 is in the store already, skipped' <<<"$stderr")" 5
  equal jobs "$(ask 'SELECT count(*) FROM jobs')" 5
}

@test "hosts, steps and runs of one job are parts of it: clocks that differ, hours between, a start that the batch system tells" {
  use_store
  ours n1 $NOW $((NOW + 600))
  # a clock that is ten minutes behind, and one whose part began hours later
  ours n2 $((NOW - 600)) $((NOW - 100)) '.host = "n2"'
  ours n3 $((NOW + 30000)) $((NOW + 30060)) '.host = "n3"'
  ours step $((NOW + 3 * DAY)) $((NOW + 3 * DAY + 60))
  plimsoll submit -q n1 n3 step n2
  equal "one job" "$(ask "SELECT count(*), min(start), max(\"end\") FROM jobs")" "1,$((NOW - 600))000000,$((NOW + 3 * DAY + 60))000000"
  equal parts "$(parts_of 4711)" 4
  plimsoll delete 4711 >/dev/null
  # the same start by the batch system's clock: one job, days apart; another start: another job, minutes apart
  ours a $NOW $((NOW + 60)) ".scheduler.start = \"$NOW\""
  ours b $((NOW + 20 * DAY)) $((NOW + 20 * DAY + 60)) ".scheduler.start = \"$((NOW + 1))\" | .host = \"n2\""
  ours c $((NOW + 600)) $((NOW + 660)) ".scheduler.start = \"$((NOW + 590))\""
  plimsoll submit -q a b c
  equal jobs "$(stored)" "4711,a 4711,c"
  equal parts "$(parts_of "4711@$(date -d @$NOW +%FT%T)")" 2
  plimsoll delete "4711@$(date -d @$NOW +%FT%T)" "4711@$(date -d @$((NOW + 600)) +%FT%T)" >/dev/null
  # without a batch system an id is used again sooner
  ours d $NOW $((NOW + 60)) '.scheduler = null'
  ours e $((NOW + 3600)) $((NOW + 3660)) '.scheduler = null'
  ours f $((NOW + 2 * DAY)) $((NOW + 2 * DAY + 60)) '.scheduler = null'
  plimsoll submit -q d e f
  equal jobs "$(stored)" "4711,d 4711,f"
}

# bats test_tags=engine
@test "a part that may be of either of two jobs is refused with both" {
  use_store
  ours a $NOW $((NOW + 600)) '.scheduler.cluster = "a"'
  ours b $NOW $((NOW + 600)) '.scheduler.cluster = "b"'
  ours unclear $((NOW + 60)) $((NOW + 500)) '.host = "n9"'
  plimsoll submit -q a b
  run --separate-stderr plimsoll submit unclear
  equal status "$status" 1
  [[ $stderr == *"several jobs 4711 are in the store ("*" on a, "*" on b); cannot tell which of them this belongs to; nothing of it was stored: 'unclear'"* ]] || fail "$stderr"
  run -1 plimsoll show 4711
  [[ $output == *": 4711@b (alice on b), 4711@a (alice on a);"* ]] || fail "$output"
  ours unclear $((NOW + 60)) $((NOW + 500)) '.host = "n9" | .scheduler.cluster = "b"'
  plimsoll submit -q unclear
  equal parts "$(parts_of 4711@b) $(parts_of 4711@a)" "2 0"
}

# bats test_tags=epmt
@test "EPMT's jobs: the same start is the same, another time another job, another start at that time is refused" {
  use_store
  make_job e1 --id 4711
  make_job year --id 4711 --shift 30000000
  make_job next --id 4711 --shift 600
  make_job other --id 4711 --shift 3
  plimsoll submit -q e1 year next
  equal jobs "$(ask "SELECT count(*) FROM jobs WHERE jobid = '4711'")" 3
  run --separate-stderr plimsoll submit e1
  equal status "$status" 0
  [[ $stderr == *"job 4711 is in the store already, skipped: 'e1'"* ]] || fail "$stderr"
  run --separate-stderr plimsoll submit other
  equal status "$status" 1
  [[ $stderr == *"job 4711 is in the store already (4711@20"*"), at about the same time but with a different start"*"; nothing of it was stored: 'other'"* ]] || fail "$stderr"
  equal jobs "$(ask "SELECT count(*) FROM jobs WHERE jobid = '4711'")" 3
  # one of ours at that time can be neither a part nor another one; years later it is another one
  ours mine 1600000001 1600000005 '.scheduler = null | .user = null'
  run --separate-stderr plimsoll submit mine
  equal status "$status" 1
  ours mine $NOW $((NOW + 5))
  plimsoll submit -q mine
  equal jobs "$(ask "SELECT count(*) FROM jobs WHERE jobid = '4711'")" 4
}

# bats test_tags=engine
@test "samples without metadata are told apart by their times" {
  use_store
  local i=0 start
  for start in 1700000000 1730000000 1730000005; do
    for t in 0 1 2; do
      echo "$t process rss bytes gauge sum job job $((1000 * t))"
    done | "$PROGRAMS/make_samples" -t -h n1 -j 4711 -r r1 -s $start $i.smp
    i=$((i + 1))
  done
  plimsoll submit -q 0.smp 1.smp
  equal jobs "$(ask "SELECT count(*), max(duration) FROM jobs WHERE jobid = '4711'")" "2,2000000"
  run --separate-stderr plimsoll submit 0.smp
  equal status "$status" 0
  [[ $stderr == *"job 4711 is in the store already, skipped"* ]] || fail "$stderr"
  run --separate-stderr plimsoll submit 2.smp
  equal status "$status" 1
  [[ $stderr == *"cannot be merged"* ]] || fail "$stderr"
  equal values "$(ask "SELECT count(*) FROM samples")" 6
}

# bats test_tags=engine,epmt
@test "an id that several have: list shows all, commands that need one list the choices, ID@START and ID@CLUSTER name one" {
  use_store
  export TZ=UTC
  ours a $NOW $((NOW + 600)) '.scheduler.cluster = "a"'
  ours b $((NOW - 347 * DAY)) $((NOW - 347 * DAY + 60)) '.scheduler.cluster = "b" | .user = "bob"'
  ours c $((NOW + 5 * DAY)) $((NOW + 5 * DAY + 1)) '.jobid = "4712"'
  plimsoll submit -q a b c
  equal "list" "$(plimsoll list --ids 4711 | paste -sd ' ')" "4711 4711"
  equal "list, as JSON" "$(plimsoll list --json 4711 | jq -c '[.[].tags.from]')" '["b","a"]'
  local first="4711@2024-07-03T15:06:40" second="4711@2025-06-15T15:06:40"
  local choices="several jobs have the id '4711'; use ID@START or ID@CLUSTER: $second (alice on a), $first (bob on b); \`plimsoll list 4711\` shows them"
  local command
  for command in "show 4711" "report 4711" "dump 4711" "tree 4711" "procs 4711" "series 4711" "export 4711 -o x.csv" "delete 4711" \
    "tag 4711 k:v" "annotate 4711 k=v" "timeline 4711" "threads 4711"; do
    # shellcheck disable=SC2086
    run --separate-stderr plimsoll $command
    equal "status of $command" "$status" 1
    [[ $stderr == *"$choices"* ]] || fail "$command: $stderr"
  done
  run --separate-stderr epmt dump 4711
  equal "status of epmt dump" "$status" 1
  [[ $stderr == *"$choices"* ]] || fail "$stderr"
  equal jobs "$(ask 'SELECT count(*) FROM jobs')" 3
  # either way, and as much of the time as is needed
  local name
  for name in $first 4711@b 4711@2024 4711@2024-07-03 "4711@2024-07-03 15:06"; do
    equal "$name" "$(plimsoll show --json "$name" | jq -r .tags.from)" b
  done
  equal "list of one" "$(plimsoll list --json $second | jq -c '[.[].tags.from]')" '["a"]'
  plimsoll tag 4711@a mine:yes
  plimsoll annotate $first note=kept
  equal tags "$(ask "SELECT j.cluster, t.value FROM job_tags t JOIN jobs j ON j.job = t.job WHERE t.key = 'mine'")" a,yes
  equal notes "$(ask "SELECT j.cluster FROM job_annotations t JOIN jobs j ON j.job = t.job WHERE t.key = 'note'")" b
  # JSON and EPMT's words keep the id as it is
  equal "id" "$(plimsoll show --json 4711@a | jq -r .jobid)" 4711
  equal "epmt's id" "$(epmt dump -k jobid 4711@a | tail -1)" 4711
  run --separate-stderr plimsoll show 4711@nowhere
  equal status "$status" 1
  [[ $stderr == *"there is no job '4711@nowhere' in "*", only: $second (alice on a), $first (bob on b)"* ]] || fail "$stderr"
  # of others nothing changes
  equal "last" "$(plimsoll show --json last | jq -r .jobid)" 4712
  equal "the other" "$(plimsoll show --json 4712 | jq -r .tags.from)" c
  plimsoll delete 4711@b
  equal "the one that is left" "$(plimsoll show --json 4711 | jq -r .tags.from)" a
}

# bats test_tags=epmt
@test "two of an id in one table, file and database of an export are told apart" {
  use_store
  export TZ=UTC
  make_job a --id 4711
  make_job b --id 4711 --shift 30000000 --procs 7
  plimsoll submit -q a b
  local first="4711@2020-09-13T12:26:40" second="4711@2021-08-26T17:46:40"
  plimsoll export -q $first $second -o both.csv
  equal "rows of each" "$(python3 -c '
import collections, csv
print(*sorted(collections.Counter(r["jobid"] for r in csv.DictReader(open("both.csv"))).items()))')" "('$first', 10) ('$second', 7)"
  plimsoll export -q $first -o all.db
  plimsoll export -q $second -o all.db
  plimsoll export -q $second -o all.db
  equal "in a database" "$(python3 -c '
import sqlite3
print(*sqlite3.connect("all.db").execute("SELECT jobid, count(*) FROM processes GROUP BY 1 ORDER BY 1"))')" "('$first', 10) ('$second', 7)"
}

# bats test_tags=engine
@test "two of an id in the hour that clocks repeat have names in UTC" {
  use_store
  export TZ=America/New_York
  ours a 1604208600 1604208660 # 05:30 UTC, the first 01:30 of that night
  ours b 1604212200 1604212260 '.scheduler.restart = "1"'
  ours c 1604215800 1604215860 '.scheduler.restart = "2"'
  plimsoll submit -q a b c
  local first=4711@2020-11-01T05:30:00.000000Z second=4711@2020-11-01T06:30:00.000000Z third=4711@2020-11-01T02:30:00
  run --separate-stderr plimsoll show 4711
  equal status "$status" 1
  [[ $stderr == *": $third (alice), $second (alice), $first (alice);"* ]] || fail "$stderr"
  local name
  for name in $first,a $second,b $third,c 4711@2020-11-01T06Z,b "4711@2020-11-01 05:30Z,a"; do
    equal "$name" "$(plimsoll show --json "${name%,*}" | jq -r .tags.from)" "${name#*,}"
  done
  run -1 plimsoll show 4711@2020-11-01T01:30:00
  run -1 plimsoll show 4711@Z
  # in another zone the names of this one are the same jobs
  equal elsewhere "$(TZ=Asia/Tokyo plimsoll show --json $second | jq -r .tags.from)" b
  plimsoll delete $second
  equal left "$(stored)" "4711,a 4711,c"
  equal "in local time again" "$(plimsoll show --json 4711@2020-11-01T01:30:00 | jq -r .tags.from)" a
}

# bats test_tags=engine
@test "several at once submit jobs of one id: none is lost, none is there twice" {
  use_store
  local i
  for i in 1 2 3 4 5 6; do
    ours j$i $((NOW + i * 100 * DAY)) $((NOW + i * 100 * DAY + 60))
    ours k$i $((NOW + i * 100 * DAY + 5)) $((NOW + i * 100 * DAY + 65)) '.host = "n2"'
  done
  for i in 1 2 3 4 5 6; do
    plimsoll submit -q j$i 3>&- &
    plimsoll submit -q k$i 3>&- &
  done
  wait
  equal "jobs, hosts" "$(ask "SELECT count(*) FROM jobs WHERE jobid = '4711'")" 6
  plimsoll submit -q -p 3 j1 k2 j3 k4 j5 k6
  equal "jobs" "$(ask "SELECT count(*) FROM jobs WHERE jobid = '4711'")" 6
  equal "begun with the first part" "$(ask "SELECT count(*) FROM jobs WHERE duration = 65000000")" 6
  # shellcheck disable=SC2046 # one word each
  plimsoll delete $(plimsoll list --json | jq -r '.[] | "4711@" + (.start | sub(" "; "T"))[0:19]') >/dev/null
  plimsoll submit -q -p 3 j1 k2 j3 k1 j2 k3
  equal "jobs of workers" "$(ask "SELECT count(*) FROM jobs WHERE duration = 65000000")" 3
}

# The store as the version before left it, which knew jobs by their ids alone.
to_schema_7() {
  local columns="no, jobid, jobname, username, submit_us, start_us, end_us, duration_us, cpu_us, exitcode, num_procs, num_threads,
    peak_procs, peak_threads, bytes, format, source, ingested_us, processes"
  local view="CREATE VIEW jobs AS SELECT no AS job, jobid, jobname, username AS \"user\", submit_us AS submit, start_us AS start,
    end_us AS \"end\", duration_us AS duration, cpu_us AS cpu_time, exitcode, num_procs, num_threads, peak_procs, peak_threads,
    format, source, ingested_us AS ingested, processes, num_procs AS images FROM job"
  if [ "${PL_ENGINE:-sqlite}" = sqlite ]; then
    python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])' "$STORE" "DROP VIEW jobs;
      CREATE TABLE kept AS SELECT $columns FROM job; DROP TABLE job;
      CREATE TABLE job (no INTEGER PRIMARY KEY, jobid TEXT NOT NULL UNIQUE, jobname TEXT, username TEXT, submit_us BIGINT, start_us BIGINT,
      end_us BIGINT, duration_us BIGINT, cpu_us BIGINT NOT NULL, exitcode BIGINT, num_procs BIGINT NOT NULL, num_threads BIGINT NOT NULL,
      peak_procs BIGINT NOT NULL, peak_threads BIGINT NOT NULL, bytes BIGINT NOT NULL, format TEXT NOT NULL, source TEXT,
      ingested_us BIGINT NOT NULL, processes BIGINT NOT NULL DEFAULT 0); CREATE INDEX job_start ON job (start_us);
      CREATE INDEX job_user ON job (username); INSERT INTO job SELECT * FROM kept; DROP TABLE kept; $view;
      DELETE FROM schema_version WHERE number >= 8;"
  else
    "$(postgres_bin)/psql" -q -v ON_ERROR_STOP=1 "$STORE" -c "DROP VIEW jobs; ALTER TABLE job DROP CONSTRAINT job_jobid_nth_key;
      ALTER TABLE job ADD CONSTRAINT job_jobid_key UNIQUE (jobid); ALTER TABLE job DROP COLUMN cluster; ALTER TABLE job DROP COLUMN nth;
      $view; DELETE FROM schema_version WHERE number >= 8"
  fi
}

# bats test_tags=engine,epmt
@test "a store of the version before keeps all it has, learns the clusters, and takes another job of an id" {
  use_store
  ours a $NOW $((NOW + 600)) '.scheduler.cluster = "a"'
  make_job e --id 4712 --env SLURM_CLUSTER_NAME=b
  make_job none --id 4713
  plimsoll submit -q a e none
  local what='SELECT job, jobid, jobname, "user", submit, start, "end", duration, cpu_time, exitcode, num_procs, num_threads, peak_procs,
    peak_threads, format, source, ingested, processes, images FROM jobs ORDER BY job'
  ask "$what" >before
  equal jobs "$(wc -l <before)" 3
  to_schema_7
  run -1 plimsoll sql "SELECT cluster FROM jobs"
  plimsoll db migrate -q
  ask "$what" >after
  diff before after
  equal clusters "$(ask "SELECT jobid, cluster FROM jobs ORDER BY jobid" | paste -sd ' ')" "4711,a 4712,b 4713,"
  ours b $NOW $((NOW + 600)) '.scheduler.cluster = "b"'
  make_job later --id 4713 --shift 30000000
  plimsoll submit -q a b later
  equal jobs "$(ask "SELECT jobid, count(*) FROM jobs GROUP BY jobid ORDER BY jobid" | paste -sd ' ')" "4711,2 4712,1 4713,2"
  plimsoll show --json 4711@a | jq -e '.tags.from == "a"'
}

@test "the Python module names them as the program does" {
  /usr/bin/python3 -c 'import pandas' 2>/dev/null || skip "no pandas for Python"
  use_store
  export TZ=UTC PYTHONPATH=$PL_BUILD/share/plimsoll/python PYTHONDONTWRITEBYTECODE=1
  ours a $NOW $((NOW + 600)) '.scheduler.cluster = "a"'
  ours b $((NOW - 347 * DAY)) $((NOW - 347 * DAY + 60)) '.scheduler.cluster = "b"'
  plimsoll submit -q a b
  /usr/bin/python3 -c '
import plimsoll
try:
    plimsoll.job("4711")
    raise SystemExit("not refused")
except plimsoll.Error as e:
    assert "several jobs have the id" in str(e) and "ID@START or ID@CLUSTER" in str(e), e
for name, want in (("4711@a", "a"), ("4711@b", "b"), ("4711@2024", "b"), ("4711@2025-06-15 15:06", "a"),
                   ("4711@2025-06-15T15:06:40.000000", "a"), ("4711@2024-07-03T15Z", "b")):
    assert plimsoll.job(name)["cluster"] == want, name
row = plimsoll.jobs().iloc[1]
assert plimsoll.job(row)["cluster"] == row["cluster"]
try:
    plimsoll.job("4711@nowhere")
    raise SystemExit("not refused")
except plimsoll.Error as e:
    assert "there is no job" in str(e), e'
}
