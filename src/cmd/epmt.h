/* Shared by the files of the name `epmt`. */
#ifndef PL_CMD_EPMT_H
#define PL_CMD_EPMT_H

#include "cmd/actions.h"

/* What was on the command line. */
struct epmt {
	const char *command;
	bool help, version, automatic, dry, error, slurm, replace, no_collate, no_archive;
	bool remove, move_away, drop, force, vacuum;
	uint64_t workers;
	const char *key;
	char **words;
	int word_count;
};

/* The store that settings.py and EPMT_DB_* name. */
void epmt_choose_store(struct context *ctx, const struct value *literals);
/* EPMT's default store is lost with the process: the user's own is used, and this says so once. */
void epmt_say_store(const struct context *ctx);

int epmt_submit(struct context *ctx, const struct epmt *e);
int epmt_dump(struct context *ctx, const struct epmt *e);
int epmt_list(struct context *ctx, const struct epmt *e);
int epmt_delete(struct context *ctx, const struct epmt *e);
int epmt_retire(struct context *ctx, const struct epmt *e);
int epmt_dbcare(struct context *ctx, const struct epmt *e);
int epmt_drop(struct context *ctx, const struct epmt *e);
int epmt_dbsize(struct context *ctx, const struct epmt *e);
int epmt_schema(struct context *ctx, const struct epmt *e);
int epmt_migrate(struct context *ctx, const struct epmt *e);
int epmt_convert(struct context *ctx, const struct epmt *e);
int epmt_daemon(struct context *ctx, const struct epmt *e);
#endif
