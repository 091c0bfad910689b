#!/usr/bin/env bash
# dd_read SECONDS FILE: copies a file past the page cache, to nowhere.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
until passed; do
  dd if="$2" of=/dev/null bs=128k iflag=direct status=none
done
