#!/usr/bin/env bats
# A record file that cannot be opened, written or found any more is the library's problem and nobody else's:
# limits on the size of files, full disks, directories that are read-only, gone or out of reach.

# shellcheck disable=SC2016,SC2034,SC2153 # scripts for other shells; variables of lib.bash
load lib

# limited STATE PENDING: SIGXFSZ in a state, with limits below, within and above what is recorded; the
# program looks at its pending signals, then at what its own writing does.
limited() {
  local bytes own wrong=''
  for bytes in 0 100 1300 100000; do
    for own in '' own; do
      # shellcheck disable=SC2086 # none or one argument
      compare "$PROGRAMS/host-limits" set $bytes "$1" "$2" "$PROGRAMS/host-limits" report $own ||
        wrong+=" '$bytes bytes $own'"
    done
  done
  [ -z "$wrong" ] || fail "SIGXFSZ $1, $2 pending, not as without the library:$wrong"
}

@test "a limit on the size of files, SIGXFSZ as it is by default" {
  limited default none
  # of its own writing beyond the limit the program dies in both runs
  compare "$PROGRAMS/host-limits" set 0 default none "$PROGRAMS/host-limits" report own
  equal status "$status" $((128 + 25))
}

@test "a limit on the size of files, SIGXFSZ ignored" {
  limited ignored none
  equal status "$status" 21
}

@test "a limit on the size of files, SIGXFSZ blocked" {
  limited blocked none
  equal status "$status" 21
}

@test "a limit on the size of files, SIGXFSZ blocked and pending for the thread" {
  limited blocked thread
  grep -q 'taken 1' with/stdout
}

@test "a limit on the size of files, SIGXFSZ blocked and pending for the process" {
  limited blocked process
  grep -q 'taken 1' with/stdout
}

@test "a limit on the size of files, SIGXFSZ caught" {
  compare "$PROGRAMS/host-limits" caught 0
  equal status "$status" 22
  compare "$PROGRAMS/host-limits" caught 20
  equal status "$status" 22
  # the start was recorded before the limit was set
  recorded '.forked | not' source preload
}

@test "what others record is not harmed by a process with a limit" {
  compare bash -c '"$1" return 3; (ulimit -f 1; exec "$1" waits); echo $?; "$1" return 4; exit 5' bash \
    "$PROGRAMS/actor"
  equal status "$status" 5
  recorded '.argv[1:3] == ["return", "3"]' exitcode 3
  recorded '.argv[1:3] == ["return", "4"]' exitcode 4
  recorded '.exename == "bash" and .exitcode == 5' ended exit
}

# ---- disks -----------------------------------------------------------------------------------------------

# with_filesystem OPTIONS [COMMAND]: in a mount namespace of its own, root's or a user's, with a small file
# system on records/, after a command. What was recorded is copied out.
with_filesystem() {
  local user=()
  [ "$(id -u)" = 0 ] || user=(-r)
  unshare "${user[@]}" -m true 2>/dev/null || skip "no mount namespace for this user"
  mkdir -p saved
  ENTER=(unshare "${user[@]}" -m sh -c 'mount -t tmpfs -o "$1" none "$0/records" && eval "$2" && shift 2 &&
    { "$@"; status=$?; cp "$0"/records/* "$0/saved" 2>/dev/null; exit $status; }' "$WORK" "$1" "${2:-true}")
}

# bats test_tags=root
@test "a disk that becomes full" {
  with_filesystem size=4k
  compare bash -c 'for i in $(seq 30); do "$1" fork $i; echo $?; done; exit 14' bash "$PROGRAMS/actor"
  equal status "$status" 14
  mv saved/*.rec records/
  at_most size "$(stat -c %s records/*.rec)" 4096
  read_rows
  recorded '.exename == "bash"' source preload
  recorded '.argv[1:3] == ["fork", "1"] and .forked' exitcode 1
}

# bats test_tags=root
@test "a disk that is full from the beginning" {
  with_filesystem size=4k 'dd if=/dev/zero of="$0/records/ballast" bs=4k count=1 2>/dev/null'
  compare "$PROGRAMS/host-threads" fork
  equal status "$status" 71
  compare bash "$HOSTS/script.bash"
  equal status "$status" 23
}

@test "a disk without room for another file" {
  with_filesystem size=4k,nr_inodes=1
  compare "$PROGRAMS/host-threads" fork
  equal status "$status" 71
  equal files "$(ls saved)" ''
}

# bats test_tags=root
@test "a read-only file system" {
  with_filesystem ro
  compare "$PROGRAMS/host-threads" fork
  equal status "$status" 71
  compare bash "$HOSTS/script.bash"
  equal status "$status" 23
}

# ---- directories -------------------------------------------------------------------------------------------

# A run with the records somewhere else than compare() would put them.
compare_into() {
  local into=$1
  shift
  HOST=("$@")
  once plain ''
  once with "$LIBRARY" "$into"
  diff -r -a plain with || fail "'$*' differs with the library recording to $into"
}

@test "a directory without permission to write" {
  [ "$(id -u)" != 0 ] || skip "root may write everywhere"
  mkdir -m 555 closed
  compare_into "$WORK/closed" "$PROGRAMS/host-threads" fork
  equal status "$status" 71
  equal files "$(ls closed)" ''
}

@test "no such directory, a file instead, a name that is too long, a device, a queue" {
  local where long
  long=$(printf '%01100d' 0)
  touch file
  mkdir queue
  mkfifo "queue/$(uname -n).rec"
  for where in "$WORK/none" "$WORK/file" "/$long" /dev/full /proc/self "$WORK/queue" relative \
    "$WORK/none/run.rec" "$WORK/queue/$(uname -n).rec"; do
    compare_into "$where" "$PROGRAMS/host-threads" fork
    equal status "$status" 71
  done
  [ ! -e "$WORK/none" ] || fail "the directory was made"
}

@test "a record file that is a link to a file of the program" {
  mkdir linked
  echo precious >precious
  ln -s "$WORK/precious" "linked/$(uname -n).rec"
  compare_into "$WORK/linked" "$PROGRAMS/actor" fork 7
  equal content "$(cat precious)" precious
}

@test "a directory that vanishes in mid-run" {
  compare sh -c '"$2" fork; rm -rf "$1"; "$2" fork; "$2" threads 3; exit 7' sh "$WORK/records" "$PROGRAMS/actor"
  equal status "$status" 7
  [ ! -e records ] || fail "the directory came back"
}

@test "a job directory that vanishes in mid-run" {
  status=0
  plimsoll run -q -o job -- sh -c '"$1" fork; rm -rf job; "$1" fork; echo output; exit 7' sh "$PROGRAMS/actor" \
    >stdout 2>stderr || status=$?
  equal status "$status" 7
  equal output "$(cat stdout)" output
}

# ---- out of reach ------------------------------------------------------------------------------------------

# In a user namespace where the user may do what only root may.
privileged() {
  [ "$(id -u)" = 0 ] && return
  unshare -r true 2>/dev/null || skip "no user namespace for this user"
  ENTER=(unshare -r)
}

# bats test_tags=root
@test "chroot into an empty directory" {
  privileged
  mkdir cage
  compare sh -c '"$@"; echo "status $?"' sh "$PROGRAMS/host-places" chroot "$WORK/cage"
  equal output "$(cat with/stdout)" 'chroot 0 chdir 0
child 5
status 121'
  equal files "$(ls cage)" ''
  # the end is out of reach; the shell that waited knows it
  recorded '.exename == "host-places"' source preload
  recorded '.exename == "host-places"' exitcode 121
}

# bats test_tags=root
@test "no /proc" {
  local user=()
  [ "$(id -u)" = 0 ] || user=(-r)
  unshare "${user[@]}" -m true 2>/dev/null || skip "no mount namespace for this user"
  compare unshare "${user[@]}" -m sh -c 'mount -t tmpfs none /proc && "$1" fork 7; "$1" threads 3; exit 3' sh \
    "$PROGRAMS/actor"
  equal status "$status" 3
  recorded '.argv[1] == "threads"' exitcode 0
  recorded '.argv[1] == "threads"' numtids 4
}

# bats test_tags=root
@test "a program that gives up its privileges" {
  [ "$(id -u)" = 0 ] || skip "needs root"
  compare sh -c '"$@"; echo "status $?"' sh "$PROGRAMS/host-places" drop 65534
  grep -q 'status 122' with/stdout
  recorded '.exename == "host-places"' source preload
  recorded '.exename == "host-places"' exitcode 122
}

@test "a program that nobody may look into" {
  compare sh -c '"$@"; echo "status $?"' sh "$PROGRAMS/host-places" undumpable
  grep -q 'dumpable 0' with/stdout
  recorded '.exename == "host-places" and (.forked | not)' exitcode 124
  recorded .forked exitcode 5
}

@test "a program that changes its directory" {
  compare "$PROGRAMS/host-places" chdir /
  recorded_end '.forked | not'
  recorded .forked exitcode 5
}

@test "what streams hold at the end is written afterwards, and counted" {
  compare "$PROGRAMS/host-streams" files
  recorded_end true
  recorded true wchar 710
  recorded true syscw 4
  compare "$PROGRAMS/host-streams" wide_flushed
  recorded true wchar 20
  compare "$PROGRAMS/host-streams" copy
  recorded .forked wchar 100
  recorded '.forked | not' wchar 100
}

@test "what streams hold and cannot be written is not counted" {
  compare "$PROGRAMS/host-streams" nowhere
  recorded_end true
  recorded true wchar 10
  recorded true syscw 3 # two of them fail
  compare "$PROGRAMS/host-streams" failed
  recorded_end true
  recorded true wchar null
  recorded true syscw null
}

@test "wide characters that a stream holds are no bytes yet: what will be written is absent" {
  compare "$PROGRAMS/host-streams" wide
  recorded_end true
  recorded true wchar null
  recorded true syscw null
  at_least 'read calls' "$(value true syscr)" 1
}
