#!/usr/bin/env bats
# bats file_tags=epmt
# Called as epmt: list with EPMT's keywords, and dump of what is in the store.

bats_require_minimum_version 1.5.0
load store

# three jobs: ten minutes apart, with tags and hosts of their own
three_jobs() {
  use_store
  make_job one --id a
  make_job two --id b --tags 'exp:b;kind:x' --host node2 --shift 600
  make_job three --id c --tags '' --host node2 --shift 1200
  epmt submit one two three >/dev/null
}

# bats test_tags=engine
@test "list jobs: every keyword of EPMT's" {
  three_jobs
  while IFS='|' read -r words want; do
    IFS='&' read -r -a list <<<"$words"
    equal "$words" "$(EPMT_TZ=UTC epmt list jobs "${list[@]}")" "$want"
  done <<'L'
limit=2|['a', 'b']
limit=0|['a', 'b', 'c']
offset=1|['b', 'c']
limit=1&offset=1|['b']
order=desc(Job.start)|['c', 'b', 'a']
order=-jobid|['c', 'b', 'a']
order=created_at|['a', 'b', 'c']
hosts=node2|['b', 'c']
hosts=node1,node2&limit=2|['a', 'b']
hosts=['node1']|['a']
hosts=nowhere|[]
tags=exp:a|['a']
tags=exp:b;kind:x|['b']
tags={'exp': 'b', 'kind': 'x'}|['b']
tags=['exp:a', {'exp': 'b'}]|['a', 'b']
tags=exp:b&exact_tag_only=True|[]
tags={'exp': 'b', 'kind': 'x'}&exact_tag_only=True|['b']
tags=exp:b&exact_tag_only=False|['b']
tags=|['c']
tags={}|['c']
annotations=note:first|['a', 'b', 'c']
annotations=n:3|['a', 'b', 'c']
annotations={'n': 3, 'note': 'first'}|['a', 'b', 'c']
annotations=n:4|[]
analyses=x:1|[]
analyses={}|['a', 'b', 'c']
when=09/13/2020 12:27|['a']
when=09/13/2020 12:37|['b']
when=09/13/2020 13:37|[]
when=b|['b']
before=09/13/2020 12:30|['a']
before=1600000700|['a', 'b']
before=-1|['a', 'b', 'c']
after=09/13/2020 12:30|['b', 'c']
after=-1|[]
after=None|['a', 'b', 'c']
jobs=a,c|['a', 'c']
jobs=['a', 'b']&limit=1|['a']
b&a|['a', 'b']
merge_proc_sums=False&trigger_post_process=False&fmt=terse&limit=1|['a']
L
  # an hour east of Greenwich it was an hour later
  equal zone "$(EPMT_TZ=Europe/Lisbon epmt list 'when=09/13/2020 13:27')" "['a']"
}

@test "list jobs: what is no keyword and no value is an error, with the reason" {
  three_jobs
  while IFS='|' read -r words want; do
    run -1 epmt list jobs "$words"
    [[ $output == *"$want"* ]] || fail "$words: $output"
  done <<'L'
bogus=1|unknown keyword 'bogus'; known ones: jobs, after, analyses
limit=x|limit needs a number, not 'x'
limit=-1|limit needs a number
when=x|when needs a time
before=yesterday|before needs a time
order=nothing|jobs have no column 'nothing'
order=desc()|order needs a column
fmt=xml|fmt needs terse, dict, pandas or json
fmt=orm|orm objects exist in Python only
fltr=j.duration > 1|unknown key 'j.duration'
exact_tag_only=maybe|needs True or False
tags={'a'|Python literal
hosts=|hosts needs host names
annotations=[1]|annotations needs pairs as key:value
merge_threads_sums=True|unknown keyword
nosuchjob|there is no job 'nosuchjob'
L
}

# bats test_tags=engine
@test "list jobs: dicts and frames have EPMT's keys and values" {
  three_jobs
  epmt list jobs fmt=dict limit=1 >dicts
  /usr/bin/python3 - <<'P'
import datetime
[job] = eval(open("dicts").read())
assert job["jobid"] == "a" and job["num_procs"] == 10 and job["cpu_time"] == 75, job
assert job["start"] == datetime.datetime(2020, 9, 13, 12, 26, 40), job["start"]
assert job["all_proc_tags"] == [{"op": "build", "step": s} for s in "012"], job
assert job["env_dict"]["SLURM_JOB_NAME"] == "weather" and job["env_changes_dict"] == {} and job["analyses"] == {}, job
assert job["info_dict"]["tz"] == "UTC+00:00" and job["info_dict"]["status"]["exit_code"] == job["exitcode"], job
assert isinstance(job["created_at"], datetime.datetime) and isinstance(job["updated_at"], datetime.datetime), job
assert "usertime" in job["info_dict"]["metric_names"].split(",") and job["usertime"] == 55, job
P
  epmt list jobs fmt=dict limit=1 merge_proc_sums=False >dicts
  /usr/bin/python3 -c "
import datetime
[job] = eval(open('dicts').read())
assert 'usertime' not in job and job['proc_sums']['usertime'] == 55 and job['proc_sums']['num_procs'] == 10, job"
  epmt list jobs fmt=pandas >frame
  equal rows "$(grep -c '^[012] ' frame)" 3
  head -1 frame | grep -q ' jobid '
}

# bats test_tags=engine
@test "list procs: every keyword, ids and dicts" {
  three_jobs
  first=$(epmt list procs a fmt=terse limit=1 | tr -d '[]')
  while IFS='|' read -r words want; do
    IFS='&' read -r -a list <<<"$words"
    equal "$words" "$(EPMT_TZ=UTC epmt list procs fmt=terse "${list[@]}" | tr ',' '\n' | wc -l)" "$want"
  done <<'L'
limit=0|30
a|10
a&b|20
jobs=a,b,c&limit=25|25
offset=28|2
hosts=node2|20
tags=step:1|12
tags={'op': 'build', 'step': 1}&a|4
tags=op:build&exact_tag_only=False|30
tags=op:build;step:1&exact_tag_only=True|12
merge_threads_sums=False|30
L
  run -1 epmt list procs tags=op:build exact_tag_only=True
  run -1 epmt list procs before=-1
  [[ $output == *"unknown keyword 'before'"* ]] || fail "$output"
  run -1 epmt list procs order=bogus
  [[ $output == *"processes have no column 'bogus'"* ]] || fail "$output"
  equal order "$(epmt list processes a order='desc(Process.duration)' limit=1 fmt=terse)" "[$first]"
  equal 'while another ran' "$(epmt list procs a when="$first" fmt=terse | tr ',' '\n' | wc -l)" 10
  equal 'at a time' "$(EPMT_TZ=UTC epmt list procs when='09/13/2020 12:26:45' fmt=terse)" "[$first]"
  epmt list procs a order=-usertime limit=1 >dicts
  /usr/bin/python3 - <<'P'
import datetime
[p] = eval(open("dicts").read())
assert p["pid"] == 1010 and p["usertime"] == 10 and p["cpu_time"] == 12 and p["jobid"] == p["job"] == "a" and p["host"] == "node1", p
assert p["tags"] == {"op": "build", "step": "1"} and p["PERF_COUNT_SW_CPU_CLOCK"] == 1000 and p["depth"] == 1 and p["user"] == "alice", p
assert p["end"] - p["start"] == datetime.timedelta(microseconds=500), p
P
  equal parent "$(epmt list procs a order=-usertime limit=1 | grep -o "'parent': [0-9]*" | cut -d' ' -f2)" "$first"
  epmt list procs a limit=1 merge_threads_sums=False | grep -q "'threads_sums': {'usertime': 1, " || fail "$(epmt list procs a limit=1 merge_threads_sums=False)"
}

@test "list procs: more than 10,000 are listed" {
  use_store
  make_job big --id big --procs 10500 --form collated
  epmt submit big >/dev/null
  equal count "$(epmt list procs big fmt=terse | tr ',' '\n' | wc -l)" 10500
  equal all "$(epmt list procs fmt=terse | tr ',' '\n' | wc -l)" 10500
  equal dicts "$(epmt list procs | grep -o "'pid'" | wc -l)" 10500
}

# bats test_tags=engine
@test "list job_proc_tags: each set once, folded, without keys" {
  three_jobs
  equal tags "$(epmt list job_proc_tags a)" "[{'op': 'build', 'step': '0'}, {'op': 'build', 'step': '1'}, {'op': 'build', 'step': '2'}]"
  equal 'all jobs' "$(epmt list job_proc_tags)" "$(epmt list job_proc_tags a)"
  equal folded "$(epmt list job_proc_tags a fold=True)" "{'op': ['build'], 'step': ['0', '1', '2']}"
  equal excluded "$(epmt list job_proc_tags a exclude=step)" "[{'op': 'build'}]"
  equal filtered "$(epmt list job_proc_tags a tag_filter=step:2)" "[{'op': 'build', 'step': '2'}]"
  run -1 epmt list job_proc_tags limit=1
}

# bats test_tags=engine
@test "list thread_metrics: all columns, of processes with one thread too" {
  use_store
  make_job one --id a --threads 3
  epmt submit one >/dev/null
  read -r first second _ <<<"$(epmt list procs a fmt=terse limit=2 | tr -d '[],')"
  epmt list thread_metrics "$first" "$second" >frame
  for column in tid usertime rssmax timeslices rdtsc_duration PERF_COUNT_SW_CPU_CLOCK process_pk; do
    head -1 frame | grep -qw $column || fail "no $column in $(head -1 frame)"
  done
  equal rows "$(sed 1d frame | awk '{ print $1, $NF }' | tr '\n' ',')" "0 $first,1 $first,2 $first,3 $second,"
  run -1 epmt list thread_metrics
  run -1 epmt list thread_metrics 1
  [[ $output == *"there is no process 1"* ]] || fail "$output"
  run -1 epmt list thread_metrics x
}

@test "dump: several jobs and files, keys that were missing, local times" {
  three_jobs
  equal both "$(epmt dump -k jobid a b | tr '\n' ' ')" "a b "
  pack two two.tgz
  equal files "$(epmt dump -k job_pl_id two.tgz two/job_metadata | tr '\n' ' ')" "b b "
  run -1 epmt dump -k nosuch a
  [[ $output == *"no key 'nosuch'"*"jobid"* ]] || fail "$output"
  run -1 epmt dump -k nosuch two.tgz
  run -1 epmt dump nosuchjob
  run -1 epmt dump a nosuchjob
  [[ $output == *cpu_time* && $output == *"no job 'nosuchjob'"* ]] || fail "$output"
  for key in all_proc_tags analyses env_dict env_changes_dict info_dict created_at updated_at; do
    epmt dump -k $key a >/dev/null || fail "no $key"
  done
  equal start "$(TZ=Asia/Tokyo epmt dump -k start a)" '2020-09-13 12:26:40'
  make_job naive --id n --naive
  epmt submit naive >/dev/null
  equal naive "$(TZ=Asia/Tokyo epmt dump -k start n)" '2020-09-13 12:26:40'
  epmt dump a >out
  grep -q '^cancelled_write_bytes 0 ' out || fail "$(grep '^cancelled' out)"
}

# ---- EPMT's own sample jobs --------------------------------------------------------------------------

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}

@test "EPMT's numbers: filters of jobs and processes" {
  [ -d "$DATA/epmt/query" ] || skip "no sample data beside the project"
  use_store
  export EPMT_TZ=US/Eastern
  epmt submit "$DATA"/epmt/query/*.tgz >/dev/null
  for time in 08:00 09:00; do
    equal $time "$(epmt list "when=06/15/2019 $time")" "['685000', '685003', '685016']"
  done
  for time in 07:00 10:00; do
    equal $time "$(epmt list "when=06/15/2019 $time")" '[]'
  done
  equal host "$(epmt list hosts=pp208)" "['685000']"
  count() { epmt list procs fmt=terse "$@" | tr ',' '\n' | wc -l; }
  equal 685016 "$(count 685016)" 3412
  equal both "$(count 685016 685000)" 6892
  equal hosts "$(count 685000 685003 hosts=pp208,pp212)" 7265
  equal pp212 "$(count 685000 685003 hosts=pp212)" 3785
  run -1 epmt list procs 685000 685003 hosts=pp209
  equal start "$(epmt dump -k start 685000)" '2019-06-15 07:52:04.073965'
  equal tags "$(epmt list job_proc_tags 685000 | grep -o "'op'" | wc -l)" 89
}
