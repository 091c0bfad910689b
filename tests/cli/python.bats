#!/usr/bin/env bats
# The Python module on a real job, and the cells of the notebook that uses it.

bats_require_minimum_version 1.5.0
load store

setup_file() {
  [ "${PL_ENGINE:-sqlite}" = sqlite ] || postgres_start
  # one job for all: threads, samples, a child that fails, and names that somebody may think funny
  PLIMSOLL_PREFIX=$BATS_FILE_TMPDIR/prefix
  export PLIMSOLL_PREFIX PYTHONPATH=$PL_BUILD/share/plimsoll/python MPLCONFIGDIR=$BATS_FILE_TMPDIR/mpl PYTHONDONTWRITEBYTECODE=1
  local odd="$BATS_FILE_TMPDIR/\$\\frac{<script>alert(1)"
  cp "$(command -v env)" "$odd"
  cat >"$BATS_FILE_TMPDIR/work" <<'W'
"$1" true $'=cmd|\xff\xfe' >/dev/null 2>&1
"$1" printf "%s" $'=cmd|\xff\xfe' >/dev/null
/usr/bin/python3 -S -c 'import threading
t = [threading.Thread(target=lambda: sum(range(300000))) for _ in range(3)]
[x.start() for x in t]; [x.join() for x in t]'
dd if=/dev/zero bs=64k count=2000 2>/dev/null | gzip -1 >/dev/null
sleep 0.5
false
W
  plimsoll run -q --no-submit -o "$BATS_FILE_TMPDIR/first" -- true
  PLIMSOLL_JOB_TAGS='exp:x$y' plimsoll run -q --no-submit --sample 100ms -o "$BATS_FILE_TMPDIR/second" -- \
    bash "$BATS_FILE_TMPDIR/work" "$odd" || true
  PLIMSOLL_DB=$BATS_FILE_TMPDIR/store.db
  [ "${PL_ENGINE:-sqlite}" = sqlite ] || PLIMSOLL_DB=$PGURL
  export PLIMSOLL_DB
  plimsoll submit "$BATS_FILE_TMPDIR/first"
  plimsoll submit "$BATS_FILE_TMPDIR/second"
}

check() {
  /usr/bin/python3 -W error::RuntimeWarning "$PL_SOURCE/tests/cli/python_check.py" "$@"
}

@test "every value of the module is what the program prints; plots have them; what is wrong is one sentence" {
  check values jobs processes filters threads series samples tables hostile plots load errors >values
  grep -Eq '^processes: [0-9]{3}' values # at least a hundred values
}

@test "a server in place of the store gives the same" {
  export XDG_RUNTIME_DIR=$WORK/run
  mkdir -m 700 "$XDG_RUNTIME_DIR"
  plimsoll serve --listen 127.0.0.1:0 >served 2>serve.err 3>&- &
  local server=$!
  until [ -s served ]; do
    kill -0 $server || fail "the server ended: $(cat serve.err)" || return 1
    sleep 0.05
  done
  SERVER=$(sed 's/?.*//' served) check values server >values || fail "$(cat serve.err)"
  at_least values "$(sed -n 's/^server: //p' values)" 300
  # without a server of one's own
  kill $server
  wait $server
  run -1 --separate-stderr /usr/bin/python3 -c 'import plimsoll; plimsoll.Client()'
  # shellcheck disable=SC2154
  [[ $stderr == *"no server of yours runs on this host; start"* ]] || fail "$stderr"
}

@test "the notebook runs, cell after cell: records and curves, curves only, records only" {
  local stores=("$PLIMSOLL_DB")
  plimsoll notebook --print >n.ipynb
  if [ "${PL_ENGINE:-sqlite}" = sqlite ]; then
    plimsoll monitor -q --no-submit -i 100ms --dir curves -- sleep 0.3
    plimsoll submit --db s.db curves
    plimsoll submit --db r.db "$BATS_FILE_TMPDIR/first"
    stores+=(s.db r.db)
  fi
  check cells n.ipynb "${stores[@]}" >shown
  cat shown
  for text in "plot-programs: programs by CPU time" "plot-concurrency: running at the same time" \
    "plot-curves: process.rss of the job" "failed: (1, 8)"; do
    grep -qF "$text" shown || fail "not shown: $text"
  done
  [ "${PL_ENGINE:-sqlite}" = sqlite ] || return 0
  equal sampled "$(grep -c 'no records: the job was sampled only' shown)" 1
  equal recorded "$(grep -c 'no samples: ' shown)" 1
  equal concurrency "$(grep -c '^plot-concurrency' shown)" 2
}

@test "a store of the configuration file with a password in its address is read, and shown without it" {
  [ "${PL_ENGINE:-sqlite}" != sqlite ] || skip "a store in a file has no password"
  mkdir -p conf/plimsoll
  echo "db = $PGURL&password=hunter2" >conf/plimsoll/plimsoll.conf
  unset PLIMSOLL_DB
  export XDG_CONFIG_HOME=$WORK/conf
  /usr/bin/python3 -c 'import plimsoll
store = plimsoll.Store()
print(len(plimsoll.jobs(store=store)), store)' >shown
  equal jobs "$(cut -d " " -f 1 shown)" 2
  ! grep hunter2 shown || fail "a password is shown"
}
