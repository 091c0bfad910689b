/*
 * The variables with a batch system's job id, best first, by the name in PLIMSOLL_CONTEXT. Header
 * only: the preload library uses them to check that it is still in its job. jobs/scheduler.c has
 * the same ones. Flux is missing since commands in a Flux job have their own ids, like steps
 * elsewhere.
 */
#pragma once

static const struct {
	char name[8];
	char id[2][16];
} batch_ids[] = {
	{"slurm", {"SLURM_JOB_ID", "SLURM_JOBID"}},
	{"pbs", {"PBS_JOBID", "PBS_JOB_ID"}},
	{"oar", {"OAR_JOB_ID", "OAR_JOBID"}},
	{"lsf", {"LSB_JOBID", ""}},
	{"sge", {"JOB_ID", ""}},
};
