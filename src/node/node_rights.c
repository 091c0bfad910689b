/*
 * The capabilities of the node daemon: it opens first what needs more than its sources, then drops
 * all capabilities that they do not need.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/system/privileges.h"
#include "node/node_internal.h"
#include "sources/exits/exits_bpf.h"
#include "sources/source.h"

bool node_names_source(const struct node_settings *s, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < s->source_count; i++)
		if (!strncmp(s->sources[i].name, name, n) &&
		    (!s->sources[i].name[n] || s->sources[i].name[n] == '='))
			return true;
	return false;
}

bool node_samples(const struct node_settings *s, const char *name)
{
	const struct source *source = source_find(name);

	if (s->source_count)
		return node_names_source(s, name);
	return source && !source->on_request && !source->needs_job;
}

/* Is a source sampled with this "NAME=OPTION" now? Anything may follow. */
static bool is_in_force(const struct node_settings *s, const char *word)
{
	for (size_t i = 0; i < s->source_count; i++) {
		size_t n = strlen(s->sources[i].name);

		if (!strncmp(word, s->sources[i].name, n) && strchr(" \t@'\"", word[n]))
			return true;
	}
	return false;
}

int node_check_sources(const struct node_settings *s, const char *words, struct strbuf *why)
{
	for (const char *p = words; (p = strchr(p, '=')); p++) {
		const char *begin = p;

		while (begin > words && !strchr(" \t'\"", begin[-1]))
			begin--;
		_cleanup_free_ char *name = xstrndup(begin, (size_t)(p - begin));
		const struct source *source = source_find(name);
		if (!source || !source->runs_option || is_in_force(s, begin))
			continue;
		return strbuf_fail(
			why, -EPERM,
			"'%s' would run another program or library, which a request may not "
			"choose: put '%s=...' into the configuration file of the daemon",
			name, name);
	}
	return 0;
}

/* The capabilities that the sources need. */
static uint64_t wanted_privileges(const struct node_settings *s)
{
	static const struct {
		const char *source;
		uint64_t set;
	} needs[] = {
		{"job_tasks", PRIVILEGE_NET_ADMIN},
		{"delays", PRIVILEGE_NET_ADMIN},
		{"jobproc", PRIVILEGE_SYS_PTRACE | PRIVILEGE_DAC_READ_SEARCH},
		{"job_counters", PRIVILEGE_PERFMON},
		{"counters", PRIVILEGE_PERFMON},
		{"ipmi", PRIVILEGE_SYS_RAWIO},
	};
	static const uint64_t of_processes = PRIVILEGE_SYS_PTRACE | PRIVILEGE_DAC_READ_SEARCH;
	uint64_t set = 0;

	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (node_names_source(s, needs[i].source) ||
		    (node_samples(s, needs[i].source) && !strcmp(needs[i].source, "job_tasks")))
			set |= needs[i].set;
	if (s->per_process || node_names_source(s, "process") ||
	    node_names_source(s, "process_memory"))
		set |= of_processes;
	/* files that only root may read: as root we own them */
	if (geteuid() && (node_names_source(s, "rapl") || node_samples(s, "job_energy")))
		set |= PRIVILEGE_DAC_READ_SEARCH;
	return set;
}

/* Loading needs capabilities, what is loaded does not. */
static void open_bpf(struct node *n)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (!n->settings.bpf || *n->o->root || !node_samples(&n->settings, "job_tasks"))
		return;
	if (exits_bpf_open(&n->bpf, &why) < 0)
		log_info("exit records are matched by forks and cgroups, not by BPF: %s", why.buf);
}

int node_drop_rights(struct node *n)
{
	_cleanup_strbuf_ struct strbuf kept = STRBUF_INIT;

	open_bpf(n);
	int r = privileges_keep(wanted_privileges(&n->settings));

	if (r < 0) {
		log_error("cannot drop capabilities: %s", strerror(-r));
		return r;
	}
	privileges_text(privileges_held(), &kept);
	log_info("capabilities: %s", kept.buf);
	return 0;
}
