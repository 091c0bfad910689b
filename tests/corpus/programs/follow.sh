#!/usr/bin/env bash
# follow SECONDS FIFO: reads what a program outside of the job writes, a line at a time, slowly.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
lines=0
while read -r line; do
  lines=$((lines + 1))
  ! passed || break
done <"$2"
echo "$lines lines, the last was $line" >/dev/null
