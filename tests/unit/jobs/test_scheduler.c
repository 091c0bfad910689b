/* Batch systems: whose variables say what, which of them wins, and which ids can name a directory.
 */
#include "unit.h"

#include "core/metrics/batch_ids.h"
#include "jobs/scheduler.h"

/* ---- an environment of our own -------------------------------------------------------------- */

static struct {
	const char *name, *value;
} environment[32];
static size_t variables;

static const char *look_up(const char *name)
{
	for (size_t i = 0; i < variables; i++)
		if (!strcmp(environment[i].name, name))
			return environment[i].value;
	return NULL;
}

static void set(const char *name, const char *value)
{
	assert_true(variables < ARRAY_SIZE(environment));
	environment[variables].name = name;
	environment[variables++].value = value;
}

static int clear(void **state)
{
	(void)state;
	variables = 0;
	return 0;
}

static const struct scheduler *check(const char *name, const char *id)
{
	const char *got = NULL;
	const struct scheduler *s = scheduler_find(look_up, &got);

	assert_non_null(s);
	assert_string_equal(s->name, name);
	assert_string_equal(got, id);
	return s;
}

static void check_fact(const struct scheduler *s, const char *key, const char *want)
{
	_cleanup_value_ struct value *metadata = scheduler_metadata(s, look_up);
	const char *got = value_get_str(metadata, key);

	if (!want && got)
		fail_msg("%s of %s is '%s' and should not be there", key, s->name, got);
	if (want && (!got || strcmp(got, want) != 0))
		fail_msg("%s of %s is '%s', not '%s'", key, s->name, got ? got : "(absent)", want);
}

/* ---- each of them --------------------------------------------------------------------------- */

static void outside_of_all(void **state)
{
	const char *id = "untouched";

	(void)state;
	assert_null(scheduler_find(look_up, &id));
	assert_string_equal(id, "untouched");
	/* names alone are no job */
	set("SLURM_JOB_NAME", "x");
	set("PBS_JOBNAME", "x");
	set("SLURM_STEP_ID", "0");
	assert_null(scheduler_find(look_up, &id));
}

static void slurm(void **state)
{
	(void)state;
	set("SLURM_JOB_ID", "101");
	set("SLURM_JOBID", "102");
	set("SLURM_JOB_NAME", "run");
	set("SLURM_ARRAY_JOB_ID", "100");
	set("SLURM_ARRAY_TASK_ID", "7");
	set("SLURM_STEP_ID", "0");
	set("SLURM_JOB_PARTITION", "batch");
	set("SLURM_JOB_NODELIST", "n[1-4]");
	set("SLURM_JOB_NUM_NODES", "4");
	set("SLURM_NTASKS", "16");
	const struct scheduler *s = check("slurm", "101");
	assert_string_equal(look_up(s->jobname), "run");
	check_fact(s, "name", "slurm");
	check_fact(s, "array_job", "100");
	check_fact(s, "array_task", "7");
	check_fact(s, "step", "0");
	check_fact(s, "partition", "batch");
	check_fact(s, "nodes", "n[1-4]");
	check_fact(s, "node_count", "4");
	check_fact(s, "tasks", "16");
	check_fact(s, "account", NULL);
}

static void slurm_by_its_old_name(void **state)
{
	(void)state;
	set("SLURM_JOB_ID", "");
	set("SLURM_JOBID", "102");
	check("slurm", "102");
}

static void pbs(void **state)
{
	(void)state;
	set("PBS_JOBID", "12[3].server");
	set("PBS_JOB_ID", "other");
	set("PBS_JOBNAME", "run");
	set("PBS_ARRAY_INDEX", "3");
	set("PBS_QUEUE", "long");
	set("PBS_NODEFILE", "/var/spool/nodes");
	const struct scheduler *s = check("pbs", "12[3].server");
	assert_string_equal(look_up(s->jobname), "run");
	check_fact(s, "array_task", "3");
	check_fact(s, "queue", "long");
	check_fact(s, "nodefile", "/var/spool/nodes");
	clear(NULL);
	/* the name that EPMT looks for */
	set("PBS_JOB_ID", "77");
	check("pbs", "77");
}

static void oar(void **state)
{
	(void)state;
	set("OAR_JOB_ID", "11");
	set("OAR_JOB_NAME", "run");
	set("OAR_ARRAY_ID", "10");
	set("OAR_ARRAY_INDEX", "2");
	set("OAR_CPUSET", "/oar/u_11");
	const struct scheduler *s = check("oar", "11");
	assert_string_equal(look_up(s->jobname), "run");
	check_fact(s, "array_job", "10");
	check_fact(s, "array_task", "2");
	check_fact(s, "cpuset", "/oar/u_11");
	clear(NULL);
	set("OAR_JOBID", "12");
	check("oar", "12");
}

static void lsf(void **state)
{
	(void)state;
	set("LSB_JOBID", "5");
	set("LSB_JOBNAME", "run[1-9]");
	set("LSB_JOBINDEX", "4");
	set("LSB_QUEUE", "normal");
	const struct scheduler *s = check("lsf", "5");
	assert_string_equal(look_up(s->jobname), "run[1-9]");
	check_fact(s, "array_task", "4");
	check_fact(s, "queue", "normal");
}

static void flux(void **state)
{
	(void)state;
	set("FLUX_JOB_ID", "f2Gkk6Q5");
	set("FLUX_JOB_NNODES", "2");
	set("FLUX_JOB_SIZE", "8");
	set("FLUX_TASK_RANK", "1");
	const struct scheduler *s = check("flux", "f2Gkk6Q5");
	check_fact(s, "node_count", "2");
	check_fact(s, "tasks", "8");
	check_fact(s, "task", "1");
}

static void sge(void **state)
{
	(void)state;
	set("JOB_ID", "33");
	set("JOB_NAME", "run");
	set("SGE_TASK_ID", "9");
	set("NSLOTS", "4");
	const struct scheduler *s = check("sge", "33");
	assert_string_equal(look_up(s->jobname), "run");
	check_fact(s, "array_task", "9");
	check_fact(s, "slots", "4");
}

/* Both set the variable in every job and say in it that there is no array. */
static void jobs_that_are_no_arrays(void **state)
{
	(void)state;
	set("LSB_JOBID", "5");
	set("LSB_JOBINDEX", "0");
	check_fact(check("lsf", "5"), "array_task", NULL);
	clear(NULL);
	set("JOB_ID", "33");
	set("SGE_TASK_ID", "undefined");
	check_fact(check("sge", "33"), "array_task", NULL);
}

/* ---- order ---------------------------------------------------------------------------------- */

static void the_first_that_says_something_wins(void **state)
{
	(void)state;
	/* JOB_ID is a name that anything might use */
	set("JOB_ID", "1");
	set("FLUX_JOB_ID", "2");
	check("flux", "2");
	set("LSB_JOBID", "3");
	check("lsf", "3");
	set("OAR_JOB_ID", "4");
	check("oar", "4");
	set("PBS_JOBID", "5");
	check("pbs", "5");
	set("SLURM_JOBID", "6");
	check("slurm", "6");
}

static void empty_values_say_nothing(void **state)
{
	(void)state;
	set("SLURM_JOB_ID", "");
	set("SLURM_JOBID", "");
	set("PBS_JOBID", "");
	set("OAR_JOB_ID", "9");
	set("OAR_ARRAY_INDEX", "");
	set("OAR_PROJECT_NAME", "");
	check_fact(check("oar", "9"), "array_task", NULL);
	check_fact(check("oar", "9"), "project", NULL);
}

static void rows_are_sound(void **state)
{
	(void)state;
	for (const struct scheduler *s = schedulers; s->name; s++) {
		assert_non_null(s->id[0]);
		assert_non_null(s->jobname);
		/* the list of metadata ends before its room does */
		assert_null(s->metadata[ARRAY_SIZE(s->metadata) - 1].key);
		for (size_t i = 0; s->metadata[i].key; i++) {
			assert_non_null(s->metadata[i].variable);
			assert_string_not_equal(s->metadata[i].key, "name");
			for (size_t j = 0; j < i; j++)
				assert_string_not_equal(s->metadata[i].key, s->metadata[j].key);
		}
	}
}

/* ---- ids ------------------------------------------------------------------------------------ */

static void ids_that_can_name_a_directory(void **state)
{
	static const char *const good[] = {
		"1",        "4711", "12[3].server", "a-b_c.d", "x..y",
		"1234.sdb", "~",    "-1",           "a:b@c+d", "20261115T041500-host-4711"};
	static const char *const bad[] = {"",     ".",   "..",   ".hidden", "a/b",  "/",
					  "../x", "a b", "a\tb", "a\n",     "\x7f", "a\x1b"};
	char id[131];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (!job_id_valid(good[i]))
			fail_msg("'%s' is refused", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (job_id_valid(bad[i]))
			fail_msg("'%s' is taken", bad[i]);
	memset(id, 'x', sizeof(id));
	id[128] = 0;
	assert_true(job_id_valid(id));
	id[128] = 'x';
	id[129] = 0;
	assert_false(job_id_valid(id));
}

static void ids_of_our_own(void **state)
{
	_cleanup_free_ char *id = job_id_make(), *again = job_id_make();
	_cleanup_free_ char *end = xasprintf("-%d", (int)getpid());

	(void)state;
	assert_true(job_id_valid(id));
	assert_true(str_suffix(id, end));
	assert_int_equal(strspn(id, "0123456789"), 8);
	assert_int_equal(id[8], 'T');
	assert_int_equal(strspn(id + 9, "0123456789"), 6);
	assert_int_equal(id[15], '-');
	/* it sorts by time */
	assert_true(strcmp(id, again) <= 0);
	/* in every zone, and when its clocks go back */
	const char *zone = getenv("TZ");
	_cleanup_free_ char *before = zone ? xstrdup(zone) : NULL;
	setenv("TZ", "WEST12", 1);
	tzset();
	_cleanup_free_ char *west = job_id_make();
	setenv("TZ", "EAST-12", 1);
	tzset();
	_cleanup_free_ char *east = job_id_make();
	(void)(before ? setenv("TZ", before, 1) : unsetenv("TZ"));
	tzset();
	assert_true(strcmp(id, west) <= 0 && strcmp(west, east) <= 0);
}

/* The preload library has a table of its own. */
static void the_library_knows_the_same_variables(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(batch_ids); i++) {
		const struct scheduler *s = schedulers;

		while (s->name && strcmp(s->name, batch_ids[i].name) != 0)
			s++;
		assert_non_null(s->name);
		for (int k = 0; k < 2; k++)
			assert_string_equal(batch_ids[i].id[k], s->id[k] ? s->id[k] : "");
		assert_null(s->id[2]);
	}
}

#define test(f) cmocka_unit_test_setup(f, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(outside_of_all),
		test(slurm),
		test(slurm_by_its_old_name),
		test(pbs),
		test(oar),
		test(lsf),
		test(flux),
		test(sge),
		test(jobs_that_are_no_arrays),
		test(the_first_that_says_something_wins),
		test(empty_values_say_nothing),
		test(rows_are_sound),
		test(the_library_knows_the_same_variables),
		test(ids_that_can_name_a_directory),
		test(ids_of_our_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
