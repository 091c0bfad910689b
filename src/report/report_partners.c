/*
 * What threads waited for, and for whom: the texts that the source `waits` keeps of each process,
 * as figures of findings. See report_internal.h.
 */
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "core/value.h"
#include "report/report_internal.h"

static const char *const reason_names[WAIT_REASONS] = {"storage",   "network", "process", "lock",
						       "condition", "timer",   "child",   "device",
						       "poll",      "other",   ""};

/* "condition 7.1 futex end of thread 4711": who joins a thread does not take turns with it. */
static bool is_join(const char *text, size_t n)
{
	return memmem(text, n, "end of thread", strlen("end of thread")) != NULL;
}

#define TAKER 0.05     /* of the duration; less is no queue */
#define TAKERS_MAX 256 /* whose CPU time is added up */

/* A semaphore of several processes; and a pipe, from which the next one in a queue reads. */
struct shared {
	double semaphore, pipe; /* s */
};

static void take_shared(struct shared *s, const char *text, size_t n, double seconds)
{
	if (memmem(text, n, " semaphore ", strlen(" semaphore ")))
		s->semaphore += seconds;
	else if (memmem(text, n, " pipe", strlen(" pipe")))
		s->pipe += seconds;
}

/* "network 7.1 recv 10.0.0.5:5432" */
static void take_partner(struct report_partners *p, struct shared *shared, const char *text,
			 size_t n, const char *entity)
{
	size_t word = strcspn(text, " ");
	char *end;

	for (size_t i = 0; i < WAIT_REASONS; i++) {
		if (!*reason_names[i] || word >= n || strlen(reason_names[i]) != word ||
		    strncmp(text, reason_names[i], word) != 0)
			continue;
		double seconds = strtod(text + word, &end);
		size_t used = (size_t)(end - text);

		if (i == WAIT_CONDITION && seconds > p->same_futex && !is_join(text, n))
			p->same_futex = seconds;
		if (i == WAIT_PROCESS)
			take_shared(shared, text, n, seconds);
		if (!(seconds > p->seconds[i]) || used >= n)
			return;
		p->seconds[i] = seconds;
		strbuf_reset(&p->text[i]);
		strbuf_reset(&p->of[i]);
		text_add_printable(&p->text[i], text + used + 1,
				   n - used - 1 < 100 ? n - used - 1 : 100);
		text_add_printable(&p->of[i], entity, strcspn(entity, "."));
	}
}

/* CPU seconds of a process, as sampled. */
static double cpu_of(const struct report_loading *l, int64_t entity_no)
{
	double us = 0;

	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];

		if (s->entity_no == entity_no && (!strcmp(s->metric, "process.usertime") ||
						  !strcmp(s->metric, "process.systemtime")))
			us += s->increase > 0 ? s->increase : 0;
	}
	return us * 1e-6;
}

void report_take_partners(const struct report_loading *l, struct report_partners *p,
			  struct finding_figures *f)
{
	struct shared all = {0};
	double takers = 0, cpu = 0;

	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_value_ struct value *metadata = NULL;

		if (strcmp(s->metric, "waits.observed") != 0 || !s->metadata ||
		    strcmp(s->entity_kind, "process") != 0 ||
		    value_from_json(s->metadata, strlen(s->metadata), &metadata, &why) < 0)
			continue;
		const char *text = value_get_str(metadata, "waits");
		struct shared shared = {0};
		while (text && *text) {
			size_t n = strcspn(text, ";");

			take_partner(p, &shared, text, n, s->entity);
			text += n + (text[n] == ';');
			text += strspn(text, " ");
		}
		if (shared.semaphore > TAKER * f->duration) {
			takers++;
			cpu += takers <= TAKERS_MAX ? cpu_of(l, s->entity_no) : 0;
			all.semaphore += shared.semaphore;
			all.pipe += shared.pipe;
		}
	}
	f->same_futex = p->same_futex;
	f->takers = takers;
	f->semaphore = all.semaphore;
	f->taker_pipes = all.pipe;
	f->taker_cpu = cpu;
	for (size_t i = 0; i < WAIT_REASONS; i++)
		if (p->text[i].len) {
			f->partner[i] = p->text[i].buf;
			f->partner_of[i] = p->of[i].buf;
		}
}

void report_partners_release(struct report_partners *p)
{
	for (size_t i = 0; i < WAIT_REASONS; i++) {
		strbuf_release(&p->text[i]);
		strbuf_release(&p->of[i]);
	}
}
