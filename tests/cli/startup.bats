#!/usr/bin/env bats
# How little it takes to start: counted in system calls, which do not depend on how busy the machine is.

load lib

# calls COMMAND...: the number of system calls that it makes
calls() {
  strace -f -c -o counts "$@" >/dev/null 2>&1 || return 1
  awk '$NF == "total" { print $4 }' counts
}

@test "the program starts with little more than /bin/true does" {
  command -v strace >/dev/null || skip "strace is not installed"
  a=$(calls /bin/true) || skip "strace may not trace here"
  b=$(calls plimsoll version)
  at_least "system calls of true" "$a" 10
  at_most "system calls" "$b" $((a * 3))
}

@test "a recorded process makes few system calls more" {
  command -v strace >/dev/null || skip "strace is not installed"
  a=$(calls /bin/true) || skip "strace may not trace here"
  plimsoll start -q -o job
  eval "$(plimsoll source -o job bash)"
  library=$LD_PRELOAD
  unset LD_PRELOAD
  b=$(calls -E "LD_PRELOAD=$library" /bin/true)
  # what maps the library, START with four files and one append, END with five and one
  at_most "added system calls" $((b - a)) 60
}

@test "records are small" {
  plimsoll start -q -o job
  eval "$(plimsoll source -o job bash)"
  for _ in 1 2 3 4 5 6 7 8; do /bin/true; done
  unset LD_PRELOAD
  before=$(stat -c %s job/*/*.rec)
  plimsoll start -q -o empty
  plimsoll source -o empty bash >/dev/null
  preamble=$(stat -c %s empty/*/*.rec)
  path=$(readlink -f /bin/true)
  # without path and arguments; the shell is not recorded, its commands are
  at_most "bytes per image" $(((before - preamble) / 8 - ${#path} - 10)) 320
}

@test "the program itself needs the C library and one small one, whatever it can do" {
  equal libraries "$(objdump -p "$PL_BUILD/bin/plimsoll" | awk '$1 == "NEEDED" { print $2 }' | grep -v -e asan -e ubsan -e ld-linux | sort | xargs)" 'libc.so.6 libmnl.so.0'
}
