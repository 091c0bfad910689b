#!/usr/bin/env bats
# What jobs asked for, what they used of it, and what they should ask for.

bats_require_minimum_version 1.5.0
load lib

# batch ID COMMAND...: runs it as a batch job with 8 cores, 4 GiB and 8000 s, and submits it
batch() {
  local id=$1
  shift
  SLURM_JOB_ID=$id SLURM_JOB_CPUS_PER_NODE=8 SLURM_MEM_PER_NODE=4096 SLURM_JOB_START_TIME=1000 \
    SLURM_JOB_END_TIME=9000 PLIMSOLL_ASK_BATCH_SYSTEM=no plimsoll run -q "$@" || true
  plimsoll submit -q "$PLIMSOLL_PREFIX/$id"
}

@test "a sampled job: its use beside its request, and a smaller request that covers earlier runs" {
  batch 1 --sample 50ms -- "$PROGRAMS/actor" burn 400
  batch 2 --sample 50ms -- "$PROGRAMS/actor" burn 400
  plimsoll efficiency 2 --json >one.json
  equal asked "$(jq -c '.[0].asked' one.json)" '{"cores":8,"memory":4294967296,"time":8000,"gpus":null}'
  equal state "$(jq -r '.[0].state' one.json)" completed
  equal share "$(jq '.[0] | (.cpu_share - .cpu_s / (8 * .duration_s)) | fabs < 1e-9' one.json)" true
  equal cores "$(jq '.[0].cores_needed' one.json)" 1
  plimsoll advise 2 --json >advice.json
  equal cores "$(jq -c '.request[0] | [.asked, .used, .suggested, .directive, .past_runs, .past_runs_fit]' advice.json)" \
    '[8,1,1,"#SBATCH --cpus-per-task=1",1,1]'
  equal saving "$(jq '.request[0] as $c | .request[2].used as $s | ($c.saving - 7 * $s | fabs) < 1e-6' advice.json)" true
  equal memory "$(jq '.request[1] | .suggested >= 1.2 * .used and .suggested == 67108864' advice.json)" true
  equal time "$(jq -c '.request[2] | [.suggested, .directive]' advice.json)" '[300,"#SBATCH --time=00:05:00"]'
  plimsoll advise 2 | grep -x '#SBATCH --mem=64M'
}

@test "no suggestion from a run that failed, nor for what was not measured" {
  batch 3 -- "$PROGRAMS/actor" return 3
  plimsoll advise 3 --json >advice.json
  equal state "$(jq -r .state advice.json)" failed
  equal none "$(jq -c '[.request[].suggested]' advice.json)" '[null,null,null,null]'
  run plimsoll advise 3
  equal status "$status" 0
  [[ $output == *'it did not complete'* && $output != *'#SBATCH'* ]] || fail "$output"
  # two processes at one time and no samples: the demand for cores is not known
  batch 4 -- sh -c "$PROGRAMS/actor return 0 & $PROGRAMS/actor return 0; wait"
  equal reason "$(plimsoll advise 4 --json | jq -c '.request[0] | [.used, .suggested, (.reason | contains("--sample"))]')" \
    '[null,null,true]'
}

@test "no suggestion for hosts that were not recorded, and none of 0" {
  local env=(--env 'SLURM_JOB_CPUS_PER_NODE=8(x2)' --env SLURM_JOB_NUM_NODES=2 --env SLURM_MEM_PER_NODE=4096) host
  for host in a b; do
    echo "{\"pid\": 10, \"ppid\": 1, \"exename\": \"m\", \"start\": 0, \"end\": 900, \"hostname\": \"$host\", \"usertime\": 9000000, \"rssmax\": 200000}"
  done | jq -s '{user: "u", start: 0, end: 900, procs: .}' >spec.json
  # two hosts were granted, one of them has records
  jq '.procs |= .[:1]' spec.json | python3 "$PL_SOURCE/tests/fixtures/job.py" one --id one "${env[@]}" --spec
  python3 "$PL_SOURCE/tests/fixtures/job.py" both --id both "${env[@]}" --spec <spec.json
  jq '.procs[].rssmax = 0' spec.json | python3 "$PL_SOURCE/tests/fixtures/job.py" none --id none "${env[@]}" --spec
  plimsoll submit -q one both none
  plimsoll advise one --json >advice.json
  equal cores "$(jq -c '.request[0] | [.asked, .used, .suggested, (.reason | contains("some of its hosts"))]' advice.json)" '[16,1,null,true]'
  equal memory "$(jq -c '.request[1] | [.asked, .used, .suggested]' advice.json)" '[4294967296,204800000,null]'
  equal findings "$(jq -r '.findings[].advice' advice.json)" \
    "Nothing was recorded on 1 of its hosts, where it may have worked: start its ranks with \`srun plimsoll run\`."
  # the same with records of both
  equal both "$(plimsoll advise both --json | jq -c '.request[1] | [.used, .suggested]')" '[204800000,268435456]'
  # no memory was seen: Slurm takes --mem=0 for all of a node
  equal none "$(plimsoll advise none --json | jq -c '.request[1] | [.used, .suggested, .directive]')" '[null,null,null]'
}

@test "no suggestion from a job that lost a process for want of memory, even if its script went on" {
  echo '{"user": "u", "start": 0, "end": 900, "procs": [
    {"pid": 10, "ppid": 1, "exename": "m", "start": 0, "end": 900, "usertime": 9000000, "rssmax": 4000000},
    {"pid": 11, "ppid": 10, "exename": "m", "start": 0, "end": 800, "usertime": 9000000, "rssmax": 1000, "exitsignal": 9}]}' |
    python3 "$PL_SOURCE/tests/fixtures/job.py" killed --id killed --env SLURM_JOB_CPUS_PER_NODE=8 --env SLURM_MEM_PER_NODE=4096 --spec
  plimsoll submit -q killed
  plimsoll advise killed --json >advice.json
  equal finding "$(jq -c '[.state, .findings[0].title]' advice.json)" '["completed","it most likely ran out of memory"]'
  equal none "$(jq -c '[.request[].suggested]' advice.json)" '[null,null,null,null]'
}

@test "a table of several jobs, as text, CSV and JSON; a filter that nothing matches" {
  batch 5 -- "$PROGRAMS/actor" return 0
  batch 6 -- "$PROGRAMS/actor" return 3
  run plimsoll efficiency 5 6
  equal status "$status" 0
  [[ ${lines[1]} == 5*completed*8* && ${lines[2]} == 6*failed*8* && $output == *'2 jobs used'* ]] || fail "$output"
  equal csv "$(plimsoll efficiency --csv 5 6 | cut -d, -f1-3,7,9)" \
    'jobid,state,cores,time_asked_s,memory_asked_bytes
5,completed,8,8000,4294967296
6,failed,8,8000,4294967296'
  equal json "$(plimsoll efficiency --json --where 'exitcode = 3 and jobid = 6' | jq -r '.[].jobid')" 6
  run plimsoll efficiency --where 'exitcode = 99'
  equal status "$status" 1
  [[ $output == *'no job matches'* ]] || fail "$output"
}

@test "time counts from the begin of the batch job, and by its accounting where that is known" {
  local now
  now=$(date +%s)
  # the script did other things for 20 minutes before
  SLURM_JOB_ID=8 SLURM_JOB_CPUS_PER_NODE=8 SLURM_JOB_START_TIME=$((now - 1200)) SLURM_JOB_END_TIME=$((now + 6000)) \
    PLIMSOLL_ASK_BATCH_SYSTEM=no plimsoll run -q -- "$PROGRAMS/actor" return 0
  plimsoll submit -q "$PLIMSOLL_PREFIX/8"
  plimsoll advise 8 --json >advice.json
  equal time "$(jq -c '.request[2] | [(.used >= 1200 and .used < 1300), .suggested, .directive]' advice.json)" '[true,1800,"#SBATCH --time=00:30:00"]'
  equal note "$(jq -r '.request[2].note | contains("sacct")' advice.json)" true
  plimsoll advise 8 | tr -s ' \n' ' ' | grep -q 'if its batch script goes on after what was recorded, add that time'
  plimsoll efficiency 8 | grep -q '20 min .* of 2 h 00 min asked for (17 %)'
  # its accounting knows the end, too
  printf 'JobIDRaw|State|Elapsed\n8|COMPLETED|01:00:00\n' >sacct.txt
  plimsoll import sacct sacct.txt >/dev/null
  plimsoll advise 8 --json >advice.json
  equal whole "$(jq -c '.request[2] | [.used, .suggested, .directive, .note]' advice.json)" '[3600,4500,"#SBATCH --time=01:15:00",null]'
  # a begin that cannot be is ignored
  batch 9 -- "$PROGRAMS/actor" return 0
  at_most used "$(plimsoll advise 9 --json | jq '.request[2].used')" 10
}

@test "files in memory count for the memory that a job needs" {
  [ -w /dev/shm ] || skip "no /dev/shm that is writable"
  local file=/dev/shm/plimsoll-test.$$ n=1 option
  for option in --sample=50ms --no-kernel; do
    batch $((20 + n)) "$option" -- sh -c "head -c 200M /dev/zero >$file; sleep 0.4; rm $file"
    n=$((n + 1))
  done
  plimsoll efficiency 21 --json >sampled.json
  equal files "$(jq '.[0].memory_files_bytes / 1048576 | . >= 195 and . < 260' sampled.json)" true
  equal memory "$(jq '.[0] | .memory_bytes >= .memory_files_bytes' sampled.json)" true
  plimsoll efficiency 21 | tr -s ' \n' ' ' | grep -q 'in files in memory'
  at_least suggested "$(plimsoll advise 21 --json | jq '.request[1].suggested')" 240000000
  # nobody looked: no suggestion, and how to know
  equal unsampled "$(plimsoll advise 22 --json | jq -c '.request[1] | [.suggested, (.reason | contains("/dev/shm")), (.reason | contains("--sample"))]')" \
    '[null,true,true]'
}
