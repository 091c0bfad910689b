#!/usr/bin/env bash
# kills SECONDS: a step is ended by the script that started it, as by an operator.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
crunch $((wanted + 20)) &
sleep "$wanted"
kill -KILL $!
wait $!
