/* Metadata of a job; see metadata.h. */
#include "jobs/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sched.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/log.h"
#include "core/text/secrets.h"
#include "core/text/text.h"
#include "jobs/hardware/hardware.h"
#include "jobs/metadata_file.h"
#include "jobs/scheduler.h"
#include "jobs/tags.h"

/* Variables that contain only URLs, in which more can be recognised as a password. */
static bool holds_address(const char *name)
{
	for (const struct job_layout *const *l = job_layouts; *l; l++)
		if ((*l)->url_variable && !strcmp(name, (*l)->url_variable))
			return true;
	return !strcmp(name, settings[SETTING_DB].env) ||
	       !strcmp(name, settings[SETTING_COLLECT_SINKS].env);
}

/* The value of a variable, with secrets masked. */
static struct value *unsecret(const char *name, const char *value)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (*value && secrets_is_name(name))
		return value_str(MASKED);
	_cleanup_free_ char *shown = holds_address(name) ? secrets_shown(value) : NULL;
	strbuf_addstr(&text, shown ? shown : value);
	if (str_suffix(name, "_TAGS"))
		secrets_mask_tags(&text);
	else
		secrets_mask_text(&text);
	return value_strn(text.buf, text.len);
}

void environment_mask(struct value *env)
{
	for (size_t i = 0; env && i < value_pairs(env); i++) {
		const struct value *key = value_key(env, i), *v = value_at(env, i);

		if (key->kind == VALUE_STR && v->kind == VALUE_STR)
			value_set(env, key->str.data, unsecret(key->str.data, v->str.data));
	}
}

size_t notes_mask(struct value *notes)
{
	size_t masked = 0;

	for (size_t i = 0; notes && i < value_pairs(notes); i++) {
		const struct value *key = value_key(notes, i);
		struct value *v = value_at(notes, i);

		if (key->kind == VALUE_STR && v->kind == VALUE_DICT)
			masked += notes_mask(v);
		if (key->kind != VALUE_STR || v->kind != VALUE_STR)
			continue;
		bool named = secrets_is_option(key->str.data, key->str.size) && v->str.size;
		_cleanup_value_ struct value *kept =
			named ? value_str(MASKED) : unsecret(key->str.data, v->str.data);
		if (kept->str.size == v->str.size &&
		    !memcmp(kept->str.data, v->str.data, v->str.size))
			continue;
		value_set(notes, key->str.data, value_ref(kept));
		masked++;
	}
	return masked;
}

struct value *environment_metadata(const struct config *c, char *const *envp)
{
	const char *drop = config_get(c, SETTING_ENV_DROP);
	struct value *env = value_new(VALUE_DICT);

	for (; *envp && value_pairs(env) < VALUE_PAIRS_MAX; envp++) {
		const char *equals = strchr(*envp, '=');

		if (!equals || equals == *envp)
			continue;
		_cleanup_free_ char *name = xstrndup(*envp, (size_t)(equals - *envp));
		if (pattern_list_matches(drop, name))
			continue;
		value_set(env, name, unsecret(name, equals + 1));
	}
	return env;
}

static bool same_text(const struct value *a, const struct value *b)
{
	return a && b && a->kind == VALUE_STR && b->kind == VALUE_STR &&
	       a->str.size == b->str.size && !memcmp(a->str.data, b->str.data, a->str.size);
}

struct value *environment_changes(const struct value *before, const struct value *after)
{
	struct value *changes = value_new(VALUE_DICT);

	for (size_t i = 0; i < value_pairs(after); i++) {
		const char *name = value_key(after, i)->str.data;

		if (!same_text(value_get(before, name), value_at(after, i)))
			value_set(changes, name, value_ref(value_at(after, i)));
	}
	for (size_t i = 0; i < value_pairs(before); i++) {
		const struct value *key = value_key(before, i);

		if (key->kind == VALUE_STR && !value_get(after, key->str.data))
			value_set(changes, key->str.data, value_new(VALUE_NONE));
	}
	return changes;
}

int64_t usable_cpus(void)
{
	long all = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t sets[64];

	/* the kernel refuses a set that is smaller than its own, of up to 65,536 CPUs */
	if (sched_getaffinity(0, sizeof(sets), sets) < 0)
		return all;
	int usable = CPU_COUNT_S(sizeof(sets), sets);
	return usable > 0 && usable < all ? usable : all;
}

int64_t granted_cpus(void)
{
	const char *text = getenv("SLURM_CPUS_ON_NODE");
	int64_t usable = usable_cpus(), granted;

	return text && parse_i64(text, &granted) == 0 && granted > 0 && granted < usable ? granted
											 : usable;
}

struct value *host_metadata(void)
{
	struct value *host = value_new(VALUE_DICT);
	struct utsname u;

	if (uname(&u) == 0) {
		value_set(host, "kernel", value_str(u.release));
		value_set(host, "machine", value_str(u.machine));
	}
	value_set(host, "cpus", value_int(sysconf(_SC_NPROCESSORS_ONLN)));
	value_set(host, "usable_cpus", value_int(usable_cpus()));
	_cleanup_free_ char *cpuinfo = hardware_file_start("", "/proc/cpuinfo", 4096);
	_cleanup_free_ char *model = hardware_line(cpuinfo, "model name");
	if (model)
		value_set(host, "cpu", value_str(model));
	_cleanup_free_ char *meminfo = hardware_file_start("", "/proc/meminfo", 4096);
	_cleanup_free_ char *total = hardware_line(meminfo, "MemTotal");
	if (total)
		value_set(host, "memory_kib", value_int(strtoll(total, NULL, 10)));
	return host;
}

/* Does this option of a shell take the next word? */
static bool takes_word(const char *option)
{
	size_t n = strlen(option);

	if (option[0] == '-' && option[1] == '-')
		return !strcmp(option, "--rcfile") || !strcmp(option, "--init-file");
	return n >= 2 && (option[n - 1] == 'o' || option[n - 1] == 'O');
}

/* The first argument of a shell that is not an option; NULL: it runs a command line instead. */
static const char *script_of(const char *arguments, const char *end)
{
	for (const char *p = arguments; p < end; p += strlen(p) + 1) {
		if (p[0] != '-' && p[0] != '+')
			return p;
		if (!strcmp(p, "--"))
			return p + 3 < end ? p + 3 : NULL;
		if (p[0] == '-' && p[1] != '-' && strchr(p, 'c'))
			return NULL;
		if (takes_word(p))
			p += strlen(p) + 1;
	}
	return NULL;
}

/* The arguments of the shell that called this program; returns its name, NULL: not a shell. */
static const char *parent_shell(struct strbuf *arguments)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)getppid());
	if (fs_read(AT_FDCWD, path, 1 << 20, arguments) < 0 || !arguments->len)
		return NULL;
	const char *shell = path_base(arguments->buf + (arguments->buf[0] == '-'));

	return str_suffix(shell, "sh") ? shell : NULL;
}

char *calling_shell(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	const char *shell = parent_shell(&text);

	return xstrdup(shell ? shell : "shell");
}

char *calling_script(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (!parent_shell(&text))
		return NULL;
	const char *script = script_of(text.buf + strlen(text.buf) + 1, text.buf + text.len);
	/* a descriptor is not a script name */
	if (!script || str_prefix(script, "/dev/") || str_prefix(script, "/proc/"))
		return NULL;
	return xstrdup(script);
}

/* all: arguments, each ending with NUL. */
static struct value *masked_list(struct strbuf *all)
{
	struct value *list = value_new(VALUE_LIST);

	secrets_mask_arguments(all, 0, NULL);
	for (const char *p = all->buf; p < all->buf + all->len; p += strlen(p) + 1)
		value_append(list, value_str(p));
	return list;
}

struct value *metadata_command(char *const *argv)
{
	_cleanup_strbuf_ struct strbuf all = STRBUF_INIT;

	for (; *argv; argv++)
		strbuf_add(&all, *argv, strlen(*argv) + 1);
	return masked_list(&all);
}

struct value *metadata_command_of(const char *root, int pid)
{
	_cleanup_strbuf_ struct strbuf all = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/proc/%d/cmdline", root, pid);

	if (fs_read(AT_FDCWD, path, 1 << 20, &all) < 0 || !all.len)
		return NULL;
	return masked_list(&all);
}

char *effective_user(void)
{
	const struct passwd *pw = getpwuid(geteuid());

	return pw ? xstrdup(pw->pw_name) : xasprintf("%u", (unsigned)geteuid());
}

static struct value *group_metadata(void)
{
	struct value *groups = value_new(VALUE_LIST);
	gid_t ids[256];
	int n = getgroups((int)ARRAY_SIZE(ids), ids);

	for (int i = 0; i < n; i++) {
		const struct group *g = getgrgid(ids[i]);
		_cleanup_free_ char *number = xasprintf("%u", (unsigned)ids[i]);

		value_append(groups, value_str(g ? g->gr_name : number));
	}
	return groups;
}

void metadata_set_time(struct value *metadata, const char *key, int64_t us)
{
	_cleanup_free_ char *number = xasprintf("%s_us", key);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	text_add_time(&text, us, false);
	value_set(metadata, number, value_int(us));
	value_set(metadata, key, value_strn(text.buf, text.len));
}

static struct value *text_or_none(const char *s)
{
	return s ? value_str(s) : value_new(VALUE_NONE);
}

bool meta_add_tags(struct value *meta, const char *text)
{
	_cleanup_strbuf_ struct strbuf dropped = STRBUF_INIT, plain = STRBUF_INIT;
	const char *where = metadata_layout(meta)->keys[KEY_TAGS][0];
	bool changed = false;

	strbuf_addstr(&plain, text);
	secrets_mask_tags(&plain);
	_cleanup_value_ struct value *tags = tags_parse(plain.buf, &dropped);
	size_t n = value_pairs(tags);
	struct value *there = value_get(meta, where);
	if (n && (!there || there->kind != VALUE_DICT)) {
		there = value_new(VALUE_DICT);
		value_set(meta, where, there);
	}
	for (size_t i = 0; i < n; i++) {
		const char *key = value_key(tags, i)->str.data;
		struct value *v = value_at(tags, i);

		_cleanup_free_ char *meant = tags_suggestion(key);

		if (meant && !strcmp(v->str.data, "1"))
			log_warn("job tags: '%s' is a key without a value: write '%s'", key, meant);
		if (same_text(value_get(there, key), v))
			continue;
		value_set(there, key, value_ref(v));
		changed = true;
	}
	if (dropped.len)
		log_warn("job tags: ignoring '%s', which is not of the form KEY:VALUE",
			 dropped.buf);
	else if (plain.len && !n)
		log_warn("job tags: there is no KEY:VALUE in '%s'", plain.buf);
	return changed;
}

static struct value *native_start(const struct config *c, const struct job_description *f,
				  struct value *environment)
{
	struct value *meta = value_new(VALUE_DICT), *hosts = value_new(VALUE_DICT);
	char host[65], boot[9], cwd[4096];
	const char *id;
	const struct scheduler *s = scheduler_find(env_lookup, &id);

	this_host(host, sizeof(host), boot);
	value_set(hosts, host, host_metadata());
	value_set(meta, "plimsoll_job", value_int(1));
	value_set(meta, "jobid", value_str(f->id));
	value_set(meta, "jobname", text_or_none(f->name));
	value_set(meta, "user", text_or_none(f->user));
	value_set(meta, "uid", value_int((int64_t)geteuid()));
	value_set(meta, "groups", group_metadata());
	value_set(meta, "host", value_str(host));
	value_set(meta, "boot", value_str(boot));
	value_set(meta, "hosts", hosts);
	value_set(meta, "script", text_or_none(f->script));
	value_set(meta, "directory", text_or_none(getcwd(cwd, sizeof(cwd))));
	value_set(meta, "scheduler", s ? scheduler_metadata(s, env_lookup) : value_new(VALUE_NONE));
	value_set(meta, "tags", value_new(VALUE_DICT));
	(void)meta_add_tags(meta, config_get(c, SETTING_JOB_TAGS));
	value_set(meta, "annotations", value_new(VALUE_DICT));
	metadata_set_time(meta, "start", f->when_us);
	value_set(meta, "environment", environment);
	return meta;
}

static void native_stop(struct value *meta, const struct config *c, int64_t when_us, int exitcode,
			const char *reason, struct value *environment)
{
	(void)c;
	metadata_set_time(meta, "stop", when_us);
	if (exitcode >= 0)
		value_set(meta, "exitcode", value_int(exitcode));
	value_set(meta, "reason", text_or_none(reason));
	value_set(meta, "environment_changes",
		  environment_changes(value_get(meta, "environment"), environment));
	value_free(environment);
}

const struct job_layout job_layout_native = {
	.name = "native",
	.format = &metadata_format_json,
	.metadata = META_JSON,
	.keys =
		{
			[KEY_ID] = {"jobid"},
			[KEY_NAME] = {"jobname"},
			[KEY_USER] = {"user"},
			[KEY_SUBMIT] = {"submit_us"},
			[KEY_START] = {"start_us"},
			[KEY_STOP] = {"stop_us"},
			[KEY_EXITCODE] = {"exitcode"},
			[KEY_SCRIPT] = {"script"},
			[KEY_TAGS] = {"tags"},
			[KEY_ENVIRONMENT] = {"environment"},
			[KEY_ENVIRONMENT_END] = {"environment_changes"},
		},
	.tags_variable = "PLIMSOLL_JOB_TAGS",
	.run_is_job = true,
	.shell_named = true,
	.start = native_start,
	.stop = native_stop,
};

struct value *meta_start(const struct job_layout *l, const struct config *c,
			 const struct job_description *f, struct value *environment)
{
	return l->start(c, f, environment);
}

struct value *meta_annotations(struct value *meta)
{
	struct value *a = value_get(meta, "annotations");

	if (!a || a->kind != VALUE_DICT) {
		a = value_new(VALUE_DICT);
		value_set(meta, "annotations", a);
	}
	return a;
}

void meta_set_tags(struct value *meta, struct value *tags)
{
	value_set(meta, metadata_layout(meta)->keys[KEY_TAGS][0], tags);
}

/* Is the time limit of the scheduler reached? */
static bool at_time_limit(void)
{
	const char *end = getenv("SLURM_JOB_END_TIME");
	uint64_t at;

	return end && parse_u64(end, &at) == 0 && (uint64_t)time(NULL) + 2 >= at;
}

struct value *metadata_cut_off(int sig, bool batch)
{
	if (sig != SIGTERM && sig != SIGHUP && sig != SIGXCPU)
		return NULL;
	struct value *cut = value_new(VALUE_DICT);
	value_set(cut, "signal", value_int(sig));
	if (at_time_limit())
		value_set(cut, "at_limit", value_bool(true));
	else if (batch)
		value_set(cut, "batch", value_bool(true));
	metadata_set_time(cut, "time", clock_realtime_us());
	return cut;
}
