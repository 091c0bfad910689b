/* What the Fortran module plimsoll_mark calls: texts of Fortran do not end in 0. */
#include <plimsoll/mark.h>

void plimsoll_fortran_begin(const char *name, size_t length);
void plimsoll_fortran_point(const char *name, size_t length);
void plimsoll_fortran_end(void);

static const char *cut(char to[PLIMSOLL_MARK_NAME_MAX + 1], const char *name, size_t length)
{
	size_t n = length < PLIMSOLL_MARK_NAME_MAX ? length : PLIMSOLL_MARK_NAME_MAX;

	memcpy(to, name, n);
	to[n] = 0;
	return to;
}

void plimsoll_fortran_begin(const char *name, size_t length)
{
	char text[PLIMSOLL_MARK_NAME_MAX + 1];

	if (!plimsoll_process_.off)
		plimsoll_begin(cut(text, name, length));
}

void plimsoll_fortran_point(const char *name, size_t length)
{
	char text[PLIMSOLL_MARK_NAME_MAX + 1];

	if (!plimsoll_process_.off)
		plimsoll_mark(cut(text, name, length));
}

void plimsoll_fortran_end(void)
{
	plimsoll_end();
}
