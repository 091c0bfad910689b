/*
 * Exactly once: a node streams batches to a collector while one or the other is killed without
 * warning, again and again. Afterwards every batch that was in the node's spool at any time is with
 * the collector's reader, once. The collector trims its log meanwhile, so that what it knows comes
 * from checkpoint and log. PL_LONG=1: 20 kills in a minute of each.
 */
#include "delivery.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define BOOTS_MAX 64

struct shared {
	_Atomic bool node_quit, quit;
	_Atomic uint64_t given[BOOTS_MAX]; /* by boot: the last number handed over */
	_Atomic uint64_t acknowledged;     /* in this run of the node */
	_Atomic uint64_t left;             /* when the node ended in peace */
	_Atomic uint64_t taken;            /* by the collector's reader */
	_Atomic unsigned apart;            /* processes that are in a network of their own */
	_Atomic bool go;
};

struct play {
	const char *dir, *uri;
	bool apart; /* each in a network of its own */
	struct shared *shared;
	pid_t collector, node;
	unsigned boot;
};

/* ---- the collector: its reader copies the log, so that a number is a position
 * ----------------------
 */

static void copy_log(struct collector *c, struct commit_log *copy, struct shared *s)
{
	struct commit_log_reader *r = commit_log_read_from(c->log, commit_log_next_number(copy));
	uint64_t number, same;
	const void *p;
	size_t n;

	while (!s->quit) {
		unsigned count = 0;

		while (count < 200 && commit_log_reader_next(r, &p, &n, &number) > 0) {
			if (commit_log_append(copy, p, n, &same) < 0 || same != number)
				_exit(3); /* a gap, or one twice */
			count++;
		}
		if (!count) {
			(void)commit_log_reader_wait(r, 20000000);
			continue;
		}
		if (commit_log_sync(copy) < 0)
			_exit(4);
		s->taken = commit_log_next_number(copy) - 1;
		receiver_trim(c->receive, s->taken + 1);
	}
	commit_log_reader_close(r);
}

static void run_collector(const struct play *p)
{
	_cleanup_free_ char *dir = xasprintf("%s/c", p->dir),
			    *copies = xasprintf("%s/copy", p->dir);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct receiver_options o = {.uri = p->uri};
	struct commit_log_options lo = {.segment = 16384};
	struct commit_log *copy;
	struct collector c;
	int r = -EADDRINUSE;

	/* the port of the one before may be held for a moment */
	for (unsigned i = 0; i < 500 && r < 0; i++, usleep(10000)) {
		strbuf_reset(&why);
		r = collector_open(&c, dir, o, lo, &why);
	}
	if (r < 0) {
		fprintf(stderr, "%s\n", why.buf);
		_exit(2);
	}
	if (commit_log_open(&copy, &(struct commit_log_options){.dir = copies}, &why) < 0)
		_exit(2);
	copy_log(&c, copy, p->shared);
	commit_log_close(copy);
	collector_stop(&c);
	_exit(0);
}

/* ---- the node -------------------------------------------------------------------------------- */

static void run_node(const struct play *p)
{
	_cleanup_free_ char *spool = xasprintf("%s/spool", p->dir);
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT;
	struct sender *d = node_start(spool, (struct sender_options){.uri = p->uri});
	uint64_t number = 0;

	while (!p->shared->node_quit) {
		make_batch("n1", p->boot, ++number, &batch);
		p->shared->given[p->boot] = number;
		if (sender_batch(d, batch.buf, batch.len) < 0)
			_exit(3);
		p->shared->acknowledged = delivered(d).acknowledged;
		usleep(2000);
	}
	p->shared->left = sender_stop(d, 60000000000, NULL);
	_exit(0);
}

static pid_t begin(const struct play *p, void (*run)(const struct play *p))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (p->apart && unshare(CLONE_NEWNET) < 0)
			_exit(5);
		p->shared->apart += p->apart;
		while (p->apart && !p->shared->go)
			usleep(1000);
		run(p);
	}
	return pid;
}

static void end(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		fail_msg("ended by itself with status %d", WEXITSTATUS(status));
}

/* ---- what must be there ---------------------------------------------------------------------- */

/* What is in the spool of a node that is dead: the highest number of each boot. */
static void note_spooled(const struct play *p, uint64_t *highest)
{
	_cleanup_free_ char *spool = xasprintf("%s/spool", p->dir);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct commit_log *l = NULL;
	struct batch_name name;
	uint64_t number;
	const void *data;
	size_t n;

	struct commit_log_options o = {.dir = spool, .limit = 1 << 28, .drop_oldest = true};
	assert_int_equal(commit_log_open(&l, &o, &why), 0);
	struct commit_log_reader *r = commit_log_read_from(l, 1);
	while (commit_log_reader_next(r, &data, &n, &number) > 0) {
		assert_int_equal(batch_peek(data, n, &name, &why), 0);
		assert_in_range(name.boot, 1, BOOTS_MAX - 1);
		if (name.number > highest[name.boot])
			highest[name.boot] = name.number;
	}
	commit_log_reader_close(r);
	commit_log_close(l);
}

static void check_copy(const struct play *p, const uint64_t *highest)
{
	_cleanup_free_ char *copies = xasprintf("%s/copy", p->dir);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct commit_log *l = NULL;
	uint64_t total = 0;

	assert_int_equal(commit_log_open(&l, &(struct commit_log_options){.dir = copies}, &why), 0);
	for (unsigned boot = 1; boot <= p->boot; boot++) {
		/* from 1, none missing, none twice */
		uint64_t n = check_log(l, "n1", boot, 1);

		assert_in_range(n, highest[boot], p->shared->given[boot]);
		total += n;
	}
	assert_int_equal(commit_log_next_number(l), total + 1);
	print_message("%llu batches, each once\n", (unsigned long long)total);
	commit_log_close(l);
}

/* Lets the stream go on a little, then waits for all of it and looks. */
static void finish(struct play *p, uint64_t *highest)
{
	struct shared *shared = p->shared;
	uint64_t before = shared->taken;

	wait_until(shared->taken > before + 10);
	/* the node gives no more and waits until all is acknowledged; then the reader catches up */
	shared->node_quit = true;
	int status;
	assert_int_equal(waitpid(p->node, &status, 0), p->node);
	assert_int_equal(status, 0);
	assert_int_equal(shared->left, 0);
	highest[p->boot] = shared->given[p->boot];
	uint64_t total = 0;
	for (unsigned b = 1; b <= p->boot; b++)
		total += highest[b];
	wait_until(shared->taken >= total);
	shared->quit = true;
	assert_int_equal(waitpid(p->collector, &status, 0), p->collector);
	assert_int_equal(status, 0);
	check_copy(p, highest);
}

static void play(void **state, unsigned collector_kills, unsigned node_kills, unsigned pause_ms)
{
	_cleanup_free_ char *uri = NULL, *dir = xasprintf("%s/c", (char *)*state);
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct play p = {.dir = *state, .shared = shared, .boot = 1};
	uint64_t highest[BOOTS_MAX] = {0}, seed = (uint64_t)time(NULL) | 1;
	unsigned kills = collector_kills + node_kills;

	assert_true(shared != MAP_FAILED);
	assert_int_equal(mkdir(dir, 0700), 0);
	link_close(bind_link((struct link_options){.kind = LINK_ROUTER}, &uri));
	p.uri = uri;
	p.collector = begin(&p, run_collector);
	p.node = begin(&p, run_node);
	for (unsigned i = 0; i < kills; i++) {
		/* not before it does something, then at any moment */
		uint64_t before = shared->taken;
		wait_until(shared->taken > before);
		usleep((useconds_t)(random_next(&seed) >> 11) % (pause_ms * 1000));
		if (i * node_kills / kills != (i + 1) * node_kills / kills) {
			end(p.node);
			note_spooled(&p, highest);
			p.boot++;
			p.node = begin(&p, run_node);
		} else {
			end(p.collector);
			usleep((useconds_t)(random_next(&seed) >> 11) % 100000);
			p.collector = begin(&p, run_collector);
		}
	}
	finish(&p, highest);
	munmap(shared, sizeof(*shared));
}

static bool is_long(void)
{
	return getenv("PL_LONG") != NULL;
}

static void collector_is_killed(void **state)
{
	play(state, is_long() ? 20 : 5, 0, is_long() ? 5000 : 600);
}

static void node_is_killed(void **state)
{
	play(state, 0, is_long() ? 20 : 3, is_long() ? 5000 : 600);
}

static void command(const char *fmt, ...) PL_PRINTF(1, 2);
static void command(const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&line, fmt, ap);
	va_end(ap);
	if (system(line.buf) != 0)
		fail_msg("failed: %s", line.buf);
}

/* Two networks and a cable between them, which is pulled and put back. */
static void network_is_cut(void **state)
{
	_cleanup_free_ char *dir = xasprintf("%s/c", (char *)*state);
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct play p = {.dir = *state, .shared = shared, .boot = 1, .apart = true};
	uint64_t highest[BOOTS_MAX] = {0};

	if (geteuid() != 0)
		skip_because("not root");
	if (system("unshare -n true 2>/dev/null") != 0)
		skip_because("no network namespaces here");
	assert_true(shared != MAP_FAILED);
	assert_int_equal(mkdir(dir, 0700), 0);
	p.uri = "tcp://192.0.2.1:5555";
	p.collector = begin(&p, run_collector);
	p.node = begin(&p, run_node);
	wait_until(shared->apart == 2);
	command("nsenter -n -t %d ip link add cable type veth peer name cable netns %d",
		p.collector, p.node);
	command("nsenter -n -t %d ip addr add 192.0.2.1/24 dev cable", p.collector);
	command("nsenter -n -t %d ip addr add 192.0.2.2/24 dev cable", p.node);
	command("nsenter -n -t %d ip link set cable up", p.collector);
	command("nsenter -n -t %d ip link set cable up", p.node);
	shared->go = true;
	for (unsigned i = 0; i < (is_long() ? 4u : 2u); i++) {
		uint64_t before = shared->taken;

		wait_until(shared->taken > before + 20);
		command("nsenter -n -t %d ip link set cable down", i % 2 ? p.node : p.collector);
		uint64_t given = shared->given[1];
		/* long enough for the heartbeats to find out, in the long form */
		usleep(is_long() ? 25000000 : 700000);
		assert_true(shared->given[1] > given); /* the node is not held up */
		command("nsenter -n -t %d ip link set cable up", i % 2 ? p.node : p.collector);
	}
	finish(&p, highest);
	munmap(shared, sizeof(*shared));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(collector_is_killed, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(node_is_killed, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(network_is_cut, scratch_setup, scratch_teardown),
	};

	scratch_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
