/* Counters of the server itself, as text for Prometheus. */

#include "web/handlers/handlers.h"
#include "web/server.h"

static void add(struct strbuf *out, const char *name, const char *type, const char *help,
		unsigned long long value)
{
	strbuf_addf(out,
		    "# HELP plimsoll_serve_%s %s\n# TYPE plimsoll_serve_%s %s\n"
		    "plimsoll_serve_%s %llu\n",
		    name, help, name, type, name, value);
}

static unsigned long long resident_bytes(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	(void)fclose(f);
	return pages * (unsigned long long)sysconf(_SC_PAGESIZE);
}

static void add_answers(struct strbuf *out, const struct web_counters *n)
{
	strbuf_addstr(out, "# HELP plimsoll_serve_answers_total answers by status\n"
			   "# TYPE plimsoll_serve_answers_total counter\n");
	for (size_t i = 1; i < ARRAY_SIZE(n->answers); i++)
		strbuf_addf(out, "plimsoll_serve_answers_total{status=\"%zuxx\"} %llu\n", i,
			    (unsigned long long)__atomic_load_n(&n->answers[i], __ATOMIC_RELAXED));
}

void web_metrics(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	struct web_server *w = q->server;
	struct strbuf *out = &a->body;

	a->type = "text/plain; version=0.0.4; charset=utf-8";
	a->not_kept = true;
	add_answers(out, &w->counters);
	strbuf_addf(out,
		    "# HELP plimsoll_serve_answer_seconds_total time from request to answer\n"
		    "# TYPE plimsoll_serve_answer_seconds_total counter\n"
		    "plimsoll_serve_answer_seconds_total %.6f\n",
		    (double)__atomic_load_n(&w->counters.requests_ns, __ATOMIC_RELAXED) * 1e-9);
	add(out, "refused_total", "counter", "requests without a session",
	    __atomic_load_n(&w->counters.refused, __ATOMIC_RELAXED));
	pthread_mutex_lock(&w->cache.lock);
	unsigned long long hits = w->cache.hits, misses = w->cache.misses, kept = w->cache.bytes;
	pthread_mutex_unlock(&w->cache.lock);
	add(out, "cache_hits_total", "counter", "answers from the cache", hits);
	add(out, "cache_misses_total", "counter", "answers that were not in the cache", misses);
	add(out, "cache_bytes", "gauge", "size of the cache", kept);
	add(out, "connections", "gauge", "open connections", w->functions->connections(w->http));
	add(out, "resident_bytes", "gauge", "memory of the server", resident_bytes());
}
