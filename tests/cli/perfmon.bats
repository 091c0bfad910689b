#!/usr/bin/env bats
# bats file_tags=perfmon
# The name perfmon: its options, its log and its files, beside jobs that have the variables of PBS, OAR and
# Slurm, on this machine alone. perfmon_slurm.bats has the real thing.

bats_require_minimum_version 1.5.0
load lib

LINE='^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} \| (DEBUG|INFO|WARNING|ERROR) \| [^ ]+ \| [a-z_]+:[a-z_]+ \| [0-9]+ \| .+$'

# No other job on this machine has this id.
new_id() {
  ID=$$$BATS_TEST_NUMBER$RANDOM.test
}

# job_of VARIABLE SECONDS: a process of the job that works, in the background
job_of() {
  env "$1=$ID" "$PROGRAMS/actor" burn $(($2 * 1000)) 0 &
  JOB=$!
}

as_pbs() {
  new_id
  export PBS_JOBID=$ID
}

metric() {
  jq -c "$1" "${DATA:-.}/metrics/cpu_metrics.json"
}

# Every array below a host has the length of its time stamps.
same_lengths() {
  jq -e '. as $all | .host_names | all(. as $h | $all[$h] | (.time_stamps | length) as $n |
    del(.child_proc_md, .parent_proc_md) | [.. | arrays | length] | all(. == $n))' "$1" >/dev/null ||
    fail "lengths differ: $(cat "$1")"
}

@test "a job of PBS: silence, all keys, lengths, values" {
  as_pbs
  hostname >nodefile
  hostname >>nodefile
  export PBS_NODEFILE_LOCAL=$WORK/nodefile PBS_NODEFILE=/nowhere
  job_of PBS_JOBID 4
  run --separate-stderr perfmon -i 1 -r -e
  wait $JOB
  equal status "$status" 0
  equal stdout "$output" ""
  equal stderr "$stderr" ""
  host=$(hostname)
  # plots and the report; what is here on some machines only has its names in tests/unit/compat/perfmon/test_perfmon_plots.c
  for name in CPU_Load Memory; do echo "Average_${name}_all_nodes.png ${name}_per_node.png"; done | tr ' ' '\n' >want
  for name in Output_Traffic Input_Traffic Packets_Output Packets_Input; do
    printf '%s\n' "Total_${name}_all_nodes.png" "${name}_per_node.png"
  done >>want
  equal plots "$(find plots -type f -printf '%f\n' | grep -v -e RAPL -e Interconnect -e Bandwidth | sort | paste -sd' ')" "$(sort want | paste -sd' ')"
  pdftotext -layout "job-report-$ID.pdf" report.txt
  grep -q "^ *Job ID: $ID, User: $(id -un), # Nodes: 1, Date: 20" report.txt || fail "$(head report.txt)"
  grep -qE '^ *CPU load$' report.txt
  grep -qE '^ *average [0-9.]+ CPUs, maximum [0-9.]+ CPUs$' report.txt
  grep -q " | INFO | $host | .* | the report is '.*/job-report-$ID.pdf'" ska_sdp_monitoring_metrics.log
  equal hosts "$(metric .host_names)" "[\"$host\"]"
  equal frequency "$(metric .sampling_frequency)" 1
  for key in child_proc_md cpu_percent cpu_percent_sys cpu_time io_counters memory_full_info memory_info \
    memory_percent net_io_counters num_fds num_threads parent_proc_md time_stamps; do
    equal $key "$(metric ".[\"$host\"] | has(\"$key\")")" true
  done
  equal io "$(metric ".[\"$host\"].io_counters | keys")" '["read_bytes","read_count","write_bytes","write_count"]'
  equal memory "$(metric ".[\"$host\"].memory_info | keys")" '["rss","shared","vms"]'
  equal full "$(metric ".[\"$host\"].memory_full_info | keys")" '["swap","uss"]'
  equal net "$(metric ".[\"$host\"].net_io_counters | keys")" '["bytes_recv","bytes_sent","packets_recv","packets_sent"]'
  same_lengths metrics/cpu_metrics.json
  same_lengths metrics/perf_metrics.json
  at_least ticks "$(metric ".[\"$host\"].time_stamps | length")" 3
  equal increasing "$(metric ".[\"$host\"].time_stamps | . == (sort | unique)")" true
  equal integers "$(metric ".[\"$host\"].time_stamps | all(. == floor)")" true
  # it burned CPU, nearly 4 s of it, and nothing else was in the job
  at_least cpu "$(metric ".[\"$host\"].cpu_time | map(select(. != null)) | max")" 2
  at_most cpu "$(metric ".[\"$host\"].cpu_time | map(select(. != null)) | max")" 4.5
  equal growing "$(metric ".[\"$host\"].cpu_time | map(select(. != null)) | . == sort")" true
  at_least rss "$(metric ".[\"$host\"].memory_info.rss | max")" 100000
  at_least uss "$(metric ".[\"$host\"].memory_full_info.uss | max")" 10000
  # the largest share is no less than the mean share, however little of a busy machine the job got
  at_least percent "$(metric ".[\"$host\"].cpu_percent | max")" \
    "$(metric ".[\"$host\"] | 80 * (.cpu_time | map(select(. != null)) | max - min) / (.time_stamps | last - first)")"
  at_most percent "$(metric ".[\"$host\"].cpu_percent | max")" 130
  at_least threads "$(metric ".[\"$host\"].num_threads | max")" 1
  equal parent "$(metric ".[\"$host\"].parent_proc_md.comm")" '"actor"'
  equal parent "$(metric ".[\"$host\"].parent_proc_md.pid")" "$JOB"
  equal meta "$(jq -c .host_names metrics/meta_data.json)" "[\"$host\"]"
  at_least threads "$(jq ".[\"$host\"].cpu.threads" metrics/meta_data.json)" 1
  at_least memory "$(jq ".[\"$host\"].memory_bytes" metrics/meta_data.json)" 1000000
  # the exports: every format of every file that has hosts
  files=0
  for metric in cpu_metrics perf_metrics; do
    [ "$(jq '.host_names | length' metrics/$metric.json)" -gt 0 ] || continue
    for form in csv feather h5 orc parquet pkl; do
      [ -s $metric.$form ] || fail "no $metric.$form"
    done
    files=$((files + 1))
  done
  /usr/bin/python3 -W ignore "$PL_SOURCE/tests/cli/export_check.py" perfmon . "$ID" >values
  equal files "$(wc -l <values)" "$files"
  equal rows "$(head -1 values | cut -d' ' -f1,2)" "cpu_metrics $(metric ".[\"$host\"].time_stamps | length")"
  at_least columns "$(head -1 values | cut -d' ' -f3)" 21
  # the log, and nothing left behind
  at_least lines "$(wc -l <ska_sdp_monitoring_metrics.log)" 3
  equal "other lines" "$(grep -cvE "$LINE" ska_sdp_monitoring_metrics.log || true)" 0
  grep -q " | INFO | $host | .* | job $ID of pbs" ska_sdp_monitoring_metrics.log
  [ ! -e ".ipc-$ID" ] || fail "the file that ends it is still there"
  [ ! -e configs ] || fail "configurations without -v"
}

@test "a job of OAR, with directories, names and -v" {
  new_id
  hostname >nodefile
  export OAR_JOB_ID=$ID OAR_NODEFILE=$WORK/nodefile BASE=$WORK/base
  job_of OAR_JOB_ID 2
  run --separate-stderr perfmon '-d$BASE/${BASE}x' -p "run\$OAR_JOB_ID" -i1 -c --system tycho --env='a "b": c' \
    --partition --name "x: [y]" -v
  wait $JOB
  equal status "$status" 0
  equal output "$output$stderr" ""
  host=$(hostname)
  SAVE=$WORK/base/$WORK/basex DATA=$SAVE/run$ID
  equal meta "$(jq -c ".[\"$host\"] | [.system, .partition, .env, .name]" "$DATA/metrics/meta_data.json")" \
    '["tycho",null,"a \"b\": c","x: [y]"]'
  equal hosts "$(metric .host_names)" "[\"$host\"]"
  [ ! -e "$SAVE/ska_sdp_monitoring_metrics.log" ] || fail "two logs"
  equal "other lines" "$(grep -cvE "$LINE" "$SAVE/ska_sdp_monitoring_metrics_$host.log" || true)" 0
  grep -q ' | DEBUG | ' "$SAVE/ska_sdp_monitoring_metrics_$host.log"
  config=$DATA/configs/${host}_run_config.yml
  equal system "$(grep ^system: "$config")" 'system: "tycho"'
  equal partition "$(grep ^partition: "$config")" 'partition: null'
  equal env "$(grep ^env: "$config")" 'env: "a \"b\": c"'
  equal frequency "$(grep ^sampling_freq: "$config")" 'sampling_freq: 1'
  equal check_point "$(grep ^check_point: "$config")" 'check_point: 900'
  equal scheduler "$(grep ^scheduler: "$config")" 'scheduler: "oar"'
  equal save_dir "$(grep ^save_dir: "$config")" "save_dir: \"$SAVE\""
  equal job "$(grep ^job_id: "$config")" "job_id: \"$ID\""
  equal master "$(grep ^master_node: "$config")" "master_node: \"$host\""
  # the others cannot be written as a tag
  equal tags "$(jq -c .tags "$DATA/plimsoll-$ID/job.json")" '{"system":"tycho"}'
}

@test "a batch script of Slurm: the host has its name there" {
  new_id
  ID=${ID%.test}
  export SLURM_JOB_ID=$ID SLURMD_NODENAME=gpu-17 SLURM_JOB_NODELIST="gpu-[17-18]" SLURM_NODEID=0
  job_of SLURM_JOB_ID 2
  run --separate-stderr perfmon -i 1 -d out
  wait $JOB
  equal status "$status" 0
  equal output "$output$stderr" ""
  DATA=out
  equal hosts "$(metric .host_names)" '["gpu-17"]'
  grep -q ' | gpu-17 | ' out/ska_sdp_monitoring_metrics.log
  at_least cpu "$(metric '.["gpu-17"].cpu_time | map(select(. != null)) | max')" 0.5
}

@test "FINISHED ends it although a process lives, whatever the interval is" {
  as_pbs
  sleep 300 &
  SLEEPER=$!
  perfmon -i 3600 -c 10 &
  MONITOR=$!
  for _ in $(seq 100); do
    [ -e ".ipc-$ID" ] && [ -n "$(ls plimsoll-"$ID"/*/*.smp 2>/dev/null)" ] && break
    sleep 0.1
  done
  equal word "$(cat ".ipc-$ID")" INPROGRESS
  sleep 1.5
  kill -0 $MONITOR || fail "it has ended by itself"
  begin=$(date +%s)
  echo FINISHED >".ipc-$ID"
  status=0
  wait $MONITOR || status=$?
  at_most seconds $(($(date +%s) - begin)) 8
  equal status "$status" 0
  kill -0 $SLEEPER || fail "the job was ended"
  kill $SLEEPER
  wait $SLEEPER || true
  equal end "$(jq -r .sampling.ended_by plimsoll-"$ID"/*/*.json)" finished
  equal ticks "$(metric ".[\"$(hostname)\"].time_stamps | length")" 2
  [ ! -e ".ipc-$ID" ]
}

@test "a word FINISHED of an earlier monitoring does not end this one" {
  as_pbs
  echo FINISHED >".ipc-$ID"
  touch -d '1 hour ago' ".ipc-$ID"
  job_of PBS_JOBID 2
  perfmon -i 1
  wait $JOB
  equal end "$(jq -r .sampling.ended_by plimsoll-"$ID"/*/*.json)" job
  # one that was written just now does
  echo FINISHED >".ipc-$ID"
  sleep 300 &
  SLEEPER=$!
  perfmon -i 1 -d second
  kill $SLEEPER
  wait $SLEEPER || true
  equal end "$(jq -r .sampling.ended_by second/plimsoll-"$ID"/*/*.json)" finished
}

@test "what is in the place of the file that ends it is left alone" {
  as_pbs
  mkdir ".ipc-$ID"
  job_of PBS_JOBID 2
  perfmon -i 1
  wait $JOB
  [ -d ".ipc-$ID" ]
  grep -q "WARNING .* cannot create '.*/.ipc-$ID'" ska_sdp_monitoring_metrics.log
  at_least ticks "$(metric ".[\"$(hostname)\"].time_stamps | length")" 1
}

@test "a job of several processes that come and go" {
  as_pbs
  timeout 60 sh -c "$PROGRAMS/actor burn 1200 0; $PROGRAMS/actor burn 1200 0; $PROGRAMS/actor burn 1200 0" &
  JOB=$!
  perfmon -i 1
  wait $JOB
  host=$(hostname)
  # the time of those that ended is kept
  equal growing "$(metric ".[\"$host\"].cpu_time | map(select(. != null)) | . == sort")" true
  at_least cpu "$(metric ".[\"$host\"].cpu_time | map(select(. != null)) | max")" 2.2
}

@test "a second perfmon in the same job goes on where the first ended" {
  as_pbs
  job_of PBS_JOBID 2
  perfmon -i 1
  wait $JOB
  first=$(metric ".[\"$(hostname)\"].time_stamps | length")
  sleep 1
  job_of PBS_JOBID 2
  perfmon -i 1
  wait $JOB
  at_least ticks "$(metric ".[\"$(hostname)\"].time_stamps | length")" $((first + 1))
  equal increasing "$(metric ".[\"$(hostname)\"].time_stamps | . == (sort | unique)")" true
  same_lengths metrics/cpu_metrics.json
}

# The user's other processes, this test among them, are not the job's.
@test "no process of the job: logged, status 1, no files; no other processes are taken for it" {
  as_pbs
  export PLIMSOLL_FIND=500ms
  run --separate-stderr timeout 30 setsid -w perfmon -d out
  equal status "$status" 1
  equal stdout "$output" ""
  grep -q ' | ERROR | .* | found no process of the job' out/ska_sdp_monitoring_metrics.log
  grep -q 'perfmon: error: found no process of the job' <<<"$stderr"
  [ ! -e out/metrics ]
}

@test "no process of the job on one of its nodes: it is said, and the node has reported" {
  as_pbs
  printf 'elsewhere\n%s\n' "$(hostname)" >nodefile
  export PBS_NODEFILE_LOCAL=$WORK/nodefile PLIMSOLL_FIND=500ms
  run --separate-stderr timeout 30 setsid -w perfmon -d out
  equal status "$status" 0
  grep -q "WARNING .* no process of the job runs on $(hostname) .*: nothing is sampled there" out/ska_sdp_monitoring_metrics.log
  equal reported "$(jq -c '[.host, has("end"), .sampling.ticks]' out/plimsoll-*/*/*.json)" "[\"$(hostname)\",true,null]"
  equal samples "$(cat out/plimsoll-*/*/*.smp | wc -c)" 0
}

@test "without a batch system" {
  run perfmon -d out
  equal status "$status" 1
  grep -q ' | ERROR | .* | no batch system found' out/ska_sdp_monitoring_metrics.log
}

@test "a job id that cannot be a name of a file" {
  export PBS_JOBID=../../etc
  run perfmon -d out
  equal status "$status" 1
  grep -q "ERROR .* invalid job id '../../etc'" out/ska_sdp_monitoring_metrics.log
}

@test "a hostile node file is as none" {
  as_pbs
  printf '../../../etc/passwd\n\033[31mred\n' >nodefile
  export PBS_NODEFILE_LOCAL=$WORK/nodefile
  job_of PBS_JOBID 2
  run perfmon -i 1
  wait $JOB
  equal status "$status" 0
  equal hosts "$(metric .host_names)" "[\"$(hostname)\"]"
}

@test "hosts that do not come are named, what there is is written" {
  as_pbs
  printf '%s\nelsewhere\n' "$(hostname)" >nodefile
  export PBS_NODEFILE_LOCAL=$WORK/nodefile PLIMSOLL_WAIT_HOSTS=1s
  job_of PBS_JOBID 2
  # in the place of the plots there is something else: the JSON files are there all the same
  touch plots
  run --separate-stderr perfmon -i 1 --gen_rep
  wait $JOB
  equal status "$status" 1
  [[ $output$stderr == *"no plots: cannot create directory '$WORK/plots': Not a directory"* ]] || fail "$output$stderr"
  equal hosts "$(metric .host_names)" "[\"$(hostname)\"]"
  grep -q 'WARNING .* hosts that did not report within 1 s: elsewhere' ska_sdp_monitoring_metrics.log
}

@test "a host that is not the first leaves the files to it" {
  as_pbs
  printf 'elsewhere\n%s\n' "$(hostname)" >nodefile
  export PBS_NODEFILE_LOCAL=$WORK/nodefile
  job_of PBS_JOBID 2
  run perfmon -i 1 -r
  wait $JOB
  equal status "$status" 0
  [ ! -e metrics ]
  [ ! -e plots ]
  equal report "$(find . -name 'job-report*')" ""
  at_least bytes "$(cat plimsoll-"$ID"/*/*.smp | wc -c)" 100
}

# answer FUNCTION FIELD [ARGUMENT]: a number that the recorded library gave
answer() {
  awk -v f="$1" -v n="$2" -v a="${3-}" '$1 == f && (a == "" || $3 == a) { print $n; exit }' "$PL_SOURCE/tests/fixtures/nvml/h200.answers"
}

@test "a GPU is a host of its own, with the numbers of NVIDIA's library" {
  as_pbs
  export PLIMSOLL_NVML=$PL_BUILD/tests/libnvidia-ml-fake.so FAKE_NVML_ANSWERS=$PL_SOURCE/tests/fixtures/nvml/h200.answers
  job_of PBS_JOBID 3
  run --separate-stderr perfmon -i 1
  wait $JOB
  equal "status and output" "$status$output$stderr" 0
  gpu=gpu-0.$(hostname)
  file=metrics/nv_gpu_metrics.json
  equal hosts "$(jq -c .host_names $file)" "[\"$gpu\"]"
  same_lengths $file
  equal keys "$(jq -r ".[\"$gpu\"] | keys | join(\" \")" $file)" "clock_info decoder_util ecc_errors encoder_util fan_speed \
memory_used num_procs pci_thgpt power_usage temperature time_stamps utilization_rates violation"
  equal power "$(jq ".[\"$gpu\"].power_usage[0]" $file)" "$(answer nvmlDeviceGetPowerUsage 5)"
  equal sm "$(jq ".[\"$gpu\"].clock_info.sm[0]" $file)" "$(answer nvmlDeviceGetClockInfo 6 1)"
  equal recv "$(jq ".[\"$gpu\"].pci_thgpt.recv[0]" $file)" "$(answer nvmlDeviceGetPcieThroughput 6 1)"
  # it has no fan
  equal fan "$(jq -c ".[\"$gpu\"].fan_speed | unique" $file)" '[null]'
  equal model "$(jq -r ".[\"$(hostname)\"].nv_gpus[\"gpu-0\"].name" metrics/meta_data.json)" "NVIDIA H200"
}

@test "the store takes its files and its samples, with the same numbers" {
  as_pbs
  job_of PBS_JOBID 3
  perfmon -i 1 --system tycho
  wait $JOB
  for what in . plimsoll-"$ID"; do
    export PLIMSOLL_DB=$WORK/${what#plimsoll-}.db
    plimsoll submit "$what"
    for key in num_threads memory_info.rss; do
      plimsoll series "$ID" -m "process.${key##*.}" --json |
        jq -c '[.[] | select(.entity == "job")][0].samples | map(.[1])' >got
      # samples have one more where the last two are of one second
      equal "$what $key" "$(jq -c --slurpfile want <(metric ".[\"$(hostname)\"].$key") '($want[0] | map(select(. != null))) as $w | .[:($w | length)] == $w' got)" true
    done
    equal "$what tag" "$(plimsoll show --json "$ID" | jq -r .tags.system)" tycho
  done
}

@test "options that are wrong: usage on stderr, status 2" {
  as_pbs
  for options in "--nonsense" "-x" "-i" "-i 0" "-i 1.5" "-i -5" "-i x" "-c 0" "word" "--s 1" "-e gif" "--verbose=1" "-vx" \
    "--=1" "-i 99999999999999999999"; do
    # shellcheck disable=SC2086
    run --separate-stderr perfmon -d out $options
    equal "$options" "$status" 2
    equal stdout "$output" ""
    grep -q '^usage: perfmon ' <<<"$stderr"
    grep -q '^perfmon: error: ' <<<"$stderr"
    [ ! -e out ]
  done
}

@test "help and version" {
  run perfmon --help
  equal status "$status" 0
  for option in save_dir prefix launcher sampling_freq check_point gen_report export system partition env name verbose; do
    grep -q -- "--$option" <<<"$output" || fail "no --$option"
  done
  run perfmon --version
  equal status "$status" 0
  grep -q '^perfmon [0-9]' <<<"$output"
}

@test "a directory that cannot be made" {
  as_pbs
  echo >file
  run --separate-stderr perfmon -d file/below
  equal status "$status" 1
  equal stdout "$output" ""
  grep -q "perfmon: error: cannot create directory '.*file/below'" <<<"$stderr"
}
