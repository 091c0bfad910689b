/* Who a request comes from, by the way of --auth, and what it may do. */
#pragma once

#include "web/web_call.h"

/* Fills the viewer of the call. False: a stranger. */
bool web_admit(struct web_call *c);
/* The viewer of a request without a session, who sees no job. */
void web_admit_nobody(struct web_call *c);
/* May the viewer use the route of the call? Else the reason. */
bool web_may_use(const struct web_call *c, const char **ret_why, const char **ret_remedy);
