/* The terminal of `plimsoll top`: functions of the module of that name, which brings ncurses. */
#ifndef PL_CMD_RECORD_TOP_SCREEN_H
#define PL_CMD_RECORD_TOP_SCREEN_H

#include "views/top/top_view.h"

/* Keys that are no characters. */
enum top_key {
	TOP_KEY_NONE = 0,
	TOP_KEY_UP = 0x100,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_RESIZE,
};

struct top_screen {
	/* Takes the terminal over; a negative errno with the reason in *why when it cannot. */
	int (*open)(bool color, struct strbuf *why);
	/* Gives it back as it was. */
	void (*close)(void);
	void (*size)(size_t *rows, size_t *columns);
	void (*draw)(const struct top_frame *f);
	/* Waits for a key, or until the time is over or a signal came. */
	int (*key)(int timeout_ms);
};

/* Moves in the table of a view, of which so many rows are on the screen. */
void top_move(struct top_look *l, const struct topview *v, size_t page, int64_t by);
/* What a key does; false to quit. */
bool top_handle(struct top_look *l, const struct topview *v, size_t page, int key);

#endif
