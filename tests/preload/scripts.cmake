# The tests of the preload library: name, file, tier, and the identities that each runs under. Included
# by tests/CMakeLists.txt.
# As root and as user: what depends on rights (files that may not be written, programs that change their identity, roots
# and namespaces, filters of system calls, limits on descriptors). The others compare a program with and without the
# library, which asks only whose a file of records is (preload.output).
bats_test(preload.arguments preload/arguments.bats short user)
bats_test(preload.beside preload/beside.bats medium user root:root)
bats_test(preload.descriptors preload/descriptors.bats medium root user)
bats_test(preload.execs preload/execs.bats medium root user)
bats_test(preload.exits preload/exits.bats short user)
bats_test(preload.languages preload/languages.bats medium user)
bats_test(preload.library preload/library.bats short user)
bats_test(preload.matrix preload/matrix.bats medium user)
bats_test(preload.mpi preload/mpi.bats medium user)
bats_test(preload.output preload/output.bats medium user root:root)
bats_test(preload.papiex preload/papiex.bats medium user)
bats_test(preload.processes preload/processes.bats short root user)
bats_test(preload.reaps preload/reaps.bats short user root:root)
bats_test(preload.roots preload/roots.bats short root user)
bats_test(preload.seccomp preload/seccomp.bats short root user)
bats_test(preload.shells preload/shells.bats medium user)
bats_test(preload.threads preload/threads.bats medium user root:root)
bats_test(preload.totals preload/totals.bats medium user root:root)
bats_test(preload.unseen preload/unseen.bats medium root user)
bats_test(interop.old_glibc preload/old_glibc.bats interop root)
