/* Storing the images and threads of loaded accounting. */
#pragma once

#include "records/accounting.h"
#include "store/ingest/job_parts.h"

/* Other parts of the job in the store. */
struct ingest_others {
	struct part_rows *rows; /* their processes, which are merged in order; NULL: none */
	uint32_t files;         /* the last number of their files */
};

/* Stores every image with its threads and the number of its file. */
int ingest_accounting(struct ingest *in, struct accounting *b, struct ingest_others others);
