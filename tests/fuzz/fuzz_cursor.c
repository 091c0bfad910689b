/* Cursors of lists of jobs: the first byte chooses the order, the rest is what a client sends back.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "store/job_list.h"

/* An empty store in memory, made once. */
static struct store *store(void)
{
	static struct store *s;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (!s)
		REQUIRE(store_open(&s, ":memory:", STORE_WRITE, &why) == 0);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const orders[] = {"-start", "start", "jobname", "-duration"};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_page_ struct job_page page = {0};

	if (!size)
		return 0;
	_cleanup_free_ char *after = xstrndup((const char *)data + 1, size - 1);
	const struct job_list_query q = {
		.order = orders[data[0] % ARRAY_SIZE(orders)], .limit = 10, .after = after};
	int r = job_list_page(store(), &q, &page, &why);
	REQUIRE(r == 0 ? !page.count && !page.next : r == -EINVAL && why.len);
	return 0;
}
