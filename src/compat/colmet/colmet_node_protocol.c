/* colmet's protocol for the node daemon: records to a colmet collector, and the Rust version's
 * configuration messages. */
#include "compat/colmet/colmet.h"
#include "compat/colmet/colmet_names.h"
#include "compat/colmet/colmet_output.h"

static int read_request(const void *p, size_t n, struct node_protocol_request *ret,
			struct strbuf *why)
{
	struct colmet_configuration said;
	int r = colmet_read_configuration(p, n, &said, why);

	if (r < 0)
		return r;
	_Static_assert(sizeof(said.metrics) == sizeof(ret->metrics), "a list would be cut");
	memcpy(ret->metrics, said.metrics, sizeof(ret->metrics));
	if (said.period_s != 0)
		snprintf(ret->period, sizeof(ret->period), "%lldms",
			 said.period_s > 0 && said.period_s < 1e6
				 ? (long long)round_i64(said.period_s * 1000)
				 : 0);
	return 0;
}

static int change(const struct node_settings *s, bool only, const char *list, struct config *next,
		  const char *origin, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf filter = STRBUF_INIT, words = STRBUF_INIT;
	struct colmet_names names;
	int r = colmet_names_read(&names, list, only, why);

	if (r == 0) {
		colmet_names_filter(&names, s->metrics_text, &filter);
		config_set(next, SETTING_NODE_METRICS, filter.buf, origin);
	}
	/* a node that sends the Rust version's messages goes on with them */
	if (r == 0 && (names.rust.len || *config_get(next, SETTING_NODE_COLMET_NAMES)))
		config_set(next, SETTING_NODE_COLMET_NAMES,
			   names.rust.len ? names.rust.buf : names.counters.buf, origin);
	if (r == 0 && names.counters.len) {
		node_count_events(s, names.counters.buf, &words);
		config_set(next, SETTING_NODE_SOURCES, words.buf, origin);
	}
	colmet_names_release(&names);
	return r;
}

const struct node_protocol node_protocol_colmet = {
	.name = "colmet",
	.example = "tcp://HOST:5556",
	.named_source = "jobs",
	.address = SETTING_NODE_COLMET,
	.control = SETTING_NODE_COLMET_CONFIG,
	.named_metrics = SETTING_NODE_COLMET_NAMES,
	.open = colmet_output_open,
	.select = colmet_output_select,
	.leaves = colmet_output_leaves,
	.retry = colmet_output_retry,
	.read = read_request,
	.change = change,
};
