#!/usr/bin/env bats
# Trees of processes in every shape: each process is there once, and their CPU times add up to the total.
load lib

# once PROCESSES: so many processes, all CPU accounted once, the rows add up to it, and no excess is talked away
once() {
  local part
  equal processes "$(summary processes)" "$1" || fail "$(cat summary.json rows.jsonl)" || return 1
  part=$(jq '100 * (.cpu_itemised + .cpu_exit_tail_unseen) / .cpu_total' summary.json)
  at_least "per cent accounted" "$part" 95 || fail "$(cat summary.json rows.jsonl)" || return 1
  at_most "per cent accounted" "$part" 101 || fail "$(cat summary.json rows.jsonl)" || return 1
  equal "sum of the rows" "$(jq -s 'map(select(.tid == null or .tid == .pid) | .usertime + .systemtime) | add' rows.jsonl)" \
    "$(summary cpu_itemised)"
  equal warnings "$(jq -c '.warnings' summary.json)" "[]"
}

# burnt NAME MS COUNT: so many rows of a program burnt about MS each
burnt() {
  equal "rows of $1 that burnt $2 ms" \
    "$(rows ".exename == \"$1\" and .usertime + .systemtime >= $2 * 900 and .usertime + .systemtime <= $2 * 1000 + 15000")" "$3" ||
    fail "$(cat rows.jsonl)"
}

connector() {
  [ "$(plimsoll check --json | jq -r '.checks[] | select(.name == "cn_proc") | .result')" = Pass ]
}

@test "a pid namespace under the same /proc: each process once, with its own CPU" {
  local unshare=(unshare --pid --fork)
  [ "$(id -u)" = 0 ] || unshare=(unshare -U -r --pid --fork)
  "${unshare[@]}" true 2>/dev/null || skip "no user or pid namespaces here"
  record "${unshare[@]}" sh -c "$PROGRAMS/tree burn:50; $PROGRAMS/tree burn:50; true"
  equal status "$status" 0
  once 4
  burnt tree 50 2
}

@test "a pid namespace with a /proc of its own, and one inside another" {
  unshare -rpf --mount-proc true 2>/dev/null || skip "no user or pid namespaces here"
  record unshare -rpf --mount-proc sh -c "$PROGRAMS/tree burn:50; $PROGRAMS/tree burn:50; true"
  once 4
  burnt tree 50 2
  record unshare -rpf --mount-proc sh -c "unshare -pf --mount-proc sh -c '$PROGRAMS/tree burn:50; $PROGRAMS/tree-static burn:60; true'; true"
  once 6
  burnt tree 50 1
  burnt tree-static 60 1
}

@test "another /proc of the same pid namespace is no other namespace" {
  unshare -rm --mount-proc true 2>/dev/null || skip "no user or mount namespaces here"
  record sh -c "unshare -rm --mount-proc sh -c '$PROGRAMS/tree burn:50; $PROGRAMS/tree-static burn:60; true'; true"
  once 5
  burnt tree 50 1
  burnt tree-static 60 1
}

@test "bubblewrap: with and without a /proc of its own, dynamic and static programs" {
  local proc bwrap=(bwrap --dev-bind / / --unshare-pid)
  "${bwrap[@]}" true 2>/dev/null || skip "bubblewrap is not installed, or may do nothing here"
  for proc in "" "--proc /proc"; do
    # shellcheck disable=SC2086
    record "${bwrap[@]}" $proc sh -c "$PROGRAMS/tree burn:50; $PROGRAMS/tree burn:50; true"
    equal status "$status" 0
    once 5
    burnt tree 50 2
    equal "copies of bwrap" "$(rows '.exename == "bwrap" and .forked')" 1
    # shellcheck disable=SC2086
    record "${bwrap[@]}" $proc "$PROGRAMS/tree-static" burn:60
    once 3
    burnt tree-static 60 1
    # shellcheck disable=SC2086
    record "${bwrap[@]}" $proc "$PROGRAMS/tree" burn:50 fork:2 [ exec:"$PROGRAMS/tree-static" burn:30 ] wait
    once 5
  done
}

@test "a run inside a run: what both heard of is there once" {
  local tree=$PROGRAMS/tree static=$PROGRAMS/tree-static
  record plimsoll run -q -- "$static" burn:60
  once 2
  burnt tree-static 60 1
  record plimsoll run -q -- "$tree" fork [ burn:60 kill:9 ] wait
  once 3
  record sh -c "plimsoll run -q -- $static fork:2 [ exec:$tree burn:60 ] wait burn:50; true"
  once 5
  burnt tree 60 2
  burnt tree-static 50 1
}
