/* triad SECONDS N MIB: N threads add two arrays of MIB MiB each into a third: the memory is the
 * limit, not the cores. */
#include "work.h"

static double end;
static size_t count;

static void *body(void *number)
{
	double *a = malloc(count * 8), *b = malloc(count * 8), *c = malloc(count * 8);

	if (!a || !b || !c)
		errx(1, "no memory");
	for (size_t i = 0; i < count; i++)
		b[i] = c[i] = (double)i;
	while (now() < end) {
		for (size_t i = 0; i < count; i++)
			a[i] = b[i] + 3.0 * c[i];
		work_result = a[count / 2];
	}
	free(a);
	free(b);
	free(c);
	return number;
}

int main(int argc, char **argv)
{
	(void)argc;
	end = now() + seconds_of(argv);
	int n = count_of(argv, 2);

	count = (size_t)count_of(argv, 3) << 17;
	start_threads(n, body);
	return 0;
}
