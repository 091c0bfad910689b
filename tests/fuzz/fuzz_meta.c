/* Job metadata: whatever is read is written in every format and read again. */
#include "fuzz.h"

#include "jobs/job_layout.h"
#include "jobs/metadata_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;

	if (meta_parse((const char *)data, size, &v, &why) < 0) {
		REQUIRE(!v && why.len);
		return 0;
	}
	REQUIRE(v->kind == VALUE_DICT);
	(void)value_get_str(v, "jobid");
	for (const struct metadata_format *const *f = metadata_formats; *f; f++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
		_cleanup_value_ struct value *again = NULL;

		(*f)->write(v, &out);
		REQUIRE(meta_parse(out.buf, out.len, &again, &why) == 0);
	}
	return 0;
}
