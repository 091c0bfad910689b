/*
 * How the program speaks to people: one line on stderr, "<name>: <level>: <text>". Libraries return
 * errors; commands, and the few helpers that serve only commands, say them, exactly once.
 */
#ifndef PL_CORE_LOG_H
#define PL_CORE_LOG_H

#include "core/util.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* The name in front of every line, and how much is said: LOG_WARN unless -v or -q moved it. */
void log_init(const char *name, enum log_level level);
enum log_level log_level(void);
/* EPMT's form of a line, "WARNING:epmt_cmds:text" and the like, instead of ours. */
void log_use_epmt_form(void);

void log_error(const char *fmt, ...) PL_PRINTF(1, 2);
void log_warn(const char *fmt, ...) PL_PRINTF(1, 2);
void log_info(const char *fmt, ...) PL_PRINTF(1, 2);
void log_debug(const char *fmt, ...) PL_PRINTF(1, 2);

/* Terminal colours, only where stderr or stdout is a terminal and NO_COLOR is not set. */
bool color_on(FILE *stream);

#endif
