/* See delivery_problems.h. */
#include "transport/delivery_problems.h"

#include <stdarg.h>
#include <stdio.h>

#define AGAIN_NS 60000000000ull

void delivery_problem_is(struct delivery_problems *t, enum delivery_problem kind, uint64_t now,
			 const char *fmt, ...)
{
	bool begins = !t->text[kind][0];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->text[kind], PROBLEM_TEXT, fmt, ap);
	va_end(ap);
	if (!begins || (t->reported_ns[kind] && now - t->reported_ns[kind] < AGAIN_NS))
		return;
	t->reported_ns[kind] = now;
	t->reported[kind] = true;
	if (t->say)
		t->say(t->user, false, t->text[kind]);
}

void delivery_problem_over(struct delivery_problems *t, enum delivery_problem kind)
{
	if (!t->text[kind][0])
		return;
	if (t->reported[kind] && t->say)
		t->say(t->user, true, t->text[kind]);
	t->reported[kind] = false;
	t->text[kind][0] = 0;
}
