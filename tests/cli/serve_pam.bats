#!/usr/bin/env bats
# plimsoll serve --auth pam: users of the host. PAM asks scripts of the test, by a directory of services of its own.

bats_require_minimum_version 1.5.0
load serve_users

# pam_service: the password of alice, susan and bob is "correct horse"; of "slow" nobody knows before the file released is there
pam_service() {
  mkdir -p pam
  cat >check <<S
#!/bin/sh
password=\$(tr -d '\\0')
[ "\$PAM_USER" != slow ] || { echo asked >>$WORK/asked; until [ -e $WORK/released ]; do sleep 0.05; done; exit 1; }
echo "\$PAM_SERVICE \$PAM_TYPE \$PAM_RHOST" >$WORK/told
[ "\$password" = "correct horse" ]
S
  cat >account <<S
#!/bin/sh
[ "\$PAM_USER" != expired ]
S
  chmod 755 check account
  cat >pam/plimsoll <<S
auth required pam_exec.so quiet expose_authtok $WORK/check
account required pam_exec.so quiet $WORK/account
S
}

serve_pam() {
  serve --auth pam --pam-directory "$WORK/pam" "$@"
}

@test "users of the host sign in with their password" {
  use_store
  own_jobs
  others_jobs
  plimsoll users add susan --no-password --role support
  plimsoll users add bob --no-password --role admin
  plimsoll users role bob --disable
  pam_service
  serve_pam --write
  client ask GET "${URL}"
  status_is 303
  equal place "$(header location)" /login
  sign_in alice 'correct+horse'
  status_is 303
  equal "what PAM was told" "$(cat told)" 'plimsoll auth 127.0.0.1'
  client ask GET "${URL}api/v1/session" "Cookie: $COOKIE"
  equal who "$(answer '.user + " " + .role')" 'alice user'
  client ask GET "${URL}api/v1/jobs" "Cookie: $COOKIE"
  equal jobs "$(answer '[.jobs[].jobid] | sort | join(" ")')" 'own11 own22'
  client ask GET "${URL}api/v1/jobs/other" "Cookie: $COOKIE"
  status_is 404
  sign_in susan 'correct+horse'
  client ask GET "${URL}api/v1/jobs" "Cookie: $COOKIE"
  equal "jobs of all" "$(answer '.jobs | length')" 5
  # wrong, unknown, expired, locked by us: one answer
  sign_in alice wrong-password
  status_is 401
  sed 's/value="[0-9a-f]*"//' answer >wrong
  local row
  for row in 'expired correct+horse' 'bob correct+horse' 'nobody wrong-password' 'alice ' 'a%2fb correct+horse' '%3ca%3e correct+horse' \
    "$(printf %065d 1) correct+horse" "alice $(printf %0512d 1)"; do
    sign_in "${row% *}" "${row##* }"
    status_is 401
    sed 's/value="[0-9a-f]*"//' answer | diff wrong -
  done
  serve_end
  equal log "$(ask "SELECT what, detail, count(*) AS n FROM access_event WHERE what LIKE 'login%' GROUP BY 1, 2 ORDER BY 1, 2" | paste -sd ' ')" \
    'login,,2 login refused,,7 login refused,account,1'
}

@test "a password that takes long to check holds up nobody" {
  use_store
  own_jobs
  pam_service
  serve_pam
  sign_in alice 'correct+horse'
  local cookie=$COOKIE i waiting=()
  for i in 1 2 3 4; do
    mkdir -p "try$i"
    (cd "try$i" && sign_in slow "wrong$i" && status_is 401) 3>&- &
    waiting+=($!)
  done
  until [ "$(wc -l <asked)" = 4 ]; do sleep 0.05; done 2>/dev/null
  for i in api/v1/jobs api/v1/jobs/own11/tree api/v1/jobs/own22/report api/v1/session healthz; do
    client ask GET "$URL$i" "Cookie: $cookie"
    status_is 200
  done
  [ ! -e try1/answer ] || ! grep -q wrong try1/answer
  touch released
  for i in "${waiting[@]}"; do wait "$i"; done
  serve_end
}

@test "tries at the same time are counted before their answers" {
  use_store
  own_jobs
  pam_service
  serve_pam
  local i waiting=()
  for i in 1 2 3 4 5 6 7 8; do
    mkdir -p "try$i"
    (cd "try$i" && sign_in slow "wrong$i") 3>&- &
    waiting+=($!)
  done
  until [ "$(cat try*/status 2>/dev/null | grep -c -x 429)" -ge 1 ]; do sleep 0.1; [ ! -e asked ] || [ "$(wc -l <asked)" -lt 4 ] || touch released; done
  touch released
  for i in "${waiting[@]}"; do wait "$i"; done
  equal "tries that PAM saw" "$(wc -l <asked)" 5
  serve_end
}

@test "PAM that does not work" {
  use_store
  own_jobs
  run -1 --separate-stderr plimsoll serve --listen 127.0.0.1:0 --auth pam --pam-directory "$WORK/nothing"
  # shellcheck disable=SC2154
  [[ $stderr == *"there is no PAM service 'plimsoll': make the file $WORK/nothing/plimsoll"* ]] || fail "$stderr"
  local row
  for row in '--auth pam --pam-service ../x|not a name of a PAM service' '--auth pam --listen unix:s|Unix socket has' \
    '--auth users --proxy-groups X|needs --auth proxy'; do
    # shellcheck disable=SC2086 # words
    run -2 --separate-stderr plimsoll serve --listen 127.0.0.1:0 ${row%%|*}
    [[ $stderr == *"${row#*|}"* ]] || fail "$row: $stderr"
  done
  pam_service
  printf 'auth required pam_no_such.so\naccount required pam_permit.so\n' >pam/broken
  printf 'auth required pam_permit.so\naccount required pam_deny.so\n' >pam/closed
  printf 'auth required pam_permit.so\naccount required pam_permit.so\n' >pam/open
  serve_pam --pam-service closed
  sign_in alice x
  status_is 401
  serve_end
  serve_pam --pam-service open
  sign_in alice x
  status_is 303
  # not without a password, whatever PAM thinks
  sign_in alice ''
  status_is 401
  kill -KILL "$(ps -o pid=,comm= --ppid "$SERVER" | awk '$2 == "plimsoll-pam" { print $1 }')"
  sign_in alice x
  status_is 503
  kill -TERM "$SERVER"
  wait "$SERVER"
  [[ $(cat serve.err) == *"PAM gives no answer"* ]] || fail "$(cat serve.err)"
  serve_pam --pam-service broken
  sign_in alice x
  [[ $(cat status) == 50? || $(cat status) == 401 ]] || fail "$(cat status)"
  kill -TERM "$SERVER"
  wait "$SERVER"
}

@test "who is counted for wrong passwords" {
  use_store
  own_jobs
  pam_service
  serve_pam
  local i
  for i in 1 2 3 4 5; do
    sign_in alice wrong "X-Forwarded-For: 10.0.0.$i"
    status_is 401
  done
  sign_in alice 'correct+horse' "X-Forwarded-For: 10.0.0.6"
  status_is 429
  serve_end
  # a proxy that adds a header of its own leaves that of the client: ours is the last
  serve_pam --behind-proxy
  for i in 1 2 3 4 5; do
    sign_in alice wrong "X-Forwarded-For: 10.0.0.$i, 10.1.1.1"
    status_is 401
  done
  sign_in alice 'correct+horse' "X-Forwarded-For: 10.0.0.9, 10.1.1.1"
  status_is 429
  sign_in alice 'correct+horse' "X-Forwarded-For: 10.0.0.9" "x-forwarded-for: 10.1.1.1"
  status_is 429
  sign_in alice 'correct+horse' "X-Forwarded-For: 10.1.1.1" "x-forwarded-for: 10.2.2.2"
  status_is 303
  # a network of IPv6 is one address
  for i in 1 2 3 4 5; do
    sign_in alice wrong "X-Forwarded-For: 2001:db8::$i"
    status_is 401
  done
  sign_in alice 'correct+horse' "X-Forwarded-For: 2001:db8::ffff:6"
  status_is 429
  sign_in alice 'correct+horse' "X-Forwarded-For: 2001:db9::1"
  status_is 303
  serve_end
}
