/*
 * How a job is stored on disk: the place of its directory, and name, format and keys of its
 * metadata. One layout is ours; the others are those of tools whose users have scripts that expect
 * them. job_layouts.def lists them, metadata_formats.def the formats.
 */
#pragma once

#include "core/config.h"
#include "core/value.h"

struct job_description;
struct job_directory;

/* An archive that `stage` packs a job into, as a layout sees it. */
struct job_archive {
	const struct job_directory *job;
	const struct config *config;
	bool apart;  /* files of single processes are not merged */
	bool strict; /* fail if a file cannot be read */
	/* Adds a file of the job directory to the archive, or a new file with this text. */
	int (*add_file)(struct job_archive *a, const char *name);
	int (*add_text)(struct job_archive *a, const char *name, const struct strbuf *text);
	void *user; /* of those two */
};

struct metadata_format {
	const char *name;
	/* By its first bytes, at least one, without leading blanks. */
	bool (*recognises)(const unsigned char *head, size_t n);
	int (*read)(const char *data, size_t n, struct value **ret, struct strbuf *why);
	void (*write)(const struct value *meta, struct strbuf *out);
};
/* Ends with NULL. What no format recognises is read by the last, which reports the error. */
extern const struct metadata_format *const metadata_formats[];
extern const struct metadata_format metadata_format_json;

/* What metadata contain, under keys of each layout. */
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
	KEY_ENVIRONMENT_END, /* at the end, or its changes */
	KEY_COUNT
};
#define KEY_NAMES_MAX 3

struct job_layout {
	const char *name;
	const struct metadata_format *format;
	const char *metadata;         /* file in the job's directory */
	const char *metadata_running; /* its name until the job is stopped; NULL: the same */
	const char *records; /* directory for our own files below the job's; NULL: itself */
	/* The first of each is written; the others are those of older versions. */
	const char *keys[KEY_COUNT][KEY_NAMES_MAX];

	const char *tags_variable; /* variable with job tags */
	const char
		*url_variable; /* variable with a database URL, maybe with a password; NULL: none */

	bool of_user;          /* <prefix>/<user>/<job id>, not <prefix>/<job id> */
	bool any_id;           /* reserved words are valid job ids */
	bool run_is_job;       /* `run` starts, stops and submits a job that was not started */
	bool fixed_keys;       /* no keys are added to the metadata */
	bool stop_tags;        /* its stop() handles the configured job tags */
	bool shell_named;      /* a job without a name is named after the shell */
	bool single_part;      /* hosts are not merged, and a gap makes two jobs of one */
	bool images_dropped;   /* only the last image of a process is recorded */
	bool exitcode_of_root; /* an exit code of 0 is unreliable: take that of the first process */
	bool batch_in_environment; /* only the environment has what the batch system says */

	/* Metadata of a job that starts. environment is taken. */
	struct value *(*start)(const struct config *c, const struct job_description *f,
			       struct value *environment);
	/* Completes them at the end. exitcode -1: not known. reason may be NULL. environment is
	 * taken. */
	void (*stop)(struct value *meta, const struct config *c, int64_t when_us, int exitcode,
		     const char *reason, struct value *environment);
	/* Fills an archive; NULL: it contains the whole directory. */
	int (*pack)(struct job_archive *a);
	/* Job tags, as a dict for the caller; NULL: they are in KEY_TAGS. */
	struct value *(*tags)(const struct value *meta);
	/* The time zone of times without one, by the environment; NULL: all times have one. */
	const char *(*zone)(const struct value *environment);
};
/* Ours is the first; ends with NULL. */
extern const struct job_layout *const job_layouts[];
extern const struct job_layout job_layout_native;

/* The layout whose metadata file has this name; NULL: none. */
const struct job_layout *job_layout_of_file(const char *name);
/* The layout of metadata; ours if unknown. */
const struct job_layout *metadata_layout(const struct value *meta);
/* The i-th key for something in all layouts, ours first; NULL: no more. */
const char *metadata_key(enum metadata_key key, size_t i);
/* The first that is a text; NULL: none. */
const char *metadata_text(const struct value *meta, enum metadata_key key);
/* The environment, if only it has what the batch system says; NULL otherwise. */
const struct value *metadata_batch_environment(const struct value *meta);
/* "job.json or another", for messages about missing metadata. */
char *metadata_names(void);
