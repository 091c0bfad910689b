/* Metadata of any layout for the store; see job_metadata.h. */
#include "store/job_metadata.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/text/text.h"
#include "jobs/job_layout.h"
#include "store/job_figures.h"
#include "store/store.h"

static char *clean(const char *s, size_t n)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < n;) {
		size_t length = utf8_sequence(s + i, n - i);

		if (!length || !s[i])
			strbuf_addstr(&out, "\xef\xbf\xbd");
		else
			strbuf_add(&out, s + i, length);
		i += length ? length : 1;
	}
	return strbuf_take(&out);
}

static char *as_text(const struct value *v)
{
	if (v && v->kind == VALUE_STR && v->str.size)
		return clean(v->str.data, v->str.size);
	return v && v->kind == VALUE_INT ? xasprintf("%lld", (long long)v->integer) : NULL;
}

/* The value of the first existing name, as text. */
static char *first_of(const struct value *dict, const char *const *names)
{
	char *text = NULL;

	for (; !text && *names; names++)
		text = as_text(value_get(dict, *names));
	return text;
}

static char *text_of(const struct value *meta, enum metadata_key key)
{
	const char *name;
	char *text = NULL;

	for (size_t i = 0; !text && (name = metadata_key(key, i)); i++)
		text = as_text(value_get(meta, name));
	return text;
}

/* Sets the local time zone; returns the previous one for leave_zone(). */
static char *enter_zone(const char *zone)
{
	char *before = getenv("TZ") ? xstrdup(getenv("TZ")) : NULL;

	setenv("TZ", zone, 1);
	tzset();
	return before;
}

static void leave_zone(char *before)
{
	if (before)
		setenv("TZ", before, 1);
	else
		unsetenv("TZ");
	tzset();
	free(before);
}

/* A time without a zone is in the local time of the job. */
static int64_t naive_us(const struct value_time *t, const char *zone)
{
	struct tm tm = {.tm_year = t->year - 1900,
			.tm_mon = t->month - 1,
			.tm_mday = t->day,
			.tm_hour = t->hour,
			.tm_min = t->minute,
			.tm_sec = t->second,
			.tm_isdst = -1};

	char *before = enter_zone(zone);
	int64_t seconds = (int64_t)mktime(&tm);
	leave_zone(before);
	return seconds * 1000000 + t->microsecond;
}

/* The zone of times without a zone. */
static const char *naive_zone(const struct value *meta)
{
	const struct job_layout *l = metadata_layout(meta);

	return l->zone ? l->zone(value_get(meta, l->keys[KEY_ENVIRONMENT][0])) : "UTC";
}

char *jobmeta_zone(const struct value *meta)
{
	const struct job_layout *l = metadata_layout(meta);
	const char *start = value_get_str(meta, l->keys[KEY_START][0]);
	const char *own = value_get_str(value_get(meta, l->keys[KEY_ENVIRONMENT][0]), "TZ");
	size_t n = start ? strlen(start) : 0;

	if (!l->zone)
		return own && *own ? xstrdup(own) : NULL;
	/* "...+05:30" in POSIX form, with the opposite sign */
	if (n > 6 && (start[n - 6] == '+' || start[n - 6] == '-') && start[n - 3] == ':')
		return xasprintf("<%.3s%.2s>%c%s", start + n - 6, start + n - 2,
				 start[n - 6] == '+' ? '-' : '+', start + n - 5);
	return xstrdup(naive_zone(meta));
}

struct value *jobmeta_local_time(int64_t us, const char *zone)
{
	char *before = zone ? enter_zone(zone) : NULL;
	struct value *v = value_time_us(us);

	if (zone)
		leave_zone(before);
	v->time.has_zone = false;
	return v;
}

static bool time_of(const struct value *meta, enum metadata_key key, const char *zone, int64_t *ret)
{
	const char *name;

	for (size_t i = 0; (name = metadata_key(key, i)); i++) {
		const struct value *v = value_get(meta, name);

		if (v && v->kind == VALUE_TIME && !v->time.has_zone) {
			*ret = naive_us(&v->time, zone);
			return true;
		}
		if (v && v->kind == VALUE_INT) {
			*ret = v->integer;
			return true;
		}
		if (v && value_epoch_us(v, ret) == 0)
			return true;
	}
	return false;
}

static struct value *dict_of(const struct value *meta, const char *name)
{
	struct value *v = value_get(meta, name);

	return v && v->kind == VALUE_DICT ? value_ref(v) : value_new(VALUE_DICT);
}

/* From 1970 to the year 9999. */
static bool is_time(int64_t us)
{
	return us >= 0 && us < INT64_C(253402300800000000);
}

/* Drops impossible values, after a clock was set back or from damaged metadata. */
static void drop_odd(struct jobmeta *m)
{
	bool start = m->has_start && !is_time(m->start_us);
	bool submit = m->has_submit && !is_time(m->submit_us);
	bool end = m->has_end &&
		   (!is_time(m->end_us) || (m->has_start && !start && m->end_us < m->start_us));

	m->odd_times = start || submit || end;
	m->has_start = m->has_start && !start;
	m->has_submit = m->has_submit && !submit;
	m->has_end = m->has_end && !end;
	/* at most a status as of wait() */
	m->odd_exitcode = m->has_exitcode && (m->exitcode > 65535 || m->exitcode < -65535);
	m->has_exitcode = m->has_exitcode && !m->odd_exitcode;
	m->exitcode = m->has_exitcode ? m->exitcode : 0;
}

int jobmeta_from(struct jobmeta *m, const struct value *meta, struct strbuf *why)
{
	static const char *const env_names[] = {"SLURM_JOB_NAME", "PBS_JOBNAME", NULL};
	static const char *const env_users[] = {"SLURM_JOB_USER", "USER", NULL};
	static const char *const clusters[] = {"cluster", NULL};
	static const char *const accounts[] = {"account", "project", NULL};
	static const char *const env_clusters[] = {"SLURM_CLUSTER_NAME", "SGE_CLUSTER_NAME", NULL};
	const struct value *environment = metadata_batch_environment(meta);
	const char *zone = naive_zone(meta), *code;

	*m = (struct jobmeta){.json = STRBUF_INIT};
	m->jobid = text_of(meta, KEY_ID);
	if (!m->jobid)
		return strbuf_fail(why, -EBADMSG, "the metadata have no job id");
	m->layout = metadata_layout(meta);
	m->by_run = value_get(meta, "started_by_run") != NULL;
	m->cores = job_cores(meta);
	m->jobname = text_of(meta, KEY_NAME);
	m->user = text_of(meta, KEY_USER);
	if (!m->jobname)
		m->jobname = first_of(environment, env_names);
	if (!m->user)
		m->user = first_of(environment, env_users);
	m->cluster = first_of(value_get(meta, "scheduler"), clusters);
	m->account = first_of(value_get(meta, "scheduler"), accounts);
	if (!m->cluster)
		m->cluster = first_of(environment, env_clusters);
	m->has_submit = time_of(meta, KEY_SUBMIT, zone, &m->submit_us);
	m->has_start = time_of(meta, KEY_START, zone, &m->start_us);
	m->has_end = time_of(meta, KEY_STOP, zone, &m->end_us);
	for (size_t i = 0; !m->has_exitcode && (code = metadata_key(KEY_EXITCODE, i)); i++) {
		const struct value *v = value_get(meta, code);

		m->has_exitcode = v && v->kind == VALUE_INT;
		m->exitcode = m->has_exitcode ? v->integer : 0;
	}
	drop_odd(m);
	m->tags = m->layout->tags ? m->layout->tags(meta)
				  : dict_of(meta, m->layout->keys[KEY_TAGS][0]);
	m->annotations = dict_of(meta, "annotations");
	m->analyses = dict_of(meta, "analyses");
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	value_to_json(meta, &j, NULL);
	strbuf_add(&m->json, j.out.buf, j.out.len);
	return 0;
}

void jobmeta_release(struct jobmeta *m)
{
	free(m->jobid);
	free(m->jobname);
	free(m->user);
	free(m->cluster);
	free(m->account);
	value_free(m->tags);
	value_free(m->annotations);
	value_free(m->analyses);
	strbuf_release(&m->json);
}

int jobmeta_load(struct store *s, int64_t job, struct value **ret, struct strbuf *why)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "SELECT json FROM job_meta WHERE job = $1", db_int(job));
	int r = stmt_step(st);
	size_t n;
	const char *text = r == 1 ? stmt_get_text(st, 0, &n) : NULL;

	if (text)
		r = value_from_json(text, n, ret, why);
	return r < 0 ? r : text != NULL;
}
