/* Memory that only the start of a program needed. */
#ifndef PL_CORE_SYSTEM_MEM_TRIM_H
#define PL_CORE_SYSTEM_MEM_TRIM_H

#include <stdint.h>

/* Gives back what is free on the heap, and lets go of the pages of code and constants of all
 * libraries: those in use come back from the page cache with a fault of some microseconds. */
void mem_trim(void);

/* CPU time of this process, us. */
uint64_t mem_cpu_us(void);
/* Its resident memory in bytes, by a descriptor of its statm; -1: not known. */
int64_t mem_rss(int statm);

#endif
