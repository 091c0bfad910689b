#!/usr/bin/env bats
# The server behind a real nginx, with the configuration of docs/access.md; a small server is in place of oauth2-proxy.

bats_require_minimum_version 1.5.0
load serve_users

# nginx ends its workers, which a KILL would leave
teardown() {
  [ ! -s nginx.pid ] || kill -TERM "$(cat nginx.pid)" 2>/dev/null || true
  until [ ! -e nginx.pid ]; do sleep 0.05; done
  clear_work
}

free_ports() {
  python3 -c 'import socket, sys
s = [socket.socket() for _ in range(int(sys.argv[1]))]
for x in s: x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))' "$1"
}

# signed_in PORT: says who it is by the cookie "who", as oauth2-proxy does
signed_in() {
  cat >oauth.py <<'P'
import http.cookies, http.server, sys
GROUPS = {"alice": "climate,hpc/all, ocean", "bob": ""}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        who = http.cookies.SimpleCookie(self.headers.get("Cookie", "")).get("who")
        page = b"sign in with your provider\n"
        if self.path.startswith("/oauth2/sign_in"):
            self.send_response(403)
        elif self.path == "/oauth2/auth" and who:
            self.send_response(202)
            self.send_header("X-Auth-Request-User", "7d0c7f4e")
            if who.value != "nameless":
                self.send_header("X-Auth-Request-Preferred-Username", who.value)
            self.send_header("X-Auth-Request-Groups", GROUPS.get(who.value, ""))
            page = b""
        else:
            self.send_response(401)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
P
  python3 oauth.py "$1" 3>&- &
  until curl -s "http://127.0.0.1:$1/oauth2/sign_in" >/dev/null; do sleep 0.05; done
}

# proxy PORT OAUTH SERVER: nginx as docs/access.md has it, with our ports and files
proxy() {
  openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=jobs.example.org 2>/dev/null
  echo 'proxy_set_header X-Plimsoll-Proxy-Secret "0123456789abcdef0123456789abcdef";' >secret.conf
  sed -n '/^    server {$/,/^    }$/p' "$PL_SOURCE/docs/access.md" >site.conf
  at_least "lines of the example" "$(wc -l <site.conf)" 20
  sed -i "s|443 ssl|127.0.0.1:$1 ssl|; s|/etc/nginx/jobs.pem|$WORK/cert.pem|; s|/etc/nginx/jobs.key|$WORK/key.pem|
    s|127.0.0.1:4180|127.0.0.1:$2|; s|127.0.0.1:8420|127.0.0.1:$3|; s|/etc/nginx/plimsoll_secret.conf|$WORK/secret.conf|" site.conf
  cat >nginx.conf <<N
daemon off;
pid $WORK/nginx.pid;
error_log $WORK/nginx.log;
events {}
http {
    access_log off;
    client_body_temp_path $WORK/t1; proxy_temp_path $WORK/t2; fastcgi_temp_path $WORK/t3; uwsgi_temp_path $WORK/t4; scgi_temp_path $WORK/t5;
    include $WORK/site.conf;
}
N
  nginx -p "$WORK" -c "$WORK/nginx.conf" 2>nginx.err 3>&- &
  local nginx=$!
  until curl -sk "https://127.0.0.1:$1/oauth2/sign_in" >/dev/null; do
    kill -0 "$nginx" || fail "nginx ended: $(cat nginx.err nginx.log)" || return 1
    sleep 0.05
  done
}

# browse PATH [OPTION...] of curl
browse() {
  local path=$1
  shift
  curl -sk --resolve "jobs.example.org:$PORT:127.0.0.1" -o answer -D headers.raw -w '%{http_code}\n' -H 'Host: jobs.example.org' "$@" \
    "https://jobs.example.org:$PORT$path" >status
  tr -d '\r' <headers.raw | sed 's/^\([A-Za-z-]*\):/\L\1:/' >headers
}

@test "OpenID Connect by oauth2-proxy and nginx" {
  command -v nginx >/dev/null || skip "nginx is not installed"
  use_store
  own_jobs
  others_jobs
  plimsoll tag other account:climate
  local oauth
  echo 0123456789abcdef0123456789abcdef >secret
  chmod 600 secret
  serve --auth proxy --proxy-secret secret --proxy-header X-Remote-User --proxy-groups X-Remote-Groups --behind-proxy \
    --server-name jobs.example.org --write
  read -r PORT oauth <<<"$(free_ports 2)"
  signed_in "$oauth"
  local ours=${URL#http://*:}
  proxy "$PORT" "$oauth" "${ours%%/*}"
  browse /api/v1/jobs
  status_is 403
  equal page "$(cat answer)" "sign in with your provider"
  # what a browser says of itself does not count
  browse /api/v1/jobs -H 'X-Remote-User: zebra-user' -H 'X-Plimsoll-Proxy-Secret: 0123456789abcdef0123456789abcdef'
  status_is 403
  browse /api/v1/session -H 'Cookie: who=bob' -H 'X-Remote-User: zebra-user' -H 'X-Remote-Groups: climate' -H 'x-remote-user: alice'
  status_is 200
  equal who "$(answer '.user + " " + .role')" 'bob user'
  browse /api/v1/jobs -H 'Cookie: who=bob' -H 'X-Remote-Groups: climate'
  equal "jobs of bob" "$(answer '[.jobs[].jobid] | join(" ")')" ''
  browse /api/v1/jobs -H 'Cookie: who=nameless' -H 'X-Remote-User: alice'
  status_is 401
  # groups are projects
  browse /api/v1/session -H 'Cookie: who=alice'
  equal who "$(answer '.user + " " + .role')" 'alice project'
  browse /api/v1/jobs -H 'Cookie: who=alice'
  equal "jobs of alice" "$(answer '[.jobs[].jobid] | sort | join(" ")')" 'other own11 own22'
  # pages, changes, links
  browse / -H 'Cookie: who=alice'
  status_is 200
  local csrf
  browse /api/v1/session -H 'Cookie: who=alice'
  csrf=$(answer .csrf)
  browse /api/v1/jobs/own11/tags -X PUT -H 'Cookie: who=alice' -H 'Content-Type: application/json' -d '{"tags":{"a":"b"}}'
  status_is 403
  browse /api/v1/jobs/own11/tags -X PUT -H 'Cookie: who=alice' -H 'Content-Type: application/json' -H "X-Plimsoll-CSRF: $csrf" \
    -H "Origin: https://evil.example" -d '{"tags":{"a":"b"}}'
  status_is 403
  browse /api/v1/jobs/own11/tags -X PUT -H 'Cookie: who=alice' -H 'Content-Type: application/json' -H "X-Plimsoll-CSRF: $csrf" \
    -H "X-Forwarded-For: 1.2.3.4" -d '{"tags":{"a":"b"}}'
  status_is 200
  browse /api/v1/jobs/own11/share -X POST -H 'Cookie: who=alice' -H 'Content-Type: application/json' -H "X-Plimsoll-CSRF: $csrf" -d '{}'
  status_is 200
  [[ $(answer .link) == "https://jobs.example.org/job/own11?share="* ]] || fail "$(cat answer)"
  kill -TERM "$SERVER"
  wait "$SERVER"
  equal log "$(ask "SELECT name, address FROM access_event WHERE what = 'PUT'")" 'alice,127.0.0.1'
}
