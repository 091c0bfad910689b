/* A stacked time line of shares, and a table below it that is its legend. */
#include "plot/draw_internal.h"

#define PICTURE 110.0
#define BELOW 8.0 /* the picture */
#define ROW 14.5
#define SWATCH 8.0
#define NUMBER 90.0 /* width of a column of numbers */

#define INK RGB(0x22262b)
#define SOFT RGB(0x5d6670)

double stack_height(const struct plot_stack *s)
{
	return PICTURE + BELOW + ROW * (double)(s->part_count + 1);
}

/* The upper edge of a part from left to right, its lower edge back, in steps. */
static void draw_part(struct canvas *c, const struct plot_stack *s, size_t part, double x, double y,
		      double w)
{
	_cleanup_free_ struct spot *spots = xcalloc(4 * s->columns, sizeof(*spots));
	double step = w / (double)s->columns;

	for (size_t i = 0; i < s->columns; i++) {
		const double *shares = &s->shares[i * s->part_count];
		size_t back = 4 * s->columns - 1 - 2 * i;
		double below = 0, left = x + step * (double)i;

		for (size_t k = 0; k < part; k++)
			below += shares[k];
		double low = y + PICTURE * (1 - below);
		double high = y + PICTURE * (1 - below - shares[part]);
		spots[2 * i] = (struct spot){left, high};
		spots[2 * i + 1] = (struct spot){left + step, high};
		spots[back] = (struct spot){left, low};
		spots[back - 1] = (struct spot){left + step, low};
	}
	canvas_area(c, spots, 4 * s->columns, RGB(s->parts[part].color));
}

static void draw_cells(struct canvas *c, const char *const cells[3], double x, double y, double w,
		       bool head)
{
	struct text_style style = {.size = 9.5, .bold = head, .color = head ? SOFT : INK};

	style.width = w - 2 * NUMBER;
	canvas_text(c, x, y + ROW / 2, cells[0], &style);
	style.width = NUMBER;
	style.anchor = TEXT_RIGHT;
	canvas_text(c, x + w - NUMBER, y + ROW / 2, cells[1], &style);
	canvas_text(c, x + w, y + ROW / 2, cells[2], &style);
}

void stack_draw(struct canvas *c, const struct plot_stack *s, double x, double y, double w)
{
	const char *const head[3] = {"Part", "Core time", "Share"};
	double indent = 2 * SWATCH;

	for (size_t i = 0; i < s->part_count; i++)
		draw_part(c, s, i, x, y, w);
	y += PICTURE + BELOW;
	draw_cells(c, head, x + indent, y, w - indent, true);
	for (size_t i = 0; i < s->part_count; i++) {
		const struct plot_part *p = &s->parts[i];
		const char *const cells[3] = {p->label, p->amount, p->share};

		y += ROW;
		canvas_box(c, x, y + (ROW - SWATCH) / 2, SWATCH, SWATCH, RGB(p->color));
		draw_cells(c, cells, x + indent, y, w - indent, false);
	}
}
