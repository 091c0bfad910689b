#!/usr/bin/env bash
# awks SECONDS N: N programs compute beside each other.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
for ((i = 0; i < $2; i++)); do
  crunch "$wanted" &
done
wait
