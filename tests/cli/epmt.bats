#!/usr/bin/env bats
# bats file_tags=epmt
# Called as epmt: its options, directories, metadata, papiex files, archives and messages, such that EPMT
# and its users' scripts read what they expect.

bats_require_minimum_version 1.5.0
load lib

USERNAME=$(id -un 2>/dev/null || id -u)
DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}

# A settings.py of the test's own, and a batch id unless the test wants none.
prepare() {
  export EPMT_SETTINGS=$WORK/settings.py SLURM_JOB_ID=${1-100}
  [ -n "$SLURM_JOB_ID" ] || unset SLURM_JOB_ID
  cat >settings.py <<P
# settings of a site
import os
db_params = {'url': 'sqlite:///:memory:', 'echo': False}
epmt_output_prefix = "$WORK/out/"
papiex_options = "${OPTIONS-PERF_COUNT_SW_CPU_CLOCK,COLLATED_TSV}"
stage_command = 'mv'
stage_command_dest = '$WORK/staged'
error_dest = '$WORK/errors'
debug = False
P
  mkdir -p staged errors
  DIR=$WORK/out/$USERNAME/${SLURM_JOB_ID:-$(ps -o sid= -p $$ | tr -d ' ')}
}

# Reads a pickle with Python and evaluates an expression over it as m.
pickled() {
  /usr/bin/python3 -c "
import datetime, pickle, sys
m = pickle.load(open(sys.argv[1], 'rb'))
print($2)" "$1"
}

@test "epmt: help with settings, version, no arguments" {
  prepare
  run epmt
  equal none "$status" 1
  run epmt -h
  equal help "$status" 0
  [[ $output == *"epmt_output_prefix:$WORK/out/"* ]] || fail "$output"
  [[ $output == *"stage_command_dest:$WORK/staged"* ]] || fail "$output"
  [[ $output == *"install_prefix:"* && $output == *"logfile:"* ]] || fail "$output"
  run epmt help
  equal "help path 2" "$status" 0
  run epmt --version
  [[ $output == EPMT\ * ]] || fail "$output"
  run epmt nosuch
  equal unknown "$status" 2
  run epmt --nosuch start
  equal option "$status" 2
}

@test "epmt start and stop: the metadata are plain pickles with EPMT's keys" {
  prepare
  export EPMT_JOB_TAGS='exp_name:ESM4;ocn' SLURM_JOB_NAME=myjob
  epmt start
  [ -f "$DIR/job_metadata.tmp" ] && [ ! -f "$DIR/job_metadata" ] || fail "$(ls -a "$DIR")"
  equal start "$(pickled "$DIR/job_metadata.tmp" "{'job_jobname', 'job_pl_env', 'job_pl_hostname', 'job_pl_id', 'job_pl_start_ts', 'job_pl_submit_ts', 'job_pl_username'} - set(m)")" "set()"
  epmt run true
  NEWVAR=1 epmt stop
  [ ! -f "$DIR/job_metadata.tmp" ] && [ -f "$DIR/job_metadata" ] || fail "$(ls -a "$DIR")"
  equal id "$(pickled "$DIR/job_metadata" "m['job_pl_id'], m['job_pl_username'], m['job_jobname'], m['job_el_exitcode'], m['job_el_reason'], m['checked']")" \
    "100 $USERNAME myjob 0 none True"
  equal tags "$(pickled "$DIR/job_metadata" "m['job_tags']")" "{'exp_name': 'ESM4', 'ocn': '1'}"
  equal times "$(pickled "$DIR/job_metadata" "type(m['job_pl_start_ts']).__name__, m['job_pl_start_ts'].tzinfo is not None, m['job_el_stop_ts'] > m['job_pl_start_ts']")" "datetime True True"
  equal changes "$(pickled "$DIR/job_metadata" "m['job_env_changes'].get('NEWVAR')")" 1
  run epmt start
  equal again "$status" 0
  run epmt start -e
  equal error "$status" 1
  run epmt -e stop
  equal "stop twice" "$status" 1
}

@test "epmt: four warnings where there is no batch system" {
  prepare ''
  run epmt start
  equal status "$status" 0
  sid=$(ps -o sid= -p $$ | tr -d ' ')
  equal warnings "$(grep -c '^WARNING:epmt_cmds:' <<<"$output")" 4
  [[ $output == *"JOB_ID unset: Using session id $sid as JOB_ID"* ]] || fail "$output"
  [[ $output == *"JOB_NAME unset: Using job id $sid as JOB_NAME"* ]] || fail "$output"
  [[ $output == *"JOB_SCRIPTNAME unset: "* && $output != *"process name $sid"* ]] || fail "$output"
  [[ $output == *"JOB_USER unset: Using username $(id -un) as JOB_USER"* ]] || fail "$output"
  [ -f "$DIR/job_metadata.tmp" ]
  # what is said is what is stored, from a script, too
  equal name "$(pickled "$DIR/job_metadata.tmp" "m['job_jobname']")" "$sid"
  epmt stop 2>/dev/null
  equal 'name at the end' "$(pickled "$DIR/job_metadata" "m['job_jobname']")" "$sid"
  echo 'epmt start' >begin.sh
  sh begin.sh 2>said
  grep -q "JOB_NAME unset: Using job id $sid.2 as JOB_NAME" said || fail "$(cat said)"
  equal 'name from a script' "$(pickled "$WORK/out/$USERNAME/$sid.2/job_metadata.tmp" "m['job_jobname'], m['job_pl_scriptname']")" "$sid.2 begin.sh"
  JOB_ID=55 JOB_NAME=n JOB_SCRIPTNAME=s JOB_USER=u run epmt start
  equal none "$(grep -c WARNING <<<"$output")" 0
  equal 'a name that is set' "$(pickled "$WORK/out/$USERNAME/55/job_metadata.tmp" "m['job_jobname']")" n
}

# bats test_tags=root
@test "epmt run -a: options on either side, no summary, TSV files that add up" {
  prepare
  run epmt -a run "$PROGRAMS/actor" threads 3 20
  equal status "$status" 0
  equal silent "$output" ""
  host=$(hostname)
  [ -f "$DIR/$host-papiex.tsv" ] && [ -f "$DIR/$host-papiex-header.tsv" ] && [ -f "$DIR/job_metadata" ] || fail "$(ls "$DIR")"
  cat >want <<H
{usertime,systemtime,rssmax,minflt,majflt,inblock,outblock,vol_ctxsw,invol_ctxsw,cminflt,cmajflt,cutime,cstime,num_threads,starttime,processor,delayacct_blkio_time,guest_time,rchar,wchar,syscr,syscw,read_bytes,write_bytes,cancelled_write_bytes,time_oncpu,time_waiting,timeslices,rdtsc_duration,PERF_COUNT_SW_CPU_CLOCK}	tags	hostname	exename	path	exitcode	exitsignal	pid	generation	ppid	pgid	sid	numtids	start	end	args
H
  diff want "$DIR/$host-papiex-header.tsv"
  plimsoll records --jsonl "$DIR" >rows.jsonl
  /usr/bin/python3 - "$DIR/$host-papiex.tsv" <<'P'
import json, sys
row = json.loads(open("rows.jsonl").read())
fields = open(sys.argv[1]).read().rstrip("\n").split("\t")
names = open("want").read().split("}")[0][1:].split(",")
values = [int(v) for v in fields[0][1:-1].split(",")]
assert len(values) == 4 * len(names), len(values)
threads = [dict(zip(names, values[i:i + len(names)])) for i in range(0, len(values), len(names))]
assert fields[3] == "actor" and fields[5] == "0" and fields[12] == "4" and fields[15] == "threads 3 20", fields
assert int(fields[13]) == row["start"] and int(fields[14]) == row["end"]
assert sum(t["usertime"] + t["systemtime"] for t in threads) == row["usertime"] + row["systemtime"], (threads, row)
for name in ("minflt", "rchar", "syscr", "time_oncpu", "timeslices"):
    assert sum(t[name] for t in threads) == row[name], (name, threads, row)
assert sum(1 for t in threads[1:] if t["PERF_COUNT_SW_CPU_CLOCK"] > 15_000_000) == 3, threads
assert all(t["starttime"] > 0 for t in threads) and threads[0]["num_threads"] == 1, threads
P
  run epmt run --auto true
  equal "a job that is there" "$status" 1
}

@test "epmt: CSV files, one a process, 46 columns and 48 with an event" {
  OPTIONS=RUSAGE prepare 200
  epmt run -a -- sh -c "$PROGRAMS/actor threads 2; PAPIEX_TAGS='op:mv;n:1' $PROGRAMS/actor return 3 'a,b' 'back\\slash'; $PROGRAMS/actor kill 9; :"
  equal files "$(ls "$DIR"/*-papiex-*-*.csv | wc -l)" 4
  equal columns "$(head -qn1 "$DIR"/*.csv | awk -F, '{ print NF }' | sort -u)" 46
  equal header "$(head -qn1 "$DIR"/*.csv | sort -u)" "tags,hostname,exename,path,args,exitcode,exitsignal,pid,generation,ppid,pgid,sid,numtids,mpinumranks,tid,mpirank,start,end,usertime,systemtime,rssmax,minflt,majflt,inblock,outblock,vol_ctxsw,invol_ctxsw,cminflt,cmajflt,cutime,cstime,num_threads,starttime,processor,delayacct_blkio_time,guest_time,rchar,wchar,syscr,syscw,read_bytes,write_bytes,cancelled_write_bytes,time_oncpu,time_waiting,timeslices"
  grep -q '^op:mv;n:1,[^,]*,actor,.*/actor,return 3 a\\,b back\\\\slash,3,0,' "$DIR"/*.csv || fail "$(cat "$DIR"/*.csv)"
  grep -q ',actor,.*/actor,kill 9,0,9,' "$DIR"/*.csv || fail "$(cat "$DIR"/*.csv)"
  threads=$(grep -l 'threads 2' "$DIR"/*.csv | head -1)
  for f in "$DIR"/*.csv; do grep -q ',actor,' "$f" && grep -q ',threads 2,' "$f" && threads=$f; done
  equal rows "$(wc -l <"$threads")" 4
  equal empty "$(sed -n 3p "$threads" | cut -d, -f1-14)" ",,,,,,,,,,,,,"
  OPTIONS=PERF_COUNT_SW_TASK_CLOCK prepare 201
  epmt run -a true
  equal events "$(head -qn1 "$DIR"/*.csv | awk -F, '{ print NF, $47, $48 }')" "48 rdtsc_duration PERF_COUNT_SW_TASK_CLOCK"
}

# bats test_tags=root
@test "epmt: subshells and copies make no papiex-error, and no row lasts less than its CPU time" {
  local form
  for form in COLLATED_TSV RUSAGE; do
    OPTIONS=PERF_COUNT_SW_TASK_CLOCK,$form prepare "4$form"
    epmt run -a -- bash -c "(for ((i = 0; i < 3000; i++)); do :; done); $PROGRAMS/actor vfork; $PROGRAMS/actor clone
      $PROGRAMS/actor-static burn 5; $PROGRAMS/actor kill 9; /bin/true; exec $PROGRAMS/actor burn 5" || true
    /usr/bin/python3 - "$DIR" >rows <<'P'
import csv, glob, sys
for name in glob.glob(sys.argv[1] + "/*-papiex.tsv"):
    columns = open(name.replace(".tsv", "-header.tsv")).read().split("}")[0][1:].split(",")
    for line in open(name):
        fields = line.rstrip("\n").split("\t")
        row = dict(zip(columns, map(int, fields[0][1:-1].split(","))))
        print(fields[3] or "-", (fields[15].split() or ["-"])[0], row.get("rdtsc_duration", "none"), row["PERF_COUNT_SW_TASK_CLOCK"],
              int(fields[14]) - int(fields[13]), row["usertime"] + row["systemtime"])
for name in glob.glob(sys.argv[1] + "/*.csv"):
    for row in csv.DictReader(open(name), escapechar="\\"):
        print(row["exename"] or "-", (row["args"].split() or ["-"])[0], row.get("rdtsc_duration", "none"), row.get("PERF_COUNT_SW_TASK_CLOCK"),
              int(row["end"]) - int(row["start"]), int(row["usertime"]) + int(row["systemtime"]))
P
    equal "rows of $form" "$(wc -l <rows)" 10
    equal "no cycles of $form" "$(awk '$3 != "none" && $3 <= 0' rows)" ''
    equal "too short of $form" "$(awk '$5 < $6' rows)" ''
    at_least "clock of the subshell of $form" "$(awk '$1 == "bash" && $4 > 0' rows | wc -l)" 2
    plimsoll submit -q --db "$form.db" "$DIR"
    equal "annotations of $form" "$(plimsoll list --db "$form.db" --json | jq -c '.[0].annotations | has("papiex-error")')" false
  done
}

@test "papiex files for plimsoll too, where papiex's variables ask for them" {
  mkdir out
  PAPIEX_OUTPUT=$PWD/out PAPIEX_OPTIONS=COLLATED_TSV plimsoll run -q -o job -- "$PROGRAMS/actor" return 0
  equal files "$(ls out)" "$(printf '%s-papiex-header.tsv\n%s-papiex.tsv' "$(hostname)" "$(hostname)")"
}

@test "epmt stage: the archive that EPMT makes, from TSV and from CSV" {
  prepare 300
  epmt run -a true
  equal printed "$(epmt stage)" "$WORK/staged/300.tgz"
  [ ! -e "$DIR" ] || fail "the directory is still there"
  equal members "$(tar tzf staged/300.tgz | sort | tr '\n' ' ')" "$(printf '%s\n' ./job_metadata "./$(hostname)-papiex-header.tsv" "./$(hostname)-papiex.tsv" | sort | tr '\n' ' ')"
  tar xzf staged/300.tgz ./job_metadata
  equal id "$(pickled job_metadata "m['job_pl_id']")" 300
  OPTIONS='' prepare 301
  epmt run -a sh -c '/bin/true; /bin/true'
  epmt stage >/dev/null
  equal members "$(tar tzf staged/301.tgz | sort | tr '\n' ' ')" "$(printf '%s\n' ./job_metadata "./$(hostname)-collated-papiex-301-0.csv" | sort | tr '\n' ' ')"
  equal rows "$(tar xzOf staged/301.tgz "./$(hostname)-collated-papiex-301-0.csv" | wc -l)" 4
  OPTIONS='' prepare 302
  epmt run -a true
  epmt stage --no-collate >/dev/null
  equal "not collated" "$(tar tzf staged/302.tgz | grep -c 'papiex-[0-9]*-0.csv')" 1
  OPTIONS='' prepare 303
  epmt run -a true
  equal printed "$(epmt stage --no-compress-and-tar)" "$WORK/staged/303"
  [ -f staged/303/job_metadata ]
}

@test "epmt stage: bad CSV files are put aside, or fail with -e" {
  prepare 310
  epmt start
  epmt stop
  printf 'a,b,c\n1,2,3\n' >"$DIR/n1-papiex-1-0.csv"
  printf 'a,b,c\n1,2\n' >"$DIR/n1-papiex-2-0.csv"
  printf 'a,b,c\n4,5\\,x,6\n' >"$DIR/n1-papiex-3-0.csv"
  run epmt stage -e
  equal error "$status" 1
  [[ $output == *"n1-papiex-2-0.csv': line 2: the header has 2 delimiters, this row has 1"* ]] || fail "$output"
  run epmt stage
  equal status "$status" 0
  [ -f errors/n1-papiex-2-0.csv.error ]
  equal rows "$(tar xzOf staged/310.tgz ./n1-collated-papiex-310-0.csv)" "$(printf 'a,b,c\n1,2,3\n4,5\\,x,6')"
  tar xzf staged/310.tgz ./job_metadata
  equal annotated "$(pickled job_metadata "'epmt_stage_error' in m['annotations']")" True
}

@test "epmt stage: EPMT's own sample files" {
  [ -d "$DATA/epmt/csv" ] || skip "no sample data beside the project"
  prepare 615503
  mkdir -p samples
  cp "$DATA"/epmt/csv/*.csv "$DATA/epmt/corrupted_csv/job_metadata" samples/
  chmod u+w samples/*
  epmt stage samples >/dev/null
  equal sum "$(tar xzOf staged/samples.tgz "$(tar tzf staged/samples.tgz | grep collated)" | sum | cut -d' ' -f1)" 13120
  rm -rf samples && mkdir samples
  cp "$DATA"/epmt/corrupted_csv/* samples/
  chmod u+w samples/*
  run epmt stage -e samples
  equal corrupted "$status" 1
  [[ $output == *"the header has 40 delimiters, this row has 39"* ]] || fail "$output"
}

@test "epmt dump: 24 and 56 columns, every generation of metadata" {
  prepare 400
  /usr/bin/python3 - <<'P'
import datetime, pickle
old = {"job_pl_id": "7", "job_pl_start": datetime.datetime(2019, 2, 20, 19, 58, 41, 274267),
       "job_el_stop": datetime.datetime(2019, 2, 20, 22, 13, 23, 131187), "job_el_status": 0, "job_pl_groupnames": ["f", "f"],
       "job_pl_from_batch": [], "job_el_env_changes": {}, "exp_name": "CM4", "exp_component": "atmos"}
for protocol in range(6):
    pickle.dump(old, open(f"p{protocol}", "wb"), protocol)
P
  for p in 0 1 2 3 4 5; do
    epmt dump p$p >out
    equal "protocol $p" "$(grep '^job_pl_start ' out)" "$(printf '%-24s%-56s' job_pl_start '2019-02-20 19:58:41.274267')"
    equal "list $p" "$(grep '^job_pl_groupnames ' out | tr -s ' ')" "job_pl_groupnames ['f', 'f'] "
    equal "sorted $p" "$(cut -d' ' -f1 out)" "$(cut -d' ' -f1 out | sort)"
  done
  equal key "$(epmt dump -k exp_name p0)" CM4
  equal ours "$(plimsoll dump --json p3 | jq -r .job_el_stop)" 2019-02-20T22:13:23.131187
}

@test "epmt dump: EPMT's own archives" {
  [ -d "$DATA/epmt/query" ] || skip "no sample data beside the project"
  prepare 400
  for id in 685000 685003 685016; do
    equal "$id" "$(epmt dump -k job_pl_id "$DATA/epmt/query/$id.tgz")" "$id"
  done
  equal stop "$(epmt dump -k job_el_stop_ts "$DATA/epmt/query/685000.tgz")" "2019-06-15 09:39:44.317282"
  equal bench "$(epmt dump -k job_pl_id "$DATA/epmt/bench/2557072.tgz")" 2557072
}

@test "epmt annotate: in a directory and in an archive" {
  prepare 500
  run epmt annotate
  equal none "$status" 1
  epmt start
  epmt annotate a=100 b=text
  epmt stop
  equal kept "$(pickled "$DIR/job_metadata" "m['annotations']")" "{'a': 100, 'b': 'text'}"
  epmt annotate "$DIR" --replace c=True 'EPMT_JOB_TAGS=k:v'
  equal replaced "$(pickled "$DIR/job_metadata" "m['annotations']['c'], m['job_tags']")" "True {'k': 'v'}"
  epmt stage >/dev/null
  epmt annotate staged/500.tgz z=None
  tar xzf staged/500.tgz ./job_metadata
  equal archive "$(pickled job_metadata "m['annotations']['z'], m['annotations']['c']")" "None True"
}

@test "epmt source: variables and functions for sh and csh, -j in front" {
  prepare ''
  SHELL=/bin/bash epmt -j1 source >lines
  grep -q "^export PAPIEX_OUTPUT=$WORK/out/$USERNAME/1/;" lines
  grep -q '^export PAPIEX_OPTIONS=PERF_COUNT_SW_CPU_CLOCK,COLLATED_TSV;' lines
  for f in epmt_instrument epmt_uninstrument epmt_push_preload epmt_pop_preload; do grep -q "^$f() {" lines || fail "no $f"; done
  tail -1 lines | grep -q '^epmt_instrument;$'
  SHELL=/bin/csh timeout 60 epmt -j1 source | grep -q '^setenv PAPIEX_OPTIONS '
  SHELL=/bin/csh timeout 60 epmt -j1 source | grep -q "^alias epmt_uninstrument "
  epmt -j1 source --slurm | grep -q '^export LD_PRELOAD='
  bash -c "$(SHELL=/bin/bash epmt -j1 source)
$PROGRAMS/actor return 3; epmt_push_preload; $PROGRAMS/actor return 4; epmt_pop_preload; $PROGRAMS/actor return 5; :"
  plimsoll records --jsonl "$WORK/out/$USERNAME/1" >rows.jsonl
  equal recorded "$(jq -r 'select(.exename == "actor") | .exitcode' rows.jsonl | tr '\n' ' ')" "3 5 "
}

@test "epmt: settings.py is read and never executed" {
  prepare 600
  cat >>settings.py <<'P'
os.system("touch pwned")
stage_command = os.popen("touch pwned").read()
papiex_options_byhost = {".*": "PERF_COUNT_SW_PAGE_FAULTS"}
P
  run epmt -h
  equal status "$status" 0
  [[ $output == *"stage_command cannot be known without executing the file"* ]] || fail "$output"
  [[ $output == *"papiex_options:PERF_COUNT_SW_CPU_CLOCK,COLLATED_TSV,PERF_COUNT_SW_PAGE_FAULTS"* ]] || fail "$output"
  [ ! -e pwned ]
  printf 'a = "unfinished\n' >settings.py
  run epmt start
  equal broken "$status" 1
  [[ $output == *"line 1"* ]] || fail "$output"
  EPMT_SETTINGS=/no/such/file run epmt start
  equal missing "$status" 1
  prepare 601
  EPMT_OUTPUT_PREFIX=$WORK/other epmt start
  [ -d "$WORK/other/$USERNAME/601" ]
}

@test "epmt check prints EPMT's lines" {
  prepare 700
  run epmt check
  equal status "$status" 0
  for line in "settings.install_prefix = .*" "settings.epmt_output_prefix = $WORK/out/" "/proc/sys/kernel/perf_event_paranoid =  [0-9-]*" \
    "settings.papiex_options = PERF_COUNT_SW_CPU_CLOCK,COLLATED_TSV" "epmt stage functionality" "epmt run functionality"; do
    grep -qP "^$line\tPass$" <<<"$output" || fail "no '$line' in: $output"
  done
}

@test "epmt run keeps the quoting of arguments, and its status" {
  prepare 800
  epmt run printf '<%s>' 'a b' '$x' >out
  equal out "$(cat out)" '<a b><$x>'
  run epmt run "$PROGRAMS/actor" return 9
  equal status "$status" 9
  run epmt run -n echo 'a b'
  [[ $output == *"echo 'a b'" ]] || fail "$output"
}
