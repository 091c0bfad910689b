/* Writes the page of a made-up report: make_page KIND FILE; see tests/unit/support/report_page.h.
 */
#include "report_page.h"

int main(int argc, char **argv)
{
	struct report_maker m;

	if (argc != 3)
		return 2;
	FILE *f = fopen(argv[2], "w");
	if (!f)
		return 1;
	maker_make(&m, argv[1]);
	int r = report_html(&m.r, f);
	report_release(&m.r);
	return fclose(f) != 0 || r < 0;
}
