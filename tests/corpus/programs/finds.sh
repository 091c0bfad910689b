#!/usr/bin/env bash
# finds SECONDS DIR: looks for files that changed among many, again and again.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
for d in {1..60}; do
  mkdir "$2/$d"
  for f in {1..250}; do : > "$2/$d/$f"; done
done
until passed; do
  find "$2" -type f -newer /proc/self > /dev/null
done
true
