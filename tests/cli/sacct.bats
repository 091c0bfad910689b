#!/usr/bin/env bats
# bats file_tags=epmt
# plimsoll import sacct: the accounting of Slurm joined to stored jobs. The files are written here, in the format that
# `sacct --parsable2` documents. Jobs of the store start at 2020-09-13 12:26:40 UTC.

bats_require_minimum_version 1.5.0
load store

HEADER='JobID|JobIDRaw|JobName|User|Account|Partition|QOS|State|ExitCode|Submit|Start|End|Elapsed|Timelimit|ReqMem|ReqCPUS|AllocTRES|NNodes|NodeList|MaxRSS|ConsumedEnergy'

# stored ID...: jobs of EPMT with these ids
stored() {
  export TZ=UTC
  use_store
  for id in "$@"; do make_job "job-$id" --id "$id"; done
  plimsoll submit -q job-*
}

# annotations JOB [JQ]: those of sacct, without the prefix
annotations() {
  plimsoll show --json "$1" | jq -c "[.annotations | to_entries[] | select(.key | startswith(\"sacct.\"))] | map({(.key[6:]): .value}) | add ${2:-}"
}

# bats test_tags=engine
@test "jobs, array tasks and steps, with their units" {
  stored 41 42 43
  cat >file <<F
$HEADER
41|41|first||proj|main|normal|COMPLETED|0:0|2020-09-13T12:20:00|2020-09-13T12:26:00|2020-09-13T13:26:00|01:00:00|1-02:03:04|4Gn|16|cpu=16,gres/gpu=4,mem=8G,node=2|2|n[1-2]||2.5K
41.batch|41.batch|batch||proj|||COMPLETED|0:0||2020-09-13T12:26:00|2020-09-13T13:26:00|01:00:00||||cpu=8|1|n1|1180K|0
41.extern|41.extern|extern||proj|||COMPLETED|0:0||2020-09-13T12:26:00|2020-09-13T13:26:00|01:00:00||||cpu=16|2|n[1-2]|0|0
41.0|41.0|model||proj|||FAILED|1:0||2020-09-13T12:26:10|2020-09-13T13:00:00|33:50.250||||cpu=16|2|n[1-2]|5266672K|1.2K
40_2|42|array||proj|gpu|high|CANCELLED by 1000|0:15|2020-09-13T12:20:00|2020-09-13T12:26:00|2020-09-13T12:30:00|00:04:00|UNLIMITED|2000Mc|2|cpu=2|1|n1||
99|99|other||proj|main|normal|PENDING|0:0|2020-09-13T12:20:00|Unknown|Unknown|00:00:00|Partition_Limit|4G|2||1|None assigned||
F
  run -0 --separate-stderr plimsoll import sacct file
  equal said "$output" "joined the accounting of 2 jobs"
  equal warned "$stderr" "plimsoll: warning: 1 of 3 jobs of the file is not in the store; -v lists them"
  equal first "$(annotations 41 '| del(.steps)')" '{"account":"proj","alloc_gpus":4,"alloc_nodes":2,"alloc_tres":"cpu=16,gres/gpu=4,mem=8G,node=2","consumed_energy":2500,"elapsed":3600,"end":"2020-09-13T13:26:00.000000+00:00","exit_code":0,"exit_signal":0,"jobid":"41","jobname":"first","max_rss":5393072128,"nodelist":"n[1-2]","partition":"main","qos":"normal","req_cpus":16,"req_mem":4294967296,"req_mem_per":"node","start":"2020-09-13T12:26:00.000000+00:00","state":"COMPLETED","step_count":3,"submit":"2020-09-13T12:20:00.000000+00:00","timelimit":93784}'
  equal steps "$(annotations 41 '| .steps | map([.step, .state, .exit_code, .elapsed, .max_rss])')" '[["batch","COMPLETED",0,3600,1208320],["extern","COMPLETED",0,3600,0],["0","FAILED",1,2030.25,5393072128]]'
  equal task "$(annotations 42 '| [.jobid, .state, .cancelled_by, .exit_signal, .timelimit, .req_mem, .req_mem_per]')" '["40_2","CANCELLED","1000",15,"unlimited",2097152000,"cpu"]'
  equal "not in the file" "$(annotations 43)" null
  equal sql "$(ask "SELECT jobid FROM job_annotations WHERE key = 'sacct.state' AND value = '\"CANCELLED\"'")" 42
  run -0 plimsoll import sacct -v --dry-run file
  [[ $output == *"would join the accounting of 2 jobs"* && $output == *"job 99: not in the store"* ]] || fail "$output"
}

# The files of tests/fixtures/sacct are the output of sacct 22.05.8 with slurmdbd, of jobs that completed, failed, were
# cancelled or timed out, of an array, and of steps; names and the day were changed.
# bats test_tags=engine
@test "what a real sacct printed, in three formats" {
  stored 7000 7001 7002 7003 7004 7007 7008 7009
  local F=$PL_SOURCE/tests/fixtures/sacct
  equal documented "$(plimsoll import sacct --json "$F/22.05-documented.txt")" '{"jobs":8,"steps":10,"joined":8,"not_stored":0,"ambiguous":0,"older_runs":0}'
  equal states "$(for id in 7000 7001 7002 7003 7004 7007 7008 7009; do annotations $id '| [.jobid, .state, .cancelled_by, .exit_code, .timelimit]'; done | tr -d '\n')" \
    '["7000","TIMEOUT",null,0,60]["7001","COMPLETED",null,0,"unlimited"]["7002_3","COMPLETED",null,0,"unlimited"]["7003","FAILED",null,1,"unlimited"]["7004","CANCELLED","0",0,"unlimited"]["7007","FAILED",null,9,"unlimited"]["7002_1","COMPLETED",null,0,"unlimited"]["7002_2","FAILED",null,1,"unlimited"]'
  equal job "$(annotations 7001 '| [.user, .cluster, .account, .req_cpus, .req_mem, .alloc_nodes, .nodelist, .total_cpu, .max_rss, .elapsed, .step_count]')" \
    '["alice","plimsoll","alice",2,209715200,2,"n[1-2]",0.235,85479424,3,3]'
  equal steps "$(annotations 7001 '| .steps | map([.step, .state, .exit_code, .alloc_nodes, .total_cpu])')" \
    '[["batch","COMPLETED",0,1,0.23],["0","COMPLETED",0,2,0.003],["1","FAILED",3,1,0.002]]'
  # every column that sacct has
  equal all "$(plimsoll import sacct --json "$F/22.05-all.txt" | jq -c '[.jobs, .steps, .joined]')" '[6,6,6]'
  equal task "$(annotations 7009 '| [.jobid, .jobname, .state, .user_cpu, .system_cpu, .ntasks, .alloc_cpus, .planned, .workdir]')" \
    '["7002_2","array","FAILED",0.001,0.004,1,1,0,"/home/alice/jobs"]'
  # the default columns with --parsable: a bar at the end, no JobIDRaw, and a name with a bar in it
  equal default "$(plimsoll import sacct --json "$F/22.05-default-parsable.txt" | jq -c '[.jobs, .steps, .joined, .not_stored]')" '[8,10,5,3]'
  equal name "$(annotations 7001 .jobname)" '"okay | piped"'
}

# bats test_tags=engine
@test "importing again replaces, and leaves other annotations alone" {
  stored 41
  plimsoll annotate 41 sacct=mine note2=kept
  printf 'JobIDRaw|State|Account\n41|RUNNING|old\n' | plimsoll import sacct -q -
  equal first "$(annotations 41)" '{"account":"old","state":"RUNNING","step_count":0}'
  equal json "$(printf 'State|JobIDRaw\nCOMPLETED|41\n' | plimsoll import sacct --json -)" '{"jobs":1,"steps":0,"joined":1,"not_stored":0,"ambiguous":0,"older_runs":0}'
  equal second "$(annotations 41)" '{"state":"COMPLETED","step_count":0}'
  # steps alone change what steps have
  printf 'JobIDRaw|State|MaxRSS\n41.0|COMPLETED|1K\n' | plimsoll import sacct -q -
  equal steps "$(annotations 41 '| del(.steps)')" '{"max_rss":1024,"state":"COMPLETED","step_count":1}'
  equal others "$(plimsoll show --json 41 | jq -c '.annotations | [.sacct, .note2]')" '["mine","kept"]'
}

# bats test_tags=engine
@test "the job is that of the time, the user and the cluster, and the nearest run of it" {
  stored 41
  printf 'JobIDRaw|Start|State\n41|2024-01-01T00:00:00|COMPLETED\n' >later
  equal time "$(plimsoll import sacct --json later | jq -c '[.joined, .not_stored]')" '[0,1]'
  printf 'JobIDRaw|Start|User\n41|2020-09-13T12:26:00|root\n' >user
  change "UPDATE job SET username = 'daemon', cluster = 'blue'"
  equal user "$(plimsoll import sacct --json user | jq -c '[.joined, .not_stored]')" '[0,1]'
  printf 'JobIDRaw|Start|Cluster\n41|2020-09-13T12:26:00|green\n' >cluster
  equal cluster "$(plimsoll import sacct --json cluster | jq -c '[.joined, .not_stored]')" '[0,1]'
  # requeued: the first run is nearer to what is stored, in whichever order
  printf 'JobIDRaw|Start|State\n41|2020-09-13T12:26:30|REQUEUED\n41|2020-09-13T15:00:00|COMPLETED\n' >twice
  equal twice "$(plimsoll import sacct --json twice | jq -c '[.jobs, .joined, .older_runs]')" '[2,1,1]'
  equal state "$(annotations 41 .state)" '"REQUEUED"'
  sed -n '1p;3p' twice >back
  sed -n 2p twice >>back
  plimsoll import sacct -q back
  equal state "$(annotations 41 .state)" '"REQUEUED"'
  # two stored jobs of an id: by the time, else unclear
  change "INSERT INTO job (no, jobid, start_us, end_us, cpu_us, num_procs, num_threads, peak_procs, peak_threads, bytes, format, ingested_us, nth) VALUES (77, '41', 1700000000000000, 1700000001000000, 0, 0, 0, 0, 0, 0, 'test', 1, 1)"
  printf 'JobIDRaw|Start|State\n41|2023-11-14T22:13:00|TIMEOUT\n' | plimsoll import sacct -q -
  equal second "$(ask "SELECT value FROM job_annotations WHERE job = 77 AND key = 'sacct.state'")" '"""TIMEOUT"""'
  equal first "$(ask "SELECT value FROM job_annotations WHERE job <> 77 AND key = 'sacct.state'")" '"""REQUEUED"""'
  run -0 plimsoll import sacct - <<<$'JobIDRaw|State\n41|FAILED'
  [[ $output == *"1 job may be one of several stored jobs; add the column Start"* ]] || fail "$output"
}

# bats test_tags=engine
@test "an array task is found by its name where the file has no JobIDRaw" {
  stored 41
  local meta='{"scheduler":{"name":"slurm","array_job":"40","array_task":"7"}}'
  change "UPDATE job_meta SET json = CAST('$meta' AS $([ "$PL_ENGINE" = sqlite ] && echo BLOB || echo bytea))"
  printf 'JobID|Start|State\n40_7|2020-09-13T12:26:00|COMPLETED\n40_8|2020-09-13T12:26:00|FAILED\n' >file
  equal joined "$(plimsoll import sacct --json file | jq -c '[.joined, .not_stored]')" '[1,1]'
  equal state "$(annotations 41 .state)" '"COMPLETED"'
}

# bats test_tags=engine
@test "an invalid line names file, line and column, and nothing is stored" {
  stored 41 42
  while IFS='|' read -r lines want; do
    printf '%b' "${lines//;/|}" >bad.txt
    run -1 plimsoll import sacct bad.txt
    [[ $output == "plimsoll: error: bad.txt:$want"*"; nothing was stored" ]] || fail "$lines: $output"
    equal stored "$(ask "SELECT count(*) FROM job_annotations WHERE key LIKE 'sacct%'")" 0
  done <<'B'
JobIDRaw;State\n41;COMPLETED\n42\n|3: 1 fields, but the header has 2
JobIDRaw;NNodes\n41;1\n42;many\n|3: NNodes: 'many' is not a number
JobIDRaw;Start\n41;tomorrow\n|2: Start: 'tomorrow' is not a time
JobIDRaw;State\n41;COMPLETED\nx';OK\n|3: JobIDRaw: 'x'' is not a job id
       JobID    State\n------- -----\n|1: this is not a header of `sacct --parsable2`
{\n  "meta": {\n|1: this is JSON; let sacct print --parsable2 instead of --json
JobIDRaw;State\n41;COMPLETED\n42;\0\n|3: the line contains a NUL byte
B
  : >empty
  run -1 plimsoll import sacct empty
  [[ $output == *"empty: there is no header of"* ]] || fail "$output"
  run -1 plimsoll import sacct nosuch
  [[ $output == *"cannot open 'nosuch': No such file"* ]] || fail "$output"
  run -1 plimsoll import sacct .
  head -c 1100000 /dev/zero | tr '\0' x >long
  run -1 plimsoll import sacct long
  [[ $output == *"long:1: the line is longer than 1 MiB"* ]] || fail "$output"
  run -2 plimsoll import pbs file
  [[ $output == *"unknown kind 'pbs'; known kinds: sacct"* ]] || fail "$output"
  run -2 plimsoll import sacct
}

@test "names of anybody: separators, control characters and secrets" {
  stored 41
  printf 'JobIDRaw|JobName|State\n41|a|b \x1b[31m\xff|FAILED\n' | plimsoll import sacct -q -
  equal name "$(annotations 41 .jobname)" '"a|b \\x1b[31m\\xff"'
  printf 'JobIDRaw|SubmitLine\n41|sbatch --export=API_TOKEN=hunter2 job.sh\n' | plimsoll import sacct -q -
  [[ $(annotations 41 .submit_line) != *hunter2* ]] || fail "$(annotations 41)"
}
