#!/usr/bin/env bats
# plimsoll run: every kind of process and thread is recorded with the right end and the right numbers,
# and the books close.

bats_require_minimum_version 1.5.0
load lib

@test "the status of the command is the status of the run" {
  for code in 0 1 3 77 255; do
    record "$PROGRAMS/actor" return "$code"
    equal status "$status" "$code"
    equal exitcode "$(summary exitcode)" "$code"
    equal row "$(value true exitcode)" "$code"
  done
}

@test "a command killed by a signal ends with 128 plus its number" {
  for sig in 9 15 11 6; do
    record "$PROGRAMS/actor" kill "$sig"
    equal status "$status" $((128 + sig))
    equal ended "$(value true ended)" signal
    equal exitsignal "$(value true exitsignal)" "$sig"
    equal exitcode "$(value true 'exitcode // "absent"')" absent
    equal missing "$(summary missing)" 0
  done
}

@test "the core flag is recorded" {
  ulimit -c unlimited 2>/dev/null || skip "core files are forbidden here"
  [ "$(cat /proc/sys/kernel/core_pattern)" = core ] || skip "core_pattern hands core files to a program"
  record "$PROGRAMS/actor" abort
  equal signal "$(value true exitsignal)" 6
  equal coredump "$(value true coredump)" 1
}

@test "a command that is not there is 127, one that cannot be executed 126" {
  run -127 plimsoll run -q -o job -- /no/such/command
  [[ $output == *"cannot run '/no/such/command': No such file or directory"* ]] || fail "$output"
  [[ $output != *" d "* ]] || fail "it took days: $output"
  touch plain
  run plimsoll run -q -o job -- ./plain
  equal status "$status" 126
}

@test "a script without #! runs as a shell would run it" {
  printf 'echo from-script "$1"; exit 4\n' >script
  chmod +x script
  run plimsoll run -q -o job -- ./script "two words"
  equal status "$status" 4
  equal output "$output" "from-script two words"
}

@test "every way to end gives an end record with its status" {
  for mode in return exit _exit _Exit quick_exit syscall_exit; do
    record "$PROGRAMS/actor" "$mode" 21
    equal "$mode status" "$status" 21
    equal "$mode ended" "$(value true ended)" exit
    equal "$mode code" "$(value true exitcode)" 21
    equal "$mode end" "$(summary without_end)" 0
  done
}

@test "a raw exit and a static program are known from whoever reaped them" {
  record "$PROGRAMS/actor" raw_exit 22
  equal status "$status" 22
  equal code "$(value true exitcode)" 22
  equal source "$(value true source)" preload
  equal end "$(summary without_end)" 1
  equal missing "$(summary missing)" 0
  record sh -c "$PROGRAMS/actor-static burn 30 23; exit 5"
  equal processes "$(summary processes)" 2
  equal code "$(value '.exitcode == 23' exitcode)" 23
  equal source "$(value '.exitcode == 23' source)" reaped
  at_least cpu "$(value '.exitcode == 23' 'usertime + .systemtime')" 28000
  at_least itemised "$(summary cpu_itemised)" "$(($(summary cpu_total) * 97 / 100))"
}

@test "a static program that lives a while has its name and arguments" {
  ! in_container || skip "the kernel reports no execs in a container"
  record sh -c "$PROGRAMS/actor-static sleep 400 24"
  equal name "$(value '.exitcode == 24 and .source == "reaped"' exename)" actor-static
  equal args "$(value '.exitcode == 24 and .source == "reaped"' args)" "sleep 400 24"
}

@test "threads of a static program: what is kept for each of them is that of all, or absent" {
  local static=$PROGRAMS/actor-static options known
  for options in "" --no-kernel; do
    RUN_OPTIONS=(${options:+"$options"})
    record "$static" threads 4 60
    equal status "$status" 0
    at_least "time on CPU" "$(value true time_oncpu)" "$(cpu true)000"
    at_most "time on CPU" "$(value true time_oncpu)" "$(($(cpu true) + 3))000"
    # the scheduler forgets a thread when it ends: only the kernel's exit records have all of them
    equal known "$(jq '(.time_waiting == null) == (.timeslices == null)' rows.jsonl)" true
    [ "$(value true timeslices)" = null ] || at_least slices "$(value true timeslices)" 5
    [ "$(value true numtids)" = null ] || equal threads "$(value true numtids)" 5
    [ -z "$options" ] || equal known "$(jq -c '[.time_waiting, .timeslices, .numtids]' rows.jsonl)" '[null,null,null]'
    # nor did it begin before the tick that it was started in, whatever its threads used together
    at_most took "$(value true 'end - .start')" "$(($(summary wall) + 10000))"
    # the account of one that ended is root's to read
    record "$static" thread_writes 8
    equal written "$(value true "wchar // \"$PL_AS\"")" "$([ "$PL_AS" = root ] && echo 32768 || echo user)"
    # that of a process has what its children did, that of its first thread lacks the others
    record "$static" thread_writes 8 "$static" return 0
    equal written "$(jq -c .wchar rows.jsonl | sort -u)" null
    # one thread: all is known
    record "$static" burn 60
    at_least "time on CPU" "$(value true time_oncpu)" "$(cpu true)000"
    at_least slices "$(value true timeslices)" 1
    equal threads "$(value true numtids)" 1
    record "$static" spawn "$static" return 0
    [ "$PL_AS" = user ] || equal written "$(jq -s -c 'map(select(.wchar != null) | .wchar)' rows.jsonl)" '[0]'
  done
}

@test "every variant of exec: the old image has its own end and counters, the new one its own" {
  for how in execl execle execlp execv execve execvp execvpe fexecve execveat; do
    record "$PROGRAMS/actor" exec "$how"
    equal "$how status" "$status" 0
    equal "$how processes" "$(summary processes)" 1
    equal "$how images" "$(summary images)" 2
    equal "$how old" "$(value '.generation == 0' ended)" exec
    equal "$how new" "$(value '.generation == 1' exename)" echo
    equal "$how argv" "$(value '.generation == 1' 'argv | tojson')" '["echo","one","two words"]'
    equal "$how ended" "$(value '.generation == 1' ended)" exit
    equal "$how pid" "$(value '.generation == 0' pid)" "$(value '.generation == 1' pid)"
    equal "$how threads" "$(summary without_end)" 0
  done
}

@test "an exec into an empty environment is an image that nobody could enter" {
  record "$PROGRAMS/actor" exec bare
  equal status "$status" 0
  equal processes "$(summary processes)" 1
  equal images "$(summary images)" 2
  equal old "$(value '.generation == 0' ended)" exec
  equal new "$(value '.generation == 1' ended)" exit
}

@test "failed execs leave no trace" {
  record "$PROGRAMS/actor" exec fails
  equal status "$status" 0
  equal images "$(summary images)" 1
  equal ended "$(value true ended)" exit
}

@test "a chain of execs: each image has its own CPU, and they add up" {
  record "$PROGRAMS/actor" chain 3 3 40
  equal status "$status" 3
  equal images "$(summary images)" 4
  for g in 0 1 2 3; do
    at_least "cpu of $g" "$(cpu ".generation == $g")" 30000
    at_most "cpu of $g" "$(cpu ".generation == $g")" 75000
  done
  total=$(jq -s 'map(.usertime + .systemtime) | add' rows.jsonl)
  at_least sum "$total" "$(($(summary cpu_total) * 98 / 100))"
  at_most sum "$total" "$(($(summary cpu_total) * 102 / 100))"
}

@test "fork, vfork, clone and posix_spawn" {
  record "$PROGRAMS/actor" fork 7
  equal status "$status" 0
  equal processes "$(summary processes)" 2
  equal forks "$(summary forks)" 1
  equal child "$(value '.forked' exitcode)" 7
  equal name "$(value '.forked' exename)" actor
  equal parent "$(value '.forked' ppid)" "$(value '.forked | not' pid)"
  record "$PROGRAMS/actor" vfork
  equal "vfork status" "$status" 0
  equal child "$(value '.forked' exitcode)" 5
  record "$PROGRAMS/actor" clone
  equal "clone status" "$status" 0
  equal child "$(value '.forked' exitcode)" 6
  for mode in spawn vfork_exec; do
    record "$PROGRAMS/actor" "$mode" "$PROGRAMS/actor" exit 8
    equal "$mode status" "$status" 8
    equal "$mode processes" "$(summary processes)" 2
    equal "$mode images" "$(summary images)" 2
    equal "$mode child" "$(value '.args == "exit 8"' ended)" exit
  done
}

@test "what a child wrote is not its parent's, however early it was waited for" {
  # some of these children had no page fault and no context switch when their parents took them
  record bash -c "for ((i = 0; i < 200; i++)); do $PROGRAMS/actor vfork_spin || exit 1; done"
  equal status "$status" 0
  equal children "$(rows '.forked and .exitcode == 5')" 200
  equal "parents that wrote nothing" "$(rows '.args == "vfork_spin" and (.forked | not) and .wchar == 0 and .syscw == 0')" 200
}

@test "a forked copy that is killed is known from its parent" {
  record "$PROGRAMS/actor" fork_kill
  equal status "$status" 0
  equal processes "$(summary processes)" 2
  equal signal "$(value '.exitsignal == 9' source)" reaped
  equal missing "$(summary missing)" 0
}

@test "daemons: setsid with two forks, and daemon()" {
  record "$PROGRAMS/actor" setsid 30
  equal status "$status" 0
  equal processes "$(summary processes)" 3
  equal orphan "$(value '.exitcode == 9' ended)" exit
  equal missing "$(summary missing)" 0
  record "$PROGRAMS/actor" daemon 30
  equal status "$status" 0
  equal processes "$(summary processes)" 2
  equal parent "$(value '.forked | not' exitcode)" 0
  equal child "$(value '.forked' exitcode)" 9
}

@test "every call of the wait family is seen once, a look without taking is not" {
  record "$PROGRAMS/actor" waits
  equal status "$status" 0
  equal processes "$(summary processes)" 6
  for code in 10 11 12 13 14; do
    equal "child $code" "$(rows ".exitcode == $code")" 1
  done
  equal missing "$(summary missing)" 0
}

@test "children of system() and popen()" {
  record "$PROGRAMS/actor" system "$PROGRAMS/actor-static return 31; exit 32"
  equal status "$status" 32
  equal shell "$(value '.exitcode == 32 and .exename == "sh"' ended)" exit
  equal static "$(value '.exitcode == 31' source)" reaped
  record "$PROGRAMS/actor" popen "$PROGRAMS/actor return 33"
  equal status "$status" 33
  equal missing "$(summary missing)" 0
}

@test "the total is of the command: neither the sampler nor what ran before is in it" {
  RUN_OPTIONS=(--sample 100ms)
  for _ in 1 2 3; do
    record "$PROGRAMS/actor" burn 2
    at_most "not itemised" "$(($(summary cpu_total) - $(summary cpu_itemised)))" 3 # times are rounded
  done
  rm -rf job
  sh -c '"$1" burn 80; exec plimsoll run -q -o job --json=summary.json -- "$1" burn 2' sh "$PROGRAMS/actor"
  at_most "not itemised" "$(($(summary cpu_total) - $(summary cpu_itemised)))" 3
}

@test "children that nobody waits for are itemised and the books say so" {
  record "$PROGRAMS/actor" ignore_children 60
  equal status "$status" 0
  equal processes "$(summary processes)" 2
  at_least child "$(cpu '.forked')" 50000
  at_least total "$(summary cpu_total)" 50000
  at_most itemised "$(summary cpu_itemised)" "$(($(summary cpu_total) * 105 / 100))"
  [[ $(summary 'warnings | tojson') == *"SIGCHLD ignored"* ]] || fail "$(summary 'warnings | tojson')"
}

@test "threads: pthread, C11, cancelled, exited, alive at the end" {
  record "$PROGRAMS/actor" threads 5 20
  equal threads "$(summary threads)" 6
  equal numtids "$(value true numtids)" 6
  equal rows "$(value true 'thread_rows | length')" 6
  equal burners "$(value true 'thread_rows | map(select(.tid != .pid and .usertime + .systemtime >= 15000)) | length')" 5
  record "$PROGRAMS/actor" c11_threads 3
  equal numtids "$(value true numtids)" 4
  record "$PROGRAMS/actor" thread_ends
  equal status "$status" 0
  equal numtids "$(value true numtids)" 3
  record "$PROGRAMS/actor" live_threads 3
  equal numtids "$(value true numtids)" 4
  equal alive "$(value true num_threads)" 4
  equal rows "$(value true 'thread_rows | length')" 4
  record "$PROGRAMS/actor" leader_leaves
  equal status "$status" 0
  equal ended "$(value true ended)" exit
  equal numtids "$(value true numtids)" 2
}

@test "twenty thousand threads in one process, not one missing" {
  record "$PROGRAMS/actor" threads 20000 0 64
  equal status "$status" 0
  equal threads "$(summary threads)" 20001
  equal numtids "$(value true numtids)" 20001
  equal rows "$(value true 'thread_rows | length')" 20001
  equal tids "$(value true 'thread_rows | map(.start) | map(select(. == null)) | length')" 0
  equal detailed "$(value true 'thread_rows | map(select(.timeslices)) | length')" 64
  equal counted "$(value true threads_basic)" 19937
}

@test "detail of threads: full, basic, off" {
  RUN_OPTIONS=(--threads full)
  record "$PROGRAMS/actor" threads 100
  equal full "$(value true 'thread_rows | map(select(.rchar != null and .timeslices != null and .processor != null)) | length')" 101
  RUN_OPTIONS=(--threads basic)
  record "$PROGRAMS/actor" threads 100
  equal basic "$(value true 'thread_rows | map(select(.rchar == null and .usertime != null and .time_oncpu != null)) | length')" 101
  RUN_OPTIONS=(--threads off)
  record "$PROGRAMS/actor" threads 100
  equal off "$(value true 'thread_rows | length')" 0
  equal numtids "$(value true numtids)" 101
}

@test "I/O is the program's own, to the byte and the call" {
  record "$PROGRAMS/actor" return 0
  r0=$(value true rchar) c0=$(value true syscr)
  equal writes "$(value true wchar) $(value true syscw)" "0 0"
  record "$PROGRAMS/actor" io file 25 4000
  equal wchar "$(value true wchar)" 100000
  equal syscw "$(value true syscw)" 25
  equal rchar "$(value true rchar)" $((r0 + 100000))
  equal syscr "$(value true syscr)" $((c0 + 25))
}

@test "what the loader and libc read without us is what we record" {
  # the same program tells its own account when it runs without the library
  cat >own-io.c <<'C'
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char buf[512];
	if (argc > 1)
		write(1, buf, read(open("/proc/self/io", O_RDONLY), buf, sizeof(buf)));
	_exit(0);
}
C
  gcc -w -o own-io own-io.c
  ./own-io show >io.txt
  record ./own-io
  equal rchar "$(value true rchar)" "$(sed -n 's/rchar: //p' io.txt)"
  equal syscr "$(value true syscr)" "$(sed -n 's/syscr: //p' io.txt)"
}

@test "output that libc flushes after us is counted" {
  record "$PROGRAMS/actor" printf 1000
  equal wchar "$(value true wchar)" 1000
  equal syscw "$(value true syscw)" 1
}

@test "the I/O of a parent does not include its children's" {
  record sh -c "$PROGRAMS/actor io file 10 50000; true"
  equal child "$(value '.exename == "actor"' wchar)" 500000
  equal parent "$(value '.exename == "sh"' wchar)" 0
}

@test "the largest resident set is the image's own, not its parent's" {
  cat >big.py <<'P'
import os, subprocess, sys
block = bytearray(64 << 20)
for i in range(0, len(block), 4096):
    block[i] = 1
sys.exit(subprocess.call([sys.argv[1], "return", "0"]) or os.spawnv(os.P_WAIT, sys.argv[1], [sys.argv[1], "touch_memory", "8"]))
P
  record /usr/bin/python3 big.py "$PROGRAMS/actor"
  equal status "$status" 0
  at_least python "$(value '.exename == "python3"' rssmax)" 65536
  at_most small "$(value '.args == "return 0"' rssmax)" 6000
  at_least eight "$(value '.args == "touch_memory 8"' rssmax)" 8192
  at_most eight "$(value '.args == "touch_memory 8"' rssmax)" 14000
}

@test "the whole dictionary is there for a program that ends by itself" {
  record "$PROGRAMS/actor" threads 2 5
  for key in hostname exename path args exitcode exitsignal pid generation ppid pgid sid numtids start end \
    usertime systemtime rssmax minflt majflt inblock outblock vol_ctxsw invol_ctxsw cminflt cmajflt cutime \
    cstime num_threads starttime processor guest_time rchar wchar syscr syscw read_bytes write_bytes \
    cancelled_write_bytes time_oncpu time_waiting timeslices; do
    [ "$(value true "$key")" != null ] || fail "$key is absent"
  done
  equal hostname "$(value true hostname)" "$(hostname)"
  equal path "$(value true path)" "$(readlink -f "$PROGRAMS/actor")"
  equal pgid "$(value true pgid)" "$(ps -o pgid= -p $$ | tr -d ' ')"
  equal sid "$(value true sid)" "$(ps -o sid= -p $$ | tr -d ' ')"
  now=$(date +%s%6N)
  at_least start "$(value true start)" $((now - 60000000))
  at_most end "$(value true end)" "$now"
  at_most processor "$(value true processor)" "$(($(nproc --all) - 1))"
  # a delay is absent, not 0, while the kernel does not account delays
  if [ "$(cat /proc/sys/kernel/task_delayacct)" = 0 ]; then
    equal delay "$(value true 'delayacct_blkio_time // "absent"')" absent
  fi
}

@test "CPU time agrees with the thread clock and with rusage" {
  record "$PROGRAMS/actor" threads 4 50
  at_least oncpu "$(value true time_oncpu)" 195000000
  used=$(cpu true)
  at_least cpu "$used" "$(($(value true time_oncpu) / 1000 * 98 / 100))"
  at_most cpu "$used" "$(($(value true time_oncpu) / 1000 + 30000))"
  sum=$(value true 'thread_rows | map(.time_oncpu) | add')
  at_most threads "$sum" "$(($(value true time_oncpu) + 1000000))"
}

@test "tags of the process, from a flag and from papiex's variable" {
  RUN_OPTIONS=(--tags 'op:dmput;step:2')
  record "$PROGRAMS/actor" return 0
  equal tags "$(value true tags)" 'op:dmput;step:2'
  RUN_OPTIONS=()
  PAPIEX_TAGS='op:cp' record sh -c "PAPIEX_TAGS=op:mv $PROGRAMS/actor return 0; :"
  equal outer "$(value '.exename == "sh"' tags)" op:cp
  equal inner "$(value '.exename == "actor"' tags)" op:mv
}

@test "rank and size of every launcher" {
  OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8 PMIX_RANK=3 SLURM_PROCID=0 SLURM_NTASKS=1 record "$PROGRAMS/actor" return 0
  equal openmpi "$(value true mpirank)/$(value true numranks)" 3/8
  PMI_RANK=5 PMI_SIZE=6 SLURM_PROCID=1 SLURM_NTASKS=2 record "$PROGRAMS/actor" return 0
  equal mpich "$(value true mpirank)/$(value true numranks)" 5/6
  PMIX_RANK=2 SLURM_PROCID=2 SLURM_NTASKS=4 record "$PROGRAMS/actor" return 0
  equal pmix "$(value true mpirank)/$(value true numranks)" 2/4
  SLURM_PROCID=7 SLURM_NTASKS=16 record "$PROGRAMS/actor" return 0
  equal slurm "$(value true mpirank)/$(value true numranks)" 7/16
  PMI_RANK=junk record "$PROGRAMS/actor" return 0
  equal junk "$(value true 'mpirank // "absent"')" absent
}

@test "the mix of 1,500 processes: every end, with the right status" {
  record "$PROGRAMS/mix" "$PROGRAMS/actor" "$PROGRAMS/actor-static" 125
  equal status "$status" 0
  equal processes "$(summary processes)" 1501
  equal threads "$(summary threads)" 2001
  equal images "$(summary images)" 1876
  equal programs "$(summary programs)" 1501
  equal forks "$(summary forks)" 375
  equal missing "$(summary missing)" 0
  equal running "$(summary running)" 0
  equal normal "$(rows '.ended == "exit" and .exitcode == 11')" 125
  equal _exit "$(rows '.ended == "exit" and .exitcode == 12')" 125
  equal killed "$(rows '.ended == "signal" and .exitsignal == 9')" 125
  equal segv "$(rows '.ended == "signal" and .exitsignal == 11')" 125
  equal chain "$(rows '.ended == "exec"')" 375
  equal "chain ends" "$(rows '.ended == "exit" and .exitcode == 3')" 125
  equal static "$(rows '.ended == "exit" and .exitcode == 13 and .source == "reaped"')" 125
  equal threads "$(rows '.numtids == 5')" 125
  equal fork "$(rows '.exitcode == 7 and .forked')" 125
  equal daemon "$(rows '.exitcode == 9 and .forked')" 125
  at_least itemised "$(summary cpu_itemised)" "$(($(summary cpu_total) * 99 / 100))"
  at_most itemised "$(summary cpu_itemised)" "$(($(summary cpu_total) * 101 / 100))"
}

@test "the mix without the kernel's help: all that somebody reaped" {
  RUN_OPTIONS=(--no-kernel)
  record "$PROGRAMS/mix" "$PROGRAMS/actor" "$PROGRAMS/actor-static" 20
  equal processes "$(summary processes)" 241
  equal missing "$(summary missing)" 0
  equal killed "$(rows '.exitsignal == 9')" 20
  equal static "$(rows '.exitcode == 13')" 20
  at_least itemised "$(summary cpu_itemised)" "$(($(summary cpu_total) * 99 / 100))"
}

@test "a static parent of static children: without the kernel the CPU is there, with it the processes too" {
  record "$PROGRAMS/actor-static" spawn "$PROGRAMS/actor-static" spawn "$PROGRAMS/actor-static" burn 40 6
  equal status "$status" 6
  at_least itemised "$(summary cpu_itemised)" "$(($(summary cpu_total) * 97 / 100))"
  case $(jq -r '.sources.cn_proc + .sources.taskstats' summary.json) in
  2) equal processes "$(summary processes)" 3 ;;
  *) [ "$(plimsoll check --json | jq -r '.checks[] | select(.name == "cn_proc") | .result')" != Pass ] || fail "$(cat summary.json)" ;;
  esac
  RUN_OPTIONS=(--no-kernel)
  record "$PROGRAMS/actor-static" spawn "$PROGRAMS/actor-static" burn 40 6
  equal processes "$(summary processes)" 1
  at_least itemised "$(summary cpu_itemised)" "$(($(summary cpu_total) * 97 / 100))"
}

@test "pid namespaces: processes with the same pid are not mixed up" {
  unshare -rpf --mount-proc true 2>/dev/null || skip "no user or pid namespaces here"
  record sh -c "for i in 1 2 3; do unshare -rpf --mount-proc sh -c '$PROGRAMS/actor return \$0; exit 0' \$i & done; wait"
  equal status "$status" 0
  for i in 1 2 3; do
    equal "actor $i" "$(rows ".exename == \"actor\" and .exitcode == $i and .ended == \"exit\"")" 1
  done
}

# accounted LOW HIGH: the processes add up to about the total, the rows to what the summary says, and there is no excess
accounted() {
  local part
  part=$(jq '100 * .cpu_itemised / .cpu_total' summary.json)
  at_least "per cent accounted" "$part" "$1" || fail "$(cat summary.json)" || return 1
  at_most "per cent accounted" "$part" "$2" || fail "$(cat summary.json)" || return 1
  equal "sum of the rows" "$(jq -s 'map(select(.tid == null or .tid == .pid) | .usertime + .systemtime) | add' rows.jsonl)" \
    "$(summary cpu_itemised)"
  equal warnings "$(jq '.warnings | length' summary.json)" 0
}

@test "children of a parent that the library could not enter are counted once" {
  local options static=$PROGRAMS/actor-static actor=$PROGRAMS/actor
  for options in "" --no-kernel; do
    RUN_OPTIONS=(${options:+"$options"})
    record "$static" spawn_many 4 "$actor" burn 60
    equal status "$status" 0
    accounted 98 101
    at_most "CPU of the parent" "$(cpu '.argv[1] == "spawn_many" or .exename == "actor-static"')" 60000
    # one in the dark below another, whose own parent nobody knows without the kernel
    record "$static" spawn "$static" spawn_many 4 "$actor" burn 60
    accounted 98 101
    # executed in place of a program that we entered, and below one
    record sh -c "$actor burn 20; exec $static spawn_many 4 $actor burn 60"
    accounted 98 101
    record sh -c "$static spawn_many 4 $actor burn 60; :"
    accounted 98 101
    at_most "CPU of the parent" "$(cpu '.exename == "actor-static" or .exename == null')" 60000
  done
}

@test "short children of a static parent: what is not accounted is said to be their way out" {
  record "$PROGRAMS/actor-static" spawn_many 40 /bin/true
  equal status "$status" 0
  at_least "accounted, with the ways out" "$(($(summary cpu_itemised) + $(summary cpu_exit_tail_unseen)))" \
    "$(($(summary cpu_total) * 98 / 100))"
  at_most "accounted, with the ways out" "$(($(summary cpu_itemised) + $(summary cpu_exit_tail_unseen)))" \
    "$(($(summary cpu_total) * 101 / 100))"
}

@test "a Go program that waits for children" {
  command -v go >/dev/null || skip "go is not installed"
  cat >main.go <<'GO'
package main

import (
	"os"
	"os/exec"
)

func main() {
	for i := 0; i < 3; i++ {
		if exec.Command(os.Args[1], os.Args[2:]...).Run() != nil {
			os.Exit(1)
		}
	}
}
GO
  for cgo in 0 1; do
    GOFLAGS=-mod=mod GOCACHE="$WORK/cache" CGO_ENABLED=$cgo go build -o waits main.go || skip "go does not build here"
    record ./waits "$PROGRAMS/actor" burn 60
    equal status "$status" 0
    accounted 98 101
    at_most "CPU of the parent" "$(cpu '.exename == "waits"')" 100000
  done
}

@test "children that nobody waits for: the reason is named only where it is true" {
  record "$PROGRAMS/actor" ignore_children 80
  equal warnings "$(jq -r '.warnings | map(select(contains("SIGCHLD ignored"))) | length' summary.json)" 1
}

@test "a forked copy that ends with live threads is one process" {
  for how in exit _exit thread; do
    for ms in 0 150; do # the second is long enough to be looked at
      record "$PROGRAMS/actor" fork_live_threads "$how" "$ms"
      equal "status of $how" "$status" 0
      equal "processes of $how" "$(summary processes)" 2
      equal "ends unknown of $how" "$(summary missing)" 0
      equal "copies of $how" "$(rows '.forked and .ended == "exit" and .exitcode == 8 and .tid == null')" 1
    done
  done
}

@test "a static program executed in place has its own name and arguments" {
  local options actor=$PROGRAMS/actor static=$PROGRAMS/actor-static
  for options in "" --no-kernel; do
    RUN_OPTIONS=(${options:+"$options"})
    # the first short, then each long enough to be looked at
    for ms in 5 150; do
      record "$actor" then_exec "$ms" "$static" burn "$ms"
      equal images "$(summary images)" 2
      equal name "$(value '.generation == 1' exename)" actor-static
      equal arguments "$(jq -c 'select(.generation == 1) | .argv[1:]' rows.jsonl)" "[\"burn\",\"$ms\"]"
      equal path "$(value '.generation == 1' path)" "$static"
      equal name "$(value '.generation == 0' exename)" actor
    done
  done
}

@test "a static program in place of another: neither has the other's name" {
  record "$PROGRAMS/actor-static" then_exec 150 "$PROGRAMS/actor-static" sleep 250
  [ "$(plimsoll check --json | jq -r '.checks[] | select(.name == "cn_proc") | .result')" = Pass ] || skip "no process connector here"
  equal images "$(summary images)" 2
  equal first "$(jq -r 'select(.generation == 0) | .argv[1]' rows.jsonl)" then_exec
  equal second "$(jq -r 'select(.generation == 1) | .argv[1]' rows.jsonl)" sleep
  # and in front of one that we enter
  record "$PROGRAMS/actor-static" then_exec 150 "$PROGRAMS/actor" burn 20
  equal images "$(summary images)" 2
  equal first "$(jq -r 'select(.generation == 0) | .argv[1]' rows.jsonl)" then_exec
  at_least first "$(cpu '.generation == 0')" 140000
  equal second "$(jq -r 'select(.generation == 1) | .argv[1]' rows.jsonl)" burn
  at_most second "$(cpu '.generation == 1')" 60000
}

# no single-threaded row is shorter than the CPU time that it used
long_enough() {
  local short
  short=$(jq -c 'select(.numtids == 1 and .end - .start < .usertime + .systemtime) |
    [.exename, .argv[1:3], .end - .start, .usertime + .systemtime]' rows.jsonl)
  [ -z "$short" ] || fail "shorter than their CPU time: $short"
}

@test "an image begins at its exec and ends when it ended: never shorter than its CPU time" {
  local options
  for options in "" --no-kernel; do
    RUN_OPTIONS=(${options:+"$options"})
    record sh -c "for i in 1 2 3 4 5 6 7 8; do /bin/true; (exit 3); $PROGRAMS/actor-static burn 2; done; exec $PROGRAMS/actor chain 3 3 2"
    equal status "$status" 3
    long_enough
    record "$PROGRAMS/mix" "$PROGRAMS/actor" "$PROGRAMS/actor-static" 5
    long_enough
    record "$PROGRAMS/actor" then_exec 30 "$PROGRAMS/actor-static" burn 30
    long_enough
    # one image ends where the next one begins
    record "$PROGRAMS/actor" chain 3
    equal "overlaps of a chain" "$(jq -s 'sort_by(.generation) | [range(1; length) as $i | select(.[$i].start < .[$i - 1].end)] | length' rows.jsonl)" 0
  done
}

@test "an image does not last until somebody waits for it" {
  # the shell waits for the child a second after its end
  record bash -c "$PROGRAMS/actor burn 5 & sleep 0.7; wait"
  at_most "duration" "$(jq 'select(.exename == "actor") | .end - .start' rows.jsonl)" 600000
}

@test "no image is shorter than its CPU time in the store, the tree, the timeline and the report" {
  local short='.. | objects | select(.duration != null and .cpu_time != null and .duration < .cpu_time)'
  record sh -c "for i in 1 2 3 4; do /bin/true; (exit 3); $PROGRAMS/actor-static burn 2; done; exec $PROGRAMS/actor chain 3 3 2"
  plimsoll submit -q --db s.db job
  equal store "$(plimsoll sql --db s.db --csv 'SELECT count(*), sum(CASE WHEN duration < cpu_time THEN 1 ELSE 0 END) FROM processes' | sed 1d)" \
    "$(summary images),0"
  equal tree "$(plimsoll tree --json --db s.db last | jq -c "[$short | .exename]")" '[]'
  equal timeline "$(plimsoll timeline --json --db s.db last | jq -c "[(.longest, .first) | $short | .exename]")" '[]'
  # a bar is its start, how long, name, tags, lane, images, pid, CPU
  equal bars "$(plimsoll report --db s.db last -o - -f json | jq -c '[.bars[] | select(.[5] == 1 and .[1] < .[7])]')" '[]'
  at_least 'bars seen' "$(plimsoll report --db s.db last -o - -f json | jq '[.bars[] | select(.[5] == 1 and .[7] > 0)] | length')" 1
}

# ---- events ----------------------------------------------------------------------------------------------------------

CLOCK=counters.PERF_COUNT_SW_TASK_CLOCK

@test "forked children count their own events, from the fork on" {
  RUN_OPTIONS=(-E "PERF_COUNT_SW_TASK_CLOCK,PERF_COUNT_SW_PAGE_FAULTS")
  # the parent works before and after, so that its count is not the child's; a child of the child counts too
  record bash -c 'burn() { for ((i = 0; i < $1; i++)); do :; done; }
    counters() { n=0; for f in /proc/$BASHPID/fd/*; do ((${f##*/} > 500)) && ((n += 1)); done; echo "$n" >>open; }
    burn 60000; counters; (burn 10000; counters; (counters; exit 5); exit 4); burn 1000; counters'
  equal status "$status" 0
  equal 'counters that each has open' "$(tr '\n' ' ' <open)" '2 2 2 2 '
  local row code
  for row in '.forked | not' '.exitcode == 4' '.exitcode == 5'; do
    # what the counter says is what the kernel accounts, but for the time before it is open and after it is read
    at_least "clock of $row" "$(value "$row" "$CLOCK.value")" 1
    at_most "clock of $row" "$(($(value "$row" "$CLOCK.value") / 1000))" "$(($(cpu "$row") * 11 / 10 + 1000))"
    at_least "cycles of $row" "$(value "$row" rdtsc_duration)" 1
  done
  at_least 'clock of the child' "$(($(value '.exitcode == 4' "$CLOCK.value") * 2))" "$(($(cpu '.exitcode == 4') * 1000))"
  at_least "the parent's is its own" "$(value '.forked | not' "$CLOCK.value")" "$(($(value '.exitcode == 4' "$CLOCK.value") * 2))"
}

@test "threads of a forked child count their events" {
  RUN_OPTIONS=(-E PERF_COUNT_SW_TASK_CLOCK)
  record "$PROGRAMS/actor" fork_live_threads exit 20
  equal uncounted "$(rows ".$CLOCK.value == null")" 0
  equal cycles "$(rows '.rdtsc_duration == null or .rdtsc_duration <= 0')" 0
}

@test "a copy by clone has counters of its own; one by vfork has none, and that is said" {
  RUN_OPTIONS=(-E PERF_COUNT_SW_TASK_CLOCK)
  record "$PROGRAMS/actor" vfork
  equal 'clock of vfork' "$(value .forked "$CLOCK.value")" null
  equal 'reason of vfork' "$(value .forked "$CLOCK.reason")" "a copy made by vfork or clone has no counters of its own"
  equal 'cycles of vfork' "$(value .forked 'rdtsc_duration // "absent"')" absent
  at_least 'clock of its parent' "$(value '.forked | not' "$CLOCK.value")" 1
  record "$PROGRAMS/actor" clone
  at_least 'clock of clone' "$(value .forked "$CLOCK.value")" 1
  at_most 'clock of clone' "$(($(value .forked "$CLOCK.value") / 1000))" "$(($(cpu .forked) * 11 / 10 + 1000))"
  at_least 'cycles of clone' "$(value .forked rdtsc_duration)" 1
  at_least 'clock of its parent' "$(value '.forked | not' "$CLOCK.value")" 1
  record "$PROGRAMS/actor" kill 9
  equal 'reason of one that is killed' "$(value true "$CLOCK.reason")" "the program's end was not recorded"
}

@test "a program executed in place of another counts from its own start" {
  RUN_OPTIONS=(-E PERF_COUNT_SW_TASK_CLOCK)
  record "$PROGRAMS/actor" then_exec 100 "$PROGRAMS/actor" burn 20
  at_least 'cycles of the first' "$(value '.generation == 0' rdtsc_duration)" 1
  at_least 'cycles of the second' "$(value '.generation == 1' rdtsc_duration)" 1
  at_least 'clock of the second' "$(value '.generation == 1' "$CLOCK.value")" 20000000
}

@test "events: what could not count its cycles is no papiex-error" {
  RUN_OPTIONS=(-E PERF_COUNT_SW_TASK_CLOCK)
  record bash -c "(:); $PROGRAMS/actor vfork; $PROGRAMS/actor clone; $PROGRAMS/actor-static burn 1; $PROGRAMS/actor kill 9; exec $PROGRAMS/actor burn 5"
  plimsoll submit -q --db s.db job
  equal annotations "$(plimsoll list --db s.db --json | jq -c '.[0].annotations')" '{}'
  at_least sum "$(plimsoll sql --db s.db --csv "SELECT sum FROM job_sums WHERE metric = 'rdtsc_duration'" | sed 1d)" 1
}
