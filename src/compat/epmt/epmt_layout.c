/*
 * EPMT's job directories: <prefix>/<user>/<job id>/ with the pickle job_metadata.tmp while the job
 * runs and job_metadata afterwards, papiex's files made when it ends, and our own below .plimsoll/.
 * Its metadata had three generations of keys.
 */
#include <string.h>

#include "compat/epmt/epmt_archive.h"
#include "compat/epmt/pickle/pickle.h"
#include "jobs/job_directory.h"
#include "jobs/metadata.h"
#include "jobs/tags.h"

/* ---- pickles -------------------------------------------------------------------------------- */

/* A pickle begins with its protocol, or with the mark or empty dict of protocol 0 and 1. */
static bool is_pickle(const unsigned char *head, size_t n)
{
	return head[0] == '}' ||
	       (n > 1 && ((head[0] == 0x80 && head[1] <= 5) || (head[0] == '(' && head[1] == 'd')));
}

static int read_pickle(const char *data, size_t n, struct value **ret, struct strbuf *why)
{
	return pickle_read(data, n, ret, why);
}

const struct metadata_format metadata_format_pickle = {
	.name = "pickle",
	.recognises = is_pickle,
	.read = read_pickle,
	.write = pickle_write,
};

/* ---- start and stop ------------------------------------------------------------------------- */

static struct value *start(const struct config *c, const struct job_facts *f,
			   struct value *environment)
{
	struct value *meta = value_new(VALUE_DICT);
	char host[65], boot[9];

	(void)c;
	this_host(host, sizeof(host), boot);
	value_set(meta, "job_pl_id", value_str(f->id));
	value_set(meta, "job_pl_submit_ts", value_time_us(f->when_us));
	value_set(meta, "job_pl_start_ts", value_time_us(f->when_us));
	value_set(meta, "job_pl_hostname", value_str(host));
	value_set(meta, "job_pl_username", f->user ? value_str(f->user) : value_new(VALUE_NONE));
	value_set(meta, "job_pl_env", environment);
	if (f->name)
		value_set(meta, "job_jobname", value_str(f->name));
	if (f->script)
		value_set(meta, "job_pl_scriptname", value_str(f->script));
	return meta;
}

static void stop(struct value *meta, const struct config *c, int64_t when_us, int exitcode,
		 const char *reason, struct value *environment)
{
	const struct value *before = value_get(meta, "job_pl_env");
	const char *name = value_get_str(environment, "SLURM_JOB_NAME");

	value_set(meta, "job_el_stop_ts", value_time_us(when_us));
	value_set(meta, "job_el_exitcode", value_int(exitcode < 0 ? 0 : exitcode));
	value_set(meta, "job_el_reason", value_str(reason ? reason : "none"));
	value_set(meta, "job_env_changes", environment_changes(before, environment));
	value_set(meta, "job_el_env", environment);
	if (name || !value_get(meta, "job_jobname"))
		value_set(meta, "job_jobname", value_str(name ? name : "unknown"));
	(void)meta_add_tags(meta, config_get(c, SETTING_JOB_TAGS));
	if (!value_get(meta, "job_tags"))
		value_set(meta, "job_tags", value_new(VALUE_NONE));
	value_set(meta, "checked", value_bool(true));
}

/* ---- what the store asks for ---------------------------------------------------------------- */

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
static struct value *job_tags(const struct value *meta)
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

static const char *zone(const struct value *environment)
{
	const char *zone = value_get_str(environment, "TZ");

	if (!zone || !*zone)
		zone = value_get_str(environment, "TIMEZONE");
	if (!zone || !*zone)
		zone = getenv("EPMT_TZ");
	return zone && *zone ? zone : "US/Eastern";
}

const struct job_layout job_layout_epmt = {
	.name = "epmt",
	.format = &metadata_format_pickle,
	.metadata = "job_metadata",
	.metadata_running = "job_metadata.tmp",
	.records = ".plimsoll",
	.keys =
		{
			[KEY_ID] = {"job_pl_id"},
			[KEY_NAME] = {"job_jobname", "job_pl_jobname"},
			[KEY_USER] = {"job_pl_username", "job_username"},
			[KEY_SUBMIT] = {"job_pl_submit_ts", "job_pl_submit"},
			[KEY_START] = {"job_pl_start_ts", "job_pl_start"},
			[KEY_STOP] = {"job_el_stop_ts", "job_el_stop"},
			[KEY_EXITCODE] = {"job_el_exitcode", "job_el_status"},
			[KEY_SCRIPT] = {"job_pl_scriptname", "job_scriptname"},
			[KEY_TAGS] = {"job_tags"},
			[KEY_ENVIRONMENT] = {"job_pl_env", "job_env"},
			[KEY_ENVIRONMENT_END] = {"job_el_env", "job_env_changes"},
		},
	.tags_variable = "EPMT_JOB_TAGS",
	.url_variable = "EPMT_DB_URL",
	.of_user = true,
	.any_id = true,
	.fixed_keys = true,
	.stop_tags = true,
	.single_part = true,
	.images_dropped = true,
	.exitcode_of_root = true, /* EPMT itself always writes 0 */
	.batch_in_environment = true,
	.start = start,
	.stop = stop,
	.pack = epmt_pack,
	.tags = job_tags,
	.zone = zone,
};
