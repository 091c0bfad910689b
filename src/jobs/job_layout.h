/*
 * How a job is kept on disk: where its directory lies, what its metadata are called, in which
 * format and with which keys. Ours is one of them; the others are of tools whose users' scripts
 * expect theirs. job_layouts.def lists them, metadata_formats.def the formats.
 */
#ifndef PL_JOBS_JOB_LAYOUT_H
#define PL_JOBS_JOB_LAYOUT_H

#include "core/config.h"
#include "core/value.h"

struct job_facts;
struct jobdir;

/* An archive that `stage` packs a job into, as a layout sees it. */
struct job_archive {
	const struct jobdir *job;
	const struct config *config;
	bool apart;  /* files of single processes are not put together */
	bool strict; /* a file that cannot be read ends it */
	/* A file of the job's directory, and a new one: 0 or a negative errno. */
	int (*add_file)(struct job_archive *a, const char *name);
	int (*add_text)(struct job_archive *a, const char *name, const struct strbuf *text);
	void *user; /* of those two */
};

struct metadata_format {
	const char *name;
	/* By its first bytes, at least one, without blanks in front. */
	bool (*recognises)(const unsigned char *head, size_t n);
	int (*read)(const char *data, size_t n, struct value **ret, struct strbuf *why);
	void (*write)(const struct value *meta, struct strbuf *out);
};
/* Ends with NULL. What none recognises is read by the last, which says what is wrong with it. */
extern const struct metadata_format *const metadata_formats[];
extern const struct metadata_format metadata_format_json;

/* What metadata tell, under keys that each layout has of its own. */
enum metadata_key {
	KEY_ID,
	KEY_NAME,
	KEY_USER,
	KEY_SUBMIT,
	KEY_START,
	KEY_STOP,
	KEY_EXITCODE,
	KEY_SCRIPT,
	KEY_TAGS,
	KEY_ENVIRONMENT,     /* at the start */
	KEY_ENVIRONMENT_END, /* at the end, and what had changed by then */
	KEY_COUNT
};
#define KEY_NAMES_MAX 3

struct job_layout {
	const char *name;
	const struct metadata_format *format;
	const char *metadata;         /* file in the job's directory */
	const char *metadata_running; /* its name until the job is stopped; NULL: the same */
	const char *records; /* directory for our own files below the job's; NULL: itself */
	/* The first of each is written; the rest are of older versions. */
	const char *keys[KEY_COUNT][KEY_NAMES_MAX];

	const char *tags_variable; /* that lists job tags */
	const char *url_variable;  /* of a database, maybe with a password; NULL: none */

	bool of_user;              /* <prefix>/<user>/<job id>, not <prefix>/<job id> */
	bool any_id;               /* also words that commands of ours understand */
	bool run_is_job;           /* what nobody started is begun, ended and submitted by `run` */
	bool fixed_keys;           /* metadata get no further keys */
	bool stop_tags;            /* its stop() takes the configured job tags itself */
	bool shell_named;          /* a job without a name has that of the shell */
	bool single_part;          /* hosts are not put together, and a gap makes two jobs of it */
	bool images_dropped;       /* only the last image of a process is recorded */
	bool exitcode_of_root;     /* an exit code of 0 says nothing: the first process knows */
	bool batch_in_environment; /* which alone has what the batch system said */

	/* Metadata of a job that starts. environment is taken. */
	struct value *(*start)(const struct config *c, const struct job_facts *f,
			       struct value *environment);
	/* Completes them at the end. exitcode -1: not known. reason may be NULL. environment is
	 * taken. */
	void (*stop)(struct value *meta, const struct config *c, int64_t when_us, int exitcode,
		     const char *reason, struct value *environment);
	/* Fills an archive; NULL: it gets the whole directory. */
	int (*pack)(struct job_archive *a);
	/* Job tags, a dict for the caller; NULL: KEY_TAGS has them. */
	struct value *(*tags)(const struct value *meta);
	/* The zone of times without one, by the job's environment; NULL: there are none. */
	const char *(*zone)(const struct value *environment);
};
/* Ours is the first; ends with NULL. */
extern const struct job_layout *const job_layouts[];
extern const struct job_layout job_layout_native;

/* The layout whose metadata file has this name; NULL: it is none. */
const struct job_layout *job_layout_of_file(const char *name);
/* The one that metadata are of; ours where nothing tells. */
const struct job_layout *metadata_layout(const struct value *meta);
/* The key number i for something, of all layouts, ours first; NULL: there are no more. */
const char *metadata_key(enum metadata_key key, size_t i);
/* The first that is a text; NULL: none. */
const char *metadata_text(const struct value *meta, enum metadata_key key);
/* The environment, where it alone has what the batch system said; NULL: it does not. */
const struct value *metadata_batch_environment(const struct value *meta);
/* "job.json or another", for messages about a place where there are none. */
char *metadata_names(void);

#endif
