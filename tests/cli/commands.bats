#!/usr/bin/env bats
# The other commands: source, stage, dump, annotate, records, events, check, metrics, config, help,
# version and completion.

bats_require_minimum_version 1.5.0
load lib

# A finished job in ./job with a few processes.
make_job() {
  plimsoll run -q -j 4711 -o job -- sh -c "$PROGRAMS/actor threads 2; $PROGRAMS/actor kill 9; $PROGRAMS/actor return 5; exit 0"
}

# ---- front door ----------------------------------------------------------------------------------------

@test "sinks lists the sinks of a collector, and records its formats" {
  equal sinks "$(plimsoll sinks --json | jq -r '.[].name' | paste -sd ' ')" \
    "clickhouse csv elastic hdf5 jsonl prometheus remote-write stdout store"
  equal targets "$(plimsoll sinks | awk 'NR > 1 { print $1 }' | paste -sd ' ')" \
    "$(plimsoll sinks --json | jq -r '.[] | "\(.name):\(.target)"' | paste -sd ' ')"
  run --separate-stderr plimsoll records --format sinks
  [[ $stderr == *"--format takes csv, jsonl, table or tsv, not 'sinks'"* ]] || fail "$stderr"
}

@test "help, version, and wrong words" {
  run plimsoll version
  [[ $output =~ ^plimsoll\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "$output"
  run plimsoll help
  for command in annotate check completion config dump events help metrics records run sinks source sources stage start stop version; do
    [[ $output == *"  $command "* ]] || fail "no $command in help"
    plimsoll help "$command" | grep -q "^usage: plimsoll $command"
    plimsoll "$command" --help | grep -q "^usage: plimsoll $command"
  done
  run plimsoll
  equal none "$status" 2
  run plimsoll frobnicate
  equal unknown "$status" 2
  [[ $output == *"unknown command 'frobnicate'"* ]] || fail "$output"
  run plimsoll rec
  [[ $output == *"did you mean 'records'"* ]] || fail "$output"
  run plimsoll run --nonsense
  equal option "$status" 2
  run plimsoll run --wait=soon true
  equal value "$status" 2
  [[ $output == *"run: --wait takes a duration such as 500ms, 10s or 2h, not 'soon'"* ]] || fail "$output"
  run plimsoll run
  equal "no command" "$status" 2
  run plimsoll stop --exitcode 300
  equal range "$status" 2
  [[ $output == *"stop: --exitcode takes a whole number from 0 to 255, not '300'"* ]] || fail "$output"
}

# Every value that has limits is refused with the same sentence, which names what is allowed.
@test "a bad value of an option: the command, the option, what it takes, and where to read more" {
  while IFS='|' read -r words takes; do
    # shellcheck disable=SC2086
    run -2 plimsoll $words
    equal "$words" "$output" "plimsoll: error: ${words%% *}: $takes; see \`plimsoll help ${words%% *}\`"
  done <<'W'
run --threads some true|--threads takes full, basic or off, not 'some'
run --sample 1ms true|--sample takes a duration of 10ms or more, such as 500ms, 10s or 2h, not '1ms'
run --thr|--threads needs a value: full, basic or off
run --dry-run=yes true|--dry-run takes no value
top -i 1us|--interval takes a duration from 50ms to 1h, such as 500ms, 10s or 2h, not '1us'
top --pid 0|--pid takes a process id, not '0'
monitor --budget 2|--budget takes a share of one CPU such as 0.5%, 0 for no limit, not '2'
source --preload maybe|--preload takes on or off, not 'maybe'
source tclsh|SHELL takes sh, bash, dash, ksh, zsh, csh, tcsh, fish or slurm, not 'tclsh'
submit -p 0|--parallel takes a whole number from 1 to 256, not '0'
collect --level 10|--level takes a whole number from 0 to 9, not '10'
list --exit maybe|--exit takes ok, failed or a number, not 'maybe'
list --limit many|--limit takes a whole number, not 'many'
tree --min-cpu much|--min-cpu takes a duration such as 500ms, 10s or 2h, not 'much'
records --format xml|--format takes csv, jsonl, table or tsv, not 'xml'
report --format xml|--format takes text, json, html or pdf, not 'xml'
export --what all|--what takes processes, threads, samples, jobs or phases, not 'all'
help --format html|--format takes man, not 'html'
W
}

# bats test_tags=colmet,epmt,perfmon
@test "manual pages and the metric table are current" {
  plimsoll metrics --format=man | diff - "$PL_SOURCE/man/plimsoll-metrics.7"
  # every row of the table of commands, and no page of a command that is gone
  sed -n 's/^COMMAND(\(.*\))$/\1/p' "$PL_SOURCE/src/cmd/commands.def" >commands
  at_least commands "$(wc -l <commands)" 40
  while read -r command; do
    plimsoll help --format=man "$command" | diff - "$PL_SOURCE/man/plimsoll-$command.1"
    grep -qF "\\fB$command\\fR" "$PL_SOURCE/man/plimsoll.1" || fail "no $command in plimsoll(1)"
  done <commands
  equal pages "$(find "$PL_SOURCE/man" -name 'plimsoll-*.1' | sed 's/.*plimsoll-\(.*\)\.1/\1/' | sort)" "$(sort commands)"
  for page in "$PL_SOURCE"/man/*.[157]; do
    equal "$page" "$(man --warnings -l -Tutf8 "$page" 2>&1 >/dev/null)" ""
  done
}

@test "metrics: every column of papiex, as JSON with unit, scope and names" {
  plimsoll metrics --json >m.json
  for name in tags hostname exename path args exitcode exitsignal pid generation ppid pgid sid numtids tid mpirank \
    start end usertime systemtime rssmax minflt majflt inblock outblock vol_ctxsw invol_ctxsw cminflt cmajflt cutime \
    cstime num_threads starttime processor delayacct_blkio_time guest_time rchar wchar syscr syscw read_bytes \
    write_bytes cancelled_write_bytes time_oncpu time_waiting timeslices rdtsc_duration; do
    equal "$name" "$(jq -r ".[] | select(.name == \"$name\") | .papiex" m.json)" "$name"
  done
  equal ranks "$(jq -r '.[] | select(.name == "numranks") | .papiex' m.json)" mpinumranks
  equal unit "$(jq -r '.[] | select(.name == "usertime") | .unit' m.json)" us
  equal peak "$(jq -r '.[] | select(.name == "rssmax") | .aggregation' m.json)" max
  plimsoll metrics | grep -q '^usertime '
}

@test "config: flag over environment over user's file over the default, and where each came from" {
  unset PLIMSOLL_PREFIX
  mkdir -p "$HOME/.config/plimsoll"
  printf '# mine\nprefix = %s/from-file\njob_tags = a:b;c:d\n' "$PWD" >"$HOME/.config/plimsoll/plimsoll.conf"
  equal file "$(plimsoll config prefix)" "$PWD/from-file"
  equal tags "$(plimsoll config job_tags)" "a:b;c:d"
  equal origin "$(plimsoll config --json | jq -r .prefix.origin)" "$HOME/.config/plimsoll/plimsoll.conf:2"
  equal environment "$(PLIMSOLL_PREFIX=/x plimsoll config prefix)" /x
  equal default "$(plimsoll config --json | jq -r .drain.origin)" default
  PLIMSOLL_JOB_TAGS=e:f plimsoll run -q --job-tags g:h -o job -- true
  equal flag "$(jq -c .tags job/job.json)" '{"g":"h"}'
  mkdir xdg xdg/plimsoll
  echo 'threads = off' >xdg/plimsoll/plimsoll.conf
  equal xdg "$(XDG_CONFIG_HOME=$PWD/xdg plimsoll config threads)" off
  echo 'nonsense = 1' >xdg/plimsoll/plimsoll.conf
  XDG_CONFIG_HOME=$PWD/xdg run plimsoll version
  equal bad "$status" 0
  [[ $output == *"plimsoll.conf:1: unknown setting 'nonsense'"* ]] || fail "$output"
  rm -r "$HOME/.config"
}

@test "config: the table can be read on 100 columns, long values are cut and whole elsewhere" {
  long=$PWD/a-directory-with-a-name/that-is-long/enough-to-be-cut-somewhere
  export PLIMSOLL_PREFIX=$long XDG_CONFIG_HOME=$long
  mkdir -p "$long/plimsoll"
  echo 'drain = 300ms' >"$XDG_CONFIG_HOME/plimsoll/plimsoll.conf"
  settings=$(plimsoll config --json | jq length)
  for width in 100 160; do
    script -qec "stty cols $width; plimsoll config" /dev/null </dev/null | tr -d '\r' >shown
    at_most "columns of $width" "$(wc -L <shown)" "$width"
    at_most "lines of $width" "$(wc -l <shown)" $((settings * 5 + 1))
    equal "$width: each once" "$(grep -c '^[a-z_0-9][a-z_0-9]* ' shown)" "$settings"
  done
  grep -q '^drain  *300ms ' shown
  plimsoll config >shown
  equal 'lines in a pipe' "$(wc -l <shown)" $((settings + 1))
  grep -q "^mask  *\*PASSW[^ ]*\.\.\. " shown || fail "$(grep ^mask shown)"
  at_most 'columns in a pipe' "$(wc -L <shown)" 320
  equal whole "$(plimsoll config mask)" "$(plimsoll config --json | jq -r .mask.value)"
  at_least whole "$(plimsoll config mask | wc -c)" 200
  equal prefix "$(plimsoll config prefix)" "$PLIMSOLL_PREFIX"
}

@test "config: a mistake in the file, a bad value, an unreadable file: one warning each, and every command goes on" {
  export XDG_CONFIG_HOME=$PWD/xdg
  mkdir -p xdg/plimsoll
  printf 'drian = 1s\nno line\nkernel = maybe\njob_tags = a:b\n' >xdg/plimsoll/plimsoll.conf
  for words in "run -j 1 --no-submit -- $PROGRAMS/actor return 3" "start -j 2" "source -j 2 bash" "stop -j 2" "stage -d $PWD $PLIMSOLL_PREFIX/2" \
    "monitor -d mon --no-submit -- $PROGRAMS/actor return 3" "version" "config drain"; do
    status=0
    plimsoll $words >out 2>err || status=$?
    want=0
    [[ $words != *'return 3' ]] || want=3
    equal "$words: $(cat err)" "$status" "$want"
    equal "warnings of $words: $(cat err)" "$(grep -c 'plimsoll.conf:' err)" 3
    grep -q "plimsoll.conf:1: unknown setting 'drian', ignored; did you mean 'drain'" err
    grep -q "plimsoll.conf:3: kernel takes auto or off, not 'maybe'; ignored, using auto" err
  done
  equal rest "$(plimsoll config job_tags 2>/dev/null)" a:b
  equal default "$(plimsoll config drain 2>/dev/null)" 200ms
  # -q: not a word
  plimsoll run -q -j 3 --no-submit -- true 2>err
  equal quiet "$(cat err)" ""
  PLIMSOLL_DRAIN=soon plimsoll config drain 2>err
  grep -q "environment PLIMSOLL_DRAIN: drain takes a duration" err
  if [ "$(id -u)" != 0 ]; then
    chmod 0 xdg/plimsoll/plimsoll.conf
    equal runs "$(plimsoll run -j 4 --no-submit -- echo there 2>err)" there
    equal unreadable "$(grep -c "cannot read '.*plimsoll.conf'" err)" 1
  fi
}

@test "what cannot be written to standard output is an error of every command" {
  for words in metrics config 'keys new' version help sources sinks events 'completion bash' 'help run' 'metrics --json'; do
    # shellcheck disable=SC2086
    run -1 sh -c "plimsoll $words >/dev/full"
    [[ $output == *"cannot write"* ]] || fail "$words: $output"
    equal "lines of $words" "$(grep -c 'cannot write' <<<"$output")" 1
  done
  without epmt || run -1 sh -c 'epmt help >/dev/full'
  # an error that was before it stays what it is
  run -2 sh -c 'plimsoll metrics --no-such-option >/dev/full'
}

@test "an archive that is cut off says so" {
  plimsoll run -q -o job --no-submit -- true
  plimsoll stage --dest out job >name
  head -c -8 "$(cat name)" >cut.tgz
  run -1 plimsoll submit --db store.db cut.tgz
  [[ $output != *null* ]] || fail "$output"
  [[ $output == *cut.tgz* ]] || fail "$output"
}

@test "completion for bash, zsh and fish" {
  for shell in bash zsh fish; do
    plimsoll completion "$shell" >rules
    command -v "$shell" >/dev/null || continue
    "$shell" -n rules
  done
  equal words "$(bash -c 'eval "$(plimsoll completion bash)"; COMP_WORDS=(plimsoll rec); COMP_CWORD=1; _plimsoll; echo "${COMPREPLY[*]}"')" records
  equal options "$(bash -c 'eval "$(plimsoll completion bash)"; COMP_WORDS=(plimsoll records --js); COMP_CWORD=2; _plimsoll; echo "${COMPREPLY[*]}"')" "--jsonl --json"
  # the words that an option takes: behind it, behind its letter, and behind a = that bash makes a word of
  while IFS='|' read -r line want; do
    equal "$line" "$(bash -c 'eval "$(plimsoll completion bash)"; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _plimsoll; echo "${COMPREPLY[*]}"' _ "$line")" "$want"
  done <<'W'
plimsoll run --threads b|basic
plimsoll run --threads = o|off
plimsoll run --threads =|full basic off
plimsoll records -f t|table tsv
plimsoll source --preload o|on off
plimsoll series --kind pr|process
plimsoll run --tags b|
W
  [[ $(plimsoll completion fish) == *"from run' -l threads -x -a 'full basic off' -d "* ]]
  [[ $(plimsoll completion zsh) == *'"records --format"|"records -f") compadd -- csv jsonl table tsv; return ;;'* ]]
  run plimsoll completion tclsh
  equal unknown "$status" 2
}

# ---- source --------------------------------------------------------------------------------------------

# bats test_tags=root
@test "source: everything a shell starts is recorded, until LD_PRELOAD is unset" {
  for shell in sh bash zsh dash; do
    command -v "$shell" >/dev/null || skip "$shell is not installed"
    rm -rf job
    "$shell" -c "plimsoll start -q -o job; eval \"\$(plimsoll source -o job $shell)\"; $PROGRAMS/actor return 3
      plimsoll version >/dev/null
      plimsoll_uninstrument; $PROGRAMS/actor return 4; plimsoll_instrument; $PROGRAMS/actor return 5
      unset LD_PRELOAD; $PROGRAMS/actor return 6; plimsoll stop -o job"
    plimsoll records --jsonl job >rows.jsonl
    equal "$shell" "$(jq -r .exitcode rows.jsonl | tr '\n' ' ')" "3 5 "
  done
}

@test "source: an unquoted eval, which turns newlines into blanks, works too" {
  SHELL=/bin/bash bash -c "plimsoll start -q -j 5; eval \`plimsoll source -j 5\`; $PROGRAMS/actor return 3; :"
  plimsoll records --jsonl "$PLIMSOLL_PREFIX/5" >rows.jsonl
  equal code "$(jq -r .exitcode rows.jsonl)" 3
}

@test "source: csh and tcsh" {
  for shell in tcsh csh; do
    command -v "$shell" >/dev/null || skip "$shell is not installed"
    rm -rf job
    plimsoll start -q -o job
    cat >script.csh <<C
eval \`plimsoll source -o job $shell\`
$PROGRAMS/actor return 3
plimsoll_uninstrument
$PROGRAMS/actor return 4
plimsoll_instrument
$PROGRAMS/actor return 5
unsetenv LD_PRELOAD
C
    "$shell" -f script.csh || true
    plimsoll records --jsonl job >rows.jsonl
    equal "$shell" "$(jq -r 'select(.exename == "actor") | .exitcode' rows.jsonl | tr '\n' ' ')" "3 5 "
  done
}

@test "source: fish" {
  command -v fish >/dev/null || skip "fish is not installed"
  plimsoll start -q -o job
  fish -c "plimsoll source -o job fish | source; $PROGRAMS/actor return 3; plimsoll_uninstrument; $PROGRAMS/actor return 4; plimsoll_instrument; $PROGRAMS/actor return 5" || true
  plimsoll records --jsonl job >rows.jsonl
  equal fish "$(jq -r 'select(.exename == "actor") | .exitcode' rows.jsonl | tr '\n' ' ')" "3 5 "
}

@test "source: the shell is told by who calls, else by \$SHELL, Slurm wants plain lines" {
  plimsoll start -q -j 6
  # somebody between
  SHELL=/bin/tcsh timeout 60 plimsoll source -j 6 | grep -q '^setenv PLIMSOLL_OUTPUT '
  SHELL=/usr/bin/fish timeout 60 plimsoll source -j 6 | grep -q '^set -gx PLIMSOLL_OUTPUT '
  SHELL=/bin/bash timeout 60 plimsoll source -j 6 | grep -q '^export PLIMSOLL_OUTPUT=.*;$'
  # a script in another language than the user's
  SHELL=/bin/tcsh bash -c 'plimsoll source -j 6; :' | grep -q '^export PLIMSOLL_OUTPUT=.*;$'
  SHELL=/usr/bin/fish sh -c 'plimsoll source -j 6; :' | grep -q '^export PLIMSOLL_OUTPUT=.*;$'
  if command -v tcsh >/dev/null; then
    SHELL=/bin/bash tcsh -fc 'plimsoll source -j 6; true' | grep -q '^setenv PLIMSOLL_OUTPUT '
  fi
  if command -v fish >/dev/null; then
    SHELL=/bin/bash fish -c 'plimsoll source -j 6; true' | grep -q '^set -gx PLIMSOLL_OUTPUT '
  fi
  plimsoll source --slurm -j 6 >lines
  grep -q '^export LD_PRELOAD=.*libplimsoll.so' lines
  ! grep -v '^export [A-Z_]*=' lines || fail "$(cat lines)"
  ! grep ';' lines || fail "$(cat lines)"
  run plimsoll source nosuchshell
  equal status "$status" 2
  run plimsoll source --preload=maybe
  equal status "$status" 2
}

# ---- dump and annotate ------------------------------------------------------------------------------------

@test "dump: directory, archive, file, key, JSON" {
  make_job
  plimsoll dump job | grep -q '^jobid  *4711$'
  equal key "$(plimsoll dump -k jobid job)" 4711
  equal json "$(plimsoll dump --json job | jq -r .jobid)" 4711
  equal file "$(plimsoll dump -k jobid job/job.json)" 4711
  run plimsoll dump -k nosuchkey job
  equal "no key" "$status" 1
  run plimsoll dump /no/such/place
  equal "no place" "$status" 1
  mkdir empty
  run plimsoll dump empty
  equal empty "$status" 1
  [[ $output == *"no metadata of a job in it"* ]] || fail "$output"
  plimsoll annotate job note=1
  archive=$(plimsoll stage -d ./ job)
  equal archive "$(plimsoll dump -k jobid "$archive")" 4711
  equal note "$(plimsoll dump --json "$archive" | jq .annotations.note)" 1
}

@test "annotate: types, replace, tags, a running job, an archive" {
  make_job
  plimsoll annotate job a=1 b=two c=True d=None e=-5 f=1.5 'g=x=y'
  equal all "$(jq -c .annotations job/job.json)" '{"a":1,"b":"two","c":true,"d":null,"e":-5,"f":"1.5","g":"x=y"}'
  plimsoll annotate job a=2
  equal merged "$(jq -c '[.annotations.a, .annotations.b]' job/job.json)" '[2,"two"]'
  plimsoll annotate --replace job z=9
  equal replaced "$(jq -c .annotations job/job.json)" '{"z":9}'
  plimsoll annotate --replace --json job 'a="1"' b=1.5 'c=[1, {"d": null}]'
  equal json "$(jq -c .annotations job/job.json)" '{"a":"1","b":1.5,"c":[1,{"d":null}]}'
  run -2 plimsoll annotate --json job a=1 b=text
  [[ $output == *"the value of 'b=text' is not JSON; nothing was changed"* ]] || fail "$output"
  equal unchanged "$(jq -c .annotations.a job/job.json)" '"1"'
  run -2 plimsoll annotate --json job PLIMSOLL_JOB_TAGS=3
  plimsoll annotate --json job 'PLIMSOLL_JOB_TAGS="x:y"'
  equal tags "$(jq -c .tags job/job.json)" '{"x":"y"}'
  plimsoll annotate job 'PLIMSOLL_JOB_TAGS=exp:one;k:v'
  equal tags "$(jq -c .tags job/job.json)" '{"exp":"one","k":"v"}'
  run plimsoll annotate job
  equal none "$status" 1
  run plimsoll annotate job novalue
  equal form "$status" 2
  archive=$(plimsoll stage -d ./ job)
  plimsoll annotate "$archive" late=yes
  equal archive "$(plimsoll dump --json "$archive" | jq -r .annotations.late)" yes
  equal records "$(plimsoll records --jsonl "$archive" | wc -l)" 4
  cp "$archive" broken.tgz
  truncate -s 200 broken.tgz
  before=$(sha1sum <broken.tgz)
  run plimsoll annotate broken.tgz x=1
  equal broken "$status" 1
  equal kept "$(sha1sum <broken.tgz)" "$before"
  equal litter "$(find . -name '*.new' | wc -l)" 0
}

# ---- stage -------------------------------------------------------------------------------------------------

@test "stage: an archive at the destination, the directory gone, records complete" {
  make_job
  plimsoll records --jsonl --threads job >before
  mkdir dest
  equal printed "$(plimsoll stage -d "$PWD/dest" job)" "$PWD/dest/job.tgz"
  [ ! -e job ] || fail "the directory is still there"
  tar tzf dest/job.tgz | grep -q '^\./job\.json$'
  plimsoll records --jsonl --threads dest/job.tgz | diff - before
}

@test "stage: a command that fails leaves the job where it was" {
  make_job
  PLIMSOLL_STAGE_COMMAND=false run plimsoll stage job
  equal status "$status" 1
  [[ $output == *"the job stays in"* ]] || fail "$output"
  [ -f job/job.json ]
  equal litter "$(find "$TMPDIR" -maxdepth 1 -name 'plimsoll-stage*' | wc -l)" 0
  PLIMSOLL_STAGE_COMMAND='cp -p' plimsoll stage -d ./copied.tgz job
  [ -f copied.tgz ]
}

@test "stage: only stopped jobs; other compressions are read" {
  plimsoll start -q -o job
  run plimsoll stage job
  equal running "$status" 1
  [[ $output == *"is running"* ]] || fail "$output"
  plimsoll stop -o job
  archive=$(plimsoll stage -d ./ job)
  gunzip -c "$archive" >plain.tar
  for tool in bzip2 xz zstd; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
    "$tool" -q -c plain.tar >"by-$tool"
    equal "$tool" "$(plimsoll dump -k jobid "by-$tool")" "$(plimsoll dump -k jobid "$archive")"
  done
  equal plain "$(plimsoll dump -k jobid plain.tar)" "$(plimsoll dump -k jobid "$archive")"
}

# ---- hostile archives and metadata ------------------------------------------------------------------------

@test "hostile archives are refused with a reason" {
  make_job
  mkdir evil && cp job/job.json evil/
  mkdir links && ln -s /etc/passwd links/job.json && tar czf link.tgz -C links ./job.json
  (cd evil && tar czf ../outside.tgz --transform 's,^\./,../../,' ./job.json && tar czPf ../absolute.tgz --transform 's,^\./,/tmp/,' ./job.json)
  for bad in link outside absolute; do
    run plimsoll dump "$bad.tgz"
    equal "$bad" "$status" 1
    [[ $output == *refused* ]] || fail "$bad: $output"
  done
  mkfifo evil/pipe
  (cd evil && tar czf ../fifo.tgz ./pipe ./job.json)
  run plimsoll dump fifo.tgz
  equal fifo "$status" 1
  # a bomb: megabytes of zeros that pack to nothing
  mkdir bomb && head -c 100M /dev/zero >bomb/job.json && (cd bomb && tar cf - ./job.json | gzip -9 >../bomb.tgz) && rm -r bomb
  run plimsoll dump bomb.tgz
  equal bomb "$status" 1
  echo nonsense >text
  run plimsoll dump text
  equal text "$status" 1
  : >empty
  run plimsoll dump empty
  equal empty "$status" 1
}

# bats test_tags=epmt
@test "hostile pickles execute nothing" {
  /usr/bin/python3 - <<'P'
import os, pickle
class Evil:
    def __reduce__(self):
        return (os.system, ("touch pwned",))
pickle.dump({"job_pl_id": Evil()}, open("job_metadata", "wb"))
P
  run plimsoll dump job_metadata
  equal status "$status" 1
  [[ $output == *"system, which is not data; refused"* ]] || fail "$output"
  [ ! -e pwned ]
}

# ---- records ------------------------------------------------------------------------------------------------

@test "records: table, JSON lines, CSV, TSV, threads" {
  make_job
  plimsoll records job | grep -q 'actor .*signal 9'
  equal jsonl "$(plimsoll records --jsonl job | jq -r .exename | sort | uniq -c | tr -s ' ')" "$(printf ' 3 actor\n 1 sh')"
  plimsoll records --csv job >c.csv
  equal csv "$(/usr/bin/python3 -c "
import csv
rows = list(csv.DictReader(open('c.csv')))
print(len(rows), sorted(r['exitcode'] + '/' + r['exitsignal'] for r in rows), rows[0]['ended'], rows[0]['source'])")" "4 ['/9', '0/0', '0/0', '5/0'] exit preload"
  equal tsv "$(plimsoll records --tsv job | awk -F'\t' '{ print NF }' | sort -u)" "$(head -1 c.csv | tr ',' '\n' | wc -l)"
  equal threads "$(plimsoll records --csv --threads job | wc -l)" 8
}

@test "records: arguments with every byte" {
  args=("$(printf 'tab\there')" "$(printf 'new\nline')" "$(printf 'bad\xff\xfeutf8')" 'quote"d' "it's" 'back\slash' 'a,b' '' 'ümläut')
  plimsoll run -q -o job -- "$PROGRAMS/actor" return 0 "${args[@]}"
  plimsoll records --jsonl job >rows.jsonl
  /usr/bin/python3 - "${args[@]}" <<'P'
import base64, csv, json, os, sys
want = [os.fsencode(a) for a in sys.argv[1:]]
row = json.loads(open("rows.jsonl").read())
got = [base64.b64decode(a) for a in row["argv_b64"]][3:]
assert got == want, (got, want)
assert row["argv"][5] == "bad\ufffd\ufffdutf8", row["argv"]
assert base64.b64decode(row["args_b64"]) == b" ".join([b"return", b"0"] + want), row
P
  plimsoll records --csv job >c.csv
  /usr/bin/python3 -c "
import csv, os, sys
rows = list(csv.DictReader(open('c.csv', encoding='utf-8', errors='surrogateescape', newline='')))
assert os.fsencode(rows[0]['args']) == b' '.join(os.fsencode(a) for a in ['return', '0'] + sys.argv[1:]), rows[0]['args']" "${args[@]}"
}

@test "records: a damaged file loses only what is torn" {
  plimsoll run -q -o job --no-kernel -- sh -c "for i in 1 2 3 4 5 6 7 8; do $PROGRAMS/actor return \$i; done; :"
  rec=$(ls job/*/*.rec)
  equal whole "$(plimsoll records --jsonl job | jq -s 'map(select(.exename == "actor")) | length')" 8
  # a flipped byte in the arguments of the fifth
  at=$(grep -abo 'return.5' "$rec" | head -1 | cut -d: -f1)
  printf 'X' | dd of="$rec" bs=1 seek="$at" conv=notrunc status=none
  run plimsoll records --jsonl job
  equal status "$status" 1
  [[ $output == *"damaged at offset"*"skipped"*"1 place"* ]] || fail "$output"
  plimsoll records --jsonl job 2>/dev/null >rows.jsonl || true
  equal others "$(rows '.exename == "actor" and .args != null')" 7
  equal torn "$(rows '.exitcode == 5')" 1
  # cut in the middle of the last record
  truncate -s -7 "$rec"
  plimsoll records --jsonl job 2>err >rows.jsonl || true
  grep -q 'damaged at offset' err
  at_least rows "$(wc -l <rows.jsonl)" 8
  # nothing but garbage
  head -c 100000 /dev/urandom >noise.rec
  run plimsoll records --jsonl noise.rec
  equal noise "$status" 1
  mkdir nothing
  run plimsoll records nothing
  equal nothing "$status" 1
  [[ $output == *"contains no records"* ]] || fail "$output"
}

# ---- events and check ------------------------------------------------------------------------------------------

# bats test_tags=root
@test "events: counted where they can be, with the reason where not" {
  run plimsoll events --test PERF_COUNT_SW_CPU_CLOCK
  equal status "$status" 0
  equal value "$(plimsoll events --test --json PERF_COUNT_SW_CPU_CLOCK | jq '.[0].value > 10000')" true
  run plimsoll events --test NO_SUCH_EVENT PERF_COUNT_SW_CPU_CLOCK
  equal unknown "$status" 1
  plimsoll events --json >e.json
  equal software "$(jq '[.[] | select(.name == "PERF_COUNT_SW_PAGE_FAULTS" and .available)] | length' e.json)" 1
  equal reasons "$(jq '[.[] | select(.available | not) | select(.reason == null or .reason == "")] | length' e.json)" 0
  equal presets "$(jq '[.[] | select(.kind == "preset")] | length > 15' e.json)" true
  equal pattern "$(plimsoll events --json 'PAPI_TOT_*' | jq -r '.[].name' | sort | tr '\n' ' ')" "PAPI_TOT_CYC PAPI_TOT_INS "
}

# bats test_tags=epmt
@test "events: the names of PAPI's and libpfm4's tools list and try the same events" {
  plimsoll events --json >all.json
  kinds() {
    jq -r --arg k "$1" '.[] | select(.kind as $x | $k | split(",") | index($x)) | .name' all.json | sort
  }
  equal papi_avail "$(papi_avail --json | jq -r '.[].name' | sort)" "$(kinds preset)"
  equal papi_native_avail "$(papi_native_avail --json | jq -r '.[].name' | sort)" "$(kinds kernel,native)"
  equal showevtinfo "$(showevtinfo --json | jq -r '.[].name' | sort)" "$(kinds kernel,native)"
  [[ $(papi_avail) == *PAPI_TOT_CYC*PAPI_TOT_INS* ]]
  equal "a pattern" "$(showevtinfo --json TASK_CLOCK | jq -r '.[] | select(.kind == "kernel") | .name')" PERF_COUNT_SW_TASK_CLOCK
  equal "a part of names" "$(papi_native_avail -i TASK_CLOCK -a --json | jq -r '.[0].name, .[0].available')" $'PERF_COUNT_SW_TASK_CLOCK\ntrue'
  # -a of papi_avail: what counts here, and nothing else
  equal available "$(papi_native_avail -a --json | jq -r '.[].name' | sort)" \
    "$(jq -r '.[] | select(.kind != "preset" and .available) | .name' all.json | sort)"
  run papi_avail -e PAPI_TOT_CYC
  [[ $output == *PAPI_TOT_CYC*preset* && $output != *PAPI_TOT_INS* ]]
  for tool in papi_command_line check_events; do
    equal "$tool" "$($tool --json PERF_COUNT_SW_CPU_CLOCK | jq -c '[length, .[0].available, .[0].value > 10000]')" '[1,true,true]'
    run -1 $tool PERF_COUNT_SW_CPU_CLOCK NO_SUCH_EVENT
    [[ $output =~ PERF_COUNT_SW_CPU_CLOCK\ +kernel\ +[0-9]+ && $output =~ NO_SUCH_EVENT\ +unknown\ +no ]]
    run -2 $tool
    [[ $output == "$tool: "*"needs the names of events"* ]]
  done
  run -0 papi_avail -h
  [[ $output == 'papi_avail is `plimsoll events --kind=preset`'*--available* ]]
  run -2 plimsoll events --kind kernel,nonsense
  [[ $output == *"--kind takes kernel, preset or native, not 'kernel,nonsense'"* ]]
}

# bats test_tags=root
@test "events are counted in every process and thread" {
  RUN_OPTIONS=(--events 'PERF_COUNT_SW_TASK_CLOCK,PERF_COUNT_SW_PAGE_FAULTS')
  record "$PROGRAMS/actor" threads 3 30
  clock=$(value true 'counters.PERF_COUNT_SW_TASK_CLOCK.value')
  at_least clock "$clock" 80000000
  at_most clock "$clock" "$(($(value true time_oncpu) * 11 / 10))"
  equal threads "$(value true 'thread_rows | map(.counters.PERF_COUNT_SW_TASK_CLOCK.value) | map(select(. > 25000000)) | length')" 3
  at_least sum "$(value true 'thread_rows | map(.counters.PERF_COUNT_SW_TASK_CLOCK.value) | add')" "$((clock * 95 / 100))"
  at_least faults "$(value true 'counters.PERF_COUNT_SW_PAGE_FAULTS.value')" 1
  at_least cycles "$(value true rdtsc_duration)" 1000000
}

@test "events: a dash and an underscore are the same wherever an event is named" {
  for name in task_clock task-clock page_faults page-faults Minor_Faults minor-faults; do
    equal "$name" "$(plimsoll events --test --json "$name" | jq -r '.[0] | [.available, .value > 0] | join(" ")')" 'true true'
    plimsoll events --json "$name" | jq -e 'any(.available)' >/dev/null || fail "$name is not listed"
  done
  RUN_OPTIONS=(--events 'task_clock,page-faults')
  record "$PROGRAMS/actor" burn 20
  at_least clock "$(value true 'counters.task_clock.value')" 18000000
  at_least faults "$(value true 'counters["page-faults"].value')" 1
  for name in software_events task_clock task-clock; do
    equal "sampled $name" "$(plimsoll sample --source "counters=$name" --pid $$ --json | jq -r '.[0].error // "counted"')" counted
  done
}

# bats test_tags=root
@test "an event that cannot be opened is absent and reported once" {
  plimsoll events --test PAPI_TOT_CYC >/dev/null 2>&1 && skip "this machine has hardware counters"
  run plimsoll run -o job --events PAPI_TOT_CYC,PERF_COUNT_SW_TASK_CLOCK,NONSENSE -- "$PROGRAMS/actor" burn 20
  equal status "$status" 0
  equal once "$(grep -c 'warning: event PAPI_TOT_CYC: not counted' <<<"$output")" 1
  equal unknown "$(grep -c 'warning: event NONSENSE: not counted' <<<"$output")" 1
  plimsoll records --jsonl job >rows.jsonl
  equal counters "$(value true 'counters | keys | join(" ")')" PERF_COUNT_SW_TASK_CLOCK
}

# bats test_tags=root
@test "counters: descriptors of the program keep their numbers, closing ours makes them absent" {
  RUN_OPTIONS=(--events PERF_COUNT_SW_TASK_CLOCK)
  record bash -c 'exec {fd}</dev/null; echo $fd; exec {fe}</dev/null; echo $fe' >with
  bash -c 'exec {fd}</dev/null; echo $fd; exec {fe}</dev/null; echo $fe' >without
  cmp with without
  record bash -c 'for f in $(seq 3 1100); do eval "exec $f>&-"; done; exit 7'
  equal status "$status" 7
  equal value "$(value '.exitcode == 7' 'counters.PERF_COUNT_SW_TASK_CLOCK.value')" null
  equal reason "$(value '.exitcode == 7' 'counters.PERF_COUNT_SW_TASK_CLOCK.reason')" "the program closed the counter"
  (ulimit -n 100 && plimsoll run -q -o job --events PERF_COUNT_SW_TASK_CLOCK -- "$PROGRAMS/actor" return 0)
  plimsoll records --jsonl job | tail -1 >rows.jsonl
  equal scarce "$(value true 'counters.PERF_COUNT_SW_TASK_CLOCK.reason')" "no descriptor was free for the counter"
}

# bats test_tags=root
@test "preloaded by hand, with papiex's variables and nothing else" {
  mkdir out
  PAPIEX_OPTIONS=PERF_COUNT_SW_TASK_CLOCK,COLLATED_TSV,PAPI_NONSENSE PAPIEX_OUTPUT=$PWD/out/ PAPIEX_TAGS=op:x \
    LD_PRELOAD=$PL_BUILD/lib/libplimsoll.so "$PROGRAMS/actor" burn 20 4 || true
  plimsoll records --jsonl out >rows.jsonl
  equal code "$(value true exitcode)" 4
  equal tags "$(value true tags)" op:x
  equal host "$(value true hostname)" "$(hostname)"
  at_least clock "$(value true 'counters.PERF_COUNT_SW_TASK_CLOCK.value')" 15000000
  equal unknown "$(value true 'counters.PAPI_NONSENSE.reason')" "No such file or directory"
  LD_PRELOAD=$PL_BUILD/lib/libplimsoll.so "$PROGRAMS/actor" return 0
  equal inert "$(find . -name '*.rec' | wc -l)" 1
}

# bats test_tags=root
@test "what is read of event counters, and for an exec that fails, is no I/O of the program" {
  record "$PROGRAMS/actor" threads 3 0
  threads=$(value .numtids '| [.rchar, .syscr, .wchar, .syscw] | tojson')
  record bash -c 'exec "$1" exec execv' bash "$PROGRAMS/actor"
  image=$(value '.exename == "echo"' '| [.rchar, .syscr] | tojson')
  RUN_OPTIONS=(--events PERF_COUNT_SW_TASK_CLOCK)
  record "$PROGRAMS/actor" threads 3 0
  equal threads "$(value .numtids '| [.rchar, .syscr, .wchar, .syscw] | tojson')" "$threads"
  record bash -c 'exec "$1" exec execv' bash "$PROGRAMS/actor"
  equal 'behind an exec' "$(value '.exename == "echo"' '| [.rchar, .syscr] | tojson')" "$image"
  RUN_OPTIONS=()
  record "$PROGRAMS/actor" exec fails >out 2>&1
  equal 'an exec that fails' "$(value true '| [.wchar, .syscw] | tojson')" "[$(wc -c <out),0]"
}

# bats test_tags=root
@test "check: each capability with result, reason and remedy" {
  run plimsoll check
  equal status "$status" 0
  plimsoll check --json >c.json
  for name in "preload library" "short run" events cn_proc taskstats task_delayacct perf_event_paranoid cgroup "output directory" stage "module archive" "module pfm" "module table"; do
    result=$(jq -r ".checks[] | select(.name == \"$name\") | .result" c.json)
    [[ $result =~ ^(Pass|Limited|Fail)$ ]] || fail "$name: '$result'"
  done
  equal run "$(jq -r '.checks[] | select(.name == "short run") | .result' c.json)" Pass
  if [ "$PL_AS" = user ]; then
    equal taskstats "$(jq -r '.checks[] | select(.name == "taskstats") | .result' c.json)" Limited
    equal remedy "$(jq -r '.checks[] | select(.name == "taskstats") | .remedy != null' c.json)" true
  fi
  PLIMSOLL_EVENTS=NO_SUCH_EVENT run plimsoll check
  equal "bad event" "$status" 1
  PLIMSOLL_PREFIX=/proc/nowhere/x run plimsoll check
  equal "bad prefix" "$status" 1
  PLIMSOLL_STAGE_COMMAND=no-such-command run plimsoll check
  equal "bad stage command" "$status" 1
  equal clean "$(find "$WORK" -name 'check*' | wc -l)" 0
}
