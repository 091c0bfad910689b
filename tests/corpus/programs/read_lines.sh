#!/usr/bin/env bash
# read_lines SECONDS: the shell reads lines from a pipe, which it does a byte at a time.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
until passed; do
  seq 1 20000 | while read -r line; do
    [ -n "$line" ] || echo "an empty line"
  done
done
