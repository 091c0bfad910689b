/* The message to the configuration port of colmet's Rust version: what is taken can be written and
 * is the same again. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "compat/colmet/colmet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, out = STRBUF_INIT;
	struct colmet_configuration c, again;
	int r = colmet_read_configuration(data, size, &c, &why);

	REQUIRE(r == 0 ? !why.len : r == -EBADMSG && why.len);
	if (r < 0)
		return 0;
	REQUIRE(strlen(c.metrics) < sizeof(c.metrics));
	REQUIRE(c.period_s >= 0 && c.period_s <= 86400);
	colmet_write_configuration(&c, &out);
	REQUIRE(colmet_read_configuration(out.buf, out.len, &again, &why) == 0);
	REQUIRE(!strcmp(c.metrics, again.metrics));
	double off = c.period_s - again.period_s;
	REQUIRE(off * off <= c.period_s * c.period_s * 1e-12);
	return 0;
}
