/* What the files of feed hdf5 share. */
#ifndef PL_SINKS_HDF5_SINK_HDF5_H
#define PL_SINKS_HDF5_SINK_HDF5_H

#include "compat/colmet/colmet.h"
#include "core/quota.h"
#include "sinks/sink.h"
#include "tables/hdf5/hdf5_file.h"

#define BACKENDS_MAX 16

/* Where the columns of a backend's rows are. */
struct backend_rows {
	struct hdf5_schema *schema; /* NULL: not used yet */
	size_t host, job, name, time;
	size_t fields[COLMET_FIELDS_MAX];
};

/* The table of a source of ours, with the metrics that it had. */
struct source_rows {
	struct source_rows *next;
	char *name;              /* of the table */
	struct strbuf signature; /* names and types of the metrics */
	struct hdf5_schema *schema;
	size_t host, entity;
	size_t fields[SAMPLE_METRICS_MAX];
	bool real[SAMPLE_METRICS_MAX];
};

/* Rows on their way to the writer, with what is known of their columns; ends with the writer. */
struct rows {
	const struct hdf5_functions *h;
	struct hdf5_writer *w;
	bool colmet; /* sources that have a table of colmet's get none of their own */
	struct backend_rows backends[BACKENDS_MAX];
	struct source_rows *sources;
	struct quota names; /* of sources that are not just as ours */
};

void rows_begin(struct rows *r, const struct hdf5_functions *h, struct hdf5_writer *w, bool colmet);
void rows_end(struct rows *r);
/* All readings of an entry. The mapper is that of all entries: it has what was before. */
int rows_add(struct rows *r, struct colmet_mapper *mapper, struct sample_file *f,
	     struct strbuf *why);

#endif
