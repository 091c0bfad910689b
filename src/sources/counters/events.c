/* Event names and codes; see events.h. */
#include "sources/counters/events.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "core/metrics/event_names.h"
#include "core/module.h"
#include "sources/source.h"

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
	const char *help;
} presets[] = {
#define PRESET(name, type, config, help) {name, type, (uint64_t)(config), help},
#include "sources/counters/presets.def"
#undef PRESET
};

/* ---- names ---- */

/* Case does not matter, a dash equals an underscore: "task_clock" is perf's task-clock. */
bool event_name_same(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		int x = *a == '_' ? '-' : tolower((unsigned char)*a);
		int y = *b == '_' ? '-' : tolower((unsigned char)*b);

		if (x != y)
			return false;
	}
	return *a == *b;
}

static bool resolve_kernel(const char *name, struct event_code *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(event_names); i++)
		if (event_name_same(event_names[i].name, name)) {
			*ret = (struct event_code){event_names[i].type, event_names[i].config, 0, 0,
						   "kernel"};
			return true;
		}
	return false;
}

/* The names of perf, without the common prefix of the kernel's names. */
static bool resolve_short(const char *name, struct event_code *ret)
{
	_cleanup_free_ char *software = xasprintf("PERF_COUNT_SW_%s", name);
	_cleanup_free_ char *hardware = xasprintf("PERF_COUNT_HW_%s", name);

	return resolve_kernel(software, ret) || resolve_kernel(hardware, ret);
}

static bool resolve_preset(const char *name, struct event_code *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(presets); i++)
		if (!strcasecmp(presets[i].name, name)) {
			*ret = (struct event_code){presets[i].type, presets[i].config, 0, 0,
						   "preset"};
			return true;
		}
	return false;
}

/* "r1a8": a raw code of the CPU, as in perf; "r1b7:10ff" with the second word that bus events need.
 */
static bool resolve_raw(const char *name, struct event_code *ret)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	char *end;

	if (name[0] != 'r')
		return false;
	size_t first = strspn(name + 1, digits);
	const char *second = name[1 + first] == ':' ? name + 2 + first : NULL;
	size_t n = second ? strspn(second, digits) : 0;
	if (!first || first > 16 || n > 16 || (second ? !n || second[n] : name[1 + first]))
		return false;
	*ret = (struct event_code){PERF_TYPE_RAW, strtoull(name + 1, &end, 16),
				   second ? strtoull(second, &end, 16) : 0, 0, "raw"};
	return true;
}

/* libpfm4 has names of the CPU with underscores and names of perf with dashes. */
static bool resolve_native(const char *name, struct event_code *ret, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf again = STRBUF_INIT;
	_cleanup_free_ char *dashes = xstrdup(name);
	const struct module *m = module_load("pfm", why);

	if (!m)
		return resolve_short(name, ret);
	const struct pfm_functions *pfm = m->functions;
	for (char *p = dashes; (p = strchr(p, '_'));)
		*p = '-';
	return pfm->resolve(name, ret, why) == 0 || resolve_short(name, ret) ||
	       pfm->resolve(dashes, ret, &again) == 0;
}

int event_resolve(const char *name, struct event_code *ret, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

	if (resolve_kernel(name, ret) || resolve_preset(name, ret) || resolve_raw(name, ret) ||
	    resolve_native(name, ret, &reason))
		return 0;
	strbuf_addf(why, "%s", reason.len ? reason.buf : "no such event");
	if (str_prefix(name, "PAPI_"))
		strbuf_addstr(
			why,
			"; no single kernel event counts this preset: name the native events of "
			"the CPU instead");
	return -ENOENT;
}

int event_resolve_for(const char *const *pmus, size_t count, const char *name,
		      struct event_code *ret, struct strbuf *why)
{
	int r = -ENOENT;

	if (resolve_kernel(name, ret) || resolve_preset(name, ret) || resolve_raw(name, ret))
		return 0;
	for (size_t i = 0; i < count && r < 0; i++) {
		_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
		_cleanup_free_ char *whole = xasprintf("%s::%s", pmus[i], name);

		r = event_resolve(whole, ret, &reason);
		if (r < 0 && i == count - 1)
			strbuf_addstr(why, reason.buf);
	}
	if (r < 0 && resolve_short(name, ret))
		return 0;
	if (!count)
		strbuf_addstr(why, "no such event of the kernel");
	return r;
}

bool event_in_kernel(const struct event_code *code)
{
	return code->type == PERF_TYPE_SOFTWARE &&
	       (code->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		code->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

/* ---- counting ---- */

static int perf_open(const struct event_code *code, bool user_only)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = code->type,
		.config = code->config,
		.config1 = code->config1,
		.config2 = code->config2,
		.exclude_kernel = user_only,
		.exclude_hv = user_only,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Something to count: a million steps, a page fault, a system call. */
static void work(void)
{
	volatile unsigned sum = 0;
	char *page = xmalloc(1 << 16);

	for (unsigned i = 0; i < 200000; i++)
		sum += i ^ (sum >> 3);
	memset(page, (int)sum, 1 << 16);
	__asm__ volatile("" ::"r"(page) : "memory");
	free(page);
	(void)getppid();
}

void event_try(const struct event_code *code, struct event_count *ret)
{
	*ret = (struct event_count){0};
	int fd = perf_open(code, false);
	if ((fd == -EACCES || fd == -EPERM) && !event_in_kernel(code)) {
		ret->user_only = true;
		fd = perf_open(code, true);
	}
	if (fd < 0) {
		ret->error = -fd;
		return;
	}
	work();
	if (read(fd, &ret->value, sizeof(ret->value)) != (ssize_t)sizeof(ret->value))
		ret->error = errno ? errno : EIO;
	close(fd);
}

static int paranoid_level(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (fs_read(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", 32, &text) < 0)
		return -99;
	return (int)strtol(text.buf, NULL, 10);
}

void event_explain(const struct event_code *code, int error, struct strbuf *out)
{
	bool absent = error == ENOENT || error == EOPNOTSUPP || error == ENODEV;

	if (error == EACCES || error == EPERM)
		strbuf_addf(out,
			    "kernel.perf_event_paranoid is %d: `sysctl "
			    "kernel.perf_event_paranoid=1` as root permits it",
			    paranoid_level());
	else
		strbuf_addstr(out, absent && code->type == PERF_TYPE_SOFTWARE
					   ? "this kernel does not have it"
				   : absent ? "this machine has no such counter, or its virtual "
					      "machine hides the counters"
				   : error == EINVAL ? "the kernel refuses this code"
				   : error == ENOSYS ? "this kernel has no perf events"
				   : error == EMFILE
					   ? "too few descriptors: raise `ulimit -n` above 256"
					   : strerror(error));
}

/* ---- lists ---- */

static bool is_option_word(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(option_words); i++)
		if (!strcmp(option_words[i], word))
			return true;
	return false;
}

static void add_resolved(const char *name, struct strbuf *out, struct strbuf *problems, int *count)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct event_code code;
	struct event_count c;

	if (*count == EVENTS_LIST_MAX) {
		strbuf_addf(problems, "event %s: not counted, the limit is %d events\n", name,
			    EVENTS_LIST_MAX);
		return;
	}
	if (event_resolve(name, &code, &why) < 0) {
		strbuf_addf(problems, "event %s: not counted, %s\n", name, why.buf);
		return;
	}
	event_try(&code, &c);
	if (c.error) {
		event_explain(&code, c.error, &why);
		strbuf_addf(problems, "event %s: not counted, %s\n", name, why.buf);
		return;
	}
	strbuf_addf(out, "%s%s=%x:%llx", *count ? "," : "", name, code.type,
		    (unsigned long long)code.config);
	if (code.config1 || code.config2)
		strbuf_addf(out, ":%llx:%llx", (unsigned long long)code.config1,
			    (unsigned long long)code.config2);
	(*count)++;
}

void events_resolve_list(const char *list, struct strbuf *out, struct strbuf *problems)
{
	int count = 0;

	while (list && *list) {
		size_t n = strcspn(list, ",");
		_cleanup_free_ char *name = xstrndup(list, n);

		/* a nested run inherits a list that is already resolved */
		name[strcspn(name, "=")] = 0;
		if (*name && !is_option_word(name))
			add_resolved(name, out, problems, &count);
		list += n + (list[n] == ',');
	}
}

void events_list(event_lister lister, void *user, struct strbuf *why_not_native)
{
	for (size_t i = 0; i < ARRAY_SIZE(event_names); i++) {
		struct event_code code = {event_names[i].type, event_names[i].config, 0, 0,
					  "kernel"};

		lister(user, event_names[i].name, "kernel",
		       event_names[i].type == PERF_TYPE_SOFTWARE ? "software event of the kernel"
								 : "generic hardware event",
		       &code);
	}
	for (size_t i = 0; i < ARRAY_SIZE(presets); i++) {
		struct event_code code = {presets[i].type, presets[i].config, 0, 0, "preset"};

		lister(user, presets[i].name, "preset", presets[i].help, &code);
	}
	const struct module *m = module_load("pfm", why_not_native);
	if (m)
		((const struct pfm_functions *)m->functions)->list(lister, user);
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/sys/kernel/perf_event_paranoid", ctx->root);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (fs_read(AT_FDCWD, path, 32, &text) < 0)
		return strbuf_fail(&report->detail, -ENOSYS, "this kernel has no perf events");
	long level = strtol(text.buf, NULL, 10);
	strbuf_addf(&report->detail, "level %ld: %s", level,
		    level <= 1   ? "users may count all events of their processes"
		    : level == 2 ? "users may count in user mode only"
				 : "users may count nothing");
	if (level <= 1)
		return 0;
	report->remedy = "sudo sysctl kernel.perf_event_paranoid=1";
	return level == 2 ? -EACCES : -EPERM;
}

const struct source source_perf = {
	.name = "perf_event_paranoid",
	.help = "event counters of threads and processes",
	.probe = probe,
};
