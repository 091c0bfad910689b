#!/usr/bin/env bash
# flocks SECONDS N FILE: N shells run one program at a time, below a lock.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
one() {
  until passed; do
    flock "$1" awk 'BEGIN { for (i = 0; i < 4000000; i++) x = x * 0.5 + i }'
  done
}
for ((i = 0; i < $2; i++)); do
  one "$3" &
done
wait
rm -f "$3"
