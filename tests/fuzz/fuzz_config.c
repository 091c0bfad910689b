/* Our own settings file. */
#include "fuzz.h"

#include <string.h>

#include "core/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	/* files with a NUL byte are refused before they come here: the text ends at the first */
	_cleanup_free_ char *text = xstrndup((const char *)data, size);
	struct config c = {0};

	config_parse(&c, text, "fuzz", &why);
	REQUIRE(!why.len || str_prefix(why.buf, "fuzz:"));
	for (int i = 0; i < SETTING_COUNT; i++) {
		enum setting_id id = (enum setting_id)i;

		if (!config_get(&c, id))
			continue;
		REQUIRE(str_prefix(c.origin[i], "fuzz:") && !strchr(c.value[i], '\n'));
		free(config_path(&c, id));
		(void)pattern_list_matches(c.value[i], "AWS_SECRET_ACCESS_KEY");
	}
	config_release(&c);
	return 0;
}
