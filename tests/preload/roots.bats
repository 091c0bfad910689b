#!/usr/bin/env bats
# Programs in a root that has no library of ours, or with every descriptor in use: their loader has nothing to say about
# us, and what could not be recorded is counted with the reason.

# shellcheck disable=SC2016 # scripts for other shells
load lib

export LC_ALL=C

# A root with a shell, a program and what they need, in ./root.
make_root() {
  local file library
  need ldd
  mkdir -p root/bin root/tmp
  for file in "$(command -v bash)" "$PROGRAMS/actor"; do
    cp "$file" root/bin/
    for library in $(ldd "$file" | grep -o '/[^ ]*'); do
      mkdir -p "root$(dirname "$library")"
      cp -L "$library" "root$library"
    done
  done
}

# enter COMMAND...: as root by chroot, as a user in a namespace of his own
enter() {
  [ "$(id -u)" = 0 ] || INSIDE=(unshare -r)
  "${INSIDE[@]}" chroot root /bin/true 2>/dev/null || "${INSIDE[@]}" chroot root /bin/bash -c : || skip "nobody may change the root here"
}

@test "chroot: not a word of the loader, and the summary counts it" {
  make_root
  INSIDE=()
  enter
  record "${INSIDE[@]}" chroot root /bin/bash -c '/bin/actor return 5; echo "[$LD_PRELOAD] $?"; exit 3' >out 2>err
  equal status "$status" 3
  equal stderr "$(cat err)" ''
  equal stdout "$(cat out)" '[] 5'
  equal counted "$(summary other_root)" 1
  equal reason "$(jq -r '.warnings[]' summary.json | grep -c '^1 process entered another root')" 1
  equal row "$(jq -c 'select(.exename == "chroot" and (.thread | not)) | .silenced' rows.jsonl)" true
  equal status "$(rows '.exitcode == 3')" 1
}

@test "chroot: a user's own library stays, and one that can be loaded there is ours, too" {
  make_root
  INSIDE=()
  enter
  cp "$PROGRAMS/libtiny.so" /tmp/plimsoll-tiny-$$.so
  cp "$PROGRAMS/libtiny.so" root/tmp/plimsoll-tiny-$$.so
  LD_PRELOAD=/tmp/plimsoll-tiny-$$.so record "${INSIDE[@]}" chroot root /bin/bash -c 'echo "$LD_PRELOAD"' >out 2>err
  rm -f /tmp/plimsoll-tiny-$$.so
  equal stderr "$(cat err)" ''
  equal kept "$(cat out)" "/tmp/plimsoll-tiny-$$.so"
  # the library and the directory of the records are there: everything is recorded
  mkdir -p "root$PL_BUILD/lib" "root$WORK"
  cp "$LIBRARY" "root$PL_BUILD/lib/"
  mkdir -p "root$WORK/there" there root/proc
  unshare "${INSIDE[@]:1}" -m true 2>/dev/null || return 0
  LD_PRELOAD=$LIBRARY PLIMSOLL_OUTPUT=$WORK/there unshare "${INSIDE[@]:1}" -m bash -c 'mount --bind "$1" "$2" && mount --rbind /proc "$3/proc" && exec chroot "$3" /bin/actor return 6' \
    bash "$WORK/there" "$WORK/root$WORK/there" "$WORK/root" || equal status $? 6
  plimsoll records --jsonl there >rows.jsonl
  equal inside "$(value '.exename == "actor"' '| [.exitcode, .source] | tojson')" '[6,"preload"]'
  equal before "$(value '.exename == "chroot"' ended)" exec
}

# behind HOW: three copies each by fork and vfork that do so and then execute a program leave three programs, with the I/O of
# that program alone.
behind() {
  local way alone want
  plimsoll run -q -o job -- "$PROGRAMS/actor" return 6 || true
  alone=$(plimsoll records --jsonl job | jq -c '[.rchar, .syscr, .wchar, .syscw]')
  rm -r job
  want="[\"actor\",\"return 6\",6,\"preload\",null,$alone]"
  for way in fork vfork; do
    plimsoll run -q -o job --json=summary.json -- "$PROGRAMS/host-doors" "$1" "$way" "$PROGRAMS/actor" return 6 >out
    plimsoll records --jsonl job >rows.jsonl
    equal "$1 $way" "$(jq -c 'select(.exename == "actor") | [.exename, .args, .exitcode, .source, .forked, [.rchar, .syscr, .wchar, .syscw]]' rows.jsonl)" \
      "$want"$'\n'"$want"$'\n'"$want"
    equal "$1 $way: images" "$(rows '.forked | not')" 4
    equal "$1 $way: other roots" "$(summary other_root)" 0
    equal "$1 $way: warnings" "$(jq -c '[.warnings[]? | select(test("root|filter"))]' summary.json)" '[]'
    rm -r job
  done
}

@test "a copy that enters another root, or may not, and executes a program leaves that program alone" {
  local how
  for how in chroot missing pivot failed_exec; do
    behind $how
    equal "copies of $how" "$(rows .forked)" 0
  done
}

@test "a copy whose filter is refused, or that waits for a child, and executes a program leaves that program alone" {
  local how
  for how in refused refused_syscall; do
    behind $how
    equal "copies of $how" "$(rows .forked)" 0
  done
  behind wait
  equal 'children of the copies' "$(rows '.forked and .exitcode == 4')" 3
}

@test "bwrap without our directory: not a word of the loader" {
  need bwrap
  [ ! -u "$(command -v bwrap)" ] || skip "bwrap is setuid here: it is not entered"
  make_root
  bwrap --bind root / --proc /proc true 2>/dev/null || bwrap --bind root / /bin/bash -c : 2>/dev/null || skip "no namespaces here"
  # it mounts over /tmp before it leaves: the records are elsewhere
  shm=$(mktemp -d /dev/shm/plimsoll-XXXXXX)
  status=0
  plimsoll run -q -o "$shm/job" --json=summary.json -- bwrap --bind root / /bin/bash -c '/bin/actor return 5; echo "[$LD_PRELOAD] $?"; exit 3' >out 2>err || status=$?
  rm -rf "$shm"
  equal status "$status" 3
  equal stderr "$(cat err)" ''
  equal stdout "$(cat out)" '[] 5'
  equal counted "$(summary other_root)" 1
}

@test "every descriptor in use: the loader says what it says without us" {
  sh -c 'ulimit -n 3 && exec "$1" return 0' sh "$PROGRAMS/actor" 2>plain || plain=$?
  record sh -c 'ulimit -n 3 && exec "$1" return 0' sh "$PROGRAMS/actor" 2>err
  equal status "$status" "$plain"
  equal stderr "$(cat err)" "$(cat plain)"
  # descriptors that the exec closes are free again: then it is loaded
  record /usr/bin/python3 -c '
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
try:
    while True:
        os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
except OSError:
    pass
os.execv(sys.argv[1], ["actor", "return", "4"])' "$PROGRAMS/actor" 2>err
  equal status "$status" 4
  equal stderr "$(cat err)" ''
  equal loaded "$(value '.exename == "actor"' source)" preload
}

@test "exec with bad pointers from another root fails as it does without us" {
  make_root
  INSIDE=()
  enter
  cat >bad.py <<'P'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.chroot(sys.argv[1].encode())
os.chdir("/")
argv = (ctypes.c_char_p * 2)(b"bash", None)
bad = (ctypes.c_void_p * 3)(16, 24, None)
for envp in (ctypes.c_void_p(8), bad, None):
    for call in (libc.execve, libc.execvpe):
        print(call(b"/bin/missing", argv, envp), ctypes.get_errno())
    print(libc.execve(b"/bin/bash", argv, envp) if envp is not None else "-", ctypes.get_errno())
P
  "${INSIDE[@]}" /usr/bin/python3 bad.py "$WORK/root" >plain
  LD_PRELOAD=$LIBRARY PLIMSOLL_OUTPUT=$WORK "${INSIDE[@]}" /usr/bin/python3 bad.py "$WORK/root" >with
  at_least rows "$(wc -l <plain)" 9
  diff plain with
}
