#!/usr/bin/env bash
# in_memory SECONDS: keeps 300 MiB of its data as a file in memory, and computes.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
file=$(mktemp -p /dev/shm)
trap 'rm -f "$file"' EXIT
head -c 300M /dev/zero >"$file"
crunch "$wanted"
