#!/usr/bin/env bats
# What a program sees of itself and of its children is the same with the library: state at main and at the
# end, results and errno of every function that we stand in for, vfork, SIGCHLD ignored.

# shellcheck disable=SC2016 # scripts for other shells
load lib

# with_groups N COMMAND...: as a member of so many groups with long numbers
with_groups() {
  local n=$1 list
  shift
  list=$(seq -s, 1000000001 $((1000000000 + n)))
  setpriv --groups "$list" "$@"
}

@test "a user in hundreds of groups: rssmax, and a filter that was there before" {
  [ "$(id -u)" = 0 ] || skip "only root joins groups"
  local n
  for n in 1 80 120 900; do
    rm -rf job
    with_groups $n "$PROGRAMS/host-filters" open "$PL_BUILD/bin/plimsoll" run -q -o job -- sh -c "$PROGRAMS/actor return 3; exit 4" || equal status $? 4
    plimsoll records --jsonl job >rows.jsonl 2>rows.err || true
    recorded '.exename == "actor"' exitcode 3 || fail "in $n groups"
    recorded '.exename == "sh"' exitcode 4
    at_least "rssmax in $n groups" "$(value '.exename == "actor"' rssmax)" 500
    at_least "rssmax in $n groups" "$(value '.exename == "sh"' rssmax)" 500
  done
}

@test "descriptors, signals, limits and everything else at main and at the end" {
  compare "$PROGRAMS/host-state" 17
  equal status "$status" 17
  at_least lines "$(wc -l <with/stdout)" 200
  recorded_end true
}

@test "the same with signals blocked, ignored and pending, limits and a mask" {
  compare perl -e '
    use POSIX;
    $SIG{HUP} = $SIG{CHLD} = $SIG{PIPE} = "IGNORE";
    sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR1, SIGTERM, SIGXFSZ, SIGALRM));
    kill "USR1", $$;
    umask 027;
    alarm 1000;
    setpriority 0, 0, 5;
    open STDERR, ">", "/dev/full";
    exec @ARGV;
  ' "$PROGRAMS/host-state" 18
  equal status "$status" 18
  grep -q 'main ShdPnd:.*200' with/stdout
  grep -q 'main SigIgn:.*11001' with/stdout
  recorded_end '.exename == "host-state"'
}

@test "results and errno of every function that we stand in for" {
  compare "$PROGRAMS/host-errnos" calls
  at_least rows "$(wc -l <with/stdout)" 100
  recorded_end '.exename == "host-errnos" and (.forked | not)'
}

@test "bad pointers to the wait functions get EFAULT" {
  compare "$PROGRAMS/host-errnos" bad_pointers
  equal 'rows' "$(grep -c 'errno 14' with/stdout)" 5
  recorded_end '.forked | not'
}

@test "all wait functions in turn" {
  compare "$PROGRAMS/actor" waits
  recorded_end '.forked | not'
  equal children "$(rows '.forked and .ended == "exit" and .exitcode >= 10 and .exitcode <= 14')" 5
}

@test "vfork suspends the parent and shares its memory" {
  compare "$PROGRAMS/host-vforks" suspends
  equal output "$(head -1 with/stdout)" 'suspended yes, shared 42'
  recorded_end '.forked | not'
  recorded .forked exitcode 7
}

@test "a vfork child that ends or executes writes nothing of ours into its parent's memory" {
  compare "$PROGRAMS/host-vforks" memory
  equal changed "$(grep -c 'memory changed' with/stdout || true)" 0
  recorded_end '.exename == "host-vforks" and (.forked | not)'
  equal 'executed shells' "$(rows '.exename == "sh" and .ended == "exit"')" 5
  equal 'copies' "$(rows '.forked and .ended == "exit"')" 6
}

@test "children made by the bare system calls" {
  compare "$PROGRAMS/host-vforks" bare
  recorded_end '.forked | not'
  equal copies "$(rows '.forked and .ended == "exit"')" 4
}

@test "posix_spawn and system" {
  compare "$PROGRAMS/host-vforks" spawn
  recorded_end '.exename == "host-vforks"'
  equal shells "$(rows '.exename == "sh" and .exitcode == 5')" 2
  recorded '.exename == "sh" and .exitcode == 3' ended exit
}

@test "SIGCHLD ignored: children that nobody waits for" {
  compare "$PROGRAMS/actor" ignore_children
  recorded_end '.forked | not'
  at_least copies "$(rows '.forked and .ended == "exit"')" 1
}

@test "daemon" {
  compare "$PROGRAMS/host-exits" daemon
  recorded '.forked | not' exitcode 0
}

@test "a chain of programs in one process" {
  compare "$PROGRAMS/actor" chain 4
  equal images "$(rows 'true')" 5
  equal 'replaced' "$(rows '.ended == "exec"')" 4
  recorded '.ended == "exit"' exitcode "$status"
}

@test "every variant of exec" {
  local how
  for how in execl execle execlp execv execve execvp execvpe fexecve execveat bare; do
    compare "$PROGRAMS/actor" exec $how
    [ -s with/stdout ] || fail "$how executed nothing"
    recorded '.exename == "actor"' source preload
    if [ $how != bare ]; then
      recorded '.exename == "actor"' ended exec
      recorded '.exename == "echo"' exitcode 0
    fi
  done
}

@test "a program whose environment is cleared is not instrumented, and known from its reaper" {
  compare "$PROGRAMS/host-arguments" clear "$PROGRAMS/actor" return 6
  grep -q 'child 6' with/stdout
  recorded_end '.exename == "host-arguments"'
  equal 'by itself' "$(rows '.exename == "actor"')" 0
  recorded '.source == "reaped"' exitcode 6
}

@test "a program that writes over its arguments and environment" {
  compare "$PROGRAMS/host-arguments" overwrite 'new title'
  grep -q 'title new title' with/stdout
  recorded_end '.exename == "host-arguments"'
  recorded '.exename == "host-arguments"' 'argv[2]' 'new title'
}

@test "the first process of a namespace that the first of another makes is a copy, not the image" {
  local unshare=(unshare --pid --fork)
  [ "$(id -u)" = 0 ] || unshare=(unshare -U -r --pid --fork)
  "${unshare[@]}" true 2>/dev/null || skip "no user or pid namespaces here"
  mkdir records
  LD_PRELOAD=$LIBRARY PLIMSOLL_OUTPUT=$WORK/records "${unshare[@]}" "$PROGRAMS/host-places" nested
  read_rows
  # number 1 both: the program and its copy, with the status of each
  recorded '.argv[1] == "nested" and (.forked | not)' exitcode 0
  recorded '.argv[1] == "nested" and (.forked | not)' ended exit
  recorded '.forked' exitcode 23
  recorded '.forked' exename host-places
  equal 'first processes' "$(rows '.pid == 1')" 2
}
