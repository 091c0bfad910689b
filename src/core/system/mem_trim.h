/* Returns memory that only the start of a program needed. */
#pragma once

#include <stdint.h>

/* Returns free heap memory, and drops the pages of code and constants of all libraries: pages in
 * use come back from the page cache, with a page fault of some microseconds. */
void mem_trim(void);

/* CPU time of this process, us. */
uint64_t mem_cpu_us(void);
/* Its resident memory in bytes, by a descriptor of its statm; -1: unknown. */
int64_t mem_rss(int statm);
