/* What `plimsoll serve` does besides serving. */
#pragma once

#include "core/strbuf.h"

/* Opens an address with the browser of the desktop; warns if there is none. */
void browser_open(const char *address);
/* Prints a new link to the running server of this user; returns the exit status. */
int serve_link(void);
/* Prints the address of a job's page in the running server of this user; the exit status. */
int serve_print_page(const char *job);
/* Does a server of this user run? Then its address. */
bool serve_runs(struct strbuf *ret_address);
