/* What a batch job asked for: its environment, and the answers of scontrol and qstat. */
#include "unit.h"

#include "jobs/request.h"

struct variable {
	const char *name, *value;
};

static const char *look_up(const void *user, const char *name)
{
	for (const struct variable *v = user; v->name; v++)
		if (!strcmp(v->name, name))
			return v->value;
	return NULL;
}

static void expect(const struct job_request *r, int64_t cores, int64_t tasks, int64_t nodes,
		   int64_t memory, int64_t time, int64_t gpus)
{
	const int64_t want[REQUEST_ITEMS] = {cores, tasks, nodes, memory, time, gpus};

	for (size_t i = 0; i < REQUEST_ITEMS; i++)
		if (r->item[i] != want[i])
			fail_msg("%s: %lld, expected %lld", request_names[i], (long long)r->item[i],
				 (long long)want[i]);
}

#define GIB ((int64_t)1 << 30)
#define MIB ((int64_t)1 << 20)

static void by_variables(void **state)
{
	const struct variable slurm[] = {{"SLURM_JOB_CPUS_PER_NODE", "16(x2),8"},
					 {"SLURM_JOB_NUM_NODES", "3"},
					 {"SLURM_NTASKS", "10"},
					 {"SLURM_MEM_PER_CPU", "1024"},
					 {"SLURM_JOB_START_TIME", "1700000000"},
					 {"SLURM_JOB_END_TIME", "1700003600"},
					 {"SLURM_GPUS", "a100:6"},
					 {NULL, NULL}},
			      node[] = {{"SLURM_CPUS_ON_NODE", "4"},
					{"SLURM_MEM_PER_NODE", "2048"},
					{"SLURM_GPUS_ON_NODE", "2"},
					{"SLURM_JOB_NUM_NODES", "2"},
					{NULL, NULL}},
			      pbs[] = {{"PBS_NP", "32"},
				       {"PBS_NUM_NODES", "2"},
				       {"PBS_WALLTIME", "7200"},
				       {NULL, NULL}},
			      devices[] = {{"CUDA_VISIBLE_DEVICES", "0,3"}, {NULL, NULL}},
			      no_device[] = {{"CUDA_VISIBLE_DEVICES", "NoDevFiles"},
					     {"ROCR_VISIBLE_DEVICES", "-1"},
					     {NULL, NULL}},
			      hostile[] = {{"SLURM_JOB_CPUS_PER_NODE", "16(x,"},
					   {"SLURM_MEM_PER_NODE", "-5"},
					   {"SLURM_NTASKS", "99999999999999999999"},
					   {"SLURM_JOB_START_TIME", "5"},
					   {"SLURM_JOB_END_TIME", "4"},
					   {"SLURM_GPUS", "a:1,b:2"},
					   {NULL, NULL}};
	struct job_request r = REQUEST_UNKNOWN;

	(void)state;
	request_from_environment(look_up, slurm, &r);
	expect(&r, 40, 10, 3, 16 * GIB, 3600, 6);
	/* what is known stays */
	request_from_environment(look_up, pbs, &r);
	expect(&r, 40, 10, 3, 16 * GIB, 3600, 6);
	r = (struct job_request)REQUEST_UNKNOWN;
	request_from_environment(look_up, node, &r);
	expect(&r, 8, -1, 2, 2 * GIB, -1, 4);
	r = (struct job_request)REQUEST_UNKNOWN;
	request_from_environment(look_up, pbs, &r);
	expect(&r, 32, -1, 2, -1, 7200, -1);
	r = (struct job_request)REQUEST_UNKNOWN;
	request_from_environment(look_up, devices, &r);
	expect(&r, -1, -1, -1, -1, -1, 2);
	r = (struct job_request)REQUEST_UNKNOWN;
	request_from_environment(look_up, no_device, &r);
	expect(&r, -1, -1, -1, -1, -1, -1);
	request_from_environment(look_up, hostile, &r);
	expect(&r, -1, -1, -1, -1, -1, -1);
}

/* The lines that matter of `scontrol show job`, of Slurm 22.05; the name tries to pass for one. */
static const char answer[] = "JobId=12 JobName=a TimeLimit=00:00:01 NumCPUs=999\n"
			     "   UserId=eva(1000) GroupId=eva(1000) MCS_label=N/A\n"
			     "   RunTime=00:00:03 TimeLimit=1-02:03:04 TimeMin=N/A\n"
			     "   NumNodes=2 NumCPUs=8 NumTasks=4 CPUs/Task=2 ReqB:S:C:T=0:0:*:*\n"
			     "   TRES=cpu=8,mem=6G,node=2,billing=8,gres/gpu=3\n"
			     "   MinCPUsNode=2 MinMemoryNode=3G MinTmpDiskNode=0\n"
			     "   Command=/home/eva/MinMemoryNode=9G RunTime=1 TimeLimit=5\n"
			     "   WorkDir=/home/eva\n";

static void by_scontrol(void **state)
{
	struct job_request r = REQUEST_UNKNOWN;

	(void)state;
	request_from_scontrol(answer, &r);
	expect(&r, 8, 4, 2, 3 * GIB, 86400 + 7384, 3);
	/* how long the job ran before it was asked */
	r = (struct job_request)REQUEST_UNKNOWN;
	request_from_scontrol("   RunTime=1-00:00:07 TimeLimit=2-00:00:00 TimeMin=N/A", &r);
	assert_int_equal(r.ran_before, 86407);
	r = (struct job_request)REQUEST_UNKNOWN;
	request_from_scontrol("JobName=RunTime=9\n", &r);
	assert_int_equal(r.ran_before, -1);
	/* memory per core; no limits; other forms */
	r = (struct job_request)REQUEST_UNKNOWN;
	request_from_scontrol("   RunTime=00:00:03 TimeLimit=UNLIMITED TimeMin=N/A\n"
			      "   NumNodes=2-2 NumCPUs=5 NumTasks=N/A CPUs/Task=1\n"
			      "   MinCPUsNode=1 MinMemoryCPU=1500M MinTmpDiskNode=0",
			      &r);
	expect(&r, 5, -1, 2, 3 * 1500 * MIB, -1, -1);
	/* a host's whole memory is 0 */
	r = (struct job_request)REQUEST_UNKNOWN;
	request_from_scontrol("RunTime=1 TimeLimit=30:00\nMinCPUsNode=1 MinMemoryNode=0\n"
			      "ReqTRES=cpu=1,mem=512M,node=1",
			      &r);
	expect(&r, 1, -1, 1, 512 * MIB, 1800, -1);
	static const char *const garbage[] = {"",
					      "\n\n",
					      "slurm_load_jobs error: Invalid job id",
					      "RunTime=1 TimeLimit=",
					      "NumNodes= NumCPUs=x",
					      "MinCPUsNode=1 MinMemoryNode=9999999999999P",
					      "RunTime=0 TimeLimit=1-2-3",
					      "TRES=mem=,cpu="};
	for (size_t i = 0; i < ARRAY_SIZE(garbage); i++) {
		r = (struct job_request)REQUEST_UNKNOWN;
		request_from_scontrol(garbage[i], &r);
		expect(&r, -1, -1, -1, -1, -1, -1);
	}
}

static void by_qstat(void **state)
{
	struct job_request r = REQUEST_UNKNOWN;

	(void)state;
	request_from_qstat("Job Id: 7.server\n    Job_Name = Resource_List.mem = 9tb\n"
			   "    Resource_List.mem = 4gb\n    Resource_List.ncpus = 8\n"
			   "    Resource_List.ngpus = 1\n    Resource_List.nodect = 2\n"
			   "    Resource_List.walltime = 01:30:00\n",
			   &r);
	expect(&r, 8, -1, 2, 2 * GIB, 5400, 1);
}

static void as_metadata(void **state)
{
	_cleanup_value_ struct value *dict = value_new(VALUE_DICT);
	struct job_request r;

	(void)state;
	request_from_metadata(NULL, &r);
	expect(&r, -1, -1, -1, -1, -1, -1);
	value_set(dict, "memory", value_int(5));
	value_set(dict, "time", value_int(-7));
	value_set(dict, "cores", value_str("8"));
	request_from_metadata(dict, &r);
	expect(&r, -1, -1, -1, 5, -1, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_variables),
		cmocka_unit_test(by_scontrol),
		cmocka_unit_test(by_qstat),
		cmocka_unit_test(as_metadata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
