/* Notes of positions when something happens to them: a sink's own state goes only with a proof. */
#include "sink_worker.h"

#include <dirent.h>

#include "faults.h"

struct bench {
	char *dir, *sinks;
	struct commit_log *log;
	struct sink_workers *replay;
	struct strbuf said;
};

static void on_trim(void *user, uint64_t number)
{
	(void)user;
	(void)number; /* the log keeps all: what comes again would be seen */
}

static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;

static void on_say(void *user, enum log_level level, const char *feed, const char *text)
{
	struct bench *b = user;

	(void)level;
	pthread_mutex_lock(&said_lock);
	strbuf_addf(&b->said, "%s %s\n", feed, text);
	pthread_mutex_unlock(&said_lock);
}

static int add(struct bench *b, struct strbuf *why)
{
	const struct sink_workers_options o = {.log = b->log,
					       .dir = b->sinks,
					       .commit_ns = 5000000,
					       .pause_ns = 1000000,
					       .pause_max_ns = 4000000,
					       .trim = on_trim,
					       .say = on_say,
					       .user = b};
	const struct sink_options f = {.target = "a"};

	assert_int_equal(sink_workers_new(&b->replay, &o, why), 0);
	return sink_workers_add(b->replay, &fake, &f, "fake:a", why);
}

static void begin(struct bench *b)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (add(b, &why) < 0 || sink_workers_start(b->replay, &why) < 0)
		fail_msg("%s", why.buf);
}

static void end(struct bench *b)
{
	assert_true(sink_workers_stop(b->replay, 1000000000, 30000000000));
	sink_workers_free(b->replay);
	b->replay = NULL;
}

/* Four batches are in the log and in the sink. */
static void play_four(struct bench *b)
{
	log_batches(b->log, 1, 4);
	begin(b);
	wait_until(told_kept(0) == 4);
	end(b);
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	fault_clear();
	told_reset();
	b->dir = scratch_make();
	b->sinks = xasprintf("%s/feeds", b->dir);
	fault_disk(b->dir);
	b->log = log_at_dir(b->dir);
	b->said = (struct strbuf)STRBUF_INIT;
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	fault_clear();
	fault_disk(NULL);
	commit_log_close(b->log);
	strbuf_release(&b->said);
	free(b->sinks);
	scratch_remove(b->dir);
	free(b);
	return 0;
}

/* A file of the only feed's directory. */
static char *file_of(const struct bench *b, const char *name)
{
	DIR *d = opendir(b->sinks);
	char *ret = NULL;

	assert_non_null(d);
	for (struct dirent *e; !ret && (e = readdir(d));)
		if (*e->d_name != '.')
			ret = xasprintf("%s/%s/%s", b->sinks, e->d_name, name);
	closedir(d);
	assert_non_null(ret);
	return ret;
}

static void check_kept(uint64_t n)
{
	assert_int_equal(told[0].kept_count, n);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(told[0].kept[i], i + 1);
}

/* What is no note proves nothing: the sink knows where it is, and what it keeps stays. */
static void notes_that_are_none(void **state)
{
	static const char *const texts[] = {"",
					    "position",
					    "position 3 at 5 of 1a",
					    "\n",
					    "position 0 at 5 of 1a\n",
					    "garbage garbage garbage\n",
					    NULL};
	struct bench *b = *state;
	unsigned next = 1;

	atomic_store(&told[0].own_position, true);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		log_batches(b->log, next, next + 3);
		next += 4;
		begin(b);
		wait_until(told_kept(0) == next - 1);
		end(b);
		_cleanup_free_ char *note = file_of(b, "position"), *kept = file_of(b, "kept");
		write_file(kept, "x", 1);
		if (texts[i])
			write_file(note, texts[i], strlen(texts[i]));
		else
			assert_int_equal(unlink(note), 0);
		strbuf_reset(&b->said);
		begin(b);
		wait_until(atomic_load(&told[0].opens) == 2 * (int)i + 2);
		end(b);
		check_kept(next - 1);
		assert_int_equal(access(kept, F_OK), 0);
		assert_contains(b->said.buf, "position' is damaged: continues with entry");
	}
}

/* Ended before anything came, once and again: its own note of that is whole. */
static void a_note_of_nothing(void **state)
{
	struct bench *b = *state;

	for (int i = 1; i <= 3; i++) {
		begin(b);
		wait_until(atomic_load(&told[0].opens) == i);
		end(b);
		assert_int_equal(b->said.len, 0);
	}
	play_four(b);
	check_kept(4);
	assert_int_equal(b->said.len, 0);
}

/* Without a sink that knows, the log is played from its first entry, and that is said. */
static void nobody_knows(void **state)
{
	struct bench *b = *state;

	play_four(b);
	_cleanup_free_ char *note = file_of(b, "position");
	write_file(note, "", 0);
	begin(b);
	wait_until(told_kept(0) == 8);
	end(b);
	assert_contains(
		b->said.buf,
		"continues with entry 1, the first of the log; some may be delivered again");
}

/* A disk that cannot read it is an error, not another log. */
static void a_note_that_cannot_be_read(void **state)
{
	static const int errors[] = {EIO, EMFILE, EACCES};
	struct bench *b = *state;

	atomic_store(&told[0].own_position, true);
	play_four(b);
	_cleanup_free_ char *kept = file_of(b, "kept");
	write_file(kept, "x", 1);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

		fault_add("open", "position", 0, 1, errors[i]);
		assert_int_equal(add(b, &why), -errors[i]);
		assert_contains(why.buf, "cannot read");
		assert_contains(why.buf, "/position': ");
		sink_workers_free(b->replay);
		fault_clear();
	}
	assert_int_equal(access(kept, F_OK), 0);
	begin(b);
	wait_until(atomic_load(&told[0].opens) == 2);
	end(b);
	check_kept(4);
}

/* What is proved to be about another log goes. */
static void a_note_of_another_log(void **state)
{
	struct bench *b = *state;

	play_four(b);
	_cleanup_free_ char *note = file_of(b, "position"), *kept = file_of(b, "kept");
	write_file(kept, "x", 1);
	write_file(note, "position 3 at 5 of 1a\n", 22);
	told_reset();
	begin(b);
	wait_until(told_kept(0) == 4);
	end(b);
	check_kept(4);
	assert_int_equal(access(kept, F_OK), -1);
}

/* The power goes at any moment: there is a note, whole. */
static void notes_outlive_the_power(void **state)
{
	struct bench *b = *state;

	atomic_store(&told[0].own_position, true);
	play_four(b);
	commit_log_close(b->log);
	fault_power_cut();
	_cleanup_free_ char *note = file_of(b, "position");
	struct stat st;
	assert_int_equal(stat(note, &st), 0);
	assert_true(st.st_size > 20);
	b->log = log_at_dir(b->dir);
	begin(b);
	wait_until(atomic_load(&told[0].opens) == 2);
	end(b);
	check_kept(4);
	assert_string_equal(b->said.buf, "");
}

/* One that cannot be written is said, once. */
static void a_note_that_cannot_be_written(void **state)
{
	struct bench *b = *state;

	fault_add("sync", ".position.", 0, -1, EIO);
	play_four(b);
	assert_contains(b->said.buf, "/position': Input/output error");
	assert_null(strstr(strstr(b->said.buf, "Input/output") + 1, "Input/output"));
}

/* The log cannot be read for a moment: what the sink was given until then does not come again. */
static void a_log_that_cannot_be_read(void **state)
{
	struct bench *b = *state;
	unsigned next = 1, hits = 0;

	for (unsigned way = 0; way < 12; way++) {
		log_batches(b->log, next, next + 39);
		next += 40;
		fault_add(way % 2 ? "read" : "open", ".log", 1 + way / 2, 2, EMFILE);
		begin(b);
		wait_until(told_kept(0) >= next - 1);
		end(b);
		hits += fault_hits();
		fault_clear();
		check_kept(next - 1);
	}
	assert_true(hits > 4);
	assert_contains(b->said.buf, "cannot read the log: Too many open files");
}

/* An entry that is left out must wait until it can be kept: those before it do not come again. */
static void what_cannot_be_kept_aside(void **state)
{
	struct bench *b = *state;

	log_batches(b->log, 1, 9);
	atomic_store(&told[0].bad, 7);
	fault_add("open", "left-out", 0, 3, ENOSPC);
	begin(b);
	wait_until(told_kept(0) >= 8);
	end(b);
	assert_int_equal(fault_hits(), 3);
	assert_int_equal(told[0].kept_count, 8);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(told[0].kept[i], i < 6 ? i + 1 : i + 2);
	assert_contains(b->said.buf, "cannot keep it in");
	assert_contains(b->said.buf, "skipped entry 7, kept in");
}

/* The last one of all could not be kept for a moment: the sink is not taken for held up for ever.
 */
static void the_last_is_kept_aside_late(void **state)
{
	struct bench *b = *state;
	struct sink_workers_state s;

	log_batches(b->log, 1, 3);
	atomic_store(&told[0].bad, 3);
	fault_add("open", "left-out", 0, 3, ENOSPC);
	begin(b);
	wait_until((sink_workers_state(b->replay, 0, &s),
		    s.position == 4 && s.phase == SINK_WORKERS_RUNNING));
	assert_int_equal(s.skipped, 1);
	assert_true(s.failures > 0);
	end(b);
	check_kept(2);
}

/* A part of an entry is refused: it waits until all of the entry can be kept, and is counted once.
 */
static void a_part_that_cannot_be_kept_aside(void **state)
{
	struct bench *b = *state;
	struct sink_workers_state s;

	log_batches(b->log, 1, 9);
	atomic_store(&told[0].bad_part, 7);
	fault_add("open", "left-out", 0, 3, ENOSPC);
	begin(b);
	wait_until((sink_workers_state(b->replay, 0, &s),
		    s.position == 10 && s.phase == SINK_WORKERS_RUNNING));
	assert_int_equal(fault_hits(), 3);
	assert_true(s.failures > 0);
	assert_int_equal(s.skipped, 1);
	assert_int_equal(s.aside, 1);
	assert_int_equal(s.committed, 8);
	end(b);
	check_kept(9);
	assert_contains(b->said.buf, "cannot be kept aside");
	assert_contains(b->said.buf, "skipped part of entry 7, all of it kept in");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_note_of_nothing),
		TEST(notes_that_are_none),
		TEST(nobody_knows),
		TEST(a_note_that_cannot_be_read),
		TEST(a_note_of_another_log),
		TEST(notes_outlive_the_power),
		TEST(a_note_that_cannot_be_written),
		TEST(a_log_that_cannot_be_read),
		TEST(what_cannot_be_kept_aside),
		TEST(the_last_is_kept_aside_late),
		TEST(a_part_that_cannot_be_kept_aside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
