#!/usr/bin/env bats
# HDF5 files: what the feed writes, as h5py and PyTables read it, and what submit makes of colmet's own.

bats_require_minimum_version 1.5.0
load lib

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}/colmet
MESSAGE=$DATA/pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin
CAPTURED=$DATA/pycollector_zlib9_small.hdf5

check() {
  /usr/bin/python3 "$PL_SOURCE/tests/cli/hdf5_check.py" "$@"
}

play() {
  "$PROGRAMS/play_hdf5" "$@"
}

# stored JOB: "time metric value" lines of the store, as hdf5_check.py has them
stored() {
  plimsoll series --db store.db --csv "$1" | sed -e 1d -e 's/,.*//' -e 's/^/-m /' |
    xargs -n 32 plimsoll series --db store.db --csv "$1" | grep -v ^time, |
    awk -F, '{
      if (!($1 in t)) { c = "date +%s -d " $1; c | getline t[$1]; close(c) }
      printf "%d %s %.6f\n", t[$1], $2, $6
    }' | sort
}

# bats test_tags=colmet
@test "a captured message: all columns, values and attributes, for h5py and PyTables" {
  [ -e "$MESSAGE" ] || skip "no sample data beside the project"
  for level in 0 6; do
    "$PROGRAMS/play_colmet" "m$level.hdf5" state$level $level "$MESSAGE"
    check columns m$level.hdf5 "$MESSAGE"
  done
}

# bats test_tags=colmet
@test "colmet's own file is gone on with: same columns same table, others beside it" {
  [ -e "$CAPTURED" ] || skip "no sample data beside the project"
  cp "$CAPTURED" x.hdf5
  chmod u+w x.hdf5
  "$PROGRAMS/play_colmet" x.hdf5 state 1 "$MESSAGE"
  /usr/bin/python3 - "$CAPTURED" <<'P'
import sys, h5py, tables
before, after = h5py.File(sys.argv[1], "r"), h5py.File("x.hdf5", "r")
for job in ("job_0", "job_1000", "job_1001"):
    for name, table in before[job].items():
        assert (after[job][name][:4] == table[:]).all(), name
assert len(after["job_1000/taskstats_default"]) == 5
assert len(after["job_0/temperaturestats_default"]) == 4
with tables.open_file("x.hdf5") as t:
    assert "timestamp" in t.root.job_0.temperaturestats_default_2.colnames
    assert t.root.job_1001.taskstats_default[4]["coremem"] == 803462
P
  # and the store has both
  plimsoll submit -q --db store.db x.hdf5
  equal rchar "$(plimsoll series --db store.db --csv 1000 -m jobprocstats_default.rchar | sed 1d | wc -l)" 4
  equal rss "$(plimsoll series --db store.db --csv 1000 -m jobprocstats_default_2.VmRSS | sed 1d | cut -d, -f5-)" \
    "1000,1863680,bytes"
  equal 'damage in what was read' "$(plimsoll sql --db store.db --csv "SELECT count(*) FROM job_warnings WHERE text LIKE '%damaged%'" | tail -n1)" 0
}

@test "our own sources: every value once, compressed and not" {
  play a.hdf5 a 0 7
  check plan a.hdf5 7
  play b.hdf5 b 9 4
  play b.hdf5 b 9 7
  check plan b.hdf5 7
}

@test "killed at any moment: whole for readers at once, complete in the end" {
  mkdir k
  kills=4
  [ -z "${PL_LONG:-}" ] || kills=40
  check kill "$PROGRAMS/play_hdf5" k $kills
}

# bats test_tags=colmet
@test "submit: colmet's own file, every value as h5py has it" {
  [ -e "$CAPTURED" ] || skip "no sample data beside the project"
  run -0 --separate-stderr plimsoll submit --db store.db "$CAPTURED"
  [[ $output == "submitted 1000,1001: 0 processes, 0 threads, 800 samples in "* ]] || fail "$output"
  for job in 1000 1001; do
    check cells "$CAPTURED" $job | sort >want
    equal lines "$(wc -l <want)" 400
    stored $job | diff - want
    plimsoll show --db store.db $job | grep -q 'temperaturestats_default skipped: it has no column of times or hosts' ||
      fail "no warning"
  done
  # once more: nothing to do; by hand: replaced by nothing
  run -0 --separate-stderr plimsoll submit --db store.db "$CAPTURED"
  [[ $stderr == *"all its 2 jobs are in the store already, skipped"* ]] || fail "$stderr"
  equal jobs "$(plimsoll list --db store.db | sed 1d | wc -l)" 2
}

@test "submit: our file has the sources, units and entities that were sent" {
  play live.hdf5 state 1 6
  run -0 --separate-stderr plimsoll submit --db store.db live.hdf5
  [[ $output == "submitted 1000,1001,"*,1019:* ]] || fail "$output"
  # tick 4 has no memory; levels are in their unit again
  equal cpu "$(plimsoll series --db store.db --csv 1003 -m group.cpu_time --host node2 | sed 1d | cut -d, -f2-7 |
    sed -n 2p)" group.cpu_time,node2,job,1003,1022,ns
  equal memory "$(plimsoll series --db store.db --csv 1003 -m group.memory --host node2 | sed 1d | wc -l)" 7
  equal load "$(plimsoll series --db store.db --csv 1003 -m system.load --host node1 | sed 1d | cut -d, -f4-7 |
    sed -n 1p)" node,node,0,
  equal rss "$(plimsoll series --db store.db --csv 1003 -m process.rss --host node1 | sed 1d | cut -d, -f4-7 |
    sed -n 1p)" process,306.77,44050432,bytes
}

@test "submit: what is no file of colmet's gives one line" {
  run -0 --separate-stderr play empty.hdf5 state 0 0
  run -1 --separate-stderr plimsoll submit --db store.db empty.hdf5
  [[ $stderr == *"'empty.hdf5' contains no jobs (groups named job_1 etc.)"* ]] || fail "$stderr"
  play live.hdf5 live 0 2
  head -c 100000 live.hdf5 >cut.hdf5
  run -1 --separate-stderr plimsoll submit --db store.db cut.hdf5
  [[ $stderr == *"'cut.hdf5': not an HDF5 file, or damaged: truncated file"* ]] || fail "$stderr"
  equal lines "$(wc -l <<<"$stderr")" 1
}

# killed DEPTH SIGNAL MS COMMAND...: its child, or that one's, is ended MS after it was there; "status signal" and what the command said
killed() {
  /usr/bin/python3 - "$@" <<'P'
import os, signal, subprocess, sys, time
depth, number, pause = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) / 1000
p = subprocess.Popen(sys.argv[4:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
def child(pid, depth):
    found = open(f"/proc/{pid}/task/{pid}/children").read().split()
    return pid if not depth else child(int(found[0]), depth - 1) if found else None
ended = 0
while p.poll() is None and not ended:
    try:
        found = child(p.pid, depth)
        if found:
            time.sleep(pause)
            os.kill(found, number)
            ended = number
    except OSError:
        pass
out, err = p.communicate(timeout=60)
print(p.returncode, ended)
print(out + err, end="")
P
}

@test "submit: a reader that dies gives one line, and no job in part" {
  play live.hdf5 state 1 60
  local signal pause depth kills=(0 0 0)
  ASAN_OPTIONS=${ASAN_OPTIONS:-}:handle_segv=0 # a signal that is sent is no finding
  for signal in "1 9" "2 9" "2 11" "2 24"; do
    read -r depth signal <<<"$signal"
    for pause in 0 2 5 10; do
      rm -f store.db*
      killed "$depth" "$signal" $pause plimsoll submit --db store.db live.hdf5 >said
      # one that was done before the signal came is a whole one
      if [ "$(head -1 said)" = "0 $signal" ] || [ "$(head -1 said)" = "0 0" ]; then
        equal jobs "$(plimsoll list --db store.db | sed 1d | wc -l)" 20
        continue
      fi
      kills[depth]=$((kills[depth] + 1))
      equal status "$(head -1 said)" "1 $signal" || fail "$(cat said)"
      equal lines "$(sed 1d said | wc -l)" 1 || fail "$(cat said)"
      grep -q "'live.hdf5': cannot be read as HDF5 (the reader died: signal $signal" said || fail "$(cat said)"
      # jobs are stored one by one: those before the signal are whole, with as many values each
      equal whole "$(plimsoll list --db store.db --json 2>/dev/null | jq -r '.[].jobid' | while read -r job; do
        plimsoll series --db store.db "$job" --json | jq '[.[].count] | add'
      done | sort -u | wc -l | tr 0 1)" 1
    done
  done
  at_least "readers that were ended" "${kills[1]}" 1
  at_least "readers that were ended below those" "${kills[2]}" 3
  # and the file is as good as it was
  rm -f store.db*
  run -0 plimsoll submit --db store.db live.hdf5
}

@test "submit: nothing outside of the file is read" {
  /usr/bin/python3 - <<'P'
import h5py, numpy
row = numpy.dtype([("hostname", "S255"), ("timestamp", "<i8"), ("x", "<i8")])
with open("secret", "wb") as f:
    f.write(b"s" * row.itemsize * 4)
with h5py.File("other.hdf5", "w") as f:
    f.create_group("job_5").create_dataset("t", data=numpy.zeros(4, row))
with h5py.File("linked.hdf5", "w") as f:
    f["job_5"] = h5py.ExternalLink("other.hdf5", "/job_5")
    f["job_6"] = h5py.SoftLink("/job_7")
with h5py.File("outside.hdf5", "w") as f:
    f.create_group("job_5").create_dataset("t", shape=(4,), dtype=row, external=[("secret", 0, row.itemsize * 4)])
with h5py.File("virtual.hdf5", "w", libver="latest") as f:
    layout = h5py.VirtualLayout(shape=(4,), dtype=row)
    layout[:] = h5py.VirtualSource("other.hdf5", "/job_5/t", shape=(4,))
    f.create_group("job_5").create_virtual_dataset("t", layout)
with h5py.File("huge.hdf5", "w") as f:
    f.create_group("job_5").create_dataset("t", shape=(1 << 50,), dtype=row, chunks=(16,))
P
  for name in outside virtual; do
    run -1 --separate-stderr plimsoll submit --db store.db $name.hdf5
    [[ $stderr == *"/job_5/t: refused: its data is stored outside of the file"* ]] || fail "$stderr"
  done
  run -1 --separate-stderr plimsoll submit --db store.db linked.hdf5
  [[ $stderr == *"no jobs"* ]] || fail "$stderr"
  run -1 --separate-stderr plimsoll submit --db store.db huge.hdf5
  [[ $stderr == *"it claims 1125899906842624 rows, more than fit into the file"* ]] || fail "$stderr"
}

@test "a full disk: nothing is lost, it goes on when there is room" {
  [ "$(id -u)" = 0 ] || skip "mounting needs root"
  mkdir disk
  mount -t tmpfs -o size=3m none disk || skip "mounting needs root"
  play disk/live.hdf5 state 0 2
  dd if=/dev/zero of=disk/ballast bs=4096 2>/dev/null || true
  status=0
  play disk/live.hdf5 state 0 9 2>err || status=$?
  equal status $status 1
  grep -q "cannot write 'disk/live.hdf5': No space left on device" err || fail "$(cat err)"
  check plan disk/live.hdf5 2
  rm disk/ballast
  play disk/live.hdf5 state 0 9
  check plan disk/live.hdf5 9
  umount disk
}

teardown() {
  umount "$WORK/disk" 2>/dev/null || true
  clear_work
}
