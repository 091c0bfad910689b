#!/usr/bin/env bats
# bats file_tags=epmt
# plimsoll features, list --by, procs and query --count-by, model features and retire.

bats_require_minimum_version 1.5.0
load store

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}
K=kern-6656-20190614

# jobs ID:RCHAR...: jobs of 5 processes, of which one read so many bytes
jobs_that_read() {
  local job id
  for job in "$@"; do
    id=${job%%:*}
    make_job "d$id" --id "$id" --procs 5 --set "2:rchar=${job##*:}"
    plimsoll submit -q "d$id"
  done
}

# ---- EPMT's own jobs, with the numbers that its tests and its documentation expect ---------------------

# bats test_tags=engine
@test "EPMT's numbers: distributions of features, comparable jobs, counts of processes" {
  [ -d "$DATA/epmt/outliers" ] || skip "no sample data beside the project"
  use_store
  plimsoll submit -q "$DATA"/epmt/outliers/*.tgz "$DATA"/epmt/query/685000.tgz "$DATA"/epmt/query/685003.tgz
  kernel="$K-190245 $K-191138 $K-192044-outlier $K-194024"
  plimsoll features --json $kernel >features.json
  equal normal "$(jq -r '.[] | select(.distribution == "normal").feature' features.json | sort | paste -sd' ')" \
    "inblock minflt rchar read_bytes rssmax syscr syscw vol_ctxsw wchar write_bytes"
  equal others "$(jq -r '[.[] | select(.distribution != "normal").distribution] | unique | join(" ")' features.json)" "constant unknown"
  # without the reading of an operating system's counter: the same values in CSV
  equal csv "$(plimsoll features --csv -f num_procs,rssmax $kernel)" "feature,count,min,median,max,distribution,modes
num_procs,4,10600,10600,10600,constant,
rssmax,4,79333996,79388656,79524924,normal,"
  equal tests "$(jq -c '.[] | select(.feature == "rssmax") | [.tests[].passed]' features.json)" "[true,true,true]"

  # jobs of one experiment and component; the group with the longest jobs comes first
  equal groups "$(plimsoll list --by exp_name,exp_component --json | jq -c '.[] | [.tags.exp_component, .jobs]')" "[\"ocean_cobalt_fdet_100\",[\"685003\"]]
[\"ocean_annual_rho2_1x1deg\",[\"685000\"]]
[\"kernel_tiny\",[\"$K-190245\",\"$K-191138\",\"$K-192044-outlier\",\"$K-194024\"]]"
  equal comparable "$(plimsoll list --by exp_name,exp_component --json $kernel | jq length)" 1

  plimsoll query --procs 'jobid = 685000, 685003' --count-by exename --json >count.json
  equal executables "$(jq -c '[.[] | select(.value | IN("tcsh", "perl", "bash", "grep", "tr")) | [.value, .count]]' count.json)" \
    '[["tcsh",1990],["perl",184],["grep",181],["bash",171],["tr",28]]'
  equal all "$(jq '[.[].count] | add' count.json)" 7265
  equal cpu "$(plimsoll procs 685000 --count-by exename --sum cpu_time --json | jq '[.[].sum] | add')" 113135329
  equal codes "$(plimsoll procs 685000 --count-by exitcode --csv)" "value,count
0,3374
1,106"
}

# ---- features ------------------------------------------------------------------------------------------

# bats test_tags=engine
@test "features: two modes, too few jobs, jobs that lack a metric" {
  use_store
  jobs_that_read 1:1000 2:1010 3:990 4:1005 5:995 6:9000 7:9010 8:8990 9:9005
  equal few "$(plimsoll features --json -f rchar 1 2 | jq -c '.[0] | [.count, .distribution, .modes]')" "[2,null,[]]"
  run -0 plimsoll features -f rchar 1 2
  [[ $output == *"a distribution needs at least 3 jobs, and there are 2"* ]] || fail "$output"
  equal nine "$(plimsoll features --json -f rchar --where 'jobid != 10' | jq -c '.[0] | [.count, .distribution, .modes]')" '[9,"unknown",[]]'
  jobs_that_read 10:8995
  # other processes of a job read, too, always the same
  plimsoll features --json -f rchar --where 'num_procs = 5' >ten.json
  equal modes "$(jq -c '.[0].modes | [length, .[1] - .[0]]' ten.json)" "[2,8000]"
  equal order "$(plimsoll features --json -f rchar 10 9 8 7 6 5 4 3 2 1 | jq -c '.[0]')" "$(jq -c '.[0]' ten.json)"
  # a job twice is one job
  equal twice "$(plimsoll features --json -f rchar 1 1 1 2 | jq '.[0].count')" 2
  # processes and threads
  equal procs "$(plimsoll features --procs --json -f rchar 1 2 | jq '.[0].count')" 10
  equal threads "$(plimsoll features --threads --json -f rchar 1 2 | jq '.[0].count')" 10
  # metrics that only some have count for those that have them
  make_job old --id old --procs 5 --columns 41
  plimsoll submit -q old
  equal gaps "$(plimsoll features --csv -f rchar,cutime 1 2 3 old | cut -d, -f1,2 | paste -sd' ')" "feature,count cutime,3 rchar,4"
  run -1 plimsoll features -f nonsense 1 2 3
  [[ $output == *"none of the jobs has the feature 'nonsense'; they have "*"rchar"* ]] || fail "$output"
  run -1 plimsoll features "1' OR '1'='1"
  [[ $output == *"there is no job '1' OR '1'='1'"* ]] || fail "$output"
  run -1 plimsoll features --where 'jobid = none'
  run -2 plimsoll features
}

# bats test_tags=engine
@test "list --by: groups of jobs, without the tag, and hostile names" {
  use_store
  jobs_that_read 1:1 2:2 3:3 4:4
  plimsoll tag 1 kind:a
  plimsoll tag 2 kind:a
  plimsoll tag 3 kind:b
  equal json "$(plimsoll list --by kind --json | jq -c 'map([.tags, .count, .jobs]) | sort')" '[[{},1,["4"]],[{"kind":"a"},2,["1","2"]],[{"kind":"b"},1,["3"]]]'
  equal longest "$(plimsoll list --by kind --json | jq -c '.[0].tags')" '{"kind":"a"}'
  # a limit counts groups, and all jobs of a group are in it
  equal limit "$(plimsoll list --by kind -n 1 --json | jq -c 'map([.tags, .count])')" '[[{"kind":"a"},2]]'
  equal offset "$(plimsoll list --by kind -n 1 --offset 2 --json | jq -c 'map([.tags, .count])')" '[[{"kind":"b"},1]]'
  equal beyond "$(plimsoll list --by kind --offset 9 --json)" '[]'
  equal sum "$(plimsoll list --by kind --json | jq '[.[].duration] | add')" "$(plimsoll list --json | jq '[.[].duration] | add')"
  equal csv "$(plimsoll list --by kind --csv 1 3 | cut -d, -f1,2,5 | sort | paste -sd' ')" "a,1,1 b,1,3 kind,count,jobs"
  equal missing "$(plimsoll list --by "no'; DROP TABLE job; --" --json | jq -c 'map([.tags, .count])')" "[[{},4]]"
  equal jobs "$(plimsoll list --ids | wc -l)" 4
}

# bats test_tags=engine
@test "procs and query --count-by: every kind of key, and what cannot be counted" {
  use_store
  jobs_that_read 1:1000 2:1000
  plimsoll procs 1 --count-by pid --sum rchar --json >pids.json
  equal pids "$(jq -c '[length, ([.[].count] | add), (.[0].value | type)]' pids.json)" '[5,5,"number"]'
  equal total "$(jq '[.[].sum] | add' pids.json)" "$(plimsoll features --json -f rchar 1 | jq '.[0].max')"
  equal both "$(plimsoll query -p 'num_procs = 5' --count-by host --json | jq -c 'map([.value, .count])')" '[["node1",10]]'
  equal limit "$(plimsoll procs 1 --count-by pid -n 2 --csv | wc -l)" 3
  equal filtered "$(plimsoll procs 1 --count-by pid --where 'rchar = 1000' --json | jq length)" 1
  run -2 plimsoll procs 1 --count-by pid --order -cpu_time
  run -2 plimsoll list --by exp --ids
  for key in tag.op tags "pid; DROP TABLE process" -- nonsense -pid; do
    run -2 plimsoll procs 1 --count-by="$key"
    [[ $output == *"cannot count processes by '$key'"* ]] || fail "$output"
  done
  run -2 plimsoll procs 1 --count-by pid --sum exename
  [[ $output == *"'exename' is not a metric of processes"* ]] || fail "$output"
  run -2 plimsoll procs 1 --sum rchar
  run -2 plimsoll query 'jobid = 1' --count-by pid
}

# ---- models --------------------------------------------------------------------------------------------

# bats test_tags=engine
@test "model: active features, which training keeps, and retiring" {
  use_store
  jobs_that_read 1:1000 2:1010 3:990 4:5000000
  plimsoll model create m -f rchar,wchar,num_procs 1 2 3
  equal all "$(plimsoll model features m --csv | paste -sd' ')" "feature,active num_procs,yes rchar,yes wchar,yes"
  plimsoll model features m -f wchar,num_procs
  equal some "$(plimsoll model features m --json | jq -c 'map([.feature, .active])')" '[["num_procs",true],["rchar",false],["wchar",true]]'
  # the feature that differs does not count any more
  equal compared "$(plimsoll outliers --csv --model m 4 | paste -sd' ')" "jobid,num_procs,wchar 4,0,0"
  equal listed "$(plimsoll model list --json | jq -c '.[0].features')" '["num_procs","wchar"]'
  equal rca "$(plimsoll rca --json --model m 4 | jq -c '[.[0].causes[].feature] | sort')" '["num_procs","wchar"]'
  plimsoll model train m
  equal trained "$(plimsoll model features m --json | jq -c 'map([.feature, .active])')" '[["num_procs",true],["rchar",false],["wchar",true]]'
  run -1 plimsoll model features m -f wchar,nonsense
  [[ $output == *"model 'm' does not have the feature 'nonsense'; it has num_procs, rchar, wchar"* ]] || fail "$output"
  plimsoll model features m -f all
  equal again "$(plimsoll outliers --csv --model m 4 | paste -sd' ')" "jobid,num_procs,rchar,wchar 4,0,3,0"
  plimsoll model create mv -m hbos -f rchar,wchar 1 2 3
  run -1 plimsoll model features mv -f rchar
  [[ $output == *"model 'mv' was made with hbos, which looks at all of its features together"* ]] || fail "$output"
  run -1 plimsoll model features nobody
  [[ $output == *"no model is named 'nobody'"* ]] || fail "$output"
  run -2 plimsoll model features

  # a model that was made ten days ago
  change "UPDATE model SET created_us = created_us - 864000000000 WHERE name = 'm'"
  run -2 plimsoll model retire
  [[ $output == *"give an age with --older-than"* ]] || fail "$output"
  run -0 plimsoll model retire --older-than 11d
  [[ $output == *"no model in "*" is that old"* ]] || fail "$output"
  equal dry "$(plimsoll model retire --older-than 9d --dry-run --json | jq -c 'map(.name)')" '["m"]'
  equal kept "$(plimsoll model list --json | jq -c 'map(.name)')" '["m","mv"]'
  equal retired "$(plimsoll model retire --older-than 9d --json | jq -c 'map(.name)')" '["m"]'
  equal left "$(plimsoll model list --json | jq -c 'map(.name)')" '["mv"]'
}

# bats test_tags=engine
@test "model: the detector mcd needs jobs, and finds the one that is unlike them" {
  use_store
  jobs_that_read 1:1000 2:1010 3:990 4:1003 5:1007
  run -1 plimsoll model create m -m mcd -f rchar,num_procs 1 2 3 4 5
  [[ $output == *"none of the detectors can score these 5 jobs: abod, knn and mcd need 6 jobs"* ]] || fail "$output"
  run -0 plimsoll model create few -m mcd,hbos,pca -f rchar,num_procs 1 2 3 4 5
  [[ $output == *"mcd cannot score these jobs and is left out: it needs 6 of them"* ]] || fail "$output"
  [[ $output == *"pca cannot score these jobs and is left out: its scores are not finite; features must vary"* ]] || fail "$output"
  jobs_that_read 6:995 7:1001 8:1500 9:1002
  plimsoll model create m -m mcd -f rchar,num_procs 1 2 3 4 5 6 7
  equal flagged "$(plimsoll outliers --csv --model m 8 9 | paste -sd' ')" "jobid,outlier,mcd 8,1,1 9,0,0"
  # jobs that are all equal: any other is infinitely far away; in a model, it is the limit
  jobs_that_read e1:7 e2:7 e3:7 e4:7 e5:7 e6:7 e7:8
  plimsoll model create equal -m mcd -f rchar,num_procs e1 e2 e3 e4 e5 e6
  equal far "$(plimsoll outliers --csv --model equal e6 e7 | paste -sd' ')" "jobid,outlier,mcd e6,0,0 e7,1,1"
  plimsoll model create with -m mcd -f rchar,num_procs e1 e2 e3 e4 e5 e6 e7
  equal within "$(plimsoll outliers --csv --model with e6 e7 | paste -sd' ')" "jobid,outlier,mcd e6,0,0 e7,0,0"
  # the order of jobs does not matter
  plimsoll model create back -m mcd -f rchar,num_procs 7 6 5 4 3 2 1
  equal same "$(plimsoll model show --csv back)" "$(plimsoll model show --csv m)"
}
