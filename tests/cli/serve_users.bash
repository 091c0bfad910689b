# What the tests of servers of several users share: jobs of two users, and signing in.
# shellcheck source=tests/cli/serve.bash
. "${PL_SOURCE:?}/tests/cli/serve.bash" || exit 1

answer() {
  jq -r "$1" answer
}

# spec NAME USER WORD: a job all of whose texts have the word
spec() {
  cat <<J
{"name": "$1", "user": "$2", "start": 0, "end": 60, "exitcode": 0, "tags": {"exp_name": "own", "$3-key": "$3-value"}, "annotations": {"$3-note": "$3-text"},
 "procs": [{"pid": 10, "ppid": 1, "exename": "$3-exe", "args": "$3-arg", "start": 0, "end": 50, "hostname": "$3-host", "tags": "op:$3-op", "metrics": {"usertime": 5000000, "systemtime": 1000000}},
  {"pid": 11, "ppid": 10, "exename": "$3-child", "args": "$3-more", "start": 1, "end": 40, "hostname": "$3-host", "tags": "op:$3-op2", "metrics": {"usertime": 3000000}}]}
J
}

own_jobs() {
  spec own-name alice plain | native_job jobs/own11 --id own11 --spec
  spec own-name alice plain | native_job jobs/own22 --id own22 --spec
  plimsoll submit -q jobs/own11 jobs/own22
}

others_jobs() {
  spec zebra-name zebra-user zebra | native_job jobs/other --id other --spec
  spec zebra-name zebra-user zebra | native_job jobs/ownzebra --id own33zebra --spec
  spec zebra-name zebra-user zebra | native_job jobs/zother --id zother --spec
  plimsoll submit -q jobs/other jobs/ownzebra jobs/zother
  plimsoll model create zebra-model other own33zebra zother >/dev/null
  plimsoll analyze -q other >/dev/null || true
}

# sign_in NAME PASSWORD [NAME:VALUE...]: $COOKIE of the session
sign_in() {
  local name=$1 password=$2
  shift 2
  client ask GET "${URL}login"
  local form cookie
  cookie=$(header set-cookie | cut -d';' -f1)
  form=$(sed -n 's/.*name="form" value="\([0-9a-f]*\)".*/\1/p' answer)
  printf 'form=%s&name=%s&password=%s' "$form" "$name" "$password" >body
  client ask POST "${URL}login" "Cookie: $cookie" "Content-Type: application/x-www-form-urlencoded" @body "$@"
  # shellcheck disable=SC2034 # of tests
  COOKIE=$(header set-cookie | cut -d';' -f1)
}
