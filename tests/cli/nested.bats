#!/usr/bin/env bats
# A job inside another: the environment of the outer one is there, and the inner one is meant. And what `source` leaves
# in a shell.

bats_require_minimum_version 1.5.0
load lib

# What the outer job leaves behind, as sbatch hands it on.
outer() {
  export SLURM_JOB_ID=100 SLURM_CLUSTER_NAME=here
  plimsoll start -q
  eval "$(plimsoll source sh)"
}

@test "an inner batch job is a job of its own; its commands leave the outer one alone" {
  outer
  sum=$(sha256sum <"$PLIMSOLL_PREFIX/100/job.json")
  export SLURM_JOB_ID=101
  equal started "$(plimsoll start)" 101
  plimsoll run -q "$PROGRAMS/actor" return 3 || equal status $? 3
  plimsoll annotate note=inner
  plimsoll stop
  equal exitcode "$(jq -r .exitcode "$PLIMSOLL_PREFIX/101/job.json")" 3
  equal note "$(jq -r .annotations.note "$PLIMSOLL_PREFIX/101/job.json")" inner
  equal parent "$(jq -r '.parent // "none"' "$PLIMSOLL_PREFIX"/101/*/*.json)" none
  equal outer "$(sha256sum <"$PLIMSOLL_PREFIX/100/job.json")" "$sum"
  equal submitted "$(PLIMSOLL_DB=$WORK/s.db plimsoll submit --json | jq -r .jobid)" 101
  equal staged "$(plimsoll stage -d there)" there/101.tgz
  [ -f "$PLIMSOLL_PREFIX/100/job.json" ] && [ ! -e "$PLIMSOLL_PREFIX/101" ]
  # and source takes over
  export SLURM_JOB_ID=102
  eval "$(plimsoll source sh)"
  "$PROGRAMS/actor" return 4 || true
  plimsoll_uninstrument
  plimsoll records --jsonl "$PLIMSOLL_PREFIX/102" >rows.jsonl
  equal inner "$(value '.exename == "actor"' exitcode)" 4
  equal mine "$(plimsoll stop -v 2>&1 | grep -o 'job [0-9]* stopped')" 'job 102 stopped'
  SLURM_JOB_ID=100 plimsoll stop
  equal stopped "$(jq 'has("stop")' "$PLIMSOLL_PREFIX/100/job.json")" true
}

# bats test_tags=epmt
@test "epmt: an inner job starts, and its stage packs its own directory" {
  export EPMT_SETTINGS=$WORK/settings.py
  printf "epmt_output_prefix = '%s/out/'\nstage_command_dest = '%s/staged'\n" "$WORK" "$WORK" >settings.py
  export SLURM_JOB_ID=100
  epmt start
  eval "$(SHELL=/bin/sh epmt source)"
  export SLURM_JOB_ID=101
  epmt start -e
  epmt stop -e
  equal staged "$(epmt stage)" "$WORK/staged/101.tgz"
  equal outer "$(find out -path '*/100/job_metadata.tmp' | wc -l)" 1
  epmt_uninstrument
  equal left "$(env | grep -c -e '^PLIMSOLL_JOB' -e ^PAPIEX -e ^LD_PRELOAD -e ^PLIMSOLL_RUN -e ^PLIMSOLL_OUTPUT)" 0
}

# recorded ID VARIABLE=VALUE...: whether a program with these variables, and all that the outer job left, is recorded in it
recorded() {
  local id=$1
  shift
  env "$@" "$PROGRAMS/actor" return 7 || true
  plimsoll records --jsonl "$PLIMSOLL_PREFIX/$id" 2>/dev/null | jq -c 'select(.exename == "actor" and .source == "preload")' | wc -l
  find "$PLIMSOLL_PREFIX/$id" -name '*.rec' -exec truncate -s 0 {} +
}

@test "a batch job that only inherits the environment is not recorded into the outer one" {
  outer
  equal 'the job itself' "$(recorded 100 A=b)" 1
  equal 'a step' "$(recorded 100 SLURM_STEP_ID=1 SLURM_PROCID=3)" 1
  equal 'an inner job' "$(recorded 100 SLURM_JOB_ID=101)" 0
  equal 'by its older name' "$(recorded 100 -u SLURM_JOB_ID SLURM_JOBID=101)" 0
  equal 'the same id on another cluster' "$(recorded 100 SLURM_CLUSTER_NAME=there)" 0
  equal 'one whose id begins alike' "$(recorded 100 SLURM_JOB_ID=1001)" 0
  equal 'a shell without the variables' "$(recorded 100 -u SLURM_JOB_ID -u SLURM_CLUSTER_NAME)" 1
  equal "papiex's variables" "$(recorded 100 SLURM_JOB_ID=101 PAPIEX_OUTPUT="$WORK/" PAPIEX_OPTIONS=)" 0
  equal 'nor elsewhere' "$(find . -maxdepth 1 -name '*.rec')" ''
  plimsoll_uninstrument
  # a name that the user gave is still the outer job's
  PLIMSOLL_JOB=mine plimsoll start -q
  eval "$(PLIMSOLL_JOB=mine plimsoll source sh)"
  equal named "$(recorded mine A=b)" 1
  equal 'named, in an inner job' "$(recorded mine SLURM_JOB_ID=101)" 0
  plimsoll_uninstrument
}

@test "parts of a heterogeneous job are recorded, what is submitted inside of one is not" {
  export SLURM_HET_JOB_ID=200 SLURM_HET_SIZE=2 SLURM_JOB_ID_HET_GROUP_0=200 SLURM_JOB_ID_HET_GROUP_1=201 SLURM_JOB_ID=200
  plimsoll start -q
  eval "$(plimsoll source sh)"
  equal 'first part' "$(recorded 200 A=b)" 1
  equal 'second part' "$(recorded 200 SLURM_JOB_ID=201)" 1
  equal 'an inner job' "$(recorded 200 SLURM_JOB_ID=300)" 0
  equal 'an inner heterogeneous job' "$(recorded 200 SLURM_JOB_ID=301 SLURM_HET_JOB_ID=300 SLURM_JOB_ID_HET_GROUP_0=300 SLURM_JOB_ID_HET_GROUP_1=301)" 0
  plimsoll_uninstrument
}

@test "inner jobs of other batch systems, and jobs from a shell that is in none" {
  local id
  for id in 'PBS_JOBID=13.server PBS_JOBID=14.server' 'OAR_JOB_ID=5 OAR_JOB_ID=6' 'LSB_JOBID=20 LSB_JOBID=21' 'JOB_ID=17 JOB_ID=18'; do
    export "${id% *}"
    job=$(plimsoll start)
    eval "$(plimsoll source sh)"
    equal "$id: itself" "$(recorded "$job" A=b)" 1
    equal "$id: inner" "$(recorded "$job" "${id#* }")" 0
    plimsoll_uninstrument
    unset "${id%%=*}"
  done
  export LSB_JOBID=20 LSB_JOBINDEX=3
  job=$(plimsoll start)
  eval "$(plimsoll source sh)"
  equal 'an element of an array' "$(recorded "$job" A=b)" 1
  plimsoll_uninstrument
  unset LSB_JOBID LSB_JOBINDEX
  job=$(plimsoll start)
  eval "$(plimsoll source sh)"
  equal none "$(recorded "$job" A=b)" 1
  equal 'srun on a login node' "$(recorded "$job" SLURM_JOB_ID=55 SLURM_STEP_ID=0)" 1
  equal 'sbatch on a login node' "$(recorded "$job" SLURM_JOB_ID=55 ENVIRONMENT=BATCH)" 0
  equal 'qsub on a login node' "$(recorded "$job" PBS_JOBID=13.server PBS_ENVIRONMENT=PBS_BATCH)" 0
}

@test "from a shell without a batch system into one, and back" {
  id=$(plimsoll start)
  eval "$(plimsoll source sh)"
  equal inner "$(SLURM_JOB_ID=55 plimsoll start)" 55
  SLURM_JOB_ID=55 plimsoll stop
  equal outer "$(jq 'has("stop")' "$PLIMSOLL_PREFIX/$id/job.json")" false
  plimsoll stop
  equal outer "$(jq 'has("stop")' "$PLIMSOLL_PREFIX/$id/job.json")" true
  # the variables are still there: the next start is another job, not that one again
  sleep 1
  next=$(plimsoll start)
  [ "$next" != "$id" ] || fail "$next"
  plimsoll run -q true
  equal runs "$(find "$PLIMSOLL_PREFIX/$next" -name '*.rec' | wc -l)" 1
}

@test "a job that the user names himself stays named" {
  outer
  equal named "$(PLIMSOLL_JOB=mine plimsoll start)" mine
  equal flag "$(SLURM_JOB_ID=101 plimsoll start -j other)" other
  [ -d "$PLIMSOLL_PREFIX/mine" ] && [ -d "$PLIMSOLL_PREFIX/other" ] && [ ! -d "$PLIMSOLL_PREFIX/101" ]
}

@test "the same id on another cluster is another job" {
  export SLURM_JOB_ID=100 SLURM_CLUSTER_NAME=here
  plimsoll start -q
  equal other "$(SLURM_CLUSTER_NAME=there plimsoll start)" 100@there
  SLURM_CLUSTER_NAME=there plimsoll stop
  equal here "$(jq 'has("stop")' "$PLIMSOLL_PREFIX/100/job.json")" false
  eval "$(plimsoll source sh)"
  SLURM_CLUSTER_NAME=there plimsoll annotate where=there
  equal there "$(jq -r .annotations.where "$PLIMSOLL_PREFIX/100@there/job.json")" there
  unset SLURM_CLUSTER_NAME
  plimsoll annotate where=here
  equal here "$(jq -r .annotations.where "$PLIMSOLL_PREFIX/100/job.json")" here
}

@test "one batch system inside another: the nearest one's id; arrays and heterogeneous jobs" {
  for daemon in pbs_mom slurmstepd sge_shepherd; do cp "$(command -v dash || command -v bash)" $daemon; done
  export SLURM_JOB_ID=100 PBS_JOBID=13.server JOB_ID=17
  equal pbs "$(./pbs_mom -c 'plimsoll start; :')" 13.server
  equal slurm "$(./slurmstepd -c 'plimsoll start; :')" 100
  equal nested "$(./slurmstepd -c './pbs_mom -c "plimsoll start -e; :"; :' 2>/dev/null)" ""
  equal sge "$(./pbs_mom -c './sge_shepherd -c "plimsoll start; :"; :')" 17
  equal pbs "$(jq -r .scheduler.name "$PLIMSOLL_PREFIX/13.server/job.json")" pbs
  unset SLURM_JOB_ID PBS_JOBID JOB_ID
  equal "sge array" "$(JOB_ID=18 SGE_TASK_ID=4 plimsoll start)" 18.4
  equal "sge single" "$(JOB_ID=19 SGE_TASK_ID=undefined plimsoll start)" 19
  equal "lsf array" "$(LSB_JOBID=20 LSB_JOBINDEX=3 plimsoll start)" '20[3]'
  equal "lsf single" "$(LSB_JOBID=21 LSB_JOBINDEX=0 plimsoll start)" 21
  export SLURM_HET_JOB_ID=200 SLURM_HET_SIZE=2 SLURM_JOB_ID_HET_GROUP_0=200 SLURM_JOB_ID_HET_GROUP_1=201
  equal "second part" "$(SLURM_JOB_ID=201 plimsoll start)" 200
  equal "a job begun inside" "$(SLURM_JOB_ID=300 plimsoll start)" 300
}

@test "uninstrument takes back everything and leaves the user's preload, whatever it is by then" {
  for shell in sh bash zsh dash tcsh fish; do
    command -v "$shell" >/dev/null || continue
    rm -rf "$PLIMSOLL_PREFIX" before after
    case $shell in
    tcsh) printf 'env | sort >before\neval `plimsoll source tcsh`\nsetenv LD_PRELOAD "/x/new.so $LD_PRELOAD"\nplimsoll_uninstrument\nenv | sort >after\n' >script ;;
    fish) printf 'env | sort >before\nplimsoll source fish | source\nset -gx LD_PRELOAD "/x/new.so $LD_PRELOAD"\nplimsoll_uninstrument\nenv | sort >after\n' >script ;;
    *) printf 'env | sort >before\neval "$(plimsoll source sh)"\nLD_PRELOAD="/x/new.so $LD_PRELOAD"\nplimsoll_uninstrument\nenv | sort >after\n' >script ;;
    esac
    LD_PRELOAD=/x/user.so PLIMSOLL_TAGS=mine:1 PAPIEX_OPTIONS=x "$shell" script 2>err || fail "$shell: $(cat err)"
    equal "$shell" "$(diff <(grep -v -e '^LD_PRELOAD' -e ^_ before) <(grep -v -e '^LD_PRELOAD' -e ^_ after))" ""
    equal "$shell: before" "$(grep ^LD_PRELOAD before)" LD_PRELOAD=/x/user.so
    equal "$shell: preload" "$(grep ^LD_PRELOAD after)" LD_PRELOAD=/x/new.so:/x/user.so
  done
  eval "$(plimsoll source sh)"
  plimsoll_uninstrument
  [ -z "${LD_PRELOAD+set}" ] || fail "LD_PRELOAD is '$LD_PRELOAD'"
  equal left "$(env | grep PLIMSOLL_ | grep -v -e PREFIX -e TEST_DATA)" ""
}

@test "a job that source began in a shell that has ended is not the session's any more" {
  export PLIMSOLL_DB=$PWD/store.db
  setsid -w bash -c "bash -c 'eval \"\$(plimsoll source)\"; $PROGRAMS/actor return 0'; plimsoll run -q -- $PROGRAMS/actor return 0; plimsoll run -q -- $PROGRAMS/actor return 0"
  equal stored "$(plimsoll list --json | jq length)" 2
  equal "of the job that ended with its shell" "$(plimsoll records --jsonl "$(ls -d "$PLIMSOLL_PREFIX"/*/ | head -n 1)" | wc -l)" 1
  # while it is there, also in copies of itself, its runs are the job's
  setsid -w bash -c "eval \"\$(true; plimsoll source)\"; (plimsoll run -q -- $PROGRAMS/actor return 0); plimsoll stop >/dev/null"
  equal "still stored" "$(plimsoll list --json | jq length)" 2
}

@test "source in a fresh shell begins a job of its own and records" {
  for shell in sh bash; do
    rm -rf "$PLIMSOLL_PREFIX"
    setsid -w "$shell" -c "eval \"\$(plimsoll source $shell)\"; $PROGRAMS/actor return 3; plimsoll_uninstrument; plimsoll stop; $PROGRAMS/actor return 4; :"
    dir=$(dirname "$PLIMSOLL_PREFIX"/*/job.json)
    equal stopped "$(jq 'has("stop")' "$dir/job.json")" true
    plimsoll records --jsonl "$dir" >rows.jsonl
    equal "$shell" "$(jq -r .exitcode rows.jsonl | xargs)" 3
  done
  # in a batch job that nobody started, too
  SLURM_JOB_ID=9 sh -c "eval \"\$(plimsoll source sh)\"; $PROGRAMS/actor return 5; plimsoll stop; :"
  equal exitcode "$(jq 'has("stop")' "$PLIMSOLL_PREFIX/9/job.json")" true
  equal recorded "$(plimsoll records --jsonl "$PLIMSOLL_PREFIX/9" | jq -r .exitcode)" 5
}

# on_terminal COMMAND: what it prints on a terminal
on_terminal() {
  script -qec "$*" /dev/null </dev/null | tr -d '\r'
}

@test "source on a terminal says what it is for, which job it began, and what ends and stores it" {
  on_terminal plimsoll source bash >shown
  id=$(basename "$(dirname "$PLIMSOLL_PREFIX"/*/job.json)")
  grep -q "warning: this output is for a shell to evaluate: eval \"\$(plimsoll source sh)\"" shown || fail "$(cat shown)"
  grep -q "job $id was begun in '$PLIMSOLL_PREFIX/$id'.*plimsoll stop" shown || fail "$(cat shown)"
  for shell in csh fish; do
    on_terminal plimsoll source $shell >shown
    grep -q "warning: this output is for a shell to evaluate: .*plimsoll source $shell" shown || fail "$(cat shown)"
  done
  # evaluated, it says how it goes on; to a file, to a pipe that nobody sees and with -q nothing
  on_terminal bash -c "'eval \"\$(plimsoll source)\"; true'" >shown
  equal lines "$(wc -l <shown)" 1
  grep -q 'job .*: everything that this shell starts is recorded; .*plimsoll_uninstrument; plimsoll stop; plimsoll submit' shown || fail "$(cat shown)"
  equal quiet "$(on_terminal plimsoll source -q sh | grep -c -e warning -e '^plimsoll: ')" 0
  bash -c 'eval "$(plimsoll source)"' 2>err
  [ ! -s err ] || fail "$(cat err)"
}

@test "a run that joins a job: its tags are the job's, and another name is told" {
  export PLIMSOLL_DB=$PWD/store.db
  named="ignoring the name 'foo': this run is part of job .*, which is named 'outer'"
  plimsoll start -q --name outer --tags 'a:1;b:1'
  plimsoll run -q --job-tags 'b:2;c:3' true
  plimsoll run --name foo true 2>err
  equal warned "$(grep -c "$named" err)" 1
  grep -q '  store     not yet: .*plimsoll stop; plimsoll submit' err || fail "$(cat err)"
  plimsoll run --name outer true 2>err
  equal same "$(grep -c 'is not kept' err)" 0
  plimsoll stop
  plimsoll submit -q
  equal tags "$(plimsoll show --json outer | jq -Sc .tags)" '{"a":"1","b":"2","c":"3"}'

  # in a shell that is recorded
  eval "$(plimsoll source)"
  plimsoll run --name foo --job-tags x:y true 2>err
  plimsoll_uninstrument
  grep -q "ignoring the name 'foo'" err || fail "$(cat err)"
  plimsoll stop
  plimsoll submit -q
  equal tags "$(plimsoll show --json last | jq -Sc .tags)" '{"x":"y"}'

  # in a batch job, which its first run begins; one rank speaks for all
  export SLURM_JOB_ID=5 SLURM_JOB_NAME=batch
  plimsoll run -q --job-tags a:1 true
  SLURM_PROCID=0 plimsoll run --name foo --job-tags 'b:2' true 2>err
  equal warned "$(grep -c "ignoring the name 'foo': this run is part of job 5, which is named 'batch'" err)" 1
  SLURM_PROCID=1 plimsoll run --name foo true 2>err
  equal 'other ranks' "$(grep -c 'is not kept' err)" 0
  plimsoll monitor --name foo --no-submit -i 100ms -d "$PLIMSOLL_PREFIX/5" -- sleep 0.2 2>err
  equal monitor "$(grep -c "ignoring the name 'foo'" err)" 1
  plimsoll submit -q "$PLIMSOLL_PREFIX/5"
  equal tags "$(plimsoll show --json 5 | jq -Sc .tags)" '{"a":"1","b":"2"}'
  equal name "$(plimsoll show --json 5 | jq -r .jobname)" batch
  unset SLURM_JOB_ID SLURM_JOB_NAME

  # a run inside a run, and one that names the directory
  plimsoll run -q --name outer -o one -- plimsoll run -q --job-tags i:n true
  plimsoll run --name foo -o one true 2>err
  grep -q "$named" err || fail "$(cat err)"
  equal inner "$(jq -Sc .tags one/job.json)" '{"i":"n"}'
}

@test "tags that are set while a job runs stay when it ends, whoever sets them" {
  PLIMSOLL_JOB_TAGS=a:1 plimsoll start -q -j 9
  plimsoll run -q -j 9 --job-tags b:2 true
  PLIMSOLL_JOB_TAGS='a:3;c:3' plimsoll stop -j 9
  equal tags "$(jq -Sc .tags "$PLIMSOLL_PREFIX/9/job.json")" '{"a":"3","b":"2","c":"3"}'
}

@test "ranks of mpirun without a batch system: one of them says that each is a job, and how they become one" {
  export PLIMSOLL_DB=$PWD/store.db
  line='  ranks     each of the 2 ranks is a separate job; to make them one job: plimsoll run -- mpirun -n 2 COMMAND, or run -j NAME in each'
  for names in 'OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE' 'PMI_RANK PMI_SIZE'; do
    read -r rank size <<<"$names"
    env "$rank=0" "$size=2" plimsoll run true 2>err
    equal "$rank: last" "$(tail -1 err)" "$line"
    env "$rank=1" "$size=2" plimsoll run true 2>err
    equal "$rank: second" "$(grep -c 'each of the' err)" 0
    env "$rank=0" "$size=1" plimsoll run true 2>err
    equal "$rank: alone" "$(grep -c 'each of the' err)" 0
    env "$rank=0" "$size=2" SLURM_JOB_ID=8 plimsoll run true 2>err
    equal "$rank: batch job" "$(grep -c 'each of the' err)" 0
    env "$rank=0" "$size=2" plimsoll run -q true 2>err
    [ ! -s err ] || fail "$(cat err)"
  done
  command -v mpirun >/dev/null || return 0
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 HOME="$WORK" TMPDIR="$WORK"
  plimsoll run -q --name whole -- mpirun --oversubscribe -n 2 "$PROGRAMS/actor" return 0 2>errors || skip 'mpirun does not run here'
  equal ranks "$(plimsoll procs --json whole | jq -c '[.[] | select(.exename == "actor").mpirank] | sort')" '[0,1]'
  mpirun --oversubscribe -n 2 plimsoll run -q -j both "$PROGRAMS/actor" return 0
  plimsoll submit -q "$PLIMSOLL_PREFIX/both"
  equal ranks "$(plimsoll procs --json both | jq -c '[.[] | select(.exename == "actor").mpirank] | sort')" '[0,1]'
}

@test "stop in a shell that still records says so, and what ends that" {
  line="warning: this shell still records into job [^ ]*, which is stopped; run plimsoll_uninstrument to end that"
  for shell in bash tcsh fish; do
    command -v "$shell" >/dev/null || continue
    case $shell in
    tcsh) begin='eval `plimsoll source -q tcsh`' ;;
    fish) begin='plimsoll source -q fish | source' ;;
    *) begin='eval "$(plimsoll source -q sh)"' ;;
    esac
    rm -rf "$PLIMSOLL_PREFIX"
    printf '%s\n%s return 0\nplimsoll stop\n' "$begin" "$PROGRAMS/actor" >script
    setsid -w "$shell" script 2>err
    equal "$shell: warned" "$(grep -c "$line" err)" 1
    rm -rf "$PLIMSOLL_PREFIX"
    printf '%s\n%s return 0\nplimsoll_uninstrument\nplimsoll stop\n' "$begin" "$PROGRAMS/actor" >script
    setsid -w "$shell" script 2>err
    [ ! -s err ] || fail "$shell: $(cat err)"
  done
  # another job's end is nothing to this shell
  plimsoll start -q -j other
  setsid -w bash -c 'eval "$(plimsoll source -q sh)"; plimsoll stop -j other' 2>err
  [ ! -s err ] || fail "$(cat err)"
  # a run has no function to call
  plimsoll start -q -j 5
  plimsoll run -q -j 5 plimsoll stop 2>err
  [ ! -s err ] || fail "$(cat err)"
  # EPMT's
  ! without epmt || return 0
  export EPMT_SETTINGS=$WORK/settings.py
  printf "epmt_output_prefix = '%s/out/'\n" "$WORK" >settings.py
  SLURM_JOB_ID=6 bash -c 'epmt start; eval "$(epmt source)"; epmt stop' 2>err
  equal epmt "$(grep -c 'this shell still records into job 6, which is stopped; run epmt_uninstrument to end that' err)" 1
}

@test "the functions of source in a strict shell, in any order, and after both names of it" {
  for shell in sh bash zsh dash tcsh fish; do
    command -v "$shell" >/dev/null || continue
    case $shell in
    tcsh) begin='eval `plimsoll source -q tcsh`' ;;
    fish) begin='plimsoll source -q fish | source' ;;
    *) begin='set -eu; eval "$(plimsoll source -q sh)"' ;;
    esac
    # put aside and back, then ended; each again, which is nothing
    cat >script <<S
$begin
plimsoll_push_preload
env | grep -c '^LD_PRELOAD=' >pushed ; true
plimsoll_pop_preload
env | grep '^LD_PRELOAD=' >popped ; true
plimsoll_uninstrument
plimsoll_pop_preload
plimsoll_uninstrument
env | grep -e '^LD_PRELOAD=..*' -e _LD_PRELOAD -e ^PLIMSOLL_OUT >left ; true
plimsoll_push_preload
plimsoll_pop_preload
echo end
S
    [[ $shell == tcsh || $shell == fish ]] || sed -i 's/ ; true$/ || true/' script
    rm -rf "$PLIMSOLL_PREFIX"
    equal "$shell" "$(setsid -w "$shell" script 2>err)" end || fail "$(cat err)"
    [ ! -s err ] || fail "$shell: $(cat err)"
    equal "$shell: pushed" "$(cat pushed)" 0
    grep -q libplimsoll.so popped || fail "$shell: $(cat popped)"
    equal "$shell: left" "$(cat left)" ''
  done
  # both names in one shell
  ! without epmt || return 0
  export EPMT_SETTINGS=$WORK/settings.py SLURM_JOB_ID=7
  printf "epmt_output_prefix = '%s/out/'\n" "$WORK" >settings.py
  epmt start
  for ends in epmt_uninstrument plimsoll_uninstrument 'epmt_uninstrument; plimsoll_uninstrument' 'plimsoll_uninstrument; epmt_uninstrument'; do
    for begins in 'plimsoll epmt' 'epmt plimsoll'; do
      bash -uc "for name in $begins; do eval \"\$(\$name source)\"; done; $ends; env" | grep -e LD_PRELOAD -e ^PLIMSOLL_OUTPUT >left || true
      equal "$begins, $ends" "$(cat left)" ''
    done
  done
  # EPMT's twice: nothing of the first is put back
  equal twice "$(bash -uc 'eval "$(epmt source)"; eval "$(epmt source)"; epmt_uninstrument; env | grep ^PAPIEX_ || true')" ''
}
