/* Reading mark files; see mark_log.h. */
#include "records/mark_log.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/text/secrets.h"
#include "core/text/text.h"
#include "core/util.h"

#define PIECE 1024 /* slots that are read at once */
#define YEARS_NS (20LL * 365 * 86400 * 1000000000)

void mark_log_release(struct mark_log *l)
{
	for (size_t i = 0; i < l->name_count; i++)
		free(l->names[i]);
	free(l->names);
	free(l->marks);
	hash_map_release(&l->name_index);
	*l = (struct mark_log){0};
}

/* ---- the header ----------------------------------------------------------------------------- */

/* The time of no mark may overflow. */
static bool is_header(const struct plimsoll_mark_header *h)
{
	return h->magic == PLIMSOLL_MARK_MAGIC && h->version == PLIMSOLL_MARK_VERSION &&
	       h->slot_size == PLIMSOLL_MARK_SLOT && h->max <= PLIMSOLL_MARK_LIMIT && h->pid &&
	       h->real_ns <= INT64_MAX / 2 && h->boot_ns <= INT64_MAX / 4;
}

int mark_file_parse(const void *header, struct mark_file *ret)
{
	_cleanup_strbuf_ struct strbuf host = STRBUF_INIT;
	struct plimsoll_mark_header h;

	memcpy(&h, header, sizeof(h));
	if (!is_header(&h))
		return -EBADMSG;
	h.host[sizeof(h.host) - 1] = 0;
	text_add_printable(&host, h.host, strlen(h.host));
	*ret = (struct mark_file){.process = {.pid = h.pid,
					      .start_ticks = h.start_ticks,
					      .pidns = h.pidns,
					      .rank = h.rank < 0 ? -1 : h.rank,
					      .ranks = h.ranks,
					      .with_cpu = h.flags & PLIMSOLL_WITH_CPU},
				  .slots = h.next < h.max ? h.next : h.max};
	snprintf(ret->process.host, sizeof(ret->process.host), "%s", host.buf);
	uint64_t key[] = {XXH3_64bits(h.host, strlen(h.host)), h.pidns, h.start_ticks, h.pid,
			  h.boot_ns};
	ret->process_id = XXH3_64bits(key, sizeof(key) - sizeof(key[0]));
	ret->file_id = XXH3_64bits(key, sizeof(key));
	return 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* The map is by the bytes in the file, which are kept behind the text of a name. */
static uint32_t name_number(struct mark_log *l, const char *bytes, size_t n)
{
	uint64_t hash = hash_bytes(bytes, n);

	for (struct hash_slot *s = hash_map_first(&l->name_index, hash); s;
	     s = hash_map_next(&l->name_index, s)) {
		const char *name = l->names[s->value], *raw = name + strlen(name) + 2;

		if ((unsigned char)raw[-1] == n && !memcmp(raw, bytes, n))
			return (uint32_t)s->value;
	}
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	/* a name that was cut has no half of a character */
	size_t whole = n;
	while (n == PLIMSOLL_MARK_NAME_MAX && whole && n - whole < 4 && !utf8_valid(bytes, whole))
		whole--;
	text_add_printable(&text, bytes, utf8_valid(bytes, whole) ? whole : n);
	secrets_mask_arguments(&text, ' ', "");
	strbuf_addch(&text, 0);
	strbuf_addch(&text, (char)n);
	strbuf_add(&text, bytes, n);
	GROW(l->names, l->name_count, l->name_cap);
	l->names[l->name_count] = strbuf_take(&text);
	hash_map_add(&l->name_index, hash, l->name_count);
	return (uint32_t)l->name_count++;
}

/* ---- slots ---------------------------------------------------------------------------------- */

bool mark_slot_is_mark(const struct plimsoll_mark_slot *s, const struct plimsoll_mark_header *h)
{
	size_t more = s->length > PLIMSOLL_MARK_INLINE ? s->length - PLIMSOLL_MARK_INLINE : 0;

	return s->kind >= PLIMSOLL_BEGIN && s->kind <= PLIMSOLL_NEXT &&
	       s->flags <= (PLIMSOLL_OF_SCRIPT | PLIMSOLL_OF_COMMAND) && s->tid &&
	       s->length <= PLIMSOLL_MARK_NAME_MAX &&
	       s->slots == 1 + (more + PLIMSOLL_MARK_SLOT - 1) / PLIMSOLL_MARK_SLOT &&
	       s->time_ns < INT64_MAX / 4 && s->time_ns + 1000000000u >= h->boot_ns &&
	       s->time_ns < h->boot_ns + YEARS_NS;
}

static void add_mark(struct mark_log *l, const struct plimsoll_mark_header *h,
		     const struct plimsoll_mark_slot *s)
{
	char name[PLIMSOLL_MARK_INLINE + 3 * PLIMSOLL_MARK_SLOT];
	size_t first = s->length < PLIMSOLL_MARK_INLINE ? s->length : PLIMSOLL_MARK_INLINE;

	memcpy(name, s->name, first);
	if (s->length > first)
		memcpy(name + first, s + 1, s->length - first);
	GROW(l->marks, l->count, l->cap);
	l->marks[l->count] =
		(struct mark){.time_ns = (int64_t)h->real_ns + (int64_t)(s->time_ns - h->boot_ns),
			      .cpu_ns = s->cpu_ns < INT64_MAX ? s->cpu_ns : INT64_MAX,
			      .tid = s->tid,
			      .name = s->kind == PLIMSOLL_END ? 0 : name_number(l, name, s->length),
			      .order = (uint32_t)l->count,
			      .kind = s->kind,
			      .flags = s->flags};
	l->count++;
}

/* Reads the slots in pieces; a mark that reaches over the end of one begins the next. */
static int read_slots(struct mark_log *l, int fd, uint64_t from, uint64_t end,
		      const struct plimsoll_mark_header *h)
{
	_cleanup_free_ struct plimsoll_mark_slot *piece =
		xreallocarray(NULL, PIECE, sizeof(*piece));

	for (uint64_t at = 0; at < end;) {
		size_t want = end - at < PIECE ? (size_t)(end - at) : PIECE, i = 0;
		ssize_t n = pread(fd, piece, want * sizeof(*piece),
				  (off_t)(from + at * sizeof(*piece)));

		if (n < 0)
			return -errno;
		size_t got = (size_t)n / sizeof(*piece);
		if (!got)
			break;
		while (i < got) {
			const struct plimsoll_mark_slot *s = &piece[i];
			bool whole = mark_slot_is_mark(s, h);

			if (whole && i + s->slots > got && at + got < end && i)
				break;
			if (whole && i + s->slots <= got)
				add_mark(l, h, s);
			else
				l->damaged++;
			i += whole ? s->slots : 1;
		}
		at += i;
	}
	return 0;
}

int mark_log_add(struct mark_log *l, int fd, uint64_t at, uint64_t size)
{
	struct plimsoll_mark_header h;
	struct mark_file f;
	ssize_t n = size < sizeof(h) ? 0 : pread(fd, &h, sizeof(h), (off_t)at);

	if (n < 0)
		return -errno;
	if (n < (ssize_t)sizeof(h) || mark_file_parse(&h, &f) < 0)
		return -EBADMSG;
	uint64_t room = size < PLIMSOLL_MARK_HEADER
				? 0
				: (size - PLIMSOLL_MARK_HEADER) / PLIMSOLL_MARK_SLOT;
	bool with_cpu = l->files == 0 || l->process.with_cpu;
	l->process = f.process;
	l->process.with_cpu = f.process.with_cpu && with_cpu;
	l->dropped += h.dropped;
	l->files++;
	/* the end of the file is lost, unless it could not grow */
	if (f.slots > room && !h.dropped)
		l->damaged += f.slots - room;
	return read_slots(l, fd, at + PLIMSOLL_MARK_HEADER, f.slots < room ? f.slots : room, &h);
}

/* ---- regions -------------------------------------------------------------------------------- */

void mark_regions_release(struct mark_regions *r)
{
	free(r->v);
	*r = (struct mark_regions){0};
}

/* By thread and time. Marks of one thread are in the order of its slots. */
static int by_thread(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* The open regions of the thread that is being replayed. */
struct replay {
	const struct mark_log *l;
	struct mark_regions *r;
	uint32_t open[MARK_DEPTH_MAX];
	size_t depth;
	size_t lost; /* regions that were too deep */
};

static void push(struct replay *p, const struct mark *m)
{
	struct mark_regions *r = p->r;

	if (p->depth == MARK_DEPTH_MAX) {
		r->too_deep++;
		p->lost++;
		return;
	}
	GROW(r->v, r->count, r->cap);
	r->v[r->count] =
		(struct mark_region){.begin_ns = m->time_ns,
				     .cpu_ns = p->l->process.with_cpu ? (int64_t)m->cpu_ns : -1,
				     .tid = m->tid,
				     .name = m->name,
				     .parent = p->depth ? p->open[p->depth - 1] : MARK_NONE,
				     .depth = (uint16_t)p->depth,
				     .state = p->l->dropped ? MARK_UNSEEN : MARK_OPEN,
				     .flags = m->flags};
	p->open[p->depth++] = (uint32_t)r->count++;
}

/* Ends the innermost region of a script, or of a program, with all that are open in it. */
static bool pop(struct replay *p, const struct mark *m)
{
	bool script = m->flags & PLIMSOLL_OF_SCRIPT;
	size_t at = p->depth;

	if (!script && p->lost) {
		p->lost--;
		return true;
	}
	while (at && !!(p->r->v[p->open[at - 1]].flags & PLIMSOLL_OF_SCRIPT) != script)
		at--;
	if (!at)
		return false;
	for (size_t i = at - 1; i < p->depth; i++) {
		struct mark_region *v = &p->r->v[p->open[i]];

		v->end_ns = m->time_ns > v->begin_ns ? m->time_ns : v->begin_ns;
		v->state = i == at - 1 ? MARK_ENDED : MARK_OPEN;
		if (v->cpu_ns >= 0)
			v->cpu_ns = (int64_t)m->cpu_ns >= v->cpu_ns ? (int64_t)m->cpu_ns - v->cpu_ns
								    : -1;
	}
	p->depth = at - 1;
	return true;
}

static void play(struct replay *p, const struct mark *m)
{
	switch (m->kind) {
	case PLIMSOLL_NEXT:
		(void)pop(p, m);
		push(p, m);
		break;
	case PLIMSOLL_BEGIN:
		push(p, m);
		break;
	case PLIMSOLL_END:
		p->r->unmatched += !pop(p, m);
		break;
	default: {
		size_t before = p->depth;

		push(p, m);
		if (p->depth == before) {
			p->lost--;
			break;
		}
		struct mark_region *v = &p->r->v[p->open[--p->depth]];
		v->state = MARK_POINT;
		v->end_ns = v->begin_ns;
		v->cpu_ns = -1;
	}
	}
}

/* What is open at the end of a thread stays so; its CPU time is unknown. */
static void end_thread(struct replay *p)
{
	for (size_t i = 0; i < p->depth; i++)
		p->r->v[p->open[i]].cpu_ns = -1;
	p->depth = p->lost = 0;
}

void mark_log_regions(struct mark_log *l, struct mark_regions *ret)
{
	_cleanup_free_ struct replay *p = xcalloc(1, sizeof(*p));

	*ret = (struct mark_regions){0};
	*p = (struct replay){.l = l, .r = ret};
	if (l->count)
		qsort(l->marks, l->count, sizeof(*l->marks), by_thread);
	for (size_t i = 0; i < l->count; i++) {
		if (i && l->marks[i].tid != l->marks[i - 1].tid)
			end_thread(p);
		play(p, &l->marks[i]);
	}
	end_thread(p);
}
