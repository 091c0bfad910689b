#!/usr/bin/env bash
# sequence SECONDS: one program after the other, none of which needs the one before.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
until passed; do
  awk 'BEGIN { for (i = 0; i < 8000000; i++) x = x * 0.5 + i }'
done
