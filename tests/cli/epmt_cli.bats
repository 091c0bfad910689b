#!/usr/bin/env bats
# bats file_tags=epmt
# Called as epmt: its command line, `run` with lines for the shell, jobs without a batch system, what asks first.

bats_require_minimum_version 1.5.0
load store

USERNAME=$(id -un 2>/dev/null || id -u)
DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}

prepare() {
  use_store
  export EPMT_OUTPUT_PREFIX=$WORK/out
  DIR=$WORK/out/$USERNAME
}

# Names of the programs that a job recorded.
programs() {
  plimsoll records --jsonl "$1" | jq -r .exename | sort | tr '\n' ' '
}

@test "run: one argument is a line for the shell, several keep their quoting" {
  prepare
  export SLURM_JOB_ID=1
  equal sequence "$(epmt run 'echo a; echo b')" "$(printf 'a\nb')"
  equal pipe "$(epmt run 'echo abc | tr b x')" axc
  equal assignment "$(epmt run 'X=5 env' | grep '^X=')" X=5
  equal 'two words' "$(epmt run X=5 env | grep '^X=')" X=5
  equal 'two assignments' "$(epmt run X=5 Y='a b' env | grep -E '^(X|Y)=' | tr '\n' ' ')" 'X=5 Y=a b '
  epmt run 'sleep 0.1'
  equal variable "$(V=seen epmt run 'echo $V')" seen
  equal redirection "$(epmt run 'echo to >file; cat file')" to
  equal quoting "$(epmt run printf '<%s>' 'a b' '$V' 'c;d')" '<a b><$V><c;d>'
  run -7 epmt run 'exit 7'
  run -127 epmt run 'no-such-program-here --x'
  run -3 epmt run -- 'true && exit 3'
  equal builtin "$(epmt run umask)" "$(sh -c umask)"
  run -0 epmt run -n 'a; b'
  [[ $output == *"/bin/sh -c 'a; b'" ]] || fail "$output"
  printf '#!/bin/sh\necho ran "$#"\n' >'my prog'
  chmod +x 'my prog'
  equal 'a file with a blank' "$(epmt run './my prog')" 'ran 0'
}

@test "run: every program of a line is recorded, and a program by itself without a shell" {
  prepare
  SLURM_JOB_ID=2 epmt run -a "$PROGRAMS/actor return 0; $PROGRAMS/actor return 0 | cat"
  equal line "$(programs "$DIR/2")" "actor actor cat sh "
  SLURM_JOB_ID=3 epmt run -a true
  equal alone "$(programs "$DIR/3")" "true "
}

@test "start, run, stop, submit, without a batch system: the job of the session" {
  prepare
  cat >script <<'S'
epmt start 2>/dev/null
epmt run true
epmt stop
epmt submit
S
  run -0 setsid -w sh ./script
  [[ $output == *"Imported successfully - job: "*" processes: 1 rate: "* ]] || fail "$output"
  equal one "$(epmt list | tr -cd ',' | wc -c)" 0
  # a session without a job says so
  run -1 setsid -w epmt submit
}

@test "runs before start and after stop are jobs of their own, in one session too" {
  prepare
  cat >script <<'S'
epmt run true
epmt run 'true; exit 3'
epmt start
epmt run true
epmt stop
epmt run true
epmt submit
epmt start -e
epmt run true
epmt stop -e
epmt submit -e
epmt run -a true
epmt submit -e
S
  run -0 setsid -w sh ./script
  equal stored "$(grep -c 'Imported successfully' <<<"$output")" 3
  [[ $output == *":2 earlier runs were recorded before the start of job "*"-runs of their own"* ]] || fail "$output"
  [[ $output == *" was stopped already: this run becomes job "*"-runs2"* ]] || fail "$output"
  ! grep -q "ERROR\|outside" <<<"$output" || fail "$output"
  local sid
  sid=$(ls "$DIR" | sort -n | head -1)
  equal jobs "$(epmt list)" "['$sid', '$sid.2', '$sid.3']"
  equal processes "$(plimsoll list --json | jq -c '[.[].num_procs]')" "[1,1,1]"
  # what was kept apart is complete, and can be stored
  run -0 epmt submit "$DIR/$sid-runs" "$DIR/$sid-runs2"
  [[ $output == *"job: $sid-runs processes: 2 "*"job: $sid-runs2 processes: 1 "* ]] || fail "$output"
  equal 'the run that failed decides' "$(plimsoll list --json "$sid-runs" | jq .[0].exitcode)" 3
}

@test "the first run that failed is the exit code of the job, in list and in dump" {
  prepare
  export SLURM_JOB_ID=76
  epmt start
  epmt run true
  run -3 epmt run 'exit 3'
  epmt run true
  epmt stop
  epmt submit
  equal list "$(plimsoll list --json 76 | jq .[0].exitcode)" 3
  equal dump "$(epmt dump -k exitcode 76)" 3
}

@test "runs before start and after stop of a batch job; one that is still recording stays" {
  prepare
  export SLURM_JOB_ID=77
  epmt run true
  epmt start
  [ -f "$DIR/77-runs/job_metadata" ] && [ -f "$DIR/77/job_metadata.tmp" ] || fail "$(ls -a "$DIR"/*)"
  epmt run true
  epmt stop
  epmt run true
  run -0 epmt submit -e
  [[ $output == *"job: 77 processes: 1 "* ]] || fail "$output"
  run -0 epmt submit -e "$DIR/77-runs" "$DIR/77-runs2"
  # a task that began before the first one's start goes on in its place
  export SLURM_JOB_ID=78
  epmt run sleep 1 &
  until compgen -G "$DIR/78/.plimsoll/*/*.rec" >/dev/null; do sleep 0.05; done
  epmt start
  [ ! -e "$DIR/78-runs" ] || fail "$(ls -a "$DIR")"
  wait
  epmt stop
  [[ $(programs "$DIR/78") == *sleep* ]] || fail "$(programs "$DIR/78")"
}

@test "submit: --num-cpus, a job that is there exits with 1, and the rest is stored" {
  prepare
  make_job first --id a
  make_job second --id b
  make_job third --id c
  epmt submit first >/dev/null
  run -1 epmt submit first second
  [[ $output == *"skipped: 'first'"* && $output == *"job: b"* ]] || fail "$output"
  equal stored "$(epmt list)" "['a', 'b']"
  run -1 epmt submit -e first third
  equal stopped "$(epmt list)" "['a', 'b']"
  epmt delete a b >/dev/null
  for cpus in '--num-cpus 2' --num-cpus=2 '-p 2' -p2 --num-cpus -p; do
    # shellcheck disable=SC2086 # two words
    run -0 epmt submit $cpus first second third
    equal "$cpus" "$(epmt list | tr ',' '\n' | wc -l)" 3
    epmt delete a b c >/dev/null
  done
  run -2 epmt submit --num-cpus=x first
}

@test "messages name EPMT's commands and options" {
  prepare
  export SLURM_JOB_ID=1
  make_job first --id a
  epmt submit first >/dev/null
  while read -r line; do
    # shellcheck disable=SC2086 # words
    epmt $line </dev/null >>said 2>&1 || true
  done <<'L'
annotate
annotate nosuch k=v
annotate a =v
annotate /nonexistent k=v
concat
convert
daemon -s -S
daemon --nosuch
dbcare
dbcare -r
delete
delete nosuch
drop
dump
dump nosuch
list nosuch
list thread_metrics
list bogus=1
migrate nosuch
retire
run
stage
stop
submit
submit nosuch
start
submit
nosuch
start --nosuch
L
  equal "enough was said" "$(($(grep -c :epmt_cmds: said) >= 25))" 1
  equal "commands of plimsoll" "$(grep 'plimsoll [a-z]' said)" ""
  equal "its options" "$(grep -E -e '--(older-than|keep|max-size|db|pidfile)' said)" ""
  grep -qF "there is no job 'nosuch' in '" said
  grep -qF '; `epmt list` shows them' said
  grep -qF 'retire_jobs_ndays in settings.py sets one' said
  grep -qF 'delete: missing JOB; see `epmt help delete`' said
  grep -qF 'the job has not been stopped; run `epmt stop`' said
  # every command that is named is one
  grep -o '`epmt [a-z]*' said | sort -u | cut -d' ' -f2 >named
  equal "some are named" "$(($(wc -l <named) >= 4))" 1
  while read -r word; do epmt help "$word" >/dev/null || fail "there is no epmt $word"; done <named
  # and what a message quotes is left as it is
  run -1 epmt dump 'plimsoll list'
  [[ $output == *"'plimsoll list'"* || $output == *"job plimsoll list in"* ]] || fail "$output"
  # without a place for the store
  run -1 env -u HOME -u EPMT_DB_URL -u PLIMSOLL_DB epmt list
  [[ $output == *"neither db_params in settings.py nor EPMT_DB_URL nor HOME is set"* ]] || fail "$output"
}

@test "retire -u, dbcare --retire-jobs, drop that asks on a terminal" {
  prepare
  make_job first --id a
  epmt submit first >/dev/null
  run -0 epmt retire -u
  run -0 epmt retire --skip-unproc
  run -0 epmt dbcare
  run -0 epmt dbcare --post-process --vacuum-tables
  equal stays "$(epmt list)" "['a']"
  PLIMSOLL_RETIRE_AGE=1d epmt dbcare
  equal 'stays without -r' "$(epmt list)" "['a']"
  run -1 epmt drop </dev/null
  [[ $output == *"confirm with --force"* ]] || fail "$output"
  for answer in no '' NO; do
    run -1 python3 "$PL_SOURCE/tests/cli/pty_answer.py" "$answer" epmt drop
    [[ $output == *"(yes/NO)"* ]] || fail "$output"
    equal "$answer" "$(epmt list)" "['a']"
  done
  run -0 python3 "$PL_SOURCE/tests/cli/pty_answer.py" yes epmt drop
  equal dropped "$(epmt list)" '[]'
  epmt submit first >/dev/null
  PLIMSOLL_RETIRE_AGE=1d epmt dbcare --retire-jobs >/dev/null
  equal retired "$(epmt list)" '[]'
}

@test "help: of every command, by option and by word; statuses" {
  for command in $(epmt help 2>/dev/null | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    run -0 epmt "$command" --help
    [[ $output == "usage: epmt $command "*"options:"*"--help"* ]] || fail "$command: $output"
    run -0 epmt help "$command"
    [[ $output == "usage: epmt $command "* ]] || fail "$command: $output"
    run -0 epmt -h "$command"
    [[ $output == "usage: epmt $command "* ]] || fail "$command: $output"
  done
  equal commands "$(epmt help 2>/dev/null | sed -n 's/^  \([a-z]*\)  .*/\1/p' | wc -l)" 30
  epmt submit --help | grep -q -- '-p, --num-cpus \[N\]'
  epmt dump --help | grep -q -- '-k, --key KEY'
  [[ $(epmt dump --help) != *--num-cpus* ]] || fail "an option of another command"
  run -1 epmt
  run -2 epmt nosuch
  run -2 epmt help nosuch
  run -2 epmt submit --nosuch
  [[ $output == *"there is no option --nosuch; \`epmt submit --help\` lists the options"* ]] || fail "$output"
  run -2 epmt list -k
  run -2 epmt dump -k
  run -2 epmt run
  for option in -V --version; do
    run -0 epmt $option
    [[ $output =~ ^EPMT\ [0-9]+\.[0-9]+\.[0-9]+ ]] || fail "$output"
  done
  run -0 epmt help api
}

@test "concat: files and a directory, bad ones aside, nothing overwritten" {
  mkdir 4711
  for n in 1 2 3; do printf '# note %d\na,b,c\n%d,x\\,y,z\n' $n $n >4711/n1-papiex-$n-0.csv; done
  epmt concat 4711
  equal directory "$(cat n1-collated-papiex-4711-0.csv)" "$(printf '# note 1\n# note 2\n# note 3\na,b,c\n1,x\\,y,z\n2,x\\,y,z\n3,x\\,y,z')"
  run -1 epmt concat 4711
  [[ $output == *"cannot write 'n1-collated-papiex-4711-0.csv': File exists"* ]] || fail "$output"
  epmt concat -o out.csv 4711/n1-papiex-2-0.csv 4711/n1-papiex-1-0.csv
  equal files "$(sed -n '4,5p' out.csv | cut -d, -f1 | tr '\n' ' ')" "1 2 "
  printf 'a,b,c\n1,2\n' >4711/n1-papiex-4-0.csv
  run -1 epmt concat -e -o other.csv 4711
  [[ $output == *"n1-papiex-4-0.csv': line 2: the header has 2 delimiters, this row has 1"* ]] || fail "$output"
  [ ! -e other.csv ]
  run -0 epmt concat -E errors --output-file other.csv 4711
  [ -f errors/n1-papiex-4-0.csv.error ] && [ ! -e 4711/n1-papiex-4-0.csv ]
  equal rest "$(grep -c 'x\\,y' other.csv)" 3
  run -1 epmt concat n1-collated-papiex-4711-0.csv
  run -1 epmt concat nowhere
  run -2 epmt concat
  mkdir empty
  run -0 epmt concat empty
}

@test "concat: EPMT's own sample files" {
  [ -d "$DATA/epmt/csv" ] || skip "no sample data beside the project"
  epmt concat -o all.csv "$DATA/epmt/csv"
  equal sum "$(sum all.csv | cut -d' ' -f1)" 13120
  run -1 epmt concat -e -o bad.csv "$DATA/epmt/corrupted_csv"
  [[ $output == *"the header has 40 delimiters, this row has 39"* ]] || fail "$output"
}

@test "dump: a terminal gets no control characters, a pipe every byte" {
  name=$'\e]0;pwn\a'
  plimsoll run -q -o dir --name "$name" -- true
  for key in '' '-k jobname'; do
    # shellcheck disable=SC2086
    timeout 60 python3 "$PL_SOURCE/tests/cli/pty_run.py" 24x80 raw:terminal end -- epmt dump $key dir >/dev/null
    # shellcheck disable=SC2086
    epmt dump $key dir >pipe
    grep -qF "$name" pipe || fail "$(cat -v pipe)"
    ! grep -qF $'\e]0;pwn' terminal || fail "raw bytes on the terminal"
    grep -qF 'x1b]0;pwn' terminal || fail "$(cat -v terminal)"
  done
}
