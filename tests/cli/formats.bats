#!/usr/bin/env bats
# Files that version 0.1 wrote before the tree was rearranged: they open, and have the values that version 0.1 printed.

# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash"
# shellcheck source=tests/cli/collect.bash
. "$PL_SOURCE/tests/cli/collect.bash"

bats_require_minimum_version 1.5.0

setup() {
  WORK=$(mktemp -d "$BATS_TMPDIR/case-XXXXXX")
  export PLIMSOLL_PREFIX="$WORK/prefix"
  tar -C "$WORK" --no-same-owner -xJf "$PL_SOURCE/tests/fixtures/formats-0.1.tar.xz"
  cd "$WORK/formats-0.1" || return 1
}

programs='SELECT exename, count(*) AS times, sum(cpu_time) AS cpu, max(rssmax) AS peak FROM processes GROUP BY 1 ORDER BY 1'
programs_were='exename,times,cpu,peak
dd,1,1068,1812
false,1,792,1336
sh,1,2080,1796
sleep,1,941,1660
true,5,4615,1432'
samples="SELECT count(*) AS n, sum(raw) AS total FROM samples WHERE metric = 'process.rss'"
samples_were='n,total
24,48734208'

@test "a job directory: records, samples and metadata" {
  equal rows "$(plimsoll records -f csv jobs/4711 | tail -n +2 | wc -l)" 9
  plimsoll submit -q --db new.db jobs/4711
  equal programs "$(plimsoll sql --db new.db --csv "$programs")" "$programs_were"
  equal samples "$(plimsoll sql --db new.db --csv "$samples")" "$samples_were"
  plimsoll report --db new.db 4711 --json >report.json
  equal job "$(jq -c '[.job.jobname, .job.exitcode, .job.tags.exp]' report.json)" '["model",0,"old"]'
  equal total "$(plimsoll sql --db new.db --csv "SELECT cpu_time FROM jobs" | tail -1)" 9496
}

@test "a SQLite store: read, and added to" {
  plimsoll db migrate -q --db jobs.db
  equal programs "$(plimsoll sql --db jobs.db --csv "$programs")" "$programs_were"
  equal samples "$(plimsoll sql --db jobs.db --csv "$samples")" "$samples_were"
  plimsoll run -q --db jobs.db -- true
  equal jobs "$(plimsoll list --db jobs.db --ids | wc -l)" 2
  plimsoll db check --db jobs.db
  # what was stored from the directory is the same job
  run -0 --separate-stderr plimsoll submit --db jobs.db jobs/4711
  equal programs "$(plimsoll sql --db jobs.db --csv "$programs" | grep dd)" "dd,1,1068,1812"
}

@test "a store and an HDF5 file that a collector filled" {
  plimsoll db migrate -q --db collected.db
  equal values "$(plimsoll sql --db collected.db --csv 'SELECT count(*), sum(raw) FROM samples' | tail -1)" 100,382034
  equal jobs "$(plimsoll list --db collected.db --ids | sort | xargs)" "1000 1001 node:node1:2027-01-15"
  plimsoll submit -q --db from-hdf5.db collected.*.hdf5
  for what in jobid,metric,count jobid,metric,increase jobid,metric,maximum; do
    for store in collected from-hdf5; do
      plimsoll sql --db $store.db --csv "SELECT $what FROM series WHERE metric LIKE 'group.%' ORDER BY 1, 2" >$store.csv
    done
    diff collected.csv from-hdf5.csv
    equal rows "$(wc -l <collected.csv)" 5
  done
}

@test "a collector's log with batches that no sink has: a new sink gets every one" {
  WORK=$PWD collector pending --bind 'tcp://127.0.0.1:*' --sink "store:$PWD/late.db"
  WORK=$PWD until_stored pending 4
  collector_stop "$PID"
  equal values "$(plimsoll sql --db late.db --csv "SELECT count(*), sum(raw) FROM samples" | tail -1)" 100,382034
}
