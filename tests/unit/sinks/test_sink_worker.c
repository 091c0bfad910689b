/* Replaying a log to feeds: each gets every entry, whatever fails meanwhile, and holds up nobody.
 */
#include "sink_worker.h"

struct bench {
	char *dir, *sinks;
	struct commit_log *log;
	struct sink_workers *replay;
	atomic_ullong trimmed;
	pthread_mutex_t lock;
	struct strbuf said;
};

static void on_trim(void *user, uint64_t number)
{
	struct bench *b = user;

	atomic_store(&b->trimmed, number);
	commit_log_trim(b->log, number);
}

static void on_say(void *user, enum log_level level, const char *feed, const char *text)
{
	struct bench *b = user;

	pthread_mutex_lock(&b->lock);
	strbuf_addf(&b->said, "%d %s %s\n", (int)level, feed, text);
	pthread_mutex_unlock(&b->lock);
}

static void begin(struct bench *b, size_t count)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct sink_workers_options o = {.log = b->log,
					       .dir = b->sinks,
					       .commit_entries = 4,
					       .commit_ns = 20000000,
					       .pause_ns = 1000000,
					       .pause_max_ns = 4000000,
					       .trim = on_trim,
					       .say = on_say,
					       .user = b};

	assert_int_equal(sink_workers_new(&b->replay, &o, &why), 0);
	for (size_t i = 0; i < count; i++) {
		char target[] = {(char)('a' + i), 0}, shown[] = "fake:a";
		const struct sink_options f = {.target = target};

		shown[5] = target[0];
		assert_int_equal(sink_workers_add(b->replay, &fake, &f, shown, &why), 0);
	}
	assert_int_equal(sink_workers_start(b->replay, &why), 0);
}

static void end(struct bench *b)
{
	assert_true(sink_workers_stop(b->replay, 0, 30000000000));
	sink_workers_free(b->replay);
	b->replay = NULL;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	told_reset();
	b->dir = scratch_make();
	b->sinks = xasprintf("%s/feeds", b->dir);
	b->log = log_at_dir(b->dir);
	b->said = (struct strbuf)STRBUF_INIT;
	pthread_mutex_init(&b->lock, NULL);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	commit_log_close(b->log);
	strbuf_release(&b->said);
	free(b->sinks);
	scratch_remove(b->dir);
	free(b);
	return 0;
}

/* The feed has entries 1 to n, each once and in order. */
static void check_kept(size_t feed, uint64_t n)
{
	pthread_mutex_lock(&told[feed].lock);
	assert_int_equal(told[feed].kept_count, n);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(told[feed].kept[i], i + 1);
	pthread_mutex_unlock(&told[feed].lock);
}

static struct sink_workers_state state_of(struct bench *b, size_t feed)
{
	struct sink_workers_state s;

	sink_workers_state(b->replay, feed, &s);
	return s;
}

static void every_feed_gets_everything(void **state)
{
	struct bench *b = *state;

	log_batches(b->log, 1, 10);
	begin(b, 3);
	wait_until(told_kept(0) == 10 && told_kept(1) == 10 && told_kept(2) == 10);
	/* what comes while they run, too, and less than a commit's worth after a while */
	log_batches(b->log, 11, 21);
	wait_until(told_kept(0) == 21 && told_kept(1) == 21 && told_kept(2) == 21);
	wait_until(state_of(b, 0).position == 22 && !state_of(b, 0).entries_behind);
	assert_int_equal(state_of(b, 1).committed, 21);
	assert_int_equal(state_of(b, 1).behind_since_ns, 0);
	wait_until(atomic_load(&b->trimmed) == 22);
	end(b);
	for (size_t i = 0; i < 3; i++) {
		check_kept(i, 21);
		assert_int_equal(atomic_load(&told[i].closes), 1);
	}
	assert_string_equal(b->said.buf, "");
}

/* Opening, taking and committing fail many times: every entry arrives in order, once. */
static void failures_pass(void **state)
{
	struct bench *b = *state;

	log_batches(b->log, 1, 30);
	atomic_store(&told[0].open_fails, 5);
	atomic_store(&told[0].batch_fails, 7);
	atomic_store(&told[0].commit_fails, 6);
	begin(b, 2);
	wait_until(told_kept(0) == 30 && told_kept(1) == 30);
	wait_until(state_of(b, 0).phase == SINK_WORKERS_RUNNING);
	assert_int_equal(state_of(b, 0).failures, 18);
	assert_int_equal(state_of(b, 0).skipped, 0);
	assert_int_equal(state_of(b, 1).failures, 0);
	end(b);
	check_kept(0, 30);
	/* each reason is said once, not at every try */
	assert_non_null(strstr(b->said.buf, "1 fake:a not there\n"));
	assert_null(strstr(strstr(b->said.buf, "not there") + 1, "not there"));
	assert_non_null(strstr(b->said.buf, "1 fake:a works again\n"));
}

/* Others changed what the target had looked up: the entries come again at once, and nothing is
 * said; a target that never ends with it is paused like any other. */
static void stale_entries_come_again_at_once(void **state)
{
	struct bench *b = *state;

	log_batches(b->log, 1, 30);
	atomic_store(&told[0].commit_stale, 3);
	atomic_store(&told[1].commit_stale, -1);
	begin(b, 2);
	wait_until(told_kept(0) == 30);
	assert_int_equal(state_of(b, 0).failures, 0);
	assert_null(strstr(b->said.buf, "fake:a"));
	wait_until(state_of(b, 1).failures > 3);
	atomic_store(&told[1].commit_stale, 0);
	wait_until(told_kept(1) == 30);
	/* at the end, too */
	log_batches(b->log, 31, 31);
	atomic_store(&told[0].commit_stale, 1);
	assert_true(sink_workers_stop(b->replay, 5000000000, 30000000000));
	sink_workers_free(b->replay);
	check_kept(0, 31);
	assert_null(strstr(b->said.buf, "fake:a"));
}

static void a_dead_feed_holds_up_nobody(void **state)
{
	struct bench *b = *state;

	atomic_store(&told[0].commit_fails, -1);
	atomic_store(&told[2].stuck, true);
	log_batches(b->log, 1, 12);
	begin(b, 3);
	wait_until(told_kept(1) == 12);
	wait_until(state_of(b, 0).phase == SINK_WORKERS_PAUSING && state_of(b, 0).failures > 3);
	assert_int_equal(state_of(b, 0).entries_behind, 12);
	assert_true(state_of(b, 0).behind_since_ns >= 0);
	assert_string_equal(state_of(b, 0).reason, "commit failed");
	/* nothing is trimmed that it has not */
	assert_int_equal(atomic_load(&b->trimmed), 0);
	assert_int_equal(commit_log_first(b->log), 1);
	log_batches(b->log, 13, 20);
	wait_until(told_kept(1) == 20);
	/* one that hangs for good is left behind at the end */
	assert_false(sink_workers_stop(b->replay, 0, 100000000));
	atomic_store(&told[2].stuck, false);
	end(b);
	assert_true(told_kept(0) == 0);
	/* it comes back, and catches up */
	atomic_store(&told[0].commit_fails, 0);
	begin(b, 3);
	wait_until(told_kept(0) == 20 && told_kept(2) == 20);
	wait_until(atomic_load(&b->trimmed) == 21);
	end(b);
	check_kept(0, 20);
	check_kept(1, 20);
	check_kept(2, 20);
}

/* An entry that can never be taken is left out, with its reason; the others arrive. */
static void bad_entries_are_skipped(void **state)
{
	struct bench *b = *state;
	uint64_t number = 0;

	atomic_store(&told[0].bad, 3);
	atomic_store(&told[1].bad_commit, 6);
	log_batches(b->log, 1, 9);
	assert_int_equal(commit_log_append(b->log, "no batch", 8, &number), 0);
	log_batches(b->log, 11, 12);
	begin(b, 2);
	wait_until(state_of(b, 0).position == 13 && state_of(b, 1).position == 13);
	assert_int_equal(state_of(b, 0).skipped, 2);
	assert_int_equal(state_of(b, 1).skipped, 2);
	end(b);
	assert_int_equal(told_kept(0), 10);
	assert_int_equal(told_kept(1), 10);
	const uint64_t want[2][10] = {{1, 2, 4, 5, 6, 7, 8, 9, 11, 12},
				      {1, 2, 3, 4, 5, 7, 8, 9, 11, 12}};
	for (size_t i = 0; i < 2; i++)
		assert_memory_equal(told[i].kept, want[i], sizeof(want[i]));
	assert_contains(b->said.buf, "1 fake:a skipped entry 3, kept in '");
	assert_contains(b->said.buf, "/left-out': does not fit\n");
	assert_contains(b->said.buf, "fake:b skipped entry 6, kept in '");
	assert_contains(b->said.buf, "skipped entry 10, kept in '");
	/* they are there, byte by byte, and counted after the next start */
	for (size_t i = 0; i < 2; i++) {
		const char target[] = {(char)('a' + i), 0};
		_cleanup_free_ char *name = sink_workers_directory(&fake, target);
		_cleanup_free_ char *dir = xasprintf("%s/%s/left-out", b->sinks, name);
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		const struct commit_log_options o = {.dir = dir};
		struct batch_name batch;
		struct commit_log *l = NULL;
		const void *p;
		size_t n;

		assert_int_equal(commit_log_open(&l, &o, &why), 0);
		struct commit_log_reader *r = commit_log_read_from(l, 1);
		assert_int_equal(commit_log_reader_next(r, &p, &n, &number), 1);
		assert_int_equal(batch_peek(p, n, &batch, &why), 0);
		assert_int_equal(batch.number, i ? 6 : 3);
		assert_int_equal(commit_log_reader_next(r, &p, &n, &number), 1);
		assert_int_equal(n, 8);
		assert_memory_equal(p, "no batch", 8);
		assert_int_equal(commit_log_reader_next(r, &p, &n, &number), 0);
		commit_log_reader_close(r);
		commit_log_close(l);
	}
	begin(b, 2);
	assert_int_equal(state_of(b, 0).aside, 2);
	assert_int_equal(state_of(b, 1).aside, 2);
	end(b);
}

/* A target that was open and cannot be reached, for whatever reason, gets all of it later. */
static void out_of_reach(void **state)
{
	static const int errors[] = {EPIPE,  EROFS,  EACCES, EIO,   ENOENT,
				     EINVAL, ENOMEM, EMFILE, EPROTO};
	struct bench *b = *state;
	unsigned next = 1;

	begin(b, 1);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		uint64_t before = state_of(b, 0).failures;

		log_batches(b->log, next, next + 4);
		wait_until(told_kept(0) == next + 4);
		atomic_store(&told[0].reach_error, -errors[i]);
		log_batches(b->log, next + 5, next + 11);
		wait_until(state_of(b, 0).failures > before + 3);
		atomic_store(&told[0].reach_error, 0);
		next += 12;
		wait_until(told_kept(0) == next - 1);
	}
	assert_int_equal(state_of(b, 0).skipped, 0);
	end(b);
	check_kept(0, next - 1);
}

static void positions_are_remembered(void **state)
{
	struct bench *b = *state;

	log_batches(b->log, 1, 6);
	atomic_store(&told[1].own_position, true);
	begin(b, 2);
	wait_until(told_kept(0) == 6 && told_kept(1) == 6);
	end(b);
	log_batches(b->log, 7, 9);
	begin(b, 2);
	wait_until(told_kept(0) == 9 && told_kept(1) == 9);
	end(b);
	check_kept(0, 9);
	check_kept(1, 9);
	/* a target that has less than we noted counts: it has lost something */
	told[1].kept_count = 4;
	commit_log_close(b->log);
	b->log = log_at_dir(b->dir);
	log_batches(b->log, 10, 10);
	begin(b, 2);
	wait_until(told_kept(0) == 10 && told[1].kept[told_kept(1) - 1] == 10);
	/* what was trimmed is missing, and counted */
	assert_int_equal(state_of(b, 1).missing, 10 - told_kept(1));
	end(b);
}

/* The log is gone: what was remembered of it means nothing for the new one. */
static void another_log(void **state)
{
	struct bench *b = *state;

	log_batches(b->log, 1, 6);
	begin(b, 1);
	wait_until(told_kept(0) == 6);
	end(b);
	commit_log_close(b->log);
	_cleanup_free_ char *path = xasprintf("%s/log", b->dir);
	assert_int_equal(nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	b->log = log_at_dir(b->dir);
	told_reset();
	begin(b, 1);
	log_batches(b->log, 1, 3);
	wait_until(told_kept(0) == 3);
	end(b);
	check_kept(0, 3);
}

static void wrong_targets_fail(void **state)
{
	struct bench *b = *state;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct sink_options twice = {.target = "a"};

	atomic_store(&told[0].open_error, -EINVAL);
	begin(b, 2);
	wait_until(state_of(b, 0).phase == SINK_WORKERS_FAILED);
	assert_string_equal(state_of(b, 0).reason, "wrong target");
	wait_until(state_of(b, 1).phase == SINK_WORKERS_RUNNING);
	assert_int_equal(sink_workers_add(b->replay, &fake, &twice, "fake:a", &why), -EEXIST);
	assert_string_equal(why.buf, "sink fake:a is given twice");
	end(b);
	assert_string_equal(b->said.buf, "0 fake:a wrong target\n");
}

static void reopening(void **state)
{
	struct bench *b = *state;

	log_batches(b->log, 1, 3);
	begin(b, 2);
	wait_until(told_kept(0) == 3);
	sink_workers_reopen(b->replay);
	wait_until(atomic_load(&told[0].reopens) == 1 && atomic_load(&told[1].reopens) == 1);
	log_batches(b->log, 4, 5);
	wait_until(told_kept(0) == 5 && told_kept(1) == 5);
	end(b);
	check_kept(0, 5);
	assert_int_equal(atomic_load(&told[0].opens), 1);
}

/* At the end what is in the log is handed over, when there is time for it. */
static void the_end_drains(void **state)
{
	struct bench *b = *state;

	begin(b, 1);
	wait_until(atomic_load(&told[0].opens) == 1);
	log_batches(b->log, 1, 50);
	assert_true(sink_workers_stop(b->replay, 30000000000, 30000000000));
	check_kept(0, 50);
	sink_workers_free(b->replay);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_feed_gets_everything),
		TEST(failures_pass),
		TEST(stale_entries_come_again_at_once),
		TEST(a_dead_feed_holds_up_nobody),
		TEST(bad_entries_are_skipped),
		TEST(out_of_reach),
		TEST(positions_are_remembered),
		TEST(another_log),
		TEST(wrong_targets_fail),
		TEST(reopening),
		TEST(the_end_drains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
