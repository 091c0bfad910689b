/*
 * Decodes frames of sample files; see sample_file.h. A checksum proves that a frame is as it was
 * written, not that it makes sense: everything is checked before it is used, and the state of all
 * sources together is bounded.
 */
#include "samples/sample_file.h"

#include <errno.h>
#include <math.h>

#include "samples/sample_file_internal.h"

/* Reads a payload; after an error it stays bad, and everything is 0. */
struct cursor {
	const unsigned char *begin, *p, *end;
	bool bad;
	bool peer; /* from another machine: names must be words */
};

static uint64_t get_varint(struct cursor *c)
{
	uint64_t v = 0;
	const unsigned char *next = c->bad ? NULL : pl_get_varint(c->p, c->end, &v);

	if (!next) {
		c->bad = true;
		return 0;
	}
	c->p = next;
	return v;
}

static int64_t get_signed(struct cursor *c)
{
	return unzigzag(get_varint(c));
}

/* A text without NUL; NULL: none. */
static const char *get_text(struct cursor *c, size_t max, size_t *ret_size)
{
	uint64_t n = get_varint(c);
	const char *text = (const char *)c->p;

	*ret_size = 0;
	if (!n)
		return NULL;
	n--;
	if (n > max || n > (uint64_t)(c->end - c->p) || memchr(text, 0, (size_t)n)) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	*ret_size = (size_t)n;
	return text;
}

static char *copy_text(struct cursor *c, size_t max)
{
	size_t n;
	const char *text = get_text(c, max, &n);

	return text ? xstrndup(text, n) : NULL;
}

/* The same; it is an error if there is none. */
static char *copy_name(struct cursor *c)
{
	char *text = copy_text(c, SMP_NAME_MAX);

	if (!text) {
		c->bad = true;
		text = xstrdup("");
	}
	return text;
}

static char *copy_word(struct cursor *c)
{
	char *text = copy_name(c);

	c->bad = c->bad || (c->peer && !smp_is_word(text));
	return text;
}

/* ---- state ---- */

static uint64_t place_bytes(const struct sample_file_source *s)
{
	return sizeof(*s->entities) + sizeof(*s->last_present) + sizeof(*s->told) +
	       s->metric_count * sizeof(*s->last);
}

static uint64_t text_bytes(const char *s)
{
	return s ? strlen(s) + 32 : 0; /* what an allocation costs beside it */
}

static uint64_t source_bytes(const struct sample_file_source *s)
{
	uint64_t n = text_bytes(s->name);

	for (size_t i = 0; i < s->metric_count; i++)
		n += text_bytes(s->metrics[i].name) + text_bytes(s->metrics[i].help) +
		     sizeof(s->metrics[i]);
	return n;
}

static void release_source(struct sample_file_source *s)
{
	for (size_t i = 0; i < s->metric_count; i++) {
		free((char *)s->metrics[i].name);
		free((char *)s->metrics[i].help);
	}
	for (size_t i = 0; i < s->entity_count; i++) {
		free(s->entities[i].name);
		free(s->entities[i].metadata);
	}
	free(s->name);
	free(s->metrics);
	free(s->entities);
	free(s->last);
	free(s->last_present);
	free(s->told);
	*s = (struct sample_file_source){0};
}

/* Releases a source and its part of the state. */
static void drop_source(struct sample_file *f, struct sample_file_source *s)
{
	uint64_t n = source_bytes(s) + s->last_cap * place_bytes(s);

	for (size_t i = 0; i < s->entity_count; i++)
		n += text_bytes(s->entities[i].name) + text_bytes(s->entities[i].metadata);
	f->buffer->state -= n;
	release_source(s);
}

void sample_file_head_release(struct sample_file_head *h)
{
	free(h->host);
	free(h->boot);
	free(h->job);
	free(h->run);
	*h = (struct sample_file_head){0};
}

void smp_forget(struct sample_file *f)
{
	for (size_t i = 0; i < f->source_count; i++)
		drop_source(f, &f->sources[i]);
	free(f->sources);
	f->sources = NULL;
	f->source_count = 0;
	sample_file_head_release(&f->head);
	f->buffer->has_head = false;
	f->reading.metrics = NULL;
	f->reading.entities = NULL;
	f->reading.metric_count = f->reading.entity_count = f->reading.row_count = 0;
}

/* ---- heads and clocks ---- */

static int take_head(struct sample_file *f, struct cursor *c, bool repeat)
{
	struct sample_file_buffer *b = f->buffer;
	uint32_t session = crc32c_bulk(0, c->p, (size_t)(c->end - c->p));
	struct sample_file_head h = {0};

	if (repeat && b->has_head && b->session == session)
		return 0;
	if (get_varint(c) != SMP_VERSION)
		c->bad = true;
	h.host = copy_text(c, SMP_NAME_MAX);
	if (c->peer && h.host && !smp_is_word(h.host))
		c->bad = true;
	if (b->one_host && b->host && !str_same(b->host, h.host))
		c->bad = true;
	h.boot = copy_text(c, SMP_NAME_MAX);
	h.job = copy_text(c, SMP_NAME_MAX);
	h.run = copy_text(c, SMP_NAME_MAX);
	h.period_ns = get_varint(c);
	h.boottime_ns = get_varint(c);
	h.realtime_ns = get_signed(c);
	/* even an invalid head ends what was before it */
	smp_forget(f);
	if (c->bad) {
		sample_file_head_release(&h);
		return -EBADMSG;
	}
	if (b->one_host && !b->host && h.host)
		b->host = xstrdup(h.host);
	f->head = h;
	f->boottime_ns = h.boottime_ns;
	f->realtime_ns = h.realtime_ns;
	b->has_head = true;
	b->session = session;
	return SAMPLE_HEAD;
}

static int take_clock(struct sample_file *f, struct cursor *c)
{
	uint64_t boottime = get_varint(c);
	int64_t realtime = get_signed(c);

	if (c->bad)
		return -EBADMSG;
	f->boottime_ns = boottime;
	f->realtime_ns = realtime;
	return SAMPLE_CLOCK;
}

/* By the last pair of clocks; hostile numbers are clamped. */
static int64_t realtime_us(const struct sample_file *f, uint64_t time_ns)
{
	int64_t since = smp_minus((int64_t)time_ns, (int64_t)f->boottime_ns), ns;

	if (__builtin_add_overflow(f->realtime_ns, since, &ns))
		return since < 0 ? INT64_MIN / 1000 : INT64_MAX / 1000;
	return ns / 1000;
}

/* ---- sources ---- */

static enum metric_unit unit_of(const char *name)
{
	enum metric_unit unit = metric_unit_by_name(name);

	return unit == UNIT_END ? UNIT_NONE : unit;
}

static void get_metric(struct cursor *c, struct sample_metric *m)
{
	m->name = copy_word(c);
	_cleanup_free_ char *unit = copy_name(c);
	_cleanup_free_ char *kind = copy_name(c);
	_cleanup_free_ char *agg = copy_name(c);
	m->unit = unit_of(unit);
	m->kind = metric_kind_by_name(kind);
	m->agg = metric_agg_by_name(agg);
	if (c->bad || c->end - c->p < 8) {
		c->bad = true;
		return;
	}
	uint64_t bits = pl_get_u64(c->p);
	memcpy(&m->scale, &bits, sizeof(m->scale));
	c->p += 8;
	if (!isfinite(m->scale))
		c->bad = true;
	m->help = copy_text(c, SMP_NAME_MAX);
}

static bool same_source(const struct sample_file_source *a, const struct sample_file_source *b)
{
	if (!a->name || strcmp(a->name, b->name) != 0 || a->every != b->every ||
	    a->metric_count != b->metric_count)
		return false;
	for (size_t i = 0; i < a->metric_count; i++) {
		const struct sample_metric *x = &a->metrics[i], *y = &b->metrics[i];

		if (strcmp(x->name, y->name) != 0 || x->unit != y->unit || x->kind != y->kind ||
		    x->agg != y->agg || x->scale != y->scale || !str_same(x->help, y->help))
			return false;
	}
	return true;
}

static int take_source(struct sample_file *f, struct cursor *c, unsigned number, uint32_t chain)
{
	struct sample_file_source now = {.name = copy_word(c)};
	uint64_t every = get_varint(c), count = get_varint(c);

	if (count > SAMPLE_METRICS_MAX || every > UINT32_MAX)
		c->bad = true;
	if (!c->bad) {
		now.every = (unsigned)every;
		now.metrics = xcalloc((size_t)count + 1, sizeof(*now.metrics));
		while (now.metric_count < count && !c->bad)
			get_metric(c, &now.metrics[now.metric_count++]);
	}
	if (c->bad || f->buffer->state + source_bytes(&now) > f->buffer->state_max) {
		release_source(&now);
		return -EBADMSG;
	}
	if (number >= f->source_count) {
		f->sources = xreallocarray(f->sources, number + 1, sizeof(*f->sources));
		memset(f->sources + f->source_count, 0,
		       (number + 1 - f->source_count) * sizeof(*f->sources));
		f->source_count = number + 1;
	}
	struct sample_file_source *s = &f->sources[number];
	bool again = same_source(s, &now);
	if (again) {
		release_source(&now);
		if (s->entity_count)
			memset(s->told, 0, s->entity_count);
	} else {
		drop_source(f, s);
		*s = now;
		f->buffer->state += source_bytes(s);
	}
	s->whole = true;
	s->chain = (chain + 1) % SMP_CHAIN_END;
	s->last_time = 0;
	f->source = number;
	return again ? 0 : SAMPLE_SOURCE;
}

/* ---- entities ---- */

struct entity_frame {
	uint64_t kind;
	const char *name, *metadata;
	size_t name_size, metadata_size;
};

/* Reads one entity; its index is relative to the one before. */
static bool get_entity(struct cursor *c, uint32_t *place, bool first, struct entity_frame *t)
{
	uint64_t step = get_varint(c);

	t->kind = get_varint(c);
	t->name = get_text(c, SMP_NAME_MAX, &t->name_size);
	t->metadata = get_text(c, SMP_METADATA_MAX, &t->metadata_size);
	if (c->bad || !t->name || !t->kind || t->kind > 255 || step >= SMP_ENTITIES_MAX ||
	    *place + step >= SMP_ENTITIES_MAX || (!first && !step))
		return false;
	*place += (uint32_t)step;
	/* lines with a key each, as entity_metadata() needs them */
	for (const char *p = t->metadata, *end = p ? p + t->metadata_size : p; p < end;) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));

		if (!eol || !memchr(p, '=', (size_t)(eol - p)))
			return false;
		p = eol + 1;
	}
	return true;
}

/* Makes room for an index; false: above the limit. */
static bool make_room(struct sample_file *f, struct sample_file_source *s, uint32_t place)
{
	size_t cap = s->last_cap * 2 > place ? s->last_cap * 2 : place + 1;

	if (place < s->last_cap)
		return true;
	if (cap > SMP_ENTITIES_MAX)
		cap = SMP_ENTITIES_MAX;
	if (cap < 16)
		cap = 16;
	uint64_t more = (cap - s->last_cap) * place_bytes(s);
	if (f->buffer->state + more > f->buffer->state_max)
		return false;
	f->buffer->state += more;
	s->entities = xreallocarray(s->entities, cap, sizeof(*s->entities));
	s->last_present = xreallocarray(s->last_present, cap, sizeof(*s->last_present));
	s->told = xreallocarray(s->told, cap, sizeof(*s->told));
	s->last = xreallocarray(s->last, cap, (s->metric_count + 1) * sizeof(*s->last));
	s->last_cap = cap;
	return true;
}

/* Checks all entities of a frame before the first is used. */
static int check_entities(struct sample_file *f, const struct cursor *from, unsigned number)
{
	struct sample_file_source *s = &f->sources[number];
	uint64_t texts = 0;
	struct cursor c = *from;
	uint32_t place = 0;
	struct entity_frame t;

	for (bool first = true; c.p < c.end; first = false) {
		if (!get_entity(&c, &place, first, &t))
			return -EBADMSG;
		texts += t.name_size + t.metadata_size + 64;
	}
	if (f->buffer->state + texts > f->buffer->state_max || !make_room(f, s, place))
		return -EBADMSG;
	if (place >= s->entity_count) {
		memset(s->entities + s->entity_count, 0,
		       (place + 1 - s->entity_count) * sizeof(*s->entities));
		memset(s->told + s->entity_count, 0, place + 1 - s->entity_count);
		s->entity_count = place + 1;
	}
	return 0;
}

static bool is_entity(const struct entity *e, const struct entity_frame *t)
{
	return e->kind == (enum entity_kind)t->kind && strlen(e->name) == t->name_size &&
	       !memcmp(e->name, t->name, t->name_size) &&
	       (e->metadata ? t->metadata && strlen(e->metadata) == t->metadata_size &&
				      !memcmp(e->metadata, t->metadata, t->metadata_size)
			    : !t->metadata);
}

int smp_next_entity(struct sample_file *f, const unsigned char *p)
{
	struct sample_file_buffer *b = f->buffer;
	struct sample_file_source *s = &f->sources[f->source];
	struct cursor c = {
		.p = p + b->frame_at, .end = p + b->frame_size, .peer = f->buffer->one_host};
	struct entity_frame t;

	while (c.p < c.end && get_entity(&c, &b->frame_place, true, &t)) {
		uint32_t place = b->frame_place;
		struct entity *e = &s->entities[place];

		b->frame_at = (size_t)(c.p - p);
		s->told[place] = 1;
		s->last_present[place] = 0;
		memset(s->last + place * s->metric_count, 0, s->metric_count * sizeof(*s->last));
		if (is_entity(e, &t))
			continue;
		b->state -= text_bytes(e->name) + text_bytes(e->metadata);
		free(e->name);
		free(e->metadata);
		e->kind = (enum entity_kind)t.kind;
		e->name = xstrndup(t.name, t.name_size);
		e->metadata = t.metadata ? xstrndup(t.metadata, t.metadata_size) : NULL;
		b->state += text_bytes(e->name) + text_bytes(e->metadata);
		f->entity = place;
		return SAMPLE_ENTITY;
	}
	b->frame_size = 0;
	return 0;
}

/* ---- readings ---- */

static void begin_row(struct sample_file *f, const struct sample_file_source *s, uint32_t entity)
{
	struct sample_set *set = &f->reading;
	size_t width = s->metric_count + 1;

	GROW(set->rows, set->row_count, set->row_cap);
	if ((set->row_count + 1) * width > f->buffer->values_cap) {
		f->buffer->values_cap = (set->row_count + 8) * 2 * width;
		set->values =
			xreallocarray(set->values, f->buffer->values_cap, sizeof(*set->values));
	}
	set->rows[set->row_count++] =
		(struct sample_row){.entity = entity, .present = s->last_present[entity]};
}

static bool get_row(struct sample_file *f, struct cursor *c, struct sample_file_source *s,
		    int64_t *entity)
{
	uint64_t known = s->metric_count < 64 ? ((uint64_t)1 << s->metric_count) - 1 : UINT64_MAX;
	uint64_t head = get_varint(c);

	*entity = smp_plus(*entity, unzigzag(head >> 1));
	if (c->bad || *entity < 0 || (uint64_t)*entity >= s->entity_count || s->told[*entity] != 1)
		return false;
	uint32_t place = (uint32_t)*entity;
	int64_t *last = s->last + place * s->metric_count;
	(*entity)++;
	s->told[place] = 2; /* one row per set */
	if (head & 1)
		s->last_present[place] = get_varint(c);
	uint64_t present = s->last_present[place], changed = get_varint(c);
	if (c->bad || (present & ~known) || (changed & ~present))
		return false;
	begin_row(f, s, place);
	int64_t *values = f->reading.values + (f->reading.row_count - 1) * s->metric_count;
	for (unsigned m = 0; m < s->metric_count; m++) {
		if (changed >> m & 1)
			last[m] = smp_plus(last[m], get_signed(c));
		values[m] = present >> m & 1 ? last[m] : 0;
	}
	return !c->bad;
}

static int take_reading(struct sample_file *f, struct cursor *c, unsigned number)
{
	struct sample_file_source *s = &f->sources[number];
	struct sample_set *set = &f->reading;
	int64_t entity = 0;
	bool good;

	s->last_time = (uint64_t)smp_plus((int64_t)s->last_time, get_signed(c));
	set->metrics = s->metrics;
	set->metric_count = s->metric_count;
	set->entities = s->entities;
	set->entity_count = s->entity_count;
	set->time_ns = s->last_time;
	set->row_count = 0;
	good = !c->bad;
	while (good && c->p < c->end)
		good = get_row(f, c, s, &entity);
	for (size_t i = 0; i < set->row_count; i++)
		s->told[set->rows[i].entity] = 1;
	if (!good) {
		set->row_count = 0;
		s->whole = false;
		f->skipped_readings++;
		return -EBADMSG;
	}
	f->source = number;
	f->time_us = realtime_us(f, s->last_time);
	return SAMPLE_READING;
}

static int take_absence(struct sample_file *f, struct cursor *c, unsigned number)
{
	uint64_t metric = get_varint(c);
	char *reason = copy_name(c);

	if (c->bad || metric > SAMPLE_METRICS_MAX) {
		free(reason);
		return -EBADMSG;
	}
	free(f->reason);
	f->reason = reason;
	f->source = number;
	f->metric = (unsigned)metric;
	return SAMPLE_ABSENT;
}

/* A frame of a source is valid if none since the source's own frame is missing. */
static int take_source_frame(struct sample_file *f, struct cursor *c, unsigned type)
{
	uint64_t number = get_varint(c), chain = get_varint(c);

	if (c->bad || number >= SMP_SOURCES_MAX || chain >= SMP_CHAIN_END)
		return -EBADMSG;
	if (type == SMP_SOURCE)
		return take_source(f, c, (unsigned)number, (uint32_t)chain);
	struct sample_file_source *s = number < f->source_count ? &f->sources[number] : NULL;
	if (!s || !s->whole || s->chain != chain) {
		if (s)
			s->whole = false;
		if (type == SMP_READING)
			f->skipped_readings++;
		return 0;
	}
	s->chain = (s->chain + 1) % SMP_CHAIN_END;
	if (type == SMP_READING)
		return take_reading(f, c, (unsigned)number);
	int r = type == SMP_ABSENT ? take_absence(f, c, (unsigned)number)
				   : check_entities(f, c, (unsigned)number);
	if (r < 0)
		s->whole = false;
	if (r == 0 && c->p < c->end) {
		f->source = (unsigned)number;
		f->buffer->frame_size = (size_t)(c->end - c->begin);
		f->buffer->frame_at = (size_t)(c->p - c->begin);
		f->buffer->frame_place = 0;
	}
	return r;
}

int smp_decode(struct sample_file *f, unsigned type, const unsigned char *p, size_t n)
{
	struct cursor c = {.begin = p, .p = p, .end = p + n, .peer = f->buffer->one_host};

	switch (type) {
	case SMP_HEAD:
	case SMP_REPEAT:
		return take_head(f, &c, type == SMP_REPEAT);
	case SMP_SOURCE:
	case SMP_ENTITIES:
	case SMP_READING:
	case SMP_ABSENT:
		return take_source_frame(f, &c, type);
	case SMP_CLOCK:
		return take_clock(f, &c);
	case SMP_LOST:
		f->count = get_varint(&c);
		return c.bad ? -EBADMSG : SAMPLE_LOST;
	case SMP_END:
		free(f->reason);
		f->reason = copy_text(&c, SMP_NAME_MAX);
		return c.bad ? -EBADMSG : SAMPLE_END;
	default:
		return 0;
	}
}
