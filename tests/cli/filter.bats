#!/usr/bin/env bats
# bats file_tags=epmt
# Filters of jobs and processes, as query and --where take them: exact values from jobs made here, names that
# are hostile, and the numbers that EPMT's own tests expect of its sample jobs. The language itself is tested by
# tests/unit/store/test_filter.c. PL_ENGINE chooses the engine, as for store.bats.

bats_require_minimum_version 1.5.0
load store
load three_jobs

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}

# jobs FILTER [OPTION...]: the ids, in one line
jobs() {
  plimsoll query --ids "$@" | tr '\n' ' '
}

# procs FILTER [OPTION...]: the process ids that the kernel gave
procs() {
  plimsoll query --procs --json "$@" | jq -r '.[].pid' | tr '\n' ' '
}

# bats test_tags=engine
@test "query: jobs and processes by every kind of key" {
  three_jobs
  while IFS='|' read -r filter want; do
    equal "$filter" "$(jobs "$filter")" "$want"
  done <<'L'
|alpha-1 beta-2 Alpha_3 
jobid ~ *lpha*|alpha-1 Alpha_3 
jobname ~ ?eather|alpha-1 Alpha_3 
jobname ~ 0%|beta-2 
jobname ~ e%t|
duration > 1m and cpu_time > 1m|beta-2 
exitcode != 0|beta-2 
rssmax >= 1G|alpha-1 
rssmax > 1G|
rssmax > 1073741823|alpha-1 
sum.rssmax > 1G|alpha-1 
max.PERF_COUNT_SW_CPU_CLOCK >= 12|alpha-1 
host = n9, n3|alpha-1 beta-2 
host !~ n[1-9]|alpha-1 beta-2 Alpha_3 
host != n1|beta-2 
not tag.run|Alpha_3 
tag.exp = a, 'a:b'|alpha-1 Alpha_3 
tags = 'run:1;exp:b'|beta-2 
tags >= 'run:1'|alpha-1 beta-2 
annotation.note ~ x|alpha-1 
not annotations|beta-2 Alpha_3 
when = 2020-09-13T13:15Z|beta-2 
after = 2020-09-13T13:00Z and before = 2020-09-13T13:30Z|beta-2 
overlaps(jobid = beta-2)|beta-2 
overlaps(duration > 1s) and not overlaps(user = bob)|alpha-1 Alpha_3 
process(exename = cc1 and ppid = 104)|alpha-1 
process(tag.op = cut) or process(exename ~ tru?)|alpha-1 Alpha_3 
process(job(user = bob) and pid = 8)|beta-2 
L
  while IFS='|' read -r filter want; do
    equal "$filter" "$(procs "$filter")" "$want"
  done <<'L'
jobid = beta-2|7 8 
exename = sed and args ~ c/|102 103 
args = '' and user = alice|9 
path = /bin/ocean|7 8 
host = n9|106 
tag.op = cut and tag.n = 2|102 103 
tags = 'op:cut;n:2'|102 103 
tags >= 'op:cut'|101 102 103 
tags = '' and exename ~ s*|100 
tag.op !~ cut|105 
rssmax >= 1G|105 
cpu_time > 10s|105 7 
inclusive_cpu_time > 30s and depth = 1|104 
children >= 1|100 104 
exitsignal != 0|106 
parent(exename = make)|105 
ancestor(pid = 100) and not ancestor(exename = make)|101 102 103 104 
descendant(exename = cc1)|100 104 
child(child(exename = cc1))|100 
when = 2020-09-13T12:00:02Z|100 101 
before = 2020-09-13T12:00:07Z|101 102 103 
event.PERF_COUNT_SW_CPU_CLOCK > 7|105 
job(tag.exp = b)|7 8 
L
}

# bats test_tags=engine
@test "query: of two tags with the same key the last counts, as for ops" {
  use_store
  job twice <<'J'
{"user": "u", "start": 0, "end": 9, "procs": [
  {"pid": 1, "ppid": 0, "exename": "a", "start": 0, "end": 9, "tags": "op:outer;n:1;op:inner"},
  {"pid": 2, "ppid": 1, "exename": "b", "start": 0, "end": 9, "tags": "op:outer"},
  {"pid": 3, "ppid": 1, "exename": "c", "start": 0, "end": 9, "tags": "op:;xop:outer;n"}]}
J
  equal last "$(procs 'tag.op = inner')" '1 '
  equal first "$(procs 'tag.op = outer')" '2 '
  equal like "$(procs 'tag.op ~ in*')" '1 '
  equal empty "$(procs "tag.op = ''")" '3 '
  equal alone "$(procs 'tag.n = 1')" '1 3 '
  equal within "$(jobs 'process(tag.op = inner and pid = 1)')" 'twice '
  equal not_within "$(jobs 'process(tag.op = outer and pid = 1)')" ''
  equal ops "$(plimsoll ops twice --by op --json | jq -c 'map([.tags.op, .images]) | sort')" '[["",1],["inner",1],["outer",1]]'
}

# bats test_tags=engine
@test "query: patterns of annotations see the text, not how it is stored" {
  use_store
  one='"procs": [{"pid": 1, "ppid": 0, "exename": "a", "start": 0, "end": 9}]'
  job quoted <<<"{\"user\": \"u\", \"start\": 0, \"end\": 9, \"annotations\": {\"note\": \"say \\\"hi\\\"\"}, $one}"
  job lines <<<"{\"user\": \"u\", \"start\": 0, \"end\": 9, \"annotations\": {\"note\": \"a\\nb\\\\c*\"}, $one}"
  job number <<<"{\"user\": \"u\", \"start\": 0, \"end\": 9, \"annotations\": {\"note\": 35}, $one}"
  job plain <<<"{\"user\": \"u\", \"start\": 0, \"end\": 9, \"annotations\": {\"note\": \"überall\"}, $one}"
  while IFS='|' read -r pattern want; do
    equal "$pattern" "$(jobs "annotation.note ~ '$pattern'" --order jobid)" "$want"
  done <<'T'
*"hi"|quoted 
"hi|quoted 
say*|quoted 
"*|
*b\\c\*|lines 
b\\c\*|
3?|number 
5|number 
?berall|plain 
über|plain 
*|lines number plain quoted 
T
  equal newline "$(jobs $'annotation.note ~ \'a\nb*\'')" 'lines '
  equal none "$(jobs "annotation.note !~ '*\"hi\"'" --order jobid)" 'lines number plain '
}

# bats test_tags=engine
@test "query: order, limit, offset and forms" {
  three_jobs
  equal order "$(jobs '' --order -duration)" 'beta-2 alpha-1 Alpha_3 '
  equal "order by a metric" "$(jobs 'rssmax' --order -rssmax -n 1)" 'alpha-1 '
  equal "order by text" "$(jobs 'user = alice' --order jobid | tr ' ' '\n' | sort | tr '\n' ' ')" 'Alpha_3 alpha-1 '
  equal limit "$(jobs '' --offset 1 --order start -n 1)" 'beta-2 '
  equal words "$(jobs user = bob)" 'beta-2 '
  equal "processes of all jobs" "$(procs 'cpu_time > 500ms' --order -cpu_time)" '7 105 100 106 '
  equal "by a text, of all jobs" "$(procs 'pid != 101, 102' --order exename)" '105 106 104 7 8 103 100 9 '
  equal "by a text, descending" "$(procs 'pid != 101, 102' --order -exename -n 3)" '9 100 103 '
  equal "and the next" "$(procs 'cpu_time > 500ms' --order -cpu_time --offset 1 -n 2)" '105 100 '
  equal json "$(plimsoll query --json 'user = bob' | jq -c '.[] | [.jobid, .user, .hosts, .tags.exp]')" '["beta-2","bob",["n2","n3"],"b"]'
  equal csv "$(plimsoll query --csv 'user = bob' | cut -d, -f1-3)" $'jobid,jobname,user\nbeta-2,ocean_100%,bob'
  equal table "$(plimsoll query 'user = bob' | awk '{print $1}')" $'JOBID\nbeta-2'
  equal "processes as JSON" "$(plimsoll query --procs --json 'pid = 9' | jq -c '.[] | [.jobid, .pid, .parent, .exename]')" '["Alpha_3",9,null,"true"]'
  equal "processes as CSV" "$(plimsoll query --procs --csv 'pid = 7, 9' | cut -d, -f1)" $'jobid\nbeta-2\nAlpha_3'
  equal "processes as a table" "$(plimsoll query --procs 'pid = 7, 9' | awk '{print $1, $2}')" $'JOBID PID\nbeta-2 7\nAlpha_3 9'
  equal "ids of processes" "$(plimsoll query --procs --ids 'pid = 8')" "$(ask "SELECT id FROM processes WHERE pid = 8")"
  run -0 --separate-stderr plimsoll query 'user = nobody'
  [[ -z $output && $stderr == *"no job in "*" matches the filter"* ]] || fail "$output $stderr"
  run -0 --separate-stderr plimsoll query --procs 'user = nobody'
  [[ $stderr == *"no process in "*" matches the filter"* ]] || fail "$output $stderr"
  equal none "$(plimsoll query --json 'user = nobody')" '[]'
}

# bats test_tags=engine
@test "--where of list and procs, with their options" {
  three_jobs
  equal list "$(plimsoll list --ids --where 'duration >= 10m' --user alice)" alpha-1
  equal "list, words" "$(plimsoll list --ids alpha-1 beta-2 --where 'exitcode = 0')" alpha-1
  equal "list, order" "$(plimsoll list --ids --where 'user' --order -rssmax | head -n 1)" alpha-1
  equal procs "$(plimsoll procs --json alpha-1 --where 'parent(pid = 100)' --exe sed | jq -c 'map(.pid)')" '[101,102,103]'
  run -2 plimsoll list --where 'foo = 1'
  [[ $output == *"error: filter: col 1: unknown key 'foo'"* ]] || fail "$output"
  run -2 plimsoll procs --where 'exename < a'
  [[ $output == *"error: filter: col 9: 'exename' does not take <; it takes = != ~ !~"* ]] || fail "$output"
}

# bats test_tags=engine
@test "names with quotes, signs of SQL and of patterns, and of any length" {
  use_store
  long=$(printf 'x%.0s' {1..900})
  names=("it's" '"; DROP TABLE job; --' '100%' 'a_b' 'back\slash' 'a*b' 'a?b' '[a]' '$1' '?' "' OR '1' = '1" 'é ü' "$long")
  rows='' n=0
  for name in "${names[@]}"; do
    n=$((n + 1))
    rows+=",$(jq -nc --arg e "$name" --argjson n $n '{pid: (100 + $n), ppid: 1, exename: "p", args: $e, start: 1, end: 2, tags: "k:1"}')"
  done
  notes=$(printf '%s\n' "${names[@]}" | jq -Rnc '[inputs | {(.): .}] | add')
  jq -nc --argjson procs "[${rows:1}]" --argjson notes "$notes" \
    '{user: "owner", start: 0, end: 9, tags: $notes, annotations: $notes, procs: $procs}' | job odd
  n=0
  for name in "${names[@]}"; do
    n=$((n + 1))
    quoted="'${name//"'"/"''"}'"
    pattern=${quoted//\\/\\\\}
    pattern=${pattern//\*/\\*}
    pattern=${pattern//\?/\\?}
    equal "args = $name" "$(procs "args = $quoted and args ~ $pattern")" "$((100 + n)) "
    equal "not $name" "$(plimsoll query --procs --ids "args != $quoted" | wc -l)" $((${#names[@]} - 1))
    equal "notes, $name" "$(jobs "tag.$quoted = $quoted and tag.$quoted ~ $pattern and annotation.$quoted = $quoted")" 'odd '
    equal "no notes, $name" "$(jobs "tag.$quoted = x or annotation.$quoted = x or not tag.$quoted or user = $quoted or jobid ~ $pattern")" ''
  done
  for n in 0 2 8 9; do
    jq -nc --arg v "${names[n]}" '{name: $v, user: $v, start: 0, end: 9, procs: [{pid: 1, ppid: 1, exename: "x", start: 0, end: 1}]}' | job "job$n"
    quoted="'${names[n]//"'"/"''"}'"
    equal "${names[n]}" "$(jobs "user = $quoted and jobname = $quoted")" "job$n "
  done
  equal "one character" "$(jobs 'user ~ ?')" 'job9 '
  equal "nothing is lost" "$(ask 'SELECT count(*) FROM jobs')" 5
  # bytes that are not UTF-8
  run -2 plimsoll query $'user = \xff'
  [[ $output == *"col 8: the value is not valid UTF-8"* ]] || fail "$output"
}

@test "errors: the column, the reason and what to do; exit status 2" {
  use_store
  run -2 plimsoll query 'user = alice and durration > 1h'
  equal key "$output" "plimsoll: error: filter: col 18: unknown key 'durration'; did you mean 'duration'?"
  run -2 plimsoll query 'when = 2020-09-13 12:00'
  [[ $output == *"col 19: expected and, or, or the end before '12:00'; quote a value with blanks"* ]] || fail "$output"
  run -2 plimsoll query --order nothing
  [[ $output == *"--order: cannot sort jobs by 'nothing'; it takes start, end"* ]] || fail "$output"
  run -2 plimsoll query --procs --order tags
  [[ $output == *"cannot sort processes by 'tags'"* ]] || fail "$output"
  # a filter is checked before the store is opened
  run -1 plimsoll query 'user = alice'
  [[ $output == *"there is no store"* || $output == *store* ]] || fail "$output"
}

@test "--keys: every key, for people and programs; the manual has the same" {
  plimsoll query --keys --json >keys.json
  equal key "$(jq -c '.[] | select(.of == "jobs" and .key == "rssmax")' keys.json)" \
    '{"of":"jobs","key":"rssmax","value":"size","operators":"= != < <= > >=","help":"maximum resident set size of the image"}'
  at_least keys "$(jq length keys.json)" 100
  equal csv "$(plimsoll query --keys --csv | sed 1d | wc -l)" "$(jq length keys.json)"
  plimsoll help --format=man query >page
  jq -r '.[].key' keys.json | sort -u | while read -r key; do
    grep -q -x -F "\\fB$key\\fR" page || fail "the manual has no $key"
  done
}

# bats test_tags=engine
@test "every example of docs/query.md selects something, and not everything" {
  three_jobs
  total=3 processes=10
  grep -E '^    plimsoll ' "$PL_SOURCE/docs/query.md" | sed 's/^    //' >examples
  at_least examples "$(wc -l <examples)" 45
  while read -r line; do
    run -0 --separate-stderr bash -c "$line"
    [ -z "$stderr" ] || fail "$line: $stderr"
    case $line in
      *--json*) count=$(jq length <<<"$output") ;;
      *--ids*) count=${#lines[@]} ;;
      *) count=$((${#lines[@]} - 1)) ;;
    esac
    all=$total
    [[ $line != *procs* ]] || all=$processes
    [ "$count" -gt 0 ] && [ "$count" -lt "$all" ] || fail "$line: $count of $all"
  done <examples
  # what the page says about an error
  grep -A 1 -F '    $ plimsoll' "$PL_SOURCE/docs/query.md" | sed 's/^    //' >said
  run -2 bash -c "$(sed -n '1s/^\$ //p' said)"
  equal error "$output" "$(sed -n 2p said)"
}

# bats test_tags=engine
@test "EPMT's sample jobs give the numbers of EPMT's tests" {
  [ -d "$DATA/epmt/query" ] || skip "no sample data beside the project"
  use_store
  plimsoll submit -q "$DATA"/epmt/query/*.tgz
  count() { plimsoll query --procs --ids "$1" | wc -l; }
  # get_procs by job, host and duration
  equal 685016 "$(count 'jobid = 685016')" 3412
  equal "two jobs" "$(count 'jobid = 685016, 685000')" 6892
  equal "two hosts" "$(count 'jobid = 685000, 685003 and host = pp208, pp212')" 7265
  equal pp212 "$(count 'jobid = 685000, 685003 and host = pp212')" 3785
  equal pp209 "$(count 'jobid = 685000, 685003 and host = pp209')" 0
  equal long "$(count 'duration > 1s')" 630
  equal longest "$(plimsoll query --procs --json '' --order -duration -n 1 | jq '.[0].duration')" 7005558348
  # the tree
  equal children "$(count 'jobid = 685000 and parent(pid = 6098)')" 735
  equal descendants "$(count 'jobid = 685000 and ancestor(pid = 6098)')" 3448
  # EPMT's tests compare sums of the pids, sorted as texts
  for of in 'parent 32c538b6313427ebd7a634ca1ea36de0' 'ancestor f0dfe011c0df53e3329324a2ca8f9b3e'; do
    plimsoll query --procs --json "jobid = 685000 and ${of% *}(pid = 6098)" | jq -j 'map(.pid | tostring) | sort | join(", ")' >pids
    equal "$of" "$(md5sum <pids)" "${of#* }  -"
  done
  equal ancestors "$(plimsoll query --procs --json 'jobid = 685000 and descendant(pid = 26860)' | jq -c 'map(.pid)')" '[6098,26859]'
  equal parent "$(plimsoll query --procs --json 'jobid = 685000 and child(pid = 26860)' | jq -c 'map(.pid)')" '[26859]'
  equal latest "$(plimsoll query --procs --json '' --order -start -n 1 | jq '.[0].depth')" 3
  # get_jobs: when and hosts, in the time zone of the test
  for t in '08:00 3' '07:00 0' '09:00 3' '10:00 0'; do
    equal "$t" "$(TZ=America/New_York plimsoll query --ids "when = '06/15/2019 ${t% *}'" | wc -l)" "${t#* }"
  done
  equal host "$(jobs 'host = pp208')" '685000 '
  # the same by EPMT's keywords
  equal "epmt, hosts" "$(epmt list procs fmt=terse jobs=685000,685003 hosts=pp208,pp212 | tr ',' '\n' | wc -l)" 7265
  equal "epmt, tags" "$(epmt list procs fmt=terse 685000 tags=op:hsmget | tr ',' '\n' | wc -l)" "$(count 'jobid = 685000 and tag.op = hsmget')"
  equal "tags, by SQL" "$(count 'jobid = 685000 and tag.op = hsmget')" \
    "$(ask "SELECT count(*) FROM processes WHERE jobid = '685000' AND ';' || tags || ';' LIKE '%;op:hsmget;%'")"
}
