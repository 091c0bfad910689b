/* The stats files of Lustre clients. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line: "write_bytes 89467810 samples [bytes] 4096 1048576 93813797294080", with a sum of
 * squares behind it in some files. Lines of operations may end at the unit. */
struct lustre_stat {
	const char *name; /* into the text, not terminated */
	size_t name_size;
	uint64_t samples, sum;
	bool has_sum;
};

/* The next line of this form at or behind *p, which moves behind it; false at the end. */
bool lustre_next_stat(const char **p, const char *end, struct lustre_stat *ret);
