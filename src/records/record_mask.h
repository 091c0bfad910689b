/* A record file for others than its owner: what is secret in arguments becomes "***". */
#ifndef PL_RECORDS_RECORD_MASK_H
#define PL_RECORDS_RECORD_MASK_H

#include "core/strbuf.h"

/*
 * Copies a record file to another descriptor. Arguments are masked as they are when they are read
 * (core/text/secrets.h); frames keep their order and all other bytes. Damage may hold anything: it
 * is copied as zeros, so that a reader finds as much of it. Both descriptors stay open. Negative
 * errno with the sentence in *why.
 */
int record_file_mask(int from, int to, struct strbuf *why);

#endif
