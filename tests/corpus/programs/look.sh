#!/usr/bin/env bash
# look SECONDS FILE: looks twice a second for a file that never comes.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
until [ -e "$2" ] || passed; do
  sleep 0.5
done
