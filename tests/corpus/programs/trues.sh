#!/usr/bin/env bash
# trues SECONDS: one tiny program for each line of the input.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
until passed; do
  seq 1 200 | xargs -n 1 /bin/true
done
