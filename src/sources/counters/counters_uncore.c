/*
 * Events of no single process: units outside of the cores, such as memory controllers, which count
 * for all processes. The kernel describes them in sysfs: the number of the PMU, its events as
 * terms, the bits of each term, and the CPUs (one per socket) to open it on. Counting needs
 * permission to watch whole CPUs (CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less).
 */
#include "sources/counters/counters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"

#define DEVICES "/sys/bus/event_source/devices"
#define UNITS_MAX 256

/* The text of a file of a PMU, without the newline. */
static int read_file(const char *root, const char *pmu, const char *file, struct strbuf *out)
{
	_cleanup_free_ char *path = xasprintf("%s" DEVICES "/%s/%s", root, pmu, file);
	int r = fs_read(AT_FDCWD, path, 4096, out);

	if (r >= 0)
		strbuf_cut(out, strcspn(out->buf, "\n"));
	return r < 0 ? r : 0;
}

/* Puts the bits of a value into the places of "config:0-7,32". */
static bool place_bits(const char *format, uint64_t value, struct event_code *code)
{
	uint64_t *word = str_prefix(format, "config:")    ? &code->config
			 : str_prefix(format, "config1:") ? &code->config1
			 : str_prefix(format, "config2:") ? &code->config2
							  : NULL;
	const char *p = strchr(format, ':');

	if (!word || !p)
		return false;
	for (p++; *p;) {
		char *end;
		unsigned long first = strtoul(p, &end, 10), last = first;

		if (end == p)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (first > last || last > 63)
			return false;
		for (unsigned long bit = first; bit <= last; bit++, value >>= 1)
			*word |= (value & 1) << bit;
		if (*end && *end != ',')
			return false;
		p = end + (*end == ',');
	}
	return value == 0;
}

/* "event=0x04,umask=0x03"; a term without a value is 1. */
static bool add_terms(const char *root, const char *pmu, char *terms, struct event_code *code)
{
	for (char *term = terms; term && *term;) {
		char *next = strchr(term, ',');
		_cleanup_strbuf_ struct strbuf format = STRBUF_INIT;
		char *end = term;

		if (next)
			*next++ = 0;
		char *equals = strchr(term, '=');
		if (equals)
			*equals++ = 0;
		_cleanup_free_ char *file = xasprintf("format/%s", term);
		uint64_t v = equals ? strtoull(equals, &end, 0) : 1;
		if (!fs_is_name(term) || (equals && (end == equals || *end)) ||
		    read_file(root, pmu, file, &format) < 0 || !place_bits(format.buf, v, code))
			return false;
		term = next;
	}
	return true;
}

int system_event(const char *root, const char *pmu, const char *event, struct event_code *ret,
		 struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf type = STRBUF_INIT, terms = STRBUF_INIT;
	_cleanup_free_ char *file = xasprintf("events/%s", event);
	uint64_t number;

	*ret = (struct event_code){.kind = "system"};
	int r = read_file(root, pmu, "type", &type);
	if (r == 0)
		r = read_file(root, pmu, file, &terms);
	if (r < 0)
		return strbuf_fail(why, -ENOENT, "the kernel has no event %s of %s", event, pmu);
	if (parse_u64(type.buf, &number) < 0 || number > UINT32_MAX ||
	    !add_terms(root, pmu, terms.buf, ret))
		return strbuf_fail(why, -EINVAL, "cannot parse the kernel's description of %s/%s",
				   pmu, event);
	ret->type = (uint32_t)number;
	return 0;
}

/* Is "uncore_imc_3" a unit of "uncore_imc"? Not "uncore_imc_free_running_0", which is another. */
static bool is_unit(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(name, prefix, n) != 0)
		return false;
	return !name[n] || (name[n] == '_' && name[n + 1] &&
			    strspn(name + n + 1, "0123456789") == strlen(name + n + 1));
}

struct unit_call {
	struct counters *c;
	unsigned counter;
};

static int open_on(void *user, int cpu)
{
	struct unit_call *u = user;

	return counters_attach_one(u->c, &u->c->system, u->counter, -1, cpu, -1, 0);
}

/* Opens one event on one unit, on the CPUs of the unit. */
static int open_unit(struct counters *c, unsigned counter, const char *pmu, const char *event,
		     struct strbuf *why)
{
	struct counter *n = &c->counters[counter];
	_cleanup_strbuf_ struct strbuf mask = STRBUF_INIT;
	struct unit_call u = {c, counter};

	int r = system_event(c->ctx->root, pmu, event, &n->code, why);
	if (r < 0)
		return r;
	r = read_file(c->ctx->root, pmu, "cpumask", &mask);
	r = counters_each_cpu(r == 0 && mask.len ? mask.buf : "0", open_on, &u);
	if (r < 0 && (r == -EACCES || r == -EPERM))
		strbuf_addf(why,
			    "%s counts for the whole machine: "
			    "`sysctl kernel.perf_event_paranoid=0` as root, or CAP_PERFMON, "
			    "permits it",
			    pmu);
	else if (r < 0)
		event_explain(&n->code, -r, why);
	return r;
}

static void open_event(struct counters *c, unsigned counter)
{
	struct counter *n = &c->counters[counter];
	_cleanup_free_ char *pmu = xstrdup(n->event->code);
	_cleanup_free_ char *path = xasprintf("%s" DEVICES, c->ctx->root);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	char *event = strchr(pmu, '/');
	_cleanup_list_ DIR *d = opendir(path);
	unsigned units = 0;

	if (event)
		*event++ = 0;
	for (const struct dirent *e; event && d && !why.len && (e = readdir(d));)
		if (is_unit(e->d_name, pmu) && ++units <= UNITS_MAX)
			open_unit(c, counter, e->d_name, event, &why);
	if (!units)
		strbuf_addf(&why, "this machine has no %s", pmu);
	/* the sum over some of the units would be wrong */
	if (why.len)
		n->problem = strbuf_take(&why);
}

void counters_open_system(struct counters *c)
{
	for (unsigned i = 0; i < c->counter_count; i++)
		if (c->counters[i].system)
			open_event(c, i);
}
