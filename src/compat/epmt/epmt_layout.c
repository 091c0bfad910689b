/*
 * EPMT's job directories: <prefix>/<user>/<job id>/ with the pickle job_metadata.tmp while the job
 * runs and job_metadata afterwards, papiex's files made when it ends, and our own below .plimsoll/.
 * Its metadata had three generations of keys.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "compat/epmt/papiex/collate.h"
#include "compat/epmt/pickle/pickle.h"
#include "core/files/fs.h"
#include "core/log.h"
#include "core/text/text.h"
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

static struct value *start(const struct config *c, const struct job_description *f,
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

/* ---- the archive that EPMT's `stage` makes of a job: papiex's TSV files if there are any, else
 * all CSV files collated into one, and the metadata
 * ----------------------------------------------------- */

struct packing {
	struct job_archive *a;
	struct collation csv;
	char *host; /* of the collated file */
	int count;  /* of files */
};

/* Puts a file aside that EPMT's reader would reject, and annotates the job. */
static int put_aside(const struct job_archive *a, const char *name, const char *reason)
{
	_cleanup_free_ char *dest = config_path(a->config, SETTING_ERROR_DEST);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, ignored = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	bool stopped;

	if (a->strict) {
		log_error("'%s/%s': %s", a->job->path, name, reason);
		return -EBADMSG;
	}
	int r = fs_read(a->job->fd, name, STRBUF_MAX / 2, &text);
	_cleanup_close_ int dir = r == 0 ? open(dest, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	_cleanup_free_ char *like = xasprintf("%s.error", name), *got = NULL;
	_cleanup_free_ char *aside = xasprintf(".%s.%d.new", name, (int)getpid());
	if (r == 0)
		r = dir < 0 ? -errno : fs_replace_durable(dir, aside, text.buf, text.len, 0600);
	if (r == 0)
		r = fs_move_numbered(dir, aside, dir, like, &got);
	if (r < 0) {
		log_error("cannot put '%s' aside in '%s': %s", name, dest, strerror(-r));
		return r;
	}
	_cleanup_free_ char *to = xasprintf("%s/%s", dest, got);
	log_warn("'%s/%s' is left out, see '%s': %s", a->job->path, name, to, reason);
	if (job_directory_read_meta(a->job, &meta, &stopped, &ignored) == 0) {
		value_set(meta_annotations(meta), "epmt_stage_error", value_str(reason));
		r = job_directory_write_meta(a->job, meta, stopped);
	}
	return r;
}

static int collate(struct packing *p, const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;

	int r = fs_read(p->a->job->fd, name, STRBUF_MAX / 2, &text);
	if (r < 0)
		return r;
	if (!p->host)
		p->host = papiex_host_of(name);
	r = collation_add(&p->csv, text.buf, text.len, &why);
	return r < 0 ? put_aside(p->a, name, why.buf) : 0;
}

typedef int (*pack_file)(struct packing *p, const char *name);

/* Visible regular files of the job directory with a suffix, in the order of names. */
static int for_files(struct packing *p, const char *suffix, pack_file f)
{
	struct dirent **list = NULL;
	int n = scandirat(p->a->job->fd, ".", &list, NULL, alphasort), r = 0;

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;

		if (r == 0 && name[0] != '.' && str_suffix(name, suffix))
			r = f(p, name);
		free(list[i]);
	}
	free(list);
	return n < 0 ? -errno : r;
}

static int add_as_is(struct packing *p, const char *name)
{
	return p->a->add_file(p->a, name);
}

static int count_file(struct packing *p, const char *name)
{
	(void)name;
	p->count++;
	return 0;
}

static int add_papiex(struct packing *p)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	int r = for_files(p, ".tsv", count_file);
	if (r < 0 || p->count)
		return r < 0 ? r : for_files(p, ".tsv", add_as_is);
	if (p->a->apart)
		return for_files(p, ".csv", add_as_is);
	r = for_files(p, ".csv", collate);
	if (r < 0 || !p->csv.header.len)
		return r;
	_cleanup_free_ char *name =
		xasprintf("%s-collated-papiex-%s-0.csv", p->host, p->a->job->id);
	collation_write(&p->csv, &text);
	return p->a->add_text(p->a, name, &text);
}

/* EPMT reads the metadata first: they are written last, since put_aside() may change them. */
static int pack(struct job_archive *a)
{
	struct packing p = {.a = a, .csv = COLLATION_INIT};

	int r = add_papiex(&p);
	collation_release(&p.csv);
	free(p.host);
	return r < 0 ? r : a->add_file(a, a->job->layout->metadata);
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
	.pack = pack,
	.tags = job_tags,
	.zone = zone,
};
