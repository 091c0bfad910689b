/* CRC-32C as in crc32c.h, by the CPU's instruction if available: for large data. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum; begin with crc 0. */
uint32_t crc32c_bulk(uint32_t crc, const void *data, size_t size);
