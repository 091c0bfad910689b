#!/usr/bin/env bats
# bats file_tags=colmet
# Jobs of a real OAR: the node daemon and colmet-node find them, see them begin, work and end, and a collector has
# them in HDF5 as colmet's users look for them.

bats_require_minimum_version 1.5.0
load lib
load node
load collect
load oar

setup() {
  why=$(oar_missing)
  [ -z "$why" ] || skip "$why"
  node_setup
}
teardown() {
  [ -n "${WORK:-}" ] || return 0
  oar_stop
  node_teardown
}

ended_are() { [ "$(plimsoll configure n --show --json | jq .counts.jobs_ended)" = "$1" ]; }
readings_of_jobs() { plimsoll samples --json node.smp | jq -c 'select(.event == "reading" and .source == "jobs")'; }
more_readings() { [ "$(readings_of_jobs | wc -l)" -gt "$(($1 + 3))" ]; }
job_has_rows() { [ "$(jq -c "select(.job == \"$1\" and .source == \"$2\" and ($3))" c.out | wc -l)" -ge "$4" ]; }

@test "jobs that are submitted, and one that is deleted, in samples, colmet's records and HDF5" {
  oar_start
  collector c --bind 'tcp://127.0.0.1:*' --bind-colmet 'tcp://127.0.0.1:*' --sink stdout:jsonl --sink "hdf5:$WORK/data/oar"
  PIDS+=("$PID")
  # nothing is said of where jobs are
  plimsoll node --name n -i 200ms --batch 500ms --connect "$NATIVE" -o node.smp -s jobs -s job_tasks -s jobproc 2>>node.log 3>&- &
  node=$!
  PIDS+=("$node")
  until_true node_is_up
  # where OAR's links to the groups are, in the directory of its own /dev
  PLIMSOLL_NODE_NAME=old nsenter -m -t "$OAR_OUTER" "$PL_BUILD/bin/colmet-node" -s 0.5 --zeromq-uri "$COLMET" --enable-jobproc --disable-procstats 2>>old.log 3>&- &
  old=$!
  PIDS+=("$old")

  # twenty short programs, of which the last kind of account is the group's own
  cat >"$OAR/jobs/work" <<'S'
#!/bin/bash
for i in $(seq 20); do perl -e 'while ((times)[0] < 0.05) { for (1 .. 10000) {} }'; done
cut -d: -f2- /proc/self/cgroup | grep oar >/mnt/jobs/groups
nproc >/mnt/jobs/cpus
cat /sys/fs/cgroup/cpuacct/oar/oartest_$OAR_JOB_ID/cpuacct.usage >/mnt/jobs/used.new
mv /mnt/jobs/used.new /mnt/jobs/used
until [ -e /mnt/jobs/enough ]; do sleep 0.2; done
exit 3
S
  printf '#!/bin/bash\nsleep 600\n' >"$OAR/jobs/wait"
  chmod 755 "$OAR/jobs/work" "$OAR/jobs/wait"
  oar_submit work
  first=$OAR_JOB
  equal 'the first number' "$first" "$OAR_FIRST"
  oar_submit wait
  second=$OAR_JOB
  until_true test -s "$OAR/jobs/used"
  used=$(cat "$OAR/jobs/used")
  equal 'CPUs of the job' "$(cat "$OAR/jobs/cpus")" 1
  equal 'its groups' "$(sed 's/:.*//' "$OAR/jobs/groups" | sort | xargs)" 'cpu cpuacct cpuset devices freezer'
  for id in "$first" "$second"; do
    until_true job_has_rows "$id" jobs '.host == "n" and .values.cpu_usage > 0' 3
    until_true job_has_rows "$id" taskstats_default '.host == "old" and .values.cpu_run_virtual_total > 0' 2
    until_true job_has_rows "$id" jobprocstats_default '.host == "old" and .values.VmRSS > 1000' 2
  done
  # OAR as it comes has no memory groups, and that is said with the setting
  plimsoll check >says || true
  grep -A1 'jobs of OAR have no memory group' says | grep -q 'Enable_mem_cg = "YES"' || fail "$(cat says)"

  touch "$OAR/jobs/enough"
  until_true oar_state_is "$first" Terminated
  oar oarstat -f -j "$first" | grep -q 'exit_code = 768 (3,0,0)' || fail "$(oar oarstat -f -j "$first")"
  until_true ended_are 1
  oar oardel "$second" >/dev/null
  until_true oar_state_is "$second" Error
  until_true ended_are 2
  # both daemons go on for a while: of what has ended there is nothing any more
  readings_of_jobs >before
  until_true more_readings "$(wc -l <before)"
  end_node
  kill -TERM "$old"
  wait "$old" || fail "colmet-node: $(cat old.log)"

  readings_of_jobs | tail -n "+$(($(wc -l <before) + 1))" >after
  equal 'rows of jobs that have ended' "$(jq -s 'map(.rows | length) | add' after)" 0
  rows_of node.smp >rows
  plimsoll samples --json node.smp | jq -c 'select(.event == "entity" and .kind == "job" and .source == "jobs") | [.name, .facts.manager, .facts.user, .facts.path]' | sort -u >found
  equal 'jobs that were found' "$(cat found)" "[\"$first\",\"oar\",\"oartest\",\"/oar/oartest_$first\"]
[\"$second\",\"oar\",\"oartest\",\"/oar/oartest_$second\"]"
  # it was seen from its first moments on, and more than once at work
  at_most 'CPU at the first sample' "$(jq -s "[.[] | select(.source == \"jobs\" and .name == \"$first\")] | first.values.cpu_usage" rows)" "$((used / 1500))"
  # the last sample is behind the job's own last account, and near to it: it did nothing more but wait
  jq -s "[.[] | select(.source == \"jobs\" and .name == \"$first\")] | last" rows >last
  at_least 'CPU at the end' "$(jq .values.cpu_usage last)" "$((used / 1000))"
  at_most 'CPU at the end' "$(jq .values.cpu_usage last)" "$((used / 1000 + 2000000))"
  jq -s "[.[] | select(.source == \"job_tasks\" and .name == \"$first\")] | last" rows >ends
  at_least 'processes that ended' "$(jq .values.processes ends)" 20
  at_least 'their CPU' "$(jq '.values.cpu_run_virtual_total / 1000' ends)" "$(jq '.values.cpu_usage * 0.9' last)"
  at_least 'of which killed, of the second' "$(jq -s "[.[] | select(.source == \"job_tasks\" and .name == \"$second\") | .values.processes] | max" rows)" 1
  # order and once: times of a job's readings only grow
  equal 'readings in order' "$(jq -s "[.[] | select(.source == \"jobs\" and .name == \"$first\") | .time] | . == (. | unique)" rows)" true

  # everything is in the files, of both daemons
  until_status c '.log.next == .log.first'
  collector_stop "$PID"
  /usr/bin/python3 - "$first" "$second" data/oar.*.hdf5 c.out <<'P'
import json, sys
import h5py

ids, files, lines = sys.argv[1:3], sys.argv[3:-1], sys.argv[-1]
assert len(files) == 1, files
sent = {}
for line in open(lines):
    row = json.loads(line)
    if "job" in row:
        sent.setdefault((row["host"], row["job"], row["source"]), []).append(row)
with h5py.File(files[0], "r") as f:
    for job in ids:
        for source, column, unit in (("taskstats_default", "cpu_run_virtual_total", 1), ("jobprocstats_default", "VmRSS", 1024)):
            table = f[f"job_{job}/{source}"][:]
            old = [r for r in table if r["hostname"].decode() == "old"]
            want = sent["old", job, source]
            assert len(old) == len(want) >= 2, (job, source, len(old), len(want))
            # what is not known is -1 in colmet's tables
            known = [int(r[column]) * unit if r[column] >= 0 else -1 for r in old]
            assert known == [r["values"].get(column, -1) for r in want], (job, source, known)
            new = [r for r in table if r["hostname"].decode() == "n"]
            assert len(new) >= 2, (job, source, len(new))
        own = f[f"job_{job}/jobs"][:]
        want = sent["n", job, "jobs"]
        assert len(own) == len(want), (len(own), len(want))
        assert [int(r["cpu_usage"]) for r in own] == [r["values"]["cpu_usage"] for r in want]
P
  # and OAR's own way to ask for it
  plimsoll extract data/oar "$first" 0 4000000000 cpu_run_virtual_total | gunzip >extracted
  equal 'hosts' "$(jq -r '.hostname | unique | join(" ")' extracted)" 'n old'
  at_least 'CPU that is told, in ns' "$(jq '.cpu_run_virtual_total | max' extracted)" "$((used * 9 / 10))"
}
