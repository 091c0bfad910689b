/* Shared by the files of the names `colmet-node` and `colmet-node-config`. */
#ifndef PL_COMPAT_COLMET_COLMET_NODE_H
#define PL_COMPAT_COLMET_COLMET_NODE_H

#include "cmd/command.h"
#include "compat/colmet/colmet_names.h"
#include "compat/compat_options.h"
#include "node/node.h"

enum {
	COLMET_HELP = 1,
	COLMET_VERSION,
	COLMET_VERBOSE,
	COLMET_PERIOD,
	COLMET_METRICS,
	COLMET_FILE_METRICS,
	COLMET_NO_PROCSTATS,
	COLMET_INFINIBAND,
	COLMET_OMNIPATH,
	COLMET_LUSTRE,
	COLMET_LUSTRE_PREFIX,
	COLMET_PERFHW,
	COLMET_PERFHW_LIST,
	COLMET_JOBPROC,
	COLMET_RAPL,
	COLMET_TEMPERATURE,
	COLMET_IPMIPOWER,
	COLMET_IPMIPOWER_CMD,
	COLMET_NVIDIA,
	COLMET_CGROUP,
	COLMET_PID,
	COLMET_TID,
	COLMET_CPUSET,
	COLMET_REGEX,
	COLMET_ROOT,
	COLMET_SUFFIX,
	COLMET_WAIT,
	COLMET_URI,
	COLMET_HWM,
	COLMET_LINGER,
	COLMET_CONFIG,
	COLMET_OPTIONS
};

#define COLMET_PIDS_MAX 256
#define COLMET_EVENTS_MAX 5

struct colmet_node {
	struct context *ctx;
	bool help, version, done;
	bool on[COLMET_OPTIONS]; /* flags */
	int verbosity;
	char *metrics;
	struct colmet_names names; /* the same in our terms */
	const char *prefix, *root, *suffix;
	const char *events[COLMET_EVENTS_MAX];
	size_t event_count;
	struct strbuf ipmi; /* the command, words with blanks between */
	int pids[COLMET_PIDS_MAX];
	size_t pid_count;
	struct node_options node;
};

extern const struct old_program colmet_node_program;
void colmet_node_init(struct colmet_node *c, struct context *ctx);
void colmet_node_release(struct colmet_node *c);
/* Takes one option; false with what is wrong said. */
bool colmet_node_set(struct colmet_node *c, int id, const char *value, bool on);
/* Runs the daemon; the exit status. */
int colmet_node_run(struct colmet_node *c);

/* ---- RAPL_mapping.<time>.csv and the like -------------------------------------------------------
 */

/* Writes the files of sources that are open into the current directory. */
void colmet_node_mappings(void *user, const struct active_sources *slots);

#endif
