#!/usr/bin/env bats
# bats file_tags=epmt
# plimsoll verify: each check finds what was made wrong in a job that is plausible otherwise, and nothing else.

bats_require_minimum_version 1.5.0
load store

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}
BASE=1600000000000000 # the start of the job

# a plausible job in the store
plausible() {
  use_store
  make_job job --id a
  plimsoll submit -q job
}

# checks [OPTION...]: "CHECK COUNT" of each failed check
checks() {
  local status=0
  plimsoll verify --json "$@" a >out 2>/dev/null || status=$?
  [ $status = 4 ] || fail "exit status $status: $(cat out)"
  jq -r '.[] | "\(.check) \(.count)"' out | paste -sd' '
}

# bats test_tags=engine
@test "a plausible job: nothing is found, in any form" {
  plausible
  run -0 plimsoll verify a
  equal text "$output" "1 job verified, nothing implausible"
  equal json "$(plimsoll verify --all --json | jq -c .)" '[]'
  equal csv "$(plimsoll verify a --csv)" jobid,check,count,detail
}

# bats test_tags=engine
@test "dates, order and times outside of the job" {
  plausible
  equal "before a date" "$(checks --since 2021-01-01)" "dates 13"
  change "UPDATE job SET end_us = start_us - 2000000"
  equal order "$(checks)" "order 1"
  equal detail "$(jq -r '.[0].detail' out)" "the end is 2.000000 s before the start"
  change "UPDATE job SET end_us = 4102444800000000, submit_us = 100"
  equal dates "$(checks)" "dates 2"
  [[ $(jq -r '.[0].detail' out) == "submit is 1970-01-01"*", end is 2"* ]] || fail "$(cat out)"
  change "UPDATE job SET submit_us = start_us + 1, end_us = start_us + 20000000"
  equal submit "$(checks)" "order 1"
  change "UPDATE job SET submit_us = start_us"
  change "UPDATE process SET start = start + 3600000000 WHERE pid IN (1003, 1004)"
  equal outside "$(checks)" "outside 2"
}

# bats test_tags=engine
@test "negative numbers of the job, its sums, images and threads" {
  plausible
  change "UPDATE process SET usertime = -5, exitcode = -1 WHERE pid = 1002"
  equal image "$(checks)" "negative 1"
  equal detail "$(jq -r '.[0].detail' out)" "usertime of 1 image"
  change "UPDATE process SET duration = -1"
  change "UPDATE job SET cpu_us = -7"
  change "UPDATE job_sum SET sum = -2 WHERE metric = 'rchar'"
  equal all "$(checks)" "negative 13"
  equal detail "$(jq -r '.[0].detail' out)" "cpu_time is -7, the sum of rchar is -2, duration of 10 images, usertime of 1 image"
}

# bats test_tags=engine
@test "sampled values that are not finite" {
  plausible
  local infinite=9e999
  [ "$PL_ENGINE" = sqlite ] || infinite="'NaN'"
  change "INSERT INTO sample_metric (job, n, name, unit, kind, aggregation, scale, divisor) VALUES (1, 1, 'power', 'W', 'gauge', 'sum', 1, 1)"
  change "INSERT INTO sample_series (job, metric, entity, count, first_us, last_us, minimum, maximum, mean) VALUES (1, 1, 1, 2, $BASE, $BASE, 1, 2, 1.5), (1, 1, 2, 2, $BASE, $BASE, 1, 2, $infinite)"
  equal series "$(checks)" "not_finite 1"
  equal detail "$(jq -r '.[0].detail' out)" "power of 1 series"
}

# bats test_tags=engine
@test "threads, accounting and duplicates" {
  plausible
  change "UPDATE job SET num_threads = 9"
  equal threads "$(checks)" "threads 1"
  equal detail "$(jq -r '.[0].detail' out)" "10 images, but 9 threads"
  change "UPDATE job SET num_threads = 0"
  run -0 plimsoll verify a
  change "UPDATE process SET pid = 1003, start = (SELECT start FROM process WHERE pid = 1003) WHERE pid = 1002"
  equal processes "$(checks)" "duplicate_processes 1"
  change "UPDATE process SET pid = 1002 WHERE id = (SELECT min(id) FROM process WHERE pid = 1003)"
  local books='{"books":{"cpu_total":2000000,"cpu_itemised":1890000}}'
  change "UPDATE job_meta SET json = CAST('$books' AS $([ "$PL_ENGINE" = sqlite ] && echo BLOB || echo bytea))"
  equal accounting "$(checks)" "accounting 1"
  equal detail "$(jq -r '.[0].detail' out)" "1.890000 s of CPU time are accounted for, of 2.000000 s in total"
  books='{"books":{"cpu_total":2000000,"cpu_itemised":1910000}}'
  change "UPDATE job_meta SET json = CAST('$books' AS $([ "$PL_ENGINE" = sqlite ] && echo BLOB || echo bytea))"
  run -0 plimsoll verify a
  change "INSERT INTO job (no, jobid, start_us, end_us, cpu_us, num_procs, num_threads, peak_procs, peak_threads, bytes, format, ingested_us, nth) SELECT 99, jobid, end_us, end_us + 1, 0, 0, 0, 0, 0, 0, 'test', 1, 1 FROM job"
  run -4 --separate-stderr plimsoll verify --all --csv
  equal rows "$(cut -d, -f2 <<<"$output" | paste -sd' ')" "check duplicate_jobs duplicate_jobs"
}

@test "jobs have to be named, and to exist" {
  plausible
  run -2 plimsoll verify
  [[ $output == *"name jobs, or use --where FILTER or --all"* ]] || fail "$output"
  run -2 plimsoll verify --all a
  run -1 plimsoll verify nosuch
  [[ $output == *nosuch* ]] || fail "$output"
}

@test "EPMT's job has the processes that papiex reported errors of" {
  [ -e "$DATA/epmt/query" ] || skip "the sample jobs of EPMT are not here"
  use_store
  plimsoll submit -q "$DATA/epmt/query/685000.tgz"
  run -4 --separate-stderr plimsoll verify 685000 --csv
  equal row "${lines[1]}" '685000,negative,5,"the sum of rdtsc_duration is -1, rdtsc_duration of 4 images"'
}
