#!/usr/bin/env bash
# dd_sync SECONDS FILE: writes results, and waits until each block is on the disk.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
until passed; do
  dd if=/dev/zero of="$2" bs=64k count=200 oflag=dsync status=none
done
rm -f "$2"
