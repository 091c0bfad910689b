/*
 * The variables that hold a batch system's job id, best first, by the name that PLIMSOLL_CONTEXT
 * has for it. Header only: the preload library tells by them whether it is still in the job that it
 * was set for. The table of batch systems (jobs/scheduler.c) has the same ones. Flux is not here:
 * what runs in a job of Flux has ids of its own, as steps have elsewhere.
 */
#ifndef PL_CORE_METRICS_BATCH_IDS_H
#define PL_CORE_METRICS_BATCH_IDS_H

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

#endif
