#!/usr/bin/env bats
# What others may not do: each test tries something that docs/security.md forbids.

bats_require_minimum_version 1.5.0
load lib

as_nobody() {
  setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# An installation in which the program's file has a capability, as ./copy/bin/plimsoll
with_capability() {
  [ "$(id -u)" = 0 ] || skip "only root can give a file capabilities"
  mkdir -p copy/bin copy/lib
  cp "$PL_BUILD/bin/plimsoll" copy/bin
  cp -a "$PL_BUILD"/lib/. copy/lib
  chmod -R a+rX "$WORK"
  setcap cap_net_admin+ep copy/bin/plimsoll 2>/dev/null || skip "no capabilities of files here"
  as_nobody copy/bin/plimsoll version >/dev/null || skip "cannot be run by others here"
}

# spy FILE: a library that writes which capabilities it has where PL_SPY says
spy() {
  cat >spy.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((constructor)) static void look(void)
{
	FILE *in = fopen("/proc/self/status", "r"), *out = fopen(getenv("PL_SPY"), "a");
	char line[512];

	while (in && out && fgets(line, sizeof(line), in))
		if (!strncmp(line, "CapEff", 6) || !strncmp(line, "CapPrm", 6))
			fputs(line, out);
	if (in)
		fclose(in);
	if (out)
		fclose(out);
}
C
  gcc -shared -fPIC -o "$1" spy.c
}

@test "code that the user chooses has no capability of the program's file" {
  with_capability
  spy copy/lib/plimsoll/sqlite.so
  install -d -o 65534 -g 65534 mine
  for command in "list --db $WORK/mine/x.db" "check"; do
    : >mine/seen
    chown 65534 mine/seen
    # the library is none of ours, which is an error: by then it has run
    HOME=$WORK/mine PL_SPY=$WORK/mine/seen run as_nobody copy/bin/plimsoll $command
    equal "capabilities in $command" "$(awk '{ print $2 }' mine/seen | sort -u)" 0000000000000000
  done
}

@test "a database server that the user names meets a program without capabilities" {
  with_capability
  install -d -o 65534 -g 65534 mine
  cat >server.py <<'P'
import os, socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
s.listen(5)
open("ready", "w").close()
c, _ = s.accept()
pid = struct.unpack("3i", c.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
print(*(l.split()[1] for l in open(f"/proc/{pid}/status") if l.startswith(("CapEff", "CapPrm"))))
P
  timeout 60 python3 server.py "$WORK/mine/.s.PGSQL.5432" >seen 3>&- &
  server=$!
  until [ -e ready ]; do
    kill -0 "$server"
    sleep 0.05
  done
  run as_nobody copy/bin/plimsoll list --db "postgresql:///x?host=$WORK/mine"
  [ "$status" != 0 ]
  wait "$server"
  equal "its capabilities" "$(cat seen)" "0000000000000000 0000000000000000"
}

@test "with the capability of the file a user's job has exit records, and the job no capability" {
  ! in_container || skip "no exit records in a container"
  with_capability
  install -d -o 65534 -g 65534 mine
  cd mine
  # nobody but the kernel knows the peak of a static program's memory
  export HOME=$WORK/mine PLIMSOLL_PREFIX=$WORK/mine/prefix
  peak() {
    as_nobody ../copy/bin/plimsoll run -q -o "$1" -- bash -c \
      "grep -h ^Cap /proc/self/status >caps; ls -l /proc/self/fd >fds; $PROGRAMS/actor-static exit 0; true"
    as_nobody ../copy/bin/plimsoll records --jsonl "$1" | jq -r 'select(.comm == "actor-static") | .vmpeak'
  }
  at_least "peak of the static program" "$(peak with)" 100
  equal "of the job" "$(awk '/CapEff|CapPrm|CapInh|CapAmb/ { print $2 }' caps | sort -u)" 0000000000000000
  ! grep socket fds || fail "the job inherits a socket"
  # both look at it, one after the other
  as_nobody ../copy/bin/plimsoll check --json >check.json || true
  equal "what is found" "$(jq -r '.checks[] | select(.name == "taskstats" or .name == "job_tasks") | .result' check.json | sort -u)" Pass
  # and the same program without the capability knows nothing of it
  setcap -r ../copy/bin/plimsoll
  equal without "$(peak without)" ""
}

@test "a program that is installed set-user-id works with the caller's rights" {
  with_capability
  setcap -r copy/bin/plimsoll
  chmod u+s copy/bin/plimsoll
  install -m 600 /dev/null secret.csv
  echo 'jobid,value' >secret.csv
  run as_nobody copy/bin/plimsoll samples "$WORK/secret.csv"
  [ "$status" != 0 ]
  [[ $output == *"Permission denied"* ]] || fail "$output"
}

# ---- control ----------------------------------------------------------------------------------------

# start_node OPTION...: a node "n" whose runtime directory is ./run
start_node() {
  mkdir -p run
  RUNTIME_DIRECTORY=$WORK/run plimsoll node --name n -i 1s -o out.smp "$@" 2>node.log 3>&- &
  NODE=$!
  for _ in $(seq 200); do
    [ -S run/node.n ] && return 0
    kill -0 "$NODE" 2>/dev/null || break
    sleep 0.05
  done
  fail "no node: $(cat node.log)"
}

@test "another user who can reach the control socket is not answered" {
  [ "$(id -u)" = 0 ] || skip "needs another user"
  start_node -s system
  RUNTIME_DIRECTORY=$WORK/run plimsoll configure n --show >/dev/null
  # even where everybody may connect
  chmod 755 "$WORK" run
  chmod 777 run/node.n
  as_nobody "$PL_BUILD/bin/plimsoll" version >/dev/null || skip "cannot be run by others here"
  as_nobody "$PL_BUILD/bin/plimsoll" configure "ipc://$WORK/run/node.n" --period 5s --timeout 2s >out 2>err && fail "it answers: $(cat out)"
  grep -q 'no answer' err || fail "$(cat err)"
  equal "the period" "$(plimsoll configure "ipc://$WORK/run/node.n" --show --json | jq .period_ms)" 1000
  kill "$NODE"
  wait "$NODE" || true
}

@test "a running node takes no program and no library to run" {
  printf '#!/bin/sh\necho "$0" >>%s/ran\necho "power: 100"\n' "$WORK" >evil
  printf '#!/bin/sh\necho "power: 100"\n' >ours
  chmod 755 evil ours
  start_node -s system -s "ipmi=$WORK/ours"
  export RUNTIME_DIRECTORY=$WORK/run
  for words in "ipmi=$WORK/evil" "system ipmi=$WORK/evil@1s" "nvidia=$WORK/evil.so" "'ipmi=$WORK/evil'" "system \"ipmi=$WORK/evil x\""; do
    plimsoll configure n --sources "$words" >out 2>err && fail "$words was taken"
    grep -q 'nothing was changed' err || fail "$(cat err)"
  done
  plimsoll configure n --sources "ipmi=$WORK/evil" 2>err || true
  grep -q 'configuration file' err || fail "$(cat err)"
  # what it was started with may stay
  plimsoll configure n --sources "ipmi=$WORK/ours" >/dev/null
  sleep 1
  kill "$NODE"
  wait "$NODE" || true
  [ ! -e ran ] || fail "it ran: $(cat ran)"
}

@test "a node has no control socket in a directory of another user" {
  [ "$(id -u)" = 0 ] || skip "needs another user"
  install -d -o 65534 -g 65534 run
  RUNTIME_DIRECTORY=$WORK/run run timeout 10 plimsoll node --name n -s system -o out.smp
  [ ! -S run/node.n ]
  [[ $output == *"belongs to uid 65534"* ]] || fail "$output"
}

@test "services have runtime directories of their own" {
  cat "$PL_SOURCE"/contrib/systemd/*.service | sed -n 's/^RuntimeDirectory=//p' >dirs
  equal "shared ones" "$(sort dirs | uniq -d)" ""
  equal "without a limit of memory" "$(grep -L '^MemoryMax=' "$PL_SOURCE"/contrib/systemd/*.service)" ""
}

# ---- a shared directory that jobs arrive in -----------------------------------------------------------

@test "in a shared directory nobody stops the daemon, leads it elsewhere or speaks for another" {
  [ "$(id -u)" = 0 ] || skip "needs another user"
  mkdir made elsewhere
  mkdir -m 1777 in
  export PLIMSOLL_DB=$WORK/jobs.db
  # what another user may plant there
  install -d -o 65534 -g 65534 in/.claimed
  ln -s "$WORK/elsewhere" in/failed
  chown -h 65534:65534 in/failed
  python3 "$PL_SOURCE/tests/fixtures/job.py" made/4711 --id 4711 --procs 3
  tar czf in/4711.tgz -C made/4711 .
  # belongs to nobody, and its metadata name somebody else
  python3 "$PL_SOURCE/tests/fixtures/job.py" made/4712 --id 4712 --procs 3
  tar czf in/4712.tgz -C made/4712 .
  chown 65534:65534 in/4712.tgz
  touch -d '1 minute ago' in/4711.tgz in/4712.tgz
  sleep 3
  timeout 60 plimsoll daemon --ingest in --once 2>daemon.log || true
  equal "what is stored" "$(plimsoll list --json | jq -r '.[].jobid')" 4711
  grep -q "belongs to 'nobody'" daemon.log || fail "$(cat daemon.log)"
  equal "followed links" "$(ls elsewhere)" ""
  [ -e in/4712.tgz ] || fail "the input is gone"
  equal "the other's directory" "$(stat -c %u in/.claimed)" 65534
  equal "what is left" "$(find in -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' ')" ".claimed 4712.tgz failed "
}

# job_of NAME USER [JQ]: an archive in/NAME.tgz that belongs to USER, with a job 4711 of that user
job_of() {
  mkdir -p "made/$1"
  jq -n "{plimsoll_job: 1, jobid: \"4711\", user: \"$2\", host: \"$1\", boot: \"0123abcd\", scheduler: {name: \"slurm\", cluster: \"c\"},
    start_us: 1750000000000000, stop_us: 1750000600000000, tags: {from: \"$1\"}, annotations: {}} | ${3:-.}" >"made/$1/job.json"
  tar czf "in/$1.tgz" -C "made/$1" .
  chown "$2" "in/$1.tgz"
  touch -d '1 minute ago' "in/$1.tgz"
}

@test "a job with an id that another user's job will have is no part of it, and not in its way" {
  [ "$(id -u)" = 0 ] || skip "needs other users"
  mkdir made
  mkdir -m 1777 in
  export PLIMSOLL_DB=$WORK/jobs.db
  # under his own name, and under none: that one could be anybody's
  job_of false nobody
  job_of unnamed nobody '.user = null'
  job_of unplaced nobody '.user = null | .scheduler = null | .start_us = 1750000001000000'
  sleep 3
  timeout 60 plimsoll daemon --ingest in --once
  job_of real daemon
  job_of realer daemon '.host = "second"'
  sleep 3
  timeout 60 plimsoll daemon --ingest in --once
  equal "left over" "$(find in -name '*.tgz')" ""
  equal "whose is what" "$(plimsoll list --json 4711 | jq -rc '.[] | "\(.user) \(.tags.from)"' | grep -c '^daemon real')" 1
  equal "of nobody" "$(plimsoll list --json 4711 | jq -r '.[].user' | sort -u | paste -sd ' ')" "daemon nobody"
  plimsoll sql --csv "SELECT m.json FROM job_meta m JOIN job j ON j.no = m.job WHERE j.username = 'daemon'" >real.csv
  equal "its parts" "$(python3 -c 'import csv, json; print(*(p["host"] for p in json.loads(list(csv.reader(open("real.csv")))[1][0])["parts"]))')" "real second"
}

# planted PATH: what another user may leave in a shared directory, a link to a file of the victim's, a second name
# of it, or a file that the other can read
planted() {
  ln -sfn "$WORK/precious" "$1.link.csv"
  ln -f precious "$1.hard.db"
  install -o 65534 -g 65534 -m 666 /dev/null "$1.own.csv"
  chown -h 65534:65534 "$1.link.csv"
  for suffix in svg smp json; do
    ln -sfn "$WORK/precious" "$1.$suffix"
    chown -h 65534:65534 "$1.$suffix"
  done
}

@test "output does not go where another user's link, second name or file in a shared directory leads" {
  [ "$(id -u)" = 0 ] || skip "needs another user"
  export PLIMSOLL_DB=$WORK/jobs.db
  plimsoll run -q --sample 50ms sleep 0.3
  id=$(plimsoll list --json | jq -r '.[0].jobid')
  for owner in 0 65534; do
    rm -rf shared
    install -d -m 1777 -o $owner shared
    echo precious >precious
    planted shared/x
    for name in x.link.csv x.own.csv x.hard.db; do
      run plimsoll export "$id" -o "shared/$name"
      [ "$status" != 0 ] || fail "export wrote shared/$name"
      [[ $output == *"that somebody else may have put into this shared directory"* ]] || fail "$output"
    done
    run plimsoll plot "$id" -m process.rss -o shared/x.svg
    [ "$status" != 0 ] || fail "plot followed the link"
    run timeout 20 plimsoll node -o shared/x.smp -i 1
    [ "$status" = 1 ] || fail "node opened the link: $status $output"
    run plimsoll run --no-submit --json=shared/x.json true
    [[ $output == *"that somebody else may have put into this shared directory"* ]] || fail "$output"
    equal "the file behind" "$(cat precious)" precious
    equal "the file of the other" "$(cat shared/x.own.csv)" ""
    # links of one's own are followed, and new names are made
    ln -s "$WORK/mine.csv" shared/mine.csv
    touch mine.csv
    plimsoll export -q "$id" -o shared/mine.csv
    [ -s mine.csv ] && [ -L shared/mine.csv ] || fail "one's own link is not followed"
    plimsoll export -q "$id" -o shared/new.csv
    [ -s shared/new.csv ] || fail "nothing was written"
    rm mine.csv
  done
}

# bats test_tags=perfmon
@test "perfmon writes through no link of another user" {
  [ "$(id -u)" = 0 ] || skip "needs another user"
  new=$((RANDOM % 10000 + 10000)).test
  mkdir -m 1777 shared
  mkdir mine
  echo precious >mine/cpu_metrics.json
  ln -s "$WORK/mine" shared/metrics
  ln -s "$WORK/mine" shared/configs
  chown -h 65534:65534 shared/metrics shared/configs
  PBS_JOBID=$new sleep 3 &
  job=$!
  PBS_JOBID=$new run perfmon -i 1 -d shared
  wait "$job"
  equal "the files behind" "$(ls mine)" cpu_metrics.json
  equal "what is in it" "$(cat mine/cpu_metrics.json)" precious
  log=$(basename "$(find shared -name '*.log')")
  [ -n "$log" ] || fail "perfmon has no log: $output"
  rm "shared/$log"
  ln -s "$WORK/mine/cpu_metrics.json" "shared/$log"
  chown -h 65534:65534 "shared/$log"
  PBS_JOBID=$new run perfmon -i 1 -d shared
  [ "$status" != 0 ] || fail "the log goes through the link"
  [[ $output == *"that somebody else may have put into this shared directory"* ]] || fail "$output"
  equal "after the log" "$(cat mine/cpu_metrics.json)" precious
}

@test "credentials that others may read are refused, and passwords in addresses are not shown" {
  echo me:secret >credentials
  chmod 640 credentials
  run timeout 20 plimsoll collect --log log --bind 'tcp://127.0.0.1:*' --sink elastic:http://127.0.0.1:9 --credentials credentials
  [ "$status" != 0 ]
  [[ $output == *"is readable by others"* ]] || fail "$output"
  timeout 5 plimsoll collect --log log2 --bind 'tcp://127.0.0.1:*' -v \
    --sink 'clickhouse:http://me:geheim1@127.0.0.1:9,http://me:geheim2@127.0.0.1:10?cluster=c' 2>collect.log || true
  grep -q clickhouse collect.log || fail "$(cat collect.log)"
  ! grep geheim collect.log || fail "a password is shown"
}

@test "every row of docs/security.md has a test" {
  cat >rows.py <<'P'
import pathlib, re, sys
source = pathlib.Path(sys.argv[1])
rows = missing = 0
table, before = False, None
for line in (source / "docs/security.md").read_text().splitlines():
    cells = [c.strip() for c in line.strip("|").split("|")] if line.startswith("|") else []
    if not cells:
        table = False
    elif cells[-1] == "test":
        table = True
    if not table or cells[-1] == "test" or set(line) <= set("|-"):
        continue
    rows += 1
    what = before if cells[-1] == "the same" else cells[-1]
    before = what
    named = re.match(r"((?:`[\w.]+`(?:, )?)+): (.*)", what)
    files = re.findall(r"`([\w.]+)`", named[1]) if named else ["security.bats"]
    for name in files:
        unit = not name.endswith(".bats")
        # the tests of a folder of src are in a folder of the same name
        found = sorted((source / "tests/unit").rglob(name + ".c")) if unit else [source / "tests/cli" / name]
        titles = re.split(", " if unit else "; ", named[2]) if named else [what]
        for title in titles:
            wanted = f"static void {title}(void **state)" if unit else f'@test "{title}" {{'
            if not any(path.exists() and wanted in path.read_text() for path in found):
                print(f"{name} has no test '{title}': {line}")
                missing += 1
print(rows if not missing else "missing")
P
  python3 rows.py "$PL_SOURCE" >rows || true
  ! grep -v '^[0-9]*$' rows || fail "rows without a test"
  at_least "rows" "$(cat rows)" 30
}

# ---- passwords in addresses -----------------------------------------------------------------------------

# Nothing that was said or written has a part of the password in it.
no_password() {
  ! grep -rn hunter2 "$@" || fail "a password is shown"
}

# Forms of addresses, also those that are wrong: whoever wrote one forgot to escape, or takes another program's.
STORES='postgresql://u:hunter2@127.0.0.1:1/x
POSTGRESQL://u:hunter2@127.0.0.1:1/x
mysql://u:hunter2@h/x
postgresql://u:hunter2/@127.0.0.1:1/x
postgresql://u:hunter2?a@127.0.0.1:1/x
postgresql://u:a@hunter2@127.0.0.1:1/x
postgresql://u:hunter2
postgresql://u@127.0.0.1:1/x?password=hunter2
postgresql://u@127.0.0.1:1/x?pass%77ord=hunter2
u:hunter2@127.0.0.1:1/x
host=127.0.0.1 port=1 password=hunter2
password = hunter2 host=127.0.0.1'

@test "a password in the address of the store is masked wherever it is shown" {
  while read -r url; do
    export PLIMSOLL_DB=$url
    plimsoll config --json >json 2>err
    plimsoll config db >db 2>>err
    plimsoll config >table 2>>err
    no_password json db table err
    # the rest is there
    equal "one form of it" "$(jq -r .db.value json)" "$(cat db)"
    grep -qF '***' db || fail "not masked: $(cat db)"
    plimsoll check >check 2>&1 || true
    grep -q store check || fail "$(cat check)"
    plimsoll list --db "$url" >list 2>&1 && fail "listed: $url"
    equal "lines about $url" "$(wc -l <list)" 1
    no_password check list
    timeout 5 plimsoll collect --log log --bind 'tcp://127.0.0.1:*' -v --sink "store:$url" 2>collect.log || true
    grep -q store: collect.log || fail "$(cat collect.log)"
    no_password collect.log log
    rm -rf log
  done <<<"$STORES"
  equal "files of such names" "$(find . -name '*hunter2*')" ""
}

# bats test_tags=epmt
@test "EPMT's names mask a password in the address of the store" {
  while read -r url; do
    PLIMSOLL_DB=$url epmt check >epmt 2>&1 || true
    no_password epmt
  done <<<"$STORES"
  EPMT_DB_URL='postgresql://u:a@hunter2?@127.0.0.1:1/x' plimsoll run --no-submit -o job true
  equal recorded "$(jq -r .environment.EPMT_DB_URL job/job.json)" 'postgresql://u:***@127.0.0.1:1/x'
  no_password job
}

@test "the address of the store is shown whole but for the password, and works" {
  equal "shown" "$(PLIMSOLL_DB='postgresql://u:a@b/c@127.0.0.1:1/x?sslmode=disable' plimsoll config db)" \
    'postgresql://u:***@127.0.0.1:1/x?sslmode=disable'
  equal "a path" "$(PLIMSOLL_DB=./a:b@c.db plimsoll config db)" ./a:b@c.db
  plimsoll run --db ./a:b@c.db true
  equal "jobs" "$(plimsoll list --db ./a:b@c.db --json | jq length)" 1
}

@test "what is recorded of a job has addresses without their passwords" {
  PLIMSOLL_DB='postgresql://u:a@hunter2/@127.0.0.1:1/x' \
    PLIMSOLL_COLLECT_SINKS='elastic:u:hunter2@h:1 elastic:http://a:hunter2?@h' plimsoll run --no-submit -o job true
  equal "the store's" "$(jq -r .environment.PLIMSOLL_DB job/job.json)" 'postgresql://u:***@127.0.0.1:1/x'
  no_password job
}

@test "connection strings of libpq are no paths" {
  for url in 'host=127.0.0.1 port=1 password=hunter2' 'dbname=jobs' 'user = me dbname=jobs'; do
    run -1 plimsoll list --db "$url"
    [[ $output == *"is not a path; use postgresql://USER@HOST:PORT/DATABASE"* ]] || fail "$output"
    timeout 20 plimsoll collect --log log --bind 'tcp://127.0.0.1:*' --sink "store:$url" 2>collect.log || true
    grep -q 'is not a path; use postgresql://' collect.log || fail "$(cat collect.log)"
    rm -rf log
  done
  no_password collect.log
  equal "files" "$(find . -name '*=*')" ""
}

@test "a password in the address of a sink is masked wherever it is shown" {
  for sink in elastic:http://u:hunter2/@127.0.0.1:1/ 'elastic:http://u:hunter2?a@127.0.0.1:1/' elastic:u:hunter2@127.0.0.1:1 \
    elastic:http://u:a@hunter2@127.0.0.1:1/ elastic:http://hunter2@127.0.0.1:1/ elastic:http://u:hunter2 \
    'clickhouse:http://127.0.0.1:1/?X-ClickHouse-Key=hunter2' clickhouse:http://u:x@127.0.0.1:1,http://u:hunter2/@127.0.0.1:1 \
    remote-write:http://u:hunter2/@127.0.0.1:1/ prometheus:u:hunter2@127.0.0.1:x; do
    plimsoll collect --log log --bind 'tcp://127.0.0.1:*' -v --sink "$sink" >collect.log 2>&1 &
    COLLECT=$!
    for _ in $(seq 100); do
      [ ! -s log/status.json ] && kill -0 "$COLLECT" 2>/dev/null || break
      sleep 0.1
    done
    sleep 1
    kill "$COLLECT" 2>/dev/null || true
    wait "$COLLECT" || true
    [[ $(jq -r '.sinks[0].sink' log/status.json) == *'***'* ]] || fail "$(cat log/status.json)"
    no_password collect.log log
    PLIMSOLL_COLLECT_SINKS="$sink hdf5:/a:b@c" plimsoll config --json >json
    no_password json
    equal "other sinks" "$(jq -r .collect_sinks.value json | sed 's/.* //')" hdf5:/a:b@c
    rm -rf log
  done
  for sink in elastik:http://u:hunter2@h http://u:hunter2@h hunter2@h; do
    run plimsoll collect --log log --bind 'tcp://127.0.0.1:*' --sink "$sink"
    [[ $output == *"expected KIND:TARGET"* && $output != *hunter2* ]] || fail "$output"
  done
}
