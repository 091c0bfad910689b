#!/usr/bin/env bash
# names SECONDS: a shell script that calls basename, dirname and expr for each step of its work.
# shellcheck source=tests/corpus/programs/common.sh
source "${0%/*}/common.sh"
n=0
until passed; do
  name=$(basename "/data/run.$n.nc" .nc)
  place=$(dirname "/data/run.$n.nc")
  n=$(expr "$n" + 1) # as scripts do that are older than $(( ))
  : "$name $place"
done
