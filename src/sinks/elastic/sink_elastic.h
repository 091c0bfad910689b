/*
 * What the files of feed elastic share: documents that wait for the server (sink_elastic.c), made
 * from readings (elastic_documents.c), and the templates of their indices
 * (elastic_template.c).
 */
#ifndef PL_SINKS_ELASTIC_SINK_ELASTIC_H
#define PL_SINKS_ELASTIC_SINK_ELASTIC_H

#include "core/quota.h"
#include "sinks/sink_http.h"

/* The indices of one source, <prefix><name>-YYYY.MM.DD, which <prefix><name> stands for. */
struct elastic_index {
	char *name;                    /* with the prefix, without the date */
	char *source;                  /* as its first node called it */
	struct quota names;            /* of fields that are not of our own metrics */
	const struct row_table *table; /* documents are its rows; NULL: of our own sources */
	struct elastic_field {
		char *name;
		bool real;
	} * fields;
	size_t field_count, field_cap;
	size_t told;       /* fields of which the template tells */
	bool has_template; /* the server has one */
	bool no_alias;     /* an index that others made has the name */
	bool refused;      /* a document was refused for good, and it was said */
};

/* A document that waits: two lines of a bulk request. */
struct elastic_item {
	size_t at, size;
	uint32_t index;
	uint64_t entry; /* of the log */
};

struct elastic {
	struct sink_server server;
	char *prefix;
	const struct row_layout *layout; /* as in struct sink_options */
	struct row_mappers *mappers;
	struct elastic_index *indices;
	size_t index_count, index_cap;
	struct strbuf held; /* documents */
	struct elastic_item *items;
	size_t item_count, item_cap;
	size_t body_max;            /* of one request */
	uint64_t have;              /* last entry whose documents are held, or with the server */
	uint64_t committed;         /* last entry that is with the server */
	uint64_t entry;             /* whose documents are made */
	uint64_t refused, repeated; /* documents in all */
	struct sink_refusals refusals;
	struct quota names;             /* of indices that are not of our own sources */
	struct strbuf why;              /* why one was not taken for the time being */
	const struct batch_name *batch; /* the one whose documents are made */
	uint64_t reading;               /* its number in the batch */
	size_t row;                     /* of the fixed rows of a reading */
	bool mapping;                   /* rows are the mappers' */
};

/* Documents of all readings of a batch. */
void elastic_add(struct elastic *e, const struct batch_name *name, struct sample_file *f);
/* The server gets the templates that it has not. 0 or -EAGAIN. */
int elastic_put_templates(struct elastic *e, struct strbuf *why);
/* The request that makes one; for tests, too. */
void elastic_template(const struct elastic_index *x, struct strbuf *path, struct strbuf *body);

#endif
