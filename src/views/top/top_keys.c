/* Handles the keys of `plimsoll top`; see top_screen.h. */
#include "views/top/top_screen.h"

void top_move(struct top_look *l, const struct topview *v, size_t page, int64_t by)
{
	size_t count = topview_count(v);
	int64_t last = count > page ? (int64_t)(count - page) : 0;
	int64_t to = (int64_t)l->scroll + by;

	l->scroll = (size_t)(to < 0 ? 0 : to > last ? last : to);
}

bool top_handle(struct top_look *l, const struct topview *v, size_t page, int key)
{
	int64_t whole = page ? (int64_t)page : 1;

	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case 'c':
		l->sort = TOP_BY_CPU;
		break;
	case 'm':
		l->sort = TOP_BY_MEMORY;
		break;
	case 'i':
		l->sort = TOP_BY_IO;
		break;
	case 'p':
	case ' ':
		l->paused = !l->paused;
		break;
	case '?':
	case 'h':
		l->help = !l->help;
		break;
	case TOP_KEY_UP:
		top_move(l, v, page, -1);
		break;
	case TOP_KEY_DOWN:
		top_move(l, v, page, 1);
		break;
	case TOP_KEY_PAGE_UP:
		top_move(l, v, page, -whole);
		break;
	case TOP_KEY_PAGE_DOWN:
		top_move(l, v, page, whole);
		break;
	case TOP_KEY_HOME:
		top_move(l, v, page, -(int64_t)l->scroll);
		break;
	case TOP_KEY_END:
		top_move(l, v, page, (int64_t)topview_count(v));
		break;
	default: /* a new size, or a key without meaning */
		break;
	}
	return true;
}
