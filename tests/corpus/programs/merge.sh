#!/usr/bin/env bash
# merge SECONDS N: N parts are computed beside each other in a third of the time, then one program merges them.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
for ((i = 0; i < $2; i++)); do
  crunch $((wanted / 3)) &
done
wait
crunch $((wanted - wanted / 3))
