# Shared by the tests of the preload library: runs a host program without and with it and compares
# everything that can be seen of the two runs, byte for byte.

# shellcheck source=tests/cli/lib.bash
. "${PL_SOURCE:?}/tests/cli/lib.bash" || exit 1

# shellcheck disable=SC2034 # for the tests
LIBRARY=$PL_BUILD/lib/libplimsoll.so
# shellcheck disable=SC2034
HOSTS=$PL_SOURCE/tests/preload/hosts
export PROGRAMS

# What a test may set before it compares:
OBSERVE=()       # options of the observer; -u: do not trace
ENTER=()         # a command in front of the observer, for mounts and namespaces
BEFORE='' AFTER='' # libraries that are preloaded in both runs, before or after ours

# once NAME LIBRARIES [RECORDS]: one run of "${HOST[@]}" in an empty directory of its own. What came of
# it is in NAME/: stdout, stderr, state (see programs/observe.c) and the files that it left.
once() {
  local name=$1 options=("${OBSERVE[@]}" -p "$2")
  [ -z "${3:-}" ] || options+=(-r "$3")
  rm -rf "$name" host seen
  mkdir host seen
  status=0
  (cd host && exec "${ENTER[@]}" "$PROGRAMS/host-observe" "${options[@]}" "$WORK/seen" "${HOST[@]}") \
    </dev/null 3>&- || status=$?
  [ "$status" != 125 ] && [ -e seen/stdout ] || fail "the observer failed" || return 1
  mv host seen/files
  mv seen "$name"
}

# compare PROGRAM [ARGUMENT...]: fails unless both runs look the same. Leaves the exit status in $status,
# what was recorded in records/ and rows.jsonl.
compare() {
  HOST=("$@")
  rm -rf records
  mkdir records
  once plain "$BEFORE $AFTER" || return 1
  rm -rf records
  mkdir records
  once with "$BEFORE $LIBRARY $AFTER" "$WORK/records" || return 1
  read_rows
  if ! diff -r -a --no-dereference plain with >differences; then
    fail "'$*' differs with the library (<: without, >: with):" "$(head -c 4000 differences)"
  fi
}

# The rows of records/, into rows.jsonl; what was said about damage goes to rows.err.
read_rows() {
  rm -f rows.jsonl
  plimsoll records --jsonl --threads records >rows.jsonl 2>rows.err || true
}

# As in the library of the command line tests, but shows what tells rows apart and nothing else.
value() {
  local matching
  matching=$(rows "$1")
  if [ "$matching" != 1 ]; then
    fail "'$1' matches $matching rows of" "$(jq -c '[.exename, .argv[1:4], .exitcode, .exitsignal, .ended,
      .source, .forked, .numtids]' rows.jsonl | cut -c 1-200)" "$(cat rows.err)"
    return 1
  fi
  jq -r "select($1) | .$2" rows.jsonl
}

# recorded FILTER KEY VALUE: the one row that matches says so.
recorded() {
  local got
  got=$(value "$1" "$2") || return 1
  equal "$2 of '$1'" "$got" "$3"
}

# The program itself, with the status that the comparison saw: known, ended, and not running any more.
recorded_end() {
  recorded "$1" exitcode "$status" && recorded "$1" ended exit
}

need() {
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
  done
}
