/* Files that take their place whole or not at all, and the lock of those that are added to. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>

#include "core/files/fs.h"
#include "tables/atomic_output.h"

static const struct table_format plain = {.name = "plain", .text = true},
				 base = {.name = "base", .database = true},
				 journal = {
					 .name = "journal", .database = true, .transactions = true};

static char *in(void **state, const char *name)
{
	return xasprintf("%s/%s", (char *)*state, name);
}

static void holds(const char *path, const char *want)
{
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

	assert_int_equal(fs_read(AT_FDCWD, path, 4096, &got), 0);
	assert_string_equal(got.buf, want);
}

/* Names in the directory, those that begin with a dot too. */
static int entries(void **state)
{
	_cleanup_free_ char *command = xasprintf("exit $(ls -A '%s' | wc -l)", (char *)*state);

	return WEXITSTATUS(system(command));
}

static void replaced_or_not(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *path = in(state, "x");
	struct atomic_output p;
	struct stat st;

	write_file(path, "old", 3);
	chmod(path, 0640);
	assert_int_equal(atomic_output_begin(&p, &plain, path, &why), 0);
	assert_false(p.existed);
	write_file(p.path, "new", 3);
	holds(path, "old");
	atomic_output_cancel(&p);
	atomic_output_cancel(&p);
	holds(path, "old");
	assert_int_equal(entries(state), 1);

	assert_int_equal(atomic_output_begin(&p, &plain, path, &why), 0);
	write_file(p.path, "new", 3);
	assert_int_equal(atomic_output_commit(&p, &why), 0);
	holds(path, "new");
	assert_int_equal(entries(state), 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void added_to(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *path = in(state, "x"), *link = in(state, "link");
	struct atomic_output p;

	/* new */
	assert_int_equal(atomic_output_begin(&p, &base, path, &why), 0);
	assert_false(p.existed);
	write_file(p.path, "one", 3);
	assert_int_equal(atomic_output_commit(&p, &why), 0);
	/* a copy, which is what it was */
	assert_int_equal(symlink("x", link), 0);
	assert_int_equal(atomic_output_begin(&p, &base, link, &why), 0);
	assert_true(p.existed);
	holds(p.path, "one");
	write_file(p.path, "two", 3);
	holds(path, "one");
	assert_int_equal(atomic_output_commit(&p, &why), 0);
	holds(path, "two");
	assert_int_equal(entries(state), 2);
	/* in place */
	assert_int_equal(atomic_output_begin(&p, &journal, path, &why), 0);
	assert_true(p.existed);
	holds(p.path, "two");
	assert_null(p.temporary);
	assert_int_equal(atomic_output_commit(&p, &why), 0);
	assert_int_equal(entries(state), 2);
}

static void refused(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *nowhere = in(state, "no/x"), *readonly = in(state, "readonly");
	struct atomic_output p;

	assert_int_equal(atomic_output_begin(&p, &plain, *state, &why), -EISDIR);
	assert_int_equal(atomic_output_begin(&p, &plain, nowhere, &why), -ENOENT);
	assert_contains(why.buf, "no/x");
	assert_int_equal(atomic_output_begin(&p, &base, nowhere, &why), -ENOENT);
	assert_int_equal(atomic_output_begin(&p, &base, "/dev/null", &why), -EINVAL);
	write_file(readonly, "old", 3);
	chmod(readonly, 0444);
	if (geteuid() != 0)
		assert_int_equal(atomic_output_begin(&p, &plain, readonly, &why), -EACCES);
	assert_int_equal(entries(state), 1);
}

/* ---- the lock -------------------------------------------------------------------------------- */

#define WRITERS 4
#define ROUNDS 20

struct writer {
	const char *path;
	pthread_t thread;
	char letter;
};

/* Adds a letter to what is there. */
static void *add_letters(void *user)
{
	struct writer *w = user;

	for (int i = 0; i < ROUNDS; i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
		struct atomic_output p;

		if (atomic_output_begin(&p, &base, w->path, &why) < 0)
			return (void *)"cannot begin";
		if (p.existed && fs_read(AT_FDCWD, p.path, 4096, &text) < 0)
			return (void *)"cannot read";
		strbuf_addch(&text, w->letter);
		write_file(p.path, text.buf, text.len);
		if (atomic_output_commit(&p, &why) < 0)
			return (void *)"cannot commit";
	}
	return NULL;
}

static void one_after_the_other(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *path = in(state, "x");
	struct writer writers[WRITERS];
	int counts[WRITERS] = {0};

	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){.path = path, .letter = (char)('a' + i)};
		assert_int_equal(pthread_create(&writers[i].thread, NULL, add_letters, &writers[i]),
				 0);
	}
	for (int i = 0; i < WRITERS; i++) {
		void *wrong = NULL;

		assert_int_equal(pthread_join(writers[i].thread, &wrong), 0);
		if (wrong)
			fail_msg("%s", (const char *)wrong);
	}
	assert_int_equal(fs_read(AT_FDCWD, path, 4096, &text), 0);
	assert_int_equal(text.len, WRITERS * ROUNDS);
	for (size_t i = 0; i < text.len; i++)
		counts[text.buf[i] - 'a']++;
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(counts[i], ROUNDS);
	assert_int_equal(entries(state), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(replaced_or_not, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(added_to, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(refused, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(one_after_the_other, scratch_setup,
						scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
