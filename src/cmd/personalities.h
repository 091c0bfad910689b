/* The names that the program answers to, as personalities.def lists them. */
#ifndef PL_CMD_PERSONALITIES_H
#define PL_CMD_PERSONALITIES_H

#include "context/personality.h"

extern const struct personality personality_plimsoll;
/* By the name in argv[0], without directories; NULL: none of them. */
const struct personality *personality_find(const char *name);

#endif
