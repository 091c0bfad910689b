/* Times as text, fast enough for every row of a large job. */
#pragma once

#include "core/strbuf.h"

/* Has a time (us since 1970) a year of four digits? Others are damaged or unknown; the functions
 * below add nothing for them. */
bool text_time_valid(int64_t us);
/* "2026-11-15T04:05:06.123456+01:00" in local time, or with Z in UTC. */
void text_add_time(struct strbuf *out, int64_t us, bool utc);
/* "2026-11-15 04:05:06" in local time. */
void text_add_local_time(struct strbuf *out, int64_t us);
/* "2026-11-15" of a day since 1970. */
void text_put_date(char to[10], int64_t day);
