/* The floor: a library that does nothing, to know what the loader takes for mapping any. */
int plimsoll_floor(void);
int plimsoll_floor(void)
{
	return 0;
}
