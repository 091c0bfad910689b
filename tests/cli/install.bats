#!/usr/bin/env bats
# What `make install` leaves works from where it is, without the tree that it was built from.

load lib

# bats test_tags=colmet,epmt,perfmon
@test "an installed program finds its library and modules, and has its manual" {
  cmake --install "$PL_BUILD" --prefix "$WORK/usr" >/dev/null
  for file in bin/plimsoll bin/epmt bin/perfmon bin/colmet-collector bin/papi_avail bin/check_events lib/libplimsoll.so lib/libpapiex.so lib/plimsoll/archive.so share/man/man1/plimsoll.1 \
    share/man/man1/plimsoll-run.1 share/man/man5/plimsoll-record.5 share/man/man5/plimsoll-mark.5 share/man/man7/plimsoll-metrics.7 \
    include/plimsoll/record.h include/plimsoll/mark.h share/plimsoll/python/plimsoll.py share/plimsoll/python/plimsoll_mark.py \
    share/plimsoll/fortran/plimsoll_mark.f90 share/plimsoll/fortran/plimsoll_mark.c; do
    [ -e "usr/$file" ] || fail "$file is not installed"
  done
  # a tool of PAPI's own stays
  rm usr/bin/papi_avail
  echo own >usr/bin/papi_avail
  cmake --install "$PL_BUILD" --prefix "$WORK/usr" >/dev/null
  equal "PAPI's own tool" "$(cat usr/bin/papi_avail)" own
  PATH=$WORK/usr/bin:/usr/bin:/bin
  hash -r
  plimsoll run --json=summary.json -q -o job -- sh -c '/bin/true; /bin/false; true'
  equal processes "$(jq .processes summary.json)" 3
  equal missing "$(jq .missing summary.json)" 0
  check_events PERF_COUNT_SW_CPU_CLOCK
  mkdir archive
  plimsoll stage --dest "$WORK/archive/" job
  equal rows "$(plimsoll records --jsonl archive/*.tgz | wc -l)" 3
}

# bats test_tags=epmt
@test "an installed epmt finds EPMT's Python modules, and they find the program" {
  cmake --install "$PL_BUILD" --prefix "$WORK/usr" >/dev/null
  PLIMSOLL_DB=$WORK/store.db "$WORK/usr/bin/plimsoll" run -q -- true
  equal modules "$(PATH=/usr/bin:/bin PLIMSOLL_DB=$WORK/store.db PYTHONDONTWRITEBYTECODE=1 "$WORK/usr/bin/epmt" python -c 'import epmt_query as eq
print(eq.get_jobs()[0]["exitcode"], eq.__file__)')" "0 $WORK/usr/share/plimsoll/epmt/epmt/epmt_query.py"
  [ -s "$WORK/usr/share/plimsoll/epmt/notebooks/graphs.ipynb" ]
}

@test "units, prologs and the module name the prefix that is installed to" {
  DESTDIR=$WORK/stage cmake --install "$PL_BUILD" --prefix /opt/x >/dev/null
  share=stage/opt/x/share/plimsoll
  for unit in node:node collect:collect daemon:daemon; do
    grep -q "^ExecStart=/opt/x/bin/plimsoll ${unit#*:} " "$share/systemd/plimsoll-${unit%:*}.service" || fail "$(grep ExecStart "$share"/systemd/*.service)"
  done
  equal 'the old prefix' "$(grep -rl /usr/local "$share/systemd" "$share/slurm" "$share/modulefiles")" ''
  grep -q '^set root /opt/x$' "$share/modulefiles/plimsoll"
  [ -x "$share/slurm/task_prolog.sh" ]
  # once more, elsewhere
  DESTDIR=$WORK/stage cmake --install "$PL_BUILD" --prefix /usr/local/y >/dev/null
  grep -q '^ExecStart=/usr/local/y/bin/plimsoll node ' stage/usr/local/y/share/plimsoll/systemd/plimsoll-node.service
  DESTDIR=$WORK/stage cmake --install "$PL_BUILD" --prefix /usr/local/y >/dev/null
  grep -q '^ExecStart=/usr/local/y/bin/plimsoll node ' stage/usr/local/y/share/plimsoll/systemd/plimsoll-node.service
}
