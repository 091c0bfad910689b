/* Words of names and ids of jobs; see job_words.h. */
#include "store/job_words.h"

#include <errno.h>
#include <string.h>

#include "core/text/text.h"

static bool in_word(unsigned char c)
{
	return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Adds n bytes, cut off between two characters. */
static void add_word(struct job_words *w, const char *s, size_t n)
{
	char *to = w->word[w->count];
	size_t length = 0;

	while (length < n) {
		size_t more = utf8_sequence(s + length, n - length);

		more = more ? more : 1;
		if (length + more > JOB_WORD_BYTES)
			break;
		length += more;
	}
	for (size_t i = 0; i < length; i++)
		to[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] - 'A' + 'a' : s[i]);
	to[length] = 0;
	for (size_t i = 0; i < w->count; i++)
		if (!strcmp(w->word[i], to))
			return;
	w->count++;
}

void job_words_add(struct job_words *w, const char *text)
{
	for (const char *p = text; p && *p && w->count < JOB_WORDS_MAX;) {
		const char *begin = p;

		while (*p && in_word((unsigned char)*p))
			p++;
		if (p > begin)
			add_word(w, begin, (size_t)(p - begin));
		else
			p++;
	}
}

int job_words_put(struct bulk *b, int64_t job, const char *jobid, const char *jobname,
		  int64_t start_us)
{
	struct job_words w;
	int r = 0;

	w.count = 0;
	job_words_add(&w, jobid);
	job_words_add(&w, jobname);
	for (size_t i = 0; i < w.count && r == 0; i++)
		r = bulk_put(b, db_int(job), db_str(w.word[i]), db_int(start_us));
	return r;
}

int job_words_write(struct store *s, int64_t job, const char *jobid, const char *jobname,
		    int64_t start_us)
{
	struct bulk *b = s->engine->bulk_open(s, "job_word", JOB_WORD_COLUMNS);

	return bulk_end(b, b ? job_words_put(b, job, jobid, jobname, start_us) : -EIO);
}
