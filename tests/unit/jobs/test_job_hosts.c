/* Hosts that take part, by the variables of launchers and batch systems. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs/job_hosts.h"

static const char *const *variables; /* name, value, name, value, NULL */

static const char *get(const char *name)
{
	for (const char *const *v = variables; *v; v += 2)
		if (!strcmp(v[0], name))
			return v[1];
	return NULL;
}

static struct job_hosts find(const char *const *list, const char *host)
{
	struct job_hosts p;

	variables = list;
	job_hosts_find(&p, get, host);
	return p;
}

static void alone_without_any(void **state)
{
	static const char *const none[] = {NULL};
	struct job_hosts p = find(none, "here");

	(void)state;
	assert_string_equal(p.self, "here");
	assert_int_equal(p.expected, 1);
	assert_int_equal(p.name_count, 0);
	assert_true(p.first);
	job_hosts_release(&p);
}

static void a_step_of_slurm(void **state)
{
	static const char *const list[] = {"SLURM_JOB_NODELIST",
					   "n[1-8]",
					   "SLURM_STEP_NODELIST",
					   "n[3,5-6]",
					   "SLURM_STEP_ID",
					   "2",
					   "SLURMD_NODENAME",
					   "n5",
					   "SLURM_NODEID",
					   "1",
					   NULL};
	static const char *const first[] = {"SLURM_STEP_NODELIST",
					    "n[3,5-6]",
					    "SLURM_STEP_ID",
					    "2",
					    "SLURMD_NODENAME",
					    "n3",
					    "SLURM_NODEID",
					    "0",
					    NULL};
	struct job_hosts p = find(list, "something.else");

	(void)state;
	assert_string_equal(p.self, "n5");
	assert_int_equal(p.expected, 3);
	assert_string_equal(p.names[0], "n3");
	assert_string_equal(p.names[2], "n6");
	assert_false(p.first);
	job_hosts_release(&p);
	p = find(first, "x");
	assert_true(p.first);
	job_hosts_release(&p);
}

static void the_batch_script_of_slurm_is_alone(void **state)
{
	static const char *const list[] = {
		"SLURM_JOB_NODELIST", "n[1-8]", "SLURMD_NODENAME", "n1", "SLURM_NODEID", "0", NULL};
	struct job_hosts p = find(list, "x");

	(void)state;
	assert_string_equal(p.self, "n1");
	assert_int_equal(p.expected, 1);
	assert_true(p.first);
	job_hosts_release(&p);
}

static void bad_lists_are_as_none(void **state)
{
	static const char *const list[] = {
		"SLURM_STEP_NODELIST", "n[1-", "SLURM_STEP_ID", "2", "SLURMD_NODENAME", "n1", NULL};
	static const char *const name[] = {"SLURM_STEP_NODELIST",
					   "n1",
					   "SLURM_STEP_ID",
					   "2",
					   "SLURMD_NODENAME",
					   "../../n1",
					   NULL};
	struct job_hosts p = find(list, "here");

	(void)state;
	assert_string_equal(p.self, "here");
	assert_int_equal(p.expected, 1);
	job_hosts_release(&p);
	p = find(name, "here");
	assert_string_equal(p.self, "here");
	job_hosts_release(&p);
}

static void a_launcher_of_mpi(void **state)
{
	static const char *const second[] = {"OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE",
					     "4", NULL};
	static const char *const hydra[] = {"PMI_RANK", "0", "PMI_SIZE", "2", NULL};
	struct job_hosts p = find(second, "here");

	(void)state;
	assert_false(p.first);
	assert_int_equal(p.expected, 4);
	assert_int_equal(p.name_count, 0);
	job_hosts_release(&p);
	p = find(hydra, "here");
	assert_true(p.first);
	assert_int_equal(p.expected, 2);
	job_hosts_release(&p);
}

static void a_file_of_nodes(void **state)
{
	char path[] = "/tmp/peers-XXXXXX";
	int fd = mkstemp(path);
	const char text[] = "alpha.site\nalpha.site\nbeta.site\ngamma.site\n";
	const char *const list[] = {"PBS_NODEFILE", "/no/such/file", "PBS_NODEFILE_LOCAL", path,
				    NULL};
	struct job_hosts p;

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	p = find(list, "beta");
	assert_string_equal(p.self, "beta.site");
	assert_int_equal(p.expected, 3);
	assert_false(p.first);
	job_hosts_release(&p);
	p = find(list, "alpha");
	assert_true(p.first);
	job_hosts_release(&p);
	/* a host that is not in it is alone */
	p = find(list, "delta");
	assert_int_equal(p.expected, 1);
	assert_true(p.first);
	job_hosts_release(&p);
	unlink(path);
}

/* Open MPI inside of Slurm: its daemons are a step of all nodes but the first, where the programs
 * are children of mpirun in the batch script. */
static void mpirun_inside_slurm(void **state)
{
	static const char *const first[] = {"SLURM_JOB_NODELIST",
					    "n[1-3]",
					    "SLURMD_NODENAME",
					    "n1",
					    "SLURM_NODEID",
					    "0",
					    "OMPI_COMM_WORLD_SIZE",
					    "3",
					    "OMPI_COMM_WORLD_RANK",
					    "0",
					    NULL};
	static const char *const second[] = {"SLURM_JOB_NODELIST",
					     "n[1-3]",
					     "SLURM_STEP_NODELIST",
					     "n[2-3]",
					     "SLURM_STEP_ID",
					     "0",
					     "SLURMD_NODENAME",
					     "n2",
					     "SLURM_NODEID",
					     "0",
					     "OMPI_COMM_WORLD_SIZE",
					     "3",
					     "OMPI_COMM_WORLD_RANK",
					     "1",
					     NULL};
	struct job_hosts p = find(first, "x");

	(void)state;
	assert_string_equal(p.self, "n1");
	assert_int_equal(p.expected, 3);
	assert_int_equal(p.name_count, 3);
	assert_true(p.first);
	job_hosts_release(&p);
	p = find(second, "x");
	assert_string_equal(p.self, "n2");
	assert_int_equal(p.expected, 3);
	assert_string_equal(p.names[0], "n1");
	assert_false(p.first);
	job_hosts_release(&p);
}

/* On fewer nodes than the job has: their names are not known, their number is. */
static void mpirun_on_some_nodes(void **state)
{
	static const char *const list[] = {"SLURM_JOB_NODELIST",
					   "n[1-3]",
					   "SLURMD_NODENAME",
					   "n2",
					   "OMPI_COMM_WORLD_SIZE",
					   "2",
					   "OMPI_COMM_WORLD_RANK",
					   "0",
					   NULL};
	struct job_hosts p = find(list, "x");

	(void)state;
	assert_string_equal(p.self, "n2");
	assert_int_equal(p.name_count, 0);
	assert_int_equal(p.expected, 2);
	assert_true(p.first);
	job_hosts_release(&p);
}

/* srun with an MPI plugin, two tasks on each node: the step's own variables say more. */
static void srun_with_pmi(void **state)
{
	static const char *const list[] = {"SLURM_STEP_NODELIST",
					   "n[2-3]",
					   "SLURM_STEP_ID",
					   "0",
					   "SLURMD_NODENAME",
					   "n3",
					   "SLURM_NODEID",
					   "1",
					   "PMI_RANK",
					   "2",
					   "PMI_SIZE",
					   "4",
					   NULL};
	struct job_hosts p = find(list, "x");

	(void)state;
	assert_int_equal(p.expected, 2);
	assert_int_equal(p.name_count, 2);
	assert_false(p.first);
	job_hosts_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone_without_any),
		cmocka_unit_test(a_step_of_slurm),
		cmocka_unit_test(the_batch_script_of_slurm_is_alone),
		cmocka_unit_test(bad_lists_are_as_none),
		cmocka_unit_test(a_launcher_of_mpi),
		cmocka_unit_test(a_file_of_nodes),
		cmocka_unit_test(mpirun_inside_slurm),
		cmocka_unit_test(mpirun_on_some_nodes),
		cmocka_unit_test(srun_with_pmi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
