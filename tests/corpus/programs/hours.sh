#!/usr/bin/env bash
# hours SECONDS: works in steps that go on for longer than the job has.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
for ((step = 0; step < 100; step++)); do
  crunch 1
done
