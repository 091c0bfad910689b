#!/usr/bin/env bats
# Findings are the same in text, page and JSON, complete, and documented; their commands can be pasted.

bats_require_minimum_version 1.5.0
load lib

# jobs: several with different findings, in the store
jobs() {
  plimsoll run -q -- "$PROGRAMS/actor" burn 1200
  plimsoll run -q --sample 100ms -- sleep 1.3
  plimsoll run -q --sample 100ms -- sh -c "$PROGRAMS/actor burn 5000 & sleep 0.8; kill -KILL \$!; exit 0"
  plimsoll run -q -- sh -c "sleep 0.6; exit 3" || true
  plimsoll run -q -- sh -c 'sleep 0.6; kill -SEGV $$' || true
  plimsoll run -q --sample 100ms -- sh -c 'for i in 1 2 3 4; do '"$PROGRAMS"'/actor burn 300; done'
  plimsoll run -q -- sh -c 'i=0; while [ $i -lt 150 ]; do /bin/true; i=$((i + 1)); done'
  plimsoll run -q -- true
}

@test "every id and every limit is in the manual of reports, and no others" {
  local doc=$PL_SOURCE/docs/reports.md def=$PL_SOURCE/src/analysis/findings
  equal ids "$(sed -n '/^| id | group/,/^$/s/^| `\([a-z-]*\)` | \([a-z]*\) .*/\1 \2/p' "$doc" | sort)" \
    "$(sed -n 's/^FINDING([A-Z_]*, "\([a-z-]*\)", \([A-Z]*\),.*/\1 \L\2/p' "$def/finding_ids.def" | sort)"
  equal limits "$(sed -n '/^| limit | value/,/^$/s/^| `\([a-z_]*\)` .*/\1/p' "$doc" | sort)" \
    "$(tr -d '\n' <"$def/finding_limits.def" | grep -o 'FINDING_LIMIT([A-Z_]*, "[a-z_]*"' | sed 's/.*"\(.*\)"/\1/' | sort)"
}

@test "text, page and JSON have the same findings in the same order; each is complete, and its command runs" {
  jobs
  local id ids command n=0
  for id in $(plimsoll list --json | jq -r '.[].jobid'); do
    plimsoll report "$id" --json >report.json
    ids=$(jq -r '.findings[].id' report.json)
    [ -n "$ids" ] || fail "$id has none"
    equal "text of $id" "$(plimsoll report "$id" | sed -n '/^VERDICT/,/^[A-Z ]*$/s/^  \([a-z-]\{4,\}\)  *[^ ].*/\1/p' | grep -Fx -f <(sed -n 's/^FINDING([A-Z_]*, "\([a-z-]*\)".*/\1/p' "$PL_SOURCE/src/analysis/findings/finding_ids.def"))" "$ids"
    plimsoll report "$id" -o page.html -q 2>/dev/null || plimsoll report "$id" -o page.html
    equal "page of $id" "$(grep -o 'id="finding-[a-z-]*"' page.html | sed 's/id="finding-\(.*\)"/\1/')" "$ids"
    equal "complete $id" "$(jq -c '[.findings[] | select((keys | sort) != (["id", "weight", "share", "saving", "title", "details", "evidence", "advice", "command"] | sort)
      or (.title | length) == 0 or (.advice | length) == 0 or (.title | endswith(".")))]' report.json)" '[]'
    equal "evidence $id" "$(jq -c '[.findings[].evidence[] | select(.metric == null or .value == null or .unit == null)]' report.json)" '[]'
    equal "one thing stands out $id" "$(jq '(.findings | length) > 1 and any(.findings[]; .title | contains("else stands out"))' report.json)" false
    equal "once $id" "$(jq -c '[.findings[].id] | group_by(.) | map(select(length > 1))' report.json)" '[]'
    while read -r command; do
      [[ $command == 'plimsoll '* ]] || fail "no command of ours: $command"
      n=$((n + 1))
      # what runs the program again ends as the program does
      if [[ $command == 'plimsoll run '* ]]; then
        bash -c "${command/plimsoll run/plimsoll run --no-submit -q} >/dev/null 2>&1" || [ $? -lt 126 ] || fail "$command"
      else
        bash -c "$command >out 2>&1" || fail "$command: $(cat out)"
      fi
    done < <(jq -r '.findings[].command // empty' report.json)
  done
  at_least commands "$n" 8
}

@test "the batch system's accounting says that the time limit ended a job, or that it ran out of memory" {
  local state n=1
  for state in TIMEOUT OUT_OF_MEMORY; do
    SLURM_JOB_ID=51$n SLURM_JOB_CPUS_PER_NODE=2 PLIMSOLL_ASK_BATCH_SYSTEM=no plimsoll run -q -- "$PROGRAMS/actor" burn 700
    plimsoll submit -q "$PLIMSOLL_PREFIX/51$n"
    printf 'JobIDRaw|State|Elapsed\n51%s|%s|01:00:00\n' "$n" "$state" >sacct.txt
    plimsoll import sacct sacct.txt >/dev/null
    plimsoll report "51$n" --json >report.json
    [ "$state" = TIMEOUT ] && equal limit "$(jq -r '.findings[0] | [.id, .weight] | join(" ")' report.json)" 'time-limit severe'
    [ "$state" = TIMEOUT ] || equal oom "$(jq -r '.findings[0] | [.id, .weight] | join(" ")' report.json)" 'oom severe'
    equal none "$(plimsoll advise "51$n" --json | jq -c '[.request[].suggested]')" '[null,null,null,null]'
    n=$((n + 1))
  done
}
