/*
 * A reader of pickles that executes nothing: see pickle.h. The stack and the memo hold references
 * to values. A value that is part of another one may not grow any more, so no structure can contain
 * itself. Every value knows its size when written out, so a small pickle cannot expand without
 * limit.
 */
#include "compat/epmt/pickle/pickle.h"

#include <errno.h>
#include <string.h>

#include "compat/epmt/pickle/pickle_reader.h"

int pickle_fail(struct reader *r, int error, const char *fmt, ...)
{
	va_list ap;

	if (r->error)
		return r->error;
	r->error = -error;
	if (r->why) {
		strbuf_addf(r->why, "byte %zu: ", (size_t)(r->opcode - r->begin));
		va_start(ap, fmt);
		strbuf_vaddf(r->why, fmt, ap);
		va_end(ap);
	}
	return -error;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

const unsigned char *pickle_take(struct reader *r, uint64_t n)
{
	if (n > (uint64_t)(r->end - r->p)) {
		pickle_fail(r, EBADMSG, "the file ends within a value");
		return NULL;
	}
	const unsigned char *p = r->p;
	r->p += n;
	return p;
}

uint64_t pickle_number(struct reader *r, size_t bytes)
{
	const unsigned char *p = pickle_take(r, bytes);
	uint64_t v = 0;

	for (size_t i = 0; p && i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

/* The rest of the line, without the newline. */
const char *pickle_line(struct reader *r, size_t *ret_n)
{
	const unsigned char *nl = memchr(r->p, '\n', (size_t)(r->end - r->p));

	if (!nl) {
		pickle_fail(r, EBADMSG, "a line is not terminated");
		*ret_n = 0;
		return NULL;
	}
	const char *line = (const char *)r->p;
	*ret_n = (size_t)(nl - r->p);
	r->p = nl + 1;
	return line;
}

/* ---- stack and memo ------------------------------------------------------------------------- */

void pickle_push_item(struct reader *r, struct item item)
{
	if (r->depth >= STACK_MAX) {
		value_free(item.value);
		pickle_fail(r, E2BIG, "more than %d values on the stack", STACK_MAX);
		return;
	}
	GROW(r->stack, r->depth, r->cap);
	r->stack[r->depth++] = item;
}

void pickle_push(struct reader *r, struct value *v)
{
	if (++r->nodes > VALUE_NODES_MAX) {
		value_free(v);
		pickle_fail(r, E2BIG, "more than %d values", VALUE_NODES_MAX);
		return;
	}
	pickle_push_item(r, (struct item){.value = v});
}

/* Takes the value on top, which the caller then owns; NULL if there is none. */
struct value *pickle_pop(struct reader *r)
{
	if (!r->depth || !r->stack[r->depth - 1].value) {
		pickle_fail(r, EBADMSG, "a value is missing");
		return NULL;
	}
	return r->stack[--r->depth].value;
}

static struct value *top(struct reader *r, enum value_kind kind)
{
	struct value *v = r->depth ? r->stack[r->depth - 1].value : NULL;

	if (!v || v->kind != kind) {
		pickle_fail(r, EBADMSG, "a container is missing");
		return NULL;
	}
	return v;
}

/* Index of the item after the topmost mark. */
static bool find_mark(struct reader *r, size_t *ret)
{
	for (size_t i = r->depth; i > 0; i--)
		if (r->stack[i - 1].mark) {
			*ret = i;
			return true;
		}
	pickle_fail(r, EBADMSG, "a mark is missing");
	return false;
}

static void memo_put(struct reader *r, uint64_t at, int arg PL_UNUSED)
{
	if (!r->depth || r->stack[r->depth - 1].mark) {
		pickle_fail(r, EBADMSG, "nothing to remember");
		return;
	}
	if (at >= MEMO_MAX) {
		pickle_fail(r, E2BIG, "more than %d remembered values", MEMO_MAX);
		return;
	}
	while (r->memo_size <= at) {
		GROW(r->memo, r->memo_size, r->memo_cap);
		r->memo[r->memo_size++] = (struct item){0};
	}
	struct item *item = &r->stack[r->depth - 1];
	if (r->memo[at].value)
		value_free(r->memo[at].value);
	r->memo[at] = *item;
	if (item->value)
		value_ref(item->value);
}

static void memo_get(struct reader *r, uint64_t at, int arg PL_UNUSED)
{
	if (at >= r->memo_size || (!r->memo[at].value && !r->memo[at].call)) {
		pickle_fail(r, EBADMSG, "value %llu was never remembered", (unsigned long long)at);
		return;
	}
	struct item item = r->memo[at];
	if (item.value)
		value_ref(item.value);
	pickle_push_item(r, item);
}

/* ---- containers ----------------------------------------------------------------------------- */

/* Adds the size of item to container; false if that exceeds the limit. */
static bool enclose(struct reader *r, struct value *container, struct value *item)
{
	if (container->sealed || container == item)
		return pickle_fail(r, EPERM, "a structure that contains itself") == 0;
	uint64_t weight = (uint64_t)container->weight + item->weight;
	/* a long text counts as much as many short ones */
	if (item->kind == VALUE_STR || item->kind == VALUE_BYTES)
		weight += item->str.size / 256;
	if (weight > VALUE_NODES_MAX)
		return pickle_fail(r, E2BIG, "more than %d values when written out",
				   VALUE_NODES_MAX) == 0;
	if (item->depth + 1 > VALUE_DEPTH_MAX)
		return pickle_fail(r, E2BIG, "nested deeper than %d", VALUE_DEPTH_MAX) == 0;
	container->weight = (uint32_t)weight;
	if (item->depth + 1 > container->depth)
		container->depth = (uint8_t)(item->depth + 1);
	item->sealed = true;
	return true;
}

static void append(struct reader *r, struct value *list, struct value *item)
{
	if (item && !r->error && enclose(r, list, item))
		value_append(list, item);
	else
		value_free(item);
}

static void set(struct reader *r, struct value *dict, struct value *key, struct value *v)
{
	bool ok = !r->error && key && v;

	if (ok && value_pairs(dict) >= VALUE_PAIRS_MAX)
		ok = pickle_fail(r, E2BIG, "more than %d keys in one dict", VALUE_PAIRS_MAX) == 0;
	if (ok && key->kind >= VALUE_LIST)
		ok = pickle_fail(r, EBADMSG, "a key that is a container") == 0;
	if (ok && enclose(r, dict, key) && enclose(r, dict, v)) {
		value_set_take(dict, key, v);
		return;
	}
	value_free(key);
	value_free(v);
}

/* Moves all values from a place on the stack into a container, in order; the stack ends there. */
static void gather(struct reader *r, size_t from, struct value *container)
{
	size_t end = r->depth;

	for (size_t i = from; i < end; i++)
		if (!r->stack[i].value)
			pickle_fail(r, EBADMSG, "a value is missing");
	if (container->kind == VALUE_DICT && (end - from) % 2)
		pickle_fail(r, EBADMSG, "a key without value");
	for (size_t i = from; i < end; i++) {
		struct value *v = r->stack[i].value;

		if (container->kind != VALUE_DICT) {
			append(r, container, v);
		} else if (i + 1 < end) {
			set(r, container, v, r->stack[i + 1].value);
			i++;
		} else {
			value_free(v);
		}
	}
	r->depth = from;
}

/* The values from the mark to the top; removes the mark. */
static void build_from_mark(struct reader *r, uint64_t n PL_UNUSED, int kind)
{
	size_t from;

	if (!find_mark(r, &from))
		return;
	struct value *v = value_new((enum value_kind)kind);
	gather(r, from, v);
	r->depth = from - 1;
	pickle_push(r, v);
}

static void extend_from_mark(struct reader *r, uint64_t n PL_UNUSED, int kind)
{
	size_t from;

	if (!find_mark(r, &from))
		return;
	struct value *v = from >= 2 ? r->stack[from - 2].value : NULL;
	if (!v || (int)v->kind != kind) {
		pickle_fail(r, EBADMSG, "a container is missing");
		return;
	}
	gather(r, from, v);
	r->depth = from - 1;
}

/* ---- instructions --------------------------------------------------------------------------- */

static void pop_discard(struct reader *r)
{
	if (!r->depth) {
		pickle_fail(r, EBADMSG, "a value is missing");
		return;
	}
	value_free(r->stack[--r->depth].value);
}

static void pop_to_mark(struct reader *r)
{
	size_t from;

	if (!find_mark(r, &from))
		return;
	while (r->depth >= from)
		pop_discard(r);
}

static uint64_t decimal_index(struct reader *r)
{
	size_t n;
	const char *p = pickle_line(r, &n);
	uint64_t v = 0;

	for (size_t i = 0; p && i < n; i++) {
		if (p[i] < '0' || p[i] > '9' || v > MEMO_MAX)
			return UINT64_MAX;
		v = v * 10 + (uint64_t)(p[i] - '0');
	}
	return v;
}

static void append_one(struct reader *r)
{
	struct value *item = pickle_pop(r);
	struct value *list = item ? top(r, VALUE_LIST) : NULL;

	if (list)
		append(r, list, item);
	else
		value_free(item);
}

static void set_one(struct reader *r)
{
	struct value *v = pickle_pop(r);
	struct value *key = v ? pickle_pop(r) : NULL;
	struct value *dict = key ? top(r, VALUE_DICT) : NULL;

	if (dict) {
		set(r, dict, key, v);
	} else {
		value_free(key);
		value_free(v);
	}
}

static void tuple_of(struct reader *r, uint64_t n PL_UNUSED, int count)
{
	if (r->depth < (size_t)count) {
		pickle_fail(r, EBADMSG, "a value is missing");
		return;
	}
	struct value *v = value_new(VALUE_TUPLE);
	gather(r, r->depth - (size_t)count, v);
	pickle_push(r, v);
}

static void duplicate(struct reader *r)
{
	if (!r->depth || !r->stack[r->depth - 1].value)
		pickle_fail(r, EBADMSG, "a value is missing");
	else
		pickle_push(r, value_ref(r->stack[r->depth - 1].value));
}

static void push_new(struct reader *r, uint64_t n PL_UNUSED, int kind)
{
	pickle_push(r, value_new((enum value_kind)kind));
}

static void push_bool(struct reader *r, uint64_t n PL_UNUSED, int v)
{
	pickle_push(r, value_bool(v));
}

static void push_int(struct reader *r, uint64_t n, int is_signed)
{
	pickle_push(r, value_int(is_signed ? (int32_t)(uint32_t)n : (int64_t)n));
}

static void push_mark(struct reader *r)
{
	pickle_push_item(r, (struct item){.mark = true});
}

static void memo_next(struct reader *r)
{
	memo_put(r, r->memo_next++, 0);
}

/* What an instruction does, with an operand of so many bytes or without one. */
#define LINE 255 /* the operand is a decimal number on a line */
static const struct {
	void (*plain)(struct reader *r);
	void (*run)(struct reader *r, uint64_t n, int arg);
	uint8_t bytes;
	int arg;
} steps[256] = {
	['N'] = {NULL, push_new, 0, VALUE_NONE},
	[')'] = {NULL, push_new, 0, VALUE_TUPLE},
	[']'] = {NULL, push_new, 0, VALUE_LIST},
	[0x8f] = {NULL, push_new, 0, VALUE_LIST}, /* sets become lists */
	['}'] = {NULL, push_new, 0, VALUE_DICT},
	[0x88] = {NULL, push_bool, 0, true},
	[0x89] = {NULL, push_bool, 0, false},
	['I'] = {NULL, pickle_push_decimal, 0, true},
	['L'] = {NULL, pickle_push_decimal, 0, false},
	['J'] = {NULL, push_int, 4, true},
	['K'] = {NULL, push_int, 1, false},
	['M'] = {NULL, push_int, 2, false},
	[0x8a] = {NULL, pickle_push_long, 1, 0},
	[0x8b] = {NULL, pickle_push_long, 4, 0},
	['F'] = {.plain = pickle_push_float_line},
	['G'] = {.plain = pickle_push_float_binary},
	['S'] = {.plain = pickle_push_quoted},
	['V'] = {.plain = pickle_push_raw_unicode},
	['U'] = {NULL, pickle_push_text, 1, VALUE_STR},
	[0x8c] = {NULL, pickle_push_text, 1, VALUE_STR},
	['T'] = {NULL, pickle_push_text, 4, VALUE_STR},
	['X'] = {NULL, pickle_push_text, 4, VALUE_STR},
	[0x8d] = {NULL, pickle_push_text, 8, VALUE_STR},
	['C'] = {NULL, pickle_push_text, 1, VALUE_BYTES},
	['B'] = {NULL, pickle_push_text, 4, VALUE_BYTES},
	[0x8e] = {NULL, pickle_push_text, 8, VALUE_BYTES},
	[0x96] = {NULL, pickle_push_text, 8, VALUE_BYTES},
	['('] = {.plain = push_mark},
	['0'] = {.plain = pop_discard},
	['1'] = {.plain = pop_to_mark},
	['2'] = {.plain = duplicate},
	['p'] = {NULL, memo_put, LINE, 0},
	['q'] = {NULL, memo_put, 1, 0},
	['r'] = {NULL, memo_put, 4, 0},
	[0x94] = {.plain = memo_next},
	['g'] = {NULL, memo_get, LINE, 0},
	['h'] = {NULL, memo_get, 1, 0},
	['j'] = {NULL, memo_get, 4, 0},
	['c'] = {.plain = pickle_global_line},
	[0x93] = {.plain = pickle_stack_global},
	['R'] = {.plain = pickle_reduce},
	['t'] = {NULL, build_from_mark, 0, VALUE_TUPLE},
	['l'] = {NULL, build_from_mark, 0, VALUE_LIST},
	[0x91] = {NULL, build_from_mark, 0, VALUE_LIST}, /* frozenset */
	['d'] = {NULL, build_from_mark, 0, VALUE_DICT},
	[0x85] = {NULL, tuple_of, 0, 1},
	[0x86] = {NULL, tuple_of, 0, 2},
	[0x87] = {NULL, tuple_of, 0, 3},
	['a'] = {.plain = append_one},
	['s'] = {.plain = set_one},
	['e'] = {NULL, extend_from_mark, 0, VALUE_LIST},
	[0x90] = {NULL, extend_from_mark, 0, VALUE_LIST}, /* items of a set */
	['u'] = {NULL, extend_from_mark, 0, VALUE_DICT},
};

/* Values, the stack and the memo; false for other instructions. */
static bool step(struct reader *r, unsigned char op)
{
	if (steps[op].plain)
		steps[op].plain(r);
	else if (steps[op].run)
		steps[op].run(r,
			      steps[op].bytes == LINE ? decimal_index(r)
						      : pickle_number(r, steps[op].bytes),
			      steps[op].arg);
	return steps[op].plain || steps[op].run;
}

/* Protocol marks; 1 at the end of the pickle. */
static int step_frame(struct reader *r, unsigned char op)
{
	switch (op) {
	case 0x80:
		if (pickle_number(r, 1) > 5)
			pickle_fail(r, EPERM, "a protocol newer than 5");
		return 0;
	case 0x95:
		(void)pickle_number(r, 8);
		return 0;
	case '.':
		return 1;
	default:
		pickle_fail(r, EPERM, "instruction 0x%02x asks for more than data; refused", op);
		return 0;
	}
}

static int run(struct reader *r)
{
	while (!r->error) {
		r->opcode = r->p;
		if (r->p >= r->end)
			return pickle_fail(r, EBADMSG, "the file ends before the pickle does");
		unsigned char op = *r->p++;
		if (step(r, op))
			continue;
		if (step_frame(r, op) == 1)
			return r->error;
	}
	return r->error;
}

int pickle_read(const void *data, size_t n, struct value **ret, struct strbuf *why)
{
	struct reader r = {
		.begin = data, .p = data, .end = (const unsigned char *)data + n, .why = why};
	struct value *v = NULL;

	r.opcode = r.begin;
	int e = run(&r);
	if (e == 0)
		v = pickle_pop(&r);
	if (e == 0 && !v)
		e = r.error;
	while (r.depth)
		value_free(r.stack[--r.depth].value);
	for (size_t i = 0; i < r.memo_size; i++)
		value_free(r.memo[i].value);
	free(r.stack);
	free(r.memo);
	if (e < 0) {
		value_free(v);
		return e;
	}
	*ret = v;
	return 0;
}
