#!/usr/bin/env bash
# dd_bytes SECONDS: copies a byte at a time.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
until passed; do
  dd if=/dev/zero of=/dev/null bs=1 count=500000 status=none
done
