/*
 * What colmet's nodes and collectors send: the Python version's records of fixed size, and both
 * dialects of the Rust version's MessagePack. Messages from outside become batches at the door
 * (batch.h), after every byte was checked; readings of our own become records on the way out.
 * docs/colmet.md says what differs from colmet, and why.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"
#include "samples/row_layout.h"
#include "transport/batch.h"

/* The backends of the Python version, with their fields in the order of the wire. */
extern const struct row_table colmet_backends[]; /* ends with a NULL name; order of a message */
const struct row_table *colmet_backend(const char *name, size_t size);
/* The metrics of procstats_default, for the source that has them all. */
#define COLMET_PROCSTATS 63
extern const struct sample_metric colmet_metrics_of_PROCSTATS[];

#define COLMET_HEAD 526
/* A value of a record that is not known is sent as -1 in I64, where it means just that, and as 0 in
 * the others. */

/* One record behind *out, exactly as the Python version packs it. */
void colmet_pack(const struct fixed_row *r, struct strbuf *out);
/* The record at *p, which moves behind it. 1, 0 at the end, -EBADMSG with the reason. */
int colmet_unpack(const unsigned char **p, const unsigned char *end, struct fixed_row *ret,
		  struct strbuf *why);

enum colmet_dialect { COLMET_PYTHON = 1, COLMET_RUST, COLMET_RUST_OLD };

/* A message of any dialect becomes batches, one for each host in it (several when it is large):
 * take() gets each, to be packed by batcher_take(); it is gone afterwards. The number of records,
 * or -EBADMSG with place and reason and nothing taken. Sources are named as the wire has them
 * ("taskstats_default", "memory"), jobs are ENTITY_JOB by their id (0: ENTITY_NODE, called "node");
 * the jobs of a node's record are the fact "involved_jobs". What colmet means by -1 is absent. */
int colmet_read(const void *p, size_t n, enum colmet_dialect *ret_dialect,
		void (*take)(void *user, struct batcher *b, const char *host), void *user,
		struct strbuf *why);

/* The way back: records of a reading whose source is one of the ten backends, as colmet_read() made
 * it. The number of records, 0 for any other source. */
size_t colmet_records_from_reading(const char *host, const char *source,
				   const struct sample_set *set, int64_t time_us,
				   void (*take)(void *user, const struct fixed_row *r), void *user);

/* Records of a reading of ours, for --wire colmet and the HDF5 sink: our sources' values under
 * colmet's names, right where colmet was wrong; what it has no field for is left out. Those of the
 * same host, job, time and backend are gathered: records come with flush. */
struct row_mapper *colmet_mapper_new(void);
void colmet_mapper_free(struct row_mapper *m);
/* Has colmet a backend for what this source of ours reads? */
bool colmet_mapper_takes(const char *source);
/* Has a record any field for what is left of a source's metrics, of which keeps() says which? */
bool colmet_mapper_leaves(const char *source, const struct sample_metric *list, size_t count,
			  bool (*keeps)(void *user, const char *name), void *user);
void colmet_mapper_add(struct row_mapper *m, const char *host, const char *source,
		       const struct sample_set *set, int64_t time_us);
/* All records of what was added, in the order of colmet's messages. */
void colmet_mapper_flush(struct row_mapper *m, void (*take)(void *user, const struct fixed_row *r),
			 void *user);

/* Messages of the Rust version, of what was asked for by its names (commas between). Names of its
 * memory and cpu, and whether the source jobs has a metric for it: false, it is none of them. */
bool colmet_rust_answer(const char *name, const char **ret_ours);
struct colmet_rust;
struct colmet_rust *colmet_rust_new(const char *names);
void colmet_rust_free(struct colmet_rust *r);
/* A reading of any source of ours, and a record that was made of such: what it has for a message
 * is taken. */
void colmet_rust_add(struct colmet_rust *r, const char *source, const struct sample_set *set,
		     int64_t time_us);
void colmet_rust_count(struct colmet_rust *r, const struct fixed_row *record);
/* The message of all that was added since the last one; its records, 0: there is nothing. */
size_t colmet_rust_pack(struct colmet_rust *r, const char *host, struct strbuf *out);

/* All of that for sinks. */
extern const struct row_layout row_layout_colmet;

/* A record as colmet's stdout shows it, ended by a newline; numbers are whole. */
void colmet_text(const struct fixed_row *r, struct strbuf *out);

/* What colmet's numbered counters are, for the sources that have such: rapl, thermal, job_counters.
 * The name of the file ("RAPL_mapping.<time>.csv") and its text; false for other sources. The set
 * is that of the source once it is open, or has been read. */
bool colmet_mapping(const char *source, const struct sample_set *set, int64_t time_us,
		    struct strbuf *ret_name, struct strbuf *out);
/* Writes that file into a directory; nothing for other sources. 0 or a negative errno. */
int colmet_mapping_write(const char *dir, const char *source, const struct sample_set *set,
			 int64_t time_us, struct strbuf *why);

/* The Rust version's message to its configuration port. Empty: not given. -EBADMSG. */
struct colmet_configuration {
	char metrics[1024];
	double period_s; /* 0: not given */
};
int colmet_read_configuration(const void *p, size_t n, struct colmet_configuration *ret,
			      struct strbuf *why);
void colmet_write_configuration(const struct colmet_configuration *c, struct strbuf *out);
