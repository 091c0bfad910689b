/* The names that the program can be called by, listed in personalities.def. */
#pragma once

#include "context/personality.h"

extern const struct personality personality_plimsoll;
/* Finds a personality by the base name of argv[0]; NULL: none. */
const struct personality *personality_find(const char *name);
