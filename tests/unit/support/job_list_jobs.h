/* Jobs for the tests of the list of jobs, in a store and in memory, and filters with what they
 * mean. */
#pragma once

#include "store_engine.h"

#include "store/ingest/merge_streamed.h"
#include "store/filter/filter.h"
#include "store/job_words.h"

#define JOBS 3000
#define SECOND INT64_C(1000000)
#define BEGIN (INT64_C(1700000000) * SECOND)

struct job {
	char id[24], name[48];
	const char *user, *hosts[3], *project;      /* NULL: none */
	int64_t start, duration, cpu, core, energy; /* -1: unknown */
	int exitcode;                               /* -1: none */
	bool fed, running;
	unsigned run; /* a tag */
};
static struct job jobs[JOBS + 1]; /* from 1 */

static uint64_t random_state = 7;
static inline unsigned below(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static const char *const users[] = {"alice", "bob", "it's", "caro", "alice2"};
static const char *const hosts[] = {"n1", "n10", "n2", "gpu1"};
static const char *const names[] = {
	"ocean model %u", "atmos-ocean_%u",       "Oceanic%u", "run.sh", "gmx md d%u",
	"d1 d2 d%u",      "\xc3\xa9t\xc3\xa9 %u", ""};

static inline void make_job(struct job *j, int n)
{
	static const int codes[] = {0, 0, 0, 0, 1, 137, -1};
	const char *name = names[below(ARRAY_SIZE(names))], *mark = strstr(name, "%u");

	snprintf(j->id, sizeof(j->id), n % 5 ? "%d" : "%d_7", 70000 + n);
	snprintf(j->name, sizeof(j->name), "%.*s", mark ? (int)(mark - name) : (int)strlen(name),
		 name);
	if (mark)
		snprintf(j->name + strlen(j->name), 12, "%u", below(30));
	j->user = below(20) ? users[below(ARRAY_SIZE(users)) * below(2)] : NULL;
	j->project = below(4) ? below(3) ? "climate" : "bio" : NULL;
	j->run = below(50);
	for (unsigned i = 0; i < below(4) && i < 3; i++)
		j->hosts[i] = hosts[(below(2) + i) % ARRAY_SIZE(hosts)];
	/* several begin at the same time, and some at none */
	j->start = below(25) ? BEGIN + (int64_t)below(800) * 3600 * SECOND : -1;
	j->duration = j->start >= 0 && below(10) ? (int64_t)below(40) * 60 * SECOND : -1;
	j->cpu = (int64_t)below(1000) * SECOND;
	j->core = j->duration >= 0 && below(3) ? j->duration * 4 : -1;
	j->energy = below(2) ? (int64_t)below(100000) : -1;
	j->fed = below(12) == 0;
	j->running = j->fed && below(2);
	j->exitcode = j->fed ? -1 : codes[below(ARRAY_SIZE(codes))];
}

static inline void write_lists(struct store *s, const struct job *j, int64_t no)
{
	int64_t start = j->start >= 0 ? j->start : 0;

	good(s, job_words_write(s, no, j->id, j->name, start));
	for (int i = 0; i < 3; i++)
		if (j->hosts[i])
			good(s,
			     store_run(
				     s,
				     "INSERT INTO job_host (job, host, num_procs, start_us) VALUES "
				     "($1, $2, 1, $3) ON CONFLICT DO NOTHING",
				     db_int(no), db_str(j->hosts[i]), db_int(start)));
	_cleanup_free_ char *run = xasprintf("%u", j->run);
	static const char sql[] =
		"INSERT INTO job_tag (job, key, value, start_us) VALUES ($1, $2, $3, $4)";
	good(s, store_run(s, sql, db_int(no), db_str("run"), db_str(run), db_int(start)));
	if (j->project)
		good(s, store_run(s, sql, db_int(no), db_str("project"), db_str(j->project),
				  db_int(start)));
}

static inline void write_job(struct store *s, const struct job *j, int64_t no, int64_t now)
{
	struct bulk *b = s->engine->bulk_open(
		s, "job",
		"no,jobid,jobname,username,start_us,end_us,duration_us,cpu_us,exitcode,num_procs,"
		"num_threads,peak_procs,peak_threads,bytes,format,ingested_us,core_us,energy_mj");
	bool timed = j->duration >= 0;

	good(s, bulk_end(b, bulk_put(b, db_int(no), db_str(j->id), db_str(j->name), db_str(j->user),
				     db_int_if(j->start >= 0, j->start),
				     db_int_if(timed, j->start + j->duration),
				     db_int_if(timed, j->duration), db_int(j->cpu),
				     db_int_if(j->exitcode >= 0, j->exitcode), db_int(1), db_int(1),
				     db_int(1), db_int(1), db_int(0),
				     db_str(j->fed ? STORE_FED : "papiex"),
				     db_int(j->running ? now + 3600 * SECOND : BEGIN),
				     db_int_if(j->core >= 0, j->core),
				     db_int_if(j->energy >= 0, j->energy))));
}

static inline int fill(void **state)
{
	struct store *s = open_store(url, STORE_WRITE);
	struct filter *f = filter_new(FILTER_JOBS);

	random_state = 7;
	setenv("TZ", "UTC", 1);
	good(s, schema_drop(s));
	good(s, store_begin(s));
	for (int i = 1; i <= JOBS; i++) {
		jobs[i] = (struct job){0};
		make_job(&jobs[i], i);
		write_job(s, &jobs[i], i, f->now_us);
		write_lists(s, &jobs[i], i);
	}
	good(s, store_commit(s));
	filter_free(f);
	*state = s;
	return 0;
}

static inline int empty(void **state)
{
	good(*state, schema_drop(*state));
	store_close(*state);
	return 0;
}

/* ---- what is right -------------------------------------------------------------------------- */

static inline bool on_host(const struct job *j, const char *host)
{
	for (int i = 0; i < 3; i++)
		if (j->hosts[i] && !strcmp(j->hosts[i], host))
			return true;
	return false;
}

/* Looks for a word in lower case at the beginning of a name, and behind what is no letter. */
static inline bool has_word(const struct job *j, const char *word)
{
	char all[96];
	size_t n = strlen(word);

	snprintf(all, sizeof(all), " %s %s", j->id, j->name);
	for (char *p = all; *p; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
	for (const char *p = all; *p; p++)
		if (strchr(" -_.", *p) && !strncmp(p + 1, word, n))
			return true;
	return false;
}

static inline bool is_alice(const struct job *j)
{
	return j->user && !strcmp(j->user, "alice");
}
static inline bool is_its(const struct job *j)
{
	return j->user && !strcmp(j->user, "it's");
}
static inline bool is_nobody(const struct job *j)
{
	return j->user && !strcmp(j->user, "nobody");
}
static inline bool is_n1(const struct job *j)
{
	return on_host(j, "n1");
}
static inline bool is_gpu1(const struct job *j)
{
	return on_host(j, "gpu1");
}
static inline bool is_climate(const struct job *j)
{
	return j->project && !strcmp(j->project, "climate");
}
static inline bool is_run_7(const struct job *j)
{
	return j->run == 7;
}
static inline bool has_project(const struct job *j)
{
	return j->project;
}
static inline bool is_completed(const struct job *j)
{
	return j->exitcode == 0;
}
static inline bool is_failed(const struct job *j)
{
	return j->exitcode > 0;
}
static inline bool is_running(const struct job *j)
{
	return j->running;
}
static inline bool is_unknown(const struct job *j)
{
	return j->exitcode < 0 && !j->running;
}
static inline bool is_ocean(const struct job *j)
{
	return has_word(j, "ocean");
}
static inline bool is_d(const struct job *j)
{
	return has_word(j, "d");
}
static inline bool is_gmx_d(const struct job *j)
{
	return has_word(j, "gmx") && has_word(j, "d1");
}
static inline bool is_ete(const struct job *j)
{
	return has_word(j, "\xc3\xa9t");
}
static inline bool is_id(const struct job *j)
{
	return has_word(j, "7012");
}
static inline bool is_in_range(const struct job *j)
{
	return j->start >= BEGIN + 100 * 3600 * SECOND && j->start < BEGIN + 300 * 3600 * SECOND;
}
static inline bool is_later(const struct job *j)
{
	return j->start > BEGIN + 700 * 3600 * SECOND;
}
static inline bool is_long(const struct job *j)
{
	return j->duration > 1200 * SECOND;
}
static inline bool is_other(const struct job *j)
{
	return is_alice(j) || is_gpu1(j);
}
static inline bool is_not_failed(const struct job *j)
{
	return !is_failed(j);
}
static inline bool is_n1_or_n2(const struct job *j)
{
	return is_n1(j) || on_host(j, "n2");
}
static inline bool is_not_ocean(const struct job *j)
{
	return !is_ocean(j);
}

static const struct {
	const char *filter;
	bool (*matches)(const struct job *j);
} filters[] = {
	{"user = alice", is_alice},
	{"user = 'it''s'", is_its},
	{"user = nobody", is_nobody},
	{"host = n1", is_n1},
	{"host = gpu1", is_gpu1},
	{"host = n1, n2", is_n1_or_n2},
	{"tag.project = climate", is_climate},
	{"tag.run = 7", is_run_7},
	{"tag.project", has_project},
	{"status = completed", is_completed},
	{"status = failed", is_failed},
	{"status = running", is_running},
	{"status = unknown", is_unknown},
	{"status != failed", is_not_failed},
	{"word = ocean", is_ocean},
	{"word = D", is_d},
	{"word = 'd1, GMX'", is_gmx_d},
	{"word = \xc3\xa9t", is_ete},
	{"word = 7012", is_id},
	{"not word = ocean", is_not_ocean},
	{"start >= 1700360000 and start < 1701080000", is_in_range},
	{"start > 1702520000", is_later},
	{"duration > 20m", is_long},
	{"user = alice or host = gpu1", is_other},
};
