#!/usr/bin/env bats
# The list of jobs through the server, against `plimsoll query`: every filter, page by page, and the sums. The filters
# themselves, and any two of them, are in tests/unit/store/test_job_list.c.

bats_require_minimum_version 1.5.0
load store

# serve [OPTION...]: of $STORE, on ./s, where the user of the server needs no token
serve() {
  plimsoll serve --quiet --listen "unix:$WORK/s" "$@" 3>&- &
  SERVER=$!
  for _ in $(seq 100); do
    [ -S s ] && curl -s --unix-socket s http://localhost/healthz >/dev/null && return 0
    sleep 0.05
  done
  fail "the server does not answer"
}

# get PATH [NAME=VALUE...]: the JSON of a route
get() {
  local path=$1 args=() arg
  shift
  for arg; do args+=(--data-urlencode "$arg"); done
  curl -s -G --unix-socket "$WORK/s" "${args[@]}" "http://localhost/api/v1/$path"
}

# all_pages NAME=VALUE...: the ids of all pages of 37 jobs
all_pages() {
  local after='' page
  while :; do
    page=$(get jobs limit=37 ${after:+after="$after"} "$@")
    jq -r '.jobs[].jobid' <<<"$page"
    after=$(jq -r '.next // empty' <<<"$page")
    [ -n "$after" ] || return 0
  done
}

# same FILTER NAME=VALUE...: the pages and the sums have what query finds by the filter
same() {
  local filter=$1
  shift
  plimsoll query --json --order -start "$filter" >want
  jq -r '.[].jobid' want >want.ids
  all_pages "$@" >got
  diff want.ids got >difference || fail "$filter: $(head -n 5 difference)"
  get tiles "$@" >tiles
  equal "jobs of $filter" "$(jq .jobs tiles)" "$(jq length want)"
  equal "failed of $filter" "$(jq .failed tiles)" "$(jq '[.[] | select(.exitcode != null and .exitcode != 0)] | length' want)"
  equal "running of $filter" "$(jq .running tiles)" "$(jq '[.[] | select(.open)] | length' want)"
  jq -s -e '(([.[1][].cpu_time] | add // 0) / 3.6e9 - .[0].cpu_hours) | fabs < 1e-3' tiles want >/dev/null || fail "CPU time of $filter"
}

# refused NAME TEXT [NAME=VALUE...]: an error that names the parameter
refused() {
  local name=$1 text=$2
  shift 2
  run get jobs "$@"
  [[ $(jq -r .error <<<"$output") == *"$name"*"$text"* ]] || fail "$*: $output"
}

# bats test_tags=engine
@test "jobs: each filter gives what query gives, page by page, and the sums of it" {
  use_store
  export TZ=UTC
  "$PROGRAMS/bench-site" "$STORE" 1500 40 300 >/dev/null
  serve
  local user host
  user=$(ask 'SELECT "user" FROM jobs GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1')
  host=$(ask 'SELECT host FROM job_hosts GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1')
  same "user = $user" user="$user"
  same "user ~ a*" user='a*'
  same "host = $host" host="$host"
  same "host ~ cn000*" host='cn000*'
  same 'status = failed' status=failed
  same 'status = running' status=running
  same 'tag.project = climate' tag=project:climate
  same 'tag.project = climate and tag.exp_component' tag=project:climate tag=exp_component
  same 'word = gmx' text=GMX
  same 'word = "gmx lys"' text='lys gmx'
  same 'start >= -100d and start <= -50d' from=-100d to=-50d
  same 'duration > 2h or cpu_time > 100h' where='duration > 2h or cpu_time > 100h'
  same "user = $user and status = failed and duration > 10m" where='duration > 10m' user="$user" status=failed
  local day
  day=$(date -u -d '-20 days' +%F)
  same "start >= $day and start < '$(date -u -d "$day + 1 day" +%F)'" from="$day" to="$day"
}

# bats test_tags=engine
@test "jobs: other orders, the names of list --json, the total" {
  use_store
  "$PROGRAMS/bench-site" "$STORE" 400 20 100 >/dev/null
  serve
  for key in start duration cpu_time jobname user num_threads; do
    plimsoll query --ids --order "$key" '' >want
    all_pages sort=$key >got
    diff want got || fail "$key"
    plimsoll query --ids --order "-$key" '' >want
    all_pages sort=$key desc=1 >got
    diff want got || fail "-$key"
  done
  plimsoll list --json -n 1 --order -start | jq '.[0] | keys' >want
  get jobs limit=1 | jq '.jobs[0] | del(.status, .link) | keys' >got
  diff want got
  equal 'total of a short list' "$(get jobs status=running limit=1000 | jq '.total == (.jobs | length)')" true
  equal 'no job' "$(get jobs user=nobody | jq -c .)" '{"jobs":[],"total":0,"next":null}'
  equal 'sums of none' "$(get tiles user=nobody | jq -c '[.jobs, .cpu_hours, .efficiency, .energy_kwh, .failed]')" '[0,0,null,null,0]'
}

@test "jobs: an error names the parameter" {
  use_store
  "$PROGRAMS/bench-site" "$STORE" 100 >/dev/null
  serve
  refused where 'col 7' where='user ='
  refused where 'unknown key' where='nokey = 1'
  refused text 'words of letters' text='--'
  refused status 'completed, failed, running or unknown' status=bad
  refused from 'expected a time' from=2026-13-01
  refused to 'expected a time' to=whenever
  refused sort 'cannot be sorted' sort=nokey
  refused limit '1 to 1000' limit=0
  refused limit '1 to 1000' limit=1001
  refused after 'not where a page of this list ended' after=00
  refused after 'not where a page of this list ended' after="$(get jobs limit=1 | jq -r .next)" user=x
  equal 'the rest works' "$(get jobs limit=1 | jq '.jobs | length')" 1
}

@test "jobs: two with the same id have links that tell them apart" {
  use_store
  "$PROGRAMS/bench-site" "$STORE" 10 >/dev/null
  change "UPDATE job SET jobid = '400000', nth = 1 WHERE no = 7"
  serve
  get jobs limit=10 | jq -r '.jobs[] | select(.jobid == "400000") | .link' >links
  equal links "$(grep -c '^400000@20' links)" 2
  while read -r link; do
    equal "job $link" "$(get "jobs/$link" | jq -r .jobid)" 400000
  done <links
}

# bats test_tags=engine
@test "jobs: a store of the version before is listed without migrating it" {
  use_store
  "$PROGRAMS/bench-site" "$STORE" 300 20 100 >/dev/null
  if [ "${PL_ENGINE:-sqlite}" = sqlite ]; then
    sqlite3 "$STORE" "$WITHOUT_LISTS DELETE FROM schema_version WHERE number >= 12"
  else
    "$(postgres_bin)/psql" -q "$STORE" -c "$WITHOUT_LISTS DELETE FROM schema_version WHERE number >= 12"
  fi
  equal 'jobs of list' "$(plimsoll list --ids | wc -l)" 300
  serve
  same 'user ~ a*' user='a*'
  same 'status = failed' status=failed
  same 'tag.project = bio' tag=project:bio
  same 'word = gmx' text=gmx
  equal 'core time is not known' "$(get tiles | jq .core_hours)" null
  plimsoll db migrate -q # while the server runs
  same 'word = gmx' text=gmx
  same 'host = cn0001' host=cn0001
  equal 'core time is known' "$(get tiles | jq '.core_hours > 0')" true
}

# bats test_tags=engine
@test "jobs: answers follow the time, and changes at once" {
  use_store
  "$PROGRAMS/bench-site" "$STORE" 50 >/dev/null
  local now job
  now=$(date +%s)
  job=$(ask "SELECT jobid FROM jobs WHERE exitcode = 0 ORDER BY job LIMIT 1")
  change "UPDATE job SET start_us = ${now}000000 WHERE jobid = '$job'"
  change "UPDATE job SET ingested_us = ($now - 86) * CAST(1000000 AS BIGINT), exitcode = NULL, format = 'node' WHERE jobid = '$job'"
  serve --write
  sleep 0.1 # the file of the store has settled, answers are kept
  equal 'a moment ago' "$(get jobs where='start>-5s' | jq '.jobs | length')" 1
  equal 'running' "$(get "jobs/$job" | jq .open)" true
  equal 'not unknown' "$(get tiles where="status=unknown and jobid = '$job'" | jq .jobs)" 0
  sleep 5
  equal 'not any more' "$(get jobs where='start>-5s' | jq '.jobs | length')" 0
  equal 'nothing came for long' "$(get "jobs/$job" | jq .open)" null
  equal 'unknown' "$(get tiles where="status=unknown and jobid = '$job'" | jq .jobs)" 1
  for n in 1 2 3 4 5 6; do
    curl -s -X PUT --unix-socket s -H 'Content-Type: application/json' -d "{\"tags\": {\"n\": \"$n\"}}" "http://localhost/api/v1/jobs/$job/tags" >/dev/null
    equal "tag $n" "$(get "jobs/$job" | jq -r .tags.n)" "$n"
  done
}

# bats test_tags=engine
@test "jobs: accounts of a store of the version before, whatever is in the metadata" {
  use_store
  local id
  for id in 1 2 3; do native_job "job$id" --id "90$id"; done
  edit() { jq -c "$2" "$1/job.json" >edited && mv edited "$1/job.json"; }
  edit job1 '.scheduler = {"account": "phys"}'
  edit job2 '.scheduler = {"account": "ph\u0000ys"} | .note = "a\u0000b"'
  edit job3 '.scheduler = {"project": 7}'
  plimsoll submit -q job1 job2 job3
  accounts() { for id in phys ph 7; do PLIMSOLL_VIEWER="project:nobody:$id" plimsoll list --ids || true; done; }
  accounts >before
  equal accounts "$(paste -sd ' ' before)" '901 903'
  change 'DROP TABLE job_account'
  change 'DELETE FROM schema_version WHERE number >= 13'
  plimsoll db migrate -q
  accounts >after
  diff before after
}
