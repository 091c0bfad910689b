/* All of a message over a stream socket between a parent and its child. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* False where the other side is gone; no signal comes of that. */
bool send_all(int fd, const void *data, size_t n);
bool receive_all(int fd, void *data, size_t n);
