#!/usr/bin/env bats
# Shell scripts run the same with the library, and every process that they make is recorded: subshells,
# pipelines, background jobs, killed, static and missing programs.

load lib

# What all scripts do: a program that returns 6, one that is killed, a static one, one in the background.
check_script() {
  equal status "$status" 23
  recorded_end ".exename == \"$1\" and .exitcode == 23"
  recorded '.argv[1:3] == ["return", "6"]' exitcode 6
  recorded '.argv[1:3] == ["return", "6"]' ended exit
  recorded '.argv[1:2] == ["kill"]' exitsignal "$2"
  recorded '.argv[1:2] == ["kill"]' ended signal
  recorded '.argv[1:2] == ["sleep"]' exitcode 7
  recorded '.source == "reaped"' exitcode 9
  recorded '.exename == "host-state"' ended exit
  equal 'in the pipeline' "$(rows '.exename | IN("seq", "sort", "tr")')" 3
  equal 'without an end' "$(rows '.ended == "unknown"')" 0
}

@test "bash" {
  need bash
  compare bash "$HOSTS/script.bash" 'an argument' ''
  check_script bash 15
  recorded '.exename == "bash" and .exitcode == 23' 'argv|tojson' "[\"bash\",\"$HOSTS/script.bash\",\"an argument\",\"\"]"
  at_least 'subshells' "$(rows '.forked and .exename == "bash"')" 3
}

@test "dash" {
  need dash
  compare dash "$HOSTS/script.dash" 'an argument' ''
  check_script dash 15
}

@test "zsh" {
  need zsh
  compare zsh -f "$HOSTS/script.zsh" 'an argument' ''
  check_script zsh 15
}

@test "tcsh" {
  need tcsh
  compare tcsh -f "$HOSTS/script.tcsh" 'an argument' ''
  check_script tcsh 15
}

@test "fish" {
  need fish
  compare fish --no-config "$HOSTS/script.fish" 'an argument' ''
  check_script fish 9
}
