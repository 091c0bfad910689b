/* What the files of feed hdf5 share. */
#ifndef PL_SINKS_HDF5_SINK_HDF5_H
#define PL_SINKS_HDF5_SINK_HDF5_H

#include "core/quota.h"
#include "sinks/sink.h"
#include "tables/hdf5/hdf5_file.h"

#define TABLES_MAX 16

/* Where the columns of a table of fixed rows are. */
struct table_rows {
	const struct row_table *of; /* NULL: not used yet */
	struct hdf5_schema *schema;
	size_t host, job, name, time;
	size_t fields[ROW_FIELDS_MAX];
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
	const struct row_layout *layout; /* as in struct sink_options */
	struct table_rows tables[TABLES_MAX];
	struct source_rows *sources;
	struct quota names; /* of sources that are not just as ours */
};

void rows_begin(struct rows *r, const struct hdf5_functions *h, struct hdf5_writer *w,
		const struct row_layout *layout);
void rows_end(struct rows *r);
/* All readings of an entry. The mappers are those of all entries: they have what was before. */
int rows_add(struct rows *r, struct row_mappers *mappers, struct sample_file *f,
	     struct strbuf *why);

#endif
