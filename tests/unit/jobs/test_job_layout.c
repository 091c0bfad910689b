/* Layouts of job directories: what the table promises to those who walk it, whatever rows it has.
 */
#include "unit.h"

#include "jobs/job_directory.h"
#include "jobs/metadata.h"

/* Every row can be used without asking what is in it. */
static void every_row_is_complete(void **state)
{
	(void)state;
	assert_ptr_equal(job_layouts[0], &job_layout_native);
	for (const struct job_layout *const *l = job_layouts; *l; l++) {
		assert_non_null((*l)->format);
		assert_non_null((*l)->start);
		assert_non_null((*l)->stop);
		assert_non_null((*l)->tags_variable);
		for (int key = 0; key < KEY_COUNT; key++)
			assert_non_null((*l)->keys[key][0]);
		assert_ptr_equal(job_layout_of_file((*l)->metadata), *l);
		if ((*l)->metadata_running)
			assert_ptr_equal(job_layout_of_file((*l)->metadata_running), *l);
	}
	assert_null(job_layout_of_file("other.json"));
}

/* What a layout writes at the start is known as its own, in its format and with its keys. */
static void metadata_tell_their_layout(void **state)
{
	const struct job_description f = {"77", "name", "user", "script.sh", 1000000};
	struct config c = {0};
	_cleanup_strbuf_ struct strbuf problems = STRBUF_INIT;

	(void)state;
	config_load(&c, "", &problems);
	for (const struct job_layout *const *l = job_layouts; *l; l++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
		_cleanup_value_ struct value *meta = (*l)->start(&c, &f, value_new(VALUE_DICT));
		_cleanup_value_ struct value *again = NULL;

		assert_ptr_equal(metadata_layout(meta), *l);
		assert_string_equal(metadata_text(meta, KEY_ID), "77");
		assert_string_equal(metadata_text(meta, KEY_USER), "user");
		assert_string_equal(metadata_text(meta, KEY_SCRIPT), "script.sh");
		(*l)->stop(meta, &c, 2000000, 3, NULL, value_new(VALUE_DICT));
		assert_non_null(value_get(meta, (*l)->keys[KEY_STOP][0]));
		(*l)->format->write(meta, &text);
		assert_int_equal((*l)->format->read(text.buf, text.len, &again, &why), 0);
		assert_int_equal(value_get(again, (*l)->keys[KEY_EXITCODE][0])->integer, 3);
	}
	config_release(&c);
}

static void keys_of_all_layouts_in_order(void **state)
{
	size_t n = 0, count = 0;

	(void)state;
	assert_string_equal(metadata_key(KEY_ID, 0), "jobid");
	while (metadata_key(KEY_ID, n))
		n++;
	while (job_layouts[count])
		count++;
	assert_int_equal(n, count);
}

/* Where nothing tells, they are ours, and nothing is made up. */
static void metadata_of_nobody(void **state)
{
	_cleanup_value_ struct value *meta = value_new(VALUE_DICT);
	_cleanup_free_ char *names = metadata_names();

	(void)state;
	assert_ptr_equal(metadata_layout(meta), &job_layout_native);
	assert_null(metadata_text(meta, KEY_ID));
	assert_null(metadata_batch_environment(meta));
	assert_int_equal(strncmp(names, "job.json", strlen("job.json")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_complete),
		cmocka_unit_test(metadata_tell_their_layout),
		cmocka_unit_test(keys_of_all_layouts_in_order),
		cmocka_unit_test(metadata_of_nobody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
