/* Finds the route of a request and its parameters. */
#pragma once

#include "web/http/target.h"
#include "web/web.h"

/* "GET" and its like; a method that no route has: WEB_METHODS. HEAD is GET. */
enum web_method web_method_of(const char *name);
const char *web_method_name(enum web_method m);

/* NULL: no route has this path, or (*ret_allow is not empty then, "GET, PUT") not this method. */
const struct web_route *route_find(const struct target *t, enum web_method m,
				   struct strbuf *ret_allow);
/* Takes the parameters of the route from path and query. 0, or -EINVAL with the reason in *why. */
int route_take_params(struct web_request *q, const struct target *t, struct strbuf *why);
void route_release_params(struct web_request *q);
/* The parameters in one order, as a part of the key of an answer. */
void route_add_key(const struct web_request *q, struct strbuf *out);
/* NULL: the route does not take it. */
const struct web_param_row *route_param(const struct web_route *r, const char *name);
/* Is the parameter in the path? */
bool route_has_in_path(const struct web_route *r, const char *name);
