#!/usr/bin/env bats
# A real Slurm with two nodes on this machine: one job over both, steps and ranks kept, and the
# TaskProlog and TaskEpilog of contrib/.

bats_require_minimum_version 1.5.0
load lib
load slurm

setup_file() {
  slurm_start
}

teardown_file() {
  slurm_stop
}

@test "srun plimsoll run: eight ranks on two nodes are one job" {
  export PLIMSOLL_PREFIX=$S/jobs/one
  srun -n 8 -N 2 plimsoll run -q "$PROGRAMS/actor" return 0
  jobs=("$S"/jobs/one/[0-9]*)
  equal jobs "${#jobs[@]}" 1
  dir=${jobs[0]}
  id=$(basename "$dir")
  equal id "$(jq -r .jobid "$dir/job.json")" "$id"
  equal scheduler "$(jq -r .scheduler.name "$dir/job.json")" slurm
  equal partition "$(jq -r .scheduler.partition "$dir/job.json")" main
  equal runs "$(find "$dir" -name '*.rec' | wc -l)" 8
  # what the job asked for is known once, whoever of the eight began it
  equal requests "$(jq -c 'select(.request).request | del(.ran_before)' "$dir"/*/*.json)" '{"cores":8,"tasks":8,"nodes":2}'
  plimsoll records --jsonl "$dir" >rows.jsonl
  equal images "$(wc -l <rows.jsonl)" 8
  equal ranks "$(jq .mpirank rows.jsonl | sort -n | tr '\n' ' ')" "0 1 2 3 4 5 6 7 "
  equal sizes "$(jq .numranks rows.jsonl | sort -u)" 8
  equal steps "$(jq -r .step "$dir"/*/*.json | sort -u)" 0
}

@test "two steps of a batch script between start and stop are one job" {
  cat >script.sh <<'J'
#!/bin/sh
export PLIMSOLL_PREFIX=$S/jobs/two
plimsoll start -q
srun -n 2 -N 2 plimsoll run -q "$PROGRAMS/actor" return 0
srun -n 2 -N 2 plimsoll run -q "$PROGRAMS/actor" return 3
plimsoll stop
J
  chmod +x script.sh
  export PROGRAMS
  sbatch -W -n 2 -N 2 --mem=100 --time=1:30 -o "$S/batch.out" --export=ALL script.sh || true
  jobs=("$S"/jobs/two/[0-9]*)
  equal jobs "${#jobs[@]}" 1
  plimsoll records --jsonl "${jobs[0]}" >rows.jsonl || fail "$(cat "$S/batch.out")"
  equal images "$(wc -l <rows.jsonl)" 4
  equal exitcode "$(jq -r .exitcode "${jobs[0]}/job.json")" 3
  equal name "$(jq -r .jobname "${jobs[0]}/job.json")" script.sh
  equal request "$(jq -c '.request | del(.ran_before)' "${jobs[0]}/job.json")" '{"cores":2,"tasks":2,"nodes":2,"memory":104857600,"time":120}'
  equal steps "$(jq -r .step "${jobs[0]}"/*/*.json | sort -u | tr '\n' ' ')" "0 1 "
}

@test "a step that is killed is named with its program, also if the script ends with 0; each step is listed" {
  export PLIMSOLL_PREFIX=$S/jobs/killed PROGRAMS
  cat >script.sh <<'J'
#!/bin/sh
plimsoll start -q
plimsoll run -q -- "$PROGRAMS/actor" burn 100
srun -n 2 -N 2 plimsoll run -q -- "$PROGRAMS/actor" burn 700
srun -n 1 -N 1 plimsoll run -q -- sh -c "$PROGRAMS/actor burn 9000 & sleep 0.5; kill -KILL \$!; wait; true"
plimsoll stop -q
J
  chmod +x script.sh
  sbatch -W -n 2 -N 2 --mem=100 --time=1:30 -o "$S/batch.out" --export=ALL script.sh || fail "$(cat "$S/batch.out")"
  jobs=("$S"/jobs/killed/[0-9]*)
  plimsoll report --json "${jobs[0]}" >report.json
  equal steps "$(jq -c '.steps | map([.step, .program, .ranks, .failed])' report.json)" '[["batch","actor",1,0],["0","actor",2,0],["1","sh",1,1]]'
  equal killed "$(jq -r '.findings[] | select(.id == "killed") | .title' report.json)" 'actor was ended by SIGKILL in step 1'
  # what the script did before counts for the time that it needs
  equal before "$(jq '.request.ran_before >= 0' "${jobs[0]}/job.json")" true
}

@test "a batch job submitted inside another is not recorded into it; array tasks, parts of a heterogeneous job" {
  export PLIMSOLL_PREFIX=$S/jobs/nested PROGRAMS
  cat >inner.sh <<'J'
#!/bin/sh
"$PROGRAMS/actor" return 41
srun -n 1 "$PROGRAMS/actor" return 42
:
J
  cat >outer.sh <<'J'
#!/bin/sh
plimsoll start -q
eval "$(plimsoll source sh)"
"$PROGRAMS/actor" return 40
srun --overlap -n 1 "$PROGRAMS/actor" return 43
sbatch -W -n 1 -o /dev/null inner.sh
sbatch -W -n 1 -o /dev/null -a 1-2 inner.sh
plimsoll stop
J
  cat >het.sh <<'J'
#!/bin/sh
plimsoll start -q
eval "$(plimsoll source sh)"
srun --het-group=0 -n 1 "$PROGRAMS/actor" return 50
srun --het-group=1 -n 1 "$PROGRAMS/actor" return 51
plimsoll stop
J
  chmod +x ./*.sh
  sbatch -W -n 1 -o "$S/outer.out" --export=ALL outer.sh || fail "$(cat "$S/outer.out")"
  plimsoll records --jsonl "$PLIMSOLL_PREFIX"/[0-9]* >rows.jsonl
  equal programs "$(jq -r 'select(.exename == "actor") | .exitcode' rows.jsonl | sort | xargs)" '40 43'
  rm -rf "$PLIMSOLL_PREFIX"
  sbatch -W -n 1 -o "$S/het.out" --export=ALL : -n 1 het.sh || fail "$(cat "$S/het.out")"
  plimsoll records --jsonl "$PLIMSOLL_PREFIX"/[0-9]* >rows.jsonl
  equal programs "$(jq -r 'select(.exename == "actor") | .exitcode' rows.jsonl | sort | xargs)" '50 51'
  # from a shell that is in no job: what is submitted is a job of its own, what srun starts is part of the command
  rm -rf "$PLIMSOLL_PREFIX"
  plimsoll run -q -o login -- sh -c 'srun -n 1 "$PROGRAMS/actor" return 60; sbatch -W -n 1 -o /dev/null inner.sh; :'
  plimsoll records --jsonl login >rows.jsonl
  equal programs "$(jq -r 'select(.exename == "actor") | .exitcode' rows.jsonl | sort | xargs)" 60
}

@test "TaskProlog and TaskEpilog record a job that knows nothing of it" {
  export USE_PROLOG=1
  id=$(srun -n 2 -N 2 sh -c "$PROGRAMS/actor burn 20 0; echo \$SLURM_JOB_ID" | sort -u)
  sleep 1
  for node in n1 n2; do
    job=$S/jobs/prolog-0-$node/$id
    [ -f "$job/job.json" ] || fail "$(find "$S/jobs")"
    equal "$node stopped" "$(jq 'has("stop")' "$job/job.json")" true
    plimsoll records --jsonl "$job" >rows.jsonl
    equal "$node actor" "$(value '.exename == "actor"' exitcode)" 0
    equal "$node rank" "$(value '.exename == "actor"' numranks)" 2
  done
}

@test "an ordinary user's job" {
  export USE_PROLOG=1
  setpriv --reuid=65534 --regid=65534 --clear-groups srun -n 2 -N 2 "$PROGRAMS/actor" return 0
  sleep 1
  plimsoll records --jsonl "$S"/jobs/prolog-65534-n1/[0-9]* >rows.jsonl
  equal actor "$(value '.exename == "actor"' exitcode)" 0
  equal owner "$(stat -c %u "$S"/jobs/prolog-65534-n1)" 65534
}

# stored_of NAME: puts the job of that name into the store
stored_of() {
  local dir=$S/jobs/$1
  [ -d "$dir" ] || fail "$(cat "$S/$1.out")"
  plimsoll submit -q "$dir"/[0-9]*
  equal "runs of $1" "$(plimsoll list --json | jq -c '.[].num_procs >= 1')" true
}

# under sbatch: NAME is the directory, the script runs for ten minutes unless it is ended
long_job() {
  # shellcheck disable=SC2016
  printf '#!/bin/sh\nexport PLIMSOLL_PREFIX=%s\nsrun -n 1 plimsoll run sh -c "%s"\n' "$S/jobs/$1" 'touch $SLURM_SUBMIT_DIR/ready; sleep 600 & wait' >script.sh
  chmod +x script.sh
  rm -f ready
  job=$(sbatch --parsable -n 1 -N 1 -t 1 -o "$S/$1.out" "${@:2}" script.sh)
  for _ in $(seq 500); do [ -e ready ] && return; sleep 0.05; done
  fail "it never began: $(cat "$S/$1.out")"
}

ended() {
  for _ in $(seq 600); do
    [ -n "$(squeue -h -j "$job" 2>/dev/null)" ] || return 0
    sleep 0.1
  done
  fail "job $job goes on"
}

@test "a job that is cancelled: it is stored and says that it was cut off" {
  export PLIMSOLL_DB=$PWD/store.db
  long_job cancelled
  scancel "$job"
  ended
  stored_of cancelled
  equal cut "$(plimsoll show --json | jq -r .cut_off)" 'SIGTERM came from outside, as a batch system sends it at a time limit'
}

@test "a job at its time limit: it is stored and says that it was cut off at the limit" {
  [ -n "${PL_LONG:-}" ] || skip "Slurm's shortest time limit is a minute: with PL_LONG only"
  export PLIMSOLL_DB=$PWD/store.db
  long_job limit
  for _ in $(seq 1500); do
    [ -n "$(squeue -h -j "$job" 2>/dev/null)" ] || break
    sleep 0.1
  done
  stored_of limit
  # older ones do not tell a job when its time is over
  why='as a batch system sends it at a time limit'
  ! srun -n 1 env | grep -q '^SLURM_JOB_END_TIME=' || why='at the time limit of the batch job'
  equal cut "$(plimsoll show --json | jq -r .cut_off)" "SIGTERM came from outside, $why"
}

@test "monitor beside a step on two nodes: one result with both hosts, and only the step's processes" {
  cat >script.sh <<'J'
#!/bin/sh
srun --overlap -n 2 -N 2 --ntasks-per-node 1 plimsoll monitor -i 200ms --source process -d "$S/jobs/mon" &
srun --overlap -n 4 -N 2 --ntasks-per-node 2 sh -c '"$PROGRAMS/actor" burn 1500 0; sleep 1'
wait
J
  chmod +x script.sh
  export PROGRAMS
  sbatch -W -n 4 -N 2 -o "$S/mon.out" --export=ALL script.sh || fail "$(cat "$S/mon.out")"
  dir=$S/jobs/mon
  [ -d "$dir" ] || fail "$(cat "$S/mon.out")"
  equal files "$(find "$dir" -name '*.smp' | wc -l)" 1
  plimsoll samples --json "$dir/samples.smp" >events
  equal hosts "$(jq -r 'select(.event == "head") | .host' events | sort | xargs)" 'n1 n2'
  equal ends "$(jq -r 'select(.event == "end") | .reason' events | sort -u)" job
  equal missing "$(jq -r '.missing_hosts // "none"' "$dir/job.json")" none
  # the step's programs, perhaps the batch script before the step is there, or the epilog that the site
  # runs for each task; never the monitor's own step
  names=$(jq -r 'select(.event == "entity" and .kind == "process") | .facts.comm' events | sort -u | xargs)
  [[ ${names/ epilog/} == 'actor sh sleep'?( slurm_script)?( srun) ]] || fail "$names"
  # 4 ranks of 1.5 s each, by the last row of each host
  total=0
  for host in n1 n2; do
    jq -c "if .event == \"head\" then .host else empty end, (select(.event == \"reading\" and .source == \"process\") | .rows[] | select(.kind == \"job\") | .values | .usertime + .systemtime)" events |
      awk -v host="\"$host\"" '/^"/ { here = $0 == host; next } here { last = $0 } END { print last + 0 }' >last
    total=$((total + $(cat last)))
  done
  at_least "CPU of four ranks in us" "$total" 5700000
  at_most "CPU of four ranks in us" "$total" 6900000
  equal ranks "$(jq -r 'select(.event == "entity" and .kind == "process") | .facts.rank' events | sort -un | xargs)" '0 1 2 3'
}

@test "srun -n2 plimsoll run --sample: the samples of both runs on one host add up to the records" {
  export PLIMSOLL_PREFIX=$S/jobs/sampled PLIMSOLL_DB=$WORK/store.db
  srun -n 2 -N 1 plimsoll run -q --sample 200ms "$PROGRAMS/actor" burn 1500 0
  dir=$(echo "$S"/jobs/sampled/[0-9]*)
  equal runs "$(find "$dir" -name '*.smp' | wc -l)" 2
  plimsoll submit -q "$dir"
  id=$(basename "$dir")
  recorded=$(plimsoll list --json | jq '.[0].cpu_time')
  at_least recorded "$recorded" 2900000
  plimsoll series "$id" --json >series.json
  equal series "$(jq '[.[] | select(.metric == "process.usertime" and .entity_kind == "job")] | length' series.json)" 2
  equal marks "$(jq -c '[.[] | select(.entity_kind == "job") | .facts.in_sum] | unique' series.json)" '[null]'
  total() { plimsoll series "$id" -m "process.$1" --kind job --total --json | jq '.[0].samples[-1][1]'; }
  sum=$(($(total usertime) + $(total systemtime)))
  # what was used before the first reading, and ticks of 10 ms
  at_least sampled "$sum" $((recorded * 85 / 100))
  at_most sampled "$sum" $((recorded + 80000))
}
