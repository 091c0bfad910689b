#!/usr/bin/env bats
# Open MPI and MPICH programs run the same with the library, and each rank is recorded with its number
# and the number of all.

# shellcheck disable=SC2034 # variables of lib.bash
load lib

# The launchers keep sockets whose numbers depend on the order of events, so they are not traced.
OBSERVE=(-u)

check_ranks() {
  local rank
  equal status "$status" 0
  equal ranks "$(rows '.exename == "ranks"')" 3
  for rank in 0 1 2; do
    recorded ".exename == \"ranks\" and .mpirank == $rank" numranks 3
    recorded ".exename == \"ranks\" and .mpirank == $rank" exitcode 0
  done
  equal 'launcher without a rank' "$(rows '.exename != "ranks" and .mpirank')" 0
}

@test "Open MPI" {
  need mpicc.openmpi mpirun.openmpi
  mpicc.openmpi -o "$WORK/ranks" "$PL_SOURCE/tests/preload/programs/ranks.c"
  local root=()
  [ "$(id -u)" != 0 ] || root=(--allow-run-as-root)
  compare mpirun.openmpi "${root[@]}" --oversubscribe -q -n 3 "$WORK/ranks" 0
  check_ranks
}

@test "MPICH" {
  need mpicc.mpich mpirun.mpich
  mpicc.mpich -o "$WORK/ranks" "$PL_SOURCE/tests/preload/programs/ranks.c"
  compare mpirun.mpich -n 3 "$WORK/ranks" 0
  check_ranks
}
