#!/usr/bin/env bats
# plimsoll explore and epmt explore: the jobs of an experiment by component and time segment. Values are computed by hand, or
# those that EPMT's own tests expect of its sample jobs.

bats_require_minimum_version 1.5.0
load store

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}

# experiment ROW...: jobs "ID MINUTE DURATION EXIT GROUP SEGMENT" of exp_name:e, "-" for what they lack
experiment() {
  local n=0 jobs='' tags='' id minute duration exit group segment
  plimsoll submit -q nothing 2>/dev/null || true # creates the store
  for row in "$@"; do
    read -r id minute duration exit group segment <<<"$row"
    n=$((n + 1))
    jobs+="${jobs:+,}($n, '$id', $((1600000000000000 + minute * 60000000)), ${duration/#-/NULL}, 7, ${exit/#-/NULL}, 1, 1, 1, 1, 1, 'test', 1, $n)"
    tags+="${tags:+,}($n, 'exp_name', 'e')"
    [ "$group" = - ] || tags+=",($n, 'exp_component', '$group')"
    [ "$segment" = - ] || tags+=",($n, 'exp_time', '$segment')"
  done
  change "INSERT INTO job (no, jobid, start_us, duration_us, cpu_us, exitcode, num_procs, num_threads, peak_procs, peak_threads, bytes, format, ingested_us, nth) VALUES $jobs"
  change "INSERT INTO job_tag (job, key, value) VALUES $tags"
}

small() {
  experiment "a 1 10 0 ocean 9" "b 2 30 2 ocean 10" "c 3 - - ocean 11" "d 4 5 0 ice 9" "e 5 2 0 - -"
}

# bats test_tags=engine
@test "groups, jobs, segments, missing segments and failed jobs" {
  use_store
  small
  plimsoll explore e --json >out
  equal head "$(jq -c '[.key, .experiment, .by, .over, .metric, .unit, .jobs, .sum, .failed]' out)" '["exp_name","e","exp_component","exp_time","duration","us",5,47,1]'
  equal ocean "$(jq -c '.groups[0] | [.group, .sum, (.share * 1000 | round), .min, .max, .cv, .failed, .missing]' out)" '["ocean",40,851,10,30,0.5,1,[]]'
  equal ice "$(jq -c '.groups[1] | [.group, .sum, .cv, .missing]' out)" '["ice",5,0,["10","11"]]'
  equal none "$(jq -c '.groups[2] | [.group, .sum, .missing]' out)" '[null,2,["9","10","11"]]'
  equal jobs "$(jq -c '[.groups[0].jobs[] | [.jobid, .segment, .value, .exitcode]]' out)" '[["a","9",10,0],["b","10",30,2],["c","11",null,null]]'
  equal segments "$(jq -c '[.segments[] | [.segment, .jobs, .sum]]' out)" '[["9",2,15],["10",1,30],["11",1,null]]'
  plimsoll explore e >out
  grep -q '^ocean  *3  *40  *85.1  *10  *30  *0.50  *0  *1$' out || fail "$(cat out)"
  grep -q '^ice lacks 2 of exp_time: 10 11$' out || fail "$(cat out)"
  grep -q '^job b failed with exit code 2 (ocean 10)$' out || fail "$(cat out)"
  equal csv "$(plimsoll explore e --csv | sed -n '1p;3p;4p')" "$(printf 'group,segment,jobid,value,exitcode,iqr,z,madz\nocean,10,b,30,2,0,0,0\nocean,11,c,,,0,0,0')"
}

# bats test_tags=engine
@test "any tag keys, metrics, limits and filters" {
  use_store
  small
  plimsoll tag a suite:nightly case:x day:1 >/dev/null
  plimsoll tag d suite:nightly case:y day:2 >/dev/null
  equal keys "$(plimsoll explore suite:nightly --by case --over day --json | jq -c '[.groups[] | [.group, .sum, .missing]]')" '[["x",10,["2"]],["y",5,["1"]]]'
  equal metric "$(plimsoll explore e --metric cpu_time --json | jq -c '[.sum, .groups[0].sum]')" '[35,21]'
  equal limit "$(plimsoll explore e -n 1 --json | jq -c '[.group_count, [.groups[].group], .sum]')" '[3,["ocean"],47]'
  equal ids "$(plimsoll explore e --ids | paste -sd' ')" 'a b c d e'
  equal failed "$(plimsoll explore e --exit failed --ids)" b
  equal ok "$(plimsoll explore e --exit ok --segment 9 --segment 10 --ids | paste -sd' ')" 'a d'
  equal group "$(plimsoll explore e --group ice --group ocean --segment 9 --ids | paste -sd' ')" 'a d'
  equal named "$(plimsoll explore e d a --json | jq -c '[.jobs, .sum]')" '[2,15]'
  equal none "$(plimsoll explore e --group nosuch --ids)" ''
  equal expected "$(plimsoll explore e --expect 8..10 --json | jq -c '[.groups[] | .missing]')" '[["8"],["8","10"],["8","9","10"]]'
}

@test "errors name the tag, the metric or the range, and what to do" {
  use_store
  small
  run -1 plimsoll explore nosuch
  [[ $output == *"has the tag exp_name:nosuch; "*"plimsoll tags"* ]] || fail "$output"
  run -1 plimsoll explore e --metric nosuch
  [[ $output == *"no job with the tag exp_name:e has the metric 'nosuch'; "* ]] || fail "$output"
  run -1 plimsoll explore e --group nosuch
  [[ $output == *"none of the 5 jobs with the tag exp_name:e matches"* ]] || fail "$output"
  run -1 plimsoll explore e nosuchjob
  [[ $output == *nosuchjob* ]] || fail "$output"
  for bad in 5..1 1..2/0 x..y ''; do
    run -2 plimsoll explore e --expect "$bad"
  done
  run -2 plimsoll explore e --expect 1..100002
  [[ $output == *"more than 100000 segments"* ]] || fail "$output"
  run -2 plimsoll explore
  run -2 plimsoll explore e --limit 0
}

# bats test_tags=engine
@test "hostile names are values, never SQL or control characters" {
  use_store
  small
  plimsoll tag a "exp_name:x' OR '1'='1" "exp_time:\$(id)" >/dev/null
  change "UPDATE job_tag SET value = '"$'\e'"[31mred' WHERE job = 1 AND key = 'exp_component'"
  equal one "$(plimsoll explore "exp_name:x' OR '1'='1" --json | jq -c '[.jobs, .groups[0].group, .segments[0].segment]')" '[1,"\u001b[31mred","$(id)"]'
  plimsoll explore "x' OR '1'='1" | grep -q '^\\x1b\[31mred ' || fail "$(plimsoll explore "x' OR '1'='1")"
  run -1 plimsoll explore e --by "' OR 1=1 --" --metric "'; DROP TABLE job; --"
  equal jobs "$(ask 'SELECT count(*) FROM jobs')" 5
}

# bats test_tags=epmt
@test "epmt explore has EPMT's columns, options and order" {
  use_store
  small
  epmt explore e >out
  equal head "$(sed -n 2,3p out)" "$(printf 'top 10 components by sum(duration):\n       component           sum                  min          max   cv')"
  grep -qx '           ocean:           40 \[85.1%\]           10           30  0.5' out || fail "$(cat out)"
  grep -q '^           ocean            9            a               10 ' out || fail "$(cat out)"
  grep -q '^           9               15 ' out || fail "$(cat out)"
  epmt explore e --metric cpu_time --limit 1 >out
  grep -qx 'top 1 components by sum(cpu_time):' out
  # shares are of what is shown, as in EPMT
  grep -q '^           ocean:           21 \[100.0%\]' out || fail "$(cat out)"
  run -1 epmt explore nosuch
  [[ $output == *'exp_name'*nosuch* ]] || fail "$output"
  run -1 epmt explore e --metric nosuch
  run -2 epmt explore
  run -2 epmt explore e --limit x
}

# bats test_tags=epmt,engine
@test "EPMT's sample jobs give the lines and segments that its tests expect" {
  [ -e "$DATA/epmt/explore" ] || skip "the sample jobs of EPMT are not here"
  use_store
  plimsoll submit -q "$DATA"/epmt/query/*.tgz "$DATA/epmt/submit/692500.tgz" "$DATA"/epmt/explore/*.tgz >/dev/null
  EPMT_DB_URL=$STORE epmt explore ESM4_historical_D151 >out
  for line in "ocean_annual_z_1     18540101       625151      10425623185   ****" \
    "ocean_annual_z_1     18590101       627907       6589174875" \
    "ocean_annual_z_1     18890101       691209        860163243   ****" \
    "ocean_annual_z_1     18940101       693129       3619324767     **" \
    "18540101      10425623185" "18840101      26897098077   ****"; do
    grep -q -F "$line" out || fail "no '$line' in $(cat out)"
  done
  equal missing "$(plimsoll explore ESM4_historical_D151 685000 685003 --expect 18540101..20090101/50000 --json | jq -c '[.groups[] | [.group, (.missing | length), .missing[0], .missing[6], .missing[30]]] | sort')" \
    '[["ocean_annual_rho2_1x1deg",31,"18540101","18890101","20090101"],["ocean_cobalt_fdet_100",31,"18540101","18890101","20090101"]]'
  local two=(--group ocean_annual_rho2_1x1deg --group ocean_cobalt_fdet_100)
  equal ok "$(plimsoll explore ESM4_historical_D151 685000 685003 "${two[@]}" --segment 18540101 --segment 18840101 --exit ok --ids | paste -sd' ')" '685000 685003'
  equal failed "$(plimsoll explore ESM4_historical_D151 "${two[@]}" --segment 18840101 --exit failed --ids)" ''
  equal one "$(plimsoll explore ESM4_historical_D151 --group ocean_annual_rho2_1x1deg --segment 18840101 --ids)" 685000
}
