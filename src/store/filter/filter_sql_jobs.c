/* Conditions on jobs that need more than a column: words of the name, and how they ended. */
#include "store/filter/filter_sql.h"

#include <string.h>

#include "store/ingest/merge_streamed.h"
#include "store/job_words.h"

/* A word of an older store: anywhere in the name or the id. */
static void put_word_anywhere(struct filter_sql *c, const char *word)
{
	struct strbuf kept = STRBUF_INIT;

	strbuf_addstr(&kept, word);
	const char *text = filter_keep(c, &kept);
	filter_put(c,
		   c->engine->glob
			   ? "instr(lower(coalesce(@j.jobname, '') || ' ' || @j.jobid), ?) > 0"
			   : "strpos(lower(coalesce(@j.jobname, '') || ' ' || @j.jobid), ?) > 0",
		   db_str(text));
}

static void put_word(struct filter_sql *c, const char *word)
{
	struct strbuf from = STRBUF_INIT, to = STRBUF_INIT;

	if (c->f->without_words) {
		put_word_anywhere(c, word);
		return;
	}
	strbuf_addstr(&from, word);
	strbuf_addf(&to, "%s" JOB_WORD_LAST, word);
	const char *first = filter_keep(c, &from), *last = filter_keep(c, &to);
	filter_put(c,
		   "EXISTS (SELECT 1 FROM job_word w WHERE w.job = @j.no AND w.word >= ? AND "
		   "w.word < ?)",
		   db_str(first), db_str(last));
}

void filter_put_words(struct filter_sql *c, const struct filter_node *t)
{
	if (t->op == FILTER_KNOWN) {
		filter_put(c, "@j.jobid IS NOT NULL");
		return;
	}
	filter_put(c, t->op == FILTER_IS_NOT ? "NOT (" : "(");
	for (size_t i = 0; i < t->value_count; i++) {
		struct job_words w;

		w.count = 0;
		job_words_add(&w, t->values[i].text);
		for (size_t k = 0; k < w.count; k++) {
			filter_put(c, k ? " AND " : i ? " OR (" : "(");
			put_word(c, w.word[k]);
		}
		filter_put(c, ")");
	}
	filter_put(c, ")");
}

/* Only those that are streamed have neither a status nor an end. */
static void put_running(struct filter_sql *c)
{
	filter_put(c, "(@j.format = '" STORE_FED "' AND @j.ingested_us > ?)",
		   db_int(c->f->now_us - STORE_FED_QUIET_US));
}

static void put_one_status(struct filter_sql *c, enum filter_status status)
{
	if (status == STATUS_COMPLETED) {
		filter_put(c, "@j.exitcode = 0");
	} else if (status == STATUS_FAILED) {
		filter_put(c, "@j.exitcode <> 0");
	} else if (status == STATUS_RUNNING) {
		put_running(c);
	} else {
		filter_put(c, "(@j.exitcode IS NULL AND NOT ");
		put_running(c);
		filter_put(c, ")");
	}
}

static bool is_among(const struct filter_node *t, const char *word)
{
	for (size_t i = 0; i < t->value_count; i++)
		if (!strcmp(t->values[i].text, word))
			return true;
	return false;
}

void filter_put_status(struct filter_sql *c, const struct filter_node *t)
{
	bool not = t->op == FILTER_IS_NOT, any = false;

	if (t->op == FILTER_KNOWN) {
		filter_put(c, "(@j.exitcode IS NOT NULL OR ");
		put_running(c);
		filter_put(c, ")");
		return;
	}
	filter_put(c, not ? "((" : "(");
	for (int i = 0; i < STATUSES; i++) {
		if (!is_among(t, filter_statuses[i]))
			continue;
		filter_put(c, any ? " OR " : "");
		put_one_status(c, (enum filter_status)i);
		any = true;
	}
	/* without an exit status a comparison with it is unknown */
	filter_put(c, not ? ") IS NOT TRUE)" : ")");
}
