/* The terminal of `plimsoll top`: the interface of module "top", which links ncurses. */
#pragma once

#include "views/top/top_view.h"

/* Keys that are not characters. */
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
	/* Takes over the terminal; 0 or a negative errno with the reason in *why. */
	int (*open)(bool color, struct strbuf *why);
	/* Restores it. */
	void (*close)(void);
	void (*size)(size_t *rows, size_t *columns);
	void (*draw)(const struct top_frame *f);
	/* Waits for a key, a signal or the timeout. */
	int (*key)(int timeout_ms);
};

/* Scrolls the table of a view, of which `page` rows are visible. */
void top_move(struct top_look *l, const struct topview *v, size_t page, int64_t by);
/* Handles a key; false to quit. */
bool top_handle(struct top_look *l, const struct topview *v, size_t page, int key);
