/* Encoding of numbers in the store; see delta_coding.h. */
#include "store/delta_coding.h"

#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "tables/text_values.h"

/* False if a difference does not fit. */
static bool add_array(const struct delta_coding *l, int64_t step, struct strbuf *out)
{
	int64_t rest, line;

	strbuf_addch(out, '[');
	for (size_t i = 0; i < l->n; i++) {
		if (i)
			strbuf_addch(out, ',');
		if (!delta_coding_has(l, i)) {
			strbuf_add(out, "null", 4);
			continue;
		}
		if (__builtin_mul_overflow(step, (int64_t)i, &line) ||
		    __builtin_sub_overflow(l->v[i], l->v[0], &rest) ||
		    __builtin_sub_overflow(rest, line, &rest))
			return false;
		text_add_i64(out, rest);
	}
	strbuf_addch(out, ']');
	return true;
}

void delta_coding_encode(const struct delta_coding *l, int64_t *ret_base, int64_t *ret_step,
			 struct strbuf *out)
{
	size_t start = out->len;
	int64_t step = l->n > 1 ? (l->v[l->n - 1] - l->v[0]) / (int64_t)(l->n - 1) : 0;

	*ret_base = l->v[0];
	*ret_step = 0;
	(void)add_array(l, 0, out);
	if (!step)
		return;
	_cleanup_strbuf_ struct strbuf other = STRBUF_INIT;
	if (!add_array(l, step, &other) || other.len >= out->len - start)
		return;
	strbuf_cut(out, start);
	strbuf_add(out, other.buf, other.len);
	*ret_step = step;
}

/* Reads a number at p; returns the byte after it, NULL if it is invalid or too large. */
static const char *get_number(const char *p, const char *end, int64_t *ret)
{
	bool minus = p < end && *p == '-';
	uint64_t u = 0;

	p += minus;
	if (p == end || *p < '0' || *p > '9')
		return NULL;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(u, 10u, &u) ||
		    __builtin_add_overflow(u, (uint64_t)(*p - '0'), &u))
			return NULL;
	if (u > (uint64_t)INT64_MAX + minus)
		return NULL;
	*ret = minus ? (int64_t)(0 - u) : (int64_t)u;
	return p;
}

int delta_coding_decode(struct delta_coding *l, int64_t base, int64_t step, const char *p,
			size_t size)
{
	const char *end = p + size;
	int64_t v;

	*l = (struct delta_coding){0};
	if (size < 2 || *p != '[' || end[-1] != ']')
		return -EBADMSG;
	end--;
	for (p++; p < end; p++) {
		if (l->n == DELTA_CODING_MAX)
			return -EBADMSG;
		if (end - p >= 4 && !memcmp(p, "null", 4)) {
			p += 4;
		} else {
			p = get_number(p, end, &v);
			if (!p)
				return -EBADMSG;
			/* modulo 2^64: a damaged store gives wrong values, but no overflow */
			delta_coding_put(
				l, l->n,
				(int64_t)((uint64_t)base + (uint64_t)step * l->n + (uint64_t)v));
		}
		l->n++;
		if (p < end && *p != ',')
			return -EBADMSG;
	}
	return 0;
}

void delta_coding_encode_times(const struct delta_coding *l, int64_t *ret_first, int64_t *ret_step,
			       size_t *ret_width, struct strbuf *out)
{
	int64_t step = l->n > 1 ? (l->v[l->n - 1] - l->v[0]) / (int64_t)(l->n - 1) : 0;
	int64_t least = 0, most = 0;
	size_t width = 1;

	for (size_t i = 0; i < l->n; i++) {
		int64_t rest = l->v[i] - l->v[0] - step * (int64_t)i;

		least = rest < least ? rest : least;
		most = rest > most ? rest : most;
	}
	for (uint64_t span = (uint64_t)(most - least); span >= 10; span /= 10)
		width++;
	for (size_t i = 0; i < l->n; i++) {
		uint64_t rest = (uint64_t)(l->v[i] - l->v[0] - step * (int64_t)i - least);
		char digits[24];

		for (size_t k = width; k-- > 0; rest /= 10)
			digits[k] = (char)('0' + rest % 10);
		strbuf_add(out, digits, width);
	}
	*ret_first = l->v[0] + least;
	*ret_step = step;
	*ret_width = width;
}

int delta_coding_decode_times(struct delta_coding *l, int64_t first, int64_t step, size_t width,
			      const char *text, size_t size)
{
	int64_t v = 0;

	*l = (struct delta_coding){0};
	if (!width || width > 19 || size % width || size / width > DELTA_CODING_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < size / width; i++) {
		if (!get_number(text + i * width, text + (i + 1) * width, &v))
			return -EBADMSG;
		delta_coding_put(l, i,
				 (int64_t)((uint64_t)first + (uint64_t)step * i + (uint64_t)v));
		l->n++;
	}
	return 0;
}
