#!/usr/bin/env bats
# A job that comes in parts, from directories of several hosts or as steps of their own, is the same in the store as
# one whose hosts and steps shared a directory.

bats_require_minimum_version 1.5.0
# shellcheck source=tests/cli/store.bash
. "${PL_SOURCE:?}/tests/cli/store.bash"

# part HOST DIRECTORY COMMAND...: recorded as on a host of that name, with a prefix of its own
part() {
  local host=$1 dir=$2
  shift 2
  unshare -ru sh -c 'hostname "$0"; exec "$@"' "$host" plimsoll run -q --no-submit -j 640 -o "$dir" "$@"
}

need_hosts() {
  unshare -ru true 2>/dev/null || skip "no user and UTS namespaces here"
}

# curves HOST DIRECTORY START RUN [OPTION...]: samples beside the records of a part
curves() {
  local host=$1 dir=$2 start=$3 run=$4
  shift 4
  "$PROGRAMS/make_samples" -h "$host" -j 640 -r "$run" -s "$start" -c 30 "$@" "$(echo "$dir/$host".*)/$run.smp"
}

# What one directory has where all hosts reach it: together INTO PART..., the first one began first
together() {
  local into=$1 first=$2
  shift
  cp -r "$first" "$into"
  local dir
  for dir in "${@:2}"; do
    (cd "$dir" && find . -name '*.*' -type d ! -name . -exec cp -r {} "$OLDPWD/$into/" \;)
  done
  jq -s '(map(.stop_us) | max) as $last | (map(.exitcode) | map(select(. != 0)) | .[0] // 0) as $code |
    (map(.hosts) | add) as $hosts | (.[0].tags as $t | map(.tags) | reverse | add) as $tags |
    (map(select(.stop_us == $last))[0].stop) as $stop |
    .[0] | .stop_us = $last | .stop = $stop | .exitcode = $code | .hosts = $hosts | .tags = $tags' \
    "${@/%//job.json}" >job.new
  mv job.new "$into/job.json"
}

# All that the store has of the job, but for numbers of jobs and times of submission
everything() {
  ask "SELECT jobid, jobname, \"user\", submit, start, \"end\", duration, cpu_time, exitcode, num_procs, num_threads,
    peak_procs, peak_threads, format, processes, images FROM jobs"
  ask "SELECT id & 4294967295, hostname, exename, path, args, tags, ended, source, forked, pid, ppid, exitcode, exitsignal,
    numtids, mpirank, start, \"end\", cpu_time, inclusive_cpu_time, exclusive_time, parent, depth, children, descendants,
    tree_first, tree_last, rssmax, minflt, rchar, wchar, vol_ctxsw, time_oncpu FROM processes ORDER BY id"
  ask "SELECT process & 4294967295, n, tid, start, \"end\", cpu_time, rssmax, minflt FROM threads ORDER BY process, n"
  ask "SELECT process & 4294967295, thread, event, value, permille FROM events ORDER BY process, thread, event"
  ask "SELECT key, value FROM job_tags ORDER BY key"
  ask "SELECT key, value FROM job_annotations ORDER BY key"
  ask "SELECT host, num_procs FROM job_hosts ORDER BY host"
  ask "SELECT metric, sum, max FROM job_sums ORDER BY metric"
  ask "SELECT n, text FROM job_warnings ORDER BY n"
  ask "SELECT tags, num_procs FROM job_proc_tags ORDER BY tags"
  ask "SELECT time, processes, threads FROM job_profiles ORDER BY time"
  ask "SELECT host, metric, unit, kind, aggregation, entity_kind, entity, facts, count, first, last, minimum, round(CAST(mean AS NUMERIC), 6), maximum,
    increase, help FROM series ORDER BY host, metric, entity_kind, entity, first"
  ask "SELECT host, metric, entity_kind, entity, time, value, raw FROM samples ORDER BY host, metric, entity_kind, entity, time, raw"
  ask "SELECT host, metric, reason FROM absences ORDER BY host, metric"
  # what speaks of parts and of submission
  local less='walk(if type == "object" then del(.job, .ingested, .source, .parts, .files, .records, .sampled, .warnings, .created_at, .updated_at) else . end)'
  plimsoll show --json 640 | jq -S "$less"
  plimsoll report -f json 640 | jq -S "$less"
  plimsoll list --json | jq -S "$less"
  plimsoll dump --json 640 | jq -S "$less"
}

# the store, emptied, with these inputs; one call each
submitted_as() {
  local file=$1 input
  shift
  plimsoll delete 640 >/dev/null 2>&1 || true
  for input in "$@"; do
    plimsoll submit -q "$input"
  done
  everything >"$file"
}

same() {
  diff "$1" "$2" >differs || fail "$1 and $2 differ: $(head -20 differs)"
}

# bats test_tags=engine
@test "parts of three hosts are one job, in any order, in one call or several" {
  need_hosts
  use_store
  PLIMSOLL_JOB_TAGS='model:a;where:x' part n1 a sh -c "$PROGRAMS/actor return 0; $PROGRAMS/actor return 3; exit 0"
  PLIMSOLL_JOB_TAGS='model:a;host:two' PLIMSOLL_EVENTS=PERF_COUNT_SW_TASK_CLOCK,PERF_COUNT_SW_PAGE_FAULTS part n2 b sh -c "PLIMSOLL_TAGS=op:x $PROGRAMS/actor threads 3; :"
  part n3 c sh -c "(sleep 0.2 & sleep 0.1; wait); exit 4" || true
  # curves of the time of the job, of two of the hosts
  curves n1 a "$(jq .start_us a/job.json | sed 's/......$//')" one
  curves n3 c "$(jq .start_us a/job.json | sed 's/......$//')" one -n 3
  together all a b c
  submitted_as all.txt all
  equal hosts "$(ask "SELECT count(*) FROM job_hosts")" 3
  equal "exit status" "$(ask "SELECT exitcode FROM jobs")" 4
  equal threads "$(ask "SELECT count(*) FROM threads")" 4
  at_least samples "$(ask "SELECT count(*) FROM samples")" 300
  for dir in a b c; do
    tar czf $dir.tgz -C $dir .
  done
  local order
  for order in "a b c" "a c b" "b a c" "b c a" "c a b" "c b a"; do
    # shellcheck disable=SC2046,SC2086
    submitted_as in.txt $(printf '%s.tgz ' $order)
    same all.txt in.txt
  done
  plimsoll delete 640 >/dev/null 2>&1 || true
  run --separate-stderr plimsoll submit c.tgz a.tgz b.tgz
  equal status "$status" 0
  [[ ${lines[2]} == "submitted 640: now 3 parts with "* ]] || fail "$output"
  everything >in.txt
  same all.txt in.txt
  equal "parts in the metadata" "$(ask "SELECT count(*) FROM jobs")" 1
  # the very same part is there
  run --separate-stderr plimsoll submit b.tgz
  [ "$status" -eq 0 ] || fail "$stderr"
  [[ $stderr == *"job 640 is in the store already, skipped: 'b.tgz'"* ]] || fail "$stderr"
  if ! without epmt; then
    run --separate-stderr epmt submit b.tgz
    equal "duplicate under epmt" "$status" 1
  fi
  everything >in.txt
  same all.txt in.txt
}

# step NUMBER COMMAND...: started, run, stopped and staged by itself; prints the archive
step() {
  local number=$1
  shift
  export SLURM_JOB_ID=640 SLURM_STEP_ID=$number
  plimsoll start -q
  plimsoll run -q "$@" || true
  plimsoll stop -q
  [ "$number" = 1 ] || curves "$(hostname)" "$(plimsoll_dir)" $((1700000000 + 100 * number)) "s$number"
  plimsoll stage --dest "$WORK/steps"
  unset SLURM_JOB_ID SLURM_STEP_ID
}

plimsoll_dir() {
  echo "$PLIMSOLL_PREFIX"/640
}

@test "steps of one job that were staged one by one add up, in any order" {
  use_store
  local archives
  archives=$(step 0 "$PROGRAMS/actor" return 0
    step 1 "$PROGRAMS/actor" return 5
    step 2 sh -c "$PROGRAMS/actor return 0; exit 0")
  equal archives "$(wc -w <<<"$archives")" 3
  # shellcheck disable=SC2206
  local list=($archives)
  submitted_as first.txt "${list[@]}"
  equal "processes, images" "$(ask "SELECT processes, images FROM jobs")" 4,4
  equal "exit status" "$(ask "SELECT exitcode FROM jobs")" 5
  equal hosts "$(ask "SELECT host, num_procs FROM job_hosts")" "$(hostname),4"
  # two steps sampled the host one after the other: one curve
  equal "curves of the node" "$(ask "SELECT count(*), sum(count) FROM series WHERE metric = 'system.load'")" 1,60
  equal "what the counter grew by" "$(ask "SELECT CAST(sum(increase) AS INTEGER) FROM series WHERE metric = 'system.rx_bytes'")" 58000
  equal "sum of CPU time" "$(ask "SELECT j.cpu_time - sum(p.cpu_time) FROM jobs j JOIN processes p ON p.job = j.job GROUP BY j.cpu_time")" 0
  submitted_as other.txt "${list[2]}" "${list[0]}" "${list[1]}"
  same first.txt other.txt
  submitted_as other.txt "${list[1]}" "${list[2]}" "${list[0]}"
  same first.txt other.txt
}

@test "records of a stored job in parts are those of all its parts, and where one is gone it is named" {
  use_store
  local archives
  archives=$(step 0 "$PROGRAMS/actor" return 0
    step 1 "$PROGRAMS/actor" return 5
    step 2 sh -c "$PROGRAMS/actor return 0; exit 0")
  # shellcheck disable=SC2206
  local list=($archives)
  plimsoll submit -q "${list[@]}"
  # a place that has what another has, too
  mkdir both
  local a
  for a in "${list[0]}" "${list[2]}"; do
    tar xzf "$a" -C both
  done
  equal processes "$(ask "SELECT count(*) FROM processes")" 4
  run -0 --separate-stderr plimsoll records --jsonl 640
  equal records "${#lines[@]}" 4
  equal "nothing said" "$stderr" ""
  equal "ends" "$(jq -s -c 'map(.exitcode) | sort' <<<"$output")" '[0,0,0,5]'
  run -0 plimsoll show 640
  [[ $output == *"640.tgz, the first of 3 parts,"* ]] || fail "$output"
  mv "${list[1]}" away.tgz
  run -1 --separate-stderr plimsoll records --jsonl 640
  equal "records that are there" "${#lines[@]}" 3
  [[ $stderr == *"job 640 has more records, which were in '${list[1]}' and are gone; \`plimsoll procs 640\` lists what is stored"* ]] || fail "$stderr"
  mv "${list[0]}" "${list[2]}" .
  run -1 --separate-stderr plimsoll records 640
  equal "no rows" "$output" ""
  [[ $stderr == *"the records of job 640 were in '${list[0]}', '${list[1]}', '${list[2]}', which is gone; "* ]] || fail "$stderr"
  # files that two of the places have are read once
  tar czf "${list[0]}" -C both .
  cp "${list[0]}" "${list[2]}"
  mv away.tgz "${list[1]}"
  run -0 --separate-stderr plimsoll records --jsonl 640
  equal records "${#lines[@]}" 4
}

# bats test_tags=engine
@test "two runs that sampled a host at the same time, in two parts: the node counts once, the job twice" {
  use_store
  local i
  for i in 1 2; do
    plimsoll run -q --no-submit -j 640 -o p$i "$PROGRAMS/actor" return 0
    # the last readings of the first are at the time of the second
    (
      for t in $(seq 0 9); do
        echo "$((5 * i + t)).$i process rss bytes gauge sum job job $((1000 * t))"
        echo "$((5 * i + t)).$i network rx_bytes bytes counter sum node node $((100 * t))"
      done
    ) | "$PROGRAMS/make_samples" -t -h "$(hostname)" -j 640 -r "r$i" "$(echo p$i/*.*/)r$i.smp"
    jq ".start_us = $((1700000000 + 5 * i))000000 | .stop_us = $((1700000010 + 5 * i))000000" p$i/job.json >new
    mv new p$i/job.json
  done
  local order
  for order in "p1 p2" "p2 p1"; do
    plimsoll delete 640 >/dev/null 2>&1 || true
    # shellcheck disable=SC2086
    plimsoll submit -q $order
    equal "curves of the job, $order" "$(ask "SELECT count(*), sum(count) FROM series WHERE metric = 'process.rss'")" 2,20
    equal "readings of the node, $order" "$(ask "SELECT count(*), count(DISTINCT time) FROM samples WHERE metric = 'network.rx_bytes'")" 16,16
  done
}

@test "a part without samples or records leaves what samples saw of the others" {
  use_store
  local i
  for i in 1 2; do
    mkdir -p p$i/node1.0123abcd
    echo '{"plimsoll_job": 1, "jobid": "640", "host": "node'$i'", "start_us": 170000000'$i'000000, "stop_us": 1700000040000000, "tags": {}, "annotations": {}}' >p$i/job.json
  done
  for i in 0 1 2 3; do
    echo "$i process usertime us counter sum job job $((i * 100))"
  done | "$PROGRAMS/make_samples" -t -h node1 -j 640 -r r1 p1/node1.0123abcd/r1.smp
  plimsoll submit -q p1
  plimsoll submit -q p2
  equal "CPU time" "$(ask "SELECT cpu_time FROM jobs")" 300
  equal values "$(ask "SELECT count(*) FROM samples")" 4
}

# going MARK: a run of job 640 that goes on until it is let go, in the background
going() {
  plimsoll run -q --no-submit -j 640 -- sh -c ': >ready; read -r x <go; exec /bin/echo '"$1" >/dev/null 3>&- &
  until [ -e ready ]; do sleep 0.02; done
  rm ready
}

echoed() {
  ask "SELECT args FROM processes WHERE exename = 'echo' ORDER BY args" | paste -sd ' '
}

# bats test_tags=engine
@test "a run that was stored while it went on is replaced, where other parts are in the store only" {
  use_store
  mkfifo go
  local dir=$PLIMSOLL_PREFIX/640 i
  plimsoll run -q --no-submit -j 640 -- /bin/echo m1
  cp -r "$dir" first
  plimsoll submit -q -r "$dir"
  for i in 2 3; do
    plimsoll run -q --no-submit -j 640 -- /bin/echo m$i
    plimsoll submit -q "$dir"
  done
  going m4
  plimsoll submit -q "$dir"
  equal "while it goes on" "$(ask "SELECT count(*) FROM processes WHERE ended = 'running'")" 1
  echo >go
  wait
  cp -r "$dir" rest
  run --separate-stderr plimsoll submit -r "$dir"
  equal status "$status" 0
  equal "what is said" "$stderr" ""
  [ ! -e "$dir" ] || fail "not removed"
  equal echoed "$(echoed)" "m1 m2 m3 m4"
  equal "of another end" "$(ask "SELECT count(*) FROM processes WHERE ended NOT IN ('exit', 'exec')")" 0
  equal warnings "$(plimsoll show --json 640 | jq -c .warnings)" "[]"
  equal "CPU time that the runs saw" "$(plimsoll dump --json 640 | jq '(.[0]? // .) | .. | objects | select(has("cpu_total")) | .cpu_total' | sort -n | tail -1)" \
    "$(cat {first,rest}/*/*.json | jq -s 'map(.books.cpu_total) | add')"
  # as if it had come at once
  everything >in.txt
  submitted_as all.txt first rest
  same all.txt in.txt
  # and it is there
  run --separate-stderr plimsoll submit -r rest
  equal status "$status" 0
  [[ $stderr == *"in the store already, skipped"* ]] || fail "$stderr"
  [ ! -e rest ] || fail "not removed"
}

@test "a run that went on is stored where other runs of its part are in the store only" {
  use_store
  mkfifo go
  local dir=$PLIMSOLL_PREFIX/640 first
  plimsoll run -q --no-submit -j 640 -- /bin/echo m1
  first=$(basename "$dir"/*/*.rec .rec)
  going m2
  plimsoll submit -q "$dir"
  equal "while it goes on" "$(echoed)" m1
  rm "$dir"/*/"$first".*
  echo >go
  wait
  mkdir in
  mv "$dir" in/640
  sleep 2.1
  run --separate-stderr plimsoll daemon --once -i in
  equal "left in in/" "$(find in -mindepth 1)" ""
  equal echoed "$(echoed)" "m1 m2"
  equal processes "$(ask "SELECT processes, images FROM jobs")" 2,3
  equal "sum of CPU time" "$(ask "SELECT j.cpu_time - sum(p.cpu_time) FROM jobs j JOIN processes p ON p.job = j.job GROUP BY j.cpu_time")" 0
}

# all but the means, which are weighted by the time from the first reading to the last
sampled() {
  ask "SELECT host, metric, entity_kind, entity, facts, count, first, last, minimum, maximum, increase FROM series ORDER BY host, metric, entity_kind, entity, first"
  ask "SELECT host, metric, entity_kind, entity, time, value, raw FROM samples ORDER BY host, metric, entity_kind, entity, time, raw"
  ask "SELECT host, metric, reason FROM absences ORDER BY host, metric"
  ask "SELECT n, text FROM job_warnings ORDER BY n"
}

# bats test_tags=engine
@test "samples of a part that went on are added to those that are there" {
  use_store
  local i host
  host=$(hostname)
  for i in 1 2; do
    plimsoll run -q --no-submit -j 640 -o p$i "$PROGRAMS/actor" return 0
    curves "$host" p$i $((1700000000 + 100 * i)) r$i
  done
  submitted_as ignored.txt p1 p2
  sampled >all.txt
  plimsoll delete 640 >/dev/null
  mkdir whole
  mv p2/*/r2.smp whole/
  "$PROGRAMS/make_samples" -h "$host" -j 640 -r r2 -s 1700000200 -c 11 "$(echo p2/"$host".*)/r2.smp"
  plimsoll submit -q p1 p2
  local before
  before=$(ask "SELECT count(*) FROM samples WHERE metric = 'system.load'")
  equal "readings before" "$before" 41
  cp whole/r2.smp "$(echo p2/"$host".*)/"
  run --separate-stderr plimsoll submit p2
  equal status "$status" 0
  sampled >in.txt
  same all.txt in.txt
  run --separate-stderr plimsoll submit p2
  [[ $stderr == *"in the store already, skipped"* ]] || fail "$stderr"
}

# bats test_tags=engine
@test "parts that come at the same time are one job" {
  need_hosts
  use_store
  local i
  for i in 1 2 3 4 5 6; do
    part h$i p$i sh -c "$PROGRAMS/actor return 0; exit 0"
    tar czf p$i.tgz -C p$i .
  done
  plimsoll submit -q p?.tgz
  everything >one.txt
  plimsoll delete 640 >/dev/null
  for i in 1 2 3 4 5 6; do
    plimsoll submit -q p$i.tgz 3>&- &
  done
  wait
  everything >many.txt
  same one.txt many.txt
  # workers, which write aside
  plimsoll delete 640 >/dev/null
  native_job other --id 77
  plimsoll submit -q -p 3 p4.tgz p5.tgz p6.tgz other p1.tgz p2.tgz p3.tgz p2.tgz
  plimsoll delete 77 >/dev/null
  everything >many.txt
  same one.txt many.txt
}

# bats test_tags=engine
@test "a part that cannot be read, or whose submission is killed, leaves the job as it was" {
  need_hosts
  use_store
  part h1 p1 "$PROGRAMS/actor" return 0
  part h2 p2 sh -c 'for i in $(seq 400); do /bin/true; done'
  tar czf p2.tgz -C p2 .
  plimsoll submit -q p1
  everything >before.txt
  head -c $(($(stat -c %s p2.tgz) / 2)) p2.tgz >half.tgz
  run --separate-stderr plimsoll submit half.tgz
  equal status "$status" 1
  # which of several archives it was is said, wherever in it the end came
  [[ $stderr == *"; nothing of it was stored"* && $stderr == *"'half.tgz'"* ]] || fail "$stderr"
  everything >after.txt
  same before.txt after.txt
  local delay
  for delay in 0.005 0.01 0.02 0.03 0.05; do
    plimsoll submit -q p2.tgz &
    sleep $delay
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    # wholly or not at all
    case $(ask "SELECT count(*) FROM job_hosts") in
      1) everything >after.txt && same before.txt after.txt ;;
      2) equal images "$(ask "SELECT images FROM jobs")" "$(ask "SELECT count(*) FROM processes")" ;;
      *) fail "hosts" ;;
    esac
  done
  plimsoll submit -q p2.tgz
  equal hosts "$(ask "SELECT count(*) FROM job_hosts")" 2
  equal images "$(ask "SELECT images - 403 FROM jobs")" 0
}

# Root without the rights that open everything: mode 000 is closed to it, too
closed_to() {
  if [ "$(id -u)" = 0 ]; then
    set -- setpriv --bounding-set=-dac_override,-dac_read_search -- "$@"
  fi
  "$@"
}

@test "a host's directory that cannot be opened is an error: nothing is stored, removed or shown as if it were all" {
  need_hosts
  use_store
  part h1 p1 "$PROGRAMS/actor" return 0
  part h2 p2 sh -c '/bin/true; /bin/true; /bin/true'
  together all p1 p2
  local closed
  closed=$(echo all/h2.*)
  chmod 000 "$closed"
  find all -maxdepth 1 | sort >before.txt
  local words
  for words in 'submit' 'submit --remove' 'submit --dry-run' 'records'; do
    # shellcheck disable=SC2086
    run --separate-stderr closed_to plimsoll $words all
    equal "status of $words" "$status" 1
    equal "rows of $words" "$output" ""
    [[ $stderr == *"cannot open directory '$PWD/$closed', a part of the job: Permission denied; make it readable"* ]] ||
      fail "$words: $stderr"
  done
  run --separate-stderr closed_to plimsoll stage -d . all
  equal "status of stage" "$status" 1
  [[ $stderr == *"cannot stage job 640: cannot open '$PWD/$closed': Permission denied; make it readable"* ]] || fail "$stderr"
  equal stored "$(ask "SELECT count(*) FROM jobs")" 0
  find all -maxdepth 1 | sort >after.txt
  same before.txt after.txt
  mkdir drop
  mv all drop/
  run --separate-stderr closed_to plimsoll daemon --once --ingest drop
  equal stored "$(ask "SELECT count(*) FROM jobs")" 0
  grep -q "cannot open directory .*, a part of the job: Permission denied" drop/failed/all.reason || fail "$stderr"
  mv drop/failed/all .
  chmod 700 "$closed"
  plimsoll submit -q --remove all
  equal processes "$(ask "SELECT num_procs FROM jobs")" 5
  [ ! -e all ] || fail "all was kept"
}

# bats test_tags=engine
@test "tags and annotations that were changed in the store stay when another part comes" {
  need_hosts
  use_store
  PLIMSOLL_JOB_TAGS='a:1;b:2;c:3' part h1 p1 "$PROGRAMS/actor" return 0
  PLIMSOLL_JOB_TAGS='a:1;b:2;c:3;d:4' part h2 p2 "$PROGRAMS/actor" return 0
  plimsoll submit -q p1
  plimsoll tag --replace 640 'a:1;b:mine;own:x'
  plimsoll annotate 640 note=kept
  plimsoll submit -q p2
  equal tags "$(ask "SELECT key, value FROM job_tags ORDER BY key" | paste -sd ' ')" "a,1 b,mine d,4 own,x"
  equal notes "$(ask "SELECT key, value FROM job_annotations" | paste -sd ' ')" 'note,"""kept"""'
}

@test "what is no part of the job is another one, another user's or EPMT's, and one of several goes on" {
  need_hosts
  use_store
  part h1 p1 "$PROGRAMS/actor" return 0
  part h2 p2 "$PROGRAMS/actor" return 0
  part h3 p3 "$PROGRAMS/actor" return 0
  plimsoll submit -q p1
  jq '.user = "somebody"' p2/job.json >new
  mv new p2/job.json
  plimsoll submit -q -e p2
  equal "users" "$(ask "SELECT count(DISTINCT \"user\") FROM jobs WHERE jobid = '640'")" 2
  plimsoll delete "640@$(jq -r '.start[0:26]' p2/job.json)" >/dev/null
  if ! without epmt; then
    # two jobs of EPMT with one id are no parts
    make_job e1 --id 641
    make_job e2 --id 641 --procs 7
    plimsoll submit -q e1
    run --separate-stderr epmt submit e2
    equal "epmt's second" "$status" 1
    equal jobs "$(ask "SELECT count(*) FROM jobs WHERE jobid = '641'")" 1
    # nor is one of EPMT's a part of ours, whose time is another
    make_job e3 --id 640
    epmt submit e3
    equal "jobs with our id" "$(ask "SELECT count(*) FROM jobs WHERE jobid = '640'")" 2
    plimsoll delete 640@2020 >/dev/null
  fi
  # the same directory again, of a run that says so, takes its own place
  plimsoll run -q --submit -j 640 -o p1 "$PROGRAMS/actor" return 0
  equal "processes of the replaced" "$(ask "SELECT processes FROM jobs WHERE jobid = '640'")" 2
  plimsoll submit -q p3
  plimsoll run -q --submit -j 640 -o p1 "$PROGRAMS/actor" return 0
  equal "processes of both" "$(ask "SELECT processes FROM jobs WHERE jobid = '640'")" 4
}
