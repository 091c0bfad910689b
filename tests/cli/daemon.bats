#!/usr/bin/env bats
# The daemon: what is there, what lands, what is broken, several on one directory, killed ones, a store
# that is out of reach, and how it is asked, stopped and watched.

bats_require_minimum_version 1.5.0
load lib

setup() {
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  export PLIMSOLL_PREFIX="$WORK/prefix" PLIMSOLL_DB="$WORK/jobs.db"
  cd "$WORK" || return 1
  mkdir in made
  PIDS=()
}

# By pid, and only those that this test started.
teardown() {
  for pid in "${PIDS[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  for pid in "${PIDS[@]}"; do wait "$pid" 2>/dev/null || true; done
  while read -r file; do plimsoll daemon --stop -q --pidfile "$file" || true; done < <(find "$WORK" -name daemon.pid)
  clear_work
}

# until_true COMMAND...: generously
until_true() {
  for ((i = 0; i < 1200; i++)); do
    if "$@"; then return 0; fi
    sleep 0.05
  done
  fail "never: $*; log: $(cat ./*.log 2>/dev/null)"
}

# make_job ID [OPTION...]: made/ID.tgz; FORMAT=epmt_job: as EPMT leaves it
make_job() {
  python3 "$PL_SOURCE/tests/fixtures/${FORMAT:-job}.py" "made/$1" --id "$1" --procs 3 "${@:2}"
  tar czf "made/$1.tgz" -C "made/$1" .
}

# settle FILE...: until it has been there for a while; a look leaves what is younger than two seconds
settle() {
  until_true settled "$@"
}
settled() {
  for f; do [ "$(($(date +%s) - $(stat -c %Z "$f")))" -ge 3 ] || return 1; done
}

jobs_are() {
  [ "$(stored)" = "$*" ]
}

# the ids in the store, sorted, a blank between
stored() {
  python3 - "$PLIMSOLL_DB" <<'END'
import os, sqlite3, sys
if os.path.exists(sys.argv[1]):
    try:
        rows = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True, timeout=30).execute("SELECT jobid FROM job").fetchall()
    except sqlite3.OperationalError:
        rows = []
    print(" ".join(sorted((r[0] for r in rows), key=lambda s: (len(s), s))))
END
}

stored_count() {
  stored | wc -w
}

# launch NAME OPTION...: in the background, log in NAME.log, pid in $DAEMON; comes back when it is at work
# With DEAF set, the kernel tells it nothing of files that come
deaf() {
  # shellcheck disable=SC2016 # for the inner shell
  exec unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"' sh "$@"
}
launch() {
  local name=$1
  shift
  ${DEAF:+deaf} plimsoll daemon --ingest in --pidfile "$name.pid" "$@" >"$name.log" 2>&1 3>&- 8>&- &
  DAEMON=$!
  PIDS+=("$DAEMON")
  until_true plimsoll daemon --status --pidfile "$name.pid" >/dev/null
}

# asks it to end, and checks that it does so well
finish() {
  kill -TERM "$1"
  local got=0
  wait "$1" || got=$?
  equal "status of the daemon" "$got" 0
}

nothing_left() {
  [ -z "$(find in -mindepth 1 -print)" ]
}

# ---- what it takes ---------------------------------------------------------------------------------------

@test "once: what is there goes into the store and away, with a line for each" {
  for id in 1 2; do make_job $id; done
  mv made/1.tgz in
  mv made/2 in/directory
  settle in/1.tgz in/directory
  run plimsoll daemon --ingest in --once
  echo "$output"
  equal status "$status" 0
  [[ $output == *"submitted 1: 3 processes in "* && $output == *"submitted 2: 3 processes in "* ]]
  equal jobs "$(stored)" "1 2"
  nothing_left
}

@test "once: what was just written is waited for" {
  make_job 1
  cp made/1.tgz in
  plimsoll daemon --ingest in --once
  equal jobs "$(stored)" 1
  nothing_left
}

@test "all kinds of archives; never links, dots and other names" {
  make_job 1
  for form in tar.gz tar tar.xz tar.bz2 tar.zst; do
    n=$((${n:-10} + 1))
    make_job $n
    tar caf "in/$n.$form" -C "made/$n" . || skip "tar cannot write $form"
  done
  cp made/1.tgz in/.1.tgz
  cp made/1.tgz in/1.zip
  ln -s ../made/1.tgz in/link.tgz
  ln -s ../made/1 in/linked
  mkdir in/empty
  settle in/*
  plimsoll daemon --ingest in --once
  equal jobs "$(stored)" "11 12 13 14 15"
  equal left "$(find in -mindepth 1 -printf '%P\n' | sort | xargs)" ".1.tgz 1.zip empty link.tgz linked"
}

@test "a job of ours: taken once it is stopped" {
  plimsoll start -q -j 5
  plimsoll run -q -j 5 --no-submit "$PROGRAMS/actor" return 0
  cp -r "$PLIMSOLL_PREFIX/5" in/five
  settle in/five in/five/*
  plimsoll daemon --ingest in --once
  equal "before it is stopped" "$(stored)" ""
  plimsoll stop -j 5
  rm -r in/five
  cp -r "$PLIMSOLL_PREFIX/5" in/five
  plimsoll daemon --ingest in --once
  equal "afterwards" "$(stored)" "5"
  nothing_left
}

@test "what lands is taken at once: copied, moved, whole directories" {
  for id in 1 2 3 4; do make_job $id; done
  launch a --interval 1h
  cp made/1.tgz in/
  until_true jobs_are 1
  mv made/2.tgz in/
  until_true jobs_are 1 2
  mv made/3 in/three
  until_true jobs_are 1 2 3
  cp -r made/4 in/four
  until_true jobs_are 1 2 3 4
  until_true nothing_left
  finish "$DAEMON"
}

@test "a file that is being written is left alone until it is closed" {
  make_job 1
  exec 8>in/1.tgz
  head -c 100 made/1.tgz >&8
  settle in/1.tgz
  launch a --interval 200ms
  make_job 2
  mv made/2.tgz in
  until_true jobs_are 2
  # many looks later: only a lease can tell, and only root and the owner may ask for one
  kill -HUP "$DAEMON"
  [ -e in/1.tgz ] || fail "taken while it was written: $(cat a.log)"
  tail -c +101 made/1.tgz >&8
  exec 8>&-
  until_true jobs_are 1 2
  finish "$DAEMON"
}

@test "without events the look at everything finds it" {
  make_job 1
  (deaf true) 2>/dev/null || skip "no user namespaces here"
  DEAF=1 launch a --interval 300ms
  mv made/1.tgz in/1.tgz
  until_true jobs_are 1
  finish "$DAEMON"
}

@test "recursive: directories below, old and new" {
  for id in 1 2 3 4; do make_job $id; done
  mkdir -p in/a/b in/done in/failed
  mv made/1.tgz in/a/b
  cp made/4.tgz in/done
  launch a --recursive --interval 1h
  mv made/2.tgz in/a/b
  until_true jobs_are 1 2
  mkdir -p in/c/d
  mv made/3.tgz in/c/d
  until_true jobs_are 1 2 3
  finish "$DAEMON"
  [ -e in/done/4.tgz ] || fail "done/ was looked at"
  equal left "$(find in -type f -printf '%P\n')" done/4.tgz
}

@test "keep: what is stored lies in done/, names that are there get a number" {
  make_job 1
  cp made/1.tgz in
  plimsoll daemon --ingest in --once --keep
  cp made/1.tgz in
  run plimsoll daemon --ingest in --once --keep
  equal status "$status" 0
  [[ $output == *"job 1 is in the store already, skipped"* ]] || fail "$output"
  equal kept "$(find in -type f -printf '%P\n' | sort | xargs)" "done/1.1.tgz done/1.tgz"
  cmp made/1.tgz in/done/1.tgz
  equal jobs "$(stored)" 1
}

# ---- what goes wrong ---------------------------------------------------------------------------------------

@test "an archive that is linked into its place is taken at once, and one that is there already is counted apart" {
  make_job 1
  launch d --interval 1h
  cp made/1.tgz in/.1.part
  ln in/.1.part in/1.tgz
  rm in/.1.part
  until_true jobs_are 1
  until_true test ! -e in/1.tgz
  cp made/1.tgz in/.1.part
  ln in/.1.part in/again.tgz
  rm in/.1.part
  until_true test ! -e in/again.tgz
  until_true grep -q 'skipped 1' d.pid
  run -0 plimsoll daemon --status --pidfile d.pid
  equal status "$output" "running, pid $DAEMON, ingested 1, failed 0, waiting 0, already stored 1"
}

# EPMT's jobs: ours of that time are parts of one job, see namesakes.bats
# bats test_tags=epmt
@test "another job of an id is stored beside the first, one that cannot be told from it fails with the reason, and neither is deleted unstored" {
  local FORMAT=epmt_job
  make_job 4711
  mv made/4711.tgz made/first.tgz
  make_job 4711 --shift 30000000
  mv made/4711.tgz made/year.tgz
  make_job 4711 --shift 3
  mv made/4711.tgz made/unclear.tgz
  launch d --interval 1h
  cp made/first.tgz in/.part && mv in/.part in/first.tgz
  until_true test ! -e in/first.tgz
  cp made/year.tgz in/.part && mv in/.part in/year.tgz
  until_true jobs_are 4711 4711
  cp made/unclear.tgz in/.part && mv in/.part in/unclear.tgz
  until_true test -s in/failed/unclear.tgz.reason
  cmp made/unclear.tgz in/failed/unclear.tgz
  grep -q 'job 4711 is in the store already (4711@2020-.*), at about the same time but with a different start' in/failed/unclear.tgz.reason
  # the very same is there, and goes
  cp made/first.tgz in/.part && mv in/.part in/again.tgz
  until_true test ! -e in/again.tgz
  until_true grep -q 'skipped 1' d.pid
  run -0 plimsoll daemon --status --pidfile d.pid
  equal status "$output" "running, pid $DAEMON, ingested 2, failed 1, waiting 0, already stored 1"
}

@test "a broken archive: moved away with the reason beside it, the others are stored" {
  make_job 1
  launch a --interval 1h
  head -c 200 made/1.tgz >in/broken.tgz
  until_true test -s in/failed/broken.tgz.reason
  echo nonsense >in/broken.tgz
  until_true test -s in/failed/broken.1.tgz.reason
  mv made/1.tgz in
  until_true jobs_are 1
  equal lines "$(wc -l <in/failed/broken.tgz.reason)" 1
  grep -Eq '^20[0-9-]+T[0-9:.]+[^ ]* .' in/failed/broken.tgz.reason || fail "$(cat in/failed/broken.tgz.reason)"
  ! grep -q claimed in/failed/*.reason || fail "$(cat in/failed/*.reason)"
  until_true grep -q 'submitted 1' a.log
  run plimsoll daemon --status --pidfile a.pid
  [[ $output == "running, pid $DAEMON, ingested 1, failed 2, waiting "* ]] || fail "$output"
  finish "$DAEMON"
}

@test "a configured directory for failures; one that cannot be used is no loss" {
  echo nonsense >in/a.tgz
  run env PLIMSOLL_FAILED_DIR="$WORK/away" plimsoll daemon --ingest in --once
  equal status "$status" 1
  equal away "$(find away -type f -printf '%P\n' | sort | xargs)" "a.tgz a.tgz.reason"
  echo nonsense >in/b.tgz
  echo file >plain
  run env PLIMSOLL_FAILED_DIR="$WORK/plain/x" plimsoll daemon --ingest in --once
  equal status "$status" 1
  equal beside "$(find in -type f -printf '%P\n' | sort | xargs)" "failed/b.tgz failed/b.tgz.reason"
}

@test "a store that is out of reach is nobody's fault: jobs wait and are stored later" {
  for id in 1 2; do make_job $id; done
  echo "no directory" >place
  export PLIMSOLL_DB="$WORK/place/jobs.db"
  mv made/1.tgz in
  launch a --interval 1h
  until_true grep -q 'cannot use the store, jobs wait' a.log
  mv made/2.tgz in
  until_true grep -q 'waiting 2' a.pid
  equal waiting "$(find in -type f -printf '%P\n' | sort | xargs)" "1.tgz 2.tgz"
  rm place
  mkdir place
  until_true jobs_are 1 2
  until_true nothing_left
  finish "$DAEMON"
  equal "lines at the beginning" "$(grep -c 'cannot use' a.log)" 1
  equal "lines at the end" "$(grep -c 'the store is usable again' a.log)" 1
  [ ! -e in/failed ] || fail "$(cat in/failed/*)"
}

@test "once with a store that is out of reach fails, and the job stays" {
  make_job 1
  mv made/1.tgz in
  settle in/1.tgz
  echo "no directory" >place
  run plimsoll daemon --ingest in --once --db "$WORK/place/jobs.db"
  equal status "$status" 1
  equal left "$(find in -mindepth 1 -printf '%P\n')" 1.tgz
}

@test "a store that was removed under it is made anew, nothing goes into the void" {
  for id in 1 2; do make_job $id; done
  launch a --interval 1h
  mv made/1.tgz in
  until_true jobs_are 1
  until_true nothing_left
  rm -f jobs.db jobs.db-*
  mv made/2.tgz in
  until_true jobs_are 2
  finish "$DAEMON"
}

@test "a store that is exchanged while the daemon waits for its lock gets all that is removed" {
  for id in 1 2 3; do make_job $id; done
  plimsoll submit -q made/1.tgz
  plimsoll db backup jobs.db.old >/dev/null
  mv made/2.tgz made/3.tgz in
  settle in/2.tgz in/3.tgz
  restored_under "$WORK/jobs.db" plimsoll daemon --ingest in --once
  equal status "$status" 0
  grep -q "jobs.db' was removed or replaced; opening it again" restored.out || fail "$(cat restored.out)"
  grep -q "ingested 2, failed 0" restored.out || fail "$(cat restored.out)"
  equal jobs "$(stored)" "1 2 3"
  nothing_left
}

@test "an input that takes one daemon after the other with it is moved away" {
  make_job 1
  mkdir -p "in/.claimed/$(hostname)-999999999"
  mv made/1.tgz in/.claimed/*-999999999/
  printf xxxx >in/.claimed/1.tgz.tries
  run plimsoll daemon --ingest in --once
  equal status "$status" 1
  grep -q '5 daemons crashed while reading it' in/failed/1.tgz.reason || fail "$output $(find in)"
  equal left "$(find in -mindepth 1 -printf '%P\n' | sort | xargs)" "failed failed/1.tgz failed/1.tgz.reason"
}

@test "stores that cannot ever work are refused at the start" {
  for db in sqlite://:memory: mysql://x; do
    run plimsoll daemon --ingest in --db "$db"
    equal "$db" "$status" 1
  done
  run plimsoll daemon --ingest nowhere
  equal status "$status" 1
  [[ $output == *"nowhere"* ]] || fail "$output"
  run plimsoll daemon
  equal status "$status" 2
  run plimsoll daemon --ingest in --interval soon
  equal status "$status" 2
}

# ---- several, and killed ones ------------------------------------------------------------------------------

sixty_jobs() {
  if [ ! -e "$BATS_FILE_TMPDIR/60.tgz" ]; then
    for ((n = 1; n <= 60; n++)); do make_job "$n"; done
    cp made/*.tgz "$BATS_FILE_TMPDIR"
  fi
  cp "$BATS_FILE_TMPDIR"/*.tgz made
}

@test "two daemons share a directory: sixty jobs, each stored once, none lost" {
  sixty_jobs
  launch a --interval 1s
  first=$DAEMON
  launch b --interval 1s
  # one by one: mv of several looks for each once more, and it may be gone by then
  for job in made/*.tgz; do mv "$job" in; done
  until_true jobs_are $(seq 60)
  until_true nothing_left
  finish "$first"
  finish "$DAEMON"
  equal lines "$(cat a.log b.log | grep -c ': submitted ')" 60
  equal twice "$(cat a.log b.log | grep -c 'already, skipped')" 0
  nothing_left
}

@test "killed in the middle of many, again and again: all are stored once" {
  sixty_jobs
  mv made/*.tgz in
  settle in/*
  for at in 3 17 31 44; do
    launch a
    until_true at_least_stored "$at"
    kill -9 "$DAEMON"
    wait "$DAEMON" || true
    run plimsoll daemon --status --pidfile a.pid
    equal "status of the killed one" "$status" 3
  done
  launch a
  until_true jobs_are $(seq 60)
  until_true nothing_left
  finish "$DAEMON"
  equal rows "$(python3 -c "
import sqlite3
print(sqlite3.connect('jobs.db').execute('SELECT count(*), count(DISTINCT jobid), sum(num_procs) FROM job').fetchone())")" "(60, 60, 180)"
  [ ! -e in/failed ] || fail "$(cat in/failed/*.reason)"
}
at_least_stored() {
  [ "$(stored_count)" -ge "$1" ]
}

@test "claims: of the dead on this host are put back, those of others and the living stay" {
  for id in 1 2 3; do make_job $id; done
  mkdir -p "in/.claimed/$(hostname)-999999999" in/.claimed/elsewhere-1 "in/.claimed/$(hostname)-$$"
  mv made/1.tgz in/.claimed/*-999999999/
  mv made/2.tgz in/.claimed/elsewhere-1/
  mv made/3.tgz "in/.claimed/$(hostname)-$$/"
  exec 7<"in/.claimed/$(hostname)-$$"
  flock 7
  plimsoll daemon --ingest in --once
  equal jobs "$(stored)" 1
  equal left "$(find in -name '*.tgz' | wc -l)" 2
  # a lock that is gone says more than a pid that is used again
  exec 7<&-
  plimsoll daemon --ingest in --once
  equal jobs "$(stored)" "1 3"
}

@test "a second daemon with the same pid file is refused" {
  launch a
  run plimsoll daemon --ingest in --pidfile a.pid
  equal status "$status" 1
  [[ $output == *"already running, pid $DAEMON"* ]] || fail "$output"
  finish "$DAEMON"
  [ ! -e a.pid ] || fail "the pid file stays"
}

# ---- asking and ending ---------------------------------------------------------------------------------------

@test "background, status and stop; the pid file is in the prefix" {
  make_job 1
  run plimsoll daemon --status
  equal status "$status" 3
  equal line "$output" "not running"
  run plimsoll daemon --ingest in --background
  equal status "$status" 0
  [[ $output == "running in the background, pid "*"; log in $PLIMSOLL_PREFIX/daemon.log" ]] || fail "$output"
  run plimsoll daemon --ingest in --background
  equal status "$status" 1
  mv made/1.tgz in
  until_true jobs_are 1
  until_true grep -q 'submitted 1' "$PLIMSOLL_PREFIX/daemon.log"
  until_true grep -q 'ingested 1 failed 0 waiting 0' "$PLIMSOLL_PREFIX/daemon.pid"
  run plimsoll daemon --status
  equal status "$status" 0
  [[ $output =~ ^running,\ pid\ [0-9]+,\ ingested\ 1,\ failed\ 0,\ waiting\ 0$ ]] || fail "$output"
  run plimsoll daemon --stop
  equal status "$status" 0
  run plimsoll daemon --status
  equal status "$status" 3
  run plimsoll daemon --stop
  equal status "$status" 0
  [[ $output == *"not running"* ]] || fail "$output"
  run plimsoll daemon --ingest nowhere --background
  equal "one that cannot start" "$status" 1
}

@test "a pid file that a killed one left is no obstacle" {
  echo 1 >a.pid
  run plimsoll daemon --status --pidfile a.pid
  equal status "$status" 3
  launch a
  finish "$DAEMON"
}

@test "SIGTERM and SIGINT end it after the job at hand, SIGHUP makes it look" {
  make_job 1 --procs 20000
  for signal in TERM INT; do
    rm -f jobs.db*
    cp made/1.tgz in/.new
    launch a --interval 1h
    mv in/.new in/1.tgz
    until_true test -e "in/.claimed/$(hostname)-$DAEMON/1.tgz" -o -e jobs.db-wal
    kill -$signal "$DAEMON"
    got=0
    wait "$DAEMON" || got=$?
    equal "$signal" "$got" 0
    # wholly there and gone from here, or not there and still here
    if [ -e in/1.tgz ]; then equal jobs "$(stored)" ""; else equal jobs "$(stored)" 1; fi
    rm -f in/1.tgz
    nothing_left
  done
  make_job 2
  make_job 3
  rm -f jobs.db*
  if ! (deaf true) 2>/dev/null; then return 0; fi
  mv made/3.tgz in/3.tgz
  settle in/3.tgz
  DEAF=1 launch a --interval 1h
  # its first look is over once it has stored something
  until_true jobs_are 3
  mv made/2.tgz in/2.tgz
  settle in/2.tgz
  equal "before the signal" "$(find in -name 2.tgz)" in/2.tgz
  kill -HUP "$DAEMON"
  until_true jobs_are 2 3
  finish "$DAEMON"
}

@test "systemd is told: ready, what it does, alive, stopping" {
  make_job 1
  cat >listen.py <<'END'
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name = sys.argv[1]
s.bind("\0" + name[1:] if name[0] == "@" else name)
print("listening", flush=True)
while True:
    text = s.recv(4096).decode()
    print(text, flush=True)
    if "STOPPING" in text:
        break
END
  for name in "$WORK/notify" "@plimsoll-test-$$-$BATS_TEST_NUMBER"; do
    rm -f jobs.db* heard.log
    cp made/1.tgz in
    python3 listen.py "$name" >heard.log 2>&1 3>&- &
    listener=$!
    PIDS+=("$listener")
    until_true grep -q listening heard.log
    export NOTIFY_SOCKET=$name WATCHDOG_USEC=300000
    launch a
    until_true grep -qx 'STATUS=ingested 1, failed 0, waiting 0' heard.log
    until_true test_count WATCHDOG=1 3
    finish "$DAEMON"
    unset NOTIFY_SOCKET WATCHDOG_USEC
    wait "$listener"
    # alive it may be before it is ready, on a slow machine
    equal first "$(grep -vx WATCHDOG=1 heard.log | sed -n 2p)" READY=1
    equal last "$(tail -n 1 heard.log)" STOPPING=1
  done
}
test_count() {
  [ "$(grep -cx "$1" heard.log)" -ge "$2" ]
}

@test "retire: what is over the limits goes" {
  for id in 1 2 3; do make_job $id; done
  export PLIMSOLL_RETIRE_KEEP=1
  launch a --retire 100ms --interval 1h
  for id in 1 2 3; do mv made/$id.tgz in; done
  until_true grep -q 'submitted 3' a.log
  until_true one_is_left
  finish "$DAEMON"
  # none configured: all stay
  unset PLIMSOLL_RETIRE_KEEP
  make_job 4
  mv made/4.tgz in
  plimsoll daemon --ingest in --once
  equal count "$(stored_count)" 2
}
one_is_left() {
  [ "$(stored_count)" = 1 ]
}

# ---- as epmt ----------------------------------------------------------------------------------------------

# bats test_tags=epmt
@test "epmt daemon: status, start, stop, foreground" {
  local FORMAT=epmt_job
  export EPMT_OUTPUT_PREFIX="$WORK/epmt"
  make_job 1
  run epmt daemon
  equal "not running" "$status" 255
  mkdir -p in/below
  run epmt daemon -s -rk -i in -m --post-process --no-analyze
  equal status "$status" 0
  run epmt -v daemon
  equal status "$status" 0
  [[ $output == "running, pid "* ]] || fail "$output"
  mv made/1.tgz in/below
  until_true jobs_are 1
  until_true test -e in/below/done/1.tgz
  run epmt daemon --stop
  equal status "$status" 0
  run epmt daemon
  equal "not running" "$status" 255
  run epmt daemon --nonsense
  equal status "$status" 1
  # in the foreground, the current directory
  make_job 2
  cp made/2.tgz in
  (cd in && exec epmt daemon -D -i) >foreground.log 2>&1 3>&- &
  PIDS+=($!)
  until_true jobs_are 1 2
  epmt daemon -S
  got=0
  wait "${PIDS[-1]}" || got=$?
  equal status "$got" 0
}
