#!/usr/bin/env bats
# plimsoll serve for several users: who comes in, and that nobody finds out anything about the jobs of others.

bats_require_minimum_version 1.5.0
load serve_users

viewers() {
  python3 "$PL_SOURCE/tests/cli/serve_viewers.py" "$@"
}

SECRET=0123456789abcdef0123456789abcdef

serve_proxied() {
  echo "$SECRET" >secret
  chmod 600 secret
  serve --auth proxy --proxy-header X-User --proxy-secret secret "$@"
}

# as USER METHOD PATH [NAME:VALUE...]
as() {
  local user=$1 method=$2 path=$3
  shift 3
  client ask "$method" "$URL$path" "X-User: $user" "X-Plimsoll-Proxy-Secret: $SECRET" "$@"
}

# bats test_tags=engine
@test "no route tells a user anything of another's jobs" {
  use_store
  own_jobs
  serve_proxied --write
  viewers walk "$URL" $SECRET alice own11 other otter before.json >said || fail "$(cat said)"
  at_least answers "$(sed -n 's/ answers//p' said)" 150
  others_jobs
  sleep 1.1 # answers of a PostgreSQL store are kept for a second
  viewers walk "$URL" $SECRET alice own11 other otter after.json >said || fail "$(head -c 3000 said)"
  diff before.json after.json >differs || fail "$(head -c 3000 differs)"
  viewers writes "$URL" $SECRET alice other otter >said || fail "$(cat said)"
  at_least changes "$(sed -n 's/ changes refused//p' said)" 8
  # what the others see, and that nothing was changed
  as zebra-user GET 'api/v1/jobs/other'
  status_is 200
  equal tags "$(answer '.tags["zebra-key"]')" zebra-value
  as zebra-user GET 'api/v1/jobs/own11'
  status_is 404
  as zebra-user GET 'api/v1/jobs'
  equal jobs "$(answer '[.jobs[].jobid] | sort | join(" ")')" 'other own33zebra zother'
  equal "models that are left" "$(plimsoll model list --json | jq length)" 1
  serve_end
}

# bats test_tags=engine
@test "no statement of the console tells a user anything of another's jobs" {
  use_store
  own_jobs
  others_jobs
  ordinary_user
  serve_proxied
  viewers statements "$URL" $SECRET alice >said || fail "$(head -c 4000 said)"
  at_least statements "$(sed -n 's/ statements//p' said)" 120
  # those who see all jobs do not see who may come in
  plimsoll users add susan --no-password --role support
  sleep 3
  echo '{"sql":"SELECT count(*) AS n FROM jobs"}' >body
  csrf=$(as susan GET api/v1/session && answer .csrf)
  as susan POST api/v1/sql "X-Plimsoll-CSRF: $csrf" "Content-Type: application/json" @body
  status_is 200
  equal jobs "$(answer '.rows[0][0]')" 5
  echo '{"sql":"SELECT * FROM access_user"}' >body
  as susan POST api/v1/sql "X-Plimsoll-CSRF: $csrf" "Content-Type: application/json" @body
  status_is 400
  serve_end
}

# bats test_tags=engine
@test "roles: own jobs, those of a project, all" {
  use_store
  own_jobs
  others_jobs
  plimsoll users add carol --no-password --role project --projects climate
  plimsoll users add susan --no-password --role support
  plimsoll users add root2 --no-password --role admin
  plimsoll tag other account:climate
  serve_proxied --write
  local row
  for row in alice:own11,own22 zebra-user:other,own33zebra,zother carol:other susan:other,own11,own22,own33zebra,zother \
    root2:other,own11,own22,own33zebra,zother nobody:; do
    as "${row%%:*}" GET api/v1/jobs
    status_is 200
    equal "jobs of ${row%%:*}" "$(answer '[.jobs[].jobid] | sort | join(",")')" "${row#*:}"
  done
  # a project's jobs are changed by their owner
  echo '{"tags":{"k":"v"}}' >body
  put() {
    csrf=$(as "$1" GET api/v1/session && answer .csrf)
    as "$1" PUT "api/v1/jobs/$2/tags" "X-Plimsoll-CSRF: $csrf" "Content-Type: application/json" @body
  }
  put carol other
  status_is 403
  put carol own11
  status_is 404
  put zebra-user own33zebra
  status_is 200
  put susan own11
  status_is 200
  # the value of another user is not mine
  as zebra-user PUT api/v1/jobs/own33zebra/tags "X-Plimsoll-CSRF: $csrf" "Content-Type: application/json" @body
  status_is 403
  as susan GET metrics
  status_is 200
  as alice GET metrics
  status_is 403
  as susan POST api/v1/models/zebra-model/disable "X-Plimsoll-CSRF: $csrf"
  status_is 403
  csrf=$(as root2 GET api/v1/session && answer .csrf)
  as root2 POST api/v1/models/zebra-model/disable "X-Plimsoll-CSRF: $csrf"
  status_is 200
  # a change of rights is heeded
  plimsoll users role carol --disable
  plimsoll users role susan user
  sleep 3
  as carol GET api/v1/jobs
  status_is 401
  as susan GET api/v1/jobs
  equal jobs "$(answer '.jobs | length')" 0
  serve_end
}

@test "the proxy proves that it is the proxy" {
  use_store
  own_jobs
  serve_proxied
  as alice GET api/v1/session
  status_is 200
  equal user "$(answer .user)" alice
  equal role "$(answer .role)" user
  client ask GET "${URL}api/v1/session" "X-User: alice"
  status_is 401
  client ask GET "${URL}api/v1/session" "X-User: alice" "X-Plimsoll-Proxy-Secret: ${SECRET%?}"
  status_is 401
  client ask GET "${URL}api/v1/session" "X-Plimsoll-Proxy-Secret: $SECRET"
  status_is 401
  local name
  for name in "o'brien" "a b" "-x" "$(printf %065d 1)" "a:b"; do
    as "$name" GET api/v1/session
    status_is 401
  done
  # of two headers, one may be the client's
  as alice GET api/v1/session "x-user: zebra-user"
  status_is 401
  as alice GET api/v1/session "X-PLIMSOLL-PROXY-SECRET: $SECRET"
  status_is 401
  # a header that names groups counts only if the server was told so
  as alice GET api/v1/session "X-Groups: climate"
  equal role "$(answer .role)" user
  serve_end
  chmod 644 secret
  run -1 --separate-stderr plimsoll serve --listen 127.0.0.1:0 --auth proxy --proxy-header X-User --proxy-secret secret
  # shellcheck disable=SC2154
  [[ $stderr == *"run chmod 600 on it"* ]] || fail "$stderr"
  run -2 --separate-stderr plimsoll serve --listen 127.0.0.1:0 --auth proxy
  [[ $stderr == *"needs --proxy-header NAME"* ]] || fail "$stderr"
}

@test "users sign in with a password, and out" {
  use_store
  own_jobs
  others_jobs
  echo 'correct horse' | plimsoll users add alice
  echo 'battery staple' | plimsoll users add zebra-user
  run -1 --separate-stderr plimsoll users add alice </dev/null
  [[ $stderr == *"there is a user 'alice' already"* ]] || fail "$stderr"
  run -1 --separate-stderr plimsoll users passwd alice <<<short
  [[ $stderr == *"at least 8 bytes"* ]] || fail "$stderr"
  serve --auth users --write
  client ask GET "${URL}"
  status_is 303
  equal place "$(header location)" /login
  client ask GET "${URL}api/v1/jobs"
  status_is 401
  sign_in alice 'correct+horse'
  status_is 303
  [[ $(header set-cookie) == *"; HttpOnly; SameSite=Strict" ]] || fail "$(header set-cookie)"
  local cookie=$COOKIE csrf
  client ask GET "${URL}api/v1/jobs" "Cookie: $cookie"
  equal jobs "$(answer '[.jobs[].jobid] | sort | join(" ")')" 'own11 own22'
  client ask GET "${URL}api/v1/jobs/other" "Cookie: $cookie"
  status_is 404
  # wrong, and unknown: the same answer but for the random value
  sign_in alice wrong-password
  status_is 401
  sed 's/value="[0-9a-f]*"//' answer >wrong
  sign_in nobody wrong-password
  status_is 401
  sed 's/value="[0-9a-f]*"//' answer | diff wrong -
  # not from another site
  printf 'name=alice&password=correct+horse' >body
  client ask POST "${URL}login" "Content-Type: application/x-www-form-urlencoded" @body
  status_is 403
  # out
  client ask GET "${URL}api/v1/session" "Cookie: $cookie"
  csrf=$(answer .csrf)
  client ask POST "${URL}api/v1/logout" "Cookie: $cookie"
  status_is 403
  client ask POST "${URL}api/v1/logout" "Cookie: $cookie" "X-Plimsoll-CSRF: $csrf"
  status_is 200
  client ask GET "${URL}api/v1/session" "Cookie: $cookie"
  status_is 401
  # removed while signed in
  sign_in alice 'correct+horse'
  plimsoll users remove alice
  sleep 3
  client ask GET "${URL}api/v1/session" "Cookie: $COOKIE"
  status_is 401
  serve_end
  equal log "$(ask "SELECT what, count(*) AS n FROM access_event WHERE what LIKE 'log%' GROUP BY what ORDER BY what" | paste -sd ' ')" \
    'login,2 login refused,2 logout,1'
  run -1 plimsoll sql 'SELECT * FROM access_user'
}

@test "wrong passwords are counted" {
  use_store
  own_jobs
  echo 'correct horse' | plimsoll users add alice
  serve --auth users
  for _ in 1 2 3 4 5; do
    sign_in alice wrong-password
    status_is 401
  done
  sign_in alice 'correct+horse'
  status_is 429
  [ -n "$(header retry-after)" ]
  sign_in bob wrong-password
  status_is 401
  serve_end
}

@test "other hosts: only with passwords and encryption" {
  use_store
  own_jobs
  local row
  for row in '0.0.0.0:0|--auth users' '0.0.0.0:0 --auth users|or --behind-proxy' '[::]:0 --auth users|or --behind-proxy' \
    "0.0.0.0:0 --auth proxy --proxy-header X --proxy-secret secret|only the proxy may reach" \
    'example.org:80|invalid address' '127.0.0.1:0 --tls-cert x|go together' '127.0.0.1:0 --auth peer|needs --listen unix:PATH'; do
    echo "$SECRET" >secret
    chmod 600 secret
    # shellcheck disable=SC2086 # words
    run -2 --separate-stderr plimsoll serve --listen ${row%%|*}
    [[ $stderr == *"${row#*|}"* ]] || fail "$row: $stderr"
  done
  openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null
  chmod 600 key.pem
  echo 'correct horse' | plimsoll users add alice
  export XDG_RUNTIME_DIR=$WORK/run
  mkdir -p "$XDG_RUNTIME_DIR"
  plimsoll serve --listen 0.0.0.0:0 --auth users --tls-cert cert.pem --tls-key key.pem --server-name localhost >address 2>serve.err 3>&- &
  SERVER=$!
  until [ -s address ]; do
    kill -0 $SERVER || fail "the server ended: $(cat serve.err)" || return 1
    sleep 0.05
  done
  [[ $(cat address) == https://localhost:* ]] || fail "$(cat address)"
  python3 - "$(cat address)" <<'P'
import ssl, sys, urllib.request
context = ssl.create_default_context(cafile="cert.pem")
context.check_hostname = False
r = urllib.request.urlopen(sys.argv[1] + "login", context=context)
assert r.status == 200 and "; Secure" in r.headers["Set-Cookie"], r.headers
old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
try:
    urllib.request.urlopen(sys.argv[1] + "login", context=old)
    sys.exit("TLS 1.1 is spoken")
except OSError:
    pass
P
  serve_end
  serve --listen 127.0.0.1:0 --auth users --behind-proxy --server-name jobs.example.org
  client ask GET "${URL/jobs.example.org/127.0.0.1}login" "Host: jobs.example.org"
  status_is 200
  [[ $(header set-cookie) == *"; Secure" ]]
  client ask GET "${URL/jobs.example.org/127.0.0.1}login" "Host: evil.example.org"
  status_is 421
  serve_end
}

# bats test_tags=engine
@test "groups of the proxy are projects" {
  use_store
  own_jobs
  others_jobs
  plimsoll tag other account:climate
  plimsoll tag zother project:ocean
  plimsoll users add carol --no-password --role project --projects ocean
  plimsoll users add susan --no-password --role support
  serve_proxied --proxy-groups X-Groups
  local row long
  long=$(printf '%01000d,climate' 1)
  for row in "bob|climate|project|other" "bob| climate , ocean ,climate,|project|other,zother" "bob||user|" "bob|/climate,cli mate,climate'--|user|" \
    "carol|climate|project|other,zother" "carol|nothing|project|zother" "susan|x|support|other,own11,own22,own33zebra,zother" \
    "bob|zebra-user|project|" "bob|$long|project|other" "bob|$(printf 'g%s,' {1..400})climate|project|"; do
    IFS='|' read -r user groups role jobs <<<"$row"
    as "$user" GET api/v1/session "X-Groups: $groups"
    equal "role of $user, $groups" "$(answer .role)" "$role"
    as "$user" GET api/v1/jobs "X-Groups: $groups"
    equal "jobs of $user, $groups" "$(answer '[.jobs[].jobid] | sort | join(",")')" "$jobs"
  done
  as bob GET api/v1/jobs "X-Groups: climate" "x-groups: ocean"
  equal "jobs of two headers" "$(answer '.jobs | length')" 0
  serve_end
}

# bats test_tags=engine
@test "a link shows one job, for a while" {
  use_store
  own_jobs
  others_jobs
  serve_proxied
  local csrf cookie
  as alice GET api/v1/session
  csrf=$(answer .csrf)
  echo '{"hours":1}' >body
  share() {
    as "$1" POST "api/v1/jobs/$2/share" "X-Plimsoll-CSRF: $csrf" "Content-Type: application/json" @body
  }
  share alice other
  status_is 404
  share alice own11
  status_is 200
  local link
  link=$(answer .link)
  [[ $link == "${URL}job/own11?share="* ]] || fail "$link"
  client ask GET "$link"
  status_is 303
  equal place "$(header location)" /job/own11
  [[ $(header set-cookie) == *"; Max-Age=3600; HttpOnly; SameSite=Lax" ]] || [[ $(header set-cookie) == *"; Max-Age=3599; "* ]]
  cookie=$(header set-cookie | cut -d';' -f1)
  local route
  for route in job/own11 api/v1/session api/v1/jobs/own11 api/v1/jobs/own11/tree api/v1/jobs/own11/page api/v1/jobs/last; do
    client ask GET "$URL$route" "Cookie: $cookie"
    status_is 200
  done
  for route in api/v1/jobs/own22 api/v1/jobs/other api/v1/jobs/own22/tree api/v1/jobs/other/export; do
    client ask GET "$URL$route" "Cookie: $cookie"
    status_is 404
  done
  for route in '' api/v1/jobs api/v1/tiles api/v1/usage api/v1/models metrics api/v1/schema; do
    client ask GET "$URL$route" "Cookie: $cookie"
    status_is 403
    [ -n "$route" ] || grep -q '<h1>This page is not open to you</h1>' answer
  done
  client ask PUT "${URL}api/v1/jobs/own11/tags" "Cookie: $cookie" "Content-Type: application/json" @body
  status_is 403
  client ask POST "${URL}api/v1/jobs/own11/share" "Cookie: $cookie" "Content-Type: application/json" @body
  status_is 403
  client ask GET "${link%?}"
  status_is 401
  local bad
  for bad in '{"hours":0}' '{"hours":721}' '{"hours":"1"}' '{"hours":-1}'; do
    echo "$bad" >body
    share alice own11
    status_is 400
  done
  serve_end
}

@test "the page of a job has an address" {
  use_store
  own_jobs
  run -1 --separate-stderr plimsoll show --url own11
  serve
  equal address "$(plimsoll show --url own11)" "${URL%%\?*}job/own11"
  serve_end
}

@test "users of this host, over a Unix socket" {
  use_store
  own_jobs
  export XDG_RUNTIME_DIR=$WORK/run
  mkdir -p "$XDG_RUNTIME_DIR"
  plimsoll serve --listen unix:sock --auth peer >address 2>serve.err 3>&- &
  SERVER=$!
  until [ -s address ]; do
    kill -0 $SERVER || fail "the server ended: $(cat serve.err)" || return 1
    sleep 0.05
  done
  equal mode "$(stat -c %a sock)" 666
  client unix sock /api/v1/session
  status_is 200
  equal role "$(answer .role)" admin
  client unix sock /api/v1/jobs
  equal jobs "$(answer '.jobs | length')" 2
  serve_end
}

@test "requests that a proxy may divide in another way are refused" {
  use_store
  own_jobs
  serve_proxied --write
  python3 - "$URL" $SECRET >said <<'P' || fail "$(cat said)"
import socket, sys, urllib.parse
u = urllib.parse.urlsplit(sys.argv[1])
HEAD = b"Host: 127.0.0.1:%d\r\nX-User: alice\r\nX-Plimsoll-Proxy-Secret: %s\r\nContent-Type: application/json\r\n" % (u.port, sys.argv[2].encode())
NEXT = b"GET /next HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % u.port
def answers(data):
    s = socket.create_connection((u.hostname, u.port), timeout=60)
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    out = b""
    while True:
        part = s.recv(65536)
        if not part:
            break
        out += part
    return [int(p[:3]) for p in out.split(b"HTTP/1.1 ")[1:]]
def post(more, body):
    return answers(b"POST /api/v1/sql HTTP/1.1\r\n" + HEAD + more + b"\r\n" + body + NEXT)
END = b"0\r\n\r\n"
cases = {
    "both lengths": post(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", END),
    "the other way round": post(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", END),
    "two lengths": post(b"Content-Length: 0\r\nContent-Length: %d\r\n" % len(NEXT), b""),
    "two encodings": post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", END),
    "another encoding": post(b"Transfer-Encoding: xchunked\r\n", END),
    "several encodings": post(b"Transfer-Encoding: gzip, chunked\r\n", END),
    "a blank behind a name": post(b"Content-Length : %d\r\n" % len(NEXT), b""),
    "a tab behind a name": post(b"Transfer-Encoding\t: chunked\r\n", END),
}
bad = {k: v for k, v in cases.items() if v not in ([400], [])}
print(bad)
sys.exit(bool(bad))
P
  # as they should be
  csrf=$(as alice GET api/v1/session && answer .csrf)
  echo '{"sql":"SELECT count(*) AS n FROM jobs"}' >body
  as alice POST api/v1/sql "X-Plimsoll-CSRF: $csrf" "Content-Type: application/json" @body
  status_is 200
  serve_end
}

@test "a link to a job does not lead to other hosts, nor strangers to much memory" {
  use_store
  own_jobs
  serve_proxied --base-path /p
  local csrf token place
  csrf=$(as alice GET api/v1/session && answer .csrf)
  echo '{}' >body
  as alice POST api/v1/jobs/own11/share "X-Plimsoll-CSRF: $csrf" "Content-Type: application/json" @body
  token=$(answer .link)
  token=${token##*=}
  for place in "/p/\\evil.example" /p/%5cevil.example /p//evil.example /p/.%5cevil; do
    client ask GET "${URL%/p/}$place?share=$token"
    [[ $(cat status) == 400 || $(header location) == /p/[.%]* ]] || fail "$place leads to $(header location)"
    [[ $(header location) != *\\* ]]
  done
  client ask GET "${URL}job/own11?share=$token"
  equal place "$(header location)" /p/job/own11
  serve_end
  echo 'correct horse' | plimsoll users add alice
  serve --auth users
  head -c 9000 /dev/zero | tr '\0' x >body
  client ask POST "${URL}login" "Content-Type: application/x-www-form-urlencoded" @body
  status_is 413
  # a user's sessions make room for each other, not for those of others
  sign_in alice 'correct+horse'
  local first=$COOKIE i
  for i in {1..16}; do sign_in alice 'correct+horse'; done
  client ask GET "${URL}api/v1/session" "Cookie: $first"
  status_is 401
  client ask GET "${URL}api/v1/session" "Cookie: $COOKIE"
  status_is 200
  serve_end
}
