#!/usr/bin/env bats
# bats file_tags=epmt
# EPMT's Python modules: what EPMT's own tests expect of its sample data.

bats_require_minimum_version 1.5.0
load store

DATA=${PLIMSOLL_TEST_DATA:-$PL_SOURCE/../shared/data}

# expected FOLDER CHECKS ZONE
expected() {
  [ -d "$DATA/epmt/$1" ] || skip "no sample data beside the project"
  export PLIMSOLL_DB=$WORK/store.db PYTHONDONTWRITEBYTECODE=1 EPMT_TZ=$3 TZ=$3
  plimsoll submit -q "$DATA/epmt/$1"/*.tgz
  epmt python -W error::RuntimeWarning "$PL_SOURCE/tests/cli/epmt_expected_check.py" "$2" >said
  grep -qE '^[0-9]+ checks$' said
}

@test "three jobs of an experiment: queries, trees, operations, costs, time segments, statistics" {
  expected query jobs US/Eastern
}

@test "four builds of a kernel: outliers, models, detectors, distributions, components, root causes" {
  expected outliers kernels Asia/Kolkata
}
