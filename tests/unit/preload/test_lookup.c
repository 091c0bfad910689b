/*
 * How the preload library finds the functions behind its own: the same ones as dlsym(RTLD_NEXT),
 * for every function that libc exports, and in an object of an older kind.
 */
#include "unit.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <threads.h>

#include "preload/guest.h"

/* The real name and address of each function that libc says it exports. */
static const char *const exported[] = {
#define F(type, name, arguments) #name,
	NEXT_FUNCTIONS
#undef F
};

/* One search alone: objects come and go. */
static void *find(const char *name, const struct link_map **ret_in)
{
	struct lookup l = {.self = lookup_self()};

	*ret_in = NULL;
	return lookup_after(&l, name, ret_in);
}

static void same_as_dlsym(void **state)
{
	struct lookup l = {.self = lookup_self()};
	const struct link_map *in = NULL;

	(void)state;
	assert_non_null(l.self);
	for (size_t i = 0; i < ARRAY_SIZE(exported); i++) {
		void *expected = dlsym(RTLD_NEXT, exported[i]);
		in = NULL;
		void *found = lookup_after(&l, exported[i], &in);

		assert_non_null(expected);
		if (found != expected)
			fail_msg("%s is %p, found %p in %s", exported[i], expected, found,
				 found ? in->l_name : "nothing");
	}
}

static void what_is_not_there(void **state)
{
	const struct link_map *in = NULL;

	(void)state;
	assert_null(find("no_such_function", &in));
	assert_null(find("", &in));
	/* a variable */
	assert_null(find("environ", &in));
}

static const struct link_map *libc_map(void)
{
	const struct link_map *in = NULL;

	assert_non_null(find("gnu_get_libc_version", &in));
	return in;
}

/* Every name of libc's table, by the table of the hashes and by dlsym. */
static void every_function_of_libc(void **state)
{
	const ElfW(Sym) *table = NULL;
	const char *names = NULL;
	const struct link_map *libc = libc_map(), *in = NULL;
	size_t compared = 0;

	(void)state;
	for (const ElfW(Dyn) *d = libc->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SYMTAB)
			table = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			names = (const void *)d->d_un.d_ptr;
	/* the table of names follows the symbols */
	for (const ElfW(Sym) *s = table + 1; (const char *)s < names; s++) {
		const char *name = names + s->st_name;

		if ((s->st_info & 0xf) != STT_FUNC || s->st_shndx == SHN_UNDEF)
			continue;
		void *expected = dlsym(RTLD_NEXT, name);
		void *found = find(name, &in);
		Dl_info where;

		/* names that only old programs have, and those of which the loader chooses one */
		if (!found && (!expected || !dladdr(expected, &where) || !where.dli_sname))
			continue;
		if (found != expected)
			fail_msg("%s is %p, found %p in %s", name, expected, found,
				 found ? in->l_name : "nothing");
		compared++;
	}
	assert_true(compared > 1500);
}

static void the_older_hash_table_and_versions(void **state)
{
	const struct link_map *in = NULL;
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/libversions.so", getenv("PL_BUILD"));
	assert_null(find("lookup_plain", &in));
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(handle);
	int (*plain)(void) = (int (*)(void))find("lookup_plain", &in);
	int (*versioned)(void) = (int (*)(void))find("lookup_versioned", &in);
	assert_non_null(plain);
	assert_non_null(versioned);
	assert_string_equal(in->l_name, path);
	assert_int_equal(plain(), 3);
	assert_int_equal(versioned(), 2);
	assert_null(find("versioned_old", &in));
	dlclose(handle);
	assert_null(find("lookup_plain", &in));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_dlsym),
		cmocka_unit_test(what_is_not_there),
		cmocka_unit_test(every_function_of_libc),
		cmocka_unit_test(the_older_hash_table_and_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
