/* What tells of a job's processes: scontrol's table, mounts and lines of groups, environments. */
#include "fuzz.h"

#include <string.h>

#include "jobs/discovery/job_processes_internal.h"

static void environment(const struct job_processes_finder *f, const struct strbuf *text)
{
	static const char *const names[] = {"HOME", "PMI_RANK", "SLURM_JOB_ID", ""};
	int rank = environ_rank(text);
	const char *value;
	size_t n;

	REQUIRE(rank >= -1);
	(void)environ_has_job(f, text);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (environ_find(text, names[i], &value, &n))
			REQUIRE(value > text->buf && value + n <= text->buf + text->len);
}

static void groups(struct job_processes_finder *f, const struct strbuf *text)
{
	char *mounts = xstrndup(text->buf, text->len), *lines = xstrndup(text->buf, text->len);
	char *controllers, *path, *p = lines;

	mounts_parse(&f->mounts, mounts);
	for (size_t n = 0; mount_nth(&f->mounts, n); n++)
		REQUIRE(n < f->mounts.count);
	while (mount_line(&p, &controllers, &path)) {
		const struct cgroup_mount *m = mount_of(&f->mounts, controllers);

		REQUIRE(controllers > lines && path > controllers);
		if (m)
			free(mount_dir(m, path));
	}
	(void)mount_above(&f->mounts, text->buf);
	free(mounts);
	free(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char root[] = "", job[] = "4711";
	struct job_processes_finder f = {.root = root, .job = job, .own_step = -1};
	struct strbuf text = STRBUF_INIT;

	strbuf_add(&text, data, size);
	environment(&f, &text);
	groups(&f, &text);
	scontrol_parse(&f, text.buf);
	for (size_t i = 0; i < f.listed_count; i++) {
		REQUIRE(f.listed[i].pid > 0);
		REQUIRE(f.listed[i].step >= -1 && f.listed[i].step < (int)f.step_count);
	}
	for (size_t i = 0; i < f.step_count; i++)
		REQUIRE(memchr(f.steps[i].name, 0, sizeof(f.steps[i].name)));
	mounts_close(&f.mounts);
	free(f.listed);
	free(f.steps);
	strbuf_release(&text);
	return 0;
}
