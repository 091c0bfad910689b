/* See near.h. */
#include "core/near.h"

#include <ctype.h>
#include <string.h>

unsigned word_distance(const char *a, const char *b)
{
	size_t n = strnlen(a, NEAR_BYTES_MAX), m = strnlen(b, NEAR_BYTES_MAX);
	unsigned row[NEAR_BYTES_MAX + 1];

	for (unsigned k = 0; k <= m; k++)
		row[k] = k;
	for (size_t i = 1; i <= n; i++) {
		unsigned before = row[0];

		row[0] = (unsigned)i;
		for (size_t k = 1; k <= m; k++) {
			unsigned change = before + (tolower((unsigned char)a[i - 1]) !=
						    tolower((unsigned char)b[k - 1]));
			before = row[k];
			unsigned drop = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;
			row[k] = change < drop ? change : drop;
		}
	}
	return row[m];
}
