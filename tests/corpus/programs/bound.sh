#!/usr/bin/env bash
# bound SECONDS N: N programs compute, each bound to the same core, as by a list of cores that was copied.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
for ((i = 0; i < $2; i++)); do
  # bound by itself before it starts the program, which inherits it
  (
    taskset -cp "$first" "$BASHPID" >/dev/null
    crunch "$wanted"
  ) &
done
wait
