/*
 * Finds a function in the objects after us, like dlsym(RTLD_NEXT). Before glibc 2.34 dlsym() is in
 * libdl, which few programs load. This only reads the loader's data for debuggers: no lock, no
 * allocation, no writes.
 *
 * The list changes when a program loads or unloads an object. We read it at the start, and later
 * only for thread functions, which are missing only while there is no second thread.
 */
#include "preload/guest.h"

#include <elf.h>

/* Defined by the linker; its address identifies our object. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
extern struct r_debug _r_debug __attribute__((weak));

#define HIDDEN_VERSION 0x8000

/* The loader makes the addresses of most objects absolute, but not of all. */
static const void *address_in(const struct link_map *map, ElfW(Addr) at)
{
	return (const void *)(at < map->l_addr ? at + map->l_addr : at);
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* Objects without a hash table are ignored. */
static void read_symbols(const struct link_map *map, struct symbols *ret)
{
	*ret = (struct symbols){0};
	/* the kernel's vDSO, which no program is linked to */
	if (same(map->l_name, "linux-vdso.so.1"))
		return;
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		const void *at = address_in(map, d->d_un.d_ptr);

		if (d->d_tag == DT_SYMTAB)
			ret->table = at;
		else if (d->d_tag == DT_STRTAB)
			ret->names = at;
		else if (d->d_tag == DT_VERSYM)
			ret->versions = at;
		else if (d->d_tag == DT_GNU_HASH)
			ret->gnu_hash = at;
		else if (d->d_tag == DT_HASH)
			ret->hash = at;
	}
	if (!ret->table || !ret->names)
		ret->gnu_hash = ret->hash = NULL;
}

/* Is it a function of that name that the object defines, in the default version? */
static bool is_function(const struct symbols *s, uint32_t i, const char *name)
{
	const ElfW(Sym) *sym = &s->table[i];
	unsigned type = sym->st_info & 0xf;

	return sym->st_shndx != SHN_UNDEF && sym->st_value &&
	       (type == STT_FUNC || type == STT_NOTYPE) && sym->st_info >> 4 != STB_LOCAL &&
	       same(s->names + sym->st_name, name) &&
	       !(s->versions && s->versions[i] & HIDDEN_VERSION);
}

/* The index of the symbol; 0: none. */
static uint32_t find_by_gnu_hash(const struct symbols *s, const char *name)
{
	const uint32_t *head = s->gnu_hash;
	uint32_t count = head[0], first = head[1], words = head[2];
	const uint32_t *buckets = head + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + count;
	uint32_t hash = 5381;

	for (const char *p = name; *p; p++)
		hash = hash * 33 + (unsigned char)*p;
	uint32_t i = count ? buckets[hash % count] : 0;
	if (i < first || !i)
		return 0;
	for (;; i++) {
		uint32_t h = chain[i - first];

		if ((h | 1) == (hash | 1) && is_function(s, i, name))
			return i;
		if (h & 1)
			return 0;
	}
}

static uint32_t find_by_hash(const struct symbols *s, const char *name)
{
	uint32_t count = s->hash[0], hash = 0;
	const uint32_t *buckets = s->hash + 2, *chain = buckets + count;

	for (const char *p = name; *p; p++) {
		hash = (hash << 4) + (unsigned char)*p;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	for (uint32_t i = count ? buckets[hash % count] : 0; i; i = chain[i])
		if (is_function(s, i, name))
			return i;
	return 0;
}

static void *find_in(const struct link_map *map, const struct symbols *s, const char *name)
{
	uint32_t i = s->gnu_hash ? find_by_gnu_hash(s, name) : s->hash ? find_by_hash(s, name) : 0;

	return i ? (void *)(map->l_addr + s->table[i].st_value) : NULL;
}

const struct link_map *lookup_self(void)
{
	const struct link_map *map = &_r_debug ? _r_debug.r_map : NULL;

	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	return map;
}

void *lookup_after(struct lookup *l, const char *name, const struct link_map **ret_in)
{
	struct symbols other, *s;
	unsigned at = 0;

	for (const struct link_map *map = l->self->l_next; map; map = map->l_next, at++) {
		s = at < LOOKUP_OBJECTS ? &l->symbols[at] : &other;
		if (at >= l->read) {
			read_symbols(map, s);
			l->read += at < LOOKUP_OBJECTS;
		}
		void *function = *ret_in && *ret_in != map ? NULL : find_in(map, s, name);
		if (function) {
			*ret_in = map;
			return function;
		}
	}
	return NULL;
}
