/* Tags and values of features as text. */
#pragma once

#include "core/value.h"

/* "op:build;op_instance:4" */
void add_tags_text(struct strbuf *out, const struct value *tags);
/* A value of a feature, with its unit for people. */
void add_feature(struct strbuf *out, const char *feature, double v, bool human);
/* The same without a unit, integers without a point. */
void add_plain_number(struct strbuf *out, double v);
