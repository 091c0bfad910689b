#!/usr/bin/env bats
# plimsoll run as the child of a shell: signals, job control, descriptors, and where its words go.

bats_require_minimum_version 1.5.0
load lib

# check WORD...: see as_child.py
check() {
  python3 "$PL_SOURCE/tests/cli/as_child.py" "$@" 3>&- || fail "$(echo "$@")"
}

@test "every signal that can be caught reaches the command once, with what was queued" {
  check signals
}

@test "a command that ends by a signal: run ends by the same, whichever it is" {
  check ends
}

@test "what the command sends to its own group comes to it once" {
  check group
}

@test "a parent that ignores SIGCHLD" {
  check ignored_children
}

@test "a command that stops: run stops by the same signal and continues it" {
  check stops
}

@test "a command that somebody stops and continues alone" {
  check stop_alone
  equal processes "$(plimsoll records --jsonl job | jq -r .exename | sort | xargs)" 'sh sleep'
}

@test "SIGCONT to the whole group comes to the command once" {
  check once
}

@test "a terminal: ^Z, fg, ^C, a loop of the shell, a shell inside, the background" {
  check terminal
}

@test "a terminal that goes away" {
  check hangup
}
