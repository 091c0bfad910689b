#!/usr/bin/env bats
# What the commands that read the store say: exact values from jobs made here, and the numbers that EPMT's
# own tests expect of its sample jobs. Every filter is shown to leave something out and to keep something.
# PL_ENGINE chooses the engine, as for store.bats.

bats_require_minimum_version 1.5.0
load store
load three_jobs

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}

# ids OPTION...: what `list --ids` prints, in one line
ids() {
  plimsoll list --ids "$@" | tr '\n' ' '
}

# pids JOB OPTION...
pids() {
  plimsoll procs --json "$@" | jq -r '.[].pid' | tr '\n' ' '
}

# bats test_tags=engine
@test "list: every filter" {
  three_jobs
  equal all "$(ids)" 'alpha-1 beta-2 Alpha_3 '
  equal id "$(ids --id 'alpha*')" 'alpha-1 '
  equal "id ?" "$(ids --id '?lpha?3')" 'Alpha_3 '
  equal "id with a sign of LIKE" "$(ids --id 'Alpha_*')" 'Alpha_3 '
  equal "id, all of it" "$(ids --id 'alpha')" ''
  equal name "$(ids --name 'weather')" 'alpha-1 '
  equal "name %" "$(ids --name '*100%')" 'beta-2 '
  equal "name % is no *" "$(ids --name '%')" ''
  equal "name, an escaped sign" "$(ids --name '\*')" ''
  equal user "$(ids --user bob)" 'beta-2 '
  equal host "$(ids --host n3)" 'beta-2 '
  equal hosts "$(ids --host n3 --host n9)" 'alpha-1 beta-2 '
  equal tag "$(ids --tag exp:a)" 'alpha-1 '
  equal "tag with a colon" "$(ids --tag exp:a:b)" 'Alpha_3 '
  equal "tag, key" "$(ids --tag run)" 'alpha-1 beta-2 '
  equal tags "$(ids --tag run:1 --tag exp:b)" 'beta-2 '
  equal when "$(ids --when '2020-09-13 13:15')" 'beta-2 '
  equal "when, at the end" "$(ids --when '2020-09-13T12:10:00Z')" 'alpha-1 '
  equal "when, between" "$(ids --when '2020-09-13 12:30')" ''
  equal before "$(ids --before '2020-09-13 13:30:00')" 'alpha-1 beta-2 '
  equal "before, a second less" "$(ids --before '2020-09-13 13:29:59')" 'alpha-1 '
  equal after "$(ids --after '2020-09-13 13:00')" 'beta-2 Alpha_3 '
  equal "after, a second more" "$(ids --after '2020-09-13 13:00:01')" 'Alpha_3 '
  equal "exit ok" "$(ids --exit ok)" 'alpha-1 Alpha_3 '
  equal "exit failed" "$(ids --exit failed)" 'beta-2 '
  equal "exit 3" "$(ids --exit 3)" 'beta-2 '
  equal "exit 4" "$(ids --exit 4)" ''
  equal limit "$(ids --limit 2)" 'Alpha_3 beta-2 '
  equal offset "$(ids --offset 1)" 'beta-2 Alpha_3 '
  equal both "$(ids --offset 1 --limit 1)" 'beta-2 '
  equal "limit of a pattern" "$(ids --id '*lpha*' --limit 1)" 'Alpha_3 '
  equal "offset of a pattern" "$(ids --id '*lpha*' --offset 1)" 'Alpha_3 '
  equal combined "$(ids --user alice --exit ok --tag exp --after '2020-09-14')" 'Alpha_3 '
  equal named "$(ids Alpha_3 alpha-1)" 'alpha-1 Alpha_3 '
}

# bats test_tags=engine
@test "list: orders" {
  three_jobs
  equal start "$(ids --order start)" 'alpha-1 beta-2 Alpha_3 '
  equal "start back" "$(ids --order -start)" 'Alpha_3 beta-2 alpha-1 '
  equal end "$(ids --order -end)" 'Alpha_3 beta-2 alpha-1 '
  equal duration "$(ids --order duration)" 'Alpha_3 alpha-1 beta-2 '
  equal cpu "$(ids --order cpu_time)" 'Alpha_3 alpha-1 beta-2 '
  equal procs "$(ids --order -num_procs)" 'alpha-1 beta-2 Alpha_3 '
  equal jobid "$(ids --order jobid)" 'Alpha_3 alpha-1 beta-2 '
  equal ingested "$(ids --order -ingested)" 'Alpha_3 beta-2 alpha-1 '
}

# bats test_tags=engine
@test "list: times in every form" {
  three_jobs
  for t in '2020-09-13 13:00:00' 2020-09-13T13:00:00 '2020-09-13 13:00' 2020-09-13T15:00:00+02:00 2020-09-13T09:00:00-0400 \
    '2020-09-13 13:00:00.000000Z' '09/13/2020 13:00' 1600002000; do
    equal "$t" "$(ids --after "$t" --before '2020-09-13 14:00')" 'beta-2 '
  done
  equal zone "$(TZ=America/New_York plimsoll list --ids --when '09/13/2020 09:15')" beta-2
  equal day "$(ids --after 2020-09-14)" 'Alpha_3 '
  equal now "$(ids --after now)" ''
  equal ago "$(ids --after -1d)" ''
  equal "long ago" "$(ids --after -100000d)" 'alpha-1 beta-2 Alpha_3 '
  for t in yesterday 2020-13-01 2020-02-30 '2020-09-13 25:00' -3 '' 2020-09-13x '2020-09-13 13:00 CET' 13/09/2020; do
    run plimsoll list --after "$t"
    equal "'$t'" "$status" 2
  done
}

@test "list: JSON, CSV and a table" {
  three_jobs
  plimsoll list --json >list.json
  equal keys "$(jq -c '.[0] | keys_unsorted' list.json)" \
    '["jobid","jobname","user","cluster","hosts","start","end","submit","duration","cpu_time","exitcode","processes","images","num_procs","num_threads","tags","annotations","format","source","ingested"]'
  equal first "$(jq -c '.[0] | del(.source, .ingested)' list.json)" \
    '{"jobid":"alpha-1","jobname":"weather","user":"alice","cluster":null,"hosts":["n1","n9"],"start":"2020-09-13T12:00:00.000000+00:00","end":"2020-09-13T12:10:00.000000+00:00","submit":"2020-09-13T12:00:00.000000+00:00","duration":600000000,"cpu_time":42900000,"exitcode":0,"processes":7,"images":7,"num_procs":7,"num_threads":8,"tags":{"exp":"a","run":"1"},"annotations":{"note":{"x":[1,null]}},"format":"plimsoll"}'
  equal hosts "$(jq -c '[.[].hosts]' list.json)" '[["n1","n9"],["n2","n3"],["n1"]]'
  equal codes "$(jq -c '[.[].exitcode]' list.json)" '[0,3,0]'
  equal zone "$(TZ=Asia/Kolkata plimsoll list --json alpha-1 | jq -r '.[0].start')" 2020-09-13T17:30:00.000000+05:30
  # the same in order and out of it: tags belong to their jobs
  equal reordered "$(plimsoll list --json --order -start | jq -Sc 'sort_by(.start)')" "$(jq -Sc . list.json)"
  equal csv "$(plimsoll list --csv --user bob | sed 's/,dir-.*//')" \
    'jobid,jobname,user,hosts,start,end,submit,duration,cpu_time,exitcode,processes,images,num_procs,num_threads,tags,format,source,ingested,cluster
beta-2,ocean_100%,bob,n2;n3,2020-09-13T13:00:00.000000+00:00,2020-09-13T13:30:00.000000+00:00,2020-09-13T13:00:00.000000+00:00,1800000000,900000005,3,2,2,2,2,exp:b;run:1,plimsoll'
  equal table "$(plimsoll list)" \
    'JOBID    NAME        USER   START                DURATION(us)    CPU(us)  PROCS  EXIT
alpha-1  weather     alice  2020-09-13 12:00:00     600000000   42900000      7     0
beta-2   ocean_100%  bob    2020-09-13 13:00:00    1800000000  900000005      2     3
Alpha_3  Weather     alice  2020-09-14 12:00:00      60000000         40      1     0'
  equal none "$(plimsoll list --json --user nobody)" '[]'
  equal "no table" "$(plimsoll list --user nobody)" ''
}

@test "list: on a terminal numbers have units, and lines fit" {
  three_jobs
  script -qec 'stty cols 80; NO_COLOR=1 plimsoll list alpha-1' /dev/null </dev/null | tr -d '\r' >shown
  grep -q '10 min 00 s *42.9 s *7 *0' shown || fail "$(cat shown)"
  /usr/bin/python3 -c 'import sys; sys.exit(any(len(l) > 81 for l in open("shown")))' || fail "too wide: $(cat shown)"
}

@test "exit statuses: no such job, wrong use" {
  three_jobs
  for c in show procs threads tree timeline tags; do
    run plimsoll $c nosuch
    equal "$c" "$status" 1
    [[ $output == *"no job 'nosuch'"* ]] || fail "$c: $output"
    run plimsoll $c --nosuch
    equal "$c option" "$status" 2
    run plimsoll $c --help
    equal "$c help" "$status" 0
    [[ $output == *"examples:"* ]] || fail "$c: $output"
    run plimsoll $c
    equal "$c alone is of the last job" "$status" 0
    [ $c = tags ] || [ $c = show ] && continue
    run plimsoll $c alpha-1 beta-2
    equal "$c of two" "$status" 2
  done
  run plimsoll list alpha-1 nosuch
  equal list "$status" 1
  [[ $output == *alpha-1* && $output == *nosuch* ]] || fail "$output"
  run plimsoll list --ids alpha-1 xb xc xd xe xf xg Alpha_3
  equal "list of many" "$status" 1
  equal "those that are there" "${lines[*]:0:2}" "alpha-1 Alpha_3"
  run plimsoll list --user bob alpha-1
  equal "filtered is not missing" "$status" 0
  for o in --order=nosuch --limit=x --exit=x --offset=-1; do
    run plimsoll list $o
    equal "list $o" "$status" 2
  done
  for o in --order=nosuch --limit=x --pid=x --min-cpu=x --min-duration=1y; do
    run plimsoll procs alpha-1 $o
    equal "procs $o" "$status" 2
  done
  run plimsoll list --db "$WORK/nowhere.db"
  equal "no store" "$status" 1
  [ ! -e "$WORK/nowhere.db" ]
}

# bats test_tags=engine
@test "show: a job by its id, by its beginning, the last one" {
  three_jobs
  plimsoll show --json alpha-1 >show.json
  equal keys "$(jq -c 'keys_unsorted' show.json)" \
    '["jobid","jobname","user","cluster","hosts","start","end","submit","duration","cpu_time","exitcode","processes","images","num_procs","num_threads","tags","annotations","command","array_task","cut_off","io_unknown","sums","peaks","warnings","format","source","ingested"]'
  equal values "$(jq -c '[.jobid, .duration, .cpu_time, .num_procs, .num_threads, .tags.run, .annotations.note.x[0]]' show.json)" \
    '["alpha-1",600000000,42900000,7,8,"1",1]'
  # rssmax is summed over threads and processes as in EPMT, and its peak is one process
  equal sums "$(jq -c '[.sums.usertime, .sums.systemtime, .sums.rssmax, .sums.PERF_COUNT_SW_CPU_CLOCK]' show.json)" '[41700000,1200000,1069976,54]'
  equal peaks "$(jq -c '.peaks' show.json)" '{"processes":3,"threads":4,"rssmax":1048576}'
  equal beginning "$(plimsoll show --json al | jq -r .jobid)" alpha-1
  equal last "$(plimsoll show --json last | jq -r .jobid)" Alpha_3
  run plimsoll show ''
  equal empty "$status" 1
  job alpha-12 <<<'{"user": "x", "start": 0, "end": 1, "procs": []}'
  equal "an id before a beginning" "$(plimsoll show --json alpha-1 | jq -r .num_procs)" 7
  run plimsoll show alph
  equal several "$status" 1
  [[ $output == *"several jobs"* ]] || fail "$output"
  equal unknown "$(plimsoll show --json alpha-12 | jq -c '[.jobname, .exitcode, .sums, .hosts]')" '[null,0,{},[]]'
  equal page "$(plimsoll show alpha-1 | sed -n '1,9p')" \
    'job alpha-1  weather
  user         alice
  hosts        n1 (6 images), n9 (1 image)
  start        2020-09-13 12:00:00
  end          2020-09-13 12:10:00, took 600000000 us
  exit         0
  processes    7, at most 3 at once; 8 threads, at most 4 at once
  CPU          42900000 us: 41700000 us user, 1200000 us system; 0.0715 CPUs busy on average
  memory       1048576 KiB in the largest process'
  plimsoll show alpha-1 | grep -q '^  usertime  *41700000  *40000000  us ' || fail "$(plimsoll show alpha-1)"
  equal csv "$(plimsoll show --csv alpha-1 | grep -E '^(cpu_time|tag.run|sum.usertime|peak.rssmax|host.n9),' | tr '\n' ' ')" \
    'cpu_time,42900000 host.n9,1 tag.run,1 sum.usertime,41700000 peak.rssmax,1048576 '
}

# bats test_tags=engine
@test "procs: every filter and order" {
  three_jobs
  equal all "$(pids alpha-1)" '100 101 102 103 104 105 106 '
  equal exe "$(pids alpha-1 --exe sed)" '101 102 103 '
  equal "exe, all of it" "$(pids alpha-1 --exe se)" ''
  equal tag "$(pids alpha-1 --tag op:cut)" '101 102 103 '
  equal "tag, key" "$(pids alpha-1 --tag op)" '101 102 103 105 '
  equal tags "$(pids alpha-1 --tag op:cut --tag n:2)" '102 103 '
  equal host "$(pids alpha-1 --host n9)" '106 '
  equal pid "$(pids alpha-1 --pid 104)" '104 '
  equal "min cpu" "$(pids alpha-1 --min-cpu 700ms)" '100 105 106 '
  equal "min duration" "$(pids alpha-1 --min-duration 50s)" '100 104 105 '
  equal failed "$(pids alpha-1 --failed)" '103 106 '
  equal limit "$(pids alpha-1 --limit 2)" '100 101 '
  equal offset "$(pids alpha-1 --offset 5)" '105 106 '
  equal "cpu back" "$(pids alpha-1 --order -cpu_time)" '105 100 106 104 101 102 103 '
  equal duration "$(pids alpha-1 --order duration --limit 3)" '102 103 101 '
  equal end "$(pids alpha-1 --order -end --limit 2)" '100 104 '
  equal inclusive "$(pids alpha-1 --order -inclusive_cpu_time --limit 3)" '100 104 105 '
  equal exclusive "$(pids alpha-1 --order -exclusive_time --limit 3)" '100 104 105 '
  equal rssmax "$(pids alpha-1 --order -rssmax --limit 2)" '105 106 '
  equal pid "$(pids alpha-1 --order -pid --limit 2)" '106 105 '
  equal depth "$(pids alpha-1 --order -depth --limit 2)" '105 101 '
  equal children "$(pids alpha-1 --order -children --limit 2)" '100 104 '
  equal descendants "$(pids alpha-1 --order descendants --limit 1)" '101 '
}

# bats test_tags=engine
@test "procs: JSON and CSV" {
  three_jobs
  plimsoll procs --json alpha-1 >procs.json
  equal cc1 "$(jq -c '.[] | select(.pid == 105) | [.exename, .path, .args, .argv, .tags, .hostname, .start, .end, .duration, .cpu_time, .inclusive_cpu_time,
    .exclusive_time, .parent, .depth, .children, .descendants, .ended, .source, .forked, .counters, .numtids, .rssmax]' procs.json)" \
    '["cc1","/bin/cc1","x.c",["cc1","x.c"],{"op":"compile"},"n1","2020-09-13T12:00:11.000000+00:00","2020-09-13T12:01:01.000000+00:00",50000000,40000000,40000000,50000000,104,2,0,0,"exit","preload",false,{"PERF_COUNT_SW_CPU_CLOCK":12},2,1048576]'
  equal make "$(jq -c '.[] | select(.pid == 104) | [.cpu_time, .inclusive_cpu_time, .exclusive_time, .children, .descendants, .parent]' procs.json)" \
    '[300000,40300000,50000000,1,1,100]'
  equal root "$(jq -c '.[0] | [has("parent"), .children, .descendants, .depth, .exclusive_time]' procs.json)" '[false,4,5,0,496000000]'
  equal "no nulls" "$(jq '[.. | select(. == null)] | length' procs.json)" 0
  equal signal "$(jq -c '.[] | select(.pid == 106) | [.ended, .exitsignal]' procs.json)" '["signal",1]'
  equal ids "$(ask "SELECT min(id), max(id) FROM processes WHERE jobid = 'alpha-1'")" "$(jq -r '[.[0].id, .[-1].id] | @csv' procs.json)"
  plimsoll procs --csv alpha-1 >procs.csv
  /usr/bin/python3 - <<'P'
import csv
rows = list(csv.DictReader(open("procs.csv")))
assert len(rows) == 7, len(rows)
r = [r for r in rows if r["pid"] == "105"][0]
assert (r["exename"], r["cpu_time"], r["parent"], r["depth"], r["tags"], r["duration"]) == ("cc1", "40000000", "104", "2", "op:compile", "50000000"), r
P
  equal table "$(plimsoll procs alpha-1 --limit 2)" \
    'PID  PARENT  START                DURATION(us)  CPU(us)  RSS(KiB)  EXIT  COMMAND
100          2020-09-13 12:00:00     600000000  1500000      4000     0  sh -c run
101     100  2020-09-13 12:00:01       2000000   200000      1000     0  sed s/a/b/'
}

# bats test_tags=engine
@test "threads" {
  three_jobs
  plimsoll threads --json alpha-1 >threads.json
  equal count "$(jq length threads.json)" 8
  equal two "$(jq -c '[.[] | select(.pid == 105) | [.n, .tid, .cpu_time, .rssmax, .counters.PERF_COUNT_SW_CPU_CLOCK]]' threads.json)" \
    '[[1,105,30000000,1048576,7],[2,205,10000000,900,5]]'
  equal "a process of one thread" "$(jq -c '.[] | select(.pid == 104) | [.n, .tid, .cpu_time, .exename, .counters.PERF_COUNT_SW_CPU_CLOCK]' threads.json)" \
    '[1,104,300000,"make",7]'
  equal pid "$(plimsoll threads --json --pid 105 alpha-1 | jq -c 'map(.tid)')" '[105,205]'
  equal csv "$(plimsoll threads --csv --pid 105 alpha-1 | cut -d, -f2-5 | tr '\n' ' ')" 'pid,n,exename,tid 105,1,cc1,105 105,2,cc1,205 '
  equal table "$(plimsoll threads --pid 105 alpha-1 | awk '{ print $1, $2, $(NF - 4) }' | tr '\n' ' ')" 'PID TID USER(us) 105 105 30000000 105 205 10000000 '
}

@test "tree: an arrow marks the next program of a process, also where others started in between" {
  use_store
  # shellcheck disable=SC2016
  plimsoll run -q -- sh -c '(exec env sh -c ": >a; until [ -e b ]; do :; done; exec nice true") & until [ -e a ]; do :; done; /bin/echo b >b; wait; (exec env env false); exit 0'
  equal arrows "$(plimsoll tree --wide last | cut -c37- | sed 's/ -c .*//')" "$(printf '%s\n' COMMAND 'sh' '├─ env sh' '├→ sh' '├→ nice true' '├→ true' \
    '├─ echo b' '├─ env env false' '├→ env false' '└→ false (exit 1)')"
  equal ascii "$(LC_ALL=C plimsoll tree --wide last | cut -c37-40 | tail -n 2 | paste -sd ' ')" '|> e `> f'
  plimsoll run -q -- env true
  equal "a root" "$(plimsoll tree last | cut -c37- | tail -n 2 | paste -sd ' ')" 'env true → true'
  # in JSON they are siblings, in the order of their start
  equal json "$(plimsoll tree --json last | jq -c '[map(.exename), (map(.pid) | unique | length)]')" '[["env","true"],1]'
}

# bats test_tags=engine
@test "list: the cluster of a job" {
  use_store
  SLURM_JOB_ID=4711 SLURM_CLUSTER_NAME=blue plimsoll run -q --submit -- true
  plimsoll run -q -j 4712 --submit -- true
  equal json "$(plimsoll list --json | jq -c 'sort_by(.jobid) | map([.jobid, .cluster])')" '[["4711","blue"],["4712",null]]'
  equal csv "$(plimsoll list --csv --order jobid | awk -F, '{ print $1, $NF }' | paste -sd ' ')" 'jobid cluster 4711 blue 4712 '
  equal show "$(plimsoll show --json 4711 | jq -r .cluster)" blue
}

@test "a total of all processes is there only where it means something" {
  three_jobs
  plimsoll show alpha-1 >shown
  # METRIC, ALL PROCESSES, LARGEST ONE, UNIT: without a total there is one number
  for metric in cutime cstime cminflt cmajflt num_threads rssmax; do
    equal "$metric" "$(sed -nE "s/^  $metric +([0-9]+) +([0-9]*).*/\\2/p" shown)" ""
    grep -qE "^  $metric +[0-9]+ " shown || fail "$(cat shown)"
  done
  grep -qE '^  numtids +8 +2 ' shown || fail "$(cat shown)"
  grep -qE '^  usertime +[0-9]+ +[0-9]+ ' shown || fail "$(cat shown)"
}

# bats test_tags=engine
@test "tree: drawn, folded, cut" {
  three_jobs
  equal tree "$(plimsoll tree alpha-1)" \
    '    CPU(us)     WALL(us)  RSS(KiB)  COMMAND
   42200000    600000000      4000  sh -c run
     400000      6000000      3000  ├─ 3 x sed ... (some failed)
   40300000    100000000      1500  └─ make all
   40000000     50000000   1048576     └─ cc1 x.c
     700000      2000000      9000  ld -o x (signal)'
  equal all "$(plimsoll tree --all alpha-1 | sed -n 3,5p)" \
    '     200000      2000000      1000  ├─ sed s/a/b/
     100000      1000000      3000  ├─ sed s/c/d/
     100000      1000000      2000  ├─ sed s/c/d/ (exit 1)'
  equal depth "$(plimsoll tree --depth 1 alpha-1 | sed -n 4p)" '   40300000    100000000      1500  └─ make all [+1]'
  equal roots "$(plimsoll tree --depth 0 alpha-1 | sed -n 2p)" '   42200000    600000000      4000  sh -c run [+5]'
  equal "min cpu" "$(plimsoll tree --min-cpu 500ms alpha-1 | sed 1d)" \
    '   42200000    600000000      4000  sh -c run [+3]
   40300000    100000000      1500  └─ make all
   40000000     50000000   1048576     └─ cc1 x.c
     700000      2000000      9000  ld -o x (signal)'
  equal ascii "$(LC_ALL=C plimsoll tree alpha-1 | sed -n '3,$p' | cut -c37-44)" \
    '|- 3 x s
`- make 
   `- cc
ld -o x '
  script -qec 'stty cols 60; NO_COLOR=1 plimsoll tree alpha-1' /dev/null </dev/null | tr -d '\r' >shown
  grep -q '     42.2 s  10 min 00 s  3.91 MiB  sh -c run' shown || fail "$(cat shown)"
  /usr/bin/python3 -c 'import sys; sys.exit(any(len(l) > 61 for l in open("shown")))' || fail "too wide: $(cat shown)"
}

@test "tree: JSON and CSV" {
  three_jobs
  plimsoll tree --json alpha-1 >tree.json
  equal root "$(jq -c '.[0] | del(.children)' tree.json)" \
    '{"pid":100,"exename":"sh","args":"-c run","start":"2020-09-13T12:00:00.000000+00:00","duration":600000000,"cpu_time":1500000,"inclusive_cpu_time":42200000,"rssmax":4000,"exitcode":0}'
  equal shape "$(jq -c 'def s: [.pid, (.children | map(s))]; map(s)' tree.json)" \
    '[[100,[[101,[]],[102,[]],[103,[]],[104,[[105,[]]]]]],[106,[]]]'
  equal depth "$(plimsoll tree --json --depth 1 alpha-1 | jq -c 'def s: [.pid, (.children | map(s))]; map(s)')" \
    '[[100,[[101,[]],[102,[]],[103,[]],[104,[]]]],[106,[]]]'
  equal "min cpu" "$(plimsoll tree --json --min-cpu 1s alpha-1 | jq -c 'def s: [.pid, (.children | map(s))]; map(s)')" '[[100,[[104,[[105,[]]]]]]]'
  equal none "$(plimsoll tree --json --min-cpu 1h alpha-1)" '[]'
  equal csv "$(plimsoll tree --csv alpha-1 | cut -d, -f1-3 | tr '\n' ' ')" \
    'depth,pid,exename 0,100,sh 1,101,sed 1,102,sed 1,103,sed 1,104,make 2,105,cc1 0,106,ld '
}

@test "tree: a chain of 20000 processes, and several roots" {
  use_store
  /usr/bin/python3 -c '
import json
print(json.dumps({"user": "x", "start": 0, "end": 30000, "procs": [
  {"pid": 10 + i, "ppid": 9 + i if i else 0, "exename": "a%d" % i, "start": i, "end": 30000, "usertime": 1} for i in range(20000)]
  + [{"pid": 60000, "ppid": 0, "exename": "z", "start": 29000, "end": 30000}]}))' | job chain
  plimsoll tree --json chain >tree.json
  /usr/bin/python3 - <<'P'
text = open("tree.json").read()
assert text.count("\"children\":[") == 20001
assert text.rstrip().endswith("\"exename\":\"z\",\"args\":\"\",\"start\":\"2020-09-13T20:03:20.000000+00:00\",\"duration\":1000000000,\"cpu_time\":0,\"inclusive_cpu_time\":0,\"rssmax\":0,\"exitcode\":0,\"children\":[]}\n]"), text[-300:]
deepest = depth = 0
for c in text:
    depth += (c in "[{") - (c in "]}")
    deepest = max(deepest, depth)
assert depth == 0 and deepest == 2 * 20000 + 1, (depth, deepest)
P
  equal lines "$(plimsoll tree chain | wc -l)" 20002
  equal last "$(plimsoll tree chain | sed -n '20001p')" '          1  10001000000         0  19999 …└─ a19999'
  equal depth "$(plimsoll procs --json chain --order -descendants --limit 1 | jq -c '.[] | [.pid, .descendants, .inclusive_cpu_time]')" '[10,19999,20000]'
  at_most "bytes in all" "$(plimsoll tree --wide chain | wc -c)" 3000000
}

# bats test_tags=engine
@test "timeline" {
  three_jobs
  plimsoll timeline --json alpha-1 >t.json
  equal head "$(jq -c '[.jobid, .start, .end, .duration, .num_procs, .peak_processes, .peak_threads]' t.json)" \
    '["alpha-1","2020-09-13T12:00:00.000000+00:00","2020-09-13T12:10:00.000000+00:00",600000000,7,3,4]'
  equal profile "$(jq -c '[.profile[] | [.time[11:19], .processes, .threads]]' t.json)" \
    '[["12:00:00",1,1],["12:00:01",2,2],["12:00:03",1,1],["12:00:04",2,2],["12:00:05",1,1],["12:00:06",2,2],["12:00:07",1,1],["12:00:10",2,2],["12:00:11",3,4],["12:01:01",2,2],["12:01:02",3,3],["12:01:04",2,2],["12:01:50",1,1],["12:10:00",0,0]]'
  equal longest "$(jq -c '[.longest[].pid]' t.json)" '[100,104,105,101,106]'
  equal first "$(jq -c '[.first[].pid]' t.json)" '[100,101,102,103,104]'
  equal csv "$(plimsoll timeline --csv alpha-1 | sed -n 1,2p | tr '\n' ' ')" 'time,processes,threads 2020-09-13T12:00:00.000000+00:00,1,1 '
  plimsoll timeline alpha-1 >shown
  equal slices "$(grep -c '^2020-09-13 12:0' shown)" 20
  # 30 s: the shell, 4 s of sed, make for 20 s, cc1 for 19
  equal "one slice" "$(sed -n 4p shown)" '2020-09-13 12:00:00    2.43      3  █████████████████████████████████████████████████░░░░░░░░░░░'
  grep -q '^longest' shown && grep -q '^first' shown || fail "$(cat shown)"
}

# bats test_tags=engine
@test "tags of jobs and of processes" {
  three_jobs
  equal jobs "$(plimsoll tags --json | jq -c '[.[] | [.key, .value, .jobs]]')" '[["exp","a",1],["exp","a:b",1],["exp","b",1],["run","1",2]]'
  equal csv "$(plimsoll tags --csv | tail -n 1)" run,1,2
  equal table "$(plimsoll tags | tail -n 1)" 'run  1         2'
  # n:2;op:cut and op:cut;n:2 are the same
  equal processes "$(plimsoll tags --json alpha-1 | jq -c '[.[] | [.tags, .processes]]')" \
    '[[{"n":"1","op":"cut"},1],[{"n":"2","op":"cut"},2],[{"op":"compile"},1]]'
  equal table "$(plimsoll tags alpha-1 beta-2 | sed 1d)" \
    '        1  n:1;op:cut
        2  n:2;op:cut
        1  op:compile'
}

# bats test_tags=engine
@test "names with quotes, tabs, newlines, SQL and bytes that are not UTF-8" {
  use_store
  id="it's;DROP_TABLE_job--"
  job "$id" <<'J'
{"name": "tab\there \"quoted\"", "user": "o'brien", "start": 0, "end": 10, "tags": {"a'b": "c;d,e\"f"},
 "procs": [
  {"pid": 1000, "ppid": 1, "exename": "it's", "args": "'; DELETE FROM job; --", "start": 0, "end": 9, "hostname": "h'1", "tags": "k:it's"},
  {"pid": 1001, "ppid": 1000, "exename": "caf\udce9", "args": "one\ttwo\nthree,\"four\" \udcff\u00e9", "start": 1, "end": 2, "hostname": "h'1"}
 ]}
J
  equal id "$(plimsoll list --ids)" "$id"
  equal "list by id" "$(plimsoll list --ids "$id")" "$id"
  equal pattern "$(plimsoll list --ids --id "*'s;DROP*")" "$id"
  equal user "$(plimsoll list --ids --user "o'brien")" "$id"
  equal host "$(plimsoll list --ids --host "h'1")" "$id"
  equal tag "$(plimsoll list --ids --tag "a'b:c;d,e\"f")" "$id"
  equal "tag, nearly" "$(plimsoll list --ids --tag "a'b:c")" ""
  equal show "$(plimsoll show --json "$id" | jq -c '[.jobid, .jobname, .user, .tags]')" \
    "[\"$id\",\"tab\\there \\\"quoted\\\"\",\"o'brien\",{\"a'b\":\"c;d,e\\\"f\"}]"
  equal exe "$(pids "$id" --exe "it's")" '1000 '
  equal "process tag" "$(pids "$id" --tag "k:it's")" '1000 '
  equal "exe, bytes" "$(pids "$id" --exe $'caf\xe9')" '1001 '
  plimsoll procs --json "$id" >procs.json
  equal args "$(jq -c '.[0].args' procs.json)" "\"'; DELETE FROM job; --\""
  equal "not UTF-8" "$(jq -r '.[1].exename_b64' procs.json | base64 -d | od -An -tx1 | tr -d ' ')" 636166e9
  equal "not UTF-8, seen" "$(jq -r '.[1].exename' procs.json)" $'caf\xef\xbf\xbd'
  equal "args, bytes" "$(jq -r '.[1].args_b64' procs.json | base64 -d | od -An -c | tr -s ' \n' ' ')" "$(printf 'one\ttwo\nthree,"four" \xff\xc3\xa9' | od -An -c | tr -s ' \n' ' ')"
  equal tree "$(plimsoll tree --json "$id" | jq -r '.[0].children[0].args_b64')" "$(jq -r '.[1].args_b64' procs.json)"
  # people see no control characters
  plimsoll tree --wide "$id" >shown
  grep -qF 'caf\xe9 one\x09two\x0athree,"four" \xff' shown || fail "$(cat shown)"
  equal lines "$(plimsoll procs "$id" | wc -l)" 3
  equal intact "$(plimsoll sql --csv 'SELECT count(*) FROM jobs' | tail -n 1)" 1
}

@test "a job that was recorded here: argv byte for byte" {
  use_store
  plimsoll run -q -o job -- sh -c '/bin/echo "a b" "" "$(printf "x\ny\377")" "it'"'"'s"; /bin/echo plain words; exit 3' >/dev/null || status=$?
  equal status "${status:-0}" 3
  plimsoll submit -q job
  plimsoll procs --json last >procs.json
  equal plain "$(jq -c '.[] | select(.args == "plain words") | .argv[1:]' procs.json)" '["plain","words"]'
  equal argv "$(jq -c '.[] | select(.argv | length == 5) | .argv[1:]' procs.json)" "[\"a b\",\"\",\"x\\ny�\",\"it's\"]"
  equal bytes "$(jq -r '.[] | select(.argv | length == 5) | .argv_b64[3]' procs.json | base64 -d | od -An -tx1 | tr -d ' ')" 780a79ff
  equal exit "$(plimsoll list --ids --exit 3 | wc -l)" 1
  equal parents "$(jq -c '[.[] | select(.exename == "echo") | .parent] | unique | length' procs.json)" 1
  equal known "$(jq -c '[.[].ended] | unique' procs.json)" '["exit"]'
  equal depth "$(plimsoll tree --json last | jq -c '[.[0].children[] | select(.exename == "echo")] | length')" 2
}

# bats test_tags=engine
@test "sql reads and nothing else" {
  three_jobs
  equal csv "$(plimsoll sql --csv "SELECT jobid, cpu_time FROM jobs WHERE \"user\" = 'bob'")" $'jobid,cpu_time\nbeta-2,900000005'
  equal json "$(plimsoll sql --json "SELECT 1 AS a, 'x' AS b, 2.5 AS c, NULL AS d" | jq -c .)" '[{"a":1,"b":"x","c":2.5,"d":null}]'
  equal table "$(plimsoll sql "SELECT jobid, num_procs FROM jobs ORDER BY num_procs")" \
    'jobid    num_procs
Alpha_3          1
beta-2           2
alpha-1          7'
  equal with "$(plimsoll sql --csv 'WITH x AS (SELECT 5 AS n) SELECT n FROM x' | tail -n 1)" 5
  equal values "$(plimsoll sql --csv 'VALUES (6)' | tail -n 1)" 6
  equal comment "$(plimsoll sql --csv -- $'-- what\n/* so */ select 7' | tail -n 1)" 7
  plimsoll sql 'EXPLAIN SELECT 1' >/dev/null
  for s in 'DELETE FROM job' 'UPDATE job SET jobid = 1' 'DROP TABLE job' 'INSERT INTO job_number VALUES (1)' 'PRAGMA user_version' \
    'CREATE TABLE x (y INT)' "ATTACH 'x' AS y" 'SET x = 1' '' ' ' 'SELECTED' '-- SELECT 1'; do
    run plimsoll sql -- "$s"
    equal "'$s'" "$status" 2
  done
  for s in 'SELECT 1; SELECT 2' 'SELECT 1; DELETE FROM job' 'WITH x AS (SELECT 1) DELETE FROM job' 'SELECT nosuch' 'EXPLAIN ANALYZE DELETE FROM job'; do
    run plimsoll sql "$s"
    equal "'$s'" "$status" 1
  done
  equal intact "$(ids)" 'alpha-1 beta-2 Alpha_3 '
  run plimsoll sql
  equal alone "$status" 2
}

# bats test_tags=engine
@test "sql reaches nothing beside the store, and ends in time" {
  three_jobs
  for s in "SELECT fts3_tokenizer('simple')" "SELECT load_extension('x')" "SELECT * FROM pragma_database_list" "SELECT readfile('/etc/passwd')"; do
    run plimsoll sql "$s"
    equal "'$s'" "$status" 1
    equal "lines of '$s'" "${#lines[@]}" 1
  done
  run plimsoll sql --timeout 300ms 'WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT count(*) FROM x'
  equal "without an end" "$status" 1
  [[ $output == *"time"* ]] || fail "$output"
  run plimsoll sql --timeout soon 'SELECT 1'
  equal "no time" "$status" 2
}

@test "CSV: formulas are texts, a terminal gets no control characters, JSON has every byte" {
  three_jobs
  local all="SELECT '=1+1' AS a, '+x' AS b, '-c ls' AS c, '@SUM(1)' AS d, -5 AS e, '-2.5e-3' AS f, 'x=1' AS g, '-1+2' AS h, '' AS i"
  equal file "$(plimsoll sql --csv "$all" | tail -n 1)" "'=1+1,'+x,'-c ls,'@SUM(1),-5,-2.5e-3,x=1,'-1+2,"
  equal exact "$(plimsoll sql --json "$all" | jq -r '.[0] | [.a, .b, .c, .d] | join("|")')" '=1+1|+x|-c ls|@SUM(1)'
  local escape
  escape=$(printf '\033]0;owned\007')
  equal 'a file has the bytes' "$(plimsoll sql --csv "SELECT 'x$escape' AS a" | tail -n 1)" "x$escape"
  timeout 60 python3 "$PL_SOURCE/tests/cli/pty_run.py" 24x80 raw:terminal end -- plimsoll sql --csv "SELECT 'x$escape' AS a" >/dev/null
  grep -q 'x\\x1b\]0;owned\\x07' terminal || fail "$(cat -v terminal)"
  run grep -c "$(printf '\033]')" terminal
  equal 'escapes on a terminal' "$output" 0
}

@test "records: formulas are texts in CSV and TSV, a terminal gets no control characters" {
  ln -s /bin/true '=1+1'
  local escape form
  escape=$(printf 'x\033]0;owned\007')
  PATH=$PWD:$PATH plimsoll run -q --no-submit -o job -- '=1+1' "$escape"
  for form in csv tsv; do
    plimsoll records --$form job >out.$form
    grep -q "'=1+1" out.$form || fail "$form: $(cat -v out.$form)"
    run grep -cP '(^|[,\t"])=1' out.$form
    equal "$form: what is computed" "$output" 0
    timeout 60 python3 "$PL_SOURCE/tests/cli/pty_run.py" 24x80 raw:terminal.$form end -- plimsoll records --$form job >/dev/null
    grep -q 'x\\\+x1b\]0;owned' terminal.$form || fail "$form: $(cat -v terminal.$form)"
    run grep -c "$(printf '\033]')" terminal.$form
    equal "$form: escapes on a terminal" "$output" 0
  done
  equal exact "$(plimsoll records --jsonl job | jq -r .exename)" '=1+1'
}

# bats test_tags=epmt
@test "EPMT's sample jobs give the numbers of EPMT's tests" {
  [ -d "$DATA/epmt/query" ] || skip "no sample data beside the project"
  use_store
  plimsoll submit -q "$DATA"/epmt/query/*.tgz
  # get_procs: counts by job, host and duration
  equal counts "$(for j in 685000 685003 685016; do plimsoll procs --json $j | jq length; done | tr '\n' ' ')" '3480 3785 3412 '
  equal hosts "$(for h in pp208 pp212 pp209; do plimsoll procs --json 685003 --host $h | jq length; done | tr '\n' ' ')" '0 3785 0 '
  equal long "$(for j in 685000 685003 685016; do plimsoll procs --json $j --min-duration 1s | jq length; done | jq -s add)" 630
  equal longest "$(for j in 685000 685003 685016; do plimsoll procs --json $j --order -duration --limit 1 | jq '.[0].duration'; done | sort -n | tail -n 1)" 7005558348
  # the tree
  equal 6098 "$(plimsoll procs --json 685000 --pid 6098 | jq -c '.[0] | [.children, .descendants, .depth, has("parent")]')" '[735,3448,0,false]'
  equal 26860 "$(plimsoll procs --json 685000 --pid 26860 | jq -c '.[0] | [.parent, .depth]')" '[26859,2]'
  equal latest "$(for j in 685000 685003 685016; do plimsoll procs --json $j --order -start --limit 1 | jq -c '.[0] | [.start, .depth]'; done | sort | tail -n 1 | jq -c '.[1]')" 3
  equal "tree, whole" "$(plimsoll tree --json 685000 | jq '[.. | .pid? | numbers] | length')" 3480
  # get_jobs: when and hosts, in the time zone of the test
  for t in '08:00 3' '07:00 0' '09:00 3' '10:00 0'; do
    equal "$t" "$(TZ=America/New_York plimsoll list --ids --when "06/15/2019 ${t% *}" | wc -l)" "${t#* }"
  done
  equal host "$(ids --host pp208)" '685000 '
  # totals
  equal totals "$(plimsoll list --json --order jobid | jq -c '.[] | [.jobid, .num_procs, .num_threads, .cpu_time, .duration]' | tr '\n' ' ')" \
    '["685000",3480,3668,113135329,6460243317] ["685003",3785,4030,93538033,6615525773] ["685016",3412,3596,427082965,7005618511] '
  equal sums "$(for j in 685000 685003 685016; do plimsoll show --json $j | jq -c '[.sums.rssmax, .sums.rchar, .sums.wchar]'; done | tr '\n' ' ')" \
    '[31621528,15458131996,15066048420] [38915884,10716703983,6511179009] [33653664,101149878203,74236867987] '
  equal tags "$(for j in 685000 685003 685016; do plimsoll tags --json $j | jq length; done | tr '\n' ' ')" '89 395 89 '
  equal "all tags" "$(plimsoll tags --json 685000 685003 685016 | jq length)" 459
  equal threads "$(plimsoll threads --json 685000 | jq length)" 3668
  equal "CPU by process" "$(plimsoll procs --json 685000 | jq 'map(.cpu_time) | add')" 113135329
  equal "CPU by thread" "$(plimsoll threads --json 685000 | jq 'map(.cpu_time) | add')" 113135329
  equal errors "$(plimsoll show --json 685000 | jq -c '.annotations["papiex-error-process-ids"]')" '[22121,23756,24562,26138]'
}
