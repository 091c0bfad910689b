/*
 * The status of a running collector: a file in the directory of its log, replaced twice a second,
 * and `plimsoll collect --status`, which prints it.
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
/* A sink holds the log when it has taken nothing for this time in addition to the time between its
 * commits, or when it is behind and the log has grown to this share of its limit. */
#define HELD_SECONDS 10
#define HELD_SHARE 0.1
#define COMMIT_SECONDS 5 /* the longest default of a sink */
#define LOCK_FILE "running"
#define STATUS_OLD 10 /* seconds; it is written twice a second */
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

/* ---- writing ---- */

static void add_time(struct json_writer *j, const char *key, int64_t us)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (us)
		text_add_time(&text, us, false);
	json_str(j, key, us ? text.buf : NULL);
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

/* Does the sink hold the log? Every sink is behind between two commits, which does not count. */
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

static void add_log(struct json_writer *j, const struct collect_view *v, int dirfd)
{
	struct commit_log_counts n;
	struct collect_hold hold;

	collect_hold(v, dirfd, &hold);
	commit_log_counts(v->log, &n);
	json_begin_object(j, "log");
	json_str(j, "directory", v->dir);
	json_u64(j, "first", commit_log_first(v->log));
	json_u64(j, "next", commit_log_next_number(v->log));
	json_u64(j, "bytes", n.bytes);
	json_u64(j, "limit", v->o->log_limit);
	json_u64(j, "damaged", n.damaged);
	json_f64(j, "share", hold.share);
	if (hold.by) {
		json_str(j, "held_by", hold.by);
		json_f64(j, "held_seconds", hold.seconds);
	}
	json_end_object(j);
	free(hold.by);
}

static void add_counts(struct json_writer *j, const struct collect_count *list, const void *counts)
{
	for (; list->key; list++)
		json_u64(j, list->key, collect_count_of(list, counts));
}

static void add_native(struct json_writer *j, const struct collect_view *v)
{
	_cleanup_strbuf_ struct strbuf at = STRBUF_INIT;
	struct receiver_counts n;

	if (!v->receive)
		return;
	receiver_counts(v->receive, &n);
	receiver_endpoint(v->receive, &at);
	json_begin_object(j, "native");
	json_str(j, "address", at.buf);
	add_counts(j, collect_received, &n);
	json_end_object(j);
}

#define OF_PORT(field)                                                 \
	{                                                              \
#field, offsetof(struct collector_port_counts, field), \
		{                                                      \
			NULL                                           \
		}                                                      \
	}
static const struct collect_count of_port[] = {
	OF_PORT(messages), OF_PORT(bytes),   OF_PORT(records), OF_PORT(batches),
	OF_PORT(bad),      OF_PORT(refused), OF_PORT(closed),  {NULL, 0, {NULL}},
};

static void add_port(struct json_writer *j, const struct collector_protocol *p,
		     struct collector_port *port)
{
	_cleanup_strbuf_ struct strbuf at = STRBUF_INIT;
	struct collector_port_counts n;

	p->counts(port, &n);
	p->endpoint(port, &at);
	json_begin_object(j, p->name);
	json_str(j, "address", at.buf);
	add_counts(j, of_port, &n);
	json_end_object(j);
}

static void add_forward(struct json_writer *j, const struct collect_view *v)
{
	struct sender_counts n;

	if (!v->deliver)
		return;
	uint64_t position = sender_position(v->deliver), end = commit_log_next_number(v->log);
	uint64_t now = clock_boottime_ns();

	sender_counts(v->deliver, &n);
	json_begin_object(j, "forward");
	json_str(j, "address", v->o->forward);
	json_u64(j, "position", position);
	json_u64(j, "entries_behind", end > position ? end - position : 0);
	json_u64(j, "acknowledged", n.acknowledged);
	json_u64(j, "refused", n.refused);
	json_bool(j, "there", !n.away_since_ns);
	json_f64(j, "away_seconds",
		 n.away_since_ns < now && n.away_since_ns ? (double)(now - n.away_since_ns) / 1e9
							  : 0);
	json_str(j, "reason", n.key_refused ? n.problem[PROBLEM_KEY] : n.reason);
	json_end_object(j);
}

static void add_sink(struct json_writer *j, const struct sink_workers_state *s)
{
	json_begin_object(j, NULL);
	json_str(j, "sink", s->shown);
	json_str(j, "phase", sink_workers_phase_name(s->phase));
	add_counts(j, collect_of_sink, s);
	json_f64(j, "seconds_behind", collect_seconds_behind(s));
	json_str(j, "reason", *s->reason ? s->reason : NULL);
	add_time(j, "reason_time", s->reason_us);
	json_end_object(j);
}

void collect_write_status(const struct collect_view *v, int dirfd)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	j.pretty = true;
	json_begin_object(&j, NULL);
	json_i64(&j, "pid", getpid());
	json_str(&j, "version", PL_VERSION);
	add_time(&j, "started", v->started_us);
	add_time(&j, "time", clock_realtime_us());
	add_log(&j, v, dirfd);
	add_native(&j, v);
	for (size_t i = 0; collector_protocols[i]; i++)
		if (v->ports[i])
			add_port(&j, collector_protocols[i], v->ports[i]);
	add_forward(&j, v);
	json_begin_array(&j, "sinks");
	for (size_t i = 0; i < sink_workers_count(v->replay); i++) {
		struct sink_workers_state s;

		sink_workers_state(v->replay, i, &s);
		add_sink(&j, &s);
	}
	json_end_array(&j);
	json_end_object(&j);
	strbuf_addch(&j.out, '\n');
	(void)fs_replace(dirfd, STATUS_FILE, j.out.buf, j.out.len, 0640);
}

/* A separate file, since the list may be long: it is written less often. */
void collect_write_nodes(const struct collect_view *v, int dirfd)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	struct sending_nodes all = {0};
	int64_t now = clock_realtime_us();

	if (v->receive)
		receive_senders(v->receive, &all);
	json_begin_array(&j, NULL);
	for (size_t i = 0; i < all.count; i++) {
		json_begin_object(&j, NULL);
		json_str(&j, "node", all.list[i].name);
		add_time(&j, "last_batch", all.list[i].last_us);
		if (all.list[i].last_us)
			json_f64(&j, "seconds_ago", (double)(now - all.list[i].last_us) / 1e6);
		else
			json_none(&j, "seconds_ago");
		json_u64(&j, "batches", all.list[i].batches);
		json_u64(&j, "dropped", all.list[i].dropped);
		json_u64(&j, "refused", all.list[i].refused);
		json_end_object(&j);
	}
	json_end_array(&j);
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
	strbuf_addf(out, "STATUS=%llu %s received, at most %llu behind, %zu of %zu %s waiting",
		    taken, plural(taken, "batch", "batches"), (unsigned long long)most, pausing,
		    sink_workers_count(v->replay),
		    plural(sink_workers_count(v->replay), "sink", "sinks"));
}

/* ---- showing ---- */

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

static void show_port(const struct value *v, const char *what, const char *const *counts)
{
	if (!v)
		return;
	printf("%s %s:", what, text_of(v, "address"));
	for (; *counts; counts++)
		printf(" %llu %s%s", (unsigned long long)number_of(v, *counts), *counts,
		       counts[1] ? "," : "");
	putchar('\n');
}

static void show_count(struct terminal_table *t, size_t column, const struct value *v,
		       const char *key)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number_of(v, key));
	terminal_table_cell(t, column, text);
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
		_cleanup_strbuf_ struct strbuf left = STRBUF_INIT, since = STRBUF_INIT;

		text_add_duration(&since, real_of(s, "seconds_behind"));
		strbuf_addf(&left, "%llu",
			    (unsigned long long)number_of(s, "skipped") + number_of(s, "missing"));
		terminal_table_row(&t, 0);
		terminal_table_cell(&t, 0, text_of(s, "sink"));
		terminal_table_cell(&t, 1, text_of(s, "phase"));
		show_count(&t, 2, s, "entries_behind");
		terminal_table_cell(&t, 3, since.buf);
		show_count(&t, 4, s, "committed");
		terminal_table_cell(&t, 5, left.buf);
		show_count(&t, 6, s, "kept_aside");
		terminal_table_cell(&t, 7, text_of(s, "reason"));
	}
	terminal_table_print(&t, stdout);
	terminal_table_release(&t);
}

/* The nodes that have been silent for longest: they are what somebody looks for. */
static void show_nodes(const struct value *list)
{
	static const struct terminal_table_column columns[] = {{"NODE", 0},
							       {"LAST BATCH", 0},
							       {"AGO", COLUMN_RIGHT},
							       {"BATCHES", COLUMN_RIGHT},
							       {"DROPPED", COLUMN_RIGHT},
							       {"REFUSED", COLUMN_RIGHT}};
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
		show_count(&t, 3, s, "batches");
		show_count(&t, 4, s, "dropped");
		show_count(&t, 5, s, "refused");
	}
	putchar('\n');
	terminal_table_print(&t, stdout);
	terminal_table_release(&t);
	if (count > NODES_SHOWN)
		printf("and %zu more nodes that sent more recently: --json lists all\n",
		       count - NODES_SHOWN);
}

/* Appends the list of nodes to the status; without a valid list it is empty. */
static void add_nodes(int dirfd, struct strbuf *status, struct value **ret)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;

	if (fs_read(dirfd, NODES_FILE, NODES_MAX, &text) < 0 ||
	    value_from_json(text.buf, text.len, ret, &why) < 0) {
		strbuf_reset(&text);
		strbuf_addstr(&text, "[]");
	}
	const char *brace = strrchr(status->buf, '}');
	strbuf_cut(status, brace ? (size_t)(brace - status->buf) : status->len);
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
	printf("log %s: %llu of %llu %s still needed, %s, %.0f %% of %s\n",
	       text_of(log, "directory"), (unsigned long long)(next > first ? next - first : 0),
	       entries, plural(entries, "entry is", "entries are"), size.buf,
	       real_of(log, "share") * 100,
	       number_of(log, "limit") ? "its limit" : "the disk space");
	if (*text_of(log, "held_by"))
		printf("held by %s, which has stored nothing for %s\n", text_of(log, "held_by"),
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
	show_port(value_get(v, "native"), "nodes at", native);
	for (size_t i = 0; collector_protocols[i]; i++) {
		const char *name = collector_protocols[i]->name;
		_cleanup_free_ char *what = xasprintf("%s's nodes at", name);

		show_port(value_get(v, name), what, others);
	}
	if (forward)
		printf("forward to %s: %llu behind, %s%s%s\n", text_of(forward, "address"),
		       (unsigned long long)number_of(forward, "entries_behind"),
		       real_of(forward, "away_seconds") > 0 ? "away" : "there",
		       *text_of(forward, "reason") ? ": " : "", text_of(forward, "reason"));
	show_sinks(value_get(v, "sinks"));
}

/* Warns when the collector cannot write its status any more. */
static void warn_if_old(int fd, const char *dir)
{
	_cleanup_strbuf_ struct strbuf age = STRBUF_INIT;
	struct stat st;

	if (fstatat(fd, STATUS_FILE, &st, 0) < 0)
		return;
	double seconds = difftime(time(NULL), st.st_mtime);
	if (seconds < STATUS_OLD)
		return;
	text_add_duration(&age, seconds);
	log_warn("this status is %s old: the collector no longer writes '%s/" STATUS_FILE
		 "'; check whether that disk is full, and the last messages of the collector",
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
			log_error("cannot open '%s': %s", dir, strerror(-lock));
		else if (fd < 0 && errno != ENOENT)
			log_error("cannot open '%s': %s", dir, strerror(errno));
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
	warn_if_old(fd, dir);
	add_nodes(fd, &text, &nodes);
	if (json) {
		fwrite(text.buf, 1, text.len, stdout);
	} else {
		show(v);
		show_nodes(nodes);
	}
	return EXIT_OK;
}
