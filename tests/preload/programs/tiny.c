/* A library that is loaded and unloaded two hundred times under as many names. */
static int loads;

__attribute__((constructor)) static void load(void)
{
	loads++;
}

int tiny(void)
{
	return loads;
}
