#!/usr/bin/env bats
# plimsoll run: what is recorded of every kind of process, and that nothing is missed.

load lib

@test "a command that returns: status, counters and books" {
  record "$PROGRAMS/actor" burn 50 3
  equal status "$status" 3
  equal processes "$(summary processes)" 1
  equal exitcode "$(summary exitcode)" 3
  equal missing "$(summary missing)" 0
  equal ended "$(value 'true' ended)" exit
  equal exitcode "$(value 'true' exitcode)" 3
  at_least cpu "$(value 'true' usertime)" 40000
  at_least itemised "$(summary cpu_itemised)" "$(($(summary cpu_total) * 97 / 100))"
}
