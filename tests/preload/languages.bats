#!/usr/bin/env bats
# Perl, Python, Java and Go programs run the same with the library, and the processes and threads that
# they make are recorded.

# shellcheck disable=SC2016 # scripts for other shells
load lib

PYTHON=/usr/bin/python3

@test "perl: fork, exec, system, backticks, kill, pipes, SIGCHLD handler" {
  need perl
  compare perl "$HOSTS/script.pl" one two
  equal status "$status" 23
  recorded_end '.exename == "perl" and (.forked | not)'
  recorded '.argv[1:3] == ["return", "5"]' exitcode 5
  recorded '.argv[1:3] == ["return", "6"]' exitcode 6
  recorded '.argv[1:3] == ["printf", "3"]' exitcode 0
  recorded '.argv[1:3] == ["printf", "5"]' wchar 5
  # a copy that is killed has said nothing: only its reaper knows
  recorded '.exitsignal == 15' source reaped
  # one by exit, one that found no program to execute, and five taken by the handler
  equal 'forked copies' "$(rows '.forked and .exename == "perl"')" 7
}

@test "python: subprocess" {
  need $PYTHON
  compare $PYTHON "$HOSTS/script.py" subprocess
  equal status "$status" 23
  recorded_end '.argv[1:3] == ["'"$HOSTS"'/script.py", "subprocess"] and (.forked | not)'
  recorded '.argv[1:3] == ["return", "5"]' exitcode 5
  recorded '.argv[1:3] == ["kill", "9"]' exitsignal 9
  recorded '.argv[1:3] == ["return", "8"]' exitcode 8
  recorded '.argv[1:2] == ["sleep"]' exitsignal 9
  recorded '.source == "reaped"' exitcode 6
}

@test "python: os.fork, exec, wait4, waitid" {
  need $PYTHON
  compare $PYTHON "$HOSTS/script.py" fork
  equal status "$status" 23
  recorded_end '(.exename | startswith("python")) and (.forked | not)'
  recorded '.argv[1:3] == ["return", "4"]' exitcode 4
  equal 'forked copies' "$(rows '.forked')" 3
  recorded '.exitsignal == 15' source reaped
  recorded '.forked and .exitcode == 9' ended exit
}

@test "python: multiprocessing by fork" {
  need $PYTHON
  compare $PYTHON "$HOSTS/script.py" multiprocessing_fork
  equal status "$status" 23
  recorded_end '(.exename | startswith("python")) and (.forked | not)'
  equal 'forked copies' "$(rows '.forked and .ended == "exit"')" 4
  recorded '.forked and .exitcode == 5' ended exit
  # the pool has three threads of its own to serve the workers
  at_least threads "$(value '.forked | not' numtids)" 4
}

@test "python: multiprocessing by spawn" {
  need $PYTHON
  compare $PYTHON "$HOSTS/script.py" multiprocessing_spawn
  equal status "$status" 23
  recorded_end '.argv[1:3] == ["'"$HOSTS"'/script.py", "multiprocessing_spawn"] and .numtids > 1'
  equal 'spawned interpreters' "$(rows '.args | test("from multiprocessing.spawn")')" 4
}

@test "python: threads, one of them alive at the end" {
  need $PYTHON
  compare $PYTHON "$HOSTS/script.py" threads
  equal status "$status" 23
  recorded '.exename | startswith("python")' numtids 53
  recorded '.exename | startswith("python")' 'thread_rows | length' 53
  recorded '.argv[1:3] == ["return", "3"]' exitcode 3
}

@test "python: os.posix_spawn" {
  need $PYTHON
  compare $PYTHON "$HOSTS/script.py" posix_spawn
  equal status "$status" 23
  recorded '.argv[1:3] == ["return", "5"]' exitcode 5
  recorded '.argv[1:3] == ["kill", "9"]' exitsignal 9
  recorded '.exename == "true"' exitcode 0
}

@test "java: threads, processes, shutdown hook" {
  need java javac
  javac -d "$WORK" "$HOSTS/Host.java"
  compare java -Xshare:auto -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$WORK" Host
  equal status "$status" 23
  recorded_end '.exename == "java"'
  at_least threads "$(value '.exename == "java"' numtids)" 21
  at_least 'thread rows' "$(value '.exename == "java"' 'thread_rows | length')" 21
  recorded '.argv[1:3] == ["return", "5"]' exitcode 5
  recorded '.argv[1:3] == ["kill", "9"]' exitsignal 9
  recorded '.exitsignal == 15' ended signal
}

# build_go 0|1 FILE...: without and with cgo
build_go() {
  local cgo=$1
  shift
  mkdir -p go
  cp "$@" go/
  (cd go && HOME=$WORK GOCACHE=$WORK/cache GOPATH=$WORK/path GOFLAGS=-mod=mod GO111MODULE=off GOPROXY=off \
    CGO_ENABLED=$cgo go build -o ../host-go .)
}

@test "go with cgo: threads and processes" {
  need go gcc
  build_go 1 "$HOSTS/host.go" "$HOSTS/cgo.go"
  # its exit is the bare system call, so only the reaper knows of it
  compare sh -c '"$1"; echo "status $?"' sh "$WORK/host-go"
  recorded '.exename == "host-go"' exitcode 23
  recorded '.exename == "host-go"' ended exit
  # goroutines that end while locked end their threads
  at_least threads "$(value '.exename == "host-go"' 'thread_rows | length')" 3
  recorded '.argv[1:3] == ["return", "5"]' exitcode 5
  recorded '.argv[1:3] == ["printf", "3"]' wchar 3
}

@test "go without cgo: a static program, known from its reaper" {
  need go
  build_go 0 "$HOSTS/host.go"
  compare sh -c '"$1"; echo "status $?"' sh "$WORK/host-go"
  equal status "$status" 0
  recorded '.source == "reaped"' exitcode 23
  recorded '.source == "reaped"' ended exit
  recorded '.argv[1:3] == ["return", "5"]' exitcode 5
}
