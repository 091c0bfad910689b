/*
 * Rows of papiex's CSV from the records of one image: the row of the first thread with all columns,
 * and one for each further thread. The columns are papiex's, the values those of libplimsoll.so.
 * The values of an image are its last record minus the EXEC of the previous image. The first row
 * has what no other row holds, so that the rows add up to the process. Unknown values are 0, since
 * papiex's CSV has no word for them.
 */
#include "compat/epmt/libpapiex/papiex.h"

#include "compat/epmt/papiex_columns.h"
#include "core/crc32c.h"

/* Counters of threads, which add up to those of the process; and counters that continue across an
 * exec. */
static const bool adds_up[METRIC_ID_END] = {
#define METRIC(id, symbol, name, unit, type, scope, kind, agg, ...)                                \
	[id] = TYPE_##type == TYPE_U64 && SCOPE_##scope == SCOPE_THREAD && AGG_##agg == AGG_SUM && \
	       METRIC_##symbol != METRIC_RDTSC_DURATION,
#include "core/metrics/metrics.def"
#undef METRIC
};
static const bool runs_on[METRIC_ID_END] = {
#define METRIC(id, symbol, name, unit, type, scope, kind, agg, over_time, ...) \
	[id] = TYPE_##type == TYPE_U64 && TIME_##over_time == TIME_DIFF &&     \
	       METRIC_##symbol != METRIC_RDTSC_DURATION,
#include "core/metrics/metrics.def"
#undef METRIC
};

static const char *column_name(enum metric_id wanted)
{
	switch (wanted) {
#define METRIC(id, symbol, name, unit, type, scope, kind, agg, over_time, papiex, ...) \
	case METRIC_##symbol:                                                          \
		return papiex;
#include "core/metrics/metrics.def"
#undef METRIC
	}
	return NULL;
}

/* ---- reading records ------------------------------------------------------------------------ */

bool frame_next(struct span *rest, struct frame_at *ret)
{
	const unsigned char *p = rest->p;

	if (rest->n < PL_RECORD_HEADER || pl_get_u32(p) != PL_RECORD_MAGIC)
		return false;
	size_t n = pl_get_u32(p + 8);
	if (n > rest->n - PL_RECORD_HEADER ||
	    crc32c(crc32c(0, p + 4, 8), p + PL_RECORD_HEADER, n) != pl_get_u32(p + 12))
		return false;
	ret->type = pl_get_u16(p + 4);
	ret->flags = pl_get_u16(p + 6);
	ret->whole = (struct span){p, PL_RECORD_HEADER + n};
	ret->payload = (struct span){p + PL_RECORD_HEADER, n};
	rest->p += ret->whole.n;
	rest->n -= ret->whole.n;
	return true;
}

void rec_read_payload(struct rec *r, unsigned flags, const unsigned char *p, size_t n)
{
	const unsigned char *end = p + n;
	uint64_t key, v;

	__builtin_memset(r, 0, sizeof(*r));
	r->size = PL_RECORD_HEADER + n;
	r->flags = flags;
	while (p < end && (p = pl_get_varint(p, end, &key)) && (p = pl_get_varint(p, end, &v))) {
		bool text = key & 1;

		if (text && v > (uint64_t)(end - p))
			return;
		if (key >> 1 < METRIC_ID_END) {
			rec_set(r, (enum metric_id)(key >> 1), v);
			r->text[key >> 1] = (struct fact){(const char *)p, text ? v : 0};
		}
		if (text)
			p += v;
	}
}

void rec_read(struct rec *r, const struct frame_at *f)
{
	rec_read_payload(r, f->flags, f->payload.p, f->payload.n);
}

/* ---- writing -------------------------------------------------------------------------------- */

void out_flush(struct out *o)
{
	struct iovec iov = {o->buf, o->used};

	if (!o->used || o->failed)
		return;
	long n = write_held(o->held, o->fd, &iov, 1);
	if (n > 0)
		o->bytes += (size_t)n;
	o->writes++;
	o->failed = n != (long)o->used;
	o->used = 0;
}

void out_char(struct out *o, char c)
{
	if (o->used == sizeof(o->buf))
		out_flush(o);
	if (!o->failed)
		o->buf[o->used++] = c;
}

static void out_raw(struct out *o, const char *s, size_t n)
{
	while (n--)
		out_char(o, *s++);
}

void out_number(struct out *o, uint64_t v)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		out_char(o, digits[--n]);
}

static void out_escaped(struct out *o, const char *s, size_t n)
{
	static const char controls[] = PAPIEX_CONTROLS, letters[] = PAPIEX_LETTERS;

	for (; n--; s++) {
		size_t i = 0;

		while (controls[i] && controls[i] != *s)
			i++;
		if (controls[i] || *s == '\\' || *s == ',')
			out_char(o, '\\');
		out_char(o, controls[i] ? letters[i] : *s);
	}
}

/* The part after the last slash. */
static struct fact base_of(const char *s, size_t n)
{
	size_t from = n;

	while (from && s[from - 1] != '/')
		from--;
	return (struct fact){s + from, n - from};
}

/* The name is the last part of argv[0], or of the path if there is no argv. */
static void out_name(struct out *o, const struct rec *start)
{
	const struct fact *argv = &start->text[METRIC_ARGV], *path = &start->text[METRIC_PATH];
	size_t n = 0;

	while (n < argv->n && argv->s[n])
		n++;
	struct fact name = argv->n ? base_of(argv->s, n) : base_of(path->s, path->n);
	out_escaped(o, name.s, name.n);
}

/* The other arguments, separated by blanks. */
static void out_arguments(struct out *o, const struct fact *argv)
{
	size_t at = 0;
	bool first = true;

	while (at < argv->n && argv->s[at])
		at++;
	for (at++; at < argv->n; at++) {
		size_t from = at;

		while (at < argv->n && argv->s[at])
			at++;
		if (!first)
			out_char(o, ' ');
		first = false;
		out_escaped(o, argv->s + from, at - from);
	}
}

static void out_text(struct out *o, const struct rec *start, enum metric_id id)
{
	if (id == METRIC_EXENAME)
		out_name(o, start);
	else if (id == METRIC_ARGS)
		out_arguments(o, &start->text[METRIC_ARGV]);
	else
		out_escaped(o, start->text[id].s, start->text[id].n);
}

static bool is_text(enum metric_id id)
{
	return id == METRIC_TAGS || id == METRIC_HOSTNAME || id == METRIC_EXENAME ||
	       id == METRIC_PATH || id == METRIC_ARGS;
}

/* Values of the events, in the order of their names; see events.c. */
static void out_events(struct out *o, const struct rec *row, const struct fact *names)
{
	const unsigned char *p = (const unsigned char *)row->text[METRIC_COUNTERS].s;
	const unsigned char *end = p + row->text[METRIC_COUNTERS].n;
	uint64_t state, value, share;

	if (!names->n)
		return;
	out_char(o, ',');
	out_number(o, row->v[METRIC_RDTSC_DURATION]);
	for (size_t i = 0; i < names->n; i++) {
		if (i && names->s[i - 1] != ',')
			continue;
		state = value = 0;
		if (p && p < end && (p = pl_get_varint(p, end, &state)))
			p = pl_get_varint(p, end, &value);
		if (p && state & PL_COUNTED_SCALED)
			p = pl_get_varint(p, end, &share);
		out_char(o, ',');
		out_number(o, p && state & PL_COUNTED ? value : 0);
	}
}

static void out_row(struct story *s, const struct rec *row, bool first)
{
	struct out *o = &s->out;

	for (size_t i = 0; i < sizeof(papiex_csv_front); i++) {
		enum metric_id id = papiex_csv_front[i];

		if (i)
			out_char(o, ',');
		if (!first && i < PAPIEX_CSV_PROCESS_COLUMNS)
			continue;
		if (is_text(id))
			out_text(o, &s->start, id);
		else
			out_number(o, row->v[id]);
	}
	for (size_t i = 0; i < sizeof(papiex_numbers); i++) {
		out_char(o, ',');
		out_number(o, row->v[papiex_numbers[i]]);
	}
	out_events(o, row, &s->start.text[METRIC_EVENTS]);
	out_char(o, '\n');
}

static void out_header(struct story *s)
{
	const struct fact *events = &s->start.text[METRIC_EVENTS];
	struct out *o = &s->out;
	const char *name;

	for (size_t i = 0; i < sizeof(papiex_csv_front) + sizeof(papiex_numbers); i++) {
		name = column_name(i < sizeof(papiex_csv_front)
					   ? papiex_csv_front[i]
					   : papiex_numbers[i - sizeof(papiex_csv_front)]);
		if (i)
			out_char(o, ',');
		out_raw(o, name, str_len(name));
	}
	if (events->n) {
		name = column_name(METRIC_RDTSC_DURATION);
		out_char(o, ',');
		out_raw(o, name, str_len(name));
		out_char(o, ',');
		out_raw(o, events->s, events->n);
	}
	out_char(o, '\n');
}

/* ---- the process ---------------------------------------------------------------------------- */

/* The next further thread, in s->thread; the events of the first thread are in the row of the
 * process. */
static bool next_thread(struct story *s, struct span *rest)
{
	struct frame_at f;

	while (frame_next(rest, &f)) {
		bool early = (size_t)(f.whole.p - s->frames.p) < s->alive_from;

		if (f.type != PL_THREAD || (f.flags & PL_F_ALIVE && early))
			continue;
		rec_read(&s->thread, &f);
		if (s->thread.v[METRIC_TID] != s->thread.v[METRIC_PID])
			return true;
		if (rec_has(&s->thread, METRIC_COUNTERS)) {
			s->end.text[METRIC_COUNTERS] = s->thread.text[METRIC_COUNTERS];
			rec_set(&s->end, METRIC_RDTSC_DURATION, s->thread.v[METRIC_RDTSC_DURATION]);
		}
	}
	return false;
}

/* The figures from wait() include the children that the process waited for. */
static void take_off_children(struct story *s)
{
	static const unsigned char inclusive[] = {
		METRIC_RSSMAX,   METRIC_MINFLT,    METRIC_MAJFLT,     METRIC_INBLOCK,
		METRIC_OUTBLOCK, METRIC_VOL_CTXSW, METRIC_INVOL_CTXSW};
	struct span rest = s->frames;
	struct frame_at f;
	uint64_t user = s->base.v[METRIC_CUTIME], sys = s->base.v[METRIC_CSTIME];
	bool any = user || sys;

	while (frame_next(&rest, &f)) {
		if (f.type != PL_REAP)
			continue;
		rec_read(&s->thread, &f);
		user += s->thread.v[METRIC_USERTIME];
		sys += s->thread.v[METRIC_SYSTEMTIME];
		any = true;
	}
	s->end.v[METRIC_USERTIME] = less(s->end.v[METRIC_USERTIME], user);
	s->end.v[METRIC_SYSTEMTIME] = less(s->end.v[METRIC_SYSTEMTIME], sys);
	for (size_t i = 0; any && i < sizeof(inclusive); i++)
		rec_unset(&s->end, inclusive[i]);
}

/* What collection itself added after the EXEC record: the write of that record. */
static uint64_t own_io(const struct rec *base, enum metric_id id)
{
	switch (id) {
	case METRIC_RCHAR:
		return base->v[METRIC_OWN_RCHAR];
	case METRIC_WCHAR:
		return base->v[METRIC_OWN_WCHAR] + base->size;
	case METRIC_SYSCR:
		return base->v[METRIC_OWN_SYSCR];
	case METRIC_SYSCW:
		return base->v[METRIC_OWN_SYSCW] + 1;
	default:
		return 0;
	}
}

/* In a process with threads only the one that called exec continues: see record.h. */
static void take_base_of_task(struct rec *base, bool io)
{
	static const unsigned char ids[] = {TASK_METRICS};
	const unsigned char *p = (const unsigned char *)base->text[METRIC_TASK].s;
	const unsigned char *end = p + base->text[METRIC_TASK].n;
	uint64_t v;

	for (size_t i = 0; p && i < (io ? sizeof(ids) : TASK_METRICS_BEFORE_IO); i++)
		if ((p = pl_get_varint(p, end, &v)))
			rec_set(base, ids[i], v);
}

/* The kernel divides CPU time into user and system by ticks: only their sum is exact. */
static void take_off_base(struct story *s)
{
	uint64_t *v = s->end.v, *b = s->base.v;

	take_base_of_task(&s->base, s->end.flags & PL_F_THREAD_IO);
	uint64_t cpu = less(v[METRIC_USERTIME] + v[METRIC_SYSTEMTIME],
			    b[METRIC_USERTIME] + b[METRIC_SYSTEMTIME]);

	for (unsigned id = 1; id < METRIC_ID_END; id++)
		if (runs_on[id] && rec_has(&s->base, id))
			v[id] = less(v[id], b[id] + own_io(&s->base, id));
	if (v[METRIC_USERTIME] > cpu)
		v[METRIC_USERTIME] = cpu;
	v[METRIC_SYSTEMTIME] = cpu - v[METRIC_USERTIME];
}

/* Subtracts the other threads from the first one; returns their number. */
static unsigned take_off_threads(struct story *s)
{
	struct span rest = s->frames;
	uint64_t *v = s->end.v;
	uint64_t left = v[METRIC_USERTIME] + v[METRIC_SYSTEMTIME];
	unsigned n = 0;

	for (; next_thread(s, &rest); n++) {
		const uint64_t *t = s->thread.v;

		for (unsigned id = 1; id < METRIC_ID_END; id++)
			if (adds_up[id])
				v[id] = less(v[id], t[id]);
		left = less(left, t[METRIC_USERTIME] + t[METRIC_SYSTEMTIME]);
	}
	if (v[METRIC_SYSTEMTIME] > left)
		v[METRIC_SYSTEMTIME] = left;
	v[METRIC_USERTIME] = left - v[METRIC_SYSTEMTIME];
	return n;
}

static uint64_t real_us(const struct story *s, uint64_t boot_ns)
{
	return boot_ns / 1000 - s->start.v[METRIC_BOOTTIME] / 1000 + s->start.v[METRIC_REALTIME];
}

/* Its start, since boot: the time of its exec, for a fork the clock tick in which it was created.
 * One thread cannot use more CPU time than passes. */
static uint64_t begin_ns(const struct story *s, uint64_t cpu_us, bool alone)
{
	const uint64_t *v = s->start.v;
	uint64_t begin = v[METRIC_BOOTTIME],
		 latest = less(s->end.v[METRIC_BOOTTIME], cpu_us * 1000);

	if (s->has_base)
		begin = s->base.v[METRIC_BOOTTIME];
	else if (!s->copy)
		begin = less(begin, (v[METRIC_USERTIME] + v[METRIC_SYSTEMTIME]) * 1000);
	else if (s->end.v[METRIC_STARTTIME] * 1000 > begin)
		begin = s->end.v[METRIC_STARTTIME] * 1000;
	return alone && begin > latest ? latest : begin;
}

static void fill_identity(struct story *s, unsigned threads)
{
	static const unsigned char place[] = {METRIC_PPID, METRIC_PGID, METRIC_SID,
					      METRIC_STARTTIME};
	static const unsigned char ranks[] = {METRIC_NUMRANKS, METRIC_MPIRANK};
	uint64_t *v = s->end.v;

	/* a subreaper is not the parent, and a fork writes its own rows */
	for (size_t i = 0; !s->copy && i < sizeof(place); i++)
		v[place[i]] = s->start.v[place[i]];
	if (s->copy && v[METRIC_FORKER])
		v[METRIC_PPID] = v[METRIC_FORKER];
	for (size_t i = 0; i < sizeof(ranks); i++)
		v[ranks[i]] = s->start.v[ranks[i]];
	v[METRIC_GENERATION] = s->generation;
	v[METRIC_TID] = v[METRIC_PID];
	v[METRIC_NUMTIDS] = threads + 1;
}

void papiex_write(struct story *s)
{
	struct rec *row = &s->end;

	if (s->reaped)
		take_off_children(s);
	if (s->has_base)
		take_off_base(s);
	uint64_t cpu = row->v[METRIC_USERTIME] + row->v[METRIC_SYSTEMTIME];
	unsigned threads = take_off_threads(s);
	uint64_t begin = begin_ns(s, cpu, !threads), end = row->v[METRIC_BOOTTIME];
	fill_identity(s, threads);
	rec_set(row, METRIC_START, real_us(s, begin));
	rec_set(row, METRIC_END, real_us(s, end > begin ? end : begin));
	/* EPMT treats a duration of 0 cycles as an error */
	if (!rec_has(row, METRIC_RDTSC_DURATION))
		rec_set(row, METRIC_RDTSC_DURATION,
			1 + (uint64_t)((double)(less(end, begin) / 1000) * s->cycles_per_us));
	out_header(s);
	out_row(s, row, true);
	for (struct span rest = s->frames; next_thread(s, &rest);) {
		uint64_t *t = s->thread.v;
		uint64_t from = t[METRIC_BEGIN]       ? t[METRIC_BEGIN]
				: t[METRIC_STARTTIME] ? t[METRIC_STARTTIME] * 1000
						      : begin;

		if (from < begin) /* the kernel's ticks are coarse */
			from = begin;
		end = t[METRIC_BOOTTIME];
		t[METRIC_MPIRANK] = row->v[METRIC_MPIRANK];
		t[METRIC_START] = real_us(s, from);
		t[METRIC_END] = real_us(s, end > from ? end : from);
		out_row(s, &s->thread, false);
	}
	out_flush(&s->out);
}
