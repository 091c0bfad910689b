/* A pickle: what is read can be shown in every form, and what is written of it is read again. */
#include "fuzz.h"

#include <errno.h>

#include "compat/epmt/pickle/pickle.h"

static void show(const struct value *v)
{
	_cleanup_json_ struct json_writer compact = JSON_WRITER_INIT, pretty = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	value_to_json(v, &compact, NULL);
	REQUIRE(compact.depth == 0);
	pretty.pretty = true;
	value_to_json(v, &pretty, "key");
	value_to_python(v, &text, true);
	value_to_python(v, &text, false);
	value_to_text(v, &text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, out = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL, *again = NULL;
	int64_t us;

	int r = pickle_read(data, size, &v, &why);
	if (r < 0) {
		REQUIRE(r == -EBADMSG || r == -EPERM || r == -E2BIG);
		REQUIRE(!v && why.len);
		return 0;
	}
	REQUIRE(v && !why.len);
	show(v);
	(void)value_epoch_us(v, &us);
	pickle_write(v, &out);
	REQUIRE(pickle_read(out.buf, out.len, &again, &why) == 0);
	REQUIRE(again->kind == v->kind);
	value_sort(v);
	return 0;
}
