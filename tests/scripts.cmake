# The bats files: name, file, tier, and the identities that each runs under.
bats_test(cli.run cli/run.bats "short;sanitized" root user)
bats_test(cli.job cli/job.bats "short;sanitized" root user)
bats_test(cli.commands cli/commands.bats "short;sanitized" root user)
bats_test(cli.epmt cli/epmt.bats "short;sanitized" root user)
bats_test(cli.slurm cli/slurm.bats medium root)
bats_test(cli.startup cli/startup.bats short root user)
bats_test(cli.install cli/install.bats short root)
