#!/usr/bin/env bats
# `plimsoll top`: one view as text and as JSON, and the live one on a terminal of the test's own.

bats_require_minimum_version 1.5.0
load lib

started() {
  echo "$1" >>"$WORK/started"
}

teardown() {
  if [ -f "$WORK/started" ]; then
    while read -r pid; do kill -9 "$pid" 2>/dev/null || true; done <"$WORK/started"
  fi
  clear_work
}

# A job: a shell that waits, and two that compute.
begin_job() {
  cat >busy.sh <<'E'
while :; do :; done
E
  sh -c 'sh busy.sh one & echo $! >one; OMPI_COMM_WORLD_RANK=3 sh busy.sh two & echo $! >two; wait' 3>&- &
  JOB=$!
  started $JOB
  until [ -s one ] && [ -s two ]; do sleep 0.05; done
  started "$(cat one)"
  started "$(cat two)"
}

# pty ROWSxCOLUMNS STEP ... -- COMMAND: on a terminal
pty() {
  timeout 120 python3 "$PL_SOURCE/tests/cli/pty_run.py" "$@"
}

# the row of a process in a picture
row() {
  grep -E "^ *$2 " "$1" || fail "no row of $2: $(cat "$1")"
}

# bats test_tags=root
@test "one view as text" {
  begin_job
  plimsoll top --once -i 500ms $JOB >view
  equal title "$(sed -n 1p view)" "$(hostname -s)  process $JOB and its descendants"
  grep -q "^3 processes, 3 threads, for .*; 100 % is one of $(nproc --all) CPUs*\$" view
  grep -q '^cpu  *[0-9]* % ' view || grep -q '^cpu  *[0-9.]* % ' view
  equal head "$(grep -c '^    PID  RANK S  THR  \*CPU%      RSS   READ/s  WRITE/s COMMAND$' view)" 1
  # busiest first, the shell that waits last
  equal order "$(tail -3 view | awk '{ print $1 }' | sort -n | tr '\n' ' ')" "$(printf '%s\n' $JOB "$(cat one)" "$(cat two)" | sort -n | tr '\n' ' ')"
  equal last "$(tail -1 view | awk '{ print $1 }')" $JOB
  equal rank "$(row view "$(cat two)" | awk '{ print $2 }')" 3
  equal norank "$(row view "$(cat one)" | awk '{ print $2 }')" -
  equal state "$(row view $JOB | awk '{ print $3 }')" S
  [[ "$(row view "$(cat one)")" == *"sh busy.sh one" ]]
  at_most width "$(wc -L <view)" 80
  # the output of a pipe is the same
  plimsoll top -i 200ms --pid $JOB | grep -q '^3 processes'
}

@test "one view as JSON, and a line an interval" {
  begin_job
  plimsoll top --once --json -i 500ms --pid $JOB >view.json
  equal processes "$(jq .processes view.json)" 3
  equal threads "$(jq .threads view.json)" 3
  at_least cpu "$(jq .now.cpu_percent view.json)" 2
  at_least memory "$(jq .now.memory_bytes view.json)" 500000
  equal rank "$(jq --argjson p "$(cat two)" '.table[] | select(.pid == $p).rank' view.json)" 3
  equal states "$(jq -r --argjson p $JOB '.table[] | select(.pid == $p).state' view.json)" S
  at_least busy "$(jq --argjson p "$(cat one)" '.table[] | select(.pid == $p).cpu_percent' view.json)" 1
  plimsoll top --json -i 100ms $JOB >lines.json 3>&- &
  started $!
  top=$!
  until [ "$(wc -l <lines.json)" -ge 3 ]; do sleep 0.05; done
  kill $JOB
  # its main process is gone: that is the end
  wait $top
  equal same "$(jq -s '[.[].job] | unique | length' lines.json)" 1
}

@test "a frame on a terminal of 80x24, keys, and q" {
  begin_job
  export TERM=vt100 LC_ALL=C.UTF-8
  pty 24x80 "wait:*CPU%" "wait:busy.sh one" "wait: % " shot:first key:m "wait:*RSS" shot:memory key:i "wait:*READ/s" "key:c?" "wait:sort by memory" shot:help \
    "key:?" "wait:COMMAND" key:p "wait:[paused]" key:p "gone:[paused]" key:q end \
    -- plimsoll top -i 300ms $JOB >result
  equal result "$(tr '\n' ' ' <result)" "status 0 terminal restored "
  equal lines "$(wc -l <first)" 24
  at_most width "$(wc -L <first)" 80
  equal title "$(sed -n 1p first)" "$(hostname -s)  process $JOB and its descendants"
  grep -q '^cpu .*[▁▂▃▄▅▆▇█]' first || fail "$(cat first)"
  grep -q '^read .*write ' first
  grep -q '^net in .*net out ' first
  [[ "$(row first "$(cat one)")" == *"sh busy.sh one" ]]
  equal keys "$(tail -1 first)" "q quit  c cpu  m memory  i input/output  p pause  ? help"
  grep -q 'arrows, page up and down' help
}

@test "many processes: scrolling" {
  sh -c 'i=2000; while [ $i -lt 2030 ]; do i=$((i+1)); sleep $i & echo $! >>pids; done; wait' 3>&- &
  JOB=$!
  started $JOB
  until [ "$(cat pids 2>/dev/null | wc -l)" = 30 ]; do sleep 0.05; done
  while read -r p; do started "$p"; done <pids
  export TERM=xterm LC_ALL=C.UTF-8
  # none does anything, so they are in the order of their numbers
  pty 24x80 "wait:31 processes" "wait:node " "wait:sleep 2001" shot:top "key:<end>" "wait:sleep 2030" "gone:sleep 2001" shot:end "key:<up>" "gone:sleep 2030" "key:<home>" "wait:sleep 2001" \
    "key:<pgdn>" "gone:sleep 2001" "key:<pgup><down>" "wait:sleep 2001" shot:second key:q end -- plimsoll top -i 200ms $JOB >result
  equal result "$(tr '\n' ' ' <result)" "status 0 terminal restored "
  equal first "$(grep -o 'sleep 2.*' top | head -2 | tr '\n' ' ')" "sleep 2001 sleep 2002 "
  # the last row is right above the line of keys
  equal last "$(sed -n 23p end | grep -o 'sleep 2.*')" "sleep 2030"
  equal second "$(grep -A1 COMMAND second | grep -o 'sleep 2.*')" "sleep 2001"
}

@test "the size changes, ASCII curves, and colours only where they are wanted" {
  begin_job
  export TERM=vt100 LC_ALL=C
  pty 24x80 "wait:*CPU%" shot:before size:12x60 "wait:q quit  c cpu" shot:small size:40x132 "wait:q quit" shot:large key:q end -- plimsoll top -i 200ms $JOB >result
  equal result "$(tr '\n' ' ' <result)" "status 0 terminal restored "
  equal small "$(wc -l <small) $(tail -1 small)" "12 q quit  c cpu  m memory  i input/output  p pause  ? help"
  # one curve a line where two have no room
  grep -q '^memory ' small
  equal large "$(wc -l <large) $(tail -1 large)" "40 q quit  c cpu  m memory  i input/output  p pause  ? help"
  grep -q '^cpu .*[_.,=+*#-]' large
  run ! grep -q '[▁▂▃▄▅▆▇█]' large
  export TERM=xterm-256color
  unset NO_COLOR
  pty 24x80 raw:colored "wait:*CPU%" key:q end -- plimsoll top -i 200ms $JOB >result
  equal result "$(tr '\n' ' ' <result)" "status 0 terminal restored "
  grep -q $'\033\[3[0-9]' colored
  # it leaves the other screen as it came
  grep -q $'\033\[?1049l' colored
  NO_COLOR=1 pty 24x80 raw:plain "wait:*CPU%" key:q end -- plimsoll top -i 200ms $JOB >result
  run ! grep -q $'\033\[3[0-9]' plain
}

@test "the terminal is given back on a signal, and its last view stays when the job ends" {
  begin_job
  export TERM=vt100 LC_ALL=C.UTF-8
  for signal in SIGINT SIGTERM SIGHUP; do
    pty 24x80 "wait:*CPU%" signal:$signal end -- plimsoll top -i 200ms $JOB >result
    equal $signal "$(tr '\n' ' ' <result)" "status 0 terminal restored "
  done
  pty 24x80 "wait:3 processes" "wait:busy.sh one" "wait:the job has ended" shot:end end -- sh -c '(sleep 2; kill '"$JOB"') & exec plimsoll top -i 200ms '"$JOB" >result
  equal result "$(tr '\n' ' ' <result)" "status 0 terminal restored "
  grep -q 'sh busy.sh one' end || fail "$(cat end)"
  grep -q '^the job has ended' end
}

@test "a command is started, shown, and its status returned" {
  export TERM=vt100 LC_ALL=C.UTF-8
  cat >command.sh <<'E'
echo "said by the command"
[ -t 0 ] && echo "has a terminal"
sleep 2
ulimit -n >limit
exit 7
E
  ulimit -S -n 200
  pty 24x80 "wait:*CPU%" "wait:sh command.sh" "wait:the command has ended" "wait:said by the command" shot:end end -- plimsoll top -i 200ms -- sh command.sh >result
  equal result "$(tr '\n' ' ' <result)" "status 7 terminal restored "
  run ! grep -q 'has a terminal' end
  # the limits that we raise are ours alone
  equal limit "$(cat limit)" 200
  # one look, and a line an interval: what the command prints is on standard error
  status=0
  plimsoll top --once -i 300ms -- sh command.sh >view 2>err || status=$?
  equal status "$status" 7
  grep -q '^[12] process' view || fail "$(cat view)"
  equal printed "$(head -1 err)" "said by the command"
  status=0
  plimsoll top --json -i 200ms -- sh command.sh >view 2>err || status=$?
  equal status "$status" 7
  at_least rounds "$(jq -s length view)" 3
  equal printed "$(head -1 err)" "said by the command"
}

@test "a command that ends at once, by a signal, or cannot be started" {
  run -0 plimsoll top --once -i 20s -- true
  run -3 plimsoll top --json -i 20s -- sh -c 'exit 3'
  # shellcheck disable=SC2016  # the command's own
  run plimsoll top --json -i 100ms -- sh -c 'kill -TERM $$'
  equal signal "$status" 143
  run -127 --separate-stderr plimsoll top -- /no-such-command-4711
  equal message "$stderr" "plimsoll: error: cannot run '/no-such-command-4711': No such file or directory"
  run -2 plimsoll top 1 -- true
  run -2 plimsoll top --root "$WORK" -- true
  # a signal to us is for the command
  plimsoll top --json -i 20s -- sh -c 'trap "exit 5" TERM; echo ready >ready; while :; do sleep 0.05; done' >/dev/null 3>&- &
  top=$!
  started $top
  until [ -s ready ]; do sleep 0.05; done
  kill -TERM $top
  status=0
  wait $top || status=$?
  equal status "$status" 5
}

@test "a terminal that cannot be drawn on gets one look" {
  begin_job
  for type in nonesuch dumb ""; do
    TERM=$type pty 24x120 "wait:showing one interval only" "wait:3 processes" end -- plimsoll top -i 200ms $JOB >result
    equal "$type" "$(tr '\n' ' ' <result)" "status 0 terminal restored "
  done
}

@test "what is wrong is said in one line" {
  run plimsoll top --once -i 100ms no-such-job-4711
  equal status "$status" 1
  equal message "$output" "plimsoll: error: no process is running: job no-such-job-4711 has no processes on this host, or does not exist"
  run plimsoll top --once --pid 999999999
  equal message "$output" "plimsoll: error: there is no process 999999999"
  run plimsoll top --once --cgroup no/such
  equal message "$output" "plimsoll: error: there is no control group 'no/such'"
  for wrong in "-i 1ms" "-i x" "--pid x" "1 2" "--pid 1 --job 2" "-s nonesuch" "-s thermal"; do
    # shellcheck disable=SC2086
    run plimsoll top $wrong
    equal "$wrong" "$status" 2
  done
}
