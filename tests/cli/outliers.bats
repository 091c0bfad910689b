#!/usr/bin/env bats
# bats file_tags=epmt
# plimsoll outliers, model and rca.

bats_require_minimum_version 1.5.0
load store

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}
K=kern-6656-20190614

# some_jobs ID...: small jobs of 5 processes, alike except for the options in $EXTRA of those whose id begins with x
some_jobs() {
  local id extra
  for id in "$@"; do
    extra=()
    [[ $id != x* ]] || read -ra extra <<<"$EXTRA"
    make_job "d$id" --id "$id" --procs 5 --set "2:rchar=$((1000 + ${id//[!0-9]/} % 7))" "${extra[@]}"
    plimsoll submit -q "d$id"
  done
}

# ---- EPMT's kernel builds, with the numbers that its tests expect --------------------------------------

# bats test_tags=engine
@test "EPMT's numbers: outliers, models and root causes of four kernel builds" {
  [ -d "$DATA/epmt/outliers" ] || skip "no sample data beside the project"
  use_store
  plimsoll submit -q "$DATA"/epmt/outliers/*.tgz
  all="$K-190245 $K-191138 $K-192044-outlier $K-194024"
  good="$K-190245 $K-191138 $K-194024"

  # one method: duration and CPU time of one job
  equal madz "$(plimsoll outliers --csv -m madz --thresholds madz=2.5 $all)" "jobid,cpu_time,duration,num_procs
$K-190245,0,0,0
$K-191138,0,0,0
$K-192044-outlier,1,1,0
$K-194024,0,0,0"
  equal partitions "$(plimsoll outliers --json -m madz --thresholds madz=2.5 $all | jq -c '[.partitions.duration, .partitions.num_procs.outliers]')" \
    "[{\"reference\":[\"$K-190245\",\"$K-191138\",\"$K-194024\"],\"outliers\":[\"$K-192044-outlier\"]},[]]"
  # all features: 11 of them
  equal all "$(plimsoll outliers --csv -f all -m madz --thresholds madz=2.5 $all | awk -F, 'NR > 1 { s = 0; for (i = 2; i <= NF; i++) s += $i; print s }' | paste -sd' ')" "0 0 11 0"
  # three methods
  equal three "$(plimsoll outliers --csv --thresholds madz=2.5,z=1.5 $all | sed -n 4p)" "$K-192044-outlier,3,3,0"
  # three jobs are too few
  run -1 plimsoll outliers $good
  [[ $output == *"outliers among jobs need at least 4 jobs, and there are 3; name more, or use a model"* ]] || fail "$output"

  # operations: how many of all features flag each
  equal ops "$(plimsoll outliers --ops --csv -f all -m madz --thresholds madz=2.5 $all | awk -F, 'NR > 1 { s = 0; for (i = 3; i <= NF; i++) s += $i; print $2, s }' | sort -s -k1,1 | cut -d' ' -f2 | paste -sd' ')" \
    "1 0 11 0 0 0 12 0 0 1 11 0 0 1 6 0 0 2 7 0"
  equal op "$(plimsoll outliers --op 'op:build;op_instance:4;op_sequence:4' --csv -m madz --thresholds madz=2.5 $all | cut -d, -f3- | paste -sd' ')" "cpu_time,duration,num_procs 0,0,0 0,0,0 1,1,0 0,0,0"
  run -1 plimsoll outliers --op op:missing $all
  [[ $output == *"no process of these jobs has these tags"* ]] || fail "$output"

  # a model of the three good ones
  plimsoll model create good -m madz $good
  equal model "$(plimsoll model show --csv good)" "feature,method,max,center,spread
cpu_time,madz,1.3207,449914707,444671
duration,madz,1.0287,542680315,14860060
num_procs,madz,0,10600,0"
  equal against "$(plimsoll outliers --csv --model good $all | cut -d, -f2- | paste -sd' ')" "cpu_time,duration,num_procs 0,0,0 0,0,0 1,1,0 0,0,0"
  equal one "$(plimsoll outliers --csv --model good $K-192044-outlier | sed 1d)" "$K-192044-outlier,1,1,0"
  for method in iqr z; do
    plimsoll model create "$method" -m $method $good
    equal $method "$(plimsoll outliers --csv --model $method -m $method $all | cut -d, -f2- | paste -sd' ')" "cpu_time,duration,num_procs 0,0,0 0,0,0 1,1,0 0,0,0"
  done
  # one that includes the outlier finds none
  plimsoll model create every $all
  equal none "$(plimsoll outliers --csv --model every $all | cut -d, -f2- | sort -u | paste -sd' ')" "0,0,0 cpu_time,duration,num_procs"

  # a model of operations, which discards rssmax; operations are ranked
  plimsoll model create ops --ops -m madz $good
  plimsoll outliers --ops --model ops -f rssmax,cpu_time,duration,num_procs --json $all >ops.json 2>err
  grep -q "model 'ops' does not have: rssmax" err || fail "$(cat err)"
  equal features "$(jq -c .features ops.json)" '["cpu_time","duration","num_procs"]'
  equal order "$(jq -r '.scores[].tags.op' ops.json | paste -sd' ')" "clean build configure extract download"
  equal flagged "$(jq -r '.outliers[].jobid' ops.json | sort -u)" "$K-192044-outlier"
  plimsoll model create build --op op:build -m madz $good
  equal build "$(plimsoll model show --csv build | sed -n 2p)" "op:build,cpu_time,madz,0.7246,381227732,391409"
  equal build_op "$(plimsoll outliers --ops --model build --csv $K-192044-outlier)" "jobid,tags,cpu_time,duration,num_procs
$K-192044-outlier,op:build,1,1,0"

  # detectors: the scores of PyOD, and two of them flag the outlier
  plimsoll model create mv -m cof,hbos,ocsvm $good
  equal mv "$(plimsoll outliers --csv --model mv $all | cut -d, -f2- | paste -sd' ')" "outlier,cof,hbos,ocsvm 0,0,0,0 0,0,0,0 2,1,1,0 0,0,0,0"
  plimsoll model create mvops -m cof,hbos --op op:build --op op:configure $good
  equal mvops "$(plimsoll model show --csv mvops | sed 1d)" 'op:build,"cpu_time,duration,num_procs",cof,1.0355,,
op:build,"cpu_time,duration,num_procs",hbos,9.9657,,
op:configure,"cpu_time,duration,num_procs",cof,1.3176,,
op:configure,"cpu_time,duration,num_procs",hbos,9.9656,,'
  equal mvops_flags "$(plimsoll outliers --csv --ops --model mvops $all | cut -d, -f3 | paste -sd' ')" "outlier 0 0 2 0 0 0 2 0"
  run -1 plimsoll model create few -m knn,abod $good
  [[ $output == *"none of the detectors can score these 3 jobs: abod, knn and mcd need 6 jobs"* ]] || fail "$output"

  # principal components, by jobs and by operations, alone and with a model
  plimsoll outliers --pca --json -m madz --thresholds madz=2.5 $all >pca.json
  equal variances "$(jq -c .pca.variances pca.json)" "[0.6811,0.2458]"
  equal weighted "$(jq -c '[.jobs[] | [.pca_weighted, .counts.pca_01, .counts.pca_02]]' pca.json)" "[[0,0,0],[0,0,0],[2.8,1,0],[0,0,0]]"
  equal ranking "$(jq -c '[.pca.ranking[] | select(.weight > 0) | .weight]' pca.json)" \
    "[0.2168,0.2117,0.211,0.2101,0.2101,0.21,0.2097,0.2097,0.2097,0.2088,0.2077,0.2077,0.1985,0.1906,0.1741,0.1716,0.1713,0.1707,0.1675,0.1534,0.0968]"
  equal loadings "$(jq -c '.pca.ranking[0] | [.feature, .pca_01, (.pca_02 | fabs)]' pca.json)" '["rssmax",0.2392,0.1546]'
  equal one_component "$(plimsoll outliers --pca=1 --csv -m madz --thresholds madz=2.5 $all | cut -d, -f2- | paste -sd' ')" "pca_weighted,pca_01 0.0,0 0.0,0 1.0,1 0.0,0"
  equal pca_ops "$(plimsoll outliers --ops --pca --csv -m madz --thresholds madz=2.5 $all | cut -d, -f1,3 | grep -v ',0.0' | sort | uniq -c | sed 's/^ *//' | paste -sd' ')" "1 jobid,pca_weighted 5 $K-192044-outlier,3.8"
  plimsoll model create every_feature -f all -m madz $good
  equal pca_model "$(plimsoll outliers --pca --csv -m madz --model every_feature $K-190245 $K-192044-outlier | cut -d, -f2- | paste -sd' ')" "pca_weighted,pca_01,pca_02 0.0,0,0 2.8,1,0"
  run -2 plimsoll outliers --pca -m cof --model mv $all
  for bad in 0 -1 1.5 x; do run -2 plimsoll outliers --pca=$bad $all; done

  # root causes
  ref=${good// /,}
  equal rca "$(plimsoll rca --csv -f cpu_time,duration,num_procs $K-192044-outlier --ref "$ref" | cut -d, -f2,3 | sed 's/\..*//' | paste -sd' ')" "feature,ratio cpu_time,204 duration,27 num_procs,0"
  equal rca_op "$(plimsoll rca --csv -f cpu_time,duration,num_procs $K-192044-outlier --ref "$ref" --op op_sequence:4 | cut -d, -f2,3 | sed 's/\..*//' | paste -sd' ')" "feature,ratio cpu_time,379 duration,56 num_procs,0"
  equal rca_model "$(plimsoll rca --csv $K-192044-outlier --model good | cut -d, -f2,3 | sed 's/\..*//' | paste -sd' ')" "feature,ratio cpu_time,204 duration,27 num_procs,0"
  plimsoll rca --json -n 1 -f cpu_time $K-192044-outlier --ref "$ref" --op op_sequence:4 >rca.json
  equal described "$(jq -c '.[0].causes[0] | [.value, .reference.count, .reference.min, .reference."50%", .reference.max, .methods.madz.reference_max, .methods.madz.score]' rca.json)" \
    "[540737924,3,380807266,381227732,381619141,0.7246,274.8777]"
  equal carried "$(jq -r '.[0].causes[0] | .executables[0].name, .hosts[0].name' rca.json | paste -sd' ')" "cc1 earth"
}

# ---- made up jobs --------------------------------------------------------------------------------------

# bats test_tags=engine
@test "outliers: one job that read more, by every form of output" {
  use_store
  EXTRA="--set 3:rchar=5000000" some_jobs 1 2 3 4 5 x6
  equal csv "$(plimsoll outliers --csv -f rchar,wchar 1 2 3 4 5 x6 | paste -sd' ')" "jobid,rchar,wchar 1,0,0 2,0,0 3,0,0 4,0,0 5,0,0 x6,2,0"
  plimsoll outliers --json -f rchar,wchar 1 2 3 4 5 x6 >out.json
  equal methods "$(jq -c '.outliers | map([.jobid, .feature, .methods])' out.json)" '[["x6","rchar",["iqr","madz"]]]'
  equal thresholds "$(jq -c .methods out.json)" '{"iqr":{},"madz":{"threshold":3.5},"z":{"threshold":3}}'
  equal compared "$(jq .compared out.json)" 6
  run -0 plimsoll outliers -f rchar,wchar 1 2 3 4 5 x6
  [[ $output == *"1 of 6 jobs is an outlier by 1 of 2 features"* ]] || fail "$output"
  # a job twice is one job
  equal twice "$(plimsoll outliers --csv -f rchar 1 2 3 4 4 4 | wc -l)" 5
  # processes and threads: the one that read, of 30
  equal process "$(plimsoll outliers --procs --json -m madz -f rchar 1 2 3 4 5 x6 | jq -c '[.compared, (.outliers | map([.jobid, .pid, .value]))[-1]]')" '[30,["x6",1003,5000000]]'
  equal thread "$(plimsoll outliers --threads --json -m madz -f rchar 1 2 3 4 5 x6 | jq -c '[.compared, (.outliers | map([.jobid, .value]))[-1]]')" '[30,["x6",5000000]]'
  # two processes are not enough
  make_job two --id two --procs 2
  plimsoll submit -q two
  run -1 plimsoll outliers --procs two
  [[ $output == *"outliers among processes need at least 4 of them, and there are 2"* ]] || fail "$output"
}

@test "outliers: mixed metrics, unknown features, hostile names" {
  use_store
  some_jobs 1 2 3
  make_job old --id old --procs 5 --columns 41
  plimsoll submit -q old
  # those that all have are compared, and one line names the others
  plimsoll outliers --csv -f all 1 2 3 old >out 2>err
  grep -q "left out features that not all have: .*cutime" err || fail "$(cat err)"
  ! head -1 out | grep -q cutime || fail "$(cat out)"
  run -1 plimsoll outliers -f cutime 1 2 3 old
  [[ $output == *"job old has no feature 'cutime', which others have; leave out the job or the feature"* ]] || fail "$output"
  for name in nonsense "duration FROM job; DROP TABLE job; --" "x' OR '1'='1"; do
    for level in "" --ops --procs --threads; do
      # shellcheck disable=SC2086
      run -1 plimsoll outliers $level -f "$name" 1 2 3 old
      [[ $output == *"has the feature '$name'"* ]] || fail "$output"
    done
  done
  equal jobs "$(plimsoll list --ids | wc -l)" 4
  run -1 plimsoll outliers 1 2 3 "4' OR '1'='1"
  [[ $output == *"there is no job '4' OR '1'='1'"* ]] || fail "$output"
  run -2 plimsoll outliers
  run -2 plimsoll outliers -m knm 1 2 3 old
  [[ $output == *"unknown method 'knm'"* ]] || fail "$output"
  for bad in z madz= z=x z=-1 z=inf iqr=2 foo=1; do
    run -2 plimsoll outliers --thresholds "$bad" 1 2 3 old
  done
}

@test "outliers: equal jobs, and a value that only one job has" {
  use_store
  for id in a b c d; do
    make_job d$id --id $id --procs 3
    plimsoll submit -q d$id
  done
  equal equal "$(plimsoll outliers --csv -f all a b c d | sed 1d | cut -d, -f2- | tr ',' '\n' | sort -u)" 0
  make_job de --id e --procs 3 --set 2:majflt=9
  plimsoll submit -q de
  # MADZ with the mean deviation: 0.6745 * 8 / 1.6
  equal one "$(plimsoll outliers --csv -f majflt a b c d e | sed 1d | paste -sd' ')" "a,0 b,0 c,0 d,0 e,1"
}

# bats test_tags=engine
@test "model: create, list, train, disable, delete; jobs that were deleted meanwhile" {
  use_store
  some_jobs 1 2 3 4
  EXTRA="--set 3:rchar=5000000" some_jobs x5
  run -1 plimsoll model create m 1 2
  [[ $output == *"a model needs at least 3 jobs, and there are 2"* ]] || fail "$output"
  equal none "$(plimsoll model list --json)" "[]"
  plimsoll model create m -f rchar,wchar -t exp:a 1 2 3
  run -1 plimsoll model create m 1 2 3
  [[ $output == *"there is already a model 'm'"* ]] || fail "$output"
  equal list "$(plimsoll model list --csv | sed 's/,20[^,]*,/,TIME,/')" "name,enabled,of,jobs,features,methods,created,tags
m,yes,jobs,3,2,\"iqr,madz,z\",TIME,exp:a"
  equal row "$(plimsoll model list --json | jq -c '.[0] | [.name, .enabled, .of, .jobs, .features, .methods, .tags]')" '["m",true,"jobs",3,["rchar","wchar"],"iqr,madz,z",{"exp":"a"}]'
  equal flags "$(plimsoll outliers --csv --model m -f all 4 x5 2>/dev/null | paste -sd' ')" "jobid,rchar,wchar 4,3,0 x5,3,0"
  # only methods that it has
  plimsoll model create only_z -m z 1 2 3
  run -1 plimsoll outliers --model only_z -m madz x5
  [[ $output == *"model 'only_z' has none of these methods"* ]] || fail "$output"
  # disabled
  plimsoll model disable m
  run -1 plimsoll outliers --model m x5
  [[ $output == *"model 'm' is disabled; enable it with"* ]] || fail "$output"
  equal off "$(plimsoll model list --json | jq -c 'map([.name, .enabled])')" '[["m",false],["only_z",true]]'
  plimsoll model enable m
  # jobs that are gone do not change the model; training says that they are gone
  plimsoll delete 1 2
  equal still "$(plimsoll outliers --csv --model m x5 -f rchar | sed 1d)" "x5,3"
  run -1 plimsoll model train m
  [[ $output == *"job 1 of model 'm' is no longer stored and is left out"*"a model needs at least 3 jobs, and there is 1"* ]] || fail "$output"
  equal kept "$(plimsoll model list --json | jq -c '.[0].jobs')" 3
  plimsoll model train -q m 4 x5
  equal trained "$(plimsoll model show --json m | jq -c '[.jobs, .tags, .version, (.computed | keys)]')" '[["3","4","x5"],{"exp":"a"},1,["iqr","modified_z_score","z_score"]]'
  equal fits "$(plimsoll outliers --csv --model m x5 -f rchar | sed 1d)" "x5,0"
  # detectors have no answer without a model, and components none without its jobs
  run -1 plimsoll outliers -m hbos 3 4 x5
  [[ $output == *"detectors compare with a model; name one with --model"* ]] || fail "$output"
  run -2 plimsoll outliers -m hbos,z 3 4 x5
  run -1 plimsoll outliers --pca --model only_z -m z 3
  [[ $output == *"job 1 of model 'only_z' is no longer stored, and principal components need all of them"* ]] || fail "$output"
  run -1 plimsoll outliers --model nobody x5
  [[ $output == *"no model is named 'nobody'; there are 'm', 'only_z'"* ]] || fail "$output"
  plimsoll model delete m
  run -1 plimsoll model delete m
  [[ $output == *"no model is named 'm'"* ]] || fail "$output"
  run -2 plimsoll model make
  run -2 plimsoll model create
  run -2 plimsoll model list m
  run -2 plimsoll model create n
}

# bats test_tags=engine
@test "model: by tags; of a newer version; damaged; of EPMT" {
  use_store
  for id in 1 2 3 4; do
    make_job d$id --id $id --procs 5 --tags "op:a;op:b"
    plimsoll submit -q d$id
    [ $id = 4 ] || plimsoll tag $id campaign:7
  done
  plimsoll model create c --tag campaign:7
  equal jobs "$(plimsoll model show --json c | jq -c '[.jobs, .tags]')" '[["1","2","3"],{"campaign":"7"}]'
  run -1 plimsoll model create none --tag campaign:8
  [[ $output == *"a model needs at least 3 jobs, and there are 0"* ]] || fail "$output"
  json='{"version":2,"name":"new","computed":{}}'
  old='{"id":7,"name":"epmt","enabled":true,"tags":{},"op_tags":[],"computed":{"modified_z_score":{"num_procs":[0.5,4,1.0]}},"jobs":["9"]}'
  if [ "${PL_ENGINE:-sqlite}" = sqlite ]; then bytes=CAST; as="AS BLOB)"; else bytes=convert_to; as=", 'UTF8')"; fi
  change "INSERT INTO model (name, enabled, json) VALUES ('new', 1, $bytes('$json' $as), ('bad', 1, $bytes('{\"x' $as), ('epmt', 1, $bytes('$old' $as)"
  run -1 plimsoll outliers --model new 1
  [[ $output == *"model 'new' was written by a newer version of plimsoll (format 2, this one reads up to 1); update plimsoll"* ]] || fail "$output"
  for action in show train enable; do
    run -1 plimsoll model $action new
    [[ $output == *"newer version of plimsoll"* ]] || fail "$output"
    run -1 plimsoll model $action bad
    [[ $output == *"model 'bad' is damaged"* ]] || fail "$output"
  done
  equal list "$(plimsoll model list --json | jq -c 'map([.name, has("problem")])')" '[["bad",true],["c",false],["epmt",false],["new",true]]'
  # numbers that are none, as Python writes them, and numbers that are too large
  for number in NaN Infinity -Infinity 1e999; do
    json="{\"name\":\"odd\",\"computed\":{\"modified_z_score\":{\"num_procs\":[$number,4,1.0]}}}"
    change "INSERT INTO model (name, enabled, json) VALUES ('odd', 1, $bytes('$json' $as)"
    run -1 plimsoll outliers --model odd 1
    [[ $output == *"model 'odd' is damaged (line 1, column "*"delete it with \`plimsoll model delete\`"* ]] || fail "$output"
    plimsoll model delete odd
  done
  # EPMT's own: score 0.6745 * 1 / 1 is above 0.5
  equal imported "$(plimsoll outliers --csv --model epmt 1 | paste -sd' ')" "jobid,num_procs 1,1"
  plimsoll model delete new
}

# bats test_tags=engine
@test "rca --op: all processes of the operation count, however many sets of tags it has" {
  local id factor n=0
  use_store
  for id in 1 2 3 slow; do
    n=$((n + 1))
    factor=$n
    [ "$id" != slow ] || factor=3000
    jq -n --argjson f "$factor" '{user: "u", start: 0, end: 200, procs: [range(150) | {pid: (. + 10), ppid: 1, exename: "e\(. % 3)",
      start: ., end: (. + 1), tags: "op:cp;instance:\(.)", usertime: (1000 + if . % 3 == 2 then $f else 0 end)}]}' | native_job "w$id" --id "$id" --spec
    plimsoll submit -q "w$id"
  done
  plimsoll rca slow --ref 1,2,3 --op op:cp -f cpu_time,num_procs --json >out.json
  equal cause "$(jq -c '.[0].causes[0] | [.feature, .value, .executables[0].name, .executables[0].value, .executables[0].reference, .executables[0].processes]' out.json)" \
    '["cpu_time",300000,"e2",200000,50100,50]'
  equal host "$(jq -c '.[0].causes[0].hosts[0] | [.value, .processes]' out.json)" '[300000,150]'
  # every set of tags is an operation of its own
  equal operations "$(plimsoll outliers --ops --json --where 'jobid ~ *' -f cpu_time | jq -c '[.compared, (.outliers | length)]')" '[600,50]'
}

# bats test_tags=engine
@test "a job with impossible numbers spoils no sum over all jobs" {
  local id user=5 system=1
  use_store
  for id in 1 2 3 4 5; do
    [ "$id" != 5 ] || user=9223372036854775807 system=9223372036854775807
    # numbers that jq would round
    jq -n '{user: "u", start: 0, end: 20, procs: [range(4) | {pid: (. + 10), ppid: 1, exename: "e", start: 0, end: 1, tags: "op:a",
      usertime: "USER", systemtime: "SYSTEM", rchar: "RCHAR", threads: [range(3) | {tid: (. + 50), rssmax: 4000000000000000}]}]}' |
      sed "s/\"USER\"/$user/; s/\"SYSTEM\"/$system/; s/\"RCHAR\"/4000000000000000000/g" | native_job "w$id" --id "$id" --spec
    plimsoll submit -q "w$id"
  done
  equal unknown "$(ask "SELECT count(*), count(usertime), count(cpu_time) FROM processes WHERE jobid = '5'")" 4,0,0
  equal known "$(ask "SELECT sum(cpu_time) FROM processes")" 96
  equal job "$(plimsoll list --json | jq -c 'map([.jobid, .cpu_time])')" '[["1",24],["2",24],["3",24],["4",24],["5",0]]'
  # sums that do not fit end at the limit
  equal limit "$(ask "SELECT sum FROM job_sum WHERE metric = 'rchar' AND job = (SELECT min(no) FROM job)")" 9223372036854775807
  equal usage "$(plimsoll usage --json | jq -c '.[0] | [.jobs, .cpu_time]')" '[5,96]'
  plimsoll outliers --ops --where 'jobid ~ *' -f rchar,num_procs --json | jq -e '.compared == 5' >/dev/null
  equal threads "$(plimsoll ops 1 --json | jq -r '.[0] | [.rssmax_sum, .rchar > 9e18] | @csv')" 48000000000000000,true
  plimsoll rca 4 --ref 1,2,3 >/dev/null
  run plimsoll compare --by executable -m all 4 5 -- 1 2 3
  [ "$status" = 4 ] || fail "$status $output"
  plimsoll query --procs 'cpu_time > 1us' --ids | wc -l | grep -qx 16
}

# bats test_tags=engine
@test "rca: the executable that read more, and why there is no answer" {
  use_store
  some_jobs 1 2 3
  EXTRA="--set 3:rchar=5000000" some_jobs x5
  plimsoll rca --json x5 --ref 1,2,3 >out.json
  equal first "$(jq -c '.[0] | [.jobid, .causes[0].feature]' out.json)" '["x5","rchar"]'
  equal share "$(jq -c '.[0].causes[0] | [.executables[0].share, .hosts[0].name]' out.json)" '[1,"node1"]'
  equal csv "$(plimsoll rca --csv -n 1 1 x5 --ref 1,2,3 | cut -d, -f1 | paste -sd' ')" "jobid 1 x5"
  run -1 plimsoll rca x5 --ref 1,2
  [[ $output == *"a reference needs at least 3 jobs, and there are 2"* ]] || fail "$output"
  run -1 plimsoll rca x5 --ref 1,2,3 --op op:none
  [[ $output == *"job x5 has no process with these tags"* ]] || fail "$output"
  run -2 plimsoll rca x5
  [[ $output == *"give either --model or --ref"* ]] || fail "$output"
  run -2 plimsoll rca --ref 1,2,3
  run -2 plimsoll model create $'\xff' 1 2 3
  [[ $output == *"model create: a name is valid UTF-8 of at most 255 bytes"* ]] || fail "$output"
  run -2 plimsoll model create "$(printf 'a%.0s' {1..256})" 1 2 3
  plimsoll model create ops --ops 1 2 3
  run -1 plimsoll rca x5 --model ops
  [[ $output == *"model 'ops' is a model of operations: use it with --op"* ]] || fail "$output"
}

@test "EPMT's numbers: a model of its own database is the one that train computes" {
  local file=$DATA/epmt/database/epmt-4.11.sqlite.xz
  [ -f "$file" ] || skip "no sample data beside the project"
  use_store
  xz -dc "$file" >epmt.sqlite
  plimsoll db import -q "$WORK/epmt.sqlite"
  plimsoll model show --json ref1 | jq -S .computed >stored
  jq -e '(keys == ["iqr", "modified_z_score", "z_score"]) and (.z_score | keys == ["cpu_time", "duration", "num_procs"])' stored
  equal inside "$(plimsoll outliers --csv --model ref1 685000 685003 685016 | sed 1d | cut -d, -f2- | sort -u)" 0,0,0
  plimsoll model train ref1
  plimsoll model show --json ref1 | jq -S .computed >trained
  diff stored trained
}
