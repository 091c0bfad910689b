#!/usr/bin/env bats
# plimsoll serve: who comes in, what every route gives, what hostile and unlucky clients get.

bats_require_minimum_version 1.5.0
load serve
load collect

# get PATH [NAME:VALUE...]: as a script of the user
get() {
  local path=$1
  shift
  client ask GET "$URL$path" "Authorization: Bearer $TOKEN" "$@"
}

# send METHOD PATH JSON [NAME:VALUE...]
send() {
  local method=$1 path=$2
  printf %s "$3" >body
  shift 3
  client ask "$method" "$URL$path" "Authorization: Bearer $TOKEN" "Content-Type: application/json" @body "$@"
}

answer() {
  jq -r "$1" answer
}

jobs() {
  use_store
  plimsoll run -q -j job1 --name first -t op:a --job-tags 'exp_name:E;exp_component:one' -- sh -c 'true; ls / >/dev/null'
  plimsoll run -q -j job2 --name second -t op:b --job-tags 'exp_name:E;exp_component:two' -- sh -c 'true; exit 3' || true
  plimsoll submit -q --remove "$PLIMSOLL_PREFIX/job1" "$PLIMSOLL_PREFIX/job2"
}

@test "the link opens a session once, and another link is printed on request" {
  jobs
  serve
  client ask GET "${URL}api/v1/session"
  status_is 401
  client ask GET "$LINK"
  status_is 303
  equal place "$(header location)" /
  [[ $(header set-cookie) == *"; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict" ]] || fail "$(header set-cookie)"
  local cookie
  cookie=$(header set-cookie | cut -d';' -f1)
  client ask GET "${URL}api/v1/session" "Cookie: a=b; $cookie"
  status_is 200
  equal csrf "$(answer '.csrf | length')" 32
  client ask GET "${URL}api/v1/session" "Cookie: ${cookie%?}"
  status_is 401
  # used up; a browser that has a session goes on
  client ask GET "$LINK"
  status_is 401
  grep -q 'plimsoll serve --link' answer
  client ask GET "$LINK" "Cookie: $cookie"
  status_is 303
  local other
  other=$(plimsoll serve --link)
  [ "$other" != "$LINK" ]
  client ask GET "$other"
  status_is 303
  # the file for scripts is private, and goes with the server
  equal mode "$(stat -c %a "$XDG_RUNTIME_DIR/plimsoll/serve.token")" 600
  serve_end
  [ ! -e "$XDG_RUNTIME_DIR/plimsoll/serve.token" ]
  run -1 --separate-stderr plimsoll serve --link
  # shellcheck disable=SC2154
  [[ $stderr == *"no server of yours runs on this host; start"* ]] || fail "$stderr"
}

@test "a second server of the same user leaves the first one its token file, and names its own" {
  jobs
  serve
  local first=$SERVER url=$URL file
  plimsoll serve --listen 127.0.0.1:0 >second 2>second.err 3>&- &
  SERVER=$!
  until [ -s second ]; do
    kill -0 $SERVER || fail "$(cat second.err)"
    sleep 0.05
  done
  equal 'said' "$(grep -c 'another server of yours runs already' second.err)" 1
  file=$(sed -n "s/.* in '\(.*\)'$/\1/p" second.err)
  equal mode "$(stat -c %a "$file")" 600
  equal address "$(sed -n 2p "$file")" "$(sed 's/?.*//' second)"
  client ask GET "$(sed -n 2p "$file")api/v1/session" "Authorization: Bearer $(head -1 "$file")"
  status_is 200
  equal 'the first one' "$(sed -n 2p "$XDG_RUNTIME_DIR/plimsoll/serve.token")" "$url"
  kill "$SERVER"
  wait "$SERVER"
  [ ! -e "$file" ] || fail "$file is left"
  [[ $(plimsoll serve --link) == "$url?token="* ]] || fail "the first one gives no link"
  # the file of one that was killed is nobody's
  kill -9 "$first"
  wait "$first" || :
  serve
  equal 'after a kill' "$(sed -n 2p "$XDG_RUNTIME_DIR/plimsoll/serve.token")" "$URL"
  serve_end
}

@test "every route of the table: refused to strangers, answered to the user" {
  jobs
  serve
  client walk "$URL" "$TOKEN" 0 >said || fail "$(cat said)"
  at_least "routes with an answer" "$(sed -n 's/.* operations, \([0-9]*\) answered/\1/p' said)" 25
  serve_end
}

@test "every route that changes something, with --write" {
  jobs
  serve --write
  client walk "$URL" "$TOKEN" 1 >said || fail "$(cat said)"
  serve_end
}

@test "answers are those of the commands" {
  jobs
  serve
  local route
  for route in tree procs threads where timeline efficiency ops phases analyses advise; do
    get "api/v1/jobs/job1/$route"
    status_is 200
    plimsoll $route --json job1 | cmp - answer || fail "$route: $(cat answer)"
  done
  get api/v1/jobs/job1
  plimsoll show --json job1 | cmp - answer
  get api/v1/jobs/job1/metadata
  plimsoll dump --json job1 | cmp - answer
  get "api/v1/jobs/job1/procs?order=-cpu_time&limit=1&exe=sh"
  plimsoll procs --json --order=-cpu_time -n 1 --exe sh job1 | cmp - answer
  get "api/v1/jobs/job1/procs" "Accept: text/csv"
  plimsoll procs --csv job1 | cmp - answer
  [[ $(header content-type) == text/csv* ]]
  get "api/v1/explore?experiment=E"
  plimsoll explore --json E | cmp - answer
  get "api/v1/compare?a=job1&b=job2&with_failed=1"
  equal runs "$(answer '.runs + .baseline_runs | join(" ")')" 'job1 job2'
  get "api/v1/jobs/job"
  status_is 409
  [[ $(answer .error) == *"several jobs begin with 'job': job"* ]] || fail "$(cat answer)"
  get "api/v1/jobs/nothing/tree"
  status_is 404
  get "api/v1/jobs/job1/procs?where=cpu_time%20%3E%3E"
  status_is 400
  answer .error | grep -q filter || answer .error | grep -q '>>' || fail "$(cat answer)"
  serve_end
}

@test "the report is a page whose policy allows its own scripts only" {
  jobs
  serve
  get api/v1/jobs/job1/page
  status_is 200
  grep -q '<title>Job job1' answer
  # each script of the page, by its hash
  python3 - "$(header content-security-policy)" <<'P'
import base64, hashlib, re, sys
policy = sys.argv[1]
assert "unsafe" not in policy, policy
page = open("answer").read()
for kind in ("script", "style"):
    parts = [m.group(2) for m in re.finditer(r"<%s( [^>]*)?>(.*?)</%s>" % (kind, kind), page, re.S)
             if "application/json" not in (m.group(1) or "")]
    assert parts
    for part in parts:
        h = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert "'sha256-%s'" % h in policy, (kind, part[:80])
P
  equal saved "$(grep -c '<section id="verdict"' answer)" 1
  serve_end
}

@test "exports have the suffix and the first bytes of their format" {
  jobs
  serve
  local row format begin
  for row in csv:id "jsonl:{" "json:[" parquet:PAR1 feather:ARROW1 orc:ORC sqlite:SQLite hdf5:HDF; do
    format=${row%%:*}
    begin=${row#*:}
    get "api/v1/jobs/job1/export?format=$format"
    if [ "$(cat status)" != 200 ]; then # a library that is missing
      answer .error >/dev/null
      continue
    fi
    head -c 8 answer | grep -a -q -F "$begin" || fail "$format: $(head -c 20 answer)"
    [[ $(header content-disposition) == 'attachment; filename="job1.'* ]]
  done
  get "api/v1/jobs/job1/export?format=exe"
  status_is 400
  [ -z "$(ls -d "$TMPDIR"/plimsoll-serve-* 2>/dev/null)" ]
  serve_end
}

@test "compressed, and not sent again" {
  jobs
  serve
  get api/v1/jobs/job1/page
  cp answer plain
  get api/v1/jobs/job1/page "Accept-Encoding: gzip"
  equal encoding "$(header content-encoding)" gzip
  gzip -dc <answer | cmp - plain
  local etag
  etag=$(header etag)
  get api/v1/jobs/job1/page "Accept-Encoding: zstd, gzip"
  equal encoding "$(header content-encoding)" zstd
  zstd -dcq <answer | cmp - plain
  get api/v1/jobs/job1/page "Accept-Encoding: gzip" "If-None-Match: $etag"
  status_is 304
  get api/v1/jobs/job1/page "Accept-Encoding: gzip;q=0"
  equal encoding "$(header content-encoding)" ""
  # a change of the store is another answer
  get api/v1/jobs/job1
  etag=$(header etag)
  plimsoll tag job1 reviewed:yes
  get api/v1/jobs/job1 "If-None-Match: $etag"
  status_is 200
  equal tag "$(answer .tags.reviewed)" yes
  get metrics
  at_least hits "$(sed -n 's/^plimsoll_serve_cache_hits_total //p' answer)" 1
  serve_end
}

@test "another site cannot use the session of a browser" {
  jobs
  serve --write
  client ask GET "$LINK"
  local cookie csrf
  cookie=$(header set-cookie | cut -d';' -f1)
  client ask GET "${URL}api/v1/session" "Cookie: $cookie"
  csrf=$(answer .csrf)
  echo '{"tags":{"k":"v"}}' >body
  put() {
    client ask PUT "${URL}api/v1/jobs/job1/tags" "Cookie: $cookie" "Content-Type: application/json" @body "$@"
  }
  put
  status_is 403
  put "X-Plimsoll-CSRF: 00000000000000000000000000000000"
  status_is 403
  put "X-Plimsoll-CSRF: $csrf" "Sec-Fetch-Site: cross-site"
  status_is 403
  put "X-Plimsoll-CSRF: $csrf" "Sec-Fetch-Site: same-site"
  status_is 403
  put "X-Plimsoll-CSRF: $csrf" "Origin: http://evil.example"
  status_is 403
  put "X-Plimsoll-CSRF: $csrf" "Origin: null"
  status_is 403
  equal tags "$(plimsoll show --json job1 | jq -c .tags.k)" null
  # a form of another site cannot send JSON
  client ask PUT "${URL}api/v1/jobs/job1/tags" "Cookie: $cookie" "X-Plimsoll-CSRF: $csrf" "Content-Type: text/plain" @body
  status_is 415
  put "X-Plimsoll-CSRF: $csrf" "Origin: ${URL%/}" "Sec-Fetch-Site: same-origin"
  status_is 200
  equal tags "$(plimsoll show --json job1 | jq -c .tags)" '{"k":"v"}'
  # names that a stranger's DNS may give to this address
  local host
  for host in evil.example "evil.example:${URL##*:}" 127.0.0.1 "127.0.0.1.evil.example:80" localhost.evil:1; do
    client ask GET "${URL}api/v1/session" "Cookie: $cookie" "Host: ${host%/}"
    status_is 421
  done
  serve_end
}

@test "tags and annotations are changed, and nothing without --write" {
  jobs
  serve
  send PUT api/v1/jobs/job1/tags '{"tags":{"k":"v"}}'
  status_is 403
  [[ $(answer .remedy) == *"--write"* ]]
  serve_end
  serve --write
  send PUT api/v1/jobs/job1/tags '{"tags":{"k":"v:1;2","other":"ü"}}'
  status_is 200
  equal tags "$(plimsoll show --json job1 | jq -c .tags)" '{"k":"v:1;2","other":"ü"}'
  send PUT api/v1/jobs/job1/annotations '{"annotations":{"a=b":1.5,"list":[1,{"x":null}],"text":"t"}}'
  status_is 200
  equal annotations "$(plimsoll show --json job1 | jq -c .annotations)" '{"a=b":1.5,"list":[1,{"x":null}],"text":"t"}'
  get api/v1/jobs/job1
  equal "what is read" "$(answer '.annotations["a=b"]')" 1.5
  send PUT api/v1/jobs/job1/annotations '{"annotations":{"api_token":"abcdef0123456789"}}'
  equal masked "$(answer .masked)" 1
  local bad
  for bad in '{' '[]' '{"tags":[]}' '{"tags":{"k":1}}' '{"tags":{"":"x"}}' '{"tags":{"k":""}}' ''; do
    send PUT api/v1/jobs/job1/tags "$bad"
    status_is 400
  done
  head -c 1100000 /dev/zero | tr '\0' ' ' >big
  client ask PUT "${URL}api/v1/jobs/job1/tags" "Authorization: Bearer $TOKEN" "Content-Type: application/json" @big
  status_is 413
  equal tags "$(plimsoll show --json job1 | jq -c .tags)" '{"k":"v:1;2","other":"ü"}'
  serve_end
}

@test "models and alerts are managed" {
  use_store
  for i in 1 2 3 4 5; do plimsoll run -q -j "m$i" -- sh -c true; done
  plimsoll submit -q "$PLIMSOLL_PREFIX"/m?
  serve --write
  send POST api/v1/models '{"name":"usual","jobs":["m1","m2","m3"],"features":["duration","cpu_time"]}'
  status_is 200
  get api/v1/models
  equal models "$(answer '[.[] | [.name, .enabled, .jobs]] | tostring')" '[["usual",true,3]]'
  send POST api/v1/models/usual/disable ''
  equal enabled "$(plimsoll model list --json | jq -c '.[0].enabled')" false
  send POST api/v1/models/usual/enable ''
  send POST api/v1/models/usual/train '{"jobs":["m4"]}'
  equal jobs "$(plimsoll model list --json | jq -c '.[0] | [.enabled, .jobs]')" '[true,4]'
  send POST api/v1/models/usual/features '{"features":"duration"}'
  status_is 200
  send POST api/v1/models '{"name":"-x","jobs":["m1"]}'
  status_is 400
  send POST api/v1/models '{"name":"x","jobs":["/etc/passwd"]}'
  status_is 400
  send POST api/v1/jobs/m5/analyze ''
  status_is 200
  send DELETE api/v1/models/usual ''
  status_is 200
  equal models "$(plimsoll model list --json | jq length)" 0
  send POST api/v1/jobs/m5/acknowledge '{"note":"seen"}'
  status_is 200
  serve_end
}

# sql STATEMENT [LIMIT]
sql() {
  send POST api/v1/sql "$(jq -nc --arg s "$1" --argjson n "${2:-10}" '{sql: $s, limit: $n}')"
}

@test "a submission that failed is submitted again; what is no submission is refused" {
  export PLIMSOLL_FAILED_DIR=$WORK/failed
  jobs
  mkdir failed
  plimsoll run -q -j late -- true
  mv "$PLIMSOLL_PREFIX/late" failed/late
  echo 'the disk was full' >failed/late.reason
  mkfifo failed/pipe
  serve --write
  get api/v1/inbox
  equal failed "$(answer '[.failed[].name] | sort | join(" ")')" 'late pipe'
  send POST api/v1/inbox/pipe/retry '{}'
  status_is 400
  equal error "$(answer .error)" "'pipe' is neither a file nor a directory"
  send POST api/v1/inbox/late/retry '{}'
  status_is 200
  equal left "$(find failed -mindepth 1)" failed/pipe
  get api/v1/jobs/late
  status_is 200
  serve_end
}

@test "the SQL console reads, and only that" {
  jobs
  serve
  sql 'SELECT jobid, exitcode FROM jobs ORDER BY jobid'
  status_is 200
  equal rows "$(jq -c . answer)" '{"columns":["jobid","exitcode"],"rows":[["job1",0],["job2",3]],"truncated":false}'
  sql 'SELECT jobid FROM jobs' 1
  equal truncated "$(answer .truncated)" true
  sql 'SELECT 1 AS a, 2 AS a WHERE 1 = 0'
  equal columns "$(jq -c .columns answer)" '["a","a"]'
  local bad
  for bad in 'DELETE FROM job' 'ATTACH "x.db" AS x' 'PRAGMA writable_schema = 1' 'SELECT 1; DELETE FROM job' \
    "SELECT load_extension('x')" "SELECT readfile('/etc/passwd')" "WITH x AS (SELECT 1) DELETE FROM job" \
    "SELECT * FROM pragma_database_list" "EXPLAIN DELETE FROM job" 'SELEC' "" "SELECT * FROM nothing" \
    "CREATE TABLE x (y)" "INSERT INTO job (no) VALUES (9)" "VACUUM INTO 'copy.db'"; do
    sql "$bad"
    [ "$(cat status)" = 400 ] || fail "$bad: $(cat answer)"
  done
  [ ! -e x.db ] && [ ! -e copy.db ]
  equal jobs "$(ask 'SELECT count(*) FROM jobs')" 2
  # without an end, too large, and a crowd of both: stopped, and the rest goes on
  sql 'WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM c) SELECT x FROM c'
  equal truncated "$(answer .truncated)" true
  sql 'SELECT hex(zeroblob(1000000000))'
  status_is 400
  get api/v1/jobs/job1
  status_is 200
  send POST api/v1/sql '{"sql":"SELECT jobid FROM jobs ORDER BY 1"}' "Accept: text/csv"
  equal CSV "$(tr '\r\n' '  ' <answer | xargs)" 'jobid job1 job2'
  get api/v1/schema
  equal views "$(answer '[.views[].name] | contains(["jobs", "processes", "samples"])')" true
  serve_end
}

@test "a statement without an end is stopped, while others are answered" {
  jobs
  serve
  local i
  for i in 1 2 3 4; do
    mkdir "c$i"
    (
      cd "c$i" || exit
      sql 'WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c'
    ) 3>&- &
  done
  sleep 1
  local begin=$SECONDS
  get api/v1/jobs/job1
  status_is 200
  at_most "seconds beside them, which take 28" $((SECONDS - begin)) 15
  # the server ends at once, with what it started
  begin=$SECONDS
  pgrep -P "$SERVER" >children || fail "no statement runs"
  serve_end
  at_most "seconds to end" $((SECONDS - begin)) 15
  wait
  ! xargs ps -o pid= -p <children || fail "still running"
}

@test "requests that are none" {
  jobs
  serve
  client malformed "$URL" "$TOKEN" >said || fail "$(cat said)"
  serve_end
}

@test "rare methods and headers, and bodies that lie" {
  jobs
  serve
  client unusual "$URL" "$TOKEN" >said || fail "$(cat said)"
  serve_end
}

@test "slow clients and a crowd of connections delay nobody" {
  jobs
  serve
  local before during left got ok longest
  read -r before during left <<<"$(client slow "$URL" "$TOKEN" 300)"
  at_most "seconds beside slow clients, which take 10" "$during" 8
  equal "slow clients that were not closed ($before)" "$left" 0
  # 10,000 in the long tests, if so many files can be open
  local crowd=1500 least=700
  if [ -n "${PL_LONG:-}" ] && [ "$(ulimit -Hn)" -ge 12000 ]; then crowd=10000 least=10000; fi
  read -r got ok longest <<<"$(client crowd "$URL" "$TOKEN" "$crowd")"
  at_least connections "$got" "$least"
  equal answers "$ok" "$got"
  at_most "seconds in the crowd" "$longest" 8
  # what they needed is given back
  ldd "$PL_BUILD/bin/plimsoll" | grep -q asan ||
    at_most "KiB after the crowd" "$(awk '/VmRSS/ { print $2 }' "/proc/$SERVER/status")" 40000
  get healthz
  status_is 200
  serve_end
}

@test "the store disappears and returns" {
  jobs
  serve
  get api/v1/jobs/job1
  status_is 200
  mkdir away
  mv "$STORE"* away
  get api/v1/jobs/job1
  status_is 503
  answer .error | grep -q "there is no store '$STORE'"
  [ -n "$(header retry-after)" ]
  get healthz
  status_is 503
  get api/v1/jobs/job1/tree
  status_is 503
  [ ! -e "$STORE" ]
  mv away/* .
  get api/v1/jobs/job1
  status_is 200
  # another one at its place
  plimsoll run -q --db "$WORK/new.db" -j job9 true
  plimsoll submit -q --db "$WORK/new.db" "$PLIMSOLL_PREFIX/job9"
  mv new.db "$STORE"
  get api/v1/jobs/job9
  status_is 200
  get api/v1/jobs/job1
  status_is 404
  # damaged
  echo rubbish >broken
  mv broken "$STORE"
  get healthz
  status_is 503
  serve_end
}

@test "a server that is killed while it writes leaves a store with all or nothing of it" {
  jobs
  local i pid
  for i in 1 2 3 4 5 6; do
    serve --write
    python3 - "$URL" "$TOKEN" "$i" <<'P' 3>&- &
import http.client, json, sys, urllib.parse
u = urllib.parse.urlsplit(sys.argv[1])
try:
    for n in range(100000):
        c = http.client.HTTPConnection(u.hostname, u.port, timeout=5)
        notes = {"n%d" % k: "%s.%d" % (sys.argv[3], n) for k in range(50)}
        c.request("PUT", "/api/v1/jobs/job1/annotations", json.dumps({"annotations": notes}),
                  {"Authorization": "Bearer " + sys.argv[2], "Content-Type": "application/json"})
        c.getresponse().read()
except OSError:
    pass
except http.client.HTTPException:
    pass
P
    pid=$!
    sleep "0.$((3 + i))"
    kill -KILL "$SERVER"
    wait "$SERVER" "$pid" || true
    equal "different values" "$(plimsoll show --json job1 | jq -c '.annotations | [length, ([.[]] | unique | length)]')" '[50,1]'
    plimsoll db check >checked || fail "$(cat checked)"
  done
}

@test "a job that runs on this host appears with its directory, and its page follows it" {
  jobs
  serve
  plimsoll run -q -j live --name running --sample 100ms -- sh -c 'sleep 8; exit 5' 3>&- &
  local run=$! begin
  begin=$(date +%s%3N)
  until get api/v1/running && [ "$(jq -r '.[].jobid' answer)" = live ]; do
    at_most "milliseconds until it appears" $(($(date +%s%3N) - begin)) 20000
  done
  get api/v1/jobs/live
  status_is 200
  equal job "$(answer '[.jobname, .running, .end] | tostring')" '["running",true,null]'
  get api/v1/running
  equal running "$(answer '[.[] | .jobid] | tostring')" '["live"]'
  get api/v1/jobs/live/page
  grep -q '<title>Job live, running' answer
  get api/v1/jobs/live/procs
  status_is 200
  client events "${URL}api/v1/jobs/live/live" "$TOKEN" 20 >events 3>&- &
  local events=$!
  wait $run || true
  wait $events
  equal last "$(tail -n 1 events | cut -d' ' -f2)" end
  at_least "events before" "$(grep -c ' job$' events)" 2
  at_most "seconds to the first" "$(head -n 1 events | cut -d' ' -f1)" 10
  get api/v1/running
  equal running "$(jq -c . answer)" '[]'
  serve_end
}

@test "a job that a collector feeds is followed in its store" {
  use_store
  collector c --bind 'tcp://127.0.0.1:*' --sink "store:$STORE"
  deliver n1 1 5
  until_stored c 5
  serve
  get 'api/v1/jobs?status=running&sort=jobid'
  equal running "$(answer '[.jobs[] | .jobid] | join(" ")')" '1000 1001 1002 node:n1:2027-01-15'
  client events "${URL}api/v1/jobs/1001/live" "$TOKEN" 3 >events 3>&- &
  local events=$! i
  for i in 2 3; do
    until [ "$(grep -c ' job$' events)" -ge $((i - 1)) ]; do sleep 0.05; done
    deliver n1 $((i * 5 - 4)) $((i * 5))
    until_stored c $((i * 5))
    local begin
    begin=$(date +%s%3N)
    until [ "$(grep -c ' job$' events)" -ge "$i" ]; do
      sleep 0.05
      at_most "milliseconds until an event" $(($(date +%s%3N) - begin)) 20000
    done
  done
  wait $events
  equal events "$(cut -d' ' -f2 events | xargs)" 'job job job'
  serve_end
  collector_stop "$PID"
}

@test "a Unix socket knows its user" {
  jobs
  export XDG_RUNTIME_DIR=$WORK
  plimsoll serve --listen "unix:$WORK/s" >printed 2>serve.err 3>&- &
  SERVER=$!
  until [ -s printed ]; do sleep 0.05; done
  equal address "$(cat printed)" "unix:$WORK/s"
  equal mode "$(stat -c %a s)" 600
  client unix "$WORK/s" /api/v1/jobs/job1
  status_is 200
  equal job "$(answer .jobid)" job1
  serve_end
  [ ! -e s ]
}

@test "other hosts are not let in, and a taken port is said" {
  use_store
  local address
  for address in 0.0.0.0:0 '[::]:0' 192.0.2.1:80 example.org:80 127.0.0.2:0 8420 127.0.0.1:99999 unix:; do
    status=0
    timeout 10 plimsoll serve --listen "$address" >out 2>err || status=$?
    equal "status for $address" "$status" 2
    [ ! -s out ]
  done
  plimsoll serve --listen 0.0.0.0:80 2>err || true
  grep -q 'other hosts could reach this address.*ssh -L' err
  serve
  local port=${URL##*:}
  run -1 --separate-stderr plimsoll serve --listen "127.0.0.1:${port%/}"
  # shellcheck disable=SC2154
  [[ $stderr == *"is in use; if it is a server of yours, \`plimsoll serve --link\` prints a link to it"* ]] || fail "$stderr"
  serve_end
}

@test "the address of a page is that of a job that the running server shows" {
  use_store
  plimsoll run -q --submit -j mine -- true
  plimsoll run -q --submit --db "$PWD/other.db" -j theirs -- true
  rm -r "$PLIMSOLL_PREFIX" # a server also shows job directories
  serve --db "$PWD/other.db"
  run -1 --separate-stderr plimsoll show --url mine
  # shellcheck disable=SC2154
  [[ $stderr == *"shows another store, without this job"* ]] || fail "$stderr"
  equal address "$(plimsoll show --db "$PWD/other.db" --url theirs)" "${URL}job/theirs"
  kill -KILL "$SERVER"
  wait "$SERVER" || :
  run -1 --separate-stderr plimsoll show --db "$PWD/other.db" --url theirs
  [[ $stderr == *"does not answer (Connection refused)"* ]] || fail "$stderr"
}

@test "an address without a page is said as a page to a browser, as JSON to scripts" {
  use_store
  serve
  client ask GET "${URL}nothing/here" "Accept: text/html,*/*;q=0.8"
  status_is 404
  equal type "$(header content-type)" "text/html; charset=utf-8"
  grep -q '<h1>There is no such page</h1>' answer
  client ask GET "${URL}nothing/here"
  status_is 404
  equal error "$(answer .error)" 'there is nothing at this address'
  serve_end
}

@test "below a path, for a proxy" {
  jobs
  serve --base-path /plimsoll
  [[ $URL == */plimsoll/ ]]
  client ask GET "$LINK"
  status_is 303
  equal place "$(header location)" /plimsoll/
  [[ $(header set-cookie) == *"; Path=/plimsoll/;"* ]]
  get api/v1/jobs/job1
  status_is 200
  client ask GET "${URL%plimsoll/}api/v1/jobs/job1" "Authorization: Bearer $TOKEN"
  status_is 404
  serve_end
  run -2 plimsoll serve --base-path 'x/'
}

@test "memory stays small" {
  jobs
  serve
  local i rss
  rss=$(awk '/VmRSS/ { print $2 }' "/proc/$SERVER/status")
  # without sanitizers
  ldd "$PL_BUILD/bin/plimsoll" | grep -q asan || at_most "KiB when idle" "$rss" 15000
  for i in 1 2 3; do
    for route in page report tree procs where; do get "api/v1/jobs/job$((i % 2 + 1))/$route"; done
  done
  rss=$(awk '/VmRSS/ { print $2 }' "/proc/$SERVER/status")
  ldd "$PL_BUILD/bin/plimsoll" | grep -q asan || at_most "KiB afterwards" "$rss" 80000
  serve_end
}
