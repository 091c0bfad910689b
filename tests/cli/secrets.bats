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
MY_PASSCODE=HIDE-90x
OPTS=--password HIDE-95x
OPTS4=mysql --password HIDE-96x -v
LISTED={"password": ["HIDE-97x"]}
KEY=HIDE-98x
MASTERKEY=HIDE-99x
FERNET=HIDE-100x
MNEMONIC=HIDE-101x
HUB=hf_HIDEmnoOEYISjraJtbySaKCNnSuYAvukaTt
NETRC_DATA=machine h login u password HIDE-91x
CFG=password = HIDE-92x
KC=client-key-data: HIDE-93x
GIT_AT=https://HIDE-94x:x-oauth-basic@h/x.git
GITHUB_PAT=HIDE-27x
RSYNCPASS=HIDE-28x
MYPASS=HIDE-30x
DBPW=HIDE-31x
SMTP_PW=HIDE-32x
TF_VAR_pw=HIDE-33x
AUTH=HIDE-34x
creds=HIDE-35x
KRB5_PIN=HIDE-36x
OTP_SEED=HIDE-37x
SAS=HIDE-38x
CONN_STR=HIDE-39x
SESSION_ID=HIDE-40x
DOCKER_CONF={"auths":{"h":{"auth":"HIDE-41x"}}}
PYTHONISH={'token': 'HIDE-42x', "n": 1}
STORAGE=AccountName=a;AccountKey=HIDE-43x;EndpointSuffix=b
BUS=Endpoint=sb://x/;SharedAccessKeyName=root;SharedAccessKey=HIDE-44x
ODBC=Server=h;Uid=u;Pwd=HIDE-45x;
HOOK_AT=https://hooks.slack.com/services/T00/B00/HIDE-46x
PLIMSOLL_TAGS=op:fine;password:HIDE-47x
EPMT_JOB_TAGS=exp:fine;token:HIDE-48x
PLIMSOLL_JOB_TAGS=exp:fine;token:HIDE-49x
V
  KEYWORDS=keep-12 PASSES=keep-13 COMPASS=keep-14 I_MPI_PIN=keep-15 XDG_SESSION_ID=keep-16 FROM=me@host:/keep-17 DIRS='PWD=/keep-18 x' JSON='{"author": "keep-19"}' \
    PROXY_BYPASS=keep-11 TOKENIZERS_PARALLELISM=keep-1 MAX_TOKENS=4096 KEYBOARD=keep-2 OLDPWD=/keep-3 SSH_AUTH_SOCK=/keep-4 XAUTHORITY=/keep-5 \
    KRB5CCNAME=FILE:/keep-6 HOMEPAGE=sftp://keep-7@example.org/ CLONE=https://HIDE@example.org/r.git REPO=ssh://git@keep-8/x PYTHONHASHSEED=5 SHORT=sk-learn-keep-9 \
    TIME=12:30:45 MAPPED=a:b@keep-10 plimsoll run -q -o job -- "$PROGRAMS/actor" return 0
  look
  equal 'secrets that are shown' "$(grep -a -o -E '.{0,30}HIDE.{0,10}' all | sort -u)" ''
  for i in $(seq 19); do grep -q "keep-$i" all || fail "keep-$i is lost"; done
  equal tokens "$(jq -r .environment.MAX_TOKENS job/job.json)" 4096
  equal url "$(jq -r .environment.DATABASE_URL job/job.json)" 'postgresql://user:***@db.example/x'
  equal redis "$(jq -r .environment.REDIS_URL job/job.json)" 'redis://:***@cache:6379/0'
  equal at "$(jq -r .environment.PROXY_AT job/job.json)" 'http://u:***@proxy:3128'
  equal query "$(jq -r .environment.QUERY job/job.json)" 'https://example.org/x?user=me&access_token=***&page=2'
  equal connection "$(jq -r .environment.CONN job/job.json)" 'host=db password=*** dbname=x'
  equal note "$(jq -r .environment.NOTE job/job.json)" 'see *** there'
  equal tags "$(jq -c .tags job/job.json)" '{"exp":"fine","token":"***"}'
  equal docker "$(jq -r .environment.DOCKER_CONF job/job.json)" '{"auths":{"h":{"auth":"***"}}}'
  equal storage "$(jq -r .environment.STORAGE job/job.json)" 'AccountName=a;AccountKey=***;EndpointSuffix=b'
  equal bus "$(jq -r .environment.BUS job/job.json)" 'Endpoint=sb://x/;SharedAccessKeyName=root;SharedAccessKey=***'
  equal hook "$(jq -r .environment.HOOK_AT job/job.json)" 'https://hooks.slack.com/services/***'
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
  arguments '-U sa -P *** -Q x' sqlcmd -U sa -P HIDE -Q x
  arguments '-t rsa -N *** -f k' ssh-keygen -t rsa -N HIDE -f k
  arguments 'upload -u me -p *** d' twine upload -u me -p HIDE d
  arguments '-u jdbc -p ***' beeline -u jdbc -p HIDE
  arguments 'a.pdf output b.pdf user_pw ***' pdftk a.pdf output b.pdf user_pw HIDE
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
  arguments 'configure set aws_secret_access_key ***' aws configure set aws_secret_access_key HIDE
  arguments "-e CREATE USER a IDENTIFIED BY '***'" mysql -e "CREATE USER a IDENTIFIED BY 'HIDE'"
  arguments 'ls-remote https://***@h/x.git' git ls-remote https://HIDE:x-oauth-basic@h/x.git
  arguments '--proxy-user a:*** x' prog --proxy-user a:HIDE x
  arguments 'password = *** x' prog 'password = HIDE x'
  # and what is none
  arguments 'a password of x = y' prog 'a password of x = y'
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

@test "arguments: shell lines, headers, documents, logins" {
  arguments "-c prog --password ***; PASSWORD=\"***\" prog" bash -c 'prog --password HIDE; PASSWORD="HIDE" prog'
  arguments '-c mysql -uroot -p*** db && curl -su me:*** url' sh -c 'mysql -uroot -pHIDE db && curl -su me:HIDE url'
  arguments '-c sh -c "sshpass -p *** ssh h" | cat' sh -c 'sh -c "sshpass -p HIDE ssh h" | cat'
  arguments "-c MYPASS='***' sudo mysql -p***" sh -c "MYPASS='HIDE y' sudo mysql -pHIDE"
  arguments 'mysql -p*** db' sudo mysql -pHIDE db
  arguments '-H Authorization: token *** url' curl -H 'Authorization: token HIDE' url
  arguments '--header=Authorization:***' x --header=Authorization:HIDE
  arguments '-d {"user": "me", "password": "***", "n": 5}' curl -d '{"user": "me", "password": "HIDE", "n": 5}'
  arguments "-d {'token': '***'}" curl -d "{'token': 'HIDE'}"
  arguments 'AccountName=a;AccountKey=***;x=1' x 'AccountName=a;AccountKey=HIDE;x=1'
  arguments 'https://***@host/x.git' git https://0123456789abcdef0123456789abcdef@host/x.git
  arguments '//u:***@h/share' x //u:HIDE@h/share
  arguments 'user:***@host:/path .' scp user:HIDE@host:/path .
  arguments 'jdbc:oracle:thin:u/***@//h:1521/s' x jdbc:oracle:thin:u/HIDE@//h:1521/s
  arguments '-p*** ssh h' sshpass -pHIDE ssh h
  arguments '--user u:*** x' http --user u:HIDE x
  arguments '--oauth2-bearer *** x' curl --oauth2-bearer HIDE x
  arguments '-b sid=*** x' curl -b sid=HIDE x
  arguments '-storepass *** -keypass ***' keytool -storepass HIDE -keypass HIDE
  arguments 'enc -k *** -in f' openssl enc -k HIDE -in f
  arguments '-u u,*** h' lftp -u u,HIDE h
  arguments '-cb file user ***' htpasswd -cb file user HIDE
  arguments 'u/***@db @script.sql' sqlplus u/HIDE@db @script.sql
  arguments 'login ***' vault login HIDE
  arguments '-h broker -P *** -t x' mosquitto_pub -h broker -P HIDE -t x
  arguments 'login -u me -p ***' az login -u me -p HIDE
  arguments '/u:me /p:*** /v:h' xfreerdp /u:me /p:HIDE /v:h
  arguments '-v3 -A *** -X *** h' snmpget -v3 -A HIDE -X HIDE h
  arguments '--pw *** --pin *** --otp *** --auth u:*** --bearer *** --license-key ***' \
    x --pw HIDE --pin HIDE --otp HIDE --auth u:HIDE --bearer HIDE --license-key HIDE
  arguments '--password= *** x' x --password= HIDE x
  arguments '*** *** *** ***' x AKIAIOSFODNN7EXAMPLE "sk""_live_4eC39HqLyjWDarjtT1zdp7dc" dckr_pat_0aB1cD2eF3gH4iJ5kL6mN7oP8qR \
    SG.0123456789abcdefghijkl.0123456789abcdefghijkl
  arguments 'bot ***' x bot 123456789:AAF0123456789abcdefghijklmnopqrstuv
  # and what is none of it
  arguments '-p 8080 --port 80 -u me' x -p 8080 --port 80 -u me
  arguments 'me@host:/path host:/path C:/x' rsync me@host:/path host:/path C:/x
  arguments '-pin on -ntomp 4' gmx -pin on -ntomp 4
  arguments 'run --user 1000:1000 -p 8080:80 img' docker run --user 1000:1000 -p 8080:80 img
  arguments '--auth kerberos --password-file /etc/x --password-stdin host' x --auth kerberos --password-file /etc/x --password-stdin host
  arguments "-c cd /a b && make -p 4; echo 'x; y' > out" sh -c "cd /a b && make -p 4; echo 'x; y' > out"
  arguments 'login -method=ldap' vault login -method=ldap
  arguments '-b cookies.txt' curl -b cookies.txt
  arguments 'KEYWORDS=a b PASSES=3 COMPASS=n' x 'KEYWORDS=a b' PASSES=3 COMPASS=n
  arguments '/a//b:c/d http://h:80/x@y std::string a@b.c' x /a//b:c/d http://h:80/x@y std::string a@b.c
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
  PLIMSOLL_TAGS='op:a;password:HIDE5' plimsoll run -q -o job --no-submit -- "$PROGRAMS/actor" return 0
  grep -q -a HIDE3 job/*/*.rec || fail "nothing to mask"
  grep -q -a HIDE5 job/*/*.rec || fail "no tag to mask"
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

# bats test_tags=epmt
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

@test "tags and annotations: those of tag, of annotate and of the metadata are masked, and that is said" {
  plimsoll run -q --db store.db -- true
  run -0 plimsoll tag --db store.db last db_password:hunter2 campaign:1864
  [[ $output == *"1 tag looks like a secret and is stored as ***; "*mask_keep* ]] || fail "$output"
  equal tags "$(plimsoll show --db store.db --json last | jq -c .tags)" '{"campaign":"1864","db_password":"***"}'
  run -0 plimsoll annotate --db store.db last api_token=abc123 url=https://me:pw@host/x note=fine n=3
  [[ $output == *"2 annotations look like a secret and are stored as ***; "* ]] || fail "$output"
  equal notes "$(plimsoll show --db store.db --json last | jq -c '.annotations | [.api_token, .url, .note, .n]')" \
    '["***","https://me:***@host/x","fine",3]'
  # who wants it has it
  PLIMSOLL_MASK_KEEP='*PASSWORD' run -0 plimsoll tag --db store.db last db_password:hunter2
  equal said "$output" ""
  equal kept "$(plimsoll show --db store.db --json last | jq -r .tags.db_password)" hunter2
  # in a job's directory, by hand, and on its way into the store
  plimsoll run -q --no-submit -o job -- true
  run -0 plimsoll annotate job secret_word=xyzzy PLIMSOLL_JOB_TAGS='a:b;auth_token:t0p'
  run -1 grep -rq 'xyzzy\|t0p' job
  jq '.annotations.my_password = "n0w" | .tags.my_passwd = "h3re"' job/job.json >new && mv new job/job.json
  plimsoll submit -q --db other.db job
  equal stored "$(plimsoll show --db other.db --json last | jq -c '[.annotations.my_password, .tags.my_passwd, .tags.a]')" '["***","***","b"]'
  run -1 grep -q 'n0w\|h3re' other.db
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
  grep -q "is readable by all users" err || fail "$(cat err)"
  equal left "$(stat -c %a new/store.db)" 644
  # a group that shares one is a site's own choice
  chmod 660 new/store.db
  plimsoll tag --db new/store.db "$id" a:b 2>err
  [ ! -s err ] || fail "$(cat err)"
  # what people ask for by name has the mode that they set
  plimsoll report --db new/store.db -o report.html "$id"
  equal report "$(stat -c %a report.html)" 644
}
