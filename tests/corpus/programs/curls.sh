#!/usr/bin/env bash
# curls SECONDS HOST PORT: asks a server by one curl after the other.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
until passed; do
  curl -s "http://$2:$3/" > /dev/null
done
