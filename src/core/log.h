/*
 * Messages: one line on stderr, "<name>: <level>: <text>". Libraries return errors; commands, and
 * helpers of commands, print them, once.
 */
#pragma once

#include "core/util.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* The name in front of every line, and the level: LOG_WARN unless changed by -v or -q. */
void log_init(const char *name, enum log_level level);
enum log_level log_level(void);
/* Replaces words in messages of a personality. */
struct log_words {
	const char *ours, *theirs;
};
/* Uses the format of Python's logging, "WARNING:<logger>:text". words ends with NULL; the first
 * match is replaced. */
void log_use_python_form(const char *logger, const struct log_words *words);
/* Copies every line to this descriptor, which must stay open. */
void log_copy_to(int fd);

/* Writes a message in another format, with its place in the source. */
struct strbuf;
typedef void log_writer(enum log_level level, const char *file, const char *function, int number,
			const struct strbuf *text);
/* Sends all messages to w; only errors go to stderr, too. */
void log_use_writer(log_writer *w);

#define log_error(...) log_at(LOG_ERROR, LOG_HERE, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, LOG_HERE, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, LOG_HERE, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, LOG_HERE, __VA_ARGS__)

/* Used by the macros above. */
#ifdef __FILE_NAME__
#define LOG_HERE __FILE_NAME__, __func__, __LINE__
#else
#define LOG_HERE __FILE__, __func__, __LINE__
#endif
void log_at(enum log_level level, const char *file, const char *function, int line, const char *fmt,
	    ...) PL_PRINTF(5, 6);

/* True if the stream is a terminal that shows colours and NO_COLOR is not set. */
bool color_on(FILE *stream);
