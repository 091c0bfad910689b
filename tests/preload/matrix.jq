# The rows of each cell of programs/matrix.c, one line each: what ended how, with how many threads if more than one, and
# how many writes. "exec": it executed the next.
def how:
  if .ended == "exec" then "exec"
  elif .exitsignal > 0 then "signal \(.exitsignal)"
  else "\(.exitcode // "?")" end;
def row:
  "\(.exename // "?" | sub("^host-"; ""))\(if .forked then "-copy" else "" end) \(how)"
  + (if .ended != "exec" and .ended != "exit" and .ended != "signal" then " \(.ended)" else "" end)
  + (if .silenced then " silenced" else "" end)
  + (if (.numtids // 0) == 1 then "" else " threads \(.numtids // "?")" end)
  + (if has("syscw") then " writes \(.syscw)" else "" end);
map(select(.thread | not)) as $rows
| ($rows | map({key: "\(.pid)", value: .ppid}) | from_entries) as $parent
| ($rows | map(select(.argv[1]? == "cell") | {key: "\(.pid)", value: "\(.argv[2]) \(.argv[3])"}) | from_entries) as $cell
| def owner: . as $pid | if $cell["\($pid)"] then $cell["\($pid)"]
    elif $parent["\($pid)"] then $parent["\($pid)"] | owner else null end;
  $rows | map({cell: (.pid | owner), row: row}) | map(select(.cell))
| group_by(.cell) | .[] | "\(.[0].cell): \(map(.row) | sort | join(", "))"
