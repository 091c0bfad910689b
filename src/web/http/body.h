/* The body of a request, a JSON object. */
#pragma once

#include "core/value.h"
#include "web/web.h"

/* The object; NULL: the answer is an error. An empty body is an empty object. Freed by the caller.
 */
struct value *web_body(const struct web_request *q, struct web_answer *a);
/* A text; NULL: absent, or (then *ret_ok is false) the answer is an error. */
const char *web_body_text(const struct value *body, const char *key, struct web_answer *a,
			  bool *ret_ok);
