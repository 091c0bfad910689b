#!/usr/bin/env bash
# gives_up SECONDS: a step has a time of its own, which is too short.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
timeout "$wanted" awk 'BEGIN { while (1) x = x * 0.5 + 1 }'
