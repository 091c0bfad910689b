/*
 * One history: what is drawn from its seed, faults and ends of processes, and that all is healed in
 * the end. See main.c.
 */
#include "histories.h"

#include <errno.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "core/log.h"
#include "programs/faults.h"
#include "transport/batch.h"

#define PATIENCE_NS 70000000000ull

static unsigned pick(struct history *h, unsigned n)
{
	return (unsigned)((random_next(&h->random) >> 20) % n);
}

PL_PRINTF(2, 3) static void tell(struct history *h, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(h->told, fmt, ap);
	va_end(ap);
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* What a call may do; 0 ends. A read that fails for good is damage, which is another test's. */
static const struct {
	const char *call;
	int errors[8];
} calls[] = {
	{"write", {EIO, ENOSPC, EROFS, EDQUOT, FAULT_SHORT, FAULT_KILL, FAULT_KILL_BEHIND}},
	{"sync", {EIO, ENOSPC, EROFS, EIO, FAULT_KILL, FAULT_KILL_BEHIND}},
	{"open", {EMFILE, ENFILE, ENOMEM, EROFS, ENOSPC, EMFILE}},
	{"read", {ENOMEM, ENOMEM}},
	{"truncate", {EIO, EROFS, FAULT_KILL, FAULT_KILL_BEHIND}},
	{"rename", {EIO, EROFS, ENOSPC, FAULT_KILL, FAULT_KILL_BEHIND}},
	{"unlink", {EIO, EROFS, FAULT_KILL, FAULT_KILL_BEHIND}},
};
static const unsigned weights[] = {0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6};

/* Files of the collector; those of a sink are there with it. */
static const struct {
	const char *path;
	int sink; /* -1: always */
} files[] = {
	{"", -1},
	{"", -1},
	{".log", -1},
	{"/log/*", -1},
	{"nodes/*", -1},
	{"position*", -1},
	{"left-out/*", -1},
	{"/sinks/*", -1},
	{"store.db*", SINK_STORE},
	{"store.db", SINK_STORE},
	{"-wal", SINK_STORE},
	{".hdf5", SINK_HDF5},
	{"journal*", SINK_HDF5},
};

static const char *pick_file(struct history *h)
{
	for (;;) {
		unsigned i = pick(h, ARRAY_SIZE(files));

		if (files[i].sink < 0 || h->sinks[files[i].sink])
			return files[i].path;
	}
}

static void add_fault(struct history *h)
{
	static const char *const of_node[] = {"", "", ".log", "state*"};
	static const int times[] = {1, 1, 1, 2, 5, -1};
	bool node = pick(h, 3) == 0;
	unsigned call = weights[pick(h, ARRAY_SIZE(weights))], errors = 0;
	unsigned after = pick(h, 3) ? pick(h, 8) : pick(h, 80);
	char path[128];

	while (calls[call].errors[errors])
		errors++;
	int error = calls[call].errors[pick(h, errors)];
	if (node)
		snprintf(path, sizeof(path), "*/disk/n%u/*%s", pick(h, h->node_count),
			 of_node[pick(h, ARRAY_SIZE(of_node))]);
	else
		snprintf(path, sizeof(path), "*/disk/c/*%s", pick_file(h));
	int how_often = times[pick(h, ARRAY_SIZE(times))];
	fault_add(calls[call].call, path, after, how_often, error);
	tell(h, "  fault: %s of %s, after %u, %d times: %s\n", calls[call].call, path, after,
	     how_often,
	     error > 0              ? strerrorname_np(error)
	     : error == FAULT_SHORT ? "short"
	     : error == FAULT_KILL  ? "kill"
				    : "kill behind it");
}

static void add_server_faults(struct history *h)
{
	static const char *const all[] = {"{\"status\":503}", "{\"break\":\"before\"}",
					  "{\"break\":\"after\"}", "{\"status\":429}", "{}"};

	for (unsigned k = SINK_ELASTIC; k < SINK_KINDS; k++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		unsigned n = h->sinks[k] ? pick(h, 6) : 0;

		for (unsigned i = 0; i < n; i++)
			strbuf_addf(&text, "%s%s", i ? "," : "[", all[pick(h, ARRAY_SIZE(all))]);
		if (!n)
			continue;
		strbuf_addch(&text, ']');
		tell(h, "  %s server: %s\n", sink_names[k], text.buf);
		fake_faults(&h->servers[k], text.buf);
	}
}

/* ---- the machines ---------------------------------------------------------------------------- */

static void power_cut(struct history *h, const char *machine)
{
	_cleanup_free_ char *dir = xasprintf("%s/disk/%s", h->dir, machine);

	tell(h, "  %s: the power is gone\n", machine);
	fault_power_cut_below(dir);
}

static const char *machine_of(const struct history *h, const struct part *p)
{
	static const char *const names[] = {"n0", "n1"};

	return p == &h->collector ? "c" : names[p - h->nodes];
}

/* Looks after one that ended; true when it runs. */
static bool is_running(struct history *h, struct part *p)
{
	int status;

	if (!p->pid || waitpid(p->pid, &status, WNOHANG) != p->pid)
		return p->pid;
	p->pid = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		wrong(h, "%s was ended by signal %d", machine_of(h, p), WTERMSIG(status));
	p->killed = p->killed || WIFSIGNALED(status);
	if (WIFSIGNALED(status))
		tell(h, "  %s: was killed\n", machine_of(h, p));
	else if (WEXITSTATUS(status) == 2)
		tell(h, "  %s: could not begin: %s\n", machine_of(h, p), h->shared->why);
	else if (WEXITSTATUS(status))
		wrong(h, "%s ended with %d", machine_of(h, p), WEXITSTATUS(status));
	return false;
}

static void end_part(struct history *h, struct part *p)
{
	int status;

	if (!is_running(h, p))
		return;
	kill(p->pid, SIGKILL);
	waitpid(p->pid, &status, 0);
	p->pid = 0;
	p->killed = true;
	tell(h, "  %s: killed\n", machine_of(h, p));
}

static bool begin_part(struct history *h, struct part *p)
{
	if (is_running(h, p))
		return false;
	if (p == &h->collector)
		begin_collector(h);
	else
		begin_node(h, (unsigned)(p - h->nodes));
	return true;
}

static void await_end(struct history *h, struct part *p)
{
	uint64_t until = clock_boottime_ns() + PATIENCE_NS;

	while (is_running(h, p)) {
		if (clock_boottime_ns() > until)
			wrong(h, "%s does not end", machine_of(h, p));
		usleep(1000);
	}
}

/* ---- a history ------------------------------------------------------------------------------- */

static void draw(struct history *h, const bool *allowed)
{
	static const unsigned rates[SINK_KINDS] = {2, 2, 4, 16, 16, 16};
	static const uint64_t limits[] = {0, 0, 16384, 40000};
	bool any = false;

	h->random = (h->seed + 1) * 0x9e3779b97f4a7c15ull;
	(void)pick(h, 2);
	h->node_count = 1 + !pick(h, 3);
	h->readings = 1 + pick(h, 3);
	h->pace_us = pick(h, 3) ? pick(h, 2000) : 0;
	h->spool_limit = limits[pick(h, ARRAY_SIZE(limits))];
	h->log_limit = limits[pick(h, ARRAY_SIZE(limits))];
	h->commit_ns = 1000000ull * (1 + pick(h, 40));
	h->poisoned = pick(h, 4) ? 0 : 3 + pick(h, 10);
	for (unsigned k = 0; k < SINK_KINDS; k++) {
		h->sinks[k] = !pick(h, rates[k]) && allowed[k];
		any = any || h->sinks[k];
	}
	for (unsigned k = 0; k < SINK_KINDS && !any; k++)
		any = h->sinks[k] = allowed[k];
	tell(h,
	     "seed %llu: %u nodes, %u readings in a batch, one every %u us, spool of %llu, log of %llu, "
	     "commits after %llu ms, one batch of %u refused\n  sinks:",
	     (unsigned long long)h->seed, h->node_count, h->readings, h->pace_us,
	     (unsigned long long)h->spool_limit, (unsigned long long)h->log_limit,
	     (unsigned long long)h->commit_ns / 1000000, h->poisoned);
	for (unsigned k = 0; k < SINK_KINDS; k++)
		if (h->sinks[k])
			tell(h, " %s", sink_names[k]);
	tell(h, "\n");
}

static void set_up(struct history *h)
{
	static const char *const scripts[SINK_KINDS] = {[SINK_ELASTIC] = "fake_elastic.py",
							[SINK_CLICKHOUSE] = "fake_clickhouse.py",
							[SINK_REMOTE_WRITE] =
								"fake_remote_write.py"};
	_cleanup_free_ char *disk = xasprintf("%s/disk", h->dir);

	assert_int_equal(mkdir(disk, 0700), 0);
	for (unsigned i = 0; i <= h->node_count; i++) {
		_cleanup_free_ char *machine =
			i ? xasprintf("%s/n%u", disk, i - 1) : xasprintf("%s/c", disk);

		assert_int_equal(mkdir(machine, 0700), 0);
	}
	fault_disk(disk);
	h->shared = mmap(NULL, sizeof(*h->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(h->shared != MAP_FAILED);
	for (unsigned k = 0; k < SINK_KINDS; k++)
		if (scripts[k] && h->sinks[k])
			fake_start(&h->servers[k], scripts[k], NULL);
}

static struct part *any_part(struct history *h)
{
	unsigned i = pick(h, 2 + h->node_count);

	return i < 2 ? &h->collector : &h->nodes[i - 2];
}

static void act(struct history *h)
{
	struct part *p = any_part(h);
	unsigned what = pick(h, 8);

	if (what < 3) {
		end_part(h, p);
		if (what == 0)
			power_cut(h, machine_of(h, p));
	} else if (what < 5) {
		tell(h, "  %s: ended in order\n", machine_of(h, p));
		if (p == &h->collector)
			h->shared->collector.quit = QUIT_SOON;
		else
			h->shared->nodes[p - h->nodes].quit = QUIT_SOON;
		await_end(h, p);
	} else if (what == 5) {
		tell(h, "  sinks begin anew\n");
		h->shared->collector.reopen++;
	}
}

/* Everybody who is not there begins, but for one who is away for a while, and nodes that are done.
 * How many they were. */
static unsigned begin_all(struct history *h, const struct part *away)
{
	unsigned begun = 0;

	if (away != &h->collector)
		begun += begin_part(h, &h->collector);
	for (unsigned i = 0; i < h->node_count; i++)
		if (away != &h->nodes[i] && h->shared->nodes[i].quit != QUIT_DONE)
			begun += begin_part(h, &h->nodes[i]);
	return begun;
}

/* In every fourth history: a disk that syncs no more from some moment on, and then the power goes.
 * Who delivers meanwhile, or what is in a sink, is of no help then. */
static struct part *strike(struct history *h, struct part **away)
{
	char path[64];

	if (h->seed % 4 != 2 || pick(h, 2))
		return NULL;
	struct part *p = any_part(h);
	*away = p == &h->collector ? NULL : &h->collector;
	snprintf(path, sizeof(path), "*/disk/%s/*", machine_of(h, p));
	fault_add("sync", path, pick(h, 12), -1, EIO);
	tell(h, "  %s syncs no more, then the power goes\n", path);
	return p;
}

/* Ticks are handed over while calls fail; then something happens to somebody. */
static void play_round(struct history *h, unsigned round)
{
	struct part *away = pick(h, 4) ? NULL : any_part(h);
	bool cut = pick(h, 3) == 0;
	unsigned ms = 10 + pick(h, pick(h, 4) ? 60 : 400);

	tell(h, "round %u: %u ms%s%s\n", round, ms, away ? ", without " : "",
	     away ? machine_of(h, away) : "");
	if (pick(h, 2))
		fault_clear();
	for (unsigned n = pick(h, 3); n; n--)
		add_fault(h);
	add_server_faults(h);
	struct part *struck = strike(h, &away);
	begin_all(h, away);
	for (unsigned i = 0; i < h->node_count; i++) {
		struct node_book *b = &h->shared->nodes[i];
		unsigned more = pick(h, 4) ? pick(h, 40) : pick(h, 200);

		b->want = b->want + more < TICKS_MAX ? b->want + more : TICKS_MAX;
	}
	usleep(ms * 1000);
	tell(h, "  %u calls failed\n", fault_hits());
	/* those that a call killed: with the power, or not */
	for (unsigned i = 0; i <= h->node_count; i++) {
		struct part *p = i ? &h->nodes[i - 1] : &h->collector;

		if (p->pid && !is_running(h, p) && p->killed && cut)
			power_cut(h, machine_of(h, p));
	}
	if (struck) {
		end_part(h, struck);
		power_cut(h, machine_of(h, struck));
	} else {
		act(h);
	}
}

/* Waits for something; who was being killed when the faults ended begins again. */
static void await(struct history *h, bool (*is_so)(struct history *h), const char *what)
{
	uint64_t until = clock_boottime_ns() + PATIENCE_NS;
	unsigned begun;

	for (begun = begin_all(h, NULL); !is_so(h); usleep(1000)) {
		begun += begin_all(h, NULL);
		if (begun > 3 + 2 * h->node_count)
			wrong(h, "a part does not run though nothing fails");
		if (clock_boottime_ns() > until)
			wrong(h, "still not so: %s", what);
	}
}

static bool all_is_given(struct history *h)
{
	bool ret = true;

	for (unsigned i = 0; i < h->node_count; i++)
		ret = ret && h->shared->nodes[i].given == h->shared->nodes[i].want;
	return ret;
}

static bool all_is_delivered(struct history *h)
{
	bool ret = true;

	for (unsigned i = 0; i < h->node_count; i++) {
		struct node_book *b = &h->shared->nodes[i];

		if (!is_running(h, &h->nodes[i]) && b->left && b->left != UINT64_MAX)
			wrong(h, "n%u: %llu batches were not taken in a minute", i,
			      (unsigned long long)b->left);
		b->quit = b->left == UINT64_MAX && !h->nodes[i].pid ? QUIT_NOT : QUIT_DONE;
		ret = ret && !b->left && !h->nodes[i].pid;
	}
	return ret;
}

static bool is_drained(struct history *h)
{
	return h->shared->collector.drained;
}

/* Nothing fails any more: all is delivered, and every sink has it. */
static void heal(struct history *h)
{
	tell(h, "healed\n");
	fault_clear();
	for (unsigned k = SINK_ELASTIC; k < SINK_KINDS; k++)
		if (h->sinks[k])
			fake_faults(&h->servers[k], "[]");
	await(h, all_is_given, "samples are handed over");
	await(h, all_is_delivered, "batches are delivered");
	/* what was seen before the last batch came says nothing */
	usleep(10000);
	h->shared->collector.drained = false;
	await(h, is_drained, "sinks have what is in the log");
	h->shared->collector.quit = QUIT_DONE;
	await_end(h, &h->collector);
}

void play(uint64_t seed, const char *dir, const bool *allowed)
{
	struct history h = {.seed = seed, .dir = dir};
	_cleanup_free_ char *told = xasprintf("%s/told", dir), *said = xasprintf("%s/said", dir);

	h.told = fopen(told, "we");
	assert_non_null(h.told);
	assert_non_null(freopen(said, "ae", stderr));
	log_init("part", LOG_WARN);
	setenv("FAULTS_SAID", "1", 1);
	alarm(240);
	draw(&h, allowed);
	set_up(&h);
	unsigned rounds = 2 + pick(&h, 6);
	for (unsigned round = 1; round <= rounds; round++)
		play_round(&h, round);
	heal(&h);
	for (unsigned k = 0; k < SINK_KINDS; k++)
		if (h.sinks[k])
			check_sink(&h, k);
	fclose(h.told);
	_exit(0);
}
