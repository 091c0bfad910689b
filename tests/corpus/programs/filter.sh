#!/usr/bin/env bash
# filter SECONDS: a pipeline whose first program computes each line; the others wait for it.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
awk -v limit="$wanted" 'BEGIN {
  srand(); begin = srand(); srand(); t = begin
  while (t - begin < limit) { for (i = 0; i < 200000; i++) x = x * 0.5 + i; print x; fflush(); srand(); t = srand() }
}' | sed 's/e/E/' | sort -n | uniq -c | tail -1 >/dev/null
