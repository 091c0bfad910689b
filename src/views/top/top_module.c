/* Module "top": drives the terminal with ncurses. */
#include <curses.h>
#include <errno.h>
#include <string.h>
#include <term.h>

/* term.h defines these words as terminal capabilities */
#undef lines
#undef columns

#include "core/module.h"
#include "views/top/top_screen.h"

static SCREEN *screen;
static bool colored;

/* Can the cursor be positioned? Otherwise initscr() would exit. */
static bool is_usable(const char *term)
{
	int error;
	char name[] = "cup";

	if (!term || !*term || setupterm(term, fileno(stdout), &error) != OK)
		return false;
	const char *move = tigetstr(name);
	bool usable = move && move != (char *)-1;
	del_curterm(cur_term);
	return usable;
}

static int open_screen(bool color, struct strbuf *why)
{
	const char *term = getenv("TERM");

	screen = is_usable(term) ? newterm(NULL, stdout, stdin) : NULL;
	if (!screen) {
		strbuf_addf(why, "cannot draw on a terminal of type '%s'",
			    term && *term ? term : "unknown");
		return -ENOTTY;
	}
	set_term(screen);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	colored = color && has_colors() && start_color() == OK && use_default_colors() == OK;
	if (colored) {
		init_pair(1, COLOR_CYAN, -1);
		init_pair(2, COLOR_GREEN, -1);
	}
	return 0;
}

static void close_screen(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

static void size(size_t *rows, size_t *columns)
{
	int y, x;

	getmaxyx(stdscr, y, x);
	*rows = y > 0 ? (size_t)y : 1;
	*columns = x > 0 ? (size_t)x : 1;
}

static attr_t attributes(enum top_style style)
{
	switch (style) {
	case TOP_TITLE:
		return A_BOLD | (colored ? (attr_t)COLOR_PAIR(1) : 0);
	case TOP_HEAD:
		return A_REVERSE;
	case TOP_CURVE:
		return colored ? (attr_t)COLOR_PAIR(2) : 0;
	case TOP_NOTE:
		return A_DIM;
	case TOP_PLAIN:
		break;
	}
	return A_NORMAL;
}

static void draw(const struct top_frame *f)
{
	erase();
	for (size_t i = 0; i < f->count; i++) {
		attrset((int)attributes(f->lines[i].style));
		mvaddstr((int)i, 0, f->lines[i].text);
		/* extend the heading to the full width */
		if (f->lines[i].style == TOP_HEAD)
			for (int x = getcurx(stdscr); getcury(stdscr) == (int)i && x < COLS; x++)
				addch(' ');
	}
	attrset(A_NORMAL);
	refresh();
}

static int key(int timeout_ms)
{
	static const struct {
		int theirs, ours;
	} keys[] = {
		{KEY_UP, TOP_KEY_UP},         {KEY_DOWN, TOP_KEY_DOWN},
		{KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
		{KEY_HOME, TOP_KEY_HOME},     {KEY_END, TOP_KEY_END},
		{KEY_RESIZE, TOP_KEY_RESIZE},
	};

	timeout(timeout_ms);
	int c = getch();
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].theirs == c)
			return keys[i].ours;
	return c > 0 && c < 0x80 ? c : TOP_KEY_NONE;
}

static const struct top_screen functions = {
	.open = open_screen, .close = close_screen, .size = size, .draw = draw, .key = key};

PL_MODULE("top", "ncurses " NCURSES_VERSION, &functions);
