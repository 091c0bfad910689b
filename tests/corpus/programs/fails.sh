#!/usr/bin/env bash
# fails SECONDS: the second step of a script finds no input.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
set -e
crunch "$wanted"
cat /nonexistent/input.nml
crunch 1
