/* See quota.h. Only hosts with a share are stored, so their number is bounded. */
#include "core/quota.h"

#include <string.h>

#include "core/log.h"

static size_t place_of(const struct quota *s, const char *host)
{
	size_t from = 0, to = s->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (strcmp(s->list[middle].host, host) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static struct quota_share *share_of(struct quota *s, const char *host, bool make)
{
	size_t at = place_of(s, host);

	if (at < s->count && !strcmp(s->list[at].host, host))
		return &s->list[at];
	if (!make)
		return NULL;
	GROW(s->list, s->count, s->cap);
	memmove(s->list + at + 1, s->list + at, (s->count++ - at) * sizeof(*s->list));
	s->list[at] = (struct quota_share){.host = xstrdup(host)};
	return &s->list[at];
}

bool quota_take(struct quota *s, const char *host)
{
	bool left = s->used < s->max;
	struct quota_share *share = share_of(s, host, left);

	if (left && share->used < s->each) {
		share->used++;
		s->used++;
		return true;
	}
	s->refused++;
	if (share && share->used >= s->each && !share->said) {
		log_warn("%s: %s has used its share of %zu; ignoring more", s->what, host, s->each);
		share->said = true;
	} else if (!left && !s->said) {
		log_warn("%s: all %zu are in use; ignoring new ones from %s and others", s->what,
			 s->max, host);
		s->said = true;
	}
	return false;
}

void quota_release(struct quota *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].host);
	free(s->list);
	s->list = NULL;
	s->count = s->cap = s->used = 0;
}
