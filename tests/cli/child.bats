#!/usr/bin/env bats
# plimsoll run as the child of a shell: signals, job control, descriptors, and where its words go.

bats_require_minimum_version 1.5.0
load store

# check WORD...: see as_child.py
check() {
  python3 "$PL_SOURCE/tests/cli/as_child.py" "$@" 3>&- || fail "$(echo "$@")"
}

# bats test_tags=root
@test "every signal that can be caught reaches the command once, with what was queued" {
  check signals
}

@test "a command that ends by a signal: run ends by the same, whichever it is" {
  check ends
}

@test "what the command sends to its own group comes to it once" {
  check group
}

@test "a parent that ignores SIGCHLD" {
  check ignored_children
}

@test "a command that stops: run stops by the same signal and continues it" {
  check stops
}

@test "a command that somebody stops and continues alone" {
  check stop_alone
  equal processes "$(plimsoll records --jsonl job | jq -r .exename | sort | xargs)" 'sh sleep'
}

@test "SIGCONT to the whole group comes to the command once" {
  check once
}

@test "a terminal: ^Z, fg, ^C, a loop of the shell, a shell inside, the background" {
  check terminal
}

@test "a terminal that goes away" {
  check hangup
}

@test "a terminal: ^C, ^\\ and ^Z come to the command once" {
  check keys
}

@test "a signal while the job is being stored: it is stored whole and run ends by it; the second leaves it in its directory" {
  check storing
}

@test "--wait can be interrupted: what it has is kept, and run ends by the signal" {
  check wait
}

# ---- descriptors, words, what is no job ---------------------------------------------------------------

@test "a reader that goes away: the status is the command's, the job is stored, SIGPIPE is the command's own" {
  export PLIMSOLL_DB=$PWD/store.db
  bash -c 'plimsoll run -N early -- sh -c "sleep 0.3; exit 7" 2> >(exec true); echo $? >status'
  equal status "$(cat status)" 7
  bash -c '{ plimsoll run -N piped -- seq 3 2>&1; echo $? >status; } | head -1 >first'
  equal first "$(cat first)" 1
  equal stored "$(plimsoll list --json | jq -r '.[].jobname' | sort | xargs)" 'early piped'
  # yes ends by it, as without us
  bash -c '{ plimsoll run -q -N yes -- yes; echo $? >status; } | head -1 >first'
  equal yes "$(cat status)" 141
  equal disposition "$(plimsoll run -q --no-submit -- grep SigIgn /proc/self/status)" "$(grep SigIgn /proc/self/status)"
  plimsoll run -N full -- sh -c 'exit 6' 2>/dev/full || status=$?
  equal full "$status" 6
  equal 'stored, too' "$(plimsoll list --json | jq -r '.[].jobname' | grep -c full)" 1
}

# bats test_tags=root
@test "descriptors 0 to 2 closed: nothing goes into the records, the command finds them closed" {
  export PLIMSOLL_DB=$PWD/store.db
  for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- >&- 2>&-'; do
    rm -rf job fds
    bash -c "plimsoll run -q -o job -- find /proc/self/fd/ -fprintf fds '%f '  $closed; echo \$? >status"
    equal "status $closed" "$(cat status)" 0
    equal "damage $closed" "$(plimsoll records --json job 2>&1 >/dev/null)" ""
    rm -f plain
    bash -c "find /proc/self/fd/ -fprintf plain '%f ' $closed; true"
    equal "descriptors $closed" "$(cat fds)" "$(cat plain)"
    ! grep -a -l 'plimsoll: ' job/*/*.rec || fail "words in the records $closed"
  done
  for words in 'list' 'start -j 9' 'stop -j 9' 'check' "submit job"; do
    bash -c "plimsoll $words <&- >&- 2>&-; echo \$? >status"
    at_most "$words" "$(cat status)" 1
  done
  equal "jobs in the store, one for each run" "$(plimsoll list --json | jq length)" 5
}

@test "a command that cannot be started is no job" {
  export PLIMSOLL_DB=$PWD/store.db
  touch plain
  printf '#!/no/such/interpreter\n' >script
  chmod +x script
  # a directory of PATH that may not be searched is no reason to say that permission is missing
  mkdir closed && chmod 0 closed && PATH=$PATH:$PWD/closed
  for words in 'no-such-command:127' './plain:126' './nothing:127' './script:127'; do
    run "-${words#*:}" plimsoll run -- "${words%:*}"
    [[ $output == *"cannot run '${words%:*}'"* ]] || fail "$output"
  done
  [ ! -e store.db ] || fail "something was stored"
  equal directories "$(find "$PLIMSOLL_PREFIX" -mindepth 1 ! -name '.*' 2>/dev/null)" ""
}

@test "words that people type: a program as a command, -n 4, an id, inside a batch job" {
  export PLIMSOLL_DB=$PWD/store.db
  run plimsoll ./a.out
  equal status "$status" 2
  [[ $output == *'plimsoll run -- ./a.out'* ]] || fail "$output"
  run plimsoll run -n 4 ./a.out
  equal status "$status" 2
  [[ $output == *'`plimsoll run -- mpirun -n 4 COMMAND`'* ]] || fail "$output"
  plimsoll run -j 77 -- true 2>err
  equal last "$(tail -1 err)" "  store     not yet; when job 77 is complete: plimsoll submit $PLIMSOLL_PREFIX/77"
  SLURM_JOB_ID=78 plimsoll run -- true 2>err
  eval "$(tail -1 err | sed 's/.*: //') 2>/dev/null"
  equal submitted "$(plimsoll list --json | jq -r '.[].jobid')" 78
}

# bats test_tags=root
@test "cut off from outside: stored, and it says so" {
  export PLIMSOLL_DB=$PWD/store.db
  plimsoll run -o job -- sh -c 'trap "sleep 0.3; exit 1" TERM; touch ready; while :; do sleep 0.05; done' 2>err &
  pid=$!
  for _ in $(seq 500); do [ -e ready ] && break; sleep 0.02; done
  kill -TERM $pid
  for _ in $(seq 500); do [ "$(jq -r .cut_off.signal job/*/*.json 2>/dev/null)" = 15 ] && break; sleep 0.02; done
  status=0
  wait $pid || status=$?
  equal status "$status" 1
  grep -q 'warning .*cut off: SIGTERM came from outside' err || fail "$(cat err)"
  equal stored "$(plimsoll list --json | jq length)" 1
  equal facts "$(jq -r .cut_off.signal job/*/*.json)" 15
  equal show "$(plimsoll show --json | jq -r .cut_off)" 'SIGTERM came from outside'
  for words in show report; do
    plimsoll $words | grep -q 'cut off  *SIGTERM came from outside' || fail "$(plimsoll $words)"
  done
  # all of the job has the signal at once, and the command ends before run has it
  # shellcheck disable=SC2016
  plimsoll run -q -N all -- sh -c 'echo $$ >command; exec sleep 100' &
  pid=$!
  for _ in $(seq 500); do [ -s command ] && break; sleep 0.02; done
  kill -STOP $pid
  kill -TERM "$(cat command)"
  for _ in $(seq 500); do grep -q '^State:.Z' "/proc/$(cat command)/status" && break; sleep 0.02; done
  kill -TERM $pid
  kill -CONT $pid
  wait $pid || status=$?
  equal 'status of all' "$status" 143
  equal all "$(plimsoll show --json | jq -r .cut_off)" 'SIGTERM came from outside'
  # one that ended by itself was not cut off, nor one that its user ended
  plimsoll run -q -N whole -- true
  equal whole "$(plimsoll show --json | jq -r .cut_off)" null
  plimsoll run -q -N typed -- sh -c 'kill -INT $PPID; sleep 5' || true
  equal typed "$(plimsoll show --json | jq -r .cut_off)" null
}

# bats test_tags=root
@test "a run that is killed: its directory can be submitted when all is over, and says that it was cut off" {
  export PLIMSOLL_DB=$PWD/store.db
  export PROGRAMS
  # shellcheck disable=SC2016
  plimsoll run -q -o job -- sh -c '"$PROGRAMS/actor" burn 200; echo $$ >command; sleep 1000 & wait' &
  pid=$!
  for _ in $(seq 500); do [ -s command ] && break; sleep 0.02; done
  # it lives: nobody takes its job from it
  run -1 plimsoll submit job
  [[ $output == *'has not been stopped'* ]] || fail "$output"
  kill -KILL $pid
  status=0
  wait $pid || status=$?
  equal status "$status" 137
  kill "$(cat command)"
  plimsoll submit -q job
  equal show "$(plimsoll show --json | jq -r .cut_off)" 'plimsoll itself was killed: the end of the command is unknown'
  equal stored "$(plimsoll list --json | jq -c '.[] | [.num_procs >= 2, .duration > 200000]')" '[true,true]'
  equal burnt "$(plimsoll records --jsonl job | jq -c 'select(.exename == "actor") | .usertime + .systemtime > 150000')" true
  # another host's run may be alive, for all that is known here
  jq '.host = "elsewhere"' job/*/*.json >facts && cp facts "$(echo job/*/*.json)"
  PLIMSOLL_DB=$PWD/other.db run -1 plimsoll submit job
  [[ $output == *'has not been stopped'* ]] || fail "$output"
}

# bats test_tags=root
@test "a run that is killed: the status of a command that ended by itself is the same everywhere" {
  export PLIMSOLL_DB=$PWD/store.db
  local how pid
  for how in 'exit 3,3' 'exec sh -c "exit 4",4' 'exit 0,0'; do
    rm -rf job go command
    # shellcheck disable=SC2016
    plimsoll run -q -o job --no-submit -- sh -c 'echo $$ >command; while ! [ -e go ]; do sleep 0.02; done; '"${how%,*}" &
    pid=$!
    for _ in $(seq 500); do [ -s command ] && break; sleep 0.02; done
    kill -KILL $pid
    wait $pid || true
    touch go
    for _ in $(seq 500); do [ -d "/proc/$(cat command)" ] || break; sleep 0.02; done
    plimsoll submit -q job
    local code=${how#*,}
    equal "show of $how" "$(plimsoll show --json last | jq -r '[.exitcode, .cut_off] | join(", ")')" \
      "$code, plimsoll itself was killed: the end of the command is taken from its own record"
    equal "list of $how" "$(plimsoll list --json last | jq '.[0].exitcode')" "$code"
    equal "report of $how" "$(plimsoll report --json last | jq '.job.exitcode')" "$code"
    [ "$code" = 0 ] || plimsoll tree last | grep -q "(exit $code)"
  done
}

# bats test_tags=root
@test "limits of the shell: the command runs with its own status, recorded or not" {
  export PLIMSOLL_DB=$PWD/store.db
  for limit in '-f 0' '-f 100' '-s 64' '-d 1000'; do
    run -3 bash -c "ulimit $limit; plimsoll run -q -- sh -c 'echo RAN; exit 3'"
    equal "ran with ulimit $limit" "$(grep -c '^RAN$' <<<"$output")" 1
  done
  # a small stack is no reason not to record
  bash -c 'ulimit -s 64; plimsoll run -q -o small -- sh -c "exit 0"'
  equal recorded "$(plimsoll records --jsonl small | wc -l)" 1
}

# bats test_tags=root
@test "a limit on the size of files that the command sets itself: what could not be written is told" {
  printf 'ulimit -f 1\nfor i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done\nexit 3\n' >limited.sh
  run -3 plimsoll run --no-kernel -o job -- sh limited.sh
  [[ $output == *'could not write all of their records: the file size limit'* ]] || fail "$output"
  # and nothing where nothing is missing
  run -0 plimsoll run --no-kernel -o whole -- sh -c 'ulimit -f 1000; /bin/true'
  [[ $output != *'could not write'* ]] || fail "$output"
}

# bats test_tags=root
@test "a full disk below the records: the job is stored all the same, with its status" {
  use_store
  mkdir small
  mount -t tmpfs -o size=200k none small 2>/dev/null || skip "nothing can be mounted here"
  status=0
  PLIMSOLL_PREFIX=$PWD/small plimsoll run -- sh -c 'for i in $(seq 1500); do /bin/true; done; exit 5' 2>err || status=$?
  umount small
  equal status "$status" 5
  grep -q 'cannot write all records: No space left on device' err || fail "$(cat err)"
  run ! grep -q 'do not say why' err
  equal stored "$(plimsoll list --json | jq -c '[.[0].exitcode, (.[0].processes > 100)]')" '[5,true]'
}
