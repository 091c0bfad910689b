/* EPMT's settings.py. */
#include "fuzz.h"

#include <errno.h>

#include "compat/epmt/settings_py.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *settings = NULL, *skipped = NULL;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	if (size > SETTINGS_FILE_MAX)
		return 0;
	int r = settings_py_read((const char *)data, size, &settings, &skipped, &why);
	REQUIRE(r == 0 || (r == -EBADMSG && why.len));
	REQUIRE(settings && skipped);
	/* a name is read or it is not */
	for (size_t i = 0; i < value_pairs(skipped); i++)
		REQUIRE(!value_get(settings, value_key(skipped, i)->str.data));
	value_to_json(settings, &j, NULL);
	return 0;
}
