/* See seriesoptions.h. */
#include "cmd/seriesoptions.h"

#include "core/clock.h"
#include "core/sample.h"

static bool add_metric_word(const char *command, struct series_filter *f, const char *value)
{
	if (f->metrics.count == FILTER_WORDS_MAX) {
		usage_error(command, "%s: at most %d times --metric", command, FILTER_WORDS_MAX);
		return false;
	}
	f->metrics.word[f->metrics.count++] = value;
	return true;
}

static bool set_kind(const char *command, struct series_filter *f, const char *value)
{
	if (!entity_kind_by_name(value)) {
		usage_error(command, "%s: there is no kind '%s' of entities", command, value);
		return false;
	}
	f->kind = value;
	return true;
}

static bool set_time(const char *command, const char *option, const char *value, bool *has,
		     int64_t *to)
{
	if (parse_time_us(value, clock_realtime_us(), to) < 0) {
		usage_error(command,
			    "%s: %s wants a time like 2026-11-15T04:05, -2h or now, not '%s'",
			    command, option, value);
		return false;
	}
	*has = true;
	return true;
}

bool series_filter_set(const char *command, struct series_filter *f, int id, const char *value)
{
	switch (id) {
	case OPTION_METRIC:
		return add_metric_word(command, f, value);
	case OPTION_HOST:
		f->host = value;
		return true;
	case OPTION_ENTITY:
		f->entity = value;
		return true;
	case OPTION_KIND:
		return set_kind(command, f, value);
	default:
		return true;
	}
}

bool series_option_set(const char *command, struct series_options *o, int id, const char *value)
{
	switch (id) {
	case OPTION_SINCE:
		return set_time(command, "--since", value, &o->has_since, &o->since_us);
	case OPTION_UNTIL:
		return set_time(command, "--until", value, &o->has_until, &o->until_us);
	default:
		return series_filter_set(command, &o->filter, id, value);
	}
}
