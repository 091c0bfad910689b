#!/usr/bin/env bats
# `stage` and everything else that removes what it has copied: a job is in one place or the other, whole, whatever
# happens in between.

bats_require_minimum_version 1.5.0
load lib

# A stopped job NAME with one process that ended with STATUS.
make_job() {
  mkdir -p "$1"
  plimsoll run -q -j "${3:-$1}" -o "$1" --no-submit -- "$PROGRAMS/actor" return "$2" || [ $? = "$2" ]
}

# codes ARCHIVE...: the exit codes of the processes in each
codes() {
  for archive in "$@"; do plimsoll records --jsonl "$archive" | jq -r .exitcode; done | xargs
}

litter() {
  find "$@" -name '.*' ! -name . -print
}

@test "stage: a missing directory is made; two jobs are two archives" {
  make_job a 3
  make_job b 4
  equal first "$(plimsoll stage -d "$PWD/new" a)" "$PWD/new/a.tgz"
  equal second "$(plimsoll stage -d "$PWD/new" b)" "$PWD/new/b.tgz"
  equal names "$(find new -type f -printf '%f\n' | sort | xargs)" "a.tgz b.tgz"
  equal codes "$(codes new/a.tgz new/b.tgz)" "3 4"
  [ ! -e a ] && [ ! -e b ]
  equal mode "$(stat -c %a new/a.tgz)" 600
  make_job c 5
  run -1 plimsoll stage -d no/such/place c
  [[ $output == *"cannot create directory 'no/such/place'"* ]] || fail "$output"
  [ -f c/job.json ]
}

@test "stage: two parts of one job get names of their own, and nothing is written over" {
  mkdir one two dest
  for i in one two three; do
    mkdir -p $i
    make_job $i/77 ${#i} 77
    plimsoll stage -d dest $i/77 >>names
  done
  equal printed "$(xargs <names)" "dest/77.tgz dest/77.1.tgz dest/77.2.tgz"
  equal codes "$(codes dest/77.tgz dest/77.1.tgz dest/77.2.tgz)" "3 3 5"
  # a name that was given is taken as it is, or not at all
  make_job d 6
  run -1 plimsoll stage -d dest/77.tgz d
  [[ $output == *"exists and is not a directory"* ]] || fail "$output"
  [ -f d/job.json ]
  equal named "$(plimsoll stage -d dest/mine.tar.gz d)" dest/mine.tar.gz
  equal codes "$(codes dest/mine.tar.gz dest/77.tgz)" "6 3"
  equal litter "$(litter dest)" ""
}

@test "stage: many at once to one name" {
  for i in 1 2 3 4 5 6 7 8; do mkdir $i; make_job $i/job "$i" 9; done
  for i in 1 2 3 4 5 6 7 8; do plimsoll stage -d dest $i/job >/dev/null & done
  wait
  equal archives "$(ls dest | wc -l)" 8
  equal codes "$(codes dest/*.tgz | tr ' ' '\n' | sort -n | xargs)" "1 2 3 4 5 6 7 8"
}

@test "stage: a destination that is the job's own directory, or in it, is refused" {
  make_job a 3
  for dest in a a/sub "$PWD/a" a/x.tgz a/../a; do
    run -1 plimsoll stage -d "$dest" a
    [[ $output == *"inside the job directory"* ]] || fail "$output"
    [ -f a/job.json ]
  done
}

@test "stage: a destination that cannot be written, a file in its place" {
  make_job a 3
  touch file
  run -1 plimsoll stage -d file a
  [ -f a/job.json ]
  equal file "$(stat -c %s file)" 0
  run -1 plimsoll stage -d file/sub a
  [ -f a/job.json ]
  [ "$(id -u)" != 0 ] || return 0 # root writes anywhere
  mkdir -m 555 closed
  run -1 plimsoll stage -d closed a
  [[ $output == *"Permission denied"* ]] || fail "$output"
  [ -f a/job.json ]
}

# bats test_tags=root
@test "stage: a full disk, a read-only one and another filesystem" {
  [ "$PL_AS" = root ] || skip "mounting needs root"
  for i in $(seq 40); do echo "$PROGRAMS/actor return 0 $(head -c 3000 /dev/urandom | base64 -w0)"; done >script
  plimsoll run -q -j 5 -o job --no-submit -- sh ./script
  plimsoll records --jsonl job >before
  mkdir full readonly other
  # shellcheck disable=SC2016
  unshare -m sh -c 'mount -t tmpfs -o size=16k none full && mount -t tmpfs -o ro none readonly && mount -t tmpfs none other || exit 3
    for dest in full readonly full/sub; do
      plimsoll stage -d $dest job 2>>err && exit 4
      [ -f job/job.json ] || exit 5
    done
    [ -z "$(find full -type f)" ] || exit 6
    PLIMSOLL_STAGE_COMMAND=cp plimsoll stage -d full job 2>>err && exit 7
    [ -f job/job.json ] || exit 8
    plimsoll stage -d other job >where || exit 9
    [ ! -e job ] || exit 10
    plimsoll records --jsonl other/job.tgz >after' || fail "status $?: $(cat err)"
  grep -q 'No space left' err || fail "$(cat err)"
  grep -q 'Read-only file system' err || fail "$(cat err)"
  cmp before after
}

@test "stage: killed at any instant: the job is in its directory, or whole in its archive" {
  for i in $(seq 30); do echo "$PROGRAMS/actor return 0 $(head -c 2000 /dev/urandom | base64 -w0)"; done >script
  plimsoll run -q -j 5 -o whole --no-submit -- sh ./script
  plimsoll records --jsonl whole | wc -l >want
  kept=0 moved=0
  for ms in 0 1 2 3 4 5 6 8 10 12 15 20 25 30 40; do
    rm -rf job dest
    cp -r whole job
    plimsoll stage -d dest job >/dev/null 2>&1 &
    pid=$!
    sleep 0.0"$(printf %02d $ms)"
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    if [ -e dest/job.tgz ]; then
      equal "archive after $ms ms" "$(plimsoll records --jsonl dest/job.tgz | wc -l)" "$(cat want)"
      moved=$((moved + 1))
    else
      equal "directory after $ms ms" "$(plimsoll records --jsonl job | wc -l)" "$(cat want)"
      kept=$((kept + 1))
    fi
  done
  at_least "cut short" $kept 1
  # and what is left can be staged
  rm -rf job dest
  cp -r whole job
  plimsoll stage -d dest job
}

@test "stage: a site's own command gets a free name, and its success is looked at" {
  mkdir dest
  for i in 1 2; do mkdir $i; make_job $i/job "$i" 9; done
  PLIMSOLL_STAGE_COMMAND='cp -p' plimsoll stage -d dest 1/job >names
  PLIMSOLL_STAGE_COMMAND='cp -p' plimsoll stage -d dest 2/job >>names
  equal names "$(xargs <names)" "dest/job.tgz dest/job.1.tgz"
  equal codes "$(codes dest/job.tgz dest/job.1.tgz)" "1 2"
  make_job c 3
  PLIMSOLL_STAGE_COMMAND='cp' plimsoll stage -d made c >/dev/null
  equal made "$(codes made/c.tgz)" 3
  # a command that says yes and does nothing
  printf '#!/bin/sh\nexit 0\n' >./cp
  chmod +x ./cp
  make_job d 4
  PLIMSOLL_STAGE_COMMAND=./cp run -1 plimsoll stage -d dest d
  [[ $output == *"is not the archive"* ]] || fail "$output"
  [ -f d/job.json ]
  # whatever its name is, and one that is not done yet
  PLIMSOLL_STAGE_COMMAND=true run -1 plimsoll stage -d dest d
  [[ $output == *"is not the archive; the job stays in '"* ]] || fail "$output"
  printf '#!/bin/sh\n(sleep 1; cp "$1" "$2") >/dev/null 2>&1 &\n' >later
  chmod +x later
  PLIMSOLL_STAGE_COMMAND=./later run -1 plimsoll stage -d dest d
  [ -f d/job.json ]
  # one that goes elsewhere is believed
  printf '#!/bin/sh\nmv "$1" "sent-$2"\n' >send
  chmod +x send
  PLIMSOLL_STAGE_COMMAND=./send plimsoll stage -d queue d
  equal sent "$(codes sent-queue)" 4
}

@test "stage: whole directories find free names too" {
  for i in 1 2; do mkdir $i; make_job $i/job "$i" 9; plimsoll stage --no-compress-and-tar -d dest $i/job >>names; done
  equal names "$(xargs <names)" "dest/job dest/job.1"
  equal codes "$(codes dest/job dest/job.1)" "1 2"
}

@test "submit: what failed is moved to free names; --drop empties only for what can be read" {
  export PLIMSOLL_DB=$WORK/store.db
  make_job a 3
  plimsoll submit -q a
  run -1 plimsoll submit --drop nothing.tgz
  [[ $output == *"the store is unchanged"* ]] || fail "$output"
  equal jobs "$(plimsoll list --json | jq length)" 1
  echo bad >bad.tgz
  run -1 plimsoll submit --drop a bad.tgz
  equal jobs "$(plimsoll list --json | jq length)" 1
  run -1 plimsoll submit -m bad.tgz
  echo worse >bad.tgz
  run -1 plimsoll submit -m bad.tgz
  equal kept "$(cat failed/bad.tgz failed/bad.1.tgz | xargs)" "bad worse"
  plimsoll submit -q --drop a
  equal jobs "$(plimsoll list --json | jq length)" 1
}
