/* See crc32c_bulk.h. The instruction handles eight bytes in the time of one table lookup. */
#include "core/crc32c_bulk.h"

#include <string.h>

#include "core/crc32c.h"

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const void *data,
								 size_t size)
{
	const unsigned char *p = data;
	uint64_t c = ~crc;

	for (; size >= 8; size -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, sizeof(word));
		c = __builtin_ia32_crc32di(c, word);
	}
	uint32_t rest = (uint32_t)c;
	while (size--)
		rest = __builtin_ia32_crc32qi(rest, *p++);
	return ~rest;
}

uint32_t crc32c_bulk(uint32_t crc, const void *data, size_t size)
{
	return __builtin_cpu_supports("sse4.2") ? by_instruction(crc, data, size)
						: crc32c(crc, data, size);
}
#else
uint32_t crc32c_bulk(uint32_t crc, const void *data, size_t size)
{
	return crc32c(crc, data, size);
}
#endif
