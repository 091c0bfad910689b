#!/usr/bin/env bash
# kills SECONDS: a step is ended by the script that started it, as by an operator.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
awk 'BEGIN { for (;;) x = x * 0.5 + 1 }' &
sleep "$wanted"
kill -KILL $!
wait $!
