# The bats files: name, file, tier, and the identities that each runs under.
bats_test(cli.run cli/run.bats short root user)
bats_test(cli.job cli/job.bats short root user)
bats_test(cli.commands cli/commands.bats short root user)
bats_test(cli.epmt cli/epmt.bats short root user)
