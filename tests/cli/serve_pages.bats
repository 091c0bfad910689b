#!/usr/bin/env bats
# The pages of `plimsoll serve` as a browser shows them: one Chromium looks at all of them (serve_pages_check.py), the
# tests hold what it saw against what the commands say of the same store.

# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash" || exit 1
load browser

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  export PLIMSOLL_PREFIX=$PWD/prefix XDG_RUNTIME_DIR=$PWD/run PLIMSOLL_DB=$PWD/jobs.db
  export PLIMSOLL_FAILED_DIR=$PWD/failed
  mkdir home failed
  echo none >failed/broken.tgz
  echo 'broken.tgz: not an archive' >failed/broken.tgz.reason
  mkdir -m 700 run
  "$PROGRAMS/bench-site" jobs.db 400 20 30 7 || return 1
  plimsoll run -q --submit --sample 100ms -j known-good --tags part:all -- sh -c 'for i in 1 2 3; do sleep 0.2; done' || return 1
  plimsoll run -q --submit -j known-bad -- sh -c 'sleep 0.1; exit 3' || :
  plimsoll run -q --submit --sample 100ms -j other -- sleep 0.7 || return 1
  plimsoll tag -q known-good exp_name:checked exp_component:one || return 1
  plimsoll model -q create norm --where 'status = completed' || return 1
  plimsoll query --ids -n 20 'status = completed and duration > 1h' >small
  # shellcheck disable=SC2046 # ids have no blanks
  plimsoll model -q create small $(cat small) || return 1
  "$PROGRAMS/bench-site" nodes.db 60 5 3 7 || return 1
  plimsoll query --db nodes.db --json -n 1 'status = running' | jq -r '.[0].hosts[0]' >host
  export PLIMSOLL_COLLECT_LOG=$PWD/log RUNTIME_DIRECTORY=$PWD/run
  look serve_pages_check.py "$PWD/jobs.db" "$PWD/nodes.db" "$(cat host)"
}

count() {
  plimsoll query --db "$BATS_FILE_TMPDIR/jobs.db" --ids -n 100000 "$@" | wc -l
}

@test "no page says anything on the console, breaks its policy or asks another host" {
  see console .console '[]'
  see elsewhere .elsewhere '[]'
  see navigation .navigation '["Jobs","Compare","Experiments","Models","Alerts","Nodes","Inbox","SQL"]'
}

# sum EXPRESSION: over all jobs of the store
sum() {
  plimsoll sql --db "$BATS_FILE_TMPDIR/jobs.db" --csv "SELECT $1 FROM jobs" | tail -n 1
}

@test "the list of jobs and its sums are those of the store" {
  see jobs .tiles.Jobs "\"$(count)\""
  see failed .tiles.Failed "\"$(count 'status = failed')\""
  see running .tiles.Running "\"$(count 'status = running')\""
  see range .range "\"1–50 of $(count)\""
  see next .next "[\"51–100 of $(count)\",0]"
  see cells '.cells | [.[0], .[1], .[2], .[8] != "", .[9]]' '["known-good","completed","sh",true,"4"]'
  see 'CPU hours' '.tiles["CPU time"]' "\"$(sum 'sum(cpu_time) / 3.6e9' | awk '{ printf "%.0f", $1 }' | sed -E ':a; s/([0-9])([0-9]{3})(,|$)/\1,\2\3/; ta') h\""
  see raw .raw "\"$(plimsoll sql --db "$BATS_FILE_TMPDIR/jobs.db" --csv "SELECT duration FROM jobs WHERE jobid = 'known-good'" | tail -n 1)\""
}

@test "filters, columns and order are in the link, and work by keys" {
  see nothing .nothing '"No job matches."'
  see 'failed ones are red' .failed '["rgb(168, 36, 28)"]'
  see filtered .filtered '["known-bad","known-good"]'
  see link .link '"jobid ~ known*"'
  see reloaded .reloaded '"jobid ~ known*"'
  see 'a bad filter' '.["bad filter"] | test("expected a value")' true
  see 'said once, without a range' '.["bad filter said"]' '[1,""]'
  see at .at '"known-bad"'
  see focus .focus true
  see columns .columns true
  see longest .longest "\"$(plimsoll sql --db "$BATS_FILE_TMPDIR/jobs.db" --csv 'SELECT jobid FROM jobs ORDER BY duration DESC LIMIT 1' | tail -n 1)\""
  local day
  day=$(jq -r '.day[0]' "$BATS_FILE_TMPDIR/seen.json")
  see 'jobs of a day' '.day[1]' "\"$(count "start >= $day and start <= '$day 23:59:59'")\""
  see 'running ones move' '.["running mark"]' '"pulse"'
  see 'unless motion is unwanted' .still '"none"'
}

@test "the page of a job has its report, what a server can add, and what to save" {
  see title .title '"Job known-good, sh"'
  see status .status '"completed"'
  see sections '.sections | [contains(["verdict"], ["figures"], ["series"], ["tree"], ["process-list"], ["thread-list"], ["advice"], ["edit"])] | all' true
  see processes '.figures.Processes | test("^4")' true
  see contents .contents true
  see tip .tip false
  see zoomed .zoomed true
  see list .processes 4
  see 'a process' .process '[true,["Host","Program","Path","Arguments"]]'
  see 'one that was clicked' .clicked true
  see exports '.exports | contains(["?format=parquet"])' true
  see missing .missing '"Not found"'
  see 'missing, said once' '.["missing said"]' 1
}

@test "a job is in the list soon after it began, and its page follows it to its end" {
  see soon '.["in the list after"] < 6' true
  see 'while it runs' '.["while it runs"]' '["running","Live: this page follows the job while it runs.","Advice is given when the job is in the store."]'
  see 'at its end' '.["at its end"]' '["completed","The job has ended."]'
}

@test "annotations can be changed, of any type" {
  see annotation .annotation '["{\"by\":[1,\"<b>\"]}"]'
  equal stored "$(plimsoll show --db "$BATS_FILE_TMPDIR/jobs.db" --json known-good | jq -c .annotations)" '{"checked":{"by":[1,"<b>"]}}'
}

@test "two jobs, scatter, history, experiments, models, alerts and SQL have data" {
  see compare .compare '["Inconclusive","duration"]'
  see history '.history | test("^1 run of sh ")' true
  see experiments '.experiments > 0' true
  see experiment .experiment true
  see inbox .inbox '["broken.tgz","broken.tgz: not an archive"]'
  see nodes .nodes '"No collector of yours runs on this host."'
  see model .model '"norm"'
  see sql .sql '[["known-bad","2"],["known-good","4"]]'
  see schema .schema '["jobs","job_tags"]'
  see refused '.["sql refused"] | length > 10' true
}

@test "jobs are compared as curves, over time, against a model, and chosen in the scatter" {
  see curves .curves '["known-good","other"]'
  # until the end of the longest, or its last sample
  see 'the longest' ".[\"curves end\"] - $(plimsoll sql --db "$BATS_FILE_TMPDIR/jobs.db" --csv "SELECT max(duration) FROM jobs WHERE jobid IN ('known-good', 'other')" | tail -n 1) | . >= 0 and . < 100000" true
  see 'one zoom' '.["curves linked"]' '[1,true,true]'
  see metrics '.["curves metrics"]' true
  see 'over time' '.["over time"] | [(.[0] | split(" ")[0]), .[1]]' "[\"$(count tag.exp_component)\",$(plimsoll list --db "$BATS_FILE_TMPDIR/jobs.db" --json --by exp_component --where tag.exp_component | jq length)]"
  see opened .opened '"/job/known-good"'
  # shellcheck disable=SC2046 # ids have no blanks
  see medians .boxes "$(plimsoll features --db "$BATS_FILE_TMPDIR/jobs.db" --json -f cpu_time,duration,num_procs $(cat "$BATS_FILE_TMPDIR/small") | jq -c 'map([.feature, ."50%"])')"
  see 'those far away' '.far > 0' true
  see normalised .scaled '[3,true]'
  see chosen .chosen '["2 jobs in the rectangle",["List","Over time","Compare","Curves","Against a model"]]'
  see 'the filter' '.["chosen jobs"]' '["known-bad","known-good"]'
}

@test "an experiment leads to the operations of its jobs" {
  see operation .operation '["part:all","4"]'
  see trail .trail '["Experiments","checked","one","job known-good"]'
}

@test "the nodes of a collector, with their jobs, load and what the daemon costs" {
  see node '.node.Node' "\"$(cat "$BATS_FILE_TMPDIR/host")\""
  see jobs '.node.Jobs | test("[0-9]")' true
  see load '.node["CPUs in use"] | test(" %$")' true
  see memory '.node.Memory | test("iB$")' true
  see daemon '.node.Daemon | test("^[0-9.]+ %, [0-9.]+ MiB$")' true
  see dropped '.node.Dropped' '"0"'
  see tiles '.["node tiles"] | [.Nodes, .Silent, .Dropped, .Refused]' '["1","0","0","0"]'
  see sink .sink true
  see console '.["nodes said"]' '[]'
}

@test "every page fits 375, 1440 and 3840 pixels, and its text has contrast in light and dark" {
  see wide .wide '[]'
  see contrast .contrast '[]'
}

@test "all that can be used has a name for screen readers, and a page has one heading of the first level" {
  see nameless .nameless '[]'
  see headings .headings '[]'
  see 'the first by the keyboard' .first '"Skip to the page"'
}

@test "a page survives the end of the server and of the store, says what is wrong and goes on by itself" {
  see ended .ended 0
  see 'no server' '.["no server"] | test("does not answer") and test("plimsoll serve")' true
  see 'no session' '.["no session"] == null or (.["no session"] | test("plimsoll serve --link"))' true
  see again .again 2
  see 'no store' '.["no store"] | test("jobs.db")' true
  see 'store again' '.["store again"]' 2
}

@test "the front end has at most 150 kB, compressed" {
  local sum=0 file
  for file in "$PL_SOURCE"/src/web/ui/* "$PL_SOURCE"/src/report/html/assets/*; do
    sum=$((sum + $(gzip -9c "$file" | wc -c)))
  done
  at_most size "$sum" 150000
}
