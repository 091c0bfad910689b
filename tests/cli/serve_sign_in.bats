#!/usr/bin/env bats
# Users who sign in with a browser: what the pages offer them (serve_sign_in_check.py).

# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash" || exit 1
load browser

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  export PLIMSOLL_PREFIX=$PWD/prefix XDG_RUNTIME_DIR=$PWD/run PLIMSOLL_DB=$PWD/jobs.db
  mkdir home
  mkdir -m 700 run
  local job
  for job in one two three more; do
    plimsoll run -q --submit -j $job -- sh -c ': | :' || return 1
  done
  plimsoll model -q create norm one two three || return 1
  echo 'correct horse' | plimsoll users add zebra-user || return 1
  echo 'correct horse' | plimsoll users add boss --role admin || return 1
  plimsoll serve --auth users --listen 127.0.0.1:0 >address & # for --link
  local server=$! i
  for ((i = 0; i < 100; i++)); do
    [ -s address ] && break
    sleep 0.1
  done
  plimsoll serve --link 2>said || :
  kill "$server"
  wait "$server" || :
  look serve_sign_in_check.py "$PWD/jobs.db"
}

@test "the page to sign in looks like the others, at every width, light and dark" {
  see place .place '"/login"'
  see button .button '"rgb(11, 92, 158)"'
  see contrast .contrast '[true,true,true]'
  see 'wider than the screen' .over '[false,false,false,false]'
  see wrong .wrong '"The name or the password is wrong."'
}

@test "who is signed in is said, and can sign out" {
  see user .user '"zebra-user"'
  see 'signed out' '.["signed out"]' '"/login"'
}

@test "pages and forms that a role may not use are not offered" {
  see user '.["pages of a user"]' '["Jobs","Compare","Experiments","Models","Alerts","SQL"]'
  see 'form of a user' '.["form of a user"]' false
  see administrator '.["pages of an administrator"]' '["Jobs","Compare","Experiments","Models","Alerts","Nodes","Inbox","SQL"]'
}

@test "a model shows the range of its jobs, and learns from more" {
  see holds .holds '"values from 3 to 3"'
  see 'made from' '.["made from"]' '"Made from 3 jobs"'
  see trained .trained '"Made from 4 jobs"'
}

@test "--link says where users sign in" {
  grep -q "gives no link: if it has users, sign in at $(cat "$BATS_FILE_TMPDIR/address")login" "$BATS_FILE_TMPDIR/said"
}
