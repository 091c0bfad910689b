/*
 * Names of countable events and whether the kernel can count them: kernel names, PAPI presets, raw
 * codes, and all events of this CPU that libpfm4 knows (in the module "pfm").
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

struct event_code {
	uint32_t type;
	uint64_t config, config1, config2;
	const char *kind; /* "kernel", "preset", "raw" or "native" */
};

#define EVENTS_LIST_MAX 16

/* Case does not matter, and a dash equals an underscore. */
bool event_name_same(const char *a, const char *b);
/* -ENOENT with the reason in *why when the name is unknown. */
int event_resolve(const char *name, struct event_code *ret, struct strbuf *why);

/* The same for the events of a group file: the first of these PMUs of libpfm4 that knows the name.
 * They may be those of another machine where LIBPFM_ENCODE_INACTIVE is set. */
int event_resolve_for(const char *const *pmus, size_t count, const char *name,
		      struct event_code *ret, struct strbuf *why);
/* Does it happen in the kernel only? Counted in user mode it would always be 0. */
bool event_in_kernel(const struct event_code *code);

struct event_count {
	int error;      /* errno of opening or reading; 0 when counted */
	bool user_only; /* the kernel part was not permitted */
	uint64_t value; /* during a short test load */
};
/* Opens and counts once. */
void event_try(const struct event_code *code, struct event_count *ret);
/* Adds why an event cannot be counted, and how to enable it. */
void event_explain(const struct event_code *code, int error, struct strbuf *out);

/*
 * Resolves a list "NAME,NAME" for the preload library: every name with its code. Words that are
 * options are left out; so are names that cannot be resolved or opened, each with a line in
 * *problems.
 */
void events_resolve_list(const char *list, struct strbuf *out, struct strbuf *problems);

typedef void (*event_lister)(void *user, const char *name, const char *kind, const char *help,
			     const struct event_code *code);
/* Lists all known events, including those of libpfm4 if the module is installed. */
void events_list(event_lister lister, void *user, struct strbuf *why_not_native);

/* The functions of the module "pfm". */
struct pfm_functions {
	int (*resolve)(const char *name, struct event_code *ret, struct strbuf *why);
	void (*list)(event_lister lister, void *user);
	/* Adds the names of the PMUs of this machine, separated by commas. */
	void (*pmus)(struct strbuf *out);
};
