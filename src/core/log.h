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
/* What stands for words of ours in messages under another name of the program. */
struct log_words {
	const char *ours, *theirs;
};
/* The form that Python's logging has, "WARNING:<logger>:text", instead of ours, in other words: a
 * list that ends with NULL, the first that fits is taken. */
void log_use_python_form(const char *logger, const struct log_words *words);
/* Every line goes into this file, too; its descriptor is kept. */
void log_copy_to(int fd);

/* Writes messages in a form of its own, with the place in the source that they are from. */
struct strbuf;
typedef void log_writer(enum log_level level, const char *file, const char *function, int number,
			const struct strbuf *text);
/* All messages go to it, and errors alone to stderr, too. */
void log_use_writer(log_writer *w);

#define log_error(...) log_at(LOG_ERROR, LOG_HERE, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, LOG_HERE, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, LOG_HERE, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, LOG_HERE, __VA_ARGS__)

/* What the four above call, with the place that they stand at. */
#ifdef __FILE_NAME__
#define LOG_HERE __FILE_NAME__, __func__, __LINE__
#else
#define LOG_HERE __FILE__, __func__, __LINE__
#endif
void log_at(enum log_level level, const char *file, const char *function, int line, const char *fmt,
	    ...) PL_PRINTF(5, 6);

/* Terminal colours, only where stderr or stdout is a terminal and NO_COLOR is not set. */
bool color_on(FILE *stream);

#endif
