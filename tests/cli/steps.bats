#!/usr/bin/env bats
# Steps of a job: those of Slurm, runs of a job directory, and the tag "step". What they used, where their core time went, who of
# them was killed, and ranks that are compared within one of them.

bats_require_minimum_version 1.5.0
load lib

# two_steps: a job of two runs, of which the second computes on two cores
two_steps() {
  plimsoll start -q -o job
  plimsoll run -q -o job -- "$PROGRAMS/actor" burn 300
  plimsoll run -q -o job -- sh -c "$PROGRAMS/actor burn 600 & $PROGRAMS/actor burn 600; wait"
  plimsoll stop -q -o job
}

@test "runs of a job directory are its steps, in the order in which they began" {
  two_steps
  plimsoll submit -q job
  local id
  id=$(jq -r .jobid job/job.json)
  plimsoll efficiency "$id" --json >all.json
  equal steps "$(jq -c '.[0].steps | map([.step, .program, .hosts, .ranks, .failed])' all.json)" '[["1","actor",1,0,0],["2","sh",1,0,0]]'
  equal processes "$(jq -c '.[0].steps | map(.processes)' all.json)" '[1,3]'
  at_least "CPU of the second" "$(jq '.[0].steps[1].cpu_s' all.json)" 1.1
  at_most "CPU of the first" "$(jq '.[0].steps[0].cpu_s' all.json)" 0.6
  equal sum "$(jq '.[0] | (.steps | map(.cpu_s) | add) - .cpu_s | fabs < 0.01' all.json)" true
  at_least memory "$(jq '.[0].steps[1].memory_bytes / .[0].steps[0].memory_bytes' all.json)" 1.5
  run plimsoll efficiency "$id"
  [[ $output == *STEP*PROGRAM*MEMORY* && $output == *$'\n1 '*actor* ]] || fail "$output"
  # each step by itself
  at_most "user of 1" "$(plimsoll where "$id" --step 1 --json | jq '.parts[] | select(.name == "user") | .seconds')" 0.6
  at_least "user of 2" "$(plimsoll where "$id" --step 2 --json | jq '.parts[] | select(.name == "user") | .seconds')" 1.0
  equal both "$(plimsoll where "$id" --step '[12]' --json 2>/dev/null | jq '.total_seconds > 0')" ''
  equal both "$(plimsoll where "$id" --step '*' --json | jq '.total_seconds > 0')" true
  run plimsoll where "$id" --step 3
  equal status "$status" 1
  [[ $output == *'no such step'*'plimsoll efficiency'* ]] || fail "$output"
  # the report has the same
  equal report "$(plimsoll report "$id" --json | jq -c '.steps | map(.step)')" '["1","2"]'
  # a job of one run has no steps
  plimsoll run -q -o single -- true
  equal none "$(plimsoll report single --json | jq -c .steps)" '[]'
}

@test "the numbers of Slurm's steps, without a run for each; what the script does itself is 'batch'" {
  plimsoll run -q -o job -- sh -c "$PROGRAMS/actor burn 100
    SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=2 $PROGRAMS/actor burn 200 & SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2 $PROGRAMS/actor burn 200; wait
    SLURM_STEP_ID=1 sh -c '$PROGRAMS/actor burn 100; true'; SLURM_STEP_ID=4294967291 $PROGRAMS/actor burn 50"
  plimsoll report job --json >report.json
  equal steps "$(jq -c '.steps | map([.step, .program, .processes, .ranks])' report.json)" \
    '[["batch","sh",3,0],["0","actor",2,2],["1","sh",2,0]]'
  equal where "$(plimsoll where job --step 0 --json | jq '.parts[] | select(.name == "user") | .seconds > 0.3 and .seconds < 0.5')" true
}

@test "the tag 'step' counts before all" {
  plimsoll run -q -o job -- sh -c "PLIMSOLL_TAGS=step:prepare $PROGRAMS/actor burn 100; PLIMSOLL_TAGS=step:solve\;op:x sh -c '$PROGRAMS/actor burn 300; true'"
  equal steps "$(plimsoll report job --json | jq -c '.steps | map([.step, .processes])')" '[["prepare",1],["solve",2]]'
  equal where "$(plimsoll where job --step 's*' --json | jq '.parts[] | select(.name == "user") | .seconds > 0.25')" true
}

@test "runs that a launcher starts beside each other are one step; a run inside another belongs to it" {
  plimsoll start -q -o job
  for rank in 0 1; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 plimsoll run -q -o job -- "$PROGRAMS/actor" burn 400 3>&- &
  done
  wait
  plimsoll run -q -o job -- sh -c "plimsoll run -q -- $PROGRAMS/actor burn 100; true"
  plimsoll stop -q -o job
  equal steps "$(plimsoll report job --json | jq -c '.steps | map([.step, .program, .ranks])')" '[["1","actor",2],["2","sh",0]]'
}

@test "a step that was killed or crashed is named with program, signal and step, though the job ends with 0" {
  local sample
  for sample in "" "--sample 100ms"; do
    rm -rf job
    plimsoll start -q -o job
    # shellcheck disable=SC2086 # none or two words
    plimsoll run -q -o job $sample -- "$PROGRAMS/actor" burn 600
    # shellcheck disable=SC2086
    plimsoll run -q -o job $sample -- sh -c "$PROGRAMS/actor burn 5000 & sleep 0.7; kill -KILL \$!; wait; true"
    plimsoll stop -q -o job
    plimsoll report job --json >report.json
    equal "killed$sample" "$(jq -r '.findings[] | select(.id == "killed") | .title' report.json)" 'actor was ended by SIGKILL in step 2'
    equal where "$(jq -r '.findings[] | select(.id == "killed") | .evidence[0].where' report.json)" 'actor, step 2'
    equal failed "$(jq -c '.steps | map(.failed)' report.json)" '[0,1]'
  done
  plimsoll start -q -o crash
  plimsoll run -q -o crash -- "$PROGRAMS/actor" burn 600
  plimsoll run -q -o crash -- sh -c "$PROGRAMS/actor burn 200; sh -c 'kill -SEGV \$\$'; true"
  plimsoll stop -q -o crash
  equal crashed "$(plimsoll report crash --json | jq -r '.findings[0] | [.id, .title] | join(": ")')" \
    'crashed: sh crashed in step 2: Segmentation fault (SIGSEGV)'
}

@test "ranks are compared within a step, and findings say in which step most of it was" {
  # rank 0 of the first step is busy, rank 1 of the second: together they look even
  cat >spec.json <<'J'
{"user": "u", "start": 0, "end": 200, "procs": [
  {"pid": 10, "ppid": 1, "exename": "a", "start": 0, "end": 100, "usertime": 99000000, "mpirank": 0, "tags": "step:one"},
  {"pid": 11, "ppid": 1, "exename": "a", "start": 0, "end": 20, "usertime": 19900000, "mpirank": 1, "tags": "step:one"},
  {"pid": 12, "ppid": 1, "exename": "a", "start": 100, "end": 130, "usertime": 29900000, "mpirank": 0, "tags": "step:two"},
  {"pid": 13, "ppid": 1, "exename": "a", "start": 100, "end": 200, "usertime": 90000000, "mpirank": 1, "tags": "step:two"}]}
J
  python3 "$PL_SOURCE/tests/fixtures/job.py" uneven --id uneven --env SLURM_JOB_CPUS_PER_NODE=2 --spec <spec.json
  plimsoll report uneven --json >report.json
  equal imbalance "$(jq -r '.findings[] | select(.id == "imbalance") | .title' report.json)" 'load imbalance between ranks in step one'
  equal rank "$(jq -r '.findings[] | select(.id == "imbalance") | .evidence[0] | [.value, .where] | join(" ")' report.json)" '99 0'
}

@test "tasks of an array by the id of the array" {
  local n
  for n in 1 2 3; do
    SLURM_JOB_ID=$((700 + n)) SLURM_ARRAY_JOB_ID=701 SLURM_ARRAY_TASK_ID=$n SLURM_JOB_CPUS_PER_NODE=4 PLIMSOLL_ASK_BATCH_SYSTEM=no \
      plimsoll run -q -- "$PROGRAMS/actor" burn $((n * 20))
  done
  SLURM_JOB_ID=705 SLURM_ARRAY_JOB_ID=704 SLURM_ARRAY_TASK_ID=1 PLIMSOLL_ASK_BATCH_SYSTEM=no plimsoll run -q -- true
  for n in 1 2 3 5; do plimsoll submit -q "$PLIMSOLL_PREFIX/70$n"; done
  equal tasks "$(plimsoll efficiency 701 --json | jq -c 'map([.jobid, .array_task])')" '[["701","701_1"],["702","701_2"],["703","701_3"]]'
  equal "no task has its id" "$(plimsoll efficiency 704 --json | jq -c 'map(.jobid)')" '["705"]'
  equal "one task" "$(plimsoll efficiency 702 --json | jq -c 'map(.jobid)')" '["702"]'
  equal filter "$(plimsoll efficiency --where 'jobid = 701, 703' --csv | cut -d, -f1,10)" $'jobid,array_task\n701,701_1\n703,701_3'
  run plimsoll efficiency 701
  [[ $output == *'ARRAY TASK'* && $output == *701_3* && $output == *'3 jobs used'* ]] || fail "$output"
  run plimsoll efficiency 799
  equal status "$status" 1
  # ids of tasks may have more digits than that of the array, and the last task may have the array's
  for n in 10 11 9; do
    SLURM_JOB_ID=$n SLURM_ARRAY_JOB_ID=9 SLURM_ARRAY_TASK_ID=$n PLIMSOLL_ASK_BATCH_SYSTEM=no plimsoll run -q -- true
    plimsoll submit -q "$PLIMSOLL_PREFIX/$n"
  done
  equal "more digits" "$(plimsoll efficiency 9 --json | jq -c 'map(.array_task)')" '["9_10","9_11","9_9"]'
}
