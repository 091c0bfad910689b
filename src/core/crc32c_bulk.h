/* CRC-32C of much: the same sum as crc32c.h has, by the CPU's instruction where there is one. */
#ifndef PL_CORE_CRC32C_BULK_H
#define PL_CORE_CRC32C_BULK_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum; begin with crc 0. */
uint32_t crc32c_bulk(uint32_t crc, const void *data, size_t size);

#endif
