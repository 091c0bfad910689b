#!/usr/bin/env bats
# Jobs: start, stop, several runs in one, ids of batch systems, several hosts, signals and faults around
# `run`, and what is left when it is killed.

bats_require_minimum_version 1.5.0
load lib

# ---- start and stop --------------------------------------------------------------------------------

@test "start prints the id of a new job, run and stop find it in the session" {
  id=$(plimsoll start)
  [[ $id =~ ^[0-9]{8}T[0-9]{6}- ]] || fail "id '$id'"
  plimsoll run -q "$PROGRAMS/actor" return 0
  plimsoll run -q "$PROGRAMS/actor" return 4 || equal status $? 4
  [ -z "$(plimsoll dump --json | jq -r '.stop // empty')" ] || fail "stopped before stop"
  plimsoll stop
  equal dir "$(find "$PLIMSOLL_PREFIX" -mindepth 1 -maxdepth 1 -type d -printf '%f\n')" "$id"
  plimsoll dump --json "$PLIMSOLL_PREFIX/$id" >meta.json
  equal jobid "$(jq -r .jobid meta.json)" "$id"
  equal exitcode "$(jq -r .exitcode meta.json)" 4
  equal user "$(jq -r .user meta.json)" "$(id -un 2>/dev/null || id -u)"
  equal host "$(jq -r .host meta.json)" "$(hostname)"
  [ "$(jq '.stop_us - .start_us' meta.json)" -gt 0 ] || fail "no time passed"
  equal images "$(plimsoll records --jsonl "$PLIMSOLL_PREFIX/$id" | wc -l)" 2
  # and the session is free again
  run plimsoll stop
  equal status "$status" 0
  [[ $output == *"already stopped"* ]] || fail "$output"
}

@test "a step that cannot be started fails the job, unless the job would begin with it" {
  export PLIMSOLL_DB=$WORK/store.db
  plimsoll start >id
  plimsoll run -q -- true
  run -127 --separate-stderr plimsoll run -- /no/such
  equal "one line" "$stderr" "plimsoll: error: cannot run '/no/such': No such file or directory"
  run -126 plimsoll run -q --sample 1s -- "$WORK"
  plimsoll run -q -- true
  plimsoll stop -q
  equal status "$(plimsoll dump --json | jq .exitcode)" 127
  equal runs "$(cat "$PLIMSOLL_PREFIX/$(cat id)"/*/*.json | jq -sc 'map([.exitcode, .command[0], (has("end"))])')" \
    "[[0,\"true\",true],[127,\"/no/such\",true],[126,\"$WORK\",true],[0,\"true\",true]]"
  equal samples "$(find "$PLIMSOLL_PREFIX" -name '*.smp')" ""
  plimsoll submit -q
  equal stored "$(plimsoll list --json last | jq -c '.[] | [.exitcode, .processes]')" '[127,2]'
  equal accounted "$(plimsoll report --json last | jq '.accounting.cpu_residue')" 0
  # a batch job that a run began
  export SLURM_JOB_ID=4711
  run -127 plimsoll run -q -- /no/such
  [ ! -e "$PLIMSOLL_PREFIX/4711" ] || fail "a job of nothing"
  plimsoll run -q -- true
  run -127 plimsoll run -q -- /no/such
  plimsoll run -q -- true
  equal "batch job" "$(jq .exitcode "$PLIMSOLL_PREFIX/4711/job.json")" 127
}

@test "starting and stopping twice: a clear word, and an error only when asked for" {
  export PLIMSOLL_JOB=77
  plimsoll start -q
  run plimsoll start
  equal status "$status" 0
  [[ $output == *"job 77 was already started"* ]] || fail "$output"
  run plimsoll start -e
  equal status "$status" 1
  plimsoll stop
  run plimsoll stop
  equal status "$status" 0
  run plimsoll stop --error
  equal status "$status" 1
  run plimsoll start -e
  equal status "$status" 1
  [[ $output == *"already stopped"* ]] || fail "$output"
}

@test "stop without start is an error that names the remedy" {
  run plimsoll stop
  equal status "$status" 1
  [[ $output == *"no current job"* ]] || fail "$output"
  PLIMSOLL_JOB=5 run plimsoll stop
  equal status "$status" 1
  [[ $output == *"job 5 has no directory"* ]] || fail "$output"
}

@test "a last job that was staged or removed is said to be gone, and monitor's jobs count as last" {
  plimsoll run -q --no-submit -j 4242 -- true
  plimsoll stage -q -d . "$PLIMSOLL_PREFIX/4242" >/dev/null
  for words in submit stop stage records dump; do
    run --separate-stderr plimsoll $words
    equal "status of $words" "$status" 1
    [[ $stderr == *"no current job: the last one of this session, '$PLIMSOLL_PREFIX/4242', was staged or removed; name"* ]] ||
      fail "$words: $stderr"
  done
  run --separate-stderr setsid -w plimsoll records
  [[ $stderr == *"no current job: the last one, '$PLIMSOLL_PREFIX/4242', was staged or removed; name"* ]] || fail "$stderr"
  plimsoll monitor -q --no-submit -i 50ms -d sampled -- sleep 0.2
  local id
  id=$(jq -r .jobid sampled/job.json)
  equal last "$(plimsoll dump -k jobid)" "$id"
  run -0 --separate-stderr plimsoll submit
  [[ $output == "submitted $id: "* ]] || fail "$output"
}

@test "ids of batch systems" {
  check() {
    env "$@" plimsoll run -q "$PROGRAMS/actor" return 0
    [ -f "$PLIMSOLL_PREFIX/$want/job.json" ] || fail "$*: no $want in $(ls "$PLIMSOLL_PREFIX")"
    equal scheduler "$(jq -r .scheduler.name "$PLIMSOLL_PREFIX/$want/job.json")" "$system"
  }
  want=11 system=slurm check SLURM_JOB_ID=11 SLURM_JOBID=12 SLURM_JOB_NAME=ocean SLURM_ARRAY_JOB_ID=9 SLURM_ARRAY_TASK_ID=2 SLURM_STEP_ID=3
  equal name "$(jq -r .jobname "$PLIMSOLL_PREFIX/11/job.json")" ocean
  equal array "$(jq -r '.scheduler.array_job + "_" + .scheduler.array_task' "$PLIMSOLL_PREFIX/11/job.json")" 9_2
  equal step "$(jq -r .step "$PLIMSOLL_PREFIX"/11/*/*.json)" 3
  want=12 system=slurm check SLURM_JOBID=12
  want='13[4].server' system=pbs check 'PBS_JOBID=13[4].server'
  want=14 system=pbs check PBS_JOB_ID=14
  want=15 system=oar check OAR_JOB_ID=15
  want=16 system=lsf check LSB_JOBID=16
  want=17 system=sge check JOB_ID=17
  want=f18 system=flux check FLUX_JOB_ID=f18
}

@test "a job id that cannot be a directory is refused, and the command runs all the same" {
  for id in ../x a/b . .. .x "a b" "$(printf 'a\nb')"; do
    run plimsoll start -j "$id"
    equal "'$id'" "$status" 1
    [[ $output == *"invalid job id"* ]] || fail "$output"
  done
  run plimsoll run -j ../x -- echo ran
  equal status "$status" 0
  [[ $output == *ran* && $output == *"without recording"* ]] || fail "$output"
  run plimsoll run -e -j ../x -- echo ran
  equal status "$status" 1
  [[ $output != *ran* ]] || fail "$output"
}

@test "words that mean something else are no job ids, and the command runs all the same" {
  plimsoll run -q true
  for id in last spool current.1; do
    for options in "-j $id" "-j $id -o dir"; do
      # shellcheck disable=SC2086 # several words
      run -0 --separate-stderr plimsoll run $options -- echo ran
      equal output "$output" ran
      [[ $stderr == *"'$id' is a reserved word, not a job id"*'; choose another'* ]] || fail "$stderr"
      [ ! -e dir ]
      # shellcheck disable=SC2086
      run -1 plimsoll start $options
      [[ $output == *"'$id' is a reserved word"* ]] || fail "$output"
    done
    run -1 plimsoll stop -j $id
    [[ $output == *"'$id' is a reserved word"* ]] || fail "$output"
  done
  run -0 --separate-stderr plimsoll run -j last -- true
  [[ $stderr == *": it means the last job; choose another"* ]] || fail "$stderr"
}

@test "the environment is recorded, secrets are masked, changes are kept" {
  export MY_PASSWORD=hunter2 AWS_SECRET_ACCESS_KEY=abc GITHUB_TOKEN=def HARMLESS=yes LS_COLORS=x _UNDER=1 PLIMSOLL_JOB=9
  plimsoll start -q
  HARMLESS=no NEW=1 plimsoll stop
  dir=$PLIMSOLL_PREFIX/9
  equal harmless "$(jq -r .environment.HARMLESS "$dir/job.json")" yes
  equal changed "$(jq -r .environment_changes.HARMLESS "$dir/job.json")" no
  equal new "$(jq -r .environment_changes.NEW "$dir/job.json")" 1
  equal dropped "$(jq -r '.environment | has("LS_COLORS") or has("_UNDER")' "$dir/job.json")" false
  for secret in hunter2 abc def; do
    ! grep -rq "\"$secret\"" "$dir" || fail "$secret is written down"
  done
  equal masked "$(jq -r .environment.MY_PASSWORD "$dir/job.json")" '***'
}

@test "the job directory is private" {
  plimsoll run -q -j 3 "$PROGRAMS/actor" return 0
  equal modes "$(find "$PLIMSOLL_PREFIX" -type d -printf '%m\n' | sort -u)" 700
  equal files "$(find "$PLIMSOLL_PREFIX/3" -type f -printf '%m\n' | sort -u)" 600
}

# ---- several runs, several hosts ------------------------------------------------------------------------

@test "runs without start are jobs of their own; -o joins the job that is there" {
  plimsoll run -q "$PROGRAMS/actor" return 0
  plimsoll run -q "$PROGRAMS/actor" return 0
  equal jobs "$(find "$PLIMSOLL_PREFIX" -name job.json | wc -l)" 2
  plimsoll run -q -o one "$PROGRAMS/actor" return 0
  id=$(jq -r .jobid one/job.json)
  plimsoll run -q -o one "$PROGRAMS/actor" return 6 || true
  equal id "$(jq -r .jobid one/job.json)" "$id"
  equal exitcode "$(jq -r .exitcode one/job.json)" 6
  equal images "$(plimsoll records --jsonl one | wc -l)" 2
}

@test "64 ranks on four hosts are one job" {
  unshare -ru true 2>/dev/null || skip "no user and UTS namespaces here"
  export SLURM_JOB_ID=640 SLURM_NTASKS=64
  for host in n1 n2 n3 n4; do
    for rank in $(seq 16); do
      SLURM_PROCID=$rank unshare -ru sh -c "hostname $host; exec plimsoll run -q -o shared $PROGRAMS/actor return 0" &
    done
    wait
  done
  equal hosts "$(ls -d shared/*.*/ | wc -l)" 4
  equal runs "$(ls shared/*/*.rec | wc -l)" 64
  equal jobs "$(find . -name job.json | wc -l)" 1
  plimsoll records --jsonl shared >rows.jsonl
  equal images "$(wc -l <rows.jsonl)" 64
  for host in n1 n2 n3 n4; do
    equal "$host" "$(rows ".hostname == \"$host\"")" 16
  done
  equal ranks "$(jq .mpirank rows.jsonl | sort -nu | wc -l)" 16
  [ "$(jq -r .stop_us shared/job.json)" -ge "$(jq -s 'map(.end) | max' rows.jsonl)" ] || fail "the job ended before its last process"
}

@test "programs that a launcher carried to another host write a file of their own" {
  unshare -ru true 2>/dev/null || skip "no user and UTS namespaces here"
  plimsoll start -q -o job
  eval "$(plimsoll source -o job bash)"
  unshare -ru sh -c "hostname elsewhere; $PROGRAMS/actor return 3; :"
  unset LD_PRELOAD
  [ -f job/elsewhere.rec ] || fail "$(find job)"
  plimsoll records --jsonl job >rows.jsonl
  equal host "$(value '.exename == "actor"' hostname)" elsewhere
  equal code "$(value '.exename == "actor"' exitcode)" 3
}

@test "a run inside a run: the inner one is part of the outer one's books" {
  record sh -c "plimsoll run -q $PROGRAMS/actor return 5; exit 0"
  equal status "$status" 0
  equal actor "$(value '.exename == "actor"' exitcode)" 5
  equal recs "$(find job -name '*.rec' | wc -l)" 2
  equal missing "$(summary missing)" 0
  at_least itemised "$(summary cpu_itemised)" "$(($(summary cpu_total) * 95 / 100))"
}

# ---- around the command -----------------------------------------------------------------------------------

@test "standard input, output and error pass through untouched" {
  head -c 300000 /dev/urandom >data
  plimsoll run -q -o job -- sh -c 'cat; echo err >&2' <data >out 2>err
  cmp data out
  equal err "$(cat err)" err
  plimsoll run -q -o job2 -- sh -c 'ls -l /proc/self/fd | wc -l' >with 3>&- 4>&-
  sh -c 'ls -l /proc/self/fd | wc -l' >without 3>&- 4>&-
  equal descriptors "$(cat with)" "$(cat without)"
}

@test "arguments keep their quoting" {
  plimsoll run -q -o job -- printf '<%s>' 'a b' '' '"q"' "it's" '$HOME' '*' >out
  equal out "$(cat out)" "<a b><><\"q\"><it's><\$HOME><*>"
}

@test "signals are passed on" {
  for sig in TERM INT HUP USR1 USR2; do
    rm -rf job ready
    env --default-signal="$sig" plimsoll run -q -o job -- sh -c "trap 'echo got; exit 9' $sig; touch ready; while :; do sleep 0.02; done" >out &
    pid=$!
    for _ in $(seq 200); do [ -e ready ] && break; sleep 0.02; done
    kill -"$sig" $pid
    status=0
    wait $pid || status=$?
    equal "$sig" "$status $(cat out)" "9 got"
  done
}

@test "descendants that go on are listed as running, and --wait waits for them" {
  record sh -c "$PROGRAMS/actor sleep 3000 & echo started >mark"
  equal status "$status" 0
  equal running "$(summary running)" 1
  equal row "$(value '.exename == "actor"' ended)" running
  at_most wall "$(summary wall)" 1500000
  RUN_OPTIONS=(--wait)
  record sh -c "$PROGRAMS/actor sleep 700 3 & echo started >mark"
  equal running "$(summary running)" 0
  equal row "$(value '.exename == "actor"' exitcode)" 3
  RUN_OPTIONS=(--wait=300ms)
  start=$(date +%s%N)
  record sh -c "$PROGRAMS/actor sleep 5000 & echo started >mark"
  at_most waited $((($(date +%s%N) - start) / 1000000)) 3000
  equal running "$(summary running)" 1
}

# bats test_tags=root
@test "what ends after the run is still recorded" {
  plimsoll run -q -o job -- sh -c "$PROGRAMS/actor sleep 600 8 & exit 0"
  sleep 1
  plimsoll records --jsonl job >rows.jsonl
  equal code "$(value '.exename == "actor"' exitcode)" 8
}

# until_listed N: the store has so many jobs
until_listed() {
  for _ in $(seq 300); do
    [ "$(plimsoll list --json 2>/dev/null | jq length)" != "$1" ] || return 0
    sleep 0.1
  done
  fail "never $1 jobs: $(plimsoll list)"
}

@test "a run that leaves processes behind says so, and is stored when they have ended, with all that they used" {
  export PLIMSOLL_DB=$WORK/s.db
  cat >bg.sh <<S
($PROGRAMS/actor sleep 700; $PROGRAMS/actor burn 200; true) &
$PROGRAMS/actor burn 20
S
  plimsoll run -o job -- bash bg.sh 2>err
  grep -q "store .*processes are still running; the job is stored when all have ended, or now with: plimsoll submit $PWD/job" err || fail "$(cat err)"
  [ ! -e s.db ] || fail "stored at once"
  until_listed 1
  plimsoll procs --json last >procs.json
  equal "rows" "$(jq -r '[.[] | .exename] | sort | join(" ")' procs.json)" "actor actor actor bash bash"
  equal "ends" "$(jq -r '[.[] | .ended] | unique | join(" ")' procs.json)" "exit"
  plimsoll show --json last >show.json
  equal "as long as its longest process" "$(jq -n --slurpfile s show.json --slurpfile p procs.json \
    '$s[0].duration >= ([$p[0][] | .duration] | max)')" true
  equal "no warnings" "$(jq '.warnings | length' show.json)" 0
  # what the run saw of it is no total
  plimsoll report --json last >report.json
  at_least "CPU of the report" "$(jq '.accounting.cpu_itemised' report.json)" 200000
  [ "$(jq '.accounting | (.cpu_total // .cpu_itemised) >= .cpu_itemised' report.json)" = true ] || fail "$(jq -c .accounting report.json)"
}

@test "a run that is told to end while a grandchild lives is stored, too" {
  export PLIMSOLL_DB=$WORK/s.db
  plimsoll run -q -- sh -c "setsid $PROGRAMS/actor sleep 1500 & touch ready; sleep 30" 3>&- &
  pid=$!
  until [ -e ready ]; do sleep 0.02; done
  kill -TERM $pid
  wait $pid || true
  until_listed 1
  equal "exit status" "$(plimsoll list --json | jq '.[0].exitcode')" 143
  equal "who ended by himself" "$(plimsoll procs --json last | jq -r '.[] | select(.exename == "actor") | .ended')" exit
}

@test "submit and stage without a name take this session's job, never another session's" {
  export PLIMSOLL_DB=$WORK/s.db
  plimsoll start
  plimsoll run -q -- "$PROGRAMS/actor" return 7 || true
  setsid -w bash -c "plimsoll run -q --no-submit -- $PROGRAMS/actor return 8" || true
  plimsoll stop
  plimsoll submit 2>err
  equal "what is stored" "$(plimsoll procs --json last | jq -r '.[0].exitcode')" 7
  # in a session that ran nothing
  run -1 setsid -w plimsoll submit
  [[ $output == *"this session has run no job; name one"* ]] || fail "$output"
  run -1 setsid -w plimsoll stage --dest "$WORK/out"
  [[ $output == *"this session has run no job"* ]] || fail "$output"
  # one that goes elsewhere in between is not the one that was stopped
  plimsoll start
  plimsoll run -q -o elsewhere --no-submit -- "$PROGRAMS/actor" return 9 || true
  plimsoll run -q -- "$PROGRAMS/actor" return 6 || true
  plimsoll run -q -o elsewhere --no-submit -- "$PROGRAMS/actor" return 9 || true
  plimsoll stop
  plimsoll submit
  equal "the one that was stopped" "$(plimsoll procs --json last | jq -r '[.[] | .exitcode] | join(" ")')" 6
}

@test "runs that join a batch job after a submit reach the store with the next one, and notes stay" {
  export PLIMSOLL_DB=$WORK/s.db SLURM_JOB_ID=5002
  plimsoll run -q -- "$PROGRAMS/actor" return 0
  plimsoll submit
  plimsoll annotate 5002 seen=yes
  plimsoll tag 5002 phase:one
  plimsoll run -q -- "$PROGRAMS/actor" burn 30
  plimsoll submit
  equal "processes" "$(plimsoll procs --json 5002 | jq length)" 2
  equal "notes" "$(plimsoll list --json | jq -r '.[0] | "\(.annotations.seen) \(.tags.phase)"')" "yes one"
  equal "jobs" "$(plimsoll list --json | jq length)" 1
  # nothing has come since
  run plimsoll submit
  [[ $output == *"in the store already"* ]] || fail "$output"
}

@test "the end of a run that was killed is nobody's: no status, and not the time of stop" {
  export PLIMSOLL_DB=$WORK/s.db
  plimsoll run -q --sample 100ms -o job -- sh -c "$PROGRAMS/actor return 0; touch ready; sleep 30" 3>&- &
  pid=$!
  until [ -e ready ]; do sleep 0.02; done
  kill -9 $pid
  wait $pid 2>/dev/null || true
  killed=$(date +%s%6N)
  sleep 2
  plimsoll stop -o job
  plimsoll submit job
  plimsoll list --json >list.json
  equal "status" "$(jq '.[0].exitcode' list.json)" null
  at_most "its end after the kill, us" "$(($(jq '.stop_us' job/job.json) - killed))" 1000000
  run -0 plimsoll show last
  [[ $output == *"exit         unknown"* ]]
}

@test "the summary as JSON: on stderr, or into a file" {
  plimsoll run --json -o job -- "$PROGRAMS/actor" return 2 2>err || true
  equal exitcode "$(jq -r .exitcode err)" 2
  plimsoll run -q --json=s.json -o job2 -- "$PROGRAMS/actor" return 0 2>err
  [ ! -s err ] || fail "$(cat err)"
  for key in jobid dir processes threads images missing running cpu_itemised cpu_total wall exitcode warnings; do
    equal "$key" "$(jq "has(\"$key\")" s.json)" true
  done
  equal dir "$(jq -r .dir s.json)" "$PWD/job2"
  equal types "$(jq -r '[.processes, .cpu_total, .wall, .exitcode, .warnings] | map(type) | join(" ")' s.json)" "number number number number array"
}

@test "the summary for people names what matters, and -q silences it" {
  plimsoll run -o job -- sh -c "$PROGRAMS/actor kill 9; exit 3" 2>err || true
  grep -q 'exit 3 after' err
  grep -q '2: 2 programs' err
  grep -q '1 by a signal' err
  grep -q '% of CPU time' err
  grep -q 'every end known' err
  plimsoll run -q -o job2 -- sh -c "$PROGRAMS/actor return 0" 2>err
  [ ! -s err ] || fail "$(cat err)"
}

@test "a dry run prints the command with its environment and makes nothing" {
  run plimsoll run -n -- echo 'a b'
  equal status "$status" 0
  [[ $output == *"LD_PRELOAD="*"libplimsoll.so"*" echo 'a b'"* ]] || fail "$output"
  [ ! -e "$PLIMSOLL_PREFIX" ] || fail "$(find "$PLIMSOLL_PREFIX")"
  run --separate-stderr plimsoll run -n -- echo
  [[ $stderr == *"running the line records nothing"* ]] || fail "$stderr"
  ! without epmt || return 0
  run --separate-stderr env JOB_ID=4711 EPMT_PREFIX= epmt run -n ./mem 3
  [[ $output != *//* && $output == */"$(id -un)"/4711/* ]] || fail "$output"
}

@test "an earlier LD_PRELOAD stays, ours is not there twice" {
  LD_PRELOAD=/x/libold.so plimsoll run -n -- true 2>/dev/null | grep -q 'libplimsoll.so:/x/libold.so' || fail "lost"
  plimsoll run -q -o job -- plimsoll run -n -- true >out
  equal once "$(grep -o libplimsoll.so out | wc -l)" 1
}

# ---- faults ------------------------------------------------------------------------------------------------

@test "run itself killed with SIGKILL: records survive, stop and dump work" {
  export PLIMSOLL_JOB=99
  plimsoll run -q -- sh -c "$PROGRAMS/actor return 3; sleep 30 & echo \$! >ready; wait" &
  pid=$!
  for _ in $(seq 200); do [ -s ready ] && break; sleep 0.02; done
  kill -9 $pid
  wait $pid 2>/dev/null || true
  kill "$(cat ready)" || true
  sleep 0.1
  plimsoll stop
  equal stopped "$(plimsoll dump --json "$PLIMSOLL_PREFIX/99" | jq 'has("stop")')" true
  plimsoll records --jsonl "$PLIMSOLL_PREFIX/99" >rows.jsonl
  equal actor "$(value '.exename == "actor"' exitcode)" 3
  equal shell "$(rows '.exename == "sh"')" 1
}

@test "an output directory that cannot be made: said once, the command runs" {
  touch file
  run plimsoll run -o file/job -- echo ran
  equal status "$status" 0
  [[ $output == *"cannot create directory 'file/job'"* && $output == *ran* ]] || fail "$output"
  run plimsoll run -o file/job -e -- echo ran
  equal status "$status" 1
}

@test "an output directory that vanishes: the program goes on, the summary says what is missing" {
  record sh -c "$PROGRAMS/actor return 0; rm -rf $PWD/job; $PROGRAMS/actor return 0; echo done >mark" || true
  equal status "$status" 0
  [ -e mark ]
}

# bats test_tags=root
@test "a full disk: the program is unaffected and the books are open" {
  [ "$PL_AS" = root ] || skip "mounting needs root"
  unshare -m sh -c "mount -t tmpfs -o size=32k none $WORK && cd $WORK && mkdir job &&
    plimsoll run -o job --json=/tmp/s.$$ -- sh -c 'for i in \$(seq 300); do $PROGRAMS/actor return 0 || exit 1; done; echo all ran' >/tmp/o.$$ 2>/tmp/e.$$" || fail "status $?: $(cat /tmp/e.$$)"
  equal out "$(cat /tmp/o.$$)" "all ran"
  grep -q 'cannot write all records: No space left on device' /tmp/e.$$ || fail "$(cat /tmp/e.$$)"
  rm -f /tmp/[soe].$$
}

# bats test_tags=root
@test "prefixes: a link, a stranger's directory, an open one are refused" {
  mkdir real
  ln -s "$PWD/real" link
  PLIMSOLL_PREFIX=$PWD/link run plimsoll start
  equal link "$status" 1
  [[ $output == *"is a symbolic link"* ]] || fail "$output"
  mkdir open && chmod 777 open
  PLIMSOLL_PREFIX=$PWD/open/sub run plimsoll start
  equal open "$status" 1
  [[ $output == *"not sticky"* ]] || fail "$output"
  chmod 1777 open
  PLIMSOLL_PREFIX=$PWD/open/sub run plimsoll start
  equal sticky "$status" 0
  if [ "$PL_AS" = root ]; then
    mkdir stranger && chown 12345 stranger
    PLIMSOLL_PREFIX=$PWD/stranger run plimsoll start
    equal stranger "$status" 1
    [[ $output == *"belongs to uid 12345"* ]] || fail "$output"
  fi
  # whoever made it had a reason for its mode: only what is below is ours
  for mode in 755 1777 2775; do
    mkdir wide$mode && chmod $mode wide$mode
    PLIMSOLL_PREFIX=$PWD/wide$mode plimsoll start -q
    equal kept "$(stat -c %a wide$mode)" $mode
    equal private "$(find wide$mode -mindepth 1 -perm /077)" ""
    PLIMSOLL_PREFIX=$PWD/wide$mode plimsoll stop -q
  done
  PLIMSOLL_PREFIX=$PWD/open
  export PLIMSOLL_PREFIX
  chmod 777 open
  run plimsoll start
  equal "open to all" "$status" 1
  [[ $output == *"not sticky"* ]] || fail "$output"
  equal "its mode" "$(stat -c %a open)" 777
}

@test "a prefix below one that is missing opens no directory to all" {
  umask 022
  PLIMSOLL_PREFIX=$PWD/typo/jobs plimsoll start -q
  equal mode "$(stat -c %a typo)" 700
  mkdir -m 1777 open
  PLIMSOLL_PREFIX=$PWD/open/site/jobs plimsoll start -q
  equal "as /tmp is" "$(stat -c %a open/site)" 1777
}

@test "a job of several hosts on a disk of one: one clear warning at its start" {
  export SLURM_JOB_ID=4 SLURM_JOB_NUM_NODES=4
  plimsoll start 2>err >/dev/null
  grep -q "has 4 hosts, but .* is on the local disk of this host" err || fail "$(cat err)"
  plimsoll run -- true 2>err
  equal "not again" "$(grep -c "own disk" err)" 0
  SLURM_JOB_ID=5 plimsoll run -- true 2>err
  grep -q "has 4 hosts" err || fail "$(cat err)"
  SLURM_JOB_ID=6 SLURM_JOB_NUM_NODES=1 plimsoll start 2>err >/dev/null
  [ ! -s err ] || fail "$(cat err)"
}

# bats test_tags=root
@test "a pid that is used again is another process" {
  [ "$(cat /proc/sys/kernel/pid_max)" -le 40000 ] || skip "pid_max is too large to go around in a test"
  cat >spin.c <<'C'
#include <spawn.h>
#include <sys/wait.h>
#include <stdlib.h>
extern char **environ;
int main(int argc, char **argv)
{
	for (int i = 0; i < 40000; i++) {
		if (i % 20) { /* most of them only use up pids */
			int pid = vfork();
			if (!pid)
				_exit(1);
			syscall(61, pid, 0, 0, 0);
			continue;
		}
		pid_t pid;
		posix_spawn(&pid, argv[1], 0, 0, (char *[]){argv[1], "return", "2", 0}, environ);
		waitpid(pid, 0, 0);
	}
	return 0;
}
C
  gcc -w -O1 -o spin spin.c
  RUN_OPTIONS=(--no-kernel)
  record ./spin "$PROGRAMS/actor"
  equal actors "$(rows '.exename == "actor" and .exitcode == 2')" 2000
}

# bats test_tags=root
@test "the cleaning of /tmp leaves the directory of a job alone while it runs" {
  mkdir -m 1777 clean
  export PLIMSOLL_PREFIX=$PWD/clean/jobs
  if [ "$PL_AS" = root ] && command -v systemd-tmpfiles >/dev/null; then
    printf 'q %s 1777 root root 1s\n' "$PWD/clean" >clean.conf
    plimsoll run -q --no-submit -- sh -c "sleep 2; systemd-tmpfiles --clean --prefix=$PWD/clean $PWD/clean.conf"
    equal kept "$(plimsoll records --jsonl "$PLIMSOLL_PREFIX"/*-* | jq -r .exename | sort -u | paste -sd' ')" 'sh sleep systemd-tmpfiles'
  fi
  # whoever ages files takes a shared lock on each directory, and leaves out what is locked
  command -v flock >/dev/null || skip "no flock"
  rm -rf clean/jobs
  run -0 plimsoll run -q --no-submit -- sh -c "! flock -n -s '$PLIMSOLL_PREFIX'/*-* true"
}
