# What tests share that look at pages with headless Chromium: one run of a checking script, whose findings are in seen.json.

# look SCRIPT ARGUMENT...: in setup_file; a file "absent" says that no Chromium starts here
look() {
  local script=$1 status=0
  shift
  python3 "$PL_SOURCE/tests/cli/$script" home "$@" >seen.json 2>why || status=$?
  [ "$status" != 77 ] || : >absent
  [ "$status" = 0 ] || [ "$status" = 77 ] || {
    cat why
    tail -n 5 home/chromium.log
    return 1
  }
}

# see NAME FILTER WANT: a filter of jq over what was seen
see() {
  [ ! -e "$BATS_FILE_TMPDIR/absent" ] || skip "no Chromium that starts here"
  equal "$1" "$(jq -c "$2" "$BATS_FILE_TMPDIR/seen.json")" "$3"
}
