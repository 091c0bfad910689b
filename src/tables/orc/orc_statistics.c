/* What ORC notes of the values of a column; see orc_column.h. */
#include <string.h>

#include "tables/orc/orc_column.h"
#include "tables/orc/orc_encoding.h"

void orc_add_statistics(struct strbuf *out, unsigned field, const struct orc_statistics *s,
			enum table_type type)
{
	static const uint8_t fields[] = {
		[TABLE_INT] = 2, [TABLE_REAL] = 3, [TABLE_TEXT] = 4, [TABLE_TIME] = 9};
	struct strbuf all = STRBUF_INIT, range = STRBUF_INIT;

	proto_u64(&all, 1, s->values);
	if (type == TABLE_INT && s->ranged) {
		proto_s64(&range, 1, s->i.min);
		proto_s64(&range, 2, s->i.max);
		if (!s->overflow)
			proto_s64(&range, 3, s->i.sum);
	} else if (type == TABLE_TIME && s->ranged) {
		proto_s64(&range, 3, s->i.min);
		proto_s64(&range, 4, s->i.max);
	} else if (type == TABLE_REAL && s->ranged && !s->nan) {
		proto_double(&range, 1, s->d.min);
		proto_double(&range, 2, s->d.max);
		proto_double(&range, 3, s->d.sum);
	} else if (type == TABLE_TEXT && s->ranged && !s->text_too_long) {
		proto_bytes(&range, 1, s->min_text, s->min_size);
		proto_bytes(&range, 2, s->max_text, s->max_size);
		proto_s64(&range, 3, s->text_sum);
	}
	if (range.len)
		proto_part(&all, fields[type], &range);
	proto_u64(&all, 10, s->absent);
	proto_part(out, field, &all);
	strbuf_release(&all);
	strbuf_release(&range);
}
