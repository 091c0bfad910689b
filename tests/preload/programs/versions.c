/* An object with the older kind of hash table and two versions of one name; see test_lookup.c. */
int versioned_old(void);
int versioned_new(void);
int lookup_plain(void);

int versioned_old(void)
{
	return 1;
}

int versioned_new(void)
{
	return 2;
}

int lookup_plain(void)
{
	return 3;
}

__asm__(".symver versioned_old, lookup_versioned@V_1");
__asm__(".symver versioned_new, lookup_versioned@@V_2");
