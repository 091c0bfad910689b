/*
 * What a running collector says about itself: a file in the directory of its log, replaced twice a
 * second, and `plimsoll collect --status`, which shows it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "collector/collector.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "core/text/json_writer.h"
#include "core/text/terminal_table.h"
#include "core/text/text.h"
#include "core/value.h"
#include "inbox/daemon.h"
#include "sinks/sink_worker.h"
#include "transport/log/commit_log.h"
#include "transport/receiver.h"
#include "transport/sender.h"

#define STATUS_FILE "status.json"
#define NODES_FILE "nodes.json"
#define NODES_MAX ((size_t)16 << 20)
#define NODES_SHOWN 20 /* as text; JSON has all */
/* A sink that has taken nothing for so long, beside the time between its commits, holds the log;
 * and whoever is behind does when the log has grown to this share of its limit. */
#define HELD_SECONDS 10
#define HELD_SHARE 0.1
#define COMMIT_SECONDS 5 /* the longest that sinks have by themselves */
#define LOCK_FILE "running"
#define STATUS_OLD 10 /* seconds; it is written twice in one */
#define STATUS_MAX ((size_t)1 << 20)

int collect_lock(int dirfd, bool look)
{
	int fd = openat(dirfd, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (flock(fd, (look ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0)
		return fd;
	int r = errno == EWOULDBLOCK ? -EBUSY : -errno;
	close(fd);
	return r;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static void add_time(struct jsonw *j, const char *key, int64_t us)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (us)
		text_add_time(&text, us, false);
	jsonw_str(j, key, us ? text.buf : NULL);
}

static double share_of(const struct collect_view *v, int dirfd, uint64_t bytes)
{
	struct statvfs fs;

	if (v->o->log_limit)
		return (double)bytes / (double)v->o->log_limit;
	if (fstatvfs(dirfd, &fs) < 0)
		return 0;
	return (double)bytes / ((double)bytes + (double)fs.f_bavail * (double)fs.f_frsize + 1);
}

/* Does it hold the log? Between two commits every sink is behind, and that is nothing to speak of.
 */
static bool sink_holds(const struct collect_view *v, const struct sink_workers_state *s,
		       double share, double seconds)
{
	double commit = v->o->commit_ns ? (double)v->o->commit_ns / 1e9 : COMMIT_SECONDS;

	if (!s->entries_behind)
		return false;
	if (s->phase != SINK_WORKERS_RUNNING && s->failures)
		return true;
	return share >= HELD_SHARE || seconds >= commit + HELD_SECONDS;
}

void collect_hold(const struct collect_view *v, int dirfd, struct collect_hold *ret)
{
	uint64_t now = clock_boottime_ns(), end = commit_log_next_number(v->log), least = end;
	struct commit_log_counts n;

	*ret = (struct collect_hold){0};
	commit_log_counts(v->log, &n);
	ret->share = share_of(v, dirfd, n.bytes);
	for (size_t i = 0; i < sink_workers_count(v->replay); i++) {
		struct sink_workers_state s;

		sink_workers_state(v->replay, i, &s);
		double seconds = (double)((int64_t)now - s.behind_since_ns) / 1e9;
		if (s.position >= least || !sink_holds(v, &s, ret->share, seconds))
			continue;
		least = s.position;
		free(ret->by);
		ret->by = xstrdup(s.shown);
		ret->seconds = seconds;
	}
	if (v->deliver && sender_position(v->deliver) < least) {
		struct sender_counts c;

		sender_counts(v->deliver, &c);
		if (!c.away_since_ns && !c.refusing && !c.key_refused && ret->share < HELD_SHARE)
			return;
		free(ret->by);
		ret->by = xasprintf("--forward %s", v->o->forward);
		ret->seconds = c.away_since_ns ? (double)(now - c.away_since_ns) / 1e9 : 0;
	}
}

static void add_log(struct jsonw *j, const struct collect_view *v, int dirfd)
{
	struct commit_log_counts n;
	struct collect_hold hold;

	collect_hold(v, dirfd, &hold);
	commit_log_counts(v->log, &n);
	jsonw_begin_object(j, "log");
	jsonw_str(j, "directory", v->dir);
	jsonw_u64(j, "first", commit_log_first(v->log));
	jsonw_u64(j, "next", commit_log_next_number(v->log));
	jsonw_u64(j, "bytes", n.bytes);
	jsonw_u64(j, "limit", v->o->log_limit);
	jsonw_u64(j, "damaged", n.damaged);
	jsonw_f64(j, "share", hold.share);
	if (hold.by) {
		jsonw_str(j, "held_by", hold.by);
		jsonw_f64(j, "held_seconds", hold.seconds);
	}
	jsonw_end_object(j);
	free(hold.by);
}

static void add_native(struct jsonw *j, const struct collect_view *v)
{
	_cleanup_strbuf_ struct strbuf at = STRBUF_INIT;
	struct receiver_counts n;

	if (!v->receive)
		return;
	receiver_counts(v->receive, &n);
	receiver_endpoint(v->receive, &at);
	jsonw_begin_object(j, "native");
	jsonw_str(j, "address", at.buf);
	jsonw_u64(j, "batches", n.batches);
	jsonw_u64(j, "bytes", n.bytes);
	jsonw_u64(j, "duplicates", n.duplicates);
	jsonw_u64(j, "early", n.early);
	jsonw_u64(j, "bad", n.bad);
	jsonw_u64(j, "refused", n.refused);
	jsonw_u64(j, "closed", n.closed);
	jsonw_u64(j, "withdrawn", n.withdrawn);
	jsonw_u64(j, "no_room", n.no_room);
	jsonw_u64(j, "nodes", n.nodes);
	jsonw_end_object(j);
}

static void add_port(struct jsonw *j, const struct collector_protocol *p,
		     struct collector_port *port)
{
	_cleanup_strbuf_ struct strbuf at = STRBUF_INIT;
	struct collector_port_counts n;

	p->counts(port, &n);
	p->endpoint(port, &at);
	jsonw_begin_object(j, p->name);
	jsonw_str(j, "address", at.buf);
	jsonw_u64(j, "messages", n.messages);
	jsonw_u64(j, "bytes", n.bytes);
	jsonw_u64(j, "records", n.records);
	jsonw_u64(j, "batches", n.batches);
	jsonw_u64(j, "bad", n.bad);
	jsonw_u64(j, "refused", n.refused);
	jsonw_u64(j, "closed", n.closed);
	jsonw_end_object(j);
}

static void add_forward(struct jsonw *j, const struct collect_view *v)
{
	struct sender_counts n;

	if (!v->deliver)
		return;
	uint64_t position = sender_position(v->deliver), end = commit_log_next_number(v->log);
	uint64_t now = clock_boottime_ns();

	sender_counts(v->deliver, &n);
	jsonw_begin_object(j, "forward");
	jsonw_str(j, "address", v->o->forward);
	jsonw_u64(j, "position", position);
	jsonw_u64(j, "entries_behind", end > position ? end - position : 0);
	jsonw_u64(j, "acknowledged", n.acknowledged);
	jsonw_u64(j, "refused", n.refused);
	jsonw_bool(j, "there", !n.away_since_ns);
	jsonw_f64(j, "away_seconds",
		  n.away_since_ns && now > n.away_since_ns ? (double)(now - n.away_since_ns) / 1e9
							   : 0);
	jsonw_str(j, "reason", n.key_refused ? n.trouble[TROUBLE_KEY] : n.reason);
	jsonw_end_object(j);
}

static void add_sink(struct jsonw *j, const struct sink_workers_state *s)
{
	int64_t now = (int64_t)clock_boottime_ns();
	double behind = s->behind_since_ns ? (double)(now - s->behind_since_ns) / 1e9 : 0;

	jsonw_begin_object(j, NULL);
	jsonw_str(j, "sink", s->shown);
	jsonw_str(j, "phase", sink_workers_phase_name(s->phase));
	jsonw_u64(j, "position", s->position);
	jsonw_u64(j, "entries_behind", s->entries_behind);
	jsonw_f64(j, "seconds_behind", behind > 0 ? behind : 0);
	jsonw_u64(j, "committed", s->committed);
	jsonw_u64(j, "skipped", s->skipped);
	jsonw_u64(j, "kept_aside", s->aside);
	jsonw_u64(j, "missing", s->missing);
	jsonw_u64(j, "failures", s->failures);
	jsonw_str(j, "reason", *s->reason ? s->reason : NULL);
	add_time(j, "reason_time", s->reason_us);
	jsonw_end_object(j);
}

void collect_write_status(const struct collect_view *v, int dirfd)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	j.pretty = true;
	jsonw_begin_object(&j, NULL);
	jsonw_i64(&j, "pid", getpid());
	jsonw_str(&j, "version", PL_VERSION);
	add_time(&j, "started", v->started_us);
	add_time(&j, "time", clock_realtime_us());
	add_log(&j, v, dirfd);
	add_native(&j, v);
	for (size_t i = 0; collector_protocols[i]; i++)
		if (v->ports[i])
			add_port(&j, collector_protocols[i], v->ports[i]);
	add_forward(&j, v);
	jsonw_begin_array(&j, "sinks");
	for (size_t i = 0; i < sink_workers_count(v->replay); i++) {
		struct sink_workers_state s;

		sink_workers_state(v->replay, i, &s);
		add_sink(&j, &s);
	}
	jsonw_end_array(&j);
	jsonw_end_object(&j);
	strbuf_addch(&j.out, '\n');
	(void)fs_replace(dirfd, STATUS_FILE, j.out.buf, j.out.len, 0640);
}

/* A list of its own, since it may be long: it is written less often. */
void collect_write_nodes(const struct collect_view *v, int dirfd)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	struct sending_nodes all = {0};
	int64_t now = clock_realtime_us();

	if (v->receive)
		receive_senders(v->receive, &all);
	jsonw_begin_array(&j, NULL);
	for (size_t i = 0; i < all.count; i++) {
		jsonw_begin_object(&j, NULL);
		jsonw_str(&j, "node", all.list[i].name);
		add_time(&j, "last_batch", all.list[i].last_us);
		if (all.list[i].last_us)
			jsonw_f64(&j, "seconds_ago", (double)(now - all.list[i].last_us) / 1e6);
		else
			jsonw_null(&j, "seconds_ago");
		jsonw_u64(&j, "batches", all.list[i].batches);
		jsonw_u64(&j, "dropped", all.list[i].dropped);
		jsonw_u64(&j, "refused", all.list[i].refused);
		jsonw_end_object(&j);
	}
	jsonw_end_array(&j);
	sending_nodes_release(&all);
	(void)fs_replace(dirfd, NODES_FILE, j.out.buf, j.out.len, 0640);
}

void collect_status_line(const struct collect_view *v, struct strbuf *out)
{
	uint64_t most = 0;
	size_t pausing = 0;

	for (size_t i = 0; i < sink_workers_count(v->replay); i++) {
		struct sink_workers_state s;

		sink_workers_state(v->replay, i, &s);
		most = s.entries_behind > most ? s.entries_behind : most;
		pausing += s.phase == SINK_WORKERS_PAUSING;
	}
	unsigned long long taken = commit_log_next_number(v->log) - 1;
	strbuf_addf(out, "STATUS=%llu %s taken, at most %llu behind, %zu of %zu %s waiting", taken,
		    plural(taken, "batch", "batches"), (unsigned long long)most, pausing,
		    sink_workers_count(v->replay),
		    plural(sink_workers_count(v->replay), "sink", "sinks"));
}

/* ---- showing ----------------------------------------------------------------------------------
 */

static uint64_t number_of(const struct value *v, const char *key)
{
	const struct value *n = value_get(v, key);

	return n && n->kind == VALUE_INT && n->integer > 0 ? (uint64_t)n->integer : 0;
}

static double real_of(const struct value *v, const char *key)
{
	const struct value *n = value_get(v, key);

	return !n                      ? 0
	       : n->kind == VALUE_REAL ? n->real
	       : n->kind == VALUE_INT  ? (double)n->integer
				       : 0;
}

static const char *text_of(const struct value *v, const char *key)
{
	const char *s = value_get_str(v, key);

	return s ? s : "";
}

static void show_door(const struct value *v, const char *what, const char *const *counts)
{
	if (!v)
		return;
	printf("%s %s:", what, text_of(v, "address"));
	for (; *counts; counts++)
		printf(" %llu %s%s", (unsigned long long)number_of(v, *counts), *counts,
		       counts[1] ? "," : "");
	putchar('\n');
}

static void show_sinks(const struct value *list)
{
	static const struct terminal_table_column columns[] = {{"SINK", 0},
							       {"STATE", 0},
							       {"BEHIND", COLUMN_RIGHT},
							       {"FOR", COLUMN_RIGHT},
							       {"STORED", COLUMN_RIGHT},
							       {"LEFT OUT", COLUMN_RIGHT},
							       {"KEPT ASIDE", COLUMN_RIGHT},
							       {"LAST REASON", COLUMN_WRAP}};
	struct terminal_table t;

	terminal_table_init(&t, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; list && list->kind == VALUE_LIST && i < list->list.count; i++) {
		const struct value *s = list->list.items[i];
		_cleanup_strbuf_ struct strbuf behind = STRBUF_INIT, stored = STRBUF_INIT,
					       left = STRBUF_INIT, since = STRBUF_INIT,
					       aside = STRBUF_INIT;

		strbuf_addf(&behind, "%llu", (unsigned long long)number_of(s, "entries_behind"));
		text_add_duration(&since, real_of(s, "seconds_behind"));
		strbuf_addf(&stored, "%llu", (unsigned long long)number_of(s, "committed"));
		const unsigned long long skipped = number_of(s, "skipped");
		strbuf_addf(&left, "%llu", skipped + number_of(s, "missing"));
		strbuf_addf(&aside, "%llu", (unsigned long long)number_of(s, "kept_aside"));
		terminal_table_row(&t, 0);
		terminal_table_cell(&t, 0, text_of(s, "sink"));
		terminal_table_cell(&t, 1, text_of(s, "phase"));
		terminal_table_cell(&t, 2, behind.buf);
		terminal_table_cell(&t, 3, since.buf);
		terminal_table_cell(&t, 4, stored.buf);
		terminal_table_cell(&t, 5, left.buf);
		terminal_table_cell(&t, 6, aside.buf);
		terminal_table_cell(&t, 7, text_of(s, "reason"));
	}
	terminal_table_print(&t, stdout);
	terminal_table_release(&t);
}

/* Those that were silent for longest: they are what somebody looks for. */
static void show_nodes(const struct value *list)
{
	static const struct terminal_table_column columns[] = {{"NODE", 0},
							       {"LAST BATCH", 0},
							       {"AGO", COLUMN_RIGHT},
							       {"BATCHES", COLUMN_RIGHT},
							       {"DROPPED", COLUMN_RIGHT},
							       {"REFUSED", COLUMN_RIGHT}};
	static const char *const counts[] = {"batches", "dropped", "refused"};
	size_t count = list && list->kind == VALUE_LIST ? list->list.count : 0;
	struct terminal_table t;

	if (!count)
		return;
	terminal_table_init(&t, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < count && i < NODES_SHOWN; i++) {
		const struct value *s = list->list.items[i];
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT, ago = STRBUF_INIT;
		const char *last = text_of(s, "last_batch");

		text_add_printable(&name, text_of(s, "node"), strlen(text_of(s, "node")));
		if (*last)
			text_add_duration(&ago, real_of(s, "seconds_ago"));
		terminal_table_row(&t, 0);
		terminal_table_cell(&t, 0, name.buf);
		terminal_table_cell(&t, 1, *last ? last : "none since the start");
		terminal_table_cell(&t, 2, ago.len ? ago.buf : "-");
		for (size_t k = 0; k < ARRAY_SIZE(counts); k++) {
			_cleanup_strbuf_ struct strbuf n = STRBUF_INIT;

			strbuf_addf(&n, "%llu", (unsigned long long)number_of(s, counts[k]));
			terminal_table_cell(&t, 3 + k, n.buf);
		}
	}
	putchar('\n');
	terminal_table_print(&t, stdout);
	terminal_table_release(&t);
	if (count > NODES_SHOWN)
		printf("and %zu more, which sent later than these: --json has all\n",
		       count - NODES_SHOWN);
}

/* The nodes behind what else is in the status; without a list, or one that is none, it is empty. */
static void add_nodes(int dirfd, struct strbuf *status, struct value **ret)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;

	if (fs_read(dirfd, NODES_FILE, NODES_MAX, &text) < 0 ||
	    value_from_json(text.buf, text.len, ret, &why) < 0) {
		strbuf_reset(&text);
		strbuf_addstr(&text, "[]");
	}
	while (status->len && strchr("}\n", status->buf[status->len - 1])) {
		bool end = status->buf[status->len - 1] == '}';

		strbuf_cut(status, status->len - 1);
		if (end)
			break;
	}
	while (status->len && status->buf[status->len - 1] == '\n')
		strbuf_cut(status, status->len - 1);
	strbuf_addf(status, ",\n  \"nodes\": %s\n}\n", text.buf);
}

static void show_log(const struct value *log)
{
	_cleanup_strbuf_ struct strbuf size = STRBUF_INIT, since = STRBUF_INIT;
	uint64_t first = number_of(log, "first"), next = number_of(log, "next");

	unsigned long long entries = next ? next - 1 : 0;

	text_add_bytes(&size, real_of(log, "bytes"));
	text_add_duration(&since, real_of(log, "held_seconds"));
	printf("log %s: %llu of %llu %s needed, %s, %.0f %% of %s\n", text_of(log, "directory"),
	       (unsigned long long)(next > first ? next - first : 0), entries,
	       plural(entries, "entry is", "entries are"), size.buf, real_of(log, "share") * 100,
	       number_of(log, "limit") ? "its limit" : "the room on disk");
	if (*text_of(log, "held_by"))
		printf("held by %s, which has taken nothing for %s\n", text_of(log, "held_by"),
		       since.buf);
}

static void show(const struct value *v)
{
	static const char *const native[] = {"batches", "nodes",  "duplicates", "bad",
					     "refused", "closed", "no_room",    NULL};
	static const char *const others[] = {"messages", "records", "bad",
					     "refused",  "closed",  NULL};
	const struct value *forward = value_get(v, "forward");

	printf("running, pid %llu, since %s\n", (unsigned long long)number_of(v, "pid"),
	       text_of(v, "started"));
	show_log(value_get(v, "log"));
	show_door(value_get(v, "native"), "nodes at", native);
	for (size_t i = 0; collector_protocols[i]; i++) {
		const char *name = collector_protocols[i]->name;
		_cleanup_free_ char *what = xasprintf("%s's nodes at", name);

		show_door(value_get(v, name), what, others);
	}
	if (forward)
		printf("forward to %s: %llu behind, %s%s%s\n", text_of(forward, "address"),
		       (unsigned long long)number_of(forward, "entries_behind"),
		       real_of(forward, "away_seconds") > 0 ? "away" : "there",
		       *text_of(forward, "reason") ? ": " : "", text_of(forward, "reason"));
	show_sinks(value_get(v, "sinks"));
}

/* A collector that cannot write its state any more has one that is old. */
static void tell_age(int fd, const char *dir)
{
	_cleanup_strbuf_ struct strbuf age = STRBUF_INIT;
	struct stat st;

	if (fstatat(fd, STATUS_FILE, &st, 0) < 0)
		return;
	double seconds = difftime(time(NULL), st.st_mtime);
	if (seconds < STATUS_OLD)
		return;
	text_add_duration(&age, seconds);
	log_warn("this was the state %s ago: the collector has not written '%s/" STATUS_FILE
		 "' since; see whether that disk is full, and what the collector said last",
		 age.buf, dir);
}

int collect_show_status(const char *dir, bool json)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL, *nodes = NULL;
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int lock = -1;

	if (fd >= 0)
		lock = collect_lock(fd, true);
	if (fd < 0 || lock != -EBUSY) {
		puts(json ? "null" : "not running");
		if (fd >= 0 && lock < 0)
			log_error("cannot look into '%s': %s", dir, strerror(-lock));
		else if (fd < 0 && errno != ENOENT)
			log_error("cannot look into '%s': %s", dir, strerror(errno));
		return EXIT_NOT_RUNNING;
	}
	int r = fs_read(fd, STATUS_FILE, STATUS_MAX, &text);
	if (r == 0)
		r = value_from_json(text.buf, text.len, &v, &why);
	if (r < 0) {
		log_error("cannot read the status in '%s': %s", dir,
			  why.len ? why.buf : strerror(-r));
		return EXIT_FAILED;
	}
	tell_age(fd, dir);
	add_nodes(fd, &text, &nodes);
	if (json) {
		fwrite(text.buf, 1, text.len, stdout);
	} else {
		show(v);
		show_nodes(nodes);
	}
	return EXIT_OK;
}
