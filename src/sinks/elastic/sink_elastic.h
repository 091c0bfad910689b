/*
 * Shared by the files of sink elastic: buffered documents (sink_elastic.c), made from readings
 * (elastic_documents.c), and the templates of their indices (elastic_template.c).
 */
#pragma once

#include "core/quota.h"
#include "sinks/sink_http.h"

/* The indices of one source, <prefix><name>-YYYY.MM.DD, with the alias <prefix><name>. */
struct elastic_index {
	char *name;                    /* with the prefix, without the date */
	char *source;                  /* as the first node called it */
	struct quota names;            /* for fields of unknown metrics */
	const struct row_table *table; /* documents are its rows; NULL: a source of our own */
	struct elastic_field {
		char *name;
		bool real;
	} * fields;
	size_t field_count, field_cap;
	size_t told;       /* number of fields in the template on the server */
	bool has_template; /* the server has one */
	bool no_alias;     /* an index of others has that name */
	bool refused;      /* a document was refused, which was logged */
};

/* A buffered document: two lines of a bulk request. */
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
	uint64_t have;              /* last entry that was buffered */
	uint64_t committed;         /* last entry that the server has */
	uint64_t entry;             /* whose documents are being made */
	uint64_t refused, repeated; /* numbers of documents */
	struct sink_refusals refusals;
	struct quota names;             /* for indices of unknown sources */
	struct strbuf why;              /* why a document was not taken yet */
	const struct batch_name *batch; /* whose documents are being made */
	uint64_t reading;               /* its number in the batch */
	size_t row;                     /* number of a fixed row in its reading */
	bool mapping;                   /* rows come from mappers */
};

/* Adds documents of all readings of a batch. */
void elastic_add(struct elastic *e, const struct batch_name *name, struct sample_file *f);
/* Sends missing templates to the server. 0 or -EAGAIN. */
int elastic_put_templates(struct elastic *e, struct strbuf *why);
/* The request that creates one; also for tests. */
void elastic_template(const struct elastic_index *x, struct strbuf *path, struct strbuf *body);
