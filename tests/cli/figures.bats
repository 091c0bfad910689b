#!/usr/bin/env bats
# Figures of a job are true, and the same wherever they are shown.

bats_require_minimum_version 1.5.0
load store

# run_job COMMAND...: a job of its own in the store; its summary in summary.txt and summary.json
run_job() {
  plimsoll run --json=summary.json -- "$@" 2>summary.txt || true
}

# line_of FILE LABEL: what stands behind a label, blanks as one
line_of() {
  sed -n "s|^ *$2  *||p" "$1" | head -1 | tr -s ' '
}

@test "threads one after the other are not at once" {
  use_store
  run_job "$PROGRAMS/actor" threads 20 2 1
  grep -q '1 program, 21 threads$' summary.txt
  plimsoll show last >show.txt
  equal show "$(line_of show.txt processes)" "1, at most 1 at once; 21 threads, at most 2 at once"
  plimsoll report last >report.txt
  equal report "$(line_of report.txt processes)" "1, at most 1 at once; 21 threads, at most 2 at once"
  plimsoll timeline last | head -1 | grep -q '1 process, at most 1 at once; at most 2 threads at once'
  equal peak "$(plimsoll report last --json | jq '[.job.peak_threads, ([.timeline[][2]] | max)] | unique[]')" 2
  equal steps "$(plimsoll timeline last --json | jq '[.profile[].threads] | max')" 2
  plimsoll report last -o page.html
  grep -q 'At most 1 process and 2 threads ran at once' page.html
}

@test "a thread lies within its process, and the first one begins with its image" {
  use_store
  plimsoll run -q --threads full -- "$PROGRAMS/actor" threads 3 20
  # a shell that lived before, and an image with threads before another
  plimsoll run -q --threads full -- bash -c "x=0; while ((x < 30000)); do ((x += 1)); done; exec '$PROGRAMS/actor' threads 3 20"
  plimsoll run -q --threads full -- python3 -c 'import os, threading, time
t = threading.Thread(target=time.sleep, args=(5,), daemon=True)
t.start()
time.sleep(0.2)
os.execvp("'"$PROGRAMS"'/actor", ["actor", "threads", "2", "20"])'
  at_least threads "$(ask 'SELECT count(*) FROM threads')" 13
  equal outside "$(ask 'SELECT t.tid, t.start - p.start, t.start + t.duration - p.start - p.duration FROM threads t JOIN processes p ON t.process = p.id WHERE t.start < p.start OR t.start + t.duration > p.start + p.duration')" ""
  at_least 'first threads' "$(ask 'SELECT count(*) FROM threads WHERE tid = pid')" 3
  equal 'begin of first threads' "$(ask 'SELECT DISTINCT t.start - p.start FROM threads t JOIN processes p ON t.process = p.id WHERE t.tid = t.pid')" 0
  equal 'before their job' "$(ask 'SELECT count(*) FROM jobs j JOIN processes p ON p.job = j.job JOIN threads t ON t.process = p.id WHERE t.start < j.start OR p.start < j.start')" 0
}

# bats test_tags=root
@test "threads at once that nobody saw are unknown" {
  use_store
  plimsoll run -q --threads off -- "$PROGRAMS/actor" threads 20 2 1
  plimsoll show last >show.txt
  equal show "$(line_of show.txt processes)" "1, at most 1 at once; 21 threads"
  equal json "$(plimsoll report last --json | jq -c '[.job.peak_threads, .job.num_threads, .timeline[0][2]]')" "[null,21,null]"
  plimsoll timeline last | head -1 | grep -q 'threads at once unknown'
  plimsoll report last -o page.html
  run ! grep -q 'threads ran at once' page.html
  plimsoll export last -w jobs -o jobs.csv
  equal export "$(python3 -c 'import csv; print([r["peak_threads"] for r in csv.DictReader(open("jobs.csv"))])')" "['']"
}

@test "a process that executes one program after the other has one thread" {
  use_store
  run_job sh -c "exec sh -c 'exec sh -c \"exec $PROGRAMS/actor return 0\"'"
  equal summary "$(jq -c '[.processes, .images, .threads]' summary.json)" "[1,4,1]"
  plimsoll show last >show.txt
  equal show "$(line_of show.txt processes)" "1 (4 images), at most 1 at once; 1 thread, at most 1 at once"
  # threads of an image that executes another end there
  run_job "$PROGRAMS/actor" threads 3 0
  run_job sh -c "'$PROGRAMS/actor' threads 3 0; exec '$PROGRAMS/actor' threads 2 0"
  equal summary "$(jq -c '[.processes, .images, .threads]' summary.json)" "[2,3,7]"
  equal store "$(ask 'SELECT num_threads FROM jobs ORDER BY job DESC LIMIT 1')" 7
}

@test "each signal is named with its number of processes" {
  use_store
  run_job bash -c "ulimit -c 0; for s in SEGV KILL TERM TERM; do bash -c \"kill -\$s \\\$\\\$\"; done; exit 0"
  plimsoll report last --json >report.json
  equal evidence "$(jq -r '.findings[] | select(.id == "killed") | .details' report.json)" \
    "4 of 5 processes: 1 by SIGKILL, 1 by SIGSEGV, 2 by SIGTERM; the job itself was not ended by one."
}

@test "memory that processes share is not counted in each of them" {
  use_store
  cat >readers.py <<'P'
import os, time
block = bytearray(b"x") * (64 << 20)
for _ in range(4):
    if not os.fork():
        time.sleep(2)
        os._exit(0)
time.sleep(2)
P
  plimsoll monitor -q -i 100ms -- python3 readers.py
  plimsoll report last --json >report.json
  rss=$(jq '[.series[] | select(.metric == "process.rss" and .host == null) | .maximum][0]' report.json)
  pss=$(jq '[.series[] | select(.metric == "process_memory.pss" and .host == null) | .maximum][0] // 0' report.json)
  at_least "the sum" "$rss" $((4 * 64 << 20))
  plimsoll report last | tr -s ' \n' ' ' >report.txt
  if [ "$pss" != 0 ]; then
    at_most "split" "$pss" $((150 << 20))
    grep -q 'memory [0-9.]* MiB \(to [0-9.]* MiB \)\?in all processes together' report.txt || fail "$(cat report.txt)"
  else
    grep -q 'at most [0-9.]* [MG]iB in all processes together (shared pages counted in each process)' report.txt
  fi
  # labels say which of both it is; charts begin with a capital
  grep -q 'in all processes together (shared pages counted ' report.txt || fail "$(cat report.txt)"
  grep -q 'RSS (shared pages in each)' report.txt || fail "$(cat report.txt)"
  plimsoll report last -o report.html
  grep -q 'all processes together; shared pages counted ' report.html
  grep -q '<figcaption><b>RSS (shared pages in each)</b>' report.html
  equal 'titles that begin small' "$(grep -o '<figcaption><b>[a-z][^<]*' report.html)" ''
}

@test "figures of memory agree: what the largest process had, all had at one time" {
  use_store
  cat >grows.py <<'P'
import subprocess, time
block, children = [], [subprocess.Popen(["sleep", "2"]) for _ in range(2)]
for _ in range(20):
    block.append(bytearray(b"x") * (4 << 20))
    time.sleep(0.1)
P
  plimsoll run -q --sample 100ms -- python3 grows.py
  plimsoll report last --json >report.json
  plimsoll report last | tr -s ' \n' ' ' >report.txt
  run ! grep -q 'samples missed' report.txt
  largest=$(sed -nE 's/.* ([0-9.]+) MiB in the largest process,.*/\1/p' report.txt)
  most=$(sed -nE 's/.* ([0-9.]+) MiB in all processes together.*/\1/p' report.txt)
  least=$(sed -nE 's/.*, ([0-9.]+) MiB to [0-9.]+ MiB in all processes together.*/\1/p' report.txt)
  least=${least:-$most}
  at_least "all" "$least" "$largest"
  at_least "at most" "$most" "$least"
  # where the kernel's division of shared pages was read at every tick, it is the one figure
  if [ "$(jq -c '.series[] | select(.metric == "process_memory.pss" and .host == null) | .seldom' report.json)" = false ]; then
    equal "most and least" "$most" "$least"
  else
    # the peak that the kernel kept may be a little more than any sample
    curve=$(jq '[.series[] | select(.metric == "process.rss" and .host == null) | .maximum / 1048576][0]' report.json)
    at_least "the curve" "$curve" "$(jq -n "$most / 1.03")"
    at_most "the curve" "$curve" "$(jq -n "$most + 0.1")"
  fi
  plimsoll report last -o page.html
  run ! grep -q 'between two samples' page.html
}

@test "what was read seldom is points, and nobody says what was between them" {
  use_store
  plimsoll run -q --sample 100ms -- sh -c 'sleep 2.5; :'
  plimsoll report last --json >report.json
  readings=$(ask "SELECT max(count) FROM series WHERE metric = 'process_memory.pss' AND entity_kind = 'job'")
  at_most readings "$readings" 10
  equal seldom "$(jq -c '.series[] | select(.metric == "process_memory.pss" and .host == null) | .seldom, .samples' report.json | paste -sd' ')" "true $readings"
  # two of one step are one point
  at_most points "$(jq -c '.series[] | select(.metric == "process_memory.pss" and .host == null) | .values | map(select(. != null)) | length' report.json)" "$readings"
  equal often "$(jq -c '.series[] | select(.metric == "process.rss" and .host == null) | .seldom' report.json)" false
  equal counters "$(jq -c '[.series[] | select(.rate and .seldom)] | length' report.json)" 0
  plimsoll report last -o page.html
  grep -q "$readings samples, unknown in between" page.html
  grep -o '<path class="line k0 dot" d="[^"]*"' page.html | grep -q -v 'l[0-9]'
  # in the text a column without a reading is blank; all lines are over the same time
  plimsoll report last >report.txt
  grep -q 'PSS (shared pages divided) .*[▁▂▃▄▅▆▇█]  *[▁▂▃▄▅▆▇█]' report.txt || fail "$(cat report.txt)"
}

@test "a job took as long everywhere" {
  use_store
  for command in 'exit 3' 'sleep 0.05; exit 4'; do
    run_job sh -c "$command"
    took=$(sed -n '1s/.* after //p' summary.txt)
    plimsoll report last >report.txt
    equal report "$(sed -n 's/.*, took //p' report.txt | head -1)" "$took"
    grep -q "It took $took," summary.txt || ! grep -q 'It took' summary.txt
    equal store "$(plimsoll report last --json | jq .job.duration)" "$(jq .wall summary.json)"
    equal busy "$(sed -n 's/^ *CPU .*, \([0-9.]*\) of .*/\1/p' summary.txt)" "$(sed -n 's/^ *CPU .*; \([0-9.]*\) of .*/\1/p' report.txt)"
  done
}

@test "the job that was stored last can be tagged, annotated and listed record by record" {
  use_store
  run_job "$PROGRAMS/actor" return 0
  plimsoll tag last kind:first
  plimsoll annotate last note=seen
  equal tags "$(plimsoll report last --json | jq -c '[.job.tags.kind, .job.annotations.note]')" '["first","seen"]'
  equal records "$(plimsoll records --jsonl last | jq -r .exename)" actor
}

@test "one is no plural, and what is not measured has the name of its host" {
  use_store
  plimsoll run -q --no-submit -o job -- "$PROGRAMS/actor" return 0
  plimsoll submit job >line.txt 2>&1
  grep -q '1 process' line.txt
  run ! grep -E '\<1 (processes|threads|images|hosts)' line.txt
  plimsoll monitor -q -i 100ms -- sleep 0.3
  plimsoll report last -o page.html
  run ! grep -q '<i>several</i>' page.html
}

@test "one job, one host, one file: no plural where there is one" {
  use_store
  plimsoll run -q --no-submit -o one true
  plimsoll submit -n -v one >dry 2>&1
  run ! grep -nE '(^|[^0-9.,])1 (jobs|hosts|files|processes|images|threads|samples|readings|columns|places|batches)([^a-z]|$)' dry
  grep -qE '^[0-9]+ files?, 1 host$' dry || fail "$(cat dry)"
  plimsoll submit one >submitted
  plimsoll db size >info
  grep -q 'submitted .*: 1 process, ' submitted || fail "$(cat submitted)"
  grep -q ', 1 job, 1 process' info || fail "$(cat info)"
  run ! grep -nE '(^|[^0-9.,])1 (jobs|hosts|files|processes|images|threads|samples)([^a-z]|$)' submitted info
}

# scratch DIRECTORY WRITTEN DELETED: a job of a minute whose first process wrote so many MiB, and whose second deleted so many of them
scratch() {
  native_job "$1" --id "$1" --procs 2 --set "1:wchar=$(($2 << 20))" --set "1:write_bytes=$(($2 << 20))" \
    --set "2:cancelled_write_bytes=$(($3 << 20))"
  plimsoll submit "$1" >/dev/null
}

@test "what was deleted before it was written did not go to storage" {
  use_store
  for case in "700 3072 3072 0 B, 3 GiB" "701 3072 1024 2 GiB, 1 GiB" "702 1024 3072 0 B, 3 GiB"; do
    read -r job written deleted net gone <<<"$case"
    scratch "$job" "$written" "$deleted"
    net="$net ${gone%%,*}" gone=${gone#*, }
    plimsoll show "$job" >show.txt
    equal show "$(line_of show.txt I/O | sed 's/.* written //')" \
      "($((written > deleted ? written - deleted << 20 : 0)) bytes to storage, $((deleted << 20)) bytes deleted before reaching storage)"
    plimsoll report "$job" | tr -s ' \n' ' ' >report.txt
    grep -q "written ($net to storage, $gone deleted before reaching storage)" report.txt || fail "$(cat report.txt)"
    plimsoll report "$job" -o page.html
    grep -q "$net to storage, $gone deleted before reaching storage" page.html
    plimsoll report "$job" -o page.pdf
    pdftotext -layout page.pdf - | tr -s ' \n' ' ' | grep -q "written ($net to storage, $gone deleted before reaching storage)"
  done
  # nothing was deleted: nothing is said of it
  scratch 703 1024 0
  plimsoll report 703 | tr -s ' \n' ' ' | grep -q 'written (1 GiB to storage) '
}

@test "a job that wrote scratch files and deleted them did not wait for storage" {
  use_store
  scratch 700 3072 3072
  scratch 701 3072 1024
  equal deleted "$(plimsoll report 700 --json | jq '[.findings[] | select(.id | test("storage"))] | length')" 0
  equal kept "$(plimsoll report 701 --json | jq -r '.findings[0] | .id, .title, .details')" \
    "storage-write
it waited, most likely until its data were on storage
For 59.8 s it neither computed nor waited for a core; 0 B came from storage, 2 GiB went to it. 99 % of it was in step 1 (prog1)."
  # the same of samples alone
  cat >scratch.py <<'P'
import os, time
with open("scratch.bin", "wb") as f:
    for _ in range(64):
        f.write(bytes(1 << 20))
os.unlink("scratch.bin")
time.sleep(1.2)
P
  plimsoll monitor -q -i 100ms -- python3 scratch.py
  equal sampled "$(plimsoll report last --json | jq '[.findings[] | select(.title | test("storage"))] | length')" 0
}

# bats test_tags=root
@test "the I/O of a process that nobody knows is not taken for 0" {
  use_store
  cat >killed.py <<'P'
import os, signal, time
with open("/dev/null", "wb", 0) as f:
    for _ in range(5):
        f.write(bytes(1 << 20))
time.sleep(0.5)
os.kill(os.getpid(), signal.SIGKILL)
P
  plimsoll run -q -- sh -c 'python3 killed.py; true' || true
  unknown=$(ask 'SELECT count(*) FROM processes WHERE wchar IS NULL')
  images=$(ask 'SELECT images FROM jobs')
  at_least unknown "$unknown" 1
  equal json "$(plimsoll show last --json | jq .io_unknown)" "$unknown"
  plimsoll show last >show.txt
  tr -s ' \n' ' ' <show.txt | grep -qE "I/O at least [0-9]+ bytes read .*at least [0-9]+ bytes written .*; unknown for $unknown of $images images" || fail "$(cat show.txt)"
  plimsoll report last >report.txt
  tr -s ' \n' ' ' <report.txt | grep -qE "I/O at least .* read .*, at least .* written .*; unknown for $unknown of $images images" || fail "$(cat report.txt)"
  plimsoll report last -o page.html
  grep -q 'Written at least' page.html
  grep -q "unknown for $unknown of $images images" page.html
  # what samples saw of it counts
  plimsoll run -q --sample 100ms -- sh -c 'python3 killed.py; true' || true
  plimsoll report last | tr -s ' \n' ' ' | grep -qE 'at least ([5-9](\.[0-9]+)?) MiB written' || fail "$(plimsoll report last)"
  plimsoll show last | tr -s ' \n' ' ' | grep -qE 'at least [5-9][0-9]{6} bytes written' || fail "$(plimsoll show last)"
  # where they saw nothing but what collection itself did the exact figure stands, everywhere
  plimsoll run -q --sample 100ms -- sh -c 'head -c 200000 /dev/zero >copy; cat copy >/dev/null; sleep 9 & sleep 0.5; kill -9 $!; true' || true
  read -r read written <<<"$(ask 'SELECT sum(rchar), sum(wchar) FROM processes WHERE job = (SELECT max(job) FROM jobs)' | tr , ' ')"
  at_least "read of the sampled" "$(plimsoll series last -m process.rchar --kind job --json | jq '.[0].samples[-1][1]')" "$((read + 1))"
  plimsoll show last | tr -s ' \n' ' ' | grep -qE "I/O (at least )?$read bytes read .*, (at least )?$written bytes written" || fail "$(plimsoll show last)"
  plimsoll report last | tr -s ' \n' ' ' | grep -qF "$(awk -v b="$read" 'BEGIN { printf "%.3g KiB", b / 1024 }') read" || fail "$read: $(plimsoll report last)"
  # where all is known nobody says so
  plimsoll run -q -- sh -c 'cat /dev/null; true'
  equal none "$(plimsoll show last --json | jq .io_unknown)" 0
  plimsoll report last >report.txt
  run ! grep -q 'at least' report.txt
}

# bats test_tags=root
@test "a killed process has the threads that are known, or none is said" {
  use_store
  cat >threads.py <<'P'
import os, signal, threading, time
ended = [threading.Thread(target=lambda: None) for _ in range(2)]
for t in ended: t.start()
for t in ended: t.join()
for _ in range(3): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
time.sleep(0.3)
os.kill(os.getpid(), signal.SIGKILL)
P
  plimsoll run -q -- sh -c 'python3 threads.py; true' || true
  numtids=$(plimsoll procs last --json | jq '[.[] | select(.exitsignal == 9) | .numtids][0]')
  # the kernel tells of all where it is asked, those that ended told of themselves
  [ "$numtids" = null ] || at_least numtids "$numtids" 3
  [ "$numtids" = null ] || at_most numtids "$numtids" 6
  [ "$numtids" != 6 ] || equal job "$(ask 'SELECT num_threads FROM jobs')" "$(ask "SELECT sum FROM job_sums WHERE metric = 'numtids'")"
}

@test "CPUs that a job may not use are not held against it" {
  command -v taskset >/dev/null || skip "no taskset"
  use_store
  first=$(taskset -cp $$ | sed -E 's/.*: ([0-9]+).*/\1/')
  run -0 taskset -c "$first" plimsoll run -- sh -c ':'
  [[ $output == *' of 1 CPU busy'* ]] || fail "$output"
  plimsoll report last | grep -q "of 1 core busy" || fail "$(plimsoll report last)"
  # granted by a batch system, and not bound to
  SLURM_CPUS_ON_NODE=1 run -0 plimsoll run --no-submit -- sh -c ':'
  [[ $output == *' of 1 CPU busy'* ]] || fail "$output"
}
