/*
 * Drops pages of code; see mem_trim.h. Loading a library touches most of its pages, and a daemon
 * needs few of them. Only read-only segments are dropped: the others hold relocated data.
 */
#include "core/system/mem_trim.h"

#include <time.h>
#include <stdlib.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int let_go(struct dl_phdr_info *info, size_t size, void *user)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	(void)user;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = (info->dlpi_addr + p->p_vaddr) & ~(page - 1);
		uintptr_t end = info->dlpi_addr + p->p_vaddr + p->p_filesz;

		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && end > begin)
			(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
	}
	return 0;
}

void mem_trim(void)
{
	malloc_trim(0);
	(void)dl_iterate_phdr(let_go, NULL);
}

uint64_t mem_cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000;
}

int64_t mem_rss(int statm)
{
	char buf[128];
	ssize_t n = pread(statm, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return -1;
	buf[n] = 0;
	char *end;
	long long total = strtoll(buf, &end, 10), pages = strtoll(end, NULL, 10);
	return total > 0 ? pages * sysconf(_SC_PAGESIZE) : -1;
}
