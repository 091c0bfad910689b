/*
 * Ports of host channel adapters: InfiniBand, Omni-Path, RoCE and iWARP.
 *
 * - Data counters of InfiniBand count words of 4 octets. Those of Omni-Path (hfi1) count flits of 8
 *   octets: the driver exports its flit counters unchanged, and Intel's headers say 8 bytes. The
 *   bytes in hw_counters are bytes.
 * - Old hardware has 32-bit counters, and all error counters have 4, 8 or 16 bits. They do not
 * wrap: they stop at their maximum until somebody clears them. A traffic counter at its maximum is
 *   absent, since it would show an idle port; an error counter at its maximum is a value, and the
 *   metadata "at_end" names it.
 * - Counters may be cleared at any time (perfquery -R): the samples continue from where they were.
 * - i40iw, irdma and others have no performance agent: their files in counters/ say "N/A (no PMA)".
 * - A read is a command to the adapter's firmware, which takes about 50 us, or a minute when the
 *   firmware is in trouble: a slow source.
 */
#include <errno.h>
#include <string.h>

#include "sources/columns.h"
#include "sources/source.h"
#include "sources/sysfile.h"

#define CLASS "/sys/class/infiniband"
#define FILES_MAX 4
#define PORTS_MAX 256

#define F(...) __VA_ARGS__
static const struct sample_metric columns[] = {
#define PORT_COUNTER(name, unit, bits, files, help) COLUMN(name, unit, COUNTER, 0, help),
#include "sources/fabric/infiniband.def"
#undef PORT_COUNTER
};
#define COUNTERS ARRAY_SIZE(columns)
#define XMIT_DATA 0 /* the first of the list */

static const struct port_counter {
	unsigned bits;
	const char *files[FILES_MAX];
} counters[COUNTERS] = {
#define PORT_COUNTER(name, unit, bits, files, help) {bits, {files}},
#include "sources/fabric/infiniband.def"
#undef PORT_COUNTER
#undef F
};

struct counter {
	struct sysfile file, more; /* more is added when it is there */
	uint64_t unit;             /* bytes that one of the counter stands for */
	struct unwrap count;
};

struct port {
	char *name, *device, *dir; /* "mlx5_0/1", "mlx5_0", the directory of the port */
	struct sysfile state;
	bool active, known; /* active when last looked; looked at all */
	struct counter counters[COUNTERS];
	uint64_t last[COUNTERS]; /* values of the reading before, for the sum */
	bool seen[COUNTERS];
};

struct ports {
	const char *root;
	struct port *list;
	size_t count, cap;
	/* of the active ports: sums of increments, so that a port that goes down does not reduce
	 * them */
	uint64_t total[COUNTERS];
	bool totalled[COUNTERS];
	bool incomplete[COUNTERS]; /* an active port has no value in this reading */
	bool started;
	uint64_t looked_ns; /* when we last looked for adapters */
};

/* ---- finding ports and their counters ---- */

/* Opens one place of a counter: "dir/file", "*dir/file" in units of the link, "dir/a+dir/b". The
 * number in *ret. */
static int try_place(const struct port *p, const char *place, uint64_t unit, struct counter *c,
		     uint64_t *ret)
{
	size_t n = strcspn(place, "+");
	bool words = *place == '*';

	*c = (struct counter){.file = SYSFILE_INIT, .more = SYSFILE_INIT, .unit = words ? unit : 1};
	sysfile_init(&c->file, "%s/%.*s", p->dir, (int)n - words, place + words);
	if (place[n])
		sysfile_init(&c->more, "%s/%s", p->dir, place + n + 1);
	int r = sysfile_u64(&c->file, ret);
	if (r < 0) {
		sysfile_close(&c->file);
		sysfile_close(&c->more);
	}
	return r;
}

/* The first place with a number. Where both counters_ext and counters have one, the larger: the
 * narrow one may have stopped, the wide one may be unused. */
static void find_counter(struct port *p, unsigned m, uint64_t unit)
{
	struct counter *c = &p->counters[m], other;
	uint64_t value, more;
	unsigned i = 0;
	int r = -ENOENT;

	for (; i < FILES_MAX && counters[m].files[i] && r < 0; i++)
		r = try_place(p, counters[m].files[i], unit, c, &value);
	if (r < 0 || i >= FILES_MAX || !counters[m].files[i] ||
	    !strstr(c->file.path, "/counters_ext/"))
		return;
	if (try_place(p, counters[m].files[i], unit, &other, &more) < 0)
		return;
	if (more > value) {
		struct counter less = *c;

		*c = other;
		other = less;
	}
	sysfile_close(&other.file);
	sysfile_close(&other.more);
}

/* Omni-Path is recognised by the name of its driver: nothing else in the tree tells. */
static uint64_t data_unit(const char *device)
{
	return str_prefix(device, "hfi1") ? 8 : 4;
}

static void add_port(struct ports *s, const char *device, const char *number)
{
	GROW(s->list, s->count, s->cap);
	struct port *p = &s->list[s->count++];

	*p = (struct port){.name = xasprintf("%s/%s", device, number),
			   .device = xstrdup(device),
			   .dir = xasprintf("%s" CLASS "/%s/ports/%s", s->root, device, number)};
	sys_clean(p->name);
	sysfile_init(&p->state, "%s/state", p->dir);
}

static bool is_known(const struct ports *s, const char *device, const char *number)
{
	_cleanup_free_ char *dir = xasprintf("%s" CLASS "/%s/ports/%s", s->root, device, number);

	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->list[i].dir, dir))
			return true;
	return false;
}

/* Adds the ports that are not in the list yet. */
static int find_ports(struct ports *s)
{
	_cleanup_name_list_ struct name_list devices = {0};
	int r = name_list_read(&devices, "", "%s" CLASS, s->root);

	for (size_t i = 0; r == 0 && i < devices.count; i++) {
		_cleanup_name_list_ struct name_list numbers = {0};
		const char *device = devices.names[i];

		(void)name_list_read(&numbers, "", "%s" CLASS "/%s/ports", s->root, device);
		for (size_t k = 0; k < numbers.count && s->count < PORTS_MAX; k++)
			if (!is_known(s, device, numbers.names[k]))
				add_port(s, device, numbers.names[k]);
	}
	return s->count ? 0 : r < 0 ? r : -ENOENT;
}

static void close_ports(void *state)
{
	struct ports *s = state;

	for (size_t i = 0; i < s->count; i++) {
		struct port *p = &s->list[i];

		for (unsigned m = 0; m < COUNTERS; m++) {
			sysfile_close(&p->counters[m].file);
			sysfile_close(&p->counters[m].more);
		}
		sysfile_close(&p->state);
		free(p->name);
		free(p->device);
		free(p->dir);
	}
	free(s->list);
	free(s);
}

/* "4: ACTIVE" */
static bool is_active(struct port *p)
{
	char text[64];

	return sysfile_text(&p->state, text, sizeof(text)) > 0 && text[0] == '4' && text[1] == ':';
}

/* ---- sampling ---- */

static void describe_port(const struct ports *s, const struct port *p, struct sample_set *set,
			  uint32_t e)
{
	sys_fact(set, e, "state", "%s/state", p->dir);
	sys_fact(set, e, "phys_state", "%s/phys_state", p->dir);
	sys_fact(set, e, "rate", "%s/rate", p->dir);
	sys_fact(set, e, "link_layer", "%s/link_layer", p->dir);
	sys_fact(set, e, "model", "%s" CLASS "/%s/hca_type", s->root, p->device);
	sys_fact(set, e, "board", "%s" CLASS "/%s/board_id", s->root, p->device);
	sys_fact(set, e, "firmware", "%s" CLASS "/%s/fw_ver", s->root, p->device);
	if (p->counters[XMIT_DATA].unit > 1)
		sample_set_metadata(set, e, "counts_in",
				    p->counters[XMIT_DATA].unit == 8 ? "flits of 8 bytes"
								     : "words of 4 bytes");
}

/* Finds the counters of the ports from this one on. */
static void find_counters(struct ports *s, size_t from)
{
	for (size_t i = from; i < s->count; i++)
		for (unsigned m = 0; m < COUNTERS; m++)
			find_counter(&s->list[i], m, data_unit(s->list[i].device));
}

static int open_ports(const struct source_context *ctx, struct sample_set *set, void **state,
		      struct strbuf *why)
{
	struct ports *s = xcalloc(1, sizeof(*s));
	bool found[COUNTERS] = {0};

	s->root = ctx->root;
	int r = find_ports(s);
	if (r < 0) {
		if (r == -ENOENT)
			strbuf_addf(why, "no host channel adapter in %s" CLASS, ctx->root);
		else
			strbuf_addf(why, "cannot list '%s" CLASS "': %s", ctx->root, strerror(-r));
		close_ports(s);
		return r;
	}
	find_counters(s, 0);
	for (size_t i = 0; i < s->count; i++)
		for (unsigned m = 0; m < COUNTERS; m++)
			found[m] |= s->list[i].counters[m].file.path != NULL;
	for (unsigned m = 0; m < COUNTERS; m++)
		if (!found[m])
			sample_absent(set, m, "no port has this counter");
	*state = s;
	return 0;
}

/* The value of a counter continued. -EOVERFLOW when it has stopped. */
static int read_counter(struct counter *c, unsigned m, uint64_t *ret, bool *at_end)
{
	unsigned bits = counters[m].bits;
	uint64_t raw, more;
	int r = sysfile_u64(&c->file, &raw);

	if (r < 0)
		return r;
	if (c->more.path && sysfile_u64(&c->more, &more) == 0 &&
	    __builtin_add_overflow(raw, more, &raw))
		return -ERANGE;
	if (raw > INT64_MAX / c->unit)
		return -ERANGE;
	*at_end = bits && raw == ((uint64_t)1 << bits) - 1;
	if (*at_end && bits == 32)
		return -EOVERFLOW;
	*ret = sys_grown(&c->count, raw) * c->unit;
	return 0;
}

/* Adds what a port counted since the last reading, or all of it at the first reading. */
static void add_to_total(struct ports *s, struct port *p, unsigned m, uint64_t value)
{
	if (p->active) {
		if (p->seen[m])
			s->total[m] += value - p->last[m];
		else if (!s->started)
			s->total[m] += value;
		s->totalled[m] = true;
	}
	p->last[m] = value;
	p->seen[m] = true;
}

static void read_port(struct ports *s, struct port *p, struct sample_set *set)
{
	_cleanup_strbuf_ struct strbuf at_end = STRBUF_INIT;
	uint32_t e = sample_entity(set, ENTITY_PORT, p->name);
	bool active = is_active(p);

	if (!p->known || active != p->active)
		describe_port(s, p, set, e);
	p->active = active;
	p->known = true;
	sample_row(set, e);
	for (unsigned m = 0; m < COUNTERS; m++) {
		struct counter *c = &p->counters[m];
		bool end = false;
		uint64_t value = 0;

		if (!c->file.path)
			continue;
		int r = read_counter(c, m, &value, &end);
		if (end)
			strbuf_addf(&at_end, "%s%s", at_end.len ? " " : "", columns[m].name);
		if (r == -EOVERFLOW)
			sample_absent(
				set, m,
				"the 32-bit counter of %s has reached its maximum; clear it with "
				"perfquery -R",
				p->name);
		/* a total without one of its parts would seem to stall */
		s->incomplete[m] |= r < 0 && active && (p->seen[m] || r == -EOVERFLOW);
		if (r < 0)
			continue;
		sys_put(set, m, value);
		add_to_total(s, p, m, value);
	}
	sample_set_metadata(set, e, "at_end", at_end.len ? at_end.buf : NULL);
}

static int read_ports(void *state, struct sample_set *set)
{
	struct ports *s = state;
	bool any = false;

	if (sys_look_again(&s->looked_ns, set->time_ns)) {
		size_t before = s->count;

		(void)find_ports(s);
		find_counters(s, before);
	}
	memset(s->incomplete, 0, sizeof(s->incomplete));
	for (size_t i = 0; i < s->count; i++)
		read_port(s, &s->list[i], set);
	sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
	for (unsigned m = 0; m < COUNTERS; m++)
		if (s->totalled[m]) {
			if (!s->incomplete[m])
				sys_put(set, m, s->total[m]);
			any = true;
		}
	s->started = true;
	if (!any)
		sample_absent(set, SAMPLE_METRICS_MAX, "no active port has a counter");
	return 0;
}

static void describe(void *state, struct strbuf *out)
{
	const struct ports *s = state;

	for (size_t i = 0; i < s->count; i++)
		strbuf_addf(out, "%s%s %s", i ? ", " : "", s->list[i].name,
			    is_active(&s->list[i]) ? "active" : "down");
}

const struct source source_infiniband = {
	.name = "infiniband",
	.help = "traffic and errors of InfiniBand, Omni-Path and RoCE ports",
	.describe = describe,
	.metrics = columns,
	.metric_count = COUNTERS,
	.every = 1,
	.slow = true,
	.open = open_ports,
	.read = read_ports,
	.close = close_ports,
};
