/* Requests to configure a node, and the settings that they change: refused with a reason, or whole
 * and the same again when they are said once more. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "node/node_request.h"
#include "node/node_settings.h"

static void apply(const struct node_change *c)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, text = STRBUF_INIT;
	struct config config = {0};
	struct node_settings s, again;

	for (int i = 0; i < SETTING_COUNT; i++)
		config_set(&config, (enum setting_id)i, settings[i].fallback, "default");
	if (c->period)
		config_set(&config, SETTING_NODE_PERIOD, c->period, "configure");
	if (c->metrics)
		config_set(&config, SETTING_NODE_METRICS, c->metrics, "configure");
	if (c->sources)
		config_set(&config, SETTING_NODE_SOURCES, c->sources, "configure");
	int r = node_settings_read(&s, &config, &why);
	REQUIRE(r == 0 ? !why.len : r == -EINVAL && why.len && !s.name);
	if (r == 0) {
		REQUIRE(s.period_ns >= NODE_PERIOD_MIN_NS && s.period_ns <= NODE_PERIOD_MAX_NS);
		node_sources_text(&s, &text);
		config_set(&config, SETTING_NODE_SOURCES, text.buf, "again");
		REQUIRE(node_settings_read(&again, &config, &why) == 0);
		REQUIRE(again.source_count == s.source_count);
		for (size_t i = 0; i < s.source_count; i++)
			REQUIRE(!strcmp(again.sources[i].name, s.sources[i].name));
		node_settings_release(&again);
		node_settings_release(&s);
	}
	config_release(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, out = STRBUF_INIT;
	struct node_request r, again;
	int e = node_request_read(&r, data, size, &why);

	REQUIRE(e == 0 ? !why.len : (e == -EBADMSG || e == -EINVAL) && why.len && !r.value);
	if (e < 0)
		return 0;
	node_request_write(&r.change, &out);
	if (out.len <= NODE_REQUEST_MAX) {
		REQUIRE(node_request_read(&again, out.buf, out.len, &why) == 0);
		REQUIRE(!again.change.metrics == !r.change.metrics);
		node_request_release(&again);
	}
	apply(&r.change);
	node_request_release(&r);
	return 0;
}
