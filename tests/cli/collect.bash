# Collectors under test; source it beside lib.bash or store.bash.

# collector NAME OPTION...: a collector with its log in ./NAME, its pid in $PID, its output in NAME.out and NAME.err;
# the addresses it listens at in $NATIVE and $COLMET.
collector() {
  local name=$1
  shift
  plimsoll collect -v --commit 100ms --log "$WORK/$name" "$@" >>"$name.out" 2>>"$name.err" 3>&- &
  PID=$!
  collector_up "$name" "$PID"
}

# Waits until a collector says that it runs, under this pid.
collector_up() {
  for _ in $(seq 600); do
    if [ "$(jq -r .pid "$1/status.json" 2>/dev/null)" = "$2" ]; then
      NATIVE=$(jq -r '.native.address // empty' "$1/status.json")
      COLMET=$(jq -r '.colmet.address // empty' "$1/status.json")
      return 0
    fi
    kill -0 "$2" 2>/dev/null || break
    sleep 0.05
  done
  fail "the collector did not come up: $(cat "$1.err")"
}

# status NAME FILTER: a value of its status
status_of() {
  plimsoll collect --status --json --log "$1" | jq -r "$2"
}

# until NAME FILTER: waits until a condition on its status holds
until_status() {
  for _ in $(seq 600); do
    [ "$(status_of "$1" "$2")" != true ] || return 0
    sleep 0.1
  done
  fail "waited in vain for $2: $(status_of "$1" .)"
}

# Waits until all sinks have all of so many entries.
until_stored() {
  until_status "$1" ".log.next == $2 + 1 and ([.sinks[] | .position == $2 + 1] | all)"
}

# The end that an operator asks for.
collector_stop() {
  kill -TERM "$1"
  wait "$1"
}

# deliver NODE FROM TO [JOBS [READINGS]]: batches of a node, until they are acknowledged
deliver() {
  "$PROGRAMS/feeder" deliver "$NATIVE" "$WORK/spool.$1" "$1" "$2" "$3" "${4:-3}" "${5:-5}"
}
