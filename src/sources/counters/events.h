/*
 * Names of countable events and what the kernel says to each: kernel names, PAPI presets, raw
 * codes, and everything that libpfm4 knows of this CPU (in the module "pfm").
 */
#ifndef PL_SOURCES_COUNTERS_EVENTS_H
#define PL_SOURCES_COUNTERS_EVENTS_H

#include <stdint.h>

#include "core/strbuf.h"

struct event_code {
	uint32_t type;
	uint64_t config, config1, config2;
	const char *kind; /* "kernel", "preset", "raw" or "native" */
};

#define EVENTS_LIST_MAX 16

/* Case does not count, and a dash is an underscore. */
bool event_name_same(const char *a, const char *b);
/* -ENOENT with the reason in *why when nobody knows the name. */
int event_resolve(const char *name, struct event_code *ret, struct strbuf *why);

/* The same for the events of a group file: names of libpfm4 are those of these PMUs, the first that
 * knows it; they need not be this machine's where LIBPFM_ENCODE_INACTIVE is set. */
int event_resolve_for(const char *const *pmus, size_t count, const char *name,
		      struct event_code *ret, struct strbuf *why);
/* Happens in the kernel only: counted for user mode it would always be 0. */
bool event_in_kernel(const struct event_code *code);

struct event_count {
	int error;      /* errno of opening or reading; 0 when counted */
	bool user_only; /* the kernel part was not permitted */
	uint64_t value; /* over a short piece of work of ours */
};
/* Opens and counts once. */
void event_try(const struct event_code *code, struct event_count *ret);
/* Why an event cannot be counted, with the remedy, for a person. */
void event_explain(const struct event_code *code, int error, struct strbuf *out);

/*
 * A list as users give it, "NAME,NAME", for the preload library: every name with its code. Words
 * that are options and no events are left out; names that cannot be resolved or opened are left
 * out too, each with a line in *problems.
 */
void events_resolve_list(const char *list, struct strbuf *out, struct strbuf *problems);

typedef void (*event_lister)(void *user, const char *name, const char *kind, const char *help,
			     const struct event_code *code);
/* All that are known, those of libpfm4 included where the module is there. */
void events_list(event_lister lister, void *user, struct strbuf *why_not_native);

/* What the module "pfm" offers. */
struct pfm_functions {
	int (*resolve)(const char *name, struct event_code *ret, struct strbuf *why);
	void (*list)(event_lister lister, void *user);
	/* Names of the PMUs it sees here, comma separated. */
	void (*pmus)(struct strbuf *out);
};

#endif
