#!/usr/bin/env bats
# bats file_tags=epmt
# The hook of the daemon: what a command or a URL is told, and what happens if it fails, hangs, or is not there. Storing jobs
# never waits for it.

bats_require_minimum_version 1.5.0
load lib

setup() {
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  export PLIMSOLL_PREFIX="$WORK/prefix" PLIMSOLL_DB="$WORK/jobs.db" TZ=UTC
  cd "$WORK" || return 1
  mkdir in
  SERVER=
}

teardown() {
  [ -z "$SERVER" ] || kill "$SERVER" 2>/dev/null || true
  [ ! -e d.pid ] || plimsoll daemon --stop -q --pidfile d.pid || true
  clear_work
}

# job ID...: archives that are old enough to be taken at the first look
job() {
  for id; do
    python3 "$PL_SOURCE/tests/fixtures/epmt_job.py" "made-$id" --id "$id" --form collated --procs 3
    tar czf "in/$id.tgz" -C "made-$id" .
  done
}

# serve MODE...: a receiver at $URL, see hook_server.py
serve() {
  python3 "$PL_SOURCE/tests/cli/hook_server.py" "$@" >port 3>&- 8>&- &
  SERVER=$!
  until [ -s port ]; do sleep 0.02; done
  URL=http://127.0.0.1:$(cat port)/hook
}

# once OPTION...: a daemon that ends, log in d.log; prints seconds
once() {
  local before=$EPOCHREALTIME
  plimsoll daemon --ingest in --once --pidfile d.pid "$@" >d.log 2>&1 3>&- || echo "status $?" >>d.log
  awk -v a="$before" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'
}

until_true() {
  for ((i = 0; i < 600; i++)); do
    if "$@"; then return 0; fi
    sleep 0.05
  done
  fail "never: $*; log: $(cat ./*.log 2>/dev/null)"
}

received() {
  [ "$(wc -l <received)" -ge "$1" ]
} 2>/dev/null

stored() {
  plimsoll list --ids | sort | paste -sd' '
}

@test "a command gets each event as JSON on standard input" {
  job 1
  echo garbage >in/bad.tgz
  once --hook 'cat >>received; echo >>received' >/dev/null
  equal events "$(jq -r .event received | sort | paste -sd' ')" "failed submitted"
  equal submitted "$(jq -c 'select(.event == "submitted") | [.jobid, .user != null, .start, .end, .duration, .cpu_time, .exitcode, .processes, .source, .store]' received)" \
    "[\"1\",true,\"2020-09-13T12:26:40.000000+00:00\",\"2020-09-13T12:27:40.000000+00:00\",60000000,12,0,3,\"$PWD/in/1.tgz\",\"$PLIMSOLL_DB\"]"
  equal failed "$(jq -c 'select(.event == "failed") | [.source, .moved_to, (.reason | length > 10)]' received)" "[\"$PWD/in/bad.tgz\",\"$PWD/in/failed/bad.tgz\",true]"
  grep -q 'hook: delivered 2, pending 0, dead letters 0' d.log || fail "$(cat d.log)"
  equal left "$(ls d.hook)" ''
}

@test "a URL gets the event by POST, and only those that are asked for" {
  job 1
  echo garbage >in/bad.tgz
  serve ok
  once --hook "$URL/a?b=c" --hook-on submitted >/dev/null
  equal requests "$(cut -d' ' -f1-3 received)" "ok /hook/a?b=c application/json"
  equal event "$(cut -d' ' -f4- received | jq -r '[.event, .jobid] | join(" ")')" "submitted 1"
}

@test "a server that answers 500 is asked again; one that says 404 is not" {
  job 1
  serve 500 503 ok
  plimsoll daemon --ingest in --pidfile d.pid --hook "$URL" >d.log 2>&1 3>&- &
  until_true received 3
  until_true grep -q 'works again' d.log
  equal answers "$(cut -d' ' -f1 received | paste -sd' ')" "500 503 ok"
  equal same "$(cut -d' ' -f4- received | sort -u | wc -l)" 1
  grep -q 'the hook failed, events wait: .*500' d.log || fail "$(cat d.log)"
  plimsoll daemon --stop --pidfile d.pid
  equal left "$(ls d.hook)" ''
  kill "$SERVER"
  rm received port
  serve 404
  job 2
  once --hook "$URL" >/dev/null
  equal dead "$(jq -c '[.tries, .event.jobid, (.reason | test("404"))]' d.hook/dead_letters.jsonl)" '[1,"2",true]'
  equal jobs "$(stored)" "1 2"
}

@test "a server that hangs delays neither the jobs nor the end" {
  job 1 2 3
  serve hang
  seconds=$(PLIMSOLL_HOOK_TIMEOUT=1s once --hook "$URL")
  equal jobs "$(stored)" "1 2 3"
  at_most "seconds, of which the look takes two" "$seconds" 8
  # what was not delivered stays, and the next daemon delivers it
  equal pending "$(ls d.hook | wc -l)" 3
  grep -q 'hook: delivered 0, pending 3, dead letters 0' d.log || fail "$(cat d.log)"
  kill "$SERVER"
  rm received port
  serve ok
  once --hook "$URL" >/dev/null
  equal delivered "$(cut -d' ' -f4- received | jq -r .jobid | sort | paste -sd' ')" "1 2 3"
  equal left "$(ls d.hook)" ''
}

@test "after the last try an event is a dead letter, which names the reason" {
  job 1 2
  seconds=$(PLIMSOLL_HOOK_TRIES=1 once --hook 'echo no disk >&2; exit 7')
  equal letters "$(jq -c '[.tries, .reason, .event.event]' d.hook/dead_letters.jsonl | sort -u)" "[1,\"'echo no disk >&2; exit 7' ended with status 7: no disk\",\"submitted\"]"
  equal ids "$(jq -r .event.jobid d.hook/dead_letters.jsonl | sort | paste -sd' ')" "1 2"
  equal mode "$(stat -c %a d.hook d.hook/dead_letters.jsonl | paste -sd' ')" "700 600"
  grep -q "the hook failed for good after 1 try: .*; the event is in '.*/d.hook/dead_letters.jsonl'" d.log || fail "$(cat d.log)"
  # hanging, and answers that never end
  job 3
  PLIMSOLL_HOOK_TRIES=1 PLIMSOLL_HOOK_TIMEOUT=200ms once --hook 'sleep 60' >/dev/null
  equal hung "$(jq -r .reason d.hook/dead_letters.jsonl | tail -1)" "'sleep 60' did not end within 0.2 s"
  job 4
  serve long
  PLIMSOLL_HOOK_TRIES=1 PLIMSOLL_HOOK_TIMEOUT=5s once --hook "$URL" >/dev/null
  equal long "$(jq -r .event.jobid d.hook/dead_letters.jsonl | tail -1)" 4
  equal jobs "$(stored)" "1 2 3 4"
}

@test "killed: an event that was not delivered is delivered by the next daemon" {
  job 1
  plimsoll daemon --ingest in --pidfile d.pid --hook 'sleep 60' >d.log 2>&1 3>&- &
  local daemon=$!
  until_true test -n "$(ls d.hook 2>/dev/null)" || true
  until_true grep -q 'submitted 1' d.log
  until_true sh -c '[ -n "$(ls d.hook)" ]'
  kill -9 $daemon
  wait $daemon || true
  once --hook 'cat >received' >/dev/null
  equal event "$(jq -r .jobid received)" 1
}

@test "names of anybody cannot leave the JSON, and nothing of it is executed" {
  job 1
  mv in/1.tgz "in/\$(touch pwned); '\"
.tgz"
  once --hook 'cat >received' >/dev/null
  equal source "$(jq -r .source received)" "$PWD/in/\$(touch pwned); '\"\\x0a.tgz"
  [ ! -e pwned ]
}

@test "wrong settings are refused before any job is taken" {
  job 1
  for setting in 'HOOK_ON=sometimes|takes some of submitted, failed, outlier' 'HOOK_TIMEOUT=1ms|takes a duration of 10ms to 10m' 'HOOK_TRIES=0|takes a number from 1 to 1000' 'HOOK_DIR=/proc/x|/proc/x'; do
    run -1 env "PLIMSOLL_${setting%|*}" plimsoll daemon --ingest in --once --pidfile d.pid --hook true
    [[ $output == *"${setting#*|}"* ]] || fail "$setting: $output"
  done
  [ -e in/1.tgz ]
  mkdir shared
  flock shared sleep 60 3>&- &
  local holder=$!
  until_true sh -c '! flock -n shared true'
  run -1 env PLIMSOLL_HOOK_DIR=shared plimsoll daemon --ingest in --once --pidfile d.pid --hook true
  kill $holder
  [[ $output == *"another daemon uses '$PWD/shared' for its hook; set hook_dir"* ]] || fail "$output"
  equal shown "$(PLIMSOLL_HOOK='https://me:hidden@site/hook?token=hidden' plimsoll config --json | jq -r .hook.value)" 'https://me:***@site/hook?token=***'
}
