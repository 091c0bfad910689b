/*
 * NFS client statistics of each mounted filesystem from /proc/self/mountstats, and of all of them
 * from /proc/net/rpc/nfs. Nothing here accesses the mounts themselves: a hanging server blocks
 * nothing.
 *
 * The kernel counts per filesystem and shows the counters at each of its mount points, so homes
 * mounted one by one from one export show the same numbers again and again. Mounts of one device
 * number (by mountinfo) are one row here, named after the first of them; metadata list the others.
 * Blanks and backslashes in names come as \040 and the like and are decoded; control characters
 * stay encoded.
 */
#include <errno.h>
#include <string.h>

#include "sources/columns.h"
#include "sources/key_value_file.h"
#include "sources/source.h"

#define TIME(n, text) TIME_COLUMN(n, 1000, text)

#define METRICS_OF_NFS(X)                                                                          \
	X(READ_BYTES, BYTES("read_bytes", "bytes read by programs through the cache"))             \
	X(WRITE_BYTES, BYTES("write_bytes", "bytes written by programs through the cache"))        \
	X(DIRECT_READ_BYTES, BYTES("direct_read_bytes", "bytes read by programs with direct I/O")) \
	X(DIRECT_WRITE_BYTES,                                                                      \
	  BYTES("direct_write_bytes", "bytes written by programs with direct I/O"))                \
	X(SERVER_READ_BYTES, BYTES("server_read_bytes", "bytes read from the server"))             \
	X(SERVER_WRITE_BYTES, BYTES("server_write_bytes", "bytes written to the server"))          \
	X(READ_PAGES, COUNT("read_pages", "pages read for mapped files and the cache"))            \
	X(WRITE_PAGES, COUNT("write_pages", "pages written from mapped files and the cache"))      \
	X(OPS, COUNT("ops", "calls of all kinds"))                                                 \
	X(RETRANSMISSIONS, COUNT("retransmissions", "calls that were retransmitted"))              \
	X(TIMEOUTS, COUNT("timeouts", "major time-outs of calls"))                                 \
	X(ERRORS, COUNT("errors", "calls that failed"))                                            \
	X(SENT_BYTES, BYTES("sent_bytes", "bytes of calls sent, with their headers"))              \
	X(RECEIVED_BYTES,                                                                          \
	  BYTES("received_bytes", "bytes of replies received, with their headers"))                \
	X(QUEUE_TIME, TIME("queue_time", "time that calls waited to be sent, added up"))           \
	X(RTT, TIME("rtt", "time from sending a call to its reply, added up"))                     \
	X(EXECUTE_TIME, TIME("execute_time", "time of calls from beginning to end, added up"))     \
	X(READ_OPS, COUNT("read_ops", "read calls"))                                               \
	X(READ_RTT, TIME("read_rtt", "time from sending a read to its reply, added up"))           \
	X(READ_EXECUTE_TIME,                                                                       \
	  TIME("read_execute_time", "time of reads from beginning to end, added up"))              \
	X(WRITE_OPS, COUNT("write_ops", "write calls"))                                            \
	X(WRITE_RTT, TIME("write_rtt", "time from sending a write to its reply, added up"))        \
	X(WRITE_EXECUTE_TIME,                                                                      \
	  TIME("write_execute_time", "time of writes from beginning to end, added up"))            \
	X(GETATTR_OPS, COUNT("getattr_ops", "calls for attributes"))                               \
	X(SETATTR_OPS, COUNT("setattr_ops", "calls that changed attributes"))                      \
	X(LOOKUP_OPS, COUNT("lookup_ops", "calls that looked a name up"))                          \
	X(ACCESS_OPS, COUNT("access_ops", "permission checks"))                                    \
	X(OPEN_OPS, COUNT("open_ops", "calls that opened a file (version 4)"))                     \
	X(CLOSE_OPS, COUNT("close_ops", "calls that closed a file (version 4)"))                   \
	X(CREATE_OPS, COUNT("create_ops", "calls that created a file, directory, link or device")) \
	X(REMOVE_OPS, COUNT("remove_ops", "calls that removed a file or directory"))               \
	X(RENAME_OPS, COUNT("rename_ops", "calls that renamed"))                                   \
	X(LINK_OPS, COUNT("link_ops", "calls that created a hard link"))                           \
	X(READLINK_OPS, COUNT("readlink_ops", "calls that read a symbolic link"))                  \
	X(READDIR_OPS, COUNT("readdir_ops", "calls that read a directory"))                        \
	X(COMMIT_OPS, COUNT("commit_ops", "calls that committed data to disk"))                    \
	X(LOCK_OPS, COUNT("lock_ops", "calls that set, tested or released a lock"))                \
	X(STATFS_OPS, COUNT("statfs_ops", "calls for filesystem statistics"))                      \
	X(RPC_CALLS, COUNT("rpc_calls", "calls of all mounts together"))                           \
	X(RPC_RETRANSMISSIONS,                                                                     \
	  COUNT("rpc_retransmissions", "calls of all mounts that were retransmitted"))             \
	X(RPC_AUTH_REFRESHES, COUNT("rpc_auth_refreshes", "renewals of credentials for all mounts"))
DEFINE_METRICS(METRICS_OF_NFS);

/* The operations of versions 2, 3 and 4 that have a metric; all count into ops. */
static const struct key_metric operations[] = {
	{"READ", READ_OPS},       {"WRITE", WRITE_OPS},         {"GETATTR", GETATTR_OPS},
	{"SETATTR", SETATTR_OPS}, {"LOOKUP", LOOKUP_OPS},       {"ACCESS", ACCESS_OPS},
	{"OPEN", OPEN_OPS},       {"OPEN_NOATTR", OPEN_OPS},    {"CLOSE", CLOSE_OPS},
	{"CREATE", CREATE_OPS},   {"MKDIR", CREATE_OPS},        {"SYMLINK", CREATE_OPS},
	{"MKNOD", CREATE_OPS},    {"REMOVE", REMOVE_OPS},       {"RMDIR", REMOVE_OPS},
	{"RENAME", RENAME_OPS},   {"LINK", LINK_OPS},           {"READLINK", READLINK_OPS},
	{"READDIR", READDIR_OPS}, {"READDIRPLUS", READDIR_OPS}, {"COMMIT", COMMIT_OPS},
	{"LOCK", LOCK_OPS},       {"LOCKT", LOCK_OPS},          {"LOCKU", LOCK_OPS},
	{"FSSTAT", STATFS_OPS},   {"STATFS", STATFS_OPS},
};

#define NAME_LIMIT 4096
#define MOUNTS_MAX 4096 /* further ones are left out */

/* The counters of one mount in this reading. */
struct mount_counters {
	uint64_t v[METRICS], present;
};

struct mount {
	char *name;   /* where it is mounted, as the entity is called */
	char *export; /* what is mounted there */
	char *device; /* "0:45"; NULL when it is not known */
	struct unwrap counts[METRICS];
	uint32_t entity;
	uint64_t reading; /* the last one that listed it */
	uint64_t shown;   /* the last one with a row of it */
	bool present;     /* has an entity */
	bool again;       /* something else is mounted there now */
};

struct nfs {
	struct cached_file stats, info, rpc;
	struct mount *list;
	size_t count, cap, hint;
	size_t *order; /* of the mounts in the text */
	size_t order_cap;
	struct unwrap calls[3];
	uint64_t reading;
	bool changed; /* there is a new mount: find those that share a filesystem */
};

/* ---- names ---- */

/* Decodes \040 and the like, except control characters. */
static char *unescaped(const struct words *word)
{
	struct strbuf out = STRBUF_INIT;

	for (const char *p = word->p; p < word->end; p++) {
		unsigned c = 0;

		if (*p == '\\' && word->end - p > 3 && p[1] <= '3' &&
		    strspn(p + 1, "01234567") >= 3)
			c = (unsigned)(p[1] - '0') << 6 | (unsigned)(p[2] - '0') << 3 |
			    (unsigned)(p[3] - '0');
		if (c >= ' ' && c != 0x7f) {
			strbuf_addch(&out, (char)c);
			p += 3;
		} else {
			strbuf_addch(&out, *p);
		}
	}
	return out.len ? strbuf_take(&out) : xstrdup("");
}

/* Parses "device EXPORT mounted on PLACE with fstype nfs4 statvers=1.1". */
static bool is_nfs(struct words line, struct words *export, struct words *place)
{
	struct words word;

	return word_next(&line, &word) && word_is(&word, "device") && word_next(&line, export) &&
	       word_next(&line, &word) && word_is(&word, "mounted") && word_next(&line, &word) &&
	       word_is(&word, "on") && word_next(&line, place) && word_next(&line, &word) &&
	       word_is(&word, "with") && word_next(&line, &word) && word_is(&word, "fstype") &&
	       word_next(&line, &word) && (word_is(&word, "nfs") || word_is(&word, "nfs4")) &&
	       place->end - place->p <= NAME_LIMIT && export->end - export->p <= NAME_LIMIT;
}

/* The device number of each mount by "36 35 0:45 / /place rw - nfs4 ..." in the order of the file,
 * which is that of mountstats. */
static void find_devices(struct nfs *n)
{
	struct words text, line, word, device, place;
	size_t hint = 0;

	if (cached_file_read(&n->info) < 0)
		return;
	text = cached_file_words(&n->info);
	while (line_next(&text, &line)) {
		bool good = memmem(line.p, (size_t)(line.end - line.p), " - nfs", 6) &&
			    word_next(&line, &word) && word_next(&line, &word) &&
			    word_next(&line, &device) && word_next(&line, &word) &&
			    word_next(&line, &place) && place.end - place.p <= NAME_LIMIT;

		if (!good)
			continue;
		_cleanup_free_ char *name = unescaped(&place);
		for (size_t i = 0; i < n->count; i++) {
			struct mount *m = &n->list[(hint + i) % n->count];

			if (strcmp(m->name, name) != 0)
				continue;
			free(m->device);
			m->device = xstrndup(device.p, (size_t)(device.end - device.p));
			hint = (hint + i + 1) % n->count;
			break;
		}
	}
}

/* ---- counters ---- */

static void add(struct mount_counters *a, unsigned metric, uint64_t v)
{
	a->v[metric] = v > INT64_MAX - a->v[metric] ? INT64_MAX : a->v[metric] + v;
	a->present |= (uint64_t)1 << metric;
}

/* "READ: 1298 1298 0 207680 1210292152 6 79386 79407 [0]" without its name. A negative time is left
 * out. */
static void add_operation(struct mount_counters *a, const struct words *name, struct words *line)
{
	static const unsigned totals[] = {OPS,        METRICS,        TIMEOUTS,
					  SENT_BYTES, RECEIVED_BYTES, QUEUE_TIME,
					  RTT,        EXECUTE_TIME,   ERRORS};
	uint64_t v[ARRAY_SIZE(totals)];
	bool there[ARRAY_SIZE(totals)] = {false};
	struct words word;

	for (size_t i = 0; i < ARRAY_SIZE(totals) && word_next(line, &word); i++) {
		there[i] = number_next(&word, &v[i]);
		if (there[i] && totals[i] < METRICS)
			add(a, totals[i], v[i]);
	}
	if (!there[0])
		return;
	if (there[1])
		add(a, RETRANSMISSIONS, v[1] > v[0] ? v[1] - v[0] : 0);
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		if (!word_is(name, operations[i].key))
			continue;
		unsigned m = operations[i].metric;
		add(a, m, v[0]);
		if ((m == READ_OPS || m == WRITE_OPS) && there[6])
			add(a, m + READ_RTT - READ_OPS, v[6]);
		if ((m == READ_OPS || m == WRITE_OPS) && there[7])
			add(a, m + READ_EXECUTE_TIME - READ_OPS, v[7]);
	}
}

/* The lines behind that of a mount, up to the next mount. */
static void take_counters(struct words *text, struct mount_counters *a, struct words *version)
{
	struct words rest = *text, line, word;
	bool operation = false;
	uint64_t v;

	*a = (struct mount_counters){0};
	*version = (struct words){NULL, NULL};
	while (line_next(&rest, &line)) {
		if (line.p < line.end && *line.p != '\t' && *line.p != ' ')
			break;
		*text = rest;
		if (!word_next(&line, &word))
			continue;
		if (word_is(&word, "opts:")) {
			const char *vers = memmem(line.p, (size_t)(line.end - line.p), "vers=", 5);
			const char *p = vers ? vers + 5 : line.end;

			*version = (struct words){p, p};
			while (version->end < line.end && *version->end != ',')
				version->end++;
		} else if (word_is(&word, "bytes:")) {
			for (unsigned m = READ_BYTES; m <= WRITE_PAGES; m++)
				if (number_next(&line, &v))
					add(a, m, v);
		} else if (word_is(&word, "per-op")) {
			operation = true;
		} else if (operation && word.end[-1] == ':') {
			word.end--;
			add_operation(a, &word, &line);
		}
	}
}

/* ---- the list ---- */

static struct mount *find(struct nfs *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++) {
		size_t at = (n->hint + i) % n->count;

		if (!strcmp(n->list[at].name, name)) {
			n->hint = at + 1;
			return &n->list[at];
		}
	}
	return NULL;
}

/* The mount at a place; where two are mounted there, the export is part of the second name. */
static struct mount *find_or_add(struct nfs *n, const struct words *export,
				 const struct words *place)
{
	_cleanup_free_ char *from = unescaped(export);
	char *name = unescaped(place);
	struct mount *m = find(n, name);

	if (m && m->reading == n->reading) {
		char *longer = xasprintf("%s (%s)", name, from);

		free(name);
		name = longer;
		m = find(n, name);
	}
	if (!m && n->count >= MOUNTS_MAX) {
		free(name);
		return NULL;
	}
	if (!m) {
		GROW(n->list, n->count, n->cap);
		m = &n->list[n->count++];
		*m = (struct mount){.name = name, .export = xstrdup(from)};
		n->changed = true;
		return m;
	}
	free(name);
	if (strcmp(m->export, from) != 0) {
		free(m->export);
		m->export = xstrdup(from);
		m->again = true;
		n->changed = true;
	}
	return m;
}

/* The mount of the same filesystem that has a row already. */
static struct mount *shown_before(struct nfs *n, const struct mount *m)
{
	for (size_t i = 0; m->device && i < n->count; i++) {
		struct mount *other = &n->list[i];

		if (other != m && other->shown == n->reading && other->device &&
		    !strcmp(other->device, m->device))
			return other;
	}
	return NULL;
}

static void show(struct nfs *n, struct sample_set *set, struct mount *m,
		 const struct mount_counters *a, const struct words *version)
{
	if (!m->present)
		m->entity = sample_entity(set, ENTITY_FILESYSTEM, m->name);
	m->present = true;
	m->shown = n->reading;
	if (n->changed) {
		_cleanup_free_ char *text =
			xstrndup(version->p ? version->p : "", (size_t)(version->end - version->p));

		sample_set_metadata(set, m->entity, "export", m->export);
		sample_set_metadata(set, m->entity, "version", *text ? text : NULL);
		sample_set_metadata(set, m->entity, "also_at", NULL);
	}
	sample_row(set, m->entity);
	for (unsigned i = 0; i < RPC_CALLS; i++)
		if (a->present >> i & 1)
			sample_put(set, i, (int64_t)count_on(&m->counts[i], a->v[i], m->again));
	m->again = false;
}

static void add_also(struct sample_set *set, const struct mount *first, const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	const char *was;
	size_t size;

	if (entity_metadata(&set->entities[first->entity], "also_at", &was, &size)) {
		strbuf_add(&text, was, size);
		strbuf_addstr(&text, ", ");
	}
	strbuf_addstr(&text, name);
	if (text.len <= NAME_LIMIT)
		sample_set_metadata(set, first->entity, "also_at", text.buf);
}

/* Two passes: find the mounts, so that shared filesystems are known; then make the rows. */
static void take_mounts(struct nfs *n, struct sample_set *set)
{
	struct words text = cached_file_words(&n->stats), line, export, place, version;
	size_t lines = 0;
	struct mount_counters a;

	n->hint = 0;
	while (line_next(&text, &line)) {
		if (!is_nfs(line, &export, &place))
			continue;
		struct mount *m = find_or_add(n, &export, &place);
		if (!m)
			break;
		m->reading = n->reading;
		GROW(n->order, lines, n->order_cap);
		n->order[lines++] = (size_t)(m - n->list);
	}
	if (n->changed)
		find_devices(n);
	text = cached_file_words(&n->stats);
	for (size_t i = 0; i < lines && line_next(&text, &line);) {
		if (!is_nfs(line, &export, &place))
			continue;
		struct mount *m = &n->list[n->order[i++]];
		if (m->shown == n->reading)
			continue;
		struct mount *first = shown_before(n, m);
		if (first) {
			if (n->changed)
				add_also(set, first, m->name);
			continue;
		}
		take_counters(&text, &a, &version);
		show(n, set, m, &a, &version);
	}
	n->changed = false;
}

static void free_mount(struct mount *m)
{
	free(m->name);
	free(m->export);
	free(m->device);
}

static void end_gone(struct nfs *n, struct sample_set *set)
{
	size_t left = 0;

	for (size_t i = 0; i < n->count; i++) {
		struct mount *m = &n->list[i];

		if (m->present && m->shown != n->reading) {
			sample_end(set, m->entity);
			m->present = false;
		}
		if (m->reading == n->reading) {
			n->list[left++] = *m;
		} else {
			free_mount(m);
			n->changed = true;
		}
	}
	n->count = left;
}

/* "rpc 4329785 0 4338291" */
static void put_rpc(struct nfs *n, struct sample_set *set)
{
	struct words text = cached_file_words(&n->rpc), line, word;
	uint64_t v;

	while (line_next(&text, &line)) {
		if (!word_next(&line, &word) || !word_is(&word, "rpc"))
			continue;
		sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
		for (unsigned i = 0; i < ARRAY_SIZE(n->calls); i++)
			if (number_next(&line, &v))
				sample_put(set, RPC_CALLS + i,
					   (int64_t)count_on(&n->calls[i], v, false));
		return;
	}
}

static int read_all(void *state, struct sample_set *set)
{
	struct nfs *n = state;
	int stats = cached_file_read(&n->stats), rpc = cached_file_read(&n->rpc);

	if (stats < 0 && rpc < 0)
		return stats;
	n->reading++;
	if (stats == 0) {
		take_mounts(n, set);
		end_gone(n, set);
	}
	if (rpc == 0)
		put_rpc(n, set);
	return 0;
}

static void close_all(void *state)
{
	struct nfs *n = state;

	for (size_t i = 0; i < n->count; i++)
		free_mount(&n->list[i]);
	free(n->list);
	free(n->order);
	cached_file_release(&n->stats);
	cached_file_release(&n->info);
	cached_file_release(&n->rpc);
	free(n);
}

static int open_all(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why)
{
	struct nfs *n = xcalloc(1, sizeof(*n));
	struct words line, export, place;
	bool any = false;

	(void)set;
	cached_file_init(&n->stats, "%s/proc/self/mountstats", ctx->root);
	cached_file_init(&n->info, "%s/proc/self/mountinfo", ctx->root);
	cached_file_init(&n->rpc, "%s/proc/net/rpc/nfs", ctx->root);
	int r = cached_file_read(&n->stats), rpc = cached_file_read(&n->rpc);
	struct words text = cached_file_words(&n->stats);
	while (!any && line_next(&text, &line))
		any = is_nfs(line, &export, &place);
	if (any || rpc == 0) {
		*state = n;
		return 0;
	}
	if (r < 0)
		strbuf_addf(why, "cannot read '%s': %s", n->stats.file.path, strerror(-r));
	else
		strbuf_addstr(why, "no NFS filesystem is mounted and the NFS client is not loaded");
	close_all(n);
	return r < 0 ? r : -ENOENT;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_(sample_release) struct sample_set set = {0};
	size_t mounts = 0;
	int r = source_once(&source_nfs, ctx, &set, &report->detail);

	if (r < 0)
		return r;
	for (size_t i = 0; i < set.row_count; i++)
		mounts += set.entities[set.rows[i].entity].kind == ENTITY_FILESYSTEM;
	if (mounts)
		strbuf_addf(&report->detail, "%zu NFS filesystem%s mounted", mounts,
			    plural(mounts, " is", "s are"));
	else
		strbuf_addstr(&report->detail, "the NFS client is loaded, nothing is mounted");
	return 0;
}

const struct source source_nfs = {
	.name = "nfs",
	.help = "NFS client calls and traffic of each mount",
	.probe = probe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 1,
	.open = open_all,
	.read = read_all,
	.close = close_all,
};
