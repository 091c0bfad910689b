#!/usr/bin/env bats
# --where of the commands that work on several jobs: each takes exactly the jobs that the filter selects, and no others.
# The language is tested in filter.bats. PL_ENGINE chooses the engine, as for store.bats.

bats_require_minimum_version 1.5.0
load store
load three_jobs

# Three jobs with a filter for each, and one whose names are hostile; all have executables, tags and CPU times of their own.
four_jobs() {
  three_jobs
  job "x';DROP--" <<'J'
{"name": "a\" OR 1=1 --", "user": "mallory", "start": 200000, "end": 200010, "tags": {"exp": "'; DELETE FROM job; --", "run": "%"},
 "procs": [{"pid": 11, "ppid": 1, "exename": "evil' OR '1'='1", "start": 200000, "end": 200010, "usertime": 70000, "tags": "op:x' OR 1=1;n:%"}]}
J
}

# Filters, and the jobs that they select.
filters() {
  cat <<'L'
user = alice|Alpha_3 alpha-1
user = alice, bob|Alpha_3 alpha-1 beta-2
tag.run = 1|alpha-1 beta-2
jobid = beta-2|beta-2
duration > 100h|
user = nobody or jobname = '%'|
process(exename = cc1)|alpha-1
jobname = 'a" OR 1=1 --'|x';DROP--
tag.exp = '''; DELETE FROM job; --'|x';DROP--
user = 'alice'' OR ''1''=''1'|
jobid ~ '*DROP*'|x';DROP--
not user = alice|beta-2 x';DROP--
L
}

ops_of() {
  plimsoll ops --json --by op "$@" | jq -r '.[].jobid'
}

# bats test_tags=engine
@test "ops and usage" {
  four_jobs
  local filter want
  while IFS='|' read -r filter want; do
    # what is summed is the CPU time of exactly these jobs
    equal "usage, $filter" "$(plimsoll usage --by executable --json --where "$filter" | jq '[.[].cpu_time] | add // 0')" \
      "$(ask "SELECT COALESCE(sum(cpu_time), 0) FROM jobs WHERE jobid IN ($(ids "$want"))")"
    equal "jobs, $filter" "$(plimsoll usage --by user --json --where "$filter" | jq '[.[].jobs] | add // 0')" "$(count "$want")"
    # alpha-1 and the hostile one have operations
    equal "ops, $filter" "$(ops_of --where "$filter" 2>/dev/null | LC_ALL=C sort -u | paste -s -d' ')" "$(tagged "$want")"
  done < <(filters)
  equal "jobs are left" "$(ask 'SELECT count(*) FROM job')" 4
  # words and a filter: those of the words that match
  equal both "$(plimsoll usage --by user --json alpha-1 beta-2 --where 'user = bob' | jq -c '[.[].jobs]')" '[1]'
  equal none "$(plimsoll usage --by user --json alpha-1 --where 'user = bob')" '[]'
  equal ops "$(ops_of alpha-1 beta-2 --where 'user = alice' | sort -u)" alpha-1
  plimsoll ops --where 'user = nobody' 2>&1 | grep -q 'matches the filter'
  plimsoll usage --where 'user = nobody' 2>&1 | grep -q 'matches'
}

# ids "ID ID": as a list of SQL; the hostile one is the last
ids() {
  local one list="''"
  for one in alpha-1 beta-2 Alpha_3; do [[ " $1 " == *" $one "* ]] && list+=",'$one'"; done
  [[ $1 == *DROP* ]] && list+=",'x'';DROP--'"
  echo "$list"
}
count() {
  ids "$1" | grep -o "','\|,'" | wc -l
}
tagged() {
  local list=()
  [[ " $1 " == *" alpha-1 "* ]] && list+=(alpha-1)
  [[ $1 == *DROP* ]] && list+=("x';DROP--")
  echo "${list[*]}"
}

# bats test_tags=engine
@test "outliers and history" {
  four_jobs
  job gamma-4 <<'J'
{"name": "weather", "user": "carol", "start": 300000, "end": 300600, "procs": [{"pid": 1, "ppid": 0, "exename": "sh", "start": 300000, "end": 300600, "usertime": 1000000}]}
J
  of_history() { plimsoll history --json --with-failed "$@" | jq -r '.metrics[0].runs[].job'; }
  local filter want
  while IFS='|' read -r filter want; do
    if [ -n "$want" ]; then
      equal "history, $filter" "$(of_history --metric duration --where "$filter and not user = carol" 2>/dev/null | LC_ALL=C sort -u | paste -s -d' ')" "$want"
    else
      run -1 plimsoll history --where "$filter"
      [[ $output == *"no runs in the first set match"* ]] || fail "$output"
    fi
  done < <(filters)
  equal outliers "$(plimsoll outliers --json --where 'user = alice, bob, carol' | jq -c '[.. | objects | .jobid? // empty] | unique | length > 0')" true
  run ! plimsoll outliers --where 'user = nobody'
  [[ $output == *"job"* ]] || fail "$output"
  run ! plimsoll outliers --where 'user = bob'
  equal "jobs are left" "$(ask 'SELECT count(*) FROM job')" 5
}

# bats test_tags=engine
@test "compare and gate: a filter for each side, alone and with names" {
  four_jobs
  sets() { plimsoll compare --json --with-failed "$@" 2>err | jq -c '[(.runs | sort), (.baseline_runs | sort)]'; }
  equal filters "$(sets --where 'user = alice' --baseline-where 'user = bob, mallory')" "[[\"Alpha_3\",\"alpha-1\"],[\"beta-2\",\"x';DROP--\"]]"
  equal "name and filter" "$(sets alpha-1 --baseline-where 'not user = alice and tag.run = 1')" '[["alpha-1"],["beta-2"]]'
  equal "filter and name" "$(sets --where 'jobid ~ *lpha*' -- beta-2)" '[["Alpha_3","alpha-1"],["beta-2"]]'
  equal "names that match" "$(sets alpha-1 beta-2 --where 'user = alice' --baseline-where 'jobid = Alpha_3' -- Alpha_3 beta-2)" '[["alpha-1"],["Alpha_3"]]'
  equal hostile "$(sets --where "jobname = 'a\" OR 1=1 --'" -- alpha-1)" "[[\"x';DROP--\"],[\"alpha-1\"]]"
  run -1 plimsoll compare --with-failed --where 'user = alice' --baseline-where 'tag.run = 1'
  [[ $output == *"job alpha-1 is in both sets"* ]] || fail "$output"
  run -1 plimsoll compare --where 'user = nobody' -- alpha-1
  [[ $output == *"no runs in the first set match"* ]] || fail "$output"
  run -1 plimsoll gate alpha-1 --baseline-where 'user = nobody'
  [[ $output == *"no runs in the baseline match"* ]] || fail "$output"
  equal "jobs are left" "$(ask 'SELECT count(*) FROM job')" 4
}

# bats test_tags=engine
@test "a filter that cannot be read: one line with the place, status 2, nothing done" {
  three_jobs
  local command bad words
  for command in "compare -- beta-2" gate history ops usage outliers "rca --ref beta-2" verify "explore a"; do
    read -r -a words <<<"$command"
    for bad in 'durration > 1h' 'user =' "user = 'x" '(user = a' "process(process(pid = 1))"; do
      local status=0
      plimsoll "${words[0]}" --where "$bad" "${words[@]:1}" >out 2>err || status=$?
      equal "$command, $bad" "$status" 2 || fail "$(cat err)"
      equal "$command, $bad" "$(grep -c '^plimsoll: error: filter: col [0-9]*: ' err)" 1 || fail "$(cat err)"
      [ ! -s out ] || fail "$command, $bad: $(cat out)"
    done
  done
  run -2 plimsoll compare alpha-1 --baseline-where 'nokey = 1'
  [[ $output == *"filter: col 1: unknown key 'nokey'"* ]] || fail "$output"
}

# on_hosts NAME=VALUE: the same job on two hosts at one time, of which only the environment tells what was granted
on_hosts() {
  local host
  printf 'hostname "$1"\nshift\nexec plimsoll run -q --sample 200ms -o many -- "$@"\n' >part.sh
  for host in n1 n2; do
    env SLURM_JOB_ID=50 SLURM_JOB_NUM_NODES=2 SLURM_JOB_NODELIST='n[1-2]' PLIMSOLL_ASK_BATCH_SYSTEM=no "$1" \
      unshare -ru sh part.sh "$host" "$PROGRAMS/actor" burn 800 &
  done
  wait
  plimsoll submit -q many
}

@test "cores of each host of a job: as the batch system lists them, else equal parts of its grant" {
  unshare -ru true 2>/dev/null || skip "no user or UTS namespaces here"
  on_hosts SLURM_JOB_CPUS_PER_NODE='3,1'
  plimsoll where last --json >where.json
  equal hosts "$(jq -c '[.hosts[] | [.host, .granted_cores]]' where.json)" '[["n1",3],["n2",1]]'
  equal sum "$(jq '.granted_cores' where.json)" 4
  equal closed "$(jq '([.parts[].seconds] | add) as $all | ($all - .total_seconds | fabs) < 0.01 * .total_seconds' where.json)" true
  equal "of one" "$(plimsoll where last --host n2 --json | jq .granted_cores)" 1
  plimsoll delete 50
  rm -rf many
  on_hosts NSLOTS=4
  equal "equal parts" "$(plimsoll where last --json | jq -c '[.hosts[].granted_cores]')" '[2,2]'
  equal "of one" "$(plimsoll where last --host n2 --json | jq .granted_cores)" 2
  plimsoll delete 50
  rm -rf many
  # without a batch system's grant all CPUs of each: efficiency says so, too
  on_hosts PL_NOTHING=1
  local cpus
  cpus=$(getconf _NPROCESSORS_ONLN)
  equal usable "$(plimsoll where last --json | jq .granted_cores)" $((2 * cpus))
  equal efficiency "$(plimsoll efficiency last --json | jq ".[0].cores")" $((2 * cpus))
}
