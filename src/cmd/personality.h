/* The older tools' names for this program: each translates its options and runs our actions. */
#ifndef PL_CMD_PERSONALITY_H
#define PL_CMD_PERSONALITY_H

#include "cmd/command.h"

int run_epmt(struct context *ctx, int argc, char **argv);
int run_perfmon(struct context *ctx, int argc, char **argv);
int run_colmet_node(struct context *ctx, int argc, char **argv);
int run_colmet_node_config(struct context *ctx, int argc, char **argv);
int run_colmet_collector(struct context *ctx, int argc, char **argv);
/* Tools of PAPI and libpfm4 that list and try events. */
bool is_event_tool(const char *name);
int run_event_tool(struct context *ctx, int argc, char **argv);

#endif
