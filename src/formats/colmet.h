/*
 * What colmet's nodes and collectors send: the Python version's records of fixed size, and both
 * dialects of the Rust version's MessagePack. Messages from outside become batches at the door
 * (batch.h), after every byte was checked; readings of our own become records on the way out.
 */
#ifndef PL_FORMATS_COLMET_H
#define PL_FORMATS_COLMET_H

#include <stdint.h>

#include "core/strbuf.h"
#include "formats/batch.h"

enum colmet_type { COLMET_U64, COLMET_I64, COLMET_U32, COLMET_F32, COLMET_TEXT };

struct colmet_field {
	const char *name;
	enum colmet_type type;
	unsigned size;    /* bytes in the record */
	const char *unit; /* as the text output has it */
};

/* A backend of the Python version, with its fields in the order of the wire. */
struct colmet_backend {
	const char *name; /* "taskstats_default" */
	bool per_job;     /* otherwise its job is 0, the node */
	const struct colmet_field *fields;
	size_t field_count, record_size; /* with the head of 526 bytes */
};
extern const struct colmet_backend
	colmet_backends[]; /* ends with a NULL name; order of a message */
const struct colmet_backend *colmet_backend(const char *name, size_t size);

#define COLMET_HEAD 526
#define COLMET_FIELDS_MAX 80
#define COLMET_JOBS_TEXT 8192

struct colmet_record {
	const struct colmet_backend *backend;
	char host[256];
	uint64_t job, time_s;
	union {
		int64_t i; /* U64, I64, U32 */
		float f;
	} values[COLMET_FIELDS_MAX];
	char involved[COLMET_JOBS_TEXT + 1]; /* text of the one TEXT field, where there is one */
};

/* One record behind *out, exactly as the Python version packs it. */
void colmet_pack(const struct colmet_record *r, struct strbuf *out);
/* The record at *p, which moves behind it. 1, 0 at the end, -EBADMSG with the reason. */
int colmet_unpack(const unsigned char **p, const unsigned char *end, struct colmet_record *ret,
		  struct strbuf *why);

enum colmet_dialect { COLMET_PYTHON = 1, COLMET_RUST, COLMET_RUST_OLD };

/* A message of any dialect becomes batches, one for each host in it: take() gets each. The number
 * of records, or -EBADMSG with place and reason and nothing taken. Sources are named as the wire
 * has them ("taskstats_default", "memory"), jobs are ENTITY_JOB by their id (0: ENTITY_NODE). */
int colmet_read(const void *p, size_t n, enum colmet_dialect *ret_dialect,
		void (*take)(void *user, struct batcher *b, const char *host), void *user,
		struct strbuf *why);

/* Records of a reading of ours, for --wire colmet and the HDF5 feed: our sources' values under
 * colmet's names, right where colmet was wrong; what it has no field for is left out. Those of the
 * same host, job, time and backend are gathered: records come with flush. */
struct colmet_mapper;
struct colmet_mapper *colmet_mapper_new(void);
void colmet_mapper_free(struct colmet_mapper *m);
void colmet_mapper_add(struct colmet_mapper *m, const char *host, const char *source,
		       const struct sample_set *set, int64_t time_us);
/* All records of what was added, in the order of colmet's messages. */
void colmet_mapper_flush(struct colmet_mapper *m,
			 void (*take)(void *user, const struct colmet_record *r), void *user);

/* The Rust version's message to its configuration port. Empty texts: not said. -EBADMSG. */
struct colmet_configuration {
	char metrics[1024];
	double period_s; /* 0: not said */
};
int colmet_read_configuration(const void *p, size_t n, struct colmet_configuration *ret,
			      struct strbuf *why);
void colmet_write_configuration(const struct colmet_configuration *c, struct strbuf *out);

#endif
