#!/usr/bin/env bats
# The API of plimsoll serve: rows as JSON, CSV, Arrow and Parquet, pages of lists, and its OpenAPI document.

bats_require_minimum_version 1.5.0
load serve
load readers

ARROW=application/vnd.apache.arrow.file
PARQUET=application/vnd.apache.parquet

get() {
  local path=$1
  shift
  client ask GET "$URL$path" "Authorization: Bearer $TOKEN" "$@"
}

answer() {
  jq -r "$1" answer
}

# sql STATEMENT [NAME:VALUE...]
sql() {
  jq -nc --arg s "$1" '{sql: $s}' >body
  shift
  client ask POST "${URL}api/v1/sql" "Authorization: Bearer $TOKEN" "Content-Type: application/json" @body "$@"
}

jobs() {
  use_store
  plimsoll run -q -j job1 --name 007 --sample 50ms -t op:a --job-tags 'exp_name:E;exp_component:one' -- \
    sh -c 'true; ls / >/dev/null; sleep 0.2'
  plimsoll run -q -j 685000 --name second -t op:b --job-tags 'exp_name:E;exp_component:two' -- sh -c 'true; exit 3' || true
  plimsoll submit -q --remove "$PLIMSOLL_PREFIX/job1" "$PLIMSOLL_PREFIX/685000"
}

# read_rows arrow|wasm: of the answer, into the file rows
read_rows() {
  node "$PL_SOURCE/tests/readers/rows.mjs" "$1" answer >rows
}

# the rows of the answer with types, and of the same list as CSV, are the same
is_like_csv() {
  python3 - "$1" <<'P'
import csv, datetime, json, sys
table = json.load(open("rows"))
lines = list(csv.reader(open(sys.argv[1], newline="")))
assert lines[0] == list(table["types"]), (lines[0], table["types"])
assert len(lines) - 1 == len(table["rows"]), (len(lines), len(table["rows"]))
count = 0
for line, row in zip(lines[1:], table["rows"]):
    for (name, value), text in zip(row.items(), line):
        kind = table["types"][name]
        if value is None:
            want = ""
        elif kind == "Timestamp":
            want = value
            t = datetime.datetime.fromisoformat(text)
            text = round(t.timestamp() * 1e6)
        elif kind == "Float64":
            want, text = round(value, 9), round(float(text), 9)
        elif kind == "Int64":
            want, text = value, int(text)
        else:
            want, text = value, text[1:] if text[:1] == "'" and text[1:2] in tuple("=+-@\t\r") else text
        assert want == text, (name, value, text)
        count += value is not None
print(count)
P
}

@test "lists come as JSON, CSV, Arrow and Parquet, with the same values" {
  jobs
  serve
  local route
  for route in jobs jobs/job1/{procs,threads,ops,series,timeline,tree,where,efficiency,phases} "jobs/job1/series?metric=process.rss" \
    usage 'groups?by=exp_name' keys alerts models 'query?procs=1' 'query?numbers=1' 'explore?experiment=E' history; do
    get "api/v1/$route"
    [ "$(cat status)" = 200 ] || [ "$(cat status)" = 404 ] || fail "$route: $(cat answer)"
    [ "$(cat status)" = 200 ] || continue
    local etag
    etag=$(header etag)
    get "api/v1/$route" "Accept: text/csv"
    status_is 200
    [[ $(header content-type) == text/csv* ]] || fail "$route: $(header content-type)"
    cp answer table.csv
    [ "$(header etag)" != "$etag" ] || fail "$route: the ETag of CSV is that of JSON"
    etag=$(header etag)
    get "api/v1/$route" "Accept: $ARROW"
    status_is 200
    equal "type of $route" "$(header content-type)" "$ARROW"
    equal "begin of $route" "$(head -c 6 answer)" ARROW1
    [ "$(header etag)" != "$etag" ] || fail "$route: the ETag of Arrow is that of CSV"
    equal vary "$(header vary)" 'Accept, Accept-Encoding, Cookie'
    etag=$(header etag)
    if [ -e "$PL_NPM/installed" ]; then
      read_rows arrow || fail "$route: not readable"
      is_like_csv table.csv >count || fail "$route: $(cat count)"
    fi
    # each type has its place in the cache
    get "api/v1/$route" "Accept: $ARROW" "If-None-Match: $etag"
    status_is 304
    get "api/v1/$route" "Accept: text/csv" "If-None-Match: $etag"
    status_is 200
    get "api/v1/$route" "Accept: $PARQUET"
    equal "begin of $route" "$(head -c 4 answer)" PAR1
    if [ -e "$PL_NPM/installed" ] && [ "$(wc -l <table.csv)" -gt 1 ]; then
      read_rows wasm || fail "$route: not readable"
      is_like_csv table.csv >count || fail "$route: $(cat count)"
    fi
  done
  serve_end
}

@test "columns have the types of their values" {
  need_readers
  jobs
  serve
  get api/v1/jobs "Accept: $ARROW"
  read_rows arrow
  # ids and names are texts, also if they are digits
  equal types "$(jq -r '.types | [.jobid, .jobname, .start, .duration, .exitcode] | join(" ")' rows)" 'Utf8 Utf8 Timestamp Int64 Int64'
  equal ids "$(jq -r '[.rows[] | .jobid, .jobname] | sort | join(" ")' rows)" '007 685000 job1 second'
  get api/v1/jobs/job1/where "Accept: $ARROW"
  read_rows arrow
  equal types "$(jq -r '.types | [.host, .part, .seconds, .share] | join(" ")' rows)" 'Utf8 Utf8 Float64 Float64'
  get "api/v1/jobs/job1/series?metric=process.rss" "Accept: $ARROW"
  read_rows arrow
  equal "type of a time" "$(jq -r .types.time rows)" Timestamp
  equal samples "$(jq '.rows | length' rows)" "$(plimsoll series --json -m process.rss job1 | jq '[.[].samples | length] | add')"
  sql "SELECT 'text' AS t, 7 AS i, 0.1 AS r, NULL AS n, '' AS e, 1 AS i" "Accept: $ARROW"
  read_rows arrow
  equal values "$(jq -c .rows rows)" '[{"t":"text","i":7,"r":0.1,"n":null,"e":"","i_2":1}]'
  equal types "$(jq -r '.types | [.t, .i, .r, .e] | join(" ")' rows)" 'Utf8 Int64 Float64 Utf8'
  serve_end
}

@test "the header Accept chooses, by weight and exactness; what there is not is 406" {
  jobs
  serve
  local row type
  while IFS='|' read -r type row; do
    get api/v1/jobs/job1/procs "Accept: $row"
    [ "$(cat status)" = 200 ] || fail "$row: $(cat status)"
    [[ $(header content-type) == "$type"* ]] || fail "$row: $(header content-type), want $type"
  done <<'L'
application/json|*/*
application/json|application/*
application/json|
application/json|text/html,application/xhtml+xml,*/*;q=0.8
text/csv|text/*
text/csv|text/csv, */*;q=0.1
text/csv|TEXT/CSV
text/csv|application/json;q=0.5, text/csv;q=0.8
text/csv|application/json;q=0, */*
application/vnd.apache.arrow.file|application/vnd.apache.arrow.file, application/json;q=0.9
application/vnd.apache.parquet|application/vnd.apache.parquet;v=1
L
  for row in application/xml application/vnd.apache.arrow.stream 'application/json;q=0' ';;;,,' 'a/b;q=1, c'; do
    get api/v1/jobs/job1/procs "Accept: $row"
    status_is 406
    answer .remedy | grep -q "application/json, text/csv, $ARROW, $PARQUET" || fail "$(cat answer)"
  done
  # not rows
  get api/v1/jobs/job1 "Accept: text/csv"
  status_is 406
  [[ $(answer .remedy) == *"answers application/json" ]] || fail "$(cat answer)"
  # types of their own
  for row in page export metrics; do
    [ "$row" = metrics ] || row=api/v1/jobs/job1/$row
    get "$row" "Accept: image/png"
    status_is 200
  done
  sql 'SELECT 1' "Accept: application/xml"
  status_is 406
  sql 'SELECT nothing' "Accept: $PARQUET"
  status_is 400
  answer .error | grep -q nothing
  serve_end
}

@test "the rows of a statement are a file with types" {
  jobs
  plimsoll sql -o rows.parquet "SELECT jobid, 1.5 AS x FROM jobs ORDER BY jobid"
  equal begin "$(head -c 4 rows.parquet)" PAR1
  plimsoll sql -o rows.json "SELECT jobid, 1.5 AS x, NULL AS n FROM jobs ORDER BY jobid"
  equal rows "$(jq -c . rows.json)" '[{"jobid":"685000","x":1.5,"n":null},{"jobid":"job1","x":1.5,"n":null}]'
  plimsoll sql -o rows.csv "SELECT '=1' AS f"
  equal CSV "$(cat rows.csv)" "f
'=1"
  # a file stays as it is if the statement fails
  run -1 plimsoll sql -o rows.csv 'SELECT * FROM nothing'
  equal CSV "$(tail -1 rows.csv)" "'=1"
  run -2 --separate-stderr plimsoll sql -o rows.db 'SELECT 1'
  # shellcheck disable=SC2154
  [[ $stderr == *"rows cannot be added to the database 'rows.db'"* ]] || fail "$stderr"
  run -2 --separate-stderr plimsoll sql -o rows 'SELECT 1'
  [[ $stderr == *"the suffix of 'rows' selects no format"* ]] || fail "$stderr"
  run -1 --separate-stderr plimsoll sql -o /nowhere/rows.csv 'SELECT 1'
  ! compgen -G '.rows*' || fail 'a temporary file is left'
  if [ -e "$PL_NPM/installed" ]; then
    cp rows.parquet answer
    read_rows wasm
    equal rows "$(jq -c '.rows[1]' rows)" '{"jobid":"job1","x":1.5}'
  fi
}

# next: the address of the next page
next() {
  header link | sed -n 's/^<\/\(.*\)>; rel="next"$/\1/p'
}

@test "lists come in pages, each of which names the next" {
  use_store
  python3 - <<'P' | native_job jobs/many --id many --spec
import json
procs = [{"pid": 1000 + i, "ppid": 1, "exename": "p%d" % (i % 7), "args": "", "start": i / 1000, "end": 50,
          "hostname": "n1", "tags": "", "metrics": {"usertime": 1000 * i}} for i in range(250)]
print(json.dumps({"name": "many", "user": "user", "start": 0, "end": 60, "procs": procs}))
P
  plimsoll submit -q jobs/many
  serve
  local path='api/v1/jobs/many/procs?limit=100&order=-cpu_time&where=exename%20!%3D%20p0' seen=0 pages=0
  plimsoll procs --json --order=-cpu_time --where 'exename != p0' many | jq -c '.[].pid' >want
  : >got
  while [ -n "$path" ]; do
    get "$path"
    status_is 200
    answer '.[].pid' >>got
    path=$(next)
    pages=$((pages + 1))
    at_most pages "$pages" 5
  done
  cmp want got
  equal pages "$pages" 3
  get 'api/v1/jobs/many/procs?limit=100&offset=100' "Accept: text/csv"
  equal "next page of CSV" "$(next)" 'api/v1/jobs/many/procs?offset=200&limit=100'
  get 'api/v1/jobs/many/procs?limit=100&offset=200'
  equal "no next page" "$(header link)" ''
  # threads
  plimsoll threads --json many >all
  get 'api/v1/jobs/many/threads?limit=7&offset=5'
  jq -c '.[5:12]' all >want
  jq -c . answer | cmp - want
  plimsoll threads --csv --limit 3 --offset 248 many | tail -n +2 | wc -l | grep -qx ' *2'
  # jobs: by a cursor
  for i in 1 2 3 4 5; do plimsoll run -q -j "j$i" -- true; done
  plimsoll submit -q "$PLIMSOLL_PREFIX"/j?
  path='api/v1/jobs?limit=2&sort=jobid' seen=''
  while [ -n "$path" ]; do
    get "$path"
    seen+=$(answer '[.jobs[].jobid] | join(" ")')/
    path=$(next)
  done
  equal jobs "$seen" 'j1 j2/j3 j4/j5 many/'
  get 'api/v1/jobs?limit=2&sort=jobid' "Accept: text/csv"
  [ -n "$(next)" ]
  for bad in 0 1001 -1 x; do
    get "api/v1/jobs?limit=$bad"
    status_is 400
  done
  serve_end
}

@test "the OpenAPI document is valid, and has what the server does" {
  jobs
  serve --base-path /x
  get api/v1/openapi.json
  cp answer openapi.json
  python3 "$PL_SOURCE/tests/cli/openapi_check.py" openapi.json >said || fail "$(cat said)"
  equal base "$(answer '.servers[0].url')" /x
  equal "limits of a page" "$(answer '.paths["/api/v1/jobs"].get.parameters[] | select(.name == "limit").schema | [.minimum, .maximum, .default] | join(" ")')" '1 1000 50'
  # as many operations as the table of routes has addresses that are not pages
  equal operations "$(answer '[.paths[] | keys[]] | length')" \
    "$(grep -c '^ROUTE(' "$PL_SOURCE/src/web/routes.def" | awk -v pages="$(grep -c 'WEB_HTML' "$PL_SOURCE/src/web/routes.def")" '{ print $1 - pages }')"
  # every operation answers what the document says: as a stranger, with an unknown type, method and parameter
  client openapi "${URL}" "$TOKEN" openapi.json >said || fail "$(cat said)"
  at_least answers "$(sed -n 's/ answers$//p' said)" 200
  serve_end
}
