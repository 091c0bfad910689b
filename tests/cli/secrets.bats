#!/usr/bin/env bats
# Secrets in variables and arguments are not written down; what only looks like one at first sight is.

bats_require_minimum_version 1.5.0
load lib

setup_file() {
  export TOKEN36=A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8
}

# What the store, the job's own files as they are shown, and exports say about it, all in one file. The record
# files themselves are for the owner alone.
look() {
  {
    cat job/job.json job/*/*.json
    plimsoll records --jsonl job
    plimsoll records job
    plimsoll procs --json "$(jq -r .jobid job/job.json)"
    plimsoll show --json "$(jq -r .jobid job/job.json)"
    plimsoll report --json "$(jq -r .jobid job/job.json)"
    cat store.db* | tr -c "[:print:]" "\n"
  } >all 2>/dev/null
}

@test "variables: a secret of every kind is masked, the others are recorded" {
  export PLIMSOLL_DB=$PWD/store.db
  n=0
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    n=$((n + 1))
    export "${line%%=*}=${line#*=}"
  done <<V
MY_PASSWORD=HIDE-1x
PGPASSWORD=HIDE-2x
MYSQL_PWD=HIDE-3x
AWS_SECRET_ACCESS_KEY=HIDE-4x
AWS_SESSION_TOKEN=HIDE-5x
GITHUB_TOKEN=HIDE-6x
HF_TOKEN=HIDE-7x
OPENAI_API_KEY=HIDE-8x
SLURM_JWT=HIDE-9x
DOCKER_AUTH_CONFIG=HIDE-10x
SSH_PASSPHRASE=HIDE-11x
SENTRY_DSN=HIDE-12x
AZURE_STORAGE_CONNECTION_STRING=HIDE-13x
SLACK_WEBHOOK_URL=HIDE-14x
DEPLOY_PRIVATE_KEY=HIDE-15x
DATABASE_URL=postgresql://user:HIDE-16x@db.example/x
REDIS_URL=redis://:HIDE-17x@cache:6379/0
BROKER=amqp://guest:HIDE-18x@mq//
PIP_INDEX=https://me:HIDE-19x@example.org/simple
PROXY_AT=http://u:p@HIDE-20x@proxy:3128
CURL_HEADER=Authorization: Bearer HIDE-21x-0123456789
SOME_JWT_TEXT=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.HIDE-22x
NOTE=see ghp_HIDE22222222222222222222222222222222 there
KEYFILE_TEXT=-----BEGIN OPENSSH PRIVATE KEY----- HIDE-23x -----END OPENSSH PRIVATE KEY-----
QUERY=https://example.org/x?user=me&access_token=HIDE-24x&page=2
CONN=host=db password=HIDE-25x dbname=x
SSHPASS=HIDE-26x
GITHUB_PAT=HIDE-27x
RSYNCPASS=HIDE-28x
V
  PROXY_BYPASS=keep-11 TOKENIZERS_PARALLELISM=keep-1 MAX_TOKENS=4096 KEYBOARD=keep-2 OLDPWD=/keep-3 SSH_AUTH_SOCK=/keep-4 XAUTHORITY=/keep-5 \
    KRB5CCNAME=FILE:/keep-6 HOMEPAGE=https://keep-7@example.org/ REPO=ssh://git@keep-8/x PYTHONHASHSEED=5 SHORT=sk-learn-keep-9 \
    TIME=12:30:45 MAPPED=a:b@keep-10 plimsoll run -q -o job -- "$PROGRAMS/actor" return 0
  look
  run -1 grep -o -E '.{0,30}HIDE.{0,10}' all
  for i in $(seq 11); do grep -q "keep-$i" all || fail "keep-$i is lost"; done
  equal tokens "$(jq -r .environment.MAX_TOKENS job/job.json)" 4096
  equal url "$(jq -r .environment.DATABASE_URL job/job.json)" 'postgresql://user:***@db.example/x'
  equal redis "$(jq -r .environment.REDIS_URL job/job.json)" 'redis://:***@cache:6379/0'
  equal at "$(jq -r .environment.PROXY_AT job/job.json)" 'http://u:***@proxy:3128'
  equal query "$(jq -r .environment.QUERY job/job.json)" 'https://example.org/x?user=me&access_token=***&page=2'
  equal connection "$(jq -r .environment.CONN job/job.json)" 'host=db password=*** dbname=x'
  equal note "$(jq -r .environment.NOTE job/job.json)" 'see *** there'
  equal time "$(jq -r .environment.TIME job/job.json)" 12:30:45
}

# arguments WANT PROGRAM ARGUMENT...: what is recorded of them
arguments() {
  local want=$1 name=$2
  shift 2
  rm -rf job
  ln -sf "$PROGRAMS/actor" "$name"
  plimsoll run -q -o job -j a --no-submit -- "./$name" return 0 "$@"
  equal "$name $*" "$(plimsoll records --jsonl job | jq -r .args)" "return 0 $want"
  equal "command of $name $*" "$(jq -r '.command[3:] | join(" ")' job/*/*.json)" "$want"
}

@test "arguments: a secret of every kind is masked, the others are recorded" {
  arguments '--password=***' x --password='a b;c'
  arguments '--password *** -v' x --password HIDE -v
  arguments '--token *** x' x --token HIDE x
  arguments '--api-key=***' x --api-key=HIDE
  arguments '-Dspring.datasource.password=*** go' x -Dspring.datasource.password=HIDE go
  arguments '--db=postgresql://u:***@h/d' x --db=postgresql://u:HIDE@h/d
  arguments 'https://user:***@host/x.git' git https://user:HIDE@host/x.git
  arguments 'https://***@host/x.git' git "https://ghp_$TOKEN36@host/x.git"
  arguments 'PGPASSWORD=*** psql' env PGPASSWORD=HIDE psql
  arguments '-c PGPASSWORD=*** psql; echo done' x -c 'PGPASSWORD=HIDE psql; echo done'
  arguments '-uroot -p*** db' mysql -uroot -pHIDE db
  arguments '-p*** db' mysqldump -pHIDE db
  arguments '-p *** ssh h' sshpass -p HIDE ssh h
  arguments '-u me:*** url' curl -u me:HIDE url
  arguments '--user me:*** url' curl --user me:HIDE url
  arguments '-H Authorization: Bearer *** url' curl -H 'Authorization: Bearer HIDE0123456789' url
  arguments '-H X-Api-Key: *** url' curl -H 'X-Api-Key: HIDE' url
  arguments '-H PRIVATE-TOKEN: *** url' curl -H 'PRIVATE-TOKEN: HIDE' url
  arguments '-a *** ping' redis-cli -a HIDE ping
  arguments '-passin pass:***' openssl -passin pass:HIDE
  arguments '***' x "hf_$TOKEN36"
  arguments '***' x "glpat-$TOKEN36"
  arguments '***' x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.SflKxwRJSMeKKF2QT4
  # and what is none
  arguments '--tokens 5 --max-tokens=7' x --tokens 5 --max-tokens=7
  arguments '--tokenizer bert --pad-token <pad>' x --tokenizer bert --pad-token '<pad>'
  arguments '--sort-key=name --key value' x --sort-key=name --key value
  arguments '-p 8080:80 image' docker -p 8080:80 image
  arguments '-p 4 -n 2' x -p 4 -n 2
  arguments '-parallel 4' x -parallel 4
  arguments 'git@host:x.git ssh://git@host/x' git git@host:x.git ssh://git@host/x
  arguments '-u me url' curl -u me url
  arguments '--passes=3 --compass north' x --passes=3 --compass north
  arguments 'a:b@c 12:30 C:/x' x a:b@c 12:30 C:/x
  arguments 'sk-learn hf_home xoxb- Basic needs' x sk-learn hf_home xoxb- 'Basic needs'
}

@test "the command of a run is masked wherever it is shown: summary, store, reports, page, dump" {
  export PLIMSOLL_DB=$PWD/store.db
  plimsoll run -o job -j named --submit -- sh -c "PGPASSWORD=HIDE1 $PROGRAMS/actor return 0; :" x --password=HIDE2 https://u:HIDE3@h/ "ghp_$TOKEN36" 2>summary
  grep -q -F -- "PGPASSWORD=***" summary || fail "$(cat summary)"
  plimsoll run -o job -j named --json=- -- true --token HIDE4 2>>summary
  look
  {
    cat summary
    plimsoll dump --json named
    plimsoll dump named
    plimsoll show named
    plimsoll list --json
    plimsoll report -f html -o - named
    plimsoll report named
    plimsoll tree named
    plimsoll procs --csv named
    plimsoll export -f csv -o - named
  } >>all 2>&1
  grep -q -F "PGPASSWORD=***" all || fail "the command is not there at all"
  equal "secrets that are shown" "$(grep -a -o -E "HIDE[0-9]|ghp_$TOKEN36" all | sort | uniq -c | xargs)" ""
}

@test "an archive that stage makes has no secret in it, and all else as it was" {
  plimsoll run -q -o job --no-submit -- sh -c "$PROGRAMS/actor return 3; $PROGRAMS/actor threads 2; exit 0" x --password=HIDE1 https://u:HIDE2@h/
  plimsoll run -q -o job --no-submit -- "$PROGRAMS/actor" return 0 --token HIDE3 -v
  grep -q -a HIDE3 job/*/*.rec || fail "nothing to mask"
  plimsoll records --jsonl --threads job >before
  # the last record of one was torn, with arguments in it
  cp -r job torn
  cat torn/*/*.rec | head -c -70 >all.rec
  local first
  first=$(echo torn/*/*.rec | cut -d' ' -f1)
  rm torn/*/*.rec
  { cat all.rec && printf 'torn HIDE4'; } >"$first"
  plimsoll records --jsonl torn >torn.before 2>torn.err || true
  plimsoll stage --dest out job >name
  plimsoll stage --dest out torn >torn.name
  for archive in $(cat name torn.name); do
    equal "secrets in $archive" "$(gunzip -c "$archive" | grep -a -c HIDE)" 0
  done
  plimsoll records --jsonl --threads "$(cat name)" >after
  cmp before after
  plimsoll records --jsonl "$(cat torn.name)" >torn.after 2>torn.err2 || true
  cmp torn.before torn.after
  equal "damage" "$(grep -o '[0-9]* bytes' torn.err2)" "$(grep -o '[0-9]* bytes' torn.err)"
}

@test "a site adds names and forms of its own, and takes some out" {
  export SITE_LICENCE=HIDE1 BADGE=keep1 TICKET='nr ZQ-12345 ok' MY_TOKEN=keep2
  export PLIMSOLL_MASK_MORE='*LICENCE*:*CODEWORD*' PLIMSOLL_MASK_VALUES='ZQ-[0-9]+ H[0-9]{4}E' PLIMSOLL_MASK_KEEP='MY_TOKEN'
  plimsoll run -q -o job --no-submit -- "$PROGRAMS/actor" return 0 --codeword HIDE2 --x=ZQ-777 aH1234Eb
  equal licence "$(jq -r .environment.SITE_LICENCE job/job.json)" '***'
  equal badge "$(jq -r .environment.BADGE job/job.json)" keep1
  equal ticket "$(jq -r .environment.TICKET job/job.json)" 'nr *** ok'
  equal kept "$(jq -r .environment.MY_TOKEN job/job.json)" keep2
  equal args "$(plimsoll records --jsonl job | jq -r .args)" 'return 0 --codeword *** --x=*** a***b'
  # by file, too; an expression that cannot be read does no harm
  mkdir -p "$HOME/.config/plimsoll"
  printf 'mask_more = BADGE\nmask_values = ( [\n' >"$HOME/.config/plimsoll/plimsoll.conf"
  unset PLIMSOLL_MASK_MORE PLIMSOLL_MASK_VALUES
  plimsoll run -q -o job2 --no-submit -- true
  rm "$HOME/.config/plimsoll/plimsoll.conf"
  equal badge "$(jq -r .environment.BADGE job2/job.json)" '***'
}

@test "what EPMT wrote down is masked on its way into the store" {
  export EPMT_SETTINGS=$WORK/settings.py SLURM_JOB_ID=7 PLIMSOLL_DB=$PWD/store.db
  printf "epmt_output_prefix = '%s/out/'\n" "$WORK" >settings.py
  PLIMSOLL_MASK=none PLIMSOLL_MASK_KEEP='*' MY_PASSWORD=HIDE1 epmt run -a -- "$PROGRAMS/actor" return 0 --password=x
  grep -q HIDE1 out/*/7/job_metadata || fail "nothing to mask"
  sed -i 's/--password=[*x]*/--password=HIDE3/' out/*/7/*papiex.tsv
  rm -r out/*/7/.plimsoll
  plimsoll submit -q out/*/7
  equal args "$(plimsoll procs --json 7 | jq -r '.[].args' | tail -1)" 'return 0 --password=***'
  cat store.db* >all
  run -1 grep -a -c HIDE all
}

@test "stores are for their owner; one that is open is told of" {
  umask 022
  plimsoll run -q -o job --no-submit -- true
  id=$(jq -r .jobid job/job.json)
  plimsoll submit -q --db new/store.db job
  equal mode "$(stat -c %a new/store.db)" 600
  python3 - <<'P'
import os, sqlite3, stat
c = sqlite3.connect('new/store.db')
c.execute('BEGIN IMMEDIATE')
c.execute("INSERT INTO job_warning SELECT no, 99, 'x' FROM job")
for f in os.listdir('new'):
    assert stat.S_IMODE(os.stat('new/' + f).st_mode) == 0o600, f
P
  plimsoll delete -q --db new/store.db "$id"
  chmod 644 new/store.db
  plimsoll submit --db new/store.db job 2>err
  grep -q "can be read by everybody" err || fail "$(cat err)"
  equal left "$(stat -c %a new/store.db)" 644
  # a group that shares one is a site's own choice
  chmod 660 new/store.db
  plimsoll tag --db new/store.db "$id" a:b 2>err
  [ ! -s err ] || fail "$(cat err)"
  # what people ask for by name has the mode that they set
  plimsoll report --db new/store.db -o report.html "$id"
  equal report "$(stat -c %a report.html)" 644
}
