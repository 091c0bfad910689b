/* The images and threads of loaded books on their way into a store. */
#ifndef PL_STORE_INGEST_INGEST_ACCOUNTING_H
#define PL_STORE_INGEST_INGEST_ACCOUNTING_H

#include "records/accounting.h"
#include "store/ingest/job_parts.h"

/* What the store has of the job, in other parts. */
struct ingest_others {
	struct part_rows *rows; /* their processes, which come in between where they belong; NULL:
				   there are none */
	uint32_t files;         /* the last number that one of their files has */
};

/* Every image with its threads. Its rows know by number which of the files it is from. */
int ingest_accounting(struct ingest *in, struct accounting *b, struct ingest_others others);

#endif
