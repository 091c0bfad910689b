/* Metadata of any origin for the store; see job_metadata.h. */
#include "store/job_metadata.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/text/text.h"
#include "jobs/metadata.h"
#include "jobs/tags.h"

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

/* The first of several names that is there, as text. */
static char *text_of(const struct value *meta, const char *const *names)
{
	for (; *names; names++) {
		const struct value *v = value_get(meta, *names);

		if (v && v->kind == VALUE_STR && v->str.size)
			return clean(v->str.data, v->str.size);
		if (v && v->kind == VALUE_INT)
			return xasprintf("%lld", (long long)v->integer);
	}
	return NULL;
}

/* Makes a zone the local one; the one before is returned for leave_zone(). */
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

/* A time without a zone is local time where the job ran. */
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

static const char *zone_of(const struct value *environment, const char *fallback)
{
	const char *zone = value_get_str(environment, "TZ");

	if (!zone || !*zone)
		zone = value_get_str(environment, "TIMEZONE");
	if (!zone || !*zone)
		zone = fallback;
	if (!zone || !*zone)
		zone = getenv("EPMT_TZ");
	return zone && *zone ? zone : "US/Eastern";
}

char *jobmeta_zone(const struct value *meta)
{
	const char *start = value_get_str(meta, "job_pl_start_ts");
	const struct value *environment = value_get(meta, "job_pl_env");
	const char *own = value_get_str(value_get(meta, "environment"), "TZ");
	size_t n = start ? strlen(start) : 0;

	if (!value_get(meta, "job_pl_id"))
		return own && *own ? xstrdup(own) : NULL;
	/* "...+05:30" as POSIX has it, with the other sign */
	if (n > 6 && (start[n - 6] == '+' || start[n - 6] == '-') && start[n - 3] == ':')
		return xasprintf("<%.3s%.2s>%c%s", start + n - 6, start + n - 2,
				 start[n - 6] == '+' ? '-' : '+', start + n - 5);
	return xstrdup(zone_of(environment, NULL));
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

static bool time_of(const struct value *meta, const char *const *names, const char *zone,
		    int64_t *ret)
{
	for (; *names; names++) {
		const struct value *v = value_get(meta, *names);

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

/* The oldest metadata have the experiment's names as keys of their own. */
static void add_experiment(const struct value *meta, struct value *tags)
{
	static const char *const keys[] = {"exp_name", "exp_component", "exp_jobname", "exp_oname",
					   "exp_time"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *v = value_get_str(meta, keys[i]);

		if (v && *v && !value_get(tags, keys[i]))
			value_set(tags, keys[i], value_str(v));
	}
}

/* Job tags: those of the metadata, else of EPMT_JOB_TAGS in the environment at the stop, which is
 * where EPMT's own programs find them. */
static struct value *epmt_tags(const struct value *meta)
{
	const struct value *environment = value_get(meta, "job_el_env");
	const char *text = value_get_str(environment, "EPMT_JOB_TAGS");
	struct value *v = value_get(meta, "job_tags");
	_cleanup_strbuf_ struct strbuf dropped = STRBUF_INIT;

	struct value *tags = v && v->kind == VALUE_DICT ? value_ref(v)
			     : text                     ? tags_parse(text, &dropped)
							: value_new(VALUE_DICT);
	add_experiment(meta, tags);
	return tags;
}

/* From 1970 to the year 9999. */
static bool is_time(int64_t us)
{
	return us >= 0 && us < INT64_C(253402300800000000);
}

/* What cannot be is left out: a clock that was set back, metadata that are damaged or made up. */
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
	/* a status as wait() has it is the largest */
	m->odd_exitcode = m->has_exitcode && (m->exitcode > 65535 || m->exitcode < -65535);
	m->has_exitcode = m->has_exitcode && !m->odd_exitcode;
	m->exitcode = m->has_exitcode ? m->exitcode : 0;
}

int jobmeta_from(struct jobmeta *m, const struct value *meta, const char *zone, struct strbuf *why)
{
	static const char *const ids[] = {"jobid", "job_pl_id", NULL};
	static const char *const names[] = {"jobname", "job_jobname", "job_pl_jobname", NULL};
	static const char *const users[] = {"user", "job_pl_username", "job_username", NULL};
	static const char *const submits[] = {"submit_us", "job_pl_submit_ts", "job_pl_submit",
					      NULL};
	static const char *const starts[] = {"start_us", "job_pl_start_ts", "job_pl_start", NULL};
	static const char *const stops[] = {"stop_us", "job_el_stop_ts", "job_el_stop", NULL};
	static const char *const codes[] = {"exitcode", "job_el_exitcode", "job_el_status"};
	static const char *const env_names[] = {"SLURM_JOB_NAME", "PBS_JOBNAME", NULL};
	static const char *const env_users[] = {"SLURM_JOB_USER", "USER", NULL};
	static const char *const clusters[] = {"cluster", NULL};
	static const char *const env_clusters[] = {"SLURM_CLUSTER_NAME", "SGE_CLUSTER_NAME", NULL};
	const struct value *environment = value_get(meta, "job_pl_env");

	*m = (struct jobmeta){.json = STRBUF_INIT};
	m->jobid = text_of(meta, ids);
	if (!m->jobid) {
		strbuf_addstr(why, "the metadata name no job id");
		return -EBADMSG;
	}
	m->epmt = value_get(meta, "job_pl_id") != NULL;
	m->by_run = value_get(meta, "started_by_run") != NULL;
	m->jobname = text_of(meta, names);
	m->user = text_of(meta, users);
	if (!m->jobname)
		m->jobname = text_of(environment, env_names);
	if (!m->user)
		m->user = text_of(environment, env_users);
	m->cluster = text_of(value_get(meta, "scheduler"), clusters);
	if (!m->cluster)
		m->cluster = text_of(environment, env_clusters);
	zone = zone_of(environment, zone);
	m->has_submit = time_of(meta, submits, zone, &m->submit_us);
	m->has_start = time_of(meta, starts, zone, &m->start_us);
	m->has_end = time_of(meta, stops, zone, &m->end_us);
	for (size_t i = 0; i < ARRAY_SIZE(codes) && !m->has_exitcode; i++) {
		const struct value *v = value_get(meta, codes[i]);

		m->has_exitcode = v && v->kind == VALUE_INT;
		m->exitcode = m->has_exitcode ? v->integer : 0;
	}
	drop_odd(m);
	m->tags = m->epmt ? epmt_tags(meta) : dict_of(meta, "tags");
	m->annotations = dict_of(meta, "annotations");
	m->analyses = dict_of(meta, "analyses");
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
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
	value_free(m->tags);
	value_free(m->annotations);
	value_free(m->analyses);
	strbuf_release(&m->json);
}
