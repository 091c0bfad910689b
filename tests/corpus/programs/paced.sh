#!/usr/bin/env bash
# paced SECONDS: a line every 100 ms, which the rest of the pipeline waits for.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
for ((i = 0; i < wanted * 10; i++)); do
  echo "$i"
  sleep 0.1
done | sed -u 's/1/one/' | tail -1 >/dev/null
