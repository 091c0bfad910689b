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

@test "check: after a build that failed nothing is tested, and that is said" {
  tree
  FAIL=build run tree/scripts/check
  equal status "$status" 1
  [[ $output == *"build, release: FAILED"*"nothing after it was run"*"0 passed, 1 failed" ]] || fail "$output"
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

@test "fresh: an option that is not there is refused with the usage" {
  tree
  run tree/scripts/fresh --bare
  equal status "$status" 2
  [[ $output == *"scripts/fresh [--user] [--keep] [demo|check]"* ]] || fail "$output"
}
