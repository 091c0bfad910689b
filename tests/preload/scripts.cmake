# The tests of the preload library: name, file, tier, and the identities that each runs under. Included
# by tests/CMakeLists.txt.
bats_test(preload.arguments preload/arguments.bats short root user)
bats_test(preload.beside preload/beside.bats medium root user)
bats_test(preload.descriptors preload/descriptors.bats medium root user)
bats_test(preload.exits preload/exits.bats short root user)
bats_test(preload.languages preload/languages.bats medium root user)
bats_test(preload.library preload/library.bats short root user)
bats_test(preload.mpi preload/mpi.bats medium root user)
bats_test(preload.output preload/output.bats medium root user)
bats_test(preload.processes preload/processes.bats short root user)
bats_test(preload.seccomp preload/seccomp.bats short root user)
bats_test(preload.shells preload/shells.bats medium root user)
bats_test(preload.threads preload/threads.bats medium root user)
