#!/usr/bin/env bats
# `plimsoll report`: text for people, the forms, where they are written, and what a run ends with.

bats_require_minimum_version 1.5.0
load store

@test "text is 80 columns wide, with sparklines of the locale" {
  use_store
  native_job job --id 77 --procs 20
  LC_ALL=C.UTF-8 plimsoll report job >text
  grep -q '^job 77  weather$' text
  grep -q '^  processes  20, at most 2 at once; 20 threads, at most 2 at once$' text
  grep -q '^  processes at once .*█.* mean 1, most 2$' text
  grep -q '^  prog0  *4  *58 us  23 %  *1020 KiB  *500 B$' text
  at_most 'widest line' "$(LC_ALL=C.UTF-8 wc -L <text)" 80
  LC_ALL=C plimsoll report job >text
  run -1 grep -q -P '[^\x00-\x7f]' text
  grep -q '^  processes at once .*####' text
  grep -q '^  *-> [A-Z]' text
}

@test "text: labels of series are whole, longer names end in a mark" {
  use_store
  mkdir -p job/n1.0123abcd
  echo '{"plimsoll_job": 1, "jobid": "42", "user": "jo", "exitcode": 0, "tags": {}, "annotations": {}}' >job/job.json
  awk 'BEGIN { for (k = 0; k <= 20; k++) { printf "%d process majflt count counter sum job job %d\n", k, k * k; printf "%d jobprocstats_default write_bytes bytes counter sum job job %d\n", k, 4096 * k } }' |
    "$PROGRAMS/make_samples" -t -h n1 -j 42 job/n1.0123abcd/run1.smp
  LC_ALL=C.UTF-8 plimsoll report job >text
  grep -q '^  page faults that read from a disk      *▁' text || fail "$(cat text)"
  grep -q '^  queued for storage, by processes alive █' text || fail "$(cat text)"
  at_most 'widest line' "$(LC_ALL=C.UTF-8 wc -L <text)" 80
  cp /bin/true a-program-with-a-name-that-is-too-long
  plimsoll run -q -- ./a-program-with-a-name-that-is-too-long
  LC_ALL=C.UTF-8 plimsoll report last | grep -q '^  a-program-with-a-name-tha…  ' || fail "$(plimsoll report last)"
  LC_ALL=C plimsoll report last | grep -q '^  a-program-with-a-name-tha>  '
}

@test "an exit status above 128 has the signal that it stands for" {
  use_store
  plimsoll run -q -- sh -c 'ulimit -c 0; kill -SEGV $$' || true
  plimsoll report >text
  grep -q '^  exit  *139 (SIGSEGV)$' text || fail "$(grep exit text)"
  plimsoll report -o page.html
  grep -q '<span class="bad">139 (SIGSEGV)</span>' page.html
  plimsoll run -q -- sh -c 'exit 200' || true
  plimsoll report >text
  grep -q '^  exit  *200$' text || fail "$(grep exit text)"
}

@test "the form is the name's or --format's, and the output where it is wanted" {
  use_store
  native_job job --id 77 --procs 3
  plimsoll report job -o r.json
  equal json "$(jq -r .job.jobid r.json)" 77
  plimsoll report job -o r.TXT
  grep -q '^job ' r.TXT
  plimsoll report job -o r.html
  head -c 15 r.html | grep -q -i '^<!doctype html'
  equal 'name for a page' "$(plimsoll report job --format html)" report-77.html
  [ -s report-77.html ]
  equal 'no other file' "$(ls -A | tr '\n' ' ')" 'job r.TXT r.html r.json report-77.html '
  plimsoll report job -o - -f json | jq -e .plimsoll_report >/dev/null
  plimsoll report job -o r.json -f text
  grep -q '^job ' r.json
  local bad
  for bad in '-o x.odt' '-o x' '--format doc' '--co2 much' '--co2 -1' '--co2 inf'; do
    # shellcheck disable=SC2086  # options and their values
    run -2 plimsoll report job $bad
    equal 'one line' "${#lines[@]}" 1
  done
  run -2 plimsoll report job r.json
  run -1 plimsoll report # the last one, of which there is none
  run -1 plimsoll report nosuchjob
  run -1 plimsoll report ./nowhere
  ! [ -e x ]
}

# bats test_tags=epmt
@test "an id of EPMT's that is no name of a file" {
  use_store
  make_job job --id '../77 x' --procs 3
  equal id "$(plimsoll report job -o - -f json | jq -r .job.jobid)" '../77 x'
  equal 'name for a page' "$(plimsoll report job --format html)" report-.._77_x.html
  [ -s report-.._77_x.html ]
}

@test "PDF: to a file, to standard output, and a name of its own" {
  use_store
  native_job job --id 77 --procs 3
  [ -e "$PL_BUILD/lib/plimsoll/draw.so" ] || skip "no module that draws"
  plimsoll report job -o r.pdf
  head -c 5 r.pdf | grep -q '^%PDF-'
  equal 'name for pages' "$(plimsoll report job -f pdf)" report-77.pdf
  plimsoll report job -f pdf -o - | head -c 5 | grep -q '^%PDF-'
  plimsoll report job -f pdf -o - >s.pdf
  equal 'whole' "$(tail -c 6 s.pdf)" '%%EOF'
}

@test "what cannot be written leaves what is there" {
  use_store
  native_job job --id 77 --procs 3
  mkdir dir ro
  echo before >ro/r.html
  run -1 plimsoll report job -o dir -f text
  run -1 plimsoll report job -o nowhere/r.html
  [[ $output == *"cannot write the report to 'nowhere/r.html': No such file or directory"* ]]
  run -1 plimsoll report job -o /dev/full -f text
  run -1 plimsoll report job -o /dev/full -f html
  [[ $output == *"No space left on device"* ]]
  run -1 bash -c 'plimsoll report job --json >/dev/full'
  if [ "$(id -u)" != 0 ]; then
    chmod 555 ro
    run -1 plimsoll report job -o ro/r.html
    [[ $output == *"Permission denied"* ]]
    chmod 755 ro
    equal 'old file' "$(cat ro/r.html)" before
  fi
  # a link is followed, and what it names is replaced
  ln -s ro/r.html link.html
  plimsoll report job -o link.html
  [ -L link.html ]
  grep -q -i '<!doctype' ro/r.html
  equal 'nothing aside' "$(ls -A ro)" r.html
}

# bats test_tags=root
@test "a file that is there keeps its mode and group, a new one has what umask leaves" {
  use_store
  umask 022
  plimsoll run -q -o job --no-submit --sample 0.1s -- sleep 0.5
  plimsoll submit -q job
  local f
  for f in r.html r.json r.txt p.svg e.csv; do
    local command=(plimsoll report job -o "$f")
    case $f in
    p.svg) command=(plimsoll plot last -m process.rss -o "$f") ;;
    e.csv) command=(plimsoll export last -o "$f") ;;
    esac
    "${command[@]}"
    equal "new $f" "$(stat -c %a "$f")" 644
    local mode
    for mode in 600 664; do
      echo before >"$f"
      chmod "$mode" "$f"
      [ "$(id -u)" != 0 ] || chown 12:34 "$f"
      "${command[@]}"
      run -1 grep -qx before "$f"
      equal "$f" "$(stat -c %a "$f")" "$mode"
      [ "$(id -u)" != 0 ] || equal "owner of $f" "$(stat -c %u:%g "$f")" 12:34
    done
    [ "$(id -u)" != 0 ] || continue
    chmod 444 "$f"
    run -1 "${command[@]}"
    [[ $output == *"$f': Permission denied"* ]]
  done
}

# bats test_tags=root
@test "a full disk keeps the old file" {
  use_store
  [ "$(id -u)" = 0 ] || skip "needs root"
  mkdir small
  mount -t tmpfs -o size=64k none small 2>/dev/null || skip "nothing can be mounted here"
  native_job job --id 77 --procs 3
  echo before >small/r.json
  head -c 60000 /dev/zero >small/filling 2>/dev/null || true
  run plimsoll report job -o small/r.json
  local kept left
  kept=$(cat small/r.json)
  left=$(ls -A small)
  umount small
  equal status "$status" 1
  [[ $output == *"No space left on device"* ]]
  equal 'old file' "$kept" before
  equal 'nothing aside' "$left" "$(printf 'filling\nr.json')"
}

@test "a run ends with its verdict, where somebody reads it" {
  use_store
  plimsoll run sh -c 'sleep 1.1; exit 3' 2>said || true
  grep -q '^  verdict   it failed with exit status 3$' said
  grep -q '^  *\(→\|->\) List them' said
  at_most lines "$(sed -n '/^  verdict/,$p' said | wc -l)" 6
  at_most 'widest line' "$(sed -n '/^  verdict/,$p' said | LC_ALL=C.UTF-8 wc -L)" 80
  # kept out of the store it is the same
  plimsoll run --no-submit sh -c 'exit 4' 2>said || true
  grep -q '^  verdict   it failed with exit status 4$' said
  equal jobs "$(ask 'SELECT count(*) FROM jobs')" 1
  # nothing where there is nothing to say, or nobody to say it to
  plimsoll run true 2>said
  run -1 grep -q verdict said
  plimsoll run -q sh -c 'exit 3' 2>said || true
  equal quiet "$(cat said)" ""
  plimsoll run --json=- sh -c 'exit 3' 2>said || true
  jq -e .exitcode said >/dev/null
  run -1 grep -q verdict said
  SLURM_JOB_ID=9 SLURM_JOBID=9 plimsoll run sh -c 'exit 3' 2>said || true
  run -1 grep -q verdict said
}

# numbers WHAT GOT: the processes and the images of the job that "two_numbers" ran
numbers() {
  equal "$1" "$2" "$processes $images"
}

@test "processes and images are two words and the same two numbers everywhere" {
  local processes images
  use_store
  # a shell that ends as another program, one subshell, a program in place of a subshell, one program: 4 processes
  # with 6 images
  plimsoll run -o job -j 5 --json=summary.json -- bash -c \
    "(:); (exec bash -c ':; exec $PROGRAMS/actor return 0'); $PROGRAMS/actor return 0; exec $PROGRAMS/actor return 0" 2>text
  processes=4 images=6
  numbers summary "$(jq -r '"\(.processes) \(.images)"' summary.json)"
  equal 'their kinds' "$(jq -c '[.programs, .forks]' summary.json)" '[5,1]'
  grep -q '^ *processes  *4 (6 images): 5 programs, 1 fork without exec' text || fail "$(cat text)"
  equal rows "$(plimsoll records --jsonl job | wc -l)" 6
  plimsoll submit --json job >submit.json
  numbers submit "$(jq -r '"\(.processes) \(.images)"' submit.json)"
  numbers list "$(plimsoll list | awk 'NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "PROCS") p = NF - i; if ($i == "IMAGES") m = NF - i } } NR == 2 { print $(NF - p), $(NF - m) }')"
  numbers 'list --json' "$(plimsoll list --json | jq -r '.[0] | "\(.processes) \(.images)"')"
  numbers 'list --csv' "$(plimsoll list --csv | python3 -c 'import csv, sys; r = list(csv.DictReader(sys.stdin))[0]; print(r["processes"], r["images"])')"
  numbers 'show --json' "$(plimsoll show --json 5 | jq -r '"\(.processes) \(.images)"')"
  plimsoll show 5 | grep -q '^ *processes  *4 (6 images), at most ' || fail "$(plimsoll show 5)"
  numbers 'timeline --json' "$(plimsoll timeline --json 5 | jq -r '"\(.processes) \(.images)"')"
  plimsoll timeline 5 | grep -q ': 4 processes (6 images), at most ' || fail "$(plimsoll timeline 5)"
  numbers store "$(ask 'SELECT processes, images FROM jobs' | tr , ' ')"
  # EPMT's word for images
  equal num_procs "$(ask 'SELECT num_procs, (SELECT count(*) FROM processes) FROM jobs')" 6,6
  ln -s "$PL_BUILD/bin/plimsoll" epmt
  without epmt || equal 'as epmt' "$(./epmt dump -k num_procs 5)" 6
  numbers 'report as JSON' "$(plimsoll report 5 -o - -f json | jq -r '.job | "\(.processes) \(.images)"')"
  plimsoll report 5 >report.txt
  grep -q '^  processes  4 (6 images), at most ' report.txt || fail "$(cat report.txt)"
  plimsoll report 5 -o report.html
  grep -q '<dt>Processes</dt><dd>4</dd><dd[^>]*>6 images; at most' report.html || fail "$(grep -o '<dt>Processes.\{80\}' report.html)"
}

@test "what was recorded beside a run is in no total of it: the parts are never more than the whole" {
  use_store
  local id
  id=$(plimsoll start)
  plimsoll run -q -- sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'
  eval "$(plimsoll source sh)"
  sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
  plimsoll stop
  plimsoll_uninstrument
  plimsoll submit "$PLIMSOLL_PREFIX/$id" >/dev/null
  plimsoll report "$id" -o - -f json >report.json
  equal 'of all processes' "$(jq .accounting.cpu_itemised report.json)" "$(plimsoll list --json | jq '.[0].cpu_time')"
  jq -e '.accounting.cpu_total == null or .accounting.cpu_total >= .accounting.cpu_itemised' report.json >/dev/null ||
    fail "$(jq -c .accounting report.json)"
}
