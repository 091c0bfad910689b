#!/usr/bin/env bats
# plimsoll monitor: the sampling loop, how it ends, what survives, several hosts, and what goes wrong.

bats_require_minimum_version 1.5.0
load lib

# The readings of one source in ./job, one JSON line each.
readings() {
  for file in job/samples.smp job/*/*.smp; do
    [ -e "$file" ] || continue
    plimsoll samples --json "$file" | jq -c "select(.event == \"reading\" and .source == \"$1\")"
  done
}

# The last value of a metric of the job's own row.
last_of_job() {
  readings process | jq -s "[.[].rows[]? | select(.kind == \"job\") | .values.$1] | map(select(. != null)) | last"
}

# wait_for COMMAND...: until it succeeds, at most 20 s
wait_for() {
  for _ in $(seq 200); do
    "$@" && return 0
    sleep 0.1
  done
  fail "waited in vain for: $*"
}

start_sleeper() {
  sleep 300 &
  SLEEPER=$!
}

end_sleeper() {
  kill "$SLEEPER" 2>/dev/null || true
  wait "$SLEEPER" 2>/dev/null || true
}

@test "a command: its status, its output, samples on the beat and a last one at its end" {
  run plimsoll monitor -q --no-submit -i 200ms -d job -- sh -c 'echo out; sleep 1.1; exit 7'
  equal status "$status" 7
  equal output "$output" out
  readings sampler >r
  at_least readings "$(wc -l <r)" 6
  # ticks are multiples of the period on the wall clock, but for the first and the last
  jq -r '.time' r | sed '1d;$d' | while read -r t; do
    ms=$(date -d "$t" +%s%3N)
    at_most "after the beat" $((ms % 200)) 60
  done
  [[ $(jq -r .sampling.ended_by job/*/*.json) == @(stop|job) ]] || fail "$(cat job/*/*.json)"
  equal lost "$(jq -r .sampling.lost job/*/*.json)" 0
  equal exitcode "$(jq -r .exitcode job/job.json)" 7
}

@test "the command that was sampled is the one that is shown, and not the script around it" {
  export PLIMSOLL_DB=$WORK/s.db
  printf '%s\n' "plimsoll monitor -q -i 100ms -- $PROGRAMS/actor sleep 300" >mon.sh
  bash mon.sh
  equal command "$(plimsoll show --json last | jq -r '.command // .facts.command')" "$PROGRAMS/actor sleep 300"
  plimsoll delete "$(plimsoll list --json | jq -r '.[0].jobid')"
  bash /dev/fd/9 9<mon.sh
  run -0 plimsoll show last
  [[ $output == *"command "*"actor sleep 300"* && $output != */dev/fd* ]] || fail "$output"
}

@test "a job that ends between two ticks gets a last sample, and the monitor ends at once" {
  sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep 1' &
  begin=$(date +%s)
  plimsoll monitor -q --no-submit -i 30s -d job --pid $!
  at_most seconds $(($(date +%s) - begin)) 10
  equal end "$(jq -r .sampling.ended_by job/*/*.json)" job
  equal ticks "$(jq -r .sampling.ticks job/*/*.json)" 2
  equal readings "$(readings sampler | wc -l)" 2
}

@test "it ends after a duration, by a signal, by a word in a file" {
  start_sleeper
  plimsoll monitor -q --no-submit -i 100ms -d job --pid "$SLEEPER" --duration 500ms
  equal end "$(jq -r .sampling.ended_by job/*/*.json)" duration
  rm -r job
  for signal in TERM INT HUP; do
    plimsoll monitor -q --no-submit -i 100ms -d job --pid "$SLEEPER" &
    monitor=$!
    wait_for sh -c 'cat job/*/*.smp 2>/dev/null | grep -q .'
    kill -s "$signal" "$monitor"
    wait "$monitor"
    equal "end by $signal" "$(jq -r .sampling.ended_by job/*/*.json)" signal
    plimsoll samples job/*/*.smp | tail -1 | grep -qx 'end: signal'
    rm -r job
  done
  echo INPROGRESS >word
  plimsoll monitor -q --no-submit -i 100s -d job --pid "$SLEEPER" --finished word &
  monitor=$!
  wait_for sh -c 'cat job/*/*.smp 2>/dev/null | grep -q .'
  echo FINISHED >word
  wait "$monitor"
  equal end "$(jq -r .sampling.ended_by job/*/*.json)" finished
  end_sleeper
}

@test "killed: what was sampled is there, at most one reading is lost" {
  start_sleeper
  plimsoll monitor -q --no-submit -i 50ms -d job --pid "$SLEEPER" &
  monitor=$!
  sleep 1.2
  kill -9 "$monitor"
  wait "$monitor" || true
  end_sleeper
  readings sampler >r
  at_least readings "$(wc -l <r)" 15
  # ticks are numbered: none is missing before the last
  equal numbers "$(jq -r '.rows[0].values.ticks' r | awk 'NR > 1 && $1 != last + 1 { bad++ } { last = $1 } END { print bad + 0 }')" 0
}

@test "a full disk: the job goes on, the loss is told, what was written stays readable" {
  start_sleeper
  run bash -c "ulimit -f 8; exec plimsoll monitor --no-submit -i 10ms --source process -d job --pid $SLEEPER --duration 3s"
  kill -0 "$SLEEPER"
  end_sleeper
  equal status "$status" 1
  [[ $output == *"samples were lost: cannot write to '"* ]] || fail "$output"
  at_least lost "$(jq -r .sampling.lost job/*/*.json)" 1
  at_least readings "$(readings sampler | wc -l)" 10
  plimsoll samples job/*/*.smp >/dev/null
}

@test "the wall clock steps: times of samples keep their distance" {
  start_sleeper
  CLOCKSTEP_AFTER=600 LD_PRELOAD="$PROGRAMS/libclockstep.so" \
    plimsoll monitor -q --no-submit -i 100ms -d job --pid "$SLEEPER" --duration 1500ms
  end_sleeper
  at_least clocks "$(plimsoll samples --json job/*/*.smp | jq -c 'select(.event == "clock")' | wc -l)" 2
  # boot time goes on as if nothing had happened: no reading is an hour behind the one before
  plimsoll samples --json job/*/*.smp | jq -c 'select(.event == "clock") | .boottime' >b
  at_most "seconds by boot time" "$(awk 'NR == 1 { a = $1 } { z = $1 } END { print z - a }' b)" 10
  at_least readings "$(readings sampler | wc -l)" 5
}

@test "readings that are held up: the two clocks are of one moment, no rate is above what there is" {
  # new processes make every look take its time
  (while :; do /bin/true; sleep 0.05; done) 3>&- &
  other=$!
  start_sleeper
  LD_PRELOAD="$PROGRAMS/liblatereads.so" plimsoll monitor -q --no-submit -i 200ms --source pressure --source process -d job \
    --pid "$SLEEPER" --duration 2100ms
  end_sleeper
  kill "$other"
  plimsoll samples --json job/*/*.smp >all
  # the first reading and the last each have both clocks
  jq -r 'select(.event == "clock") | "\(.time) \(.boottime)"' all | python3 -c '
import datetime, sys
offsets = []
for line in sys.stdin:
    time, boot = line.split()
    offsets.append(datetime.datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() - float(boot))
print(len(offsets), (max(offsets) - min(offsets)) * 1000)' >spread
  at_least 'pairs of clocks' "$(cut -d' ' -f1 spread)" 2
  at_most 'ms that they differ by' "$(cut -d' ' -f2 spread)" 2
  [ -r /proc/pressure/io ] || skip "no pressure stall information in this kernel"
  # something waits all the time: what the totals grow by is the time between the readings
  plimsoll series --json -m pressure.cpu_some -m pressure.io_full --rate job >rates
  equal curves "$(jq length rates)" 2
  at_least 'lowest rate' "$(jq '[.[].samples[][1]] | min' rates)" 990000
  at_most 'highest rate' "$(jq '[.[].samples[][1]] | max' rates)" 1010000
}

@test "a small budget makes it sample less often, and says so" {
  start_sleeper
  plimsoll monitor -q --no-submit -i 20ms -d job --pid "$SLEEPER" --budget 0.00001 --duration 7s
  end_sleeper
  at_least stretch "$(jq -r .sampling.stretch_max job/*/*.json)" 2
  equal sampled "$(readings sampler | jq -s 'map(.rows[0].values.stretch) | max >= 2')" true
}

@test "no process, no such process, nonsense: one line and the right status" {
  run plimsoll monitor --no-submit --pid 99999999 -d job
  equal status "$status" 1
  [[ $output == *"no process"* ]] || fail "$output"
  for bad in '--interval 1ms' '--interval x' '--budget 200%' '--budget x' '--source nosuch' '--period system' '--pid 0' '--pid 1x'; do
    # shellcheck disable=SC2086
    run plimsoll monitor --no-submit $bad
    equal "status of $bad" "$status" 2
    equal "lines of $bad" "$(grep -c 'monitor' <<<"$output")" 1
  done
  run plimsoll monitor --pid 1 -- true
  equal status "$status" 2
  run -127 --separate-stderr plimsoll monitor --no-submit -d job -- /no/such/command
  equal "one line" "$stderr" "plimsoll: error: cannot run '/no/such/command': No such file or directory"
  [ ! -e job ] || fail "a directory was left"
}

@test "hosts: the first waits for the others and puts all together" {
  start_sleeper
  for n in 1 0; do
    SLURM_JOB_ID=77 SLURM_STEP_ID=3 SLURM_STEP_NODELIST='n[1-2]' SLURM_NODEID=$n SLURMD_NODENAME=n$((n + 1)) \
      plimsoll monitor -q -i 100ms -d job --pid "$SLEEPER" --duration $((1 + n))s &
    monitors[n]=$!
  done
  wait "${monitors[@]}"
  end_sleeper
  equal files "$(find job -name '*.smp' | wc -l)" 1
  equal hosts "$(plimsoll samples --json job/samples.smp | jq -r 'select(.event == "head") | .host' | sort | xargs)" 'n1 n2'
  equal ends "$(plimsoll samples --json job/samples.smp | jq -c 'select(.event == "end")' | wc -l)" 2
  equal missing "$(jq -r '.missing_hosts // "none"' job/job.json)" none
  equal job "$(jq -r .jobid job/job.json)" 77
}

@test "a host that never reports is named, and its samples stay" {
  start_sleeper
  for n in 2 0; do
    SLURM_JOB_ID=78 SLURM_STEP_ID=3 SLURM_STEP_NODELIST='n[1-3]' SLURM_NODEID=$n SLURMD_NODENAME=n$((n + 1)) \
      plimsoll monitor -i 100ms -d job --pid "$SLEEPER" --duration $((n * 30 + 1))s --wait-hosts 2s 2>err.$n &
    monitors[n]=$!
  done
  wait "${monitors[0]}"
  kill -9 "${monitors[2]}"
  wait "${monitors[2]}" || true
  end_sleeper
  grep -q 'did not report within 2 s: n2 n3' err.0 || fail "$(cat err.0)"
  equal missing "$(jq -r .missing_hosts job/job.json)" 'n2 n3'
  equal merged "$(plimsoll samples --json job/samples.smp | jq -r 'select(.event == "head") | .host')" n1
  equal beside "$(plimsoll samples --json job/n3.*/*.smp | jq -r 'select(.event == "head") | .host')" n3
}

@test "run --sample: records and curves of one job, the program untouched" {
  plimsoll run -q --no-submit -o job --sample 100ms -- "$PROGRAMS/actor" print >out 2>err || true
  plimsoll run -q --no-submit -o plain -- "$PROGRAMS/actor" print >out2 2>err2 || true
  cmp out out2
  cmp err err2
  rm -rf job
  plimsoll run -q --no-submit -o job --sample 100ms -- sh -c 'sleep 1.5; exit 5' || status=$?
  equal status "$status" 5
  equal records "$(find job -name '*.rec' | wc -l)" 1
  equal samples "$(find job -name '*.smp' | wc -l)" 1
  at_least readings "$(readings sampler | wc -l)" 6
  equal run "$(plimsoll samples --json job/*/*.smp | jq -r 'select(.event == "head") | .run')" "$(jq -r .run job/*/*.json)"
  run plimsoll run --sample 1ms -- true
  equal status "$status" 2
}

@test "a device that never answers: the rest is sampled, the reason is told, the end is not held up" {
  export PLIMSOLL_NVML="$PROGRAMS/libnvidia-ml-fake.so" FAKE_NVML_ANSWERS="$PL_SOURCE/tests/fixtures/nvml/h200.answers"
  plimsoll monitor -q --no-submit -i 100ms -d good -- sleep 1
  equal state "$(jq -r .sampling.sources.nvidia good/*/*.json)" sampled
  mw=$(awk '/^nvmlDeviceGetPowerUsage gpu0 = 0/ { print $5 }' "$FAKE_NVML_ANSWERS")
  plimsoll samples --json good/*/*.smp | jq -es --argjson mw "$mw" 'any(.event == "reading" and .source == "nvidia" and .rows[0].values.power == $mw / 1000)' >/dev/null
  for call in nvmlInit_v2 nvmlDeviceGetPowerUsage; do
    begin=$(date +%s)
    FAKE_NVML_HANG=$call plimsoll monitor -q --no-submit -i 100ms -d job -- sleep 1
    at_most seconds $(($(date +%s) - begin)) 8
    equal state "$(jq -r .sampling.sources.nvidia job/*/*.json)" 'did not answer before the end'
    at_least readings "$(readings sampler | wc -l)" 4
    rm -r job
  done
  equal sources "$(FAKE_NVML_HANG=nvmlInit_v2 plimsoll sources --json | jq -r '.[] | select(.name == "nvidia") | .state')" hangs
}

@test "a GPU whose dear values cost much: every reading of the rest is kept, and a last one of all" {
  export PLIMSOLL_NVML="$PROGRAMS/libnvidia-ml-fake.so" FAKE_NVML_ANSWERS="$PL_SOURCE/tests/fixtures/nvml/h200.answers"
  export FAKE_NVML_DELAY='nvmlDeviceGetPcieThroughput=21 nvmlDeviceGetTotalEnergyConsumption=16b nvmlDeviceGetViolationStatus=3b'
  # on a machine that others use, the last reading may come too late: it is tried twice
  for _ in 1 2; do
    rm -rf job
    plimsoll monitor -q --no-submit -i 250ms -d job -- sleep 8
    plimsoll samples --json job/*/*.smp | jq -c 'select(.event == "reading")' >all
    ! jq -es 'map(select(.source == "nvidia")) | last | .rows[0].values | has("energy")' all >/dev/null || break
  done
  ticks=$(jq -s '[.[] | select(.source == "sampler")] | length' all)
  at_least ticks "$ticks" 25
  jq -c 'select(.source == "nvidia") | .rows[0].values' all >gpu
  at_least 'readings of the GPU' "$(jq -s '[.[] | select(.power and .utilization_gpu != null and .memory_used)] | length' gpu)" $((ticks - 3))
  equal 'the first and the last have the energy' "$(jq -cs '[first, last | has("energy")]' gpu)" '[true,true]'
  equal 'a rate after the end' "$(jq -cs 'last | has("pcie_tx")' gpu)" false
  at_most 'readings with the energy' "$(jq -s '[.[] | select(.energy)] | length' gpu)" 4
}

# bats test_tags=perfmon
@test "layout perfmon: its four files beside our own" {
  plimsoll monitor -q --no-submit -i 1s --layout perfmon -d job -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; sleep 1.5'
  host=$(jq -r '.host_names[0]' job/metrics/cpu_metrics.json)
  equal frequency "$(jq .sampling_frequency job/metrics/cpu_metrics.json)" 1
  equal lengths "$(jq -r --arg h "$host" '.[$h] | [(.time_stamps, .cpu_time, .cpu_percent, .memory_info.rss) | length] | unique | length' job/metrics/cpu_metrics.json)" 1
  at_least "CPU time" "$(jq --arg h "$host" '.[$h].cpu_time | map(select(. != null)) | max' job/metrics/cpu_metrics.json)" 0.05
  jq -e . job/metrics/meta_data.json >/dev/null
  at_least readings "$(readings sampler | wc -l)" 3
  run plimsoll monitor --layout nonsense -- true
  equal status "$status" 2
}

@test "the account of the control group closes the books: what is itemised, what is residue" {
  [ "$(id -u)" = 0 ] || skip "only root makes control groups"
  group=/sys/fs/cgroup/cpuacct/plimsoll-books-$$
  mkdir "$group" 2>/dev/null || skip "no control group can be made here"
  # what is in the group from the beginning, and short ones of a parent that is not in it; both use CPU when readings have begun
  sh -c "echo \$\$ >$group/cgroup.procs; while [ ! -e go ]; do sleep 0.1; done; exec '$PROGRAMS/actor' burn 2000 0" &
  burner=$!
  (
    for _ in $(seq 300); do ls job/*/*.smp >/dev/null 2>&1 && break || sleep 0.1; done
    sleep 1.5
    : >go
    for _ in 1 2 3 4 5; do sh -c "echo \$\$ >$group/cgroup.procs; exec '$PROGRAMS/actor' burn 60 0"; done
  ) &
  plimsoll monitor -q --no-submit -i 1s -d job --cgroup "plimsoll-books-$$" || true
  wait
  for _ in $(seq 50); do rmdir "$group" 2>/dev/null && break || sleep 0.1; done
  wait "$burner" 2>/dev/null || true
  jq .sampling job/*/*.json >facts
  at_least "CPU of the group" "$(jq .cgroup_cpu_us facts)" 2250000
  equal books "$(jq '.cgroup_cpu_us - .itemised_cpu_us == .residue_cpu_us' facts)" true
  # the short ones, 60 ms each, may be residue; what ran all the time may not, but for its end where nobody tells of it
  local itemised=1950000
  ! in_container || itemised=850000
  at_least itemised "$(jq .itemised_cpu_us facts)" "$itemised"
  # and nothing is counted twice
  at_least residue "$(jq .residue_cpu_us facts)" -100000
}

@test "a batch job: no level is taken for 0 while its end is waited for, and what it used stays" {
  export PBS_JOBID=$$7.server PLIMSOLL_WAIT_HOSTS=1s
  (
    "$PROGRAMS/actor" burn 2500 0 || true
    date +%s%6N >ended
  ) 3>&- &
  plimsoll monitor -q -i 200ms --source process --no-submit -d job
  wait
  plimsoll samples --json job/*/*.smp | jq -c 'select(.event == "reading" and .source == "process") | .rows[] | select(.kind == "job") | .values' >rows
  # its end is waited for for 3 s, 15 readings: they are not the job's, nor are the seconds
  at_least "readings without a process" "$(jq -s '[.[] | select(has("rss") | not)] | length' rows)" 1
  at_most "readings without a process" "$(jq -s '[.[] | select(has("rss") | not)] | length' rows)" 3
  at_most "end after its last process, us" $(($(jq .stop_us job/job.json) - $(cat ended))) 2000000
  equal zeros "$(jq -s '[.[] | select(.rss == 0 or .num_threads == 0)] | length' rows)" 0
  at_least "CPU at the end" "$(jq -s 'last | .usertime + .systemtime' rows)" 2000000
  plimsoll submit -q --db store.db job
  plimsoll series --db store.db --json "$(basename "$(jq -r .jobid job/job.json)")" >series.json
  equal mean "$(jq '[.[] | select(.metric == "process.num_threads" and .entity_kind == "job")][0] | .mean == .maximum' series.json)" true
}

@test "a batch job that pauses between two commands goes on being sampled" {
  export PBS_JOBID=$$8.server PLIMSOLL_WAIT_HOSTS=1s
  (
    "$PROGRAMS/actor" burn 600 0
    sleep 0.1 # of the job, too
    env -u PBS_JOBID sleep 1.2
    "$PROGRAMS/actor" burn 2500 0 # long enough to be seen on a busy machine
  ) 3>&- &
  plimsoll monitor -q -i 200ms --source process --no-submit -d job
  wait
  plimsoll samples --json job/*/*.smp | jq -c 'select(.event == "reading" and .source == "process") | .rows[] | select(.kind == "job") | .values' >rows
  at_least "CPU of both" "$(jq -s 'last | .usertime + .systemtime' rows)" 1200000
}

# ---- cut off ------------------------------------------------------------------------------------------

# until some readings are there
sampled_some() {
  for _ in $(seq 300); do [ "$(readings sampler 2>/dev/null | wc -l)" -ge 3 ] && return; sleep 0.05; done
  fail "nothing was sampled"
}

@test "a command under a monitor that is told to end from outside: stored, and it says so" {
  export PLIMSOLL_DB=$PWD/store.db
  plimsoll monitor -q -i 100ms -d job -- sleep 300 &
  pid=$!
  sampled_some
  kill -TERM $pid
  wait $pid || true
  equal facts "$(jq -r .cut_off.signal job/*/*.json)" 15
  equal show "$(plimsoll show --json | jq -r .cut_off)" 'SIGTERM came from outside'
  # one whose command ended by itself was not cut off
  plimsoll monitor -q -i 100ms -d whole -- sleep 0.3
  equal whole "$(plimsoll show --json | jq -r .cut_off)" null
}

@test "a monitor beside a job at the time limit: stored, and it says that the job was cut off there" {
  export PLIMSOLL_DB=$PWD/store.db
  start_sleeper
  SLURM_JOB_END_TIME=$(date +%s) plimsoll monitor -q -i 100ms -d job --pid "$SLEEPER" &
  pid=$!
  sampled_some
  kill -TERM $pid
  wait $pid || true
  equal show "$(plimsoll show --json | jq -r .cut_off)" 'SIGTERM came from outside, at the time limit of the batch job'
  # before the limit nobody knows what became of the job; who types ^C wants no more
  rm -r job
  plimsoll monitor -q -i 100ms -d job --pid "$SLEEPER" &
  pid=$!
  sampled_some
  setsid sh -c "kill -TERM $pid; :"
  wait $pid || true
  equal before "$(plimsoll show --json | jq -r .cut_off)" 'SIGTERM ended the monitor while the job ran: what happened later is unknown'
  # a script that ends the monitor which it began wants no more
  rm -r job
  plimsoll monitor -q -i 100ms -d job --pid "$SLEEPER" &
  pid=$!
  sampled_some
  kill -TERM $pid
  wait $pid || true
  equal "by the script" "$(plimsoll show --json | jq -r .cut_off)" null
  plimsoll monitor -q -i 100ms -d third --pid "$SLEEPER" --duration 300ms
  equal duration "$(plimsoll show --json | jq -r .cut_off)" null
  end_sleeper
}

@test "a monitor that is killed: its directory can be submitted, and says that it was cut off" {
  export PLIMSOLL_DB=$PWD/store.db
  start_sleeper
  plimsoll monitor -q -i 100ms -d job --pid "$SLEEPER" &
  pid=$!
  sampled_some
  run -1 plimsoll submit job
  [[ $output == *'has not been stopped'* ]] || fail "$output"
  kill -KILL $pid
  wait $pid || true
  end_sleeper
  plimsoll submit -q job
  equal show "$(plimsoll show --json | jq -r .cut_off)" 'the monitor was killed: the end of the job is unknown'
  equal duration "$(plimsoll list --json | jq -c '.[0].duration > 100000')" true
  at_least curves "$(plimsoll series --json | jq length)" 3
}

@test "a monitor beside a batch job says what stores its samples, and series that they may be there" {
  export PLIMSOLL_DB=$WORK/store.db SLURM_JOB_ID=888
  plimsoll start -q
  plimsoll run -q -- sleep 3 &
  local command=$!
  sleep 0.5
  plimsoll monitor -i 100ms -p "$command" 2>err &
  local monitor=$!
  sleep 1
  kill -TERM "$monitor"
  wait "$monitor" || true
  wait "$command"
  plimsoll stop -q
  plimsoll submit -q
  equal "last line" "$(tail -n 1 err)" "plimsoll: these samples are not in the store: \`plimsoll submit plimsoll-888\` adds them to job 888"
  run --separate-stderr plimsoll series 888
  equal status "$status" 1
  [[ $stderr == *"the job was not sampled; "*"\`plimsoll submit plimsoll-JOB\` stores them"* ]] || fail "$stderr"
  plimsoll submit -q plimsoll-888
  run -0 --separate-stderr plimsoll series 888
  [[ $output == *process.* ]] || fail "$output"
}

@test "a process that is watched gives the job its name and command; how it ended is not made up" {
  export PLIMSOLL_DB=$PWD/store.db
  bash -c 'exec -a ./sim sleep 60' &
  SLEEPER=$!
  until [ "$(tr '\0' ' ' <"/proc/$SLEEPER/cmdline")" = './sim 60 ' ]; do sleep 0.02; done
  plimsoll monitor -q -i 100ms -d job --pid "$SLEEPER" --duration 300ms
  equal name "$(plimsoll show --json | jq -c '[.jobname, .command]')" '["sim","./sim 60"]'
  plimsoll monitor -q -i 100ms -d named --name other --pid "$SLEEPER" --duration 300ms
  equal 'a name that was given' "$(plimsoll show --json | jq -r .jobname)" other
  end_sleeper
  run -3 plimsoll monitor -q -i 100ms -d failed -- sh -c 'sleep 0.3; exit 3'
  equal failed "$(plimsoll report --json | jq -r '.findings[0] | .title + ": " + .advice')" \
    'it failed with exit status 3: Look at its output; `plimsoll run` also records how each process ended.'
}

@test "a source that was asked for and gives nothing is named with the reason" {
  plimsoll sources --json >sources.json
  name=$(jq -r '[.[] | select(.name == "lustre" or .name == "gpfs" or .name == "amdgpu") | select(.state != "ok")][0].name' sources.json)
  [ "$name" != null ] || skip "every source can be used here"
  run -0 --separate-stderr plimsoll monitor --no-submit -i 100ms -d job --source process --source "$name" -- sleep 0.3
  [[ $stderr == *"warning: source $name gave nothing: "* ]] || fail "$stderr"
  [[ $stderr != *"source process gave"* ]] || fail "$stderr"
  run -0 --separate-stderr plimsoll monitor --no-submit -i 100ms -d other -- sleep 0.3
  [[ $stderr != *'gave nothing'* ]] || fail "$stderr"
}

@test "samples of a directory says what to name, and sample says that there is nothing to read" {
  mkdir dir
  run --separate-stderr plimsoll samples dir
  equal status "$status" 1
  equal said "$stderr" "plimsoll: error: 'dir' is a directory; name a sample file in it (*.smp), or use \`plimsoll series\` for a whole job"
  mkdir -p tree/proc tree/sys/fs/cgroup
  run -0 --separate-stderr plimsoll sample --root "$PWD/tree" -s jobs -s jobproc
  equal rows "$output" ""
  [[ $stderr == *"jobs: nothing to read: there is no job on this node"* ]] || fail "$stderr"
  [[ $stderr == *"jobproc: nothing to read: there is no job on this node"* ]] || fail "$stderr"
}

@test "a directory removed by submit --remove while a monitor begins is created again" {
  python3 "$PL_SOURCE/tests/cli/locked.py" job remove plimsoll monitor -q --no-submit -i 50ms -d job -- sleep 0.2
  equal job "$(jq -r '.exitcode, .jobname' job/job.json | xargs)" "0 sleep"
  equal command "$(jq -c .command job/*/*.json)" '["sleep","0.2"]'
  at_least samples "$(readings process | wc -l)" 2
}

@test "the end of a monitor and of its job are written under one lock" {
  # shellcheck disable=SC2016
  equal "while somebody has the lock" "$(python3 "$PL_SOURCE/tests/cli/locked.py" job end \
    plimsoll monitor -q --no-submit -i 50ms -d job -- sh -c 'until [ -e go ]; do sleep 0.05; done')" open
  equal ends "$(jq -s '[.[] | has("end") or has("stop_us")] | all' job/job.json job/*/*.json)" true
  rm go
  # a host may have another name in the job than it has for the kernel
  SLURM_JOB_ID=79 SLURM_STEP_ID=3 SLURM_STEP_NODELIST=n1 SLURM_NODEID=0 SLURMD_NODENAME=n1 \
    plimsoll monitor -q --no-submit -i 50ms -d job -- sh -c 'until [ -e go ]; do sleep 0.05; done' &
  local monitor=$!
  wait_for eval 'ls job/n1.*/*.json >/dev/null 2>&1'
  export PLIMSOLL_DB=$WORK/store.db
  run --separate-stderr plimsoll submit --remove job
  equal status "$status" 1
  [[ $stderr == *"'job' was submitted but is kept: plimsoll monitor (pid $monitor) still records to it"* ]] || fail "$stderr"
  touch go
  wait $monitor
  plimsoll submit -q --remove job
  [ ! -e job ] || fail "not removed"
}
