# What the tests of `plimsoll serve` share: a server in the background, and a client that keeps the answer in files.
# shellcheck source=tests/cli/store.bash
. "${PL_SOURCE:?}/tests/cli/store.bash" || exit 1

# client ...: its answer in the files status, headers and answer (serve_client.py)
client() {
  python3 "$PL_SOURCE/tests/cli/serve_client.py" "$@"
}

# serve [OPTION...]: the server in the background; $URL, $SERVER, and of one user $LINK and $TOKEN of scripts
serve() {
  local token=$WORK/run/plimsoll/serve.token
  export XDG_RUNTIME_DIR=$WORK/run
  mkdir -p "$XDG_RUNTIME_DIR"
  chmod 700 "$XDG_RUNTIME_DIR"
  rm -f printed
  plimsoll serve --listen 127.0.0.1:0 "$@" >printed 2>serve.err 3>&- &
  SERVER=$!
  until [ -s printed ]; do
    kill -0 $SERVER || fail "the server ended: $(cat serve.err)" || return 1
    sleep 0.05
  done
  LINK=$(cat printed)
  URL=${LINK%%\?*}
  TOKEN=
  [ ! -e "$token" ] || TOKEN=$(head -1 "$token")
}

# serve_end: it ends by SIGTERM, with status 0 and without a word
serve_end() {
  status=0
  kill -TERM "$SERVER"
  wait "$SERVER" || status=$?
  equal "status of the server" "$status" 0
  equal "what it said" "$(cat serve.err)" ""
}

header() {
  sed -n "s/^$1: //p" headers
}

# status_is WANT
status_is() {
  [ "$(cat status)" = "$1" ] || fail "status $(cat status), want $1: $(head -c 600 answer)"
}
