/* Shared by the files of sink hdf5. */
#pragma once

#include "core/quota.h"
#include "sinks/sink.h"
#include "tables/hdf5/hdf5_file.h"

#define TABLES_MAX 16

/* Offsets of the columns in a table of fixed rows. */
struct table_rows {
	const struct row_table *of; /* NULL: not used yet */
	struct hdf5_schema *schema;
	size_t host, job, name, time;
	size_t fields[ROW_FIELDS_MAX];
};

/* The table of one of our sources with its metrics. */
struct source_rows {
	struct source_rows *next;
	char *name;              /* of the table */
	struct strbuf signature; /* names and types of the metrics */
	struct hdf5_schema *schema;
	size_t host, entity;
	size_t fields[SAMPLE_METRICS_MAX];
	bool real[SAMPLE_METRICS_MAX];
};

/* Tables of the open file. */
struct rows {
	const struct hdf5_functions *h;
	struct hdf5_writer *w;
	const struct row_layout *layout; /* as in struct sink_options */
	struct table_rows tables[TABLES_MAX];
	struct source_rows *sources;
	struct quota names; /* for sources that differ from ours */
};

void rows_begin(struct rows *r, const struct hdf5_functions *h, struct hdf5_writer *w,
		const struct row_layout *layout);
void rows_end(struct rows *r);
/* Adds all readings of an entry. The mappers keep state between entries. */
int rows_add(struct rows *r, struct row_mappers *mappers, struct sample_file *f,
	     struct strbuf *why);
