/* Job metadata: JSON or pickle is told by content, and both forms survive being written again. */
#include "unit.h"

#include <errno.h>

#include "codecs/archive.h"
#include "jobs/job_layout.h"
#include "jobs/metadata_file.h"
#include "pickles.h"

static const struct pickle_fixture *fixture(const char *name, int protocol)
{
	for (size_t i = 0; i < pickle_count; i++)
		if (!strcmp(pickles[i].name, name) && pickles[i].protocol == protocol)
			return &pickles[i];
	fail_msg("no fixture '%s'", name);
	return NULL;
}

static char *json_of(const struct value *v)
{
	struct json_writer j = JSON_WRITER_INIT;

	value_to_json(v, &j, NULL);
	return strbuf_take(&j.out);
}

static void check(const char *data, size_t n, const char *json)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;
	char *copy = exact_copy(data, n);

	int r = meta_parse(copy, n, &v, &why);
	free(copy);
	if (r != 0)
		fail_msg("%s", why.buf);
	_cleanup_free_ char *got = json_of(v);
	assert_string_equal(got, json);
}

static void refuse(const char *data, size_t n, int error, const char *why_has)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *v = NULL;
	char *copy = exact_copy(data, n);

	assert_int_equal(meta_parse(copy, n, &v, &why), error);
	free(copy);
	assert_null(v);
	assert_contains(why.buf, why_has);
}

/* ---- by content
 * --------------------------------------------------------------------------------------- */

static void json_is_told_by_its_brace(void **state)
{
	(void)state;
	check("{}", 2, "{}");
	check("{\"jobid\":\"1\"}\n", 14, "{\"jobid\":\"1\"}");
	check(" \t\r\n {\"a\": [1, 2]}", 18, "{\"a\":[1,2]}");
}

static void pickles_of_all_protocols(void **state)
{
	(void)state;
	for (int protocol = 0; protocol <= 5; protocol++) {
		const struct pickle_fixture *f = fixture("job", protocol);

		check(f->data, f->size, f->json);
	}
	const struct pickle_fixture *old = fixture("python2", 0);
	check(old->data, old->size, old->json);
}

static void what_is_neither(void **state)
{
	(void)state;
	refuse("", 0, -EBADMSG, "ends");
	refuse(" \n", 2, -EPERM, "instruction");
	refuse("{", 1, -EBADMSG, "line 1");
	refuse("{\"a\":1} x", 9, -EBADMSG, "line 1");
	refuse("cos\nsystem\n.", 12, -EPERM, "os.system");
	refuse("\x80\x04", 2, -EBADMSG, "ends");
	/* data, but not of a job */
	refuse("I5\n.", 4, -EBADMSG, "dictionary");
	refuse("].", 2, -EBADMSG, "dictionary");
	refuse("[1]", 3, -EPERM, "instruction");
	refuse("\x1f\x8b\x08", 3, -EPERM, "instruction");
	refuse("\0\0\0\0", 4, -EPERM, "instruction");
}

/* ---- written again
 * ---------------------------------------------------------------------------------------- */

static void both_forms_are_read_back(void **state)
{
	const struct pickle_fixture *f = fixture("job", 3);
	_cleanup_strbuf_ struct strbuf pickle = STRBUF_INIT, json = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;

	(void)state;
	assert_int_equal(meta_parse(f->data, f->size, &v, NULL), 0);
	job_layout_of_file("job_metadata")->format->write(v, &pickle);
	assert_memory_equal(pickle.buf, "\x80\x03", 2);
	check(pickle.buf, pickle.len, f->json);
	metadata_format_json.write(v, &json);
	/* for people too: in lines, with a newline at the end */
	assert_true(str_prefix(json.buf, "{\n  \"job_pl_id\": \"20210304.1\",\n"));
	assert_true(str_suffix(json.buf, "\n}\n"));
	check(json.buf, json.len, f->json);
}

static void names_of_members(void **state)
{
	(void)state;
	assert_true(meta_is_name("job.json"));
	assert_true(meta_is_name("job_metadata"));
	assert_true(meta_is_name("job_metadata.tmp"));
	assert_false(meta_is_name("./job_metadata"));
	assert_false(meta_is_name("x/job.json"));
	assert_false(meta_is_name("job.json~"));
	assert_false(meta_is_name(""));
}

/* ---- files
 * ---------------------------------------------------------------------------------------------- */

static void check_file(const char *data, size_t n, const char *json)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;
	int fd = memory_file(data, n);

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	int r = meta_from_file(fd, &v, &why);
	close(fd);
	if (r != 0)
		fail_msg("%s", why.buf);
	_cleanup_free_ char *got = json_of(v);
	assert_string_equal(got, json);
}

static void files_by_themselves(void **state)
{
	(void)state;
	check_file("{\"jobid\": \"1\"}\n", 15, "{\"jobid\":\"1\"}");
	for (int protocol = 0; protocol <= 5; protocol++) {
		const struct pickle_fixture *f = fixture("job", protocol);

		check_file(f->data, f->size, f->json);
	}
	const struct pickle_fixture *old = fixture("python2", 0);
	check_file(old->data, old->size, old->json);
}

/* What meta_parse() takes for JSON, this takes for JSON too. */
static void a_file_with_blanks_in_front(void **state)
{
	(void)state;
	check_file("\n{\"jobid\": \"1\"}\n", 16, "{\"jobid\":\"1\"}");
}

static void a_file_that_is_too_large(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *v = NULL;
	int fd = memory_file("{", 1);

	(void)state;
	/* a hole: nothing of it is on any disk */
	assert_int_equal(ftruncate(fd, (off_t)META_FILE_MAX + 1), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(meta_from_file(fd, &v, &why), -EFBIG);
	assert_contains(why.buf, "larger");
	close(fd);
}

static void archives(void **state)
{
	const struct pickle_fixture *f = fixture("job", 3);
	_cleanup_free_ char *path = xasprintf("%s/job.tgz", (char *)*state);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;
	const struct archive_functions *a = archive_module(&why);

	if (!a) {
		print_message("%s\n", why.buf);
		strbuf_release(&why);
		free(path);
		path = NULL;
		skip_because("the archive module is not built");
	}
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	struct archive_writer *w = a->create(fd, &why);
	assert_non_null(w);
	assert_int_equal(a->add(w, "./other", 0600, "x", 1, -1, &why), 0);
	assert_int_equal(a->add(w, "./job_metadata", 0600, f->data, f->size, -1, &why), 0);
	assert_int_equal(a->finish(w, &why), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (meta_from_file(fd, &v, &why) != 0)
		fail_msg("%s", why.buf);
	_cleanup_free_ char *got = json_of(v);
	assert_string_equal(got, f->json);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_told_by_its_brace),
		cmocka_unit_test(pickles_of_all_protocols),
		cmocka_unit_test(what_is_neither),
		cmocka_unit_test(both_forms_are_read_back),
		cmocka_unit_test(names_of_members),
		cmocka_unit_test(files_by_themselves),
		cmocka_unit_test(a_file_with_blanks_in_front),
		cmocka_unit_test(a_file_that_is_too_large),
		cmocka_unit_test_setup_teardown(archives, scratch_setup, scratch_teardown),
	};
	return cmocka_run_group_tests(tests, pickles_load, pickles_free);
}
