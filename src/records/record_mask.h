/* Copies of record files for other users, with secrets masked. */
#pragma once

#include "core/strbuf.h"

/*
 * Copies a record file to another descriptor. Masks secrets in arguments and tags
 * (core/text/secrets.h); all other bytes of frames stay. Damaged bytes, which may hold anything,
 * become zeros. Leaves both descriptors open. 0, or a negative errno with the reason in *why.
 */
int record_file_mask(int from, int to, struct strbuf *why);
