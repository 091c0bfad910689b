/* What a batch job asked for: the first byte says whether the rest is an answer of scontrol or of
 * qstat. */
#include "fuzz.h"

#include "jobs/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job_request r = REQUEST_UNKNOWN;

	if (!size)
		return 0;
	_cleanup_free_ char *text = xstrndup((const char *)data + 1, size - 1);
	if (data[0] == '1')
		request_from_qstat(text, &r);
	else
		request_from_scontrol(text, &r);
	for (size_t i = 0; i < REQUEST_ITEMS; i++)
		REQUIRE(r.item[i] == -1 || r.item[i] > 0);
	return 0;
}
