#!/usr/bin/env bats
# The scripts behind `make`: a failure shows as one, a half-configured or moved tree is mended, a tree without git works.

load lib

# A copy of the scripts in a tree of their own, with a cmake that says what it was asked and fails where it is told to.
tree() {
  mkdir -p tree/scripts bin
  cp "$PL_SOURCE"/scripts/{build,files,check,fresh,deps} tree/scripts/
  cat >bin/cmake <<'END'
#!/bin/sh
echo "$*" >>"$WORK/asked"
case $1 in
--preset) mkdir -p build && echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >build/CMakeCache.txt && [ "$FAIL" != configure ] || { echo 'CMake Error: no such target'; exit 1; } ;;
--build) echo '[ 50%] Building'; [ "$FAIL" != build ] || { echo 'x.c:1: error: broken'; exit 2; } ;;
esac
END
  chmod +x bin/cmake
  export WORK FAIL="" PATH="$WORK/bin:$PATH"
}

@test "build: a build that fails fails, with what the compiler said" {
  tree
  run tree/scripts/build release
  equal status "$status" 0
  equal output "$output" ""
  FAIL=build run tree/scripts/build release thing
  equal status "$status" 1
  [[ $output == *"x.c:1: error: broken"*"cannot build build thing"* ]] || fail "$output"
  [[ $output != *"50%"* ]] || fail "$output"
}

@test "build: a configuration that fails is shown, and made again the next time" {
  tree
  FAIL=configure run tree/scripts/build release
  equal status "$status" 1
  [[ $output == *"CMake Error: no such target"*"cannot configure build"* ]] || fail "$output"
  equal "asked to build" "$(grep -c -e --build asked)" 0
  run tree/scripts/build release
  equal status "$status" 0
  equal "configured" "$(grep -c -e --preset asked)" 2
  equal "asked to build" "$(grep -c -e --build asked)" 1
}

@test "build: what was configured elsewhere is forgotten" {
  tree
  tree/scripts/build release
  mkdir tree/build/CMakeFiles
  mv tree moved
  moved/scripts/build release
  [ ! -e moved/build/CMakeFiles ] || fail "kept"
  grep -q "^CMAKE_HOME_DIRECTORY:INTERNAL=$WORK/moved\$" moved/build/CMakeCache.txt || fail "$(cat moved/build/CMakeCache.txt)"
}

# compiles FOLDER HEADER: a file that includes HEADER, with the flags that the build has for files of src/FOLDER
compiles() {
  local command
  command=$(jq -r --arg folder "/src/$1/" '[.[] | select(.file | contains($folder))][0].command' "$PL_BUILD/compile_commands.json")
  [[ $command == *" -o "* ]] || fail "no file of src/$1 in compile_commands.json"
  echo "#include \"$2\"" >include.c
  bash -c "${command%% -o *} -fsyntax-only include.c"
}

@test "build: a folder includes its own headers and those of the folders it uses, from no other" {
  local folder own used other
  while read -r folder own used other; do
    for header in $own $used $other; do [ -e "$PL_SOURCE/src/$header" ] || fail "no $header"; done
    compiles "$folder" "$own"
    compiles "$folder" "$used"
    run compiles "$folder" "$other"
    [ "$status" != 0 ] || fail "src/$folder includes $other"
    [[ $output == *"$other: No such file"* ]] || fail "$output"
  done <<'END'
core core/strbuf.h core/module.h store/store.h
sources sources/source.h core/strbuf.h sinks/sink.h
store store/store.h records/record_file.h cmd/command.h
END
}

@test "check: after a build that failed nothing is tested, and that is said" {
  tree
  FAIL=build run tree/scripts/check
  equal status "$status" 1
  [[ $output == *"build, release: FAILED"*"nothing else was run"*"0 passed, 1 failed" ]] || fail "$output"
}

@test "check: a test that fails beside others and passes alone is FLAKY, which is a failure in CI" {
  tree
  printf '#!/bin/sh\n' >tree/scripts/lint
  # fails the tests of $BESIDE beside others, and those of $ALONE alone
  cat >bin/ctest <<'END'
#!/bin/sh
bad=$BESIDE
case "$*" in *build-asan*) bad= ;; *rerun-failed*) bad=$ALONE ;; esac
set -- $bad
echo "50% tests passed, $# tests failed out of 5"
for name; do printf '\t  7 - %s (Failed)\n' "$name"; done
[ $# = 0 ]
END
  chmod +x bin/ctest tree/scripts/lint
  export BESIDE='cli.shaky cli.broken' ALONE=cli.broken
  CI='' run tree/scripts/check
  equal status "$status" 1
  [[ $output == *"once more, alone: cli.shaky cli.broken"*"  FLAKY cli.shaky"*"9 passed, 1 failed" ]] || fail "$output"
  [[ $output != *"FLAKY cli.broken"* ]] || fail "$output"
  BESIDE=cli.shaky ALONE='' CI='' run tree/scripts/check
  equal "status elsewhere" "$status" 0
  [[ $output == *"  FLAKY cli.shaky"*"10 passed, 0 failed" ]] || fail "$output"
  BESIDE=cli.shaky ALONE='' CI=true run tree/scripts/check
  equal "status in CI" "$status" 1
  [[ $output == *"command line, host programs, servers: FAILED"*"  FLAKY cli.shaky"*"9 passed, 1 failed" ]] || fail "$output"
}

@test "run-bats: only tests with the tag, and a tag that none has is a failure" {
  # not at the beginning of a line, where bats would take them for tests of this file
  sed 's/^| //' >some.bats <<'END'
| @test "for all" { false; }
| # bats test_tags=root
| @test "for root" { true; }
END
  runs() { env -u PL_SKIPS "$PL_SOURCE/tests/run-bats" user "$WORK/some.bats" "$@"; }
  run runs
  equal whole "$status" 1
  run runs root
  equal tagged "$status" 0
  [[ $output == *"1..1"*"ok 1 for root"* ]] || fail "$output"
  run runs engine
  equal none "$status" 1
  [[ $output == *"no test of $WORK/some.bats has the tag 'engine'"* ]] || fail "$output"
}

@test "files: the same list with git and without" {
  tree
  mkdir -p tree/src/deep tree/build tree/tests
  touch tree/src/a.c tree/src/deep/b.c tree/src/c.h tree/build/d.c tree/tests/e.bats
  equal without "$(tree/scripts/files 'src/*.c' 'tests/*.bats' | paste -sd' ')" "src/a.c src/deep/b.c tests/e.bats"
  command -v git >/dev/null || skip "git is not installed"
  (cd tree && git init -q && git add src tests scripts)
  equal with "$(tree/scripts/files 'src/*.c' 'tests/*.bats' | paste -sd' ')" "src/a.c src/deep/b.c tests/e.bats"
}

@test "skips: every line names a test that is run and a reason that it can give" {
  "$PL_SOURCE/scripts/skips"
  skips() { run "$PL_SOURCE/scripts/skips" "$WORK/list"; }
  echo "scripts.user: files: the same list with git and without: git is not installed" >list
  skips
  equal status "$status" 0
  cat >>list <<'END'
scripts.user: files: the same list with git and without: the moon is full
scripts.user: files: no such test: git is not installed
scripts.root: files: the same list with git and without: git is not installed
unit: no_such_test: not root
END
  skips
  equal status "$status" 1
  [[ $output == *disorder*"list:2: nothing gives this reason: "*"list:3: no such test: "*"list:4: no such run: "*"list:5: no such test: unit"* ]] || fail "$output"
}

@test "fresh: an option that is not there is refused with the usage" {
  tree
  run tree/scripts/fresh --bare
  equal status "$status" 2
  [[ $output == *"scripts/fresh [--user] [--keep] [demo|check]"* ]] || fail "$output"
}
