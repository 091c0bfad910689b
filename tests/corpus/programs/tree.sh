#!/usr/bin/env bash
# tree SECONDS DIR: copies and removes a tree of 2,000 empty files.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
mkdir -p "$2/from"
for ((i = 0; i < 20; i++)); do
  mkdir -p "$2/from/$i"
  (cd "$2/from/$i" && seq 1 100 | xargs touch)
done
until passed; do
  cp -r "$2/from" "$2/to"
  rm -r "$2/to"
done
rm -r "$2/from"
