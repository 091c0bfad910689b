#!/usr/bin/env bats
# What people type: names of jobs, commands and metrics that are nearly right, and answers that would be empty.

bats_require_minimum_version 1.5.0
load store

# on_terminal COMMAND: what it prints on a terminal of 160 columns
on_terminal() {
  script -qec "stty cols 160; $*" /dev/null | tr -d '\r'
}

@test "a job is found by its name, and several are a choice" {
  use_store
  plimsoll run -q --name alpha true
  plimsoll run -q --name beta true
  plimsoll show alpha | grep -q '  alpha$'
  plimsoll run -q --name alpha false || true
  for command in show report procs tree timeline threads tags series dump; do
    status=0
    plimsoll $command alpha >out 2>err || status=$?
    equal "status of $command" "$status" 1
    grep -q "several jobs have the name 'alpha'; use the id of one: [^ ]* (.*), [^ ]* (.*); .plimsoll list --name 'alpha'" err ||
      fail "$command: $(cat err)"
    [ ! -s out ]
  done
  # the newest of them is the first
  equal newest "$(sed 's/.*use the id of one: \([^ ]*\) .*/\1/' err)" "$(plimsoll list --ids --order -start --limit 1)"
  # an id goes before a name
  plimsoll run -q --name "$(plimsoll list --ids --name beta)" true
  plimsoll show "$(plimsoll list --ids --name beta)" | grep -q '  beta$'
  run -1 --separate-stderr plimsoll show 2
  # shellcheck disable=SC2154
  grep -q "several jobs begin with '2': [^ ]* (" <<<"$stderr"
}

@test "a few of many jobs are the newest everywhere" {
  use_store
  for name in one two three; do plimsoll run -q --name $name true; done
  equal table "$(plimsoll list -n 2 | awk 'NR > 1 { print $2 }' | xargs)" 'three two'
  equal JSON "$(plimsoll list -n 1 --json | jq -r '.[].jobname')" three
  equal CSV "$(plimsoll list -n 1 --csv | grep -c three)" 1
  equal 'all of them' "$(plimsoll list --json | jq -r '.[].jobname' | xargs)" 'one two three'
  equal asked "$(plimsoll list -n 1 --order start --json | jq -r '.[].jobname')" one
}

@test "a tag that is written as an annotation is refused with what was meant" {
  use_store
  plimsoll run -q true
  run -2 --separate-stderr plimsoll tag last exp=a 'note:b=c'
  [[ $stderr == *"'exp=a' is not of the form KEY:VALUE; write 'exp:a'; nothing was changed"* ]] || fail "$stderr"
  equal tags "$(plimsoll show --json | jq -c .tags)" '{}'
  plimsoll tag last 'note:b=c'
  equal tags "$(plimsoll show --json | jq -c .tags)" '{"note":"b=c"}'
}

@test "a tag that is written as KEY=VALUE: filters and runs say what was meant" {
  use_store
  plimsoll run -q --name one --tags op:cut true
  plimsoll tag one phase:test
  run -0 --separate-stderr plimsoll list --tag phase=test
  [[ $stderr == *"no job in '"*"' matches the filter; a tag is KEY:VALUE: --tag 'phase:test'"* ]] || fail "$stderr"
  run -0 --separate-stderr plimsoll procs one --tag op=cut
  [[ $stderr == *"no process of the job matches the filter; a tag is KEY:VALUE: --tag 'op:cut'"* ]] || fail "$stderr"
  run -0 --separate-stderr plimsoll list --tag phase:other
  [[ $stderr == *"does not match the filter; "*"without one shows it"* ]] || fail "$stderr"
  plimsoll run --job-tags 'exp=a;fine:b=c;word;two:2:2' --tags 'op=x;ok:y' true 2>err
  equal 'job tags' "$(grep -c "warning: job tags: 'exp=a' is a key without a value: write 'exp:a'" err)" 1
  equal 'process tags' "$(grep -c "warning: tags: 'op=x' is a key without a value: write 'op:x'" err)" 1
  equal 'left out, told once' "$(grep -c "warning: job tags: ignoring 'two:2:2', which is not of the form KEY:VALUE" err)" 1
  equal others "$(grep -c '^plimsoll: warning' err)" 3
  plimsoll start --tags exp=a 2>err >/dev/null
  equal start "$(grep -c "job tags: 'exp=a' is a key without a value: write 'exp:a'" err)" 1
  plimsoll source --tags op=x sh 2>err >/dev/null
  equal source "$(grep -c "tags: 'op=x' is a key without a value: write 'op:x'" err)" 1
}

@test "report, plot, series and show take the last job where none is named" {
  use_store
  plimsoll run -q --name first true
  plimsoll run -q --name second --sample 50ms sleep 0.3
  plimsoll report | grep -q '^job .*  second$'
  for command in tree procs timeline threads; do
    equal "$command" "$(plimsoll $command --json | jq -S .)" "$(plimsoll $command --json last | jq -S .)"
  done
  plimsoll show | grep -q '^job .*  second$'
  plimsoll series | grep -q process.rss
  plimsoll plot --list | grep -q process.rss
  plimsoll plot -m process.rss -o rss.svg
  [ -s rss.svg ]
  plimsoll dump last | grep -q '^jobname *second$'
  run -2 plimsoll report a b
}

@test "without any job that is said" {
  use_store
  plimsoll db init -q 2>/dev/null || plimsoll list >/dev/null 2>&1 || true
  run -1 --separate-stderr plimsoll report
  plimsoll run -q true
  plimsoll list --name nothing 2>err
  grep -q "the only job in '.*' does not match the filter; .plimsoll list. without one shows it" err
  plimsoll run -q true
  plimsoll list --name nothing 2>err
  grep -q "none of the 2 jobs in '.*' matches the filter; .plimsoll list. without one lists all" err
  equal 'machines are told nothing' "$(plimsoll list --name nothing --json 2>&1 | tr -d ' \n')" '[]'
  run -1 --separate-stderr plimsoll series -m process.rss
  grep -q 'the job was not sampled; sample a job while it runs with .plimsoll run --sample 1s' <<<"$stderr"
  run -1 --separate-stderr plimsoll plot -m process.rss -o x.svg
  grep -q 'the job was not sampled' <<<"$stderr"
  run -1 --separate-stderr plimsoll series
  grep -q 'the job was not sampled' <<<"$stderr"
  equal json "$(plimsoll series --json 2>&1 | tr -d ' \n')" '[]'
}

@test "commands and metrics that are nearly right, or meant" {
  use_store
  while read -r typed meant; do
    run -2 --separate-stderr plimsoll "$typed"
    grep -q "unknown command '$typed'; did you mean '$meant'" <<<"$stderr" || fail "$typed: $stderr"
  done <<'W'
memory top
cpu top
gpu top
ls list
lst list
jobs list
reprot report
summary report
graph plot
rm delete
ps procs
stat show
last show
W
  run -2 --separate-stderr plimsoll help lst
  [[ $stderr == *"did you mean 'list'"* ]] || fail "$stderr"
  if ! without epmt; then
    run -2 --separate-stderr epmt lst
    [[ $stderr == *"did you mean 'list'"* ]] || fail "$stderr"
  fi
  # a program is to be recorded
  for program in sleep ./a.out; do
    run -2 --separate-stderr plimsoll "$program" 1
    [[ $stderr == *"to record it: \`plimsoll run -- $program\`"* ]] || fail "$stderr"
  done
  run -2 --separate-stderr plimsoll xyzzyx
  [[ $stderr != *'did you mean'* ]]
  plimsoll run -q --sample 50ms sleep 0.3
  while read -r typed meant; do
    for command in series 'plot -o x.svg'; do
      # shellcheck disable=SC2086
      run -1 --separate-stderr plimsoll $command -m "$typed"
      grep -q "the job has no metric '$typed'; did you mean .*$meant" <<<"$stderr" || fail "$command $typed: $stderr"
    done
  done <<'W'
cpu process.cpu_percent
memory process.rss
mem process.rss
net network.rx_bytes
io process.read_bytes
process.rrs process.rss
W
}

@test "options that are nearly right or meant, and a line for the shell" {
  while read -r command typed meant; do
    run -2 --separate-stderr plimsoll "$command" "--$typed" 2s
    [[ $stderr == *"unknown option --$typed; did you mean --$meant"* ]] || fail "$command $typed: $stderr"
  done <<'W'
report html format
plot png output
node period interval
configure interval period
list taggs tag
series metrix metric
W
  run -2 --separate-stderr plimsoll list --xyzzyx
  [[ $stderr != *'did you mean'* ]] || fail "$stderr"
  for command in run monitor; do
    plimsoll "$command" 'seq 1 3 | wc -l' 2>err && fail "$command ran a line"
    grep -qF "use \`sh -c 'LINE'\` to run a shell command line" err || fail "$command: $(<err)"
  done
}

@test "metrics WORD: what is recorded and what is sampled under that name" {
  run -0 plimsoll metrics rss
  grep -q '^rssmax ' <<<"$output"
  grep -q '^process.rss ' <<<"$output"
  run ! grep -q "^usertime " <<<"$output"
  equal json "$(plimsoll metrics --json rssmax | jq -c '[.[].name]')" '["rssmax"]'
  equal sampled "$(plimsoll metrics --sampled --json process.rss | jq -c '[.[].name]')" '["process.rss"]'
  run -1 --separate-stderr plimsoll metrics xyzzyx
  [[ $stderr == *"no metric has 'xyzzyx' in its name or meaning"* ]] || fail "$stderr"
}

@test "a program has one name: that which it was called by" {
  use_store
  ln -s "$(command -v sleep)" snooze
  run -0 --separate-stderr plimsoll run -- sh -c './snooze 0.1; "$1" 0.1; exit 0' - "$PWD/snooze"
  [[ $stderr == *" snooze "*" 2 x "* ]] || fail "$stderr"
  [[ $stderr != *" sleep "* && $stderr != *" dash "* ]] || fail "$stderr"
  equal store "$(plimsoll procs --json | jq -c '[.[].exename] | unique')" '["sh","snooze"]'
}

@test "list on a terminal: the newest first, with units; elsewhere as ever" {
  use_store
  plimsoll run -q --name older true
  plimsoll run -q --name newer true
  equal terminal "$(on_terminal plimsoll list | awk 'NR > 1 { print $2 }' | xargs)" 'newer older'
  on_terminal plimsoll list | grep -q ' [mu]s '
  equal pipe "$(plimsoll list | awk 'NR > 1 { print $2 }' | xargs)" 'older newer'
  equal ids "$(plimsoll list --ids | xargs)" "$(plimsoll list | awk 'NR > 1 { print $1 }' | xargs)"
  on_terminal plimsoll list --order start | awk 'NR > 1 { print $2 }' | head -1 | grep -q older
}

@test "the batch system's name of the job, its array task and the command line are shown" {
  use_store
  SLURM_JOB_ID=77 SLURM_JOB_NAME=weather SLURM_ARRAY_JOB_ID=4 SLURM_ARRAY_TASK_ID=1 \
    plimsoll run -q --submit -- sh -c 'echo "a  b" >/dev/null; true'
  plimsoll show 77 >shown
  grep -q '^job 77  weather$' shown
  grep -q '^  batch  *slurm, array task 4_1' shown
  grep -q '^  command  *sh -c .echo "a' shown
  plimsoll show 4_1 | grep -q '^job 77 '
  run -1 plimsoll show 4_2
  equal json "$(plimsoll show 77 --json | jq -c '[.jobname, .array_task, .command]')" \
    '["weather","4_1","sh -c '\''echo \"a  b\" >/dev/null; true'\''"]'
  plimsoll report 77 | grep -q '^  command  *sh -c'
  plimsoll report 77 -o page.html
  grep -q '<p class="command"><code><bdi>sh -c' page.html
  on_terminal plimsoll list | grep -q '^77 *4_1 weather '
  # a name that was given goes before the batch system's
  SLURM_JOB_ID=78 SLURM_JOB_NAME=weather plimsoll run -q --submit --name mine -- true
  plimsoll show 78 | grep -q '^job 78  mine$'
}

@test "tar czf x.tgz JOBDIR is an archive of the job, however it was packed" {
  use_store
  mkdir jobs
  plimsoll run -q --no-submit -o jobs/one -- sh -c 'true; true'
  plimsoll run -q --no-submit -o jobs/two -- true
  tar czf 1.tgz -C jobs one
  tar czf 2.tgz -C jobs ./one
  tar cf 3.tar -C jobs/one .
  tar cJf 4.txz jobs/one
  for archive in 1.tgz 2.tgz 3.tar 4.txz; do
    plimsoll submit -q --db "$archive.db" "$archive"
    equal "processes of $archive" "$(plimsoll list --db "$archive.db" --json | jq '.[].num_procs')" \
      "$(plimsoll report --json jobs/one | jq .job.num_procs)"
    plimsoll dump -k jobname "$archive" | grep -q sh
    plimsoll report "$archive" >/dev/null
  done
  # two jobs in one
  tar czf both.tgz jobs
  run -1 --separate-stderr plimsoll submit --db both.db both.tgz
  grep -q 'the archive contains a second job; submit them one by one' <<<"$stderr"
  equal stored "$(plimsoll list --db both.db --ids 2>/dev/null | wc -l)" 0
  # of which the first is there already
  for job in one two; do
    plimsoll submit -q --db $job.db jobs/$job
    run -1 --separate-stderr plimsoll submit --db $job.db both.tgz
    equal "$job: lines" "${#stderr_lines[@]}" 1
    [[ $stderr == *'the archive contains a second job; submit them one by one; nothing of it was stored'* ]] || fail "$job: $stderr"
    equal "$job: stored" "$(plimsoll list --db $job.db --ids | wc -l)" 1
  done
  plimsoll submit --json --db one.db both.tgz >told 2>/dev/null || true
  equal JSON "$(jq -r .result told)" failed
  # one job alone that is there is no failure
  run -0 --separate-stderr plimsoll submit --db one.db 1.tgz
  [[ $stderr == *'in the store already, skipped'* ]] || fail "$stderr"
  # annotate goes into it as well
  plimsoll annotate 1.tgz colour=red
  plimsoll dump -k annotations 1.tgz | grep -q red
}

@test "dump takes jobs of the store by id, beginning and name" {
  use_store
  plimsoll run -q --name alpha true
  id=$(plimsoll list --ids)
  for name in "$id" "${id%?}" alpha last; do
    equal "$name" "$(plimsoll dump -k jobid "$name")" "$id"
  done
  equal json "$(plimsoll dump --json "$id" | jq -r .jobname)" alpha
  run -1 --separate-stderr plimsoll dump nothing
  grep -q "there is no job 'nothing'" <<<"$stderr"
}

@test "a file or directory of the name of a stored job is not taken for the job, unless it is one" {
  use_store
  printf '#!/bin/sh\nsleep 0.3\n' >job2.sh
  chmod +x job2.sh
  plimsoll run -q --sample 50ms ./job2.sh
  plimsoll run -q --name mydir --sample 50ms sleep 0.3
  mkdir mydir plots
  id=$(plimsoll list --ids --name job2.sh)
  for name in job2.sh mydir; do
    plimsoll report $name | grep -q "^job .*  $name\$"
    plimsoll series $name -m process.rss | grep -q process.rss
    plimsoll plot $name -m process.rss -o plots/$name.svg
    plimsoll export $name -o plots/$name.csv
    equal "dump $name" "$(plimsoll dump -k jobname $name)" $name
    plimsoll records --jsonl $name | jq -r .exename | grep -q sleep
    plimsoll notebook --print $name | grep -q "$(plimsoll list --ids --name $name)"
    plimsoll annotate $name n=3
    equal "annotate $name" "$(plimsoll show --json $name | jq .annotations.n)" 3
  done
  equal 'the script stays' "$(head -1 job2.sh)" '#!/bin/sh'
  for command in report series plot dump records annotate export; do
    words=()
    [ $command != annotate ] || words=(n=4)
    [ $command != export ] || words=(-o plots/x.csv)
    touch none.sh
    run -1 --separate-stderr plimsoll $command none.sh "${words[@]}"
    [[ $stderr == *"'none.sh'"*"; '"*"' has no such job either; \`plimsoll list\` lists its jobs"* ]] || fail "$command: $stderr"
    run -1 --separate-stderr plimsoll $command ./job2.sh "${words[@]}"
    [[ $stderr == *"'./job2.sh'"*"; the store has a job named 'job2.sh'"* ]] || fail "$command: $stderr"
    # two of that name are a choice
    plimsoll run -q --name twice true
    plimsoll run -q --name twice true
    mkdir -p twice
    run -1 --separate-stderr plimsoll $command twice "${words[@]}"
    [[ $stderr == *"several jobs have the name 'twice'"* ]] || fail "$command: $stderr"
  done
  # one that is a job goes before
  plimsoll run -q --no-submit --name other -o both true
  plimsoll run -q --name both true
  for command in report dump; do
    plimsoll $command both >shown
    grep -q other shown || fail "$command: $(cat shown)"
  done
  # records are where the job was recorded; the store keeps their sums
  rm -r "${PLIMSOLL_PREFIX:?}/$id"
  run -1 --separate-stderr plimsoll records job2.sh
  [[ $stderr == *"the records of job $id were in '$PLIMSOLL_PREFIX/$id', which is gone; \`plimsoll procs $id\`"* ]] || fail "$stderr"
}

@test "a job directory that is not in the store: one line says how to put it there" {
  use_store
  plimsoll run -q --name stored true
  plimsoll run -q -j apart -o ./apart true
  plimsoll delete apart >/dev/null 2>&1 || true
  for command in tree procs show timeline threads; do
    run -1 --separate-stderr plimsoll $command ./apart
    equal "lines of $command" "$(wc -l <<<"$stderr")" 1
    [[ $stderr == *"'./apart' is not in the store"*'`plimsoll submit ./apart`'* ]] || fail "$command: $stderr"
  done
  equal last "$(plimsoll list --ids last)" "$(plimsoll show --json last | jq -r .jobid)"
  tar czf apart.tgz apart
  run -1 --separate-stderr plimsoll show apart.tgz
  [[ $stderr == *'`plimsoll submit apart.tgz`'* ]] || fail "$stderr"
  mkdir empty
  run -1 --separate-stderr plimsoll show ./empty
  [[ $stderr == *"there is no job './empty'"* ]] || fail "$stderr"
  plimsoll submit ./apart
  plimsoll show apart | grep -q '^job apart'
  # what is stored is found by its directory and archive, too
  plimsoll run -q --name direct -o resdir sh -c 'true; true'
  tar czf r.tgz resdir
  mkdir elsewhere
  mv apart elsewhere/apart
  for path in ./resdir resdir r.tgz ./r.tgz elsewhere/apart; do
    id=$(jq -r .jobid resdir/job.json)
    [ "$path" != elsewhere/apart ] || id=apart
    equal "$path" "$(plimsoll show --json "$path" | jq -r .jobid)" "$id"
    for command in tree procs timeline threads; do
      equal "$command $path" "$(plimsoll $command --json "$path" | jq -S .)" "$(plimsoll $command --json "$id" | jq -S .)"
    done
  done
  # to delete it, the id is needed
  run -1 --separate-stderr plimsoll delete ./resdir
  [[ $stderr == *"this command needs the complete id, $(jq -r .jobid resdir/job.json)"* ]] || fail "$stderr"
  ! without epmt || return 0
  make_job there --id 4001
  run -1 --separate-stderr plimsoll show ./there
  [[ $stderr == *'`plimsoll submit ./there`'* ]] || fail "$stderr"
  plimsoll submit -q ./there
  equal "EPMT's" "$(plimsoll show --json ./there | jq -r .jobid)" 4001
}

@test "a job that waits to be submitted: every command that takes an id says where it lies" {
  use_store
  plimsoll run -q --submit -j 5 -- true
  plimsoll run -q --no-submit -j 77 -- true
  local command at=$PLIMSOLL_PREFIX/77
  for command in "show 77" "report 77" "tree 77" "procs 77" "threads 77" "timeline 77" "series 77" "plot 77" "records 77" "dump 77" \
    "export 77 -o x.csv" "tag 77 k:v" "annotate 77 k=v" "delete 77" "tags 77" "list 77"; do
    # shellcheck disable=SC2086
    run --separate-stderr plimsoll $command
    equal "status of $command" "$status" 1
    [[ $stderr == *": job '77' is not in the store "*": it is in '$at' and not yet submitted; run \`plimsoll submit $at\`" ]] || fail "$command: $stderr"
  done
  run -1 --separate-stderr plimsoll submit 77
  [[ $stderr == *"no such file or directory: '77'; job 77 is in '$at'; "* ]] || fail "$stderr"
  # as an archive
  plimsoll stage -q -d . "$at" >/dev/null
  run -1 --separate-stderr plimsoll show 77
  [[ $stderr == *": it is in './77.tgz' and not yet submitted; run \`plimsoll submit ./77.tgz\`" ]] || fail "$stderr"
  rm 77.tgz
  run -1 --separate-stderr plimsoll show 77
  [[ $stderr == *"there is no job '77' in "* ]] || fail "$stderr"
  run -1 --separate-stderr plimsoll show ../77
  [[ $stderr == *"there is no job '../77' in "* ]] || fail "$stderr"
}

@test "a table of show has no sum of peaks" {
  use_store
  plimsoll run -q --name one sh -c 'true; /bin/true; /bin/true'
  plimsoll show one >page
  # the largest process and the unit alone
  [[ $(grep -E '^ *rssmax ' page) =~ ^\ +rssmax\ +[0-9]+\ +KiB ]] || fail "$(cat page)"
  [[ $(grep -E '^ *usertime ' page) =~ ^\ +usertime\ +[0-9]+\ +[0-9]+\ +us ]] || fail "$(cat page)"
  plimsoll show --csv one >facts
  grep -q '^peak.rssmax,[1-9]' facts
  run -1 grep '^sum.rssmax' facts
}

@test "docs/README.md names every document, README.md is short, and their links lead somewhere" {
  local file link
  for file in "$PL_SOURCE"/docs/*.md; do
    [ "${file##*/}" = README.md ] || grep -qF "(${file##*/})" "$PL_SOURCE/docs/README.md" || fail "no ${file##*/} in docs/README.md"
  done
  at_most "lines of README.md" "$(wc -l <"$PL_SOURCE/README.md")" 90
  # characters, not bytes
  equal "lines over 100 columns" "$(LC_ALL=C.UTF-8 awk 'length > 100' "$PL_SOURCE/README.md")" ""
  for file in README.md CONTRIBUTING.md docs/README.md; do
    while read -r link; do
      [ -e "$PL_SOURCE/$(dirname "$file")/$link" ] || fail "$file: there is no $link"
    done < <(grep -oE '\]\([^)#:]+' "$PL_SOURCE/$file" | cut -c3-)
  done
}

# bats test_tags=colmet,epmt,perfmon
@test "every file and folder of src that CONTRIBUTING.md and docs name is there" {
  cd "$PL_SOURCE"
  # words in backticks that begin with a folder of the tree; a star stands for several
  grep -ohE '`(src|include|cmake|tests|scripts)/[A-Za-z0-9_./*-]+`' CONTRIBUTING.md docs/*.md | tr -d '`' | sort -u >"$WORK/named"
  at_least names "$(wc -l <"$WORK/named")" 60
  while read -r path; do
    compgen -G "$path" >/dev/null || fail "there is no $path"
  done <"$WORK/named"
}

@test "a job has the name of the script that begins it, and no script where the shell runs a line" {
  printf 'plimsoll start -q -o "$1"\n' >begin.sh
  n=0
  for options in '' '-e' '-o pipefail' '+o posix -u' '-O extglob' '--norc' '--rcfile /dev/null' '--'; do
    # shellcheck disable=SC2086 # several words
    bash $options begin.sh "job$n" || fail "'$options'"
    equal "'$options'" "$(jq -r .jobname "job$n/job.json")" begin.sh
    n=$((n + 1))
  done
  bash -o pipefail -c 'plimsoll start -q -o line; :'
  equal line "$(jq -r .script line/job.json)" null
}

@test "list, tag, annotate and delete take a job as show does; delete a whole id" {
  use_store
  id=apple-1
  plimsoll run -q --submit -j $id -N mine true
  plimsoll run -q --submit -j pear-2 -N twice true
  plimsoll run -q --submit -j pear-3 -N twice true
  for word in "$id" mine "${id%?}"; do
    equal "list $word" "$(plimsoll list --ids "$word")" "$id"
    plimsoll tag "$word" "word:${#word}"
    equal "tag $word" "$(plimsoll show --json "$id" | jq -r .tags.word)" "${#word}"
    plimsoll annotate "$word" "n=${#word}"
    equal "annotate $word" "$(plimsoll show --json "$id" | jq .annotations.n)" "${#word}"
  done
  equal 'all of a name, and another' "$(plimsoll list --json mine twice last | jq -r '.[].jobname' | xargs)" 'mine twice twice'
  for command in tag annotate delete; do
    more=
    [ $command != tag ] || more=a:b
    [ $command != annotate ] || more=a=b
    run -1 --separate-stderr plimsoll $command twice $more
    [[ $stderr == *"several jobs have the name 'twice'; use the id of one"* ]] || fail "$stderr"
  done
  for command in list tag annotate delete; do
    more=
    [ $command != tag ] || more=a:b
    [ $command != annotate ] || more=a=b
    run -1 --separate-stderr plimsoll $command nothing $more
    equal "$command, lines" "${#stderr_lines[@]}" 1
    [[ $stderr == *"there is no job 'nothing' in '"*"'; "*"plimsoll list"*" shows them"* ]] || fail "$stderr"
  done
  # what is known is listed beside what is not
  run -1 --separate-stderr plimsoll list --ids mine nothing
  equal known "$output" "$id"
  # to delete, a beginning is not enough
  run -1 --separate-stderr plimsoll delete "${id%?}"
  [[ $stderr == *"there is no job '${id%?}' in '"*"'; this command needs the complete id, $id"* ]] || fail "$stderr"
  mkdir -p dir
  echo '{}' >dir/job.json
  run -1 --separate-stderr plimsoll list dir
  [[ $stderr == *"'dir' is not in the store"*"plimsoll submit dir"*"first"* ]] || fail "$stderr"
  equal untouched "$(ask 'SELECT count(*) FROM jobs')" 3
  equal deleted "$(plimsoll delete mine)" "deleted $id (mine)"
  equal left "$(ask "SELECT count(*) FROM jobs WHERE jobid = '$id'")" 0
}

@test "every command that takes a JOB says what that is" {
  for command in $(plimsoll help | sed -n 's/^  \([a-z]*\)  *.*/\1/p'); do
    plimsoll help "$command" >text
    head -3 text | grep -q '\bJOB\b' || continue
    tr '\n' ' ' <text | grep -q 'JOB is a ' || fail "$command: $(cat text)"
  done
}

@test "no threads, no processes: why" {
  use_store
  plimsoll run -q --threads off "$(python3 -c 'import sys; print(sys.executable)')" -c 'import threading as t
x = [t.Thread(target=lambda: None) for _ in range(3)]
[i.start() for i in x]
[i.join() for i in x]'
  pid=$(plimsoll procs --json last | jq '[.[] | select(.numtids > 1)][-1].pid')
  [ "$pid" != null ] || fail "$(plimsoll procs last)"
  run -0 --separate-stderr plimsoll threads last --pid "$pid"
  [[ $stderr == *'the process was recorded without its threads; record them with `plimsoll run --threads full`'* ]] || fail "$stderr"
  # --threads full would not help where the library is not
  plimsoll run -q --threads full "$PROGRAMS/actor-static" threads 3
  for of in 'the job' 'this process'; do
    options=()
    [ "$of" = 'the job' ] || options=(--pid "$(plimsoll procs --json last | jq '.[0].pid')")
    run -0 --separate-stderr plimsoll threads last "${options[@]}"
    equal "threads of $of" "$stderr" "plimsoll: warning: the threads of $of are not recorded: the library cannot be preloaded into static, Go or setuid programs"
  done
  run -0 --separate-stderr plimsoll threads last --pid 1
  [[ $stderr == *'the job has no process with id 1; `plimsoll procs` lists all'* ]] || fail "$stderr"
  run -0 --separate-stderr plimsoll procs last --exe nothing
  [[ $stderr == *'no process of the job matches the filter; `plimsoll procs` without one lists all'* ]] || fail "$stderr"
  run -0 --separate-stderr plimsoll threads last --pid 1 --json
  equal 'machines are told nothing' "$stderr" ''
}

@test "times within a second are told apart, and threads come in the order of their start" {
  use_store
  plimsoll run -q --threads full "$(python3 -c 'import sys; print(sys.executable)')" -c 'import threading as t, time
x = [t.Thread(target=lambda n=n: time.sleep(0.3 - n / 10)) for n in range(3)]
for i in x:
    i.start()
    time.sleep(0.02)
[i.join() for i in x]'
  plimsoll timeline last >text
  equal 'every slice' "$(grep -cE '^20..-..-.. ..:..:..\.[0-9]{3} +[0-9.]+ ' text)" 20
  equal 'all different' "$(grep -E '^20..-..-.. ..:..:..\.[0-9]{3} +[0-9.]+ ' text | cut -c1-23 | sort -u | wc -l)" 20
  plimsoll threads last --json >threads.json
  equal 'of one process' "$(jq 'group_by(.process) | map(length) | max' threads.json)" 4
  equal 'in order' "$(jq 'group_by(.process) | map(map(.start)) | all(. == sort)' threads.json)" true
  plimsoll threads last | tail -1 | grep -qE ' 20..-..-.. ..:..:..\.[0-9]{3} '
  plimsoll run -q --sample 50ms sleep 0.4
  for how in '' --total --per-host --rate '--step 100ms'; do
    # shellcheck disable=SC2086
    plimsoll series last -m process.rss $how | sed 1d >values
    at_least "values $how" "$(wc -l <values)" 3
    equal "fractions $how" "$(grep -cE '^20..-..-.. ..:..:..\.[0-9]{3} ' values)" "$(wc -l <values)"
  done
}

@test "curves end where the job ends, and do not fall to 0" {
  use_store
  # as it is monitored: the command ends, and the seconds until that is certain are in no curve
  plimsoll monitor -q -i 50ms -d mon -- sleep 0.5
  plimsoll report last --json >report.json
  for metric in process.rss process.processes process.threads process.vms; do
    at_least "$metric" "$(jq --arg m $metric '[.series[] | select(.metric == $m and .host == null)][0].values | length' report.json)" 4
    equal "$metric, least" "$(jq --arg m $metric '[.series[] | select(.metric == $m and .host == null)][0].values[1:] | min > 0' report.json)" true
  done
  equal 'not behind the end' "$(jq '.times[-1] <= .job.duration' report.json)" true
  # how many ran at once: one to the end
  plimsoll run -q sleep 0.3
  plimsoll report last -o page.html
  python3 - page.html <<'P'
import re, sys
chart = re.search(r'<svg class="plot"[^>]*aria-label="processes at once">(.*?)</svg>', open(sys.argv[1]).read(), re.S).group(1)
path = re.search(r'<path class="line k0" d="([^"]*)"', chart).group(1)
bottom = 200
x = y = None
points = []
for c, numbers in re.findall(r'([MLlhHvV])([-0-9. ]*)', path):
    n = [float(v) for v in re.findall(r'-?[0-9.]+', numbers)]
    for k in range(0, len(n), 1 if c in "hHvV" else 2):
        if c in "ML":
            x, y = n[k], n[k + 1]
        elif c == "l":
            x, y = x + n[k], y + n[k + 1]
        elif c == "h":
            x += n[k]
        elif c == "v":
            y += n[k]
        points.append((x, y))
late = [p for p in points if p[0] > 100]
assert late and all(p[1] < bottom - 50 for p in late), points
assert points[-1][0] <= 1000, points[-1]
P
}

@test "a metric or a source that is not there: near ones by meaning and by spelling, and nothing is begun" {
  use_store
  while IFS='|' read -r typed meant; do
    for command in "monitor -d out -m $typed -- touch began" "node -o out.smp --metrics $typed"; do
      # shellcheck disable=SC2086
      run -2 --separate-stderr plimsoll $command
      [[ $stderr == *"there is no metric '$typed'; did you mean "*"$meant"* ]] || fail "$command: $stderr"
    done
  done <<'L'
memory|process.rss
cpu|process.cpu_percent
rsss|process.rss
process.rs|process.rss
net|network.rx_bytes
L
  run -2 --separate-stderr plimsoll monitor -d out -m zzzzzzzzzzzz -- touch began
  [[ $stderr == *"there is no metric 'zzzzzzzzzzzz'; \`plimsoll sources\` lists them"* ]] || fail "$stderr"
  while IFS='|' read -r typed meant; do
    for command in "monitor -d out -s $typed -- touch began" "sample -s $typed"; do
      # shellcheck disable=SC2086
      run -2 --separate-stderr plimsoll $command
      [[ $stderr == *"unknown sampled source '$typed'; did you mean '$meant"* ]] || fail "$command: $stderr"
    done
  done <<'L'
netwrok|network
memory|process', which has process.rss
L
  [ ! -e began ] && [ ! -e out ] && [ ! -e out.smp ] || fail "something was begun"
  # and one that is there is all that is kept
  plimsoll monitor -q -i 50ms -d out -m process.rss,load1 -- sleep 0.3
  equal kept "$(plimsoll series last --json | jq -c '[.[].metric | select(startswith("sampler.") | not)] | unique')" '["process.rss","system.load1"]'
}

@test "a job that a shell began has the name of the script, or of the shell" {
  use_store
  newest() { ask 'SELECT jobname FROM jobs ORDER BY start DESC LIMIT 1'; }
  cat >myscript.sh <<'S'
eval "$(plimsoll source -q)"
"$PROGRAMS/actor" return 0
plimsoll stop -q
plimsoll submit -q
S
  bash ./myscript.sh
  equal script "$(newest)" myscript.sh
  bash -c "$(cat myscript.sh); :"
  equal shell "$(newest)" bash
  plimsoll show last | head -1 | grep -q '  bash$'
  plimsoll list last | grep -q ' bash '
  sh -s <myscript.sh
  equal 'from standard input' "$(newest)" sh
}

@test "the list fits into 80 columns" {
  use_store
  plimsoll run -q --submit -j 20261116T081640-n-1234 -N a-name-that-is-long sh -c 'sh -c "exec true"; true'
  for width in 80 94 100 120; do
    script -qec "stty cols $width; NO_COLOR=1 plimsoll list" /dev/null </dev/null | tr -d '\r' >shown
    equal "$width: lines" "$(wc -l <shown)" 2
    at_most "$width: columns" "$(wc -L <shown)" $width
  done
}

@test "tags of a job whose processes have none: those of the job, or that there are none" {
  use_store
  plimsoll run -q --name sim --job-tags 'exp:ctl;run:7' true
  plimsoll run -q --name bare true
  plimsoll run -q --name both --tags op:x --job-tags a:b true
  id() { plimsoll list --ids --name "$1"; }
  run -0 --separate-stderr plimsoll tags sim
  equal table "$output" ''
  equal sim "$stderr" "plimsoll: warning: no process of job $(id sim) has tags; the job itself has exp:ctl;run:7"
  run -0 --separate-stderr plimsoll tags bare
  equal bare "$stderr" "plimsoll: warning: neither job $(id bare) nor its processes have tags; set tags of a job with \`plimsoll tag\`"
  run -0 --separate-stderr plimsoll tags sim bare
  equal 'two jobs' "${#stderr_lines[@]}" 2
  run -0 --separate-stderr plimsoll tags both
  equal processes "${lines[1]##* }" op:x
  equal both "$stderr" ''
  # machines are told nothing
  for form in --json --csv -q; do
    run -0 --separate-stderr plimsoll tags $form sim
    equal "$form" "$stderr" ''
  done
  plimsoll tag --clear sim
  plimsoll tag --clear both
  run -0 --separate-stderr plimsoll tags
  equal none "$stderr" "plimsoll: warning: no job in '$STORE' has tags; set some with \`plimsoll tag\`"
}

@test "what help says of texts that a spreadsheet takes for formulas is so" {
  use_store
  plimsoll run -q --name one echo =1+1
  plimsoll help sql | tr -s ' \n' ' ' | grep -q "JSON, and .plimsoll export. (CSV with --raw), preserve every byte\."
  equal 'sql, CSV' "$(plimsoll sql --csv "SELECT args FROM processes" | tail -1 | tr -d '\r')" "'=1+1"
  equal 'sql, JSON' "$(plimsoll sql --json "SELECT args FROM processes" | jq -r '.[].args')" =1+1
  plimsoll export -q one -o cut.csv
  plimsoll export -q one --raw -o raw.csv
  plimsoll export -q one -o all.json
  args() { python3 -c 'import csv, sys; print([r["args"] for r in csv.DictReader(open(sys.argv[1]))][0])' "$1"; }
  equal 'export, CSV' "$(args cut.csv)" "'=1+1"
  equal 'export, raw' "$(args raw.csv)" =1+1
  equal 'export, JSON' "$(jq -r '.. | .args? // empty' all.json)" =1+1
}
