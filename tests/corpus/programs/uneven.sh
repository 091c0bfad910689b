#!/usr/bin/env bash
# uneven SECONDS N: N programs compute; all but one have a quarter of the work.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
for ((i = 1; i < $2; i++)); do
  crunch $((wanted / 4)) &
done
crunch "$wanted" &
wait
