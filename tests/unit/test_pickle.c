/*
 * The reader of Python pickles: what Python writes is read, what is not plain data is refused, and
 * nothing that a file holds does harm. The fixtures are made by make_pickles.py.
 */
#include "unit.h"

#include <errno.h>
#include <sys/wait.h>

#include "formats/pickle.h"
#include "pickles.h"

static int read_exactly(const void *data, size_t n, struct value **ret, struct strbuf *why)
{
	char *copy = exact_copy(data, n);
	int r = pickle_read(copy, n, ret, why);

	free(copy);
	return r;
}

static char *json_of(const struct value *v)
{
	struct jsonw j = JSONW_INIT;

	value_to_json(v, &j, NULL);
	return strbuf_take(&j.out);
}

static void check(const void *data, size_t n, const char *json)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;

	if (read_exactly(data, n, &v, &why) != 0)
		fail_msg("%s", why.buf);
	_cleanup_free_ char *got = json_of(v);
	assert_string_equal(got, json);
	assert_int_equal(why.len, 0);
}

static void refuse(const void *data, size_t n, int error, const char *why_has)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *v = (struct value *)&why;
	int r = read_exactly(data, n, &v, &why);

	if (r == 0)
		value_free(v);
	if (r != error)
		fail_msg("got %d, want %d (%s): %s", r, error, why_has, why.buf);
	assert_ptr_equal(v, &why); /* untouched on failure */
	assert_true(str_prefix(why.buf, "byte "));
	assert_contains(why.buf, why_has);
	assert_int_equal(read_exactly(data, n, &v, NULL), error);
}

/* For literals with NUL bytes in them. */
#define CHECK(pickle, json) check(pickle, sizeof(pickle) - 1, json)
#define REFUSE(pickle, error, why) refuse(pickle, sizeof(pickle) - 1, error, why)

/* ---- what Python writes --------------------------------------------------------------------- */

static void every_protocol(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pickles); i++) {
		const struct pickle_fixture *f = &pickles[i];
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct value *v = NULL;

		if (read_exactly(f->data, f->size, &v, &why) != 0)
			fail_msg("%s, protocol %d: %s", f->name, f->protocol, why.buf);
		char *got = json_of(v);
		if (strcmp(got, f->json) != 0)
			fail_msg("%s, protocol %d:\ngot  %s\nwant %s", f->name, f->protocol, got,
				 f->json);
		free(got);
		value_free(v);
	}
}

static void kinds_are_kept(void **state)
{
	_cleanup_value_ struct value *v = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pickles); i++) {
		const struct pickle_fixture *f = &pickles[i];

		if (strcmp(f->name, "bytes") != 0 && strcmp(f->name, "times") != 0)
			continue;
		value_free(v);
		v = NULL;
		assert_int_equal(read_exactly(f->data, f->size, &v, NULL), 0);
		if (!strcmp(f->name, "bytes")) {
			assert_int_equal(value_get(v, "some")->kind, VALUE_BYTES);
			continue;
		}
		assert_int_equal(value_get(v, "naive")->kind, VALUE_TIME);
		assert_false(value_get(v, "naive")->time.has_zone);
		assert_true(value_get(v, "utc")->time.has_zone);
		assert_int_equal(value_get(v, "west")->time.offset_s, -8 * 3600);
		assert_int_equal(value_get(v, "span")->kind, VALUE_DELTA);
		assert_int_equal(value_get(v, "zone")->kind, VALUE_ZONE);
	}
}

static void instructions_that_python_seldom_writes(void **state)
{
	(void)state;
	CHECK("(I1\nI2\nl.", "[1,2]");
	CHECK("(I1\nI2\nt.", "[1,2]");
	CHECK("(S'a'\nI1\nd.", "{\"a\":1}");
	CHECK("I1\n0I2\n.", "2");      /* POP */
	CHECK("I7\n(I1\nI2\n1.", "7"); /* POP_MARK */
	CHECK("I1\n2\x86.", "[1,1]");  /* DUP */
	CHECK("L-5L\n.", "-5");
	CHECK("L5\n.", "5");
	CHECK("I00\n.", "false");
	CHECK("I01\n.", "true");
	CHECK("I0\n.", "0");
	CHECK("\x8a\x00.", "0"); /* LONG1 of no bytes */
	CHECK("\x8a\x01\xff.", "-1");
	CHECK("\x8a\x02\xff\x00.", "255");
	CHECK("\x8b\x02\x00\x00\x00\x00\x80.", "-32768");
	CHECK("U\x03"
	      "abc.",
	      "\"abc\"");
	CHECK("T\x03\x00\x00\x00"
	      "abc.",
	      "\"abc\"");
	CHECK("\x8d\x03\x00\x00\x00\x00\x00\x00\x00"
	      "abc.",
	      "\"abc\"");
	CHECK("\x8e\x03\x00\x00\x00\x00\x00\x00\x00"
	      "abc.",
	      "\"abc\"");
	CHECK("I5\np9\n0g9\n.", "5");
	CHECK("I5\nr\x00\x01\x00\x00"
	      "0j\x00\x01\x00\x00.",
	      "5");
	CHECK("I5\n.trailing bytes are not looked at", "5");
	CHECK("\x80\x05\x95\xff\xff\xff\xff\xff\xff\xff\xffN.",
	      "null"); /* nor is the size of a frame */
}

static void quoted_texts(void **state)
{
	(void)state;
	CHECK("S'\\x41\\n\\t\\r\\\\\\'\\\"'\n.", "\"A\\n\\t\\r\\\\'\\\"\"");
	CHECK("S\"it's\"\n.", "\"it's\"");
	CHECK("S''\n.", "\"\"");
	REFUSE("S'\n.", -EBADMSG, "quotes");
	REFUSE("S\n.", -EBADMSG, "quotes");
	REFUSE("Sabc\n.", -EBADMSG, "quotes");
	REFUSE("S'abc\"\n.", -EBADMSG, "quotes");
	REFUSE("S'a\\'\n.", -EBADMSG, "escape");
	REFUSE("S'\\x4'\n.", -EBADMSG, "escape");
	REFUSE("S'\\xzz'\n.", -EBADMSG, "escape");
	REFUSE("S'\\q'\n.", -EBADMSG, "escape");
	REFUSE("S'abc'", -EBADMSG, "line without end");
}

static void raw_unicode(void **state)
{
	(void)state;
	CHECK("Va\\u00e4\\U0001f6a2\xe4\n.", "\"a\xc3\xa4\xf0\x9f\x9a\xa2\xc3\xa4\"");
	CHECK("V\\n\\\n.", "\"\\\\n\\\\\"");
	REFUSE("V\\U00110000\n.", -EBADMSG, "character");
	REFUSE("V\\u00zz\n.", -EBADMSG, "character");
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void calls_that_are_not_data(void **state)
{
	(void)state;
	REFUSE("cos\nsystem\n(S'echo'\ntR.", -EPERM, "os.system");
	REFUSE("cposix\nsystem\n.", -EPERM, "posix.system");
	REFUSE("c__builtin__\neval\n(S'1'\ntR.", -EPERM, "eval");
	REFUSE("\x80\x04\x8c\x05posix\x8c\x06system\x93.", -EPERM, "posix.system");
	REFUSE("cdatetime\ndate\n(S'\\x07\\xe2\\x03\\x04'\ntR.", -EPERM, "datetime.date");
	REFUSE("cdatetime\ndatetime.x\n.", -EPERM, "datetime.x");
	REFUSE("cDatetime\ndatetime\n.", -EPERM, "Datetime");
	REFUSE("ccopy_reg\n_reconstructor\n.", -EPERM, "copy_reg");
	REFUSE("c_codecs\ndecode\n.", -EPERM, "decode");
	REFUSE("c\n\n.", -EPERM, "refused");
	/* what they are called cannot hurt the terminal */
	REFUSE("c\x1b[2J\nx\n.", -EPERM, "\\x1b[2J");
	REFUSE("N)R.", -EPERM, "call");
	REFUSE(")R.", -EPERM, "call");
	REFUSE("cdatetime\ndatetime\n]R.", -EPERM, "call");
	REFUSE("cdatetime\ndatetime\nNR.", -EPERM, "call");
}

static void instructions_that_are_not_data(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{"}}b.", 4},                      /* BUILD */
		{"(I1\nios\nsystem\n.", 16},      /* INST */
		{"(cdatetime\ndatetime\no.", 22}, /* OBJ */
		{"N)\x81.", 4},                   /* NEWOBJ */
		{"N)}\x92.", 5},                  /* NEWOBJ_EX */
		{"\x82\x01.", 3},                 /* EXT1 */
		{"\x83\x01\x00.", 4},             /* EXT2 */
		{"\x84\x01\x00\x00\x00.", 6},     /* EXT4 */
		{"Px\n.", 4},                     /* PERSID */
		{"NQ.", 3},                       /* BINPERSID */
		{"\x97.", 2},                     /* NEXT_BUFFER */
		{"\x98.", 2},                     /* READONLY_BUFFER */
		{"\x80\x06N.", 4},                /* a protocol to come */
		{"\x80\xffN.", 4},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		refuse(cases[i].bytes, cases[i].size, -EPERM, "");
}

/* Every byte as an instruction, with things on the stack that it might want. */
static void every_instruction(void **state)
{
	static const char front[] = "}(](NN", back[] = "\x01\x00\x00\x00\x00\x00\x00\x00\nx\n.";

	(void)state;
	for (int op = 0; op < 256; op++) {
		char text[64];
		struct value *v = NULL;
		size_t n = sizeof(front) - 1;

		memcpy(text, front, n);
		text[n++] = (char)op;
		memcpy(text + n, back, sizeof(back) - 1);
		n += sizeof(back) - 1;
		int r = read_exactly(text, n, &v, NULL);
		assert_true(r == 0 || r == -EPERM || r == -EBADMSG || r == -E2BIG);
		if (r == 0)
			value_free(v);
	}
}

static void structures_that_contain_themselves(void **state)
{
	(void)state;
	REFUSE("]q\x00h\x00"
	       "a.",
	       -EPERM, "itself");
	REFUSE("]q\x00(h\x00"
	       "e.",
	       -EPERM, "itself");
	REFUSE("]q\x00(h\x00ta.", -EPERM, "itself");
	REFUSE("]q\x00]h\x00"
	       "aa.",
	       -EPERM, "itself");
	REFUSE("}q\x00S'k'\nh\x00s.", -EPERM, "itself");
	REFUSE("}q\x00(S'k'\nh\x00u.", -EPERM, "itself");
	REFUSE("}q\x00S'k'\n]h\x00"
	       "as.",
	       -EPERM, "itself");
	REFUSE("]2a.", -EPERM, "itself");
	/* growing what is inside of something else already */
	REFUSE("]q\x00]q\x01h\x00"
	       "a0h\x00h\x01"
	       "a.",
	       -EPERM, "itself");
	/* the same thing twice is fine */
	CHECK("]q\x00]q\x01h\x00"
	      "ah\x00"
	      "a.",
	      "[[],[]]");
}

static void bombs(void **state)
{
	_cleanup_strbuf_ struct strbuf p = STRBUF_INIT;

	(void)state;
	/* each list holds the one before it twice: 2^30 values in 300 bytes */
	strbuf_add(&p, "]q\x00", 3);
	for (char i = 1; i <= 30; i++) {
		char twice[] = {']', '(', 'h', (char)(i - 1), 'h', (char)(i - 1), 'e', 'q', i};

		strbuf_add(&p, twice, sizeof(twice));
	}
	strbuf_addstr(&p, ".");
	refuse(p.buf, p.len, -E2BIG, "written out");
}

/* A long text that is referred to over and over: small in the file, gigabytes when written out. */
static void long_texts_shared(void **state)
{
	_cleanup_strbuf_ struct strbuf p = STRBUF_INIT;
	_cleanup_free_ char *text = malloc(1 << 20);

	(void)state;
	memset(text, 'x', 1 << 20);
	strbuf_add(&p, "X\x00\x00\x10\x00", 5);
	strbuf_add(&p, text, 1 << 20);
	strbuf_add(&p,
		   "q\x00"
		   "0](",
		   5);
	for (int i = 0; i < 20000; i++)
		strbuf_add(&p, "h\x00", 2);
	strbuf_addstr(&p, "e.");
	refuse(p.buf, p.len, -E2BIG, "");
}

static void too_deep(void **state)
{
	_cleanup_strbuf_ struct strbuf p = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < VALUE_DEPTH_MAX; i++)
		strbuf_addch(&p, ']');
	strbuf_addch(&p, 'N');
	for (int i = 0; i < VALUE_DEPTH_MAX; i++)
		strbuf_addch(&p, 'a');
	strbuf_addch(&p, '.');
	_cleanup_value_ struct value *v = NULL;
	assert_int_equal(read_exactly(p.buf, p.len, &v, NULL), 0);
	_cleanup_free_ char *json = json_of(v);
	assert_int_equal(strspn(json, "["), VALUE_DEPTH_MAX);
	strbuf_reset(&p);
	strbuf_addch(&p, 'N');
	for (int i = 0; i < 100000; i++)
		strbuf_addch(&p, '\x85'); /* TUPLE1 */
	strbuf_addch(&p, '.');
	refuse(p.buf, p.len, -E2BIG, "deeper");
	strbuf_reset(&p);
	for (int i = 0; i < 100000; i++)
		strbuf_addch(&p, ']');
	for (int i = 0; i < 99999; i++)
		strbuf_addch(&p, 'a');
	strbuf_addch(&p, '.');
	refuse(p.buf, p.len, -E2BIG, "");
}

static void too_many(void **state)
{
	_cleanup_strbuf_ struct strbuf p = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < 70000; i++)
		strbuf_addch(&p, 'N');
	refuse(p.buf, p.len, -E2BIG, "stack");
	strbuf_reset(&p);
	for (int i = 0; i < 70000; i++)
		strbuf_addch(&p, '(');
	refuse(p.buf, p.len, -E2BIG, "stack");
	strbuf_reset(&p);
	for (int i = 0; i <= VALUE_NODES_MAX; i++)
		strbuf_addstr(&p, "N0");
	refuse(p.buf, p.len, -E2BIG, "values");
	REFUSE("Nr\xff\xff\xff\xff.", -E2BIG, "remembered");
	REFUSE("Np99999999999999999999\n.", -E2BIG, "remembered");
	strbuf_reset(&p);
	strbuf_addch(&p, '}');
	for (unsigned i = 0; i <= VALUE_PAIRS_MAX; i++) {
		unsigned char set[] = {'M', (unsigned char)i, (unsigned char)(i >> 8), 'N', 's'};

		strbuf_add(&p, set, sizeof(set));
	}
	strbuf_addch(&p, '.');
	/* look-ups are linear: once is slow enough */
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *v = NULL;
	assert_int_equal(read_exactly(p.buf, p.len, &v, &why), -E2BIG);
	assert_contains(why.buf, "keys");
}

static void damaged(void **state)
{
	(void)state;
	REFUSE("", -EBADMSG, "ends");
	REFUSE(".", -EBADMSG, "missing");
	REFUSE("(.", -EBADMSG, "missing");
	REFUSE("a.", -EBADMSG, "missing");
	REFUSE("Na.", -EBADMSG, "missing");
	REFUSE("NNa.", -EBADMSG, "missing");
	REFUSE("]a.", -EBADMSG, "missing");
	REFUSE("}NNa.", -EBADMSG, "missing");
	REFUSE("}Ns.", -EBADMSG, "missing");
	REFUSE("]NNs.", -EBADMSG, "missing");
	REFUSE("e.", -EBADMSG, "mark");
	REFUSE("(e.", -EBADMSG, "missing");
	REFUSE("N(e.", -EBADMSG, "missing");
	REFUSE("](u.", -EBADMSG, "missing");
	REFUSE("}(Nu.", -EBADMSG, "key without value");
	REFUSE("(Nd.", -EBADMSG, "key without value");
	REFUSE("t.", -EBADMSG, "mark");
	REFUSE("0.", -EBADMSG, "missing");
	REFUSE("1.", -EBADMSG, "mark");
	REFUSE("2.", -EBADMSG, "missing");
	REFUSE("(2.", -EBADMSG, "missing");
	REFUSE("\x85.", -EBADMSG, "missing");
	REFUSE("N(\x86.", -EBADMSG, "missing");
	REFUSE("NN\x87.", -EBADMSG, "missing");
	REFUSE("q\x00.", -EBADMSG, "remember");
	REFUSE("(q\x00.", -EBADMSG, "remember");
	REFUSE("h\x00.", -EBADMSG, "never");
	REFUSE("Nq\x05h\x04.", -EBADMSG, "never");
	REFUSE("gx\n.", -EBADMSG, "never");
	REFUSE("R.", -EBADMSG, "missing");
	REFUSE("\x93.", -EBADMSG, "missing");
	REFUSE("NN\x93.", -EBADMSG, "name");
	/* a callable is no value */
	REFUSE("cdatetime\ndatetime\n.", -EBADMSG, "missing");
	REFUSE("](cdatetime\ndatetime\ne.", -EBADMSG, "missing");
	REFUSE("cdatetime\ndatetime\n\x85.", -EBADMSG, "missing");
	REFUSE("}cdatetime\ndatetime\nNs.", -EBADMSG, "missing");
	/* nor can a container be a key */
	REFUSE("}]Ns.", -EBADMSG, "key");
	REFUSE("}(}Nu.", -EBADMSG, "key");
	REFUSE("I\n.", -EBADMSG, "number");
	REFUSE("Ix\n.", -EBADMSG, "number");
	REFUSE("I99999999999999999999\n.", -EBADMSG, "number");
	REFUSE("L1LL\n.", -EBADMSG, "number");
	REFUSE("F\n.", -EBADMSG, "number");
	REFUSE("Fx\n.", -EBADMSG, "number");
	REFUSE("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00.", -EBADMSG, "large");
	REFUSE("X\xff\xff\xff\xff"
	       "abc.",
	       -EBADMSG, "ends");
	REFUSE("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
	       "abc.",
	       -EBADMSG, "ends");
	REFUSE("\x8b\xff\xff\xff\xff.", -EBADMSG, "ends");
}

static void times_that_are_none(void **state)
{
	(void)state;
#define TIME(state) "cdatetime\ndatetime\nC\x0a" state "\x85R."
	CHECK(TIME("\x07\xe2\x0c\x1f\x17\x3b\x3b\x0f\x42\x3f"), "\"2018-12-31T23:59:59.999999\"");
	REFUSE(TIME("\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00"), -EBADMSG, "none");
	REFUSE(TIME("\x27\x10\x01\x01\x00\x00\x00\x00\x00\x00"), -EBADMSG, "none");
	REFUSE(TIME("\x07\xe2\x00\x01\x00\x00\x00\x00\x00\x00"), -EBADMSG, "none");
	REFUSE(TIME("\x07\xe2\x0d\x01\x00\x00\x00\x00\x00\x00"), -EBADMSG, "none");
	REFUSE(TIME("\x07\xe2\x01\x00\x00\x00\x00\x00\x00\x00"), -EBADMSG, "none");
	REFUSE(TIME("\x07\xe2\x01\x20\x00\x00\x00\x00\x00\x00"), -EBADMSG, "none");
	REFUSE(TIME("\x07\xe2\x01\x01\x18\x00\x00\x00\x00\x00"), -EBADMSG, "none");
	REFUSE(TIME("\x07\xe2\x01\x01\x00\x3c\x00\x00\x00\x00"), -EBADMSG, "none");
	REFUSE(TIME("\x07\xe2\x01\x01\x00\x00\x3c\x00\x00\x00"), -EBADMSG, "none");
	REFUSE(TIME("\x07\xe2\x01\x01\x00\x00\x00\x0f\x42\x40"), -EBADMSG, "none");
	REFUSE("cdatetime\ndatetime\nC\x09\x07\xe2\x01\x01\x00\x00\x00\x00\x00\x85R.", -EBADMSG,
	       "none");
	REFUSE("cdatetime\ndatetime\n)R.", -EBADMSG, "none");
	REFUSE("cdatetime\ndatetime\nK\x05\x85R.", -EBADMSG, "none");
	REFUSE("cdatetime\ntimezone\n)R.", -EBADMSG, "none");
	REFUSE("cdatetime\ntimezone\nK\x05\x85R.", -EBADMSG, "none");
	REFUSE("cdatetime\ntimezone\ncdatetime\ntimedelta\nK\x05K\x00K\x00\x87R\x85R.", -EBADMSG,
	       "none");
	REFUSE("cdatetime\ntimedelta\n\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85R.", -EBADMSG,
	       "none");
	REFUSE("cdatetime\ntimedelta\nK\x00\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x86R.",
	       -EBADMSG, "none");
	CHECK("cdatetime\ntimedelta\n)R.", "0");
#undef TIME
}

/* The way bytes are written in protocols 0 to 2; other codecs would mean something else. */
static void bytes_as_calls(void **state)
{
	(void)state;
	CHECK("c_codecs\nencode\n(Vab\xe4\nVlatin1\ntR.", "\"ab\xef\xbf\xbd\"");
	REFUSE("c_codecs\nencode\n(V\\u0100\nVlatin1\ntR.", -EBADMSG, "none");
	REFUSE("c_codecs\nencode\n)R.", -EBADMSG, "none");
	REFUSE("c_codecs\nencode\n(I5\nVlatin1\ntR.", -EBADMSG, "none");
}

static void another_codec_is_not_latin1(void **state)
{
	struct value *v = NULL;
	static const char rot13[] = "c_codecs\nencode\n(Vabc\nVrot_13\ntR.";

	(void)state;
	/* Python makes "nop" of this: to say "abc" would be wrong, to refuse it is right */
	int r = read_exactly(rot13, sizeof(rot13) - 1, &v, NULL);
	if (r == 0)
		value_free(v);
	assert_true(r == -EPERM || r == -EBADMSG);
}

/* ---- damage of all kinds -------------------------------------------------------------------- */

static void cut_at_every_length(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pickles); i++) {
		if (!str_prefix(pickles[i].name, "long"))
			for (size_t n = 0; n < pickles[i].size; n++) {
				struct value *v = NULL;

				if (read_exactly(pickles[i].data, n, &v, NULL) != -EBADMSG)
					fail_msg("%s, protocol %d, cut to %zu", pickles[i].name,
						 pickles[i].protocol, n);
			}
	}
}

static void random_mutations(void **state)
{
	uint64_t seed = 20261115;
	unsigned good = 0, rounds = 10000;

	(void)state;
	for (unsigned round = 0; round < rounds; round++) {
		const struct pickle_fixture *f = &pickles[random_next(&seed) % ARRAY_SIZE(pickles)];
		struct value *v = NULL;

		if (str_prefix(f->name, "long"))
			continue;
		char *copy = exact_copy(f->data, f->size);
		for (unsigned i = 0, n = 1 + (unsigned)(random_next(&seed) % 4); i < n; i++)
			copy[random_next(&seed) % f->size] = (char)random_next(&seed);
		int r = pickle_read(copy, f->size, &v, NULL);
		free(copy);
		if (r != 0) {
			assert_true(r == -EBADMSG || r == -EPERM || r == -E2BIG);
			assert_null(v);
			continue;
		}
		/* whatever it is, it can be written in every form */
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, again = STRBUF_INIT;
		free(json_of(v));
		value_to_python(v, &text, true);
		pickle_write(v, &again);
		value_free(v);
		assert_int_equal(read_exactly(again.buf, again.len, &v, NULL), 0);
		value_free(v);
		good++;
	}
	/* changed texts and numbers are still data */
	assert_true(good > 100 && good < rounds / 2);
}

/* ---- the writer ----------------------------------------------------------------------------- */

static void what_is_written_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pickles); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
		struct value *v = NULL;

		assert_int_equal(read_exactly(pickles[i].data, pickles[i].size, &v, NULL), 0);
		pickle_write(v, &out);
		assert_memory_equal(out.buf, "\x80\x03", 2);
		assert_int_equal(out.buf[out.len - 1], '.');
		check(out.buf, out.len, pickles[i].json);
		value_free(v);
	}
}

static void kinds_are_written(void **state)
{
	struct value *list = value_new(VALUE_LIST), *bytes = value_strn("\0\xff", 2);
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	(void)state;
	bytes->kind = VALUE_BYTES;
	value_append(list, bytes);
	value_append(list, value_new(VALUE_TUPLE));
	value_append(list, value_new(VALUE_DICT));
	value_append(list, value_new(VALUE_NONE));
	value_append(list, value_bool(false));
	value_append(list, value_int(-129));
	pickle_write(list, &out);
	value_free(list);
	_cleanup_value_ struct value *v = NULL;
	assert_int_equal(read_exactly(out.buf, out.len, &v, NULL), 0);
	static const enum value_kind kinds[] = {VALUE_BYTES, VALUE_TUPLE, VALUE_DICT,
						VALUE_NONE,  VALUE_BOOL,  VALUE_INT};
	assert_int_equal(v->list.count, ARRAY_SIZE(kinds));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		assert_int_equal(v->list.items[i]->kind, kinds[i]);
	assert_int_equal(v->list.items[0]->str.size, 2);
	assert_memory_equal(v->list.items[0]->str.data, "\0\xff", 2);
	assert_int_equal(v->list.items[5]->integer, -129);
}

/* The environment may hold any bytes; what `start` writes, `stop` reads and writes again. */
static void bytes_that_are_no_text_survive(void **state)
{
	static const char odd[] = "a\xff\xc3\xa4\xed\xb3\xbf\x80z";
	struct value *v = value_str(odd);

	(void)state;
	for (int round = 0; round < 3; round++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

		pickle_write(v, &out);
		value_free(v);
		assert_int_equal(read_exactly(out.buf, out.len, &v, NULL), 0);
		if (v->str.size != sizeof(odd) - 1 || memcmp(v->str.data, odd, v->str.size) != 0)
			fail_msg("%zu bytes became %zu in round %d", sizeof(odd) - 1, v->str.size,
				 round + 1);
	}
	value_free(v);
}

static int python(const char *program, const char *path)
{
	_cleanup_free_ char *command = xasprintf("python3 -c '%s' '%s' 2>/dev/null", program, path);

	return system(command);
}

/* And the one that all this is for agrees. */
static void python_reads_it(void **state)
{
	if (python("pass", "") != 0)
		skip_because("there is no python3");
	_cleanup_free_ char *path = xasprintf("%s/pickle", (char *)*state);
	for (size_t i = 0; i < ARRAY_SIZE(pickles); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
		struct value *v = NULL;

		/* one protocol is enough: it is our bytes that Python reads */
		if (pickles[i].protocol != 3)
			continue;
		int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		assert_int_equal(read_exactly(pickles[i].data, pickles[i].size, &v, NULL), 0);
		pickle_write(v, &out);
		value_free(v);
		assert_int_equal(write(fd, out.buf, out.len), (ssize_t)out.len);
		assert_int_equal(write(fd, pickles[i].data, pickles[i].size),
				 (ssize_t)pickles[i].size);
		close(fd);
	}
	/* ours and its own by turns are equal */
	assert_int_equal(python("import pickle, sys\n"
				"f = open(sys.argv[1], \"rb\")\n"
				"n = 0\n"
				"while f.peek(1):\n"
				"    assert pickle.load(f) == pickle.load(f)\n"
				"    n += 1\n"
				"assert n > 5\n",
				path),
			 0);
}

/* ---- real files ----------------------------------------------------------------------------- */

static unsigned real_files, real_failures;

static int try_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;

	if (type != FTW_F || strcmp(path + at->base, "job_metadata") != 0)
		return 0;
	size_t n = (size_t)st->st_size;
	_cleanup_free_ char *data = malloc(n + 1);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, data, n + 1), (ssize_t)n);
	real_files++;
	if (pickle_read(data, n, &v, &why) < 0 || !value_get_str(v, "job_pl_id")) {
		print_error("%s: %s\n", path, why.buf);
		real_failures++;
	}
	return 0;
}

static void files_of_real_jobs(void **state)
{
	const char *data = getenv("PLIMSOLL_TEST_DATA"), *source = getenv("PL_SOURCE");

	(void)state;
	_cleanup_free_ char *path = data     ? xasprintf("%s/epmt", data)
				    : source ? xasprintf("%s/../shared/data/epmt", source)
					     : NULL;
	if (!path || access(path, R_OK) != 0) {
		free(path);
		path = NULL;
		skip_because("no sample data beside the project");
	}
	assert_int_equal(nftw(path, try_file, 16, FTW_PHYS), 0);
	assert_int_equal(real_failures, 0);
	assert_true(real_files > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_protocol),
		cmocka_unit_test(kinds_are_kept),
		cmocka_unit_test(instructions_that_python_seldom_writes),
		cmocka_unit_test(quoted_texts),
		cmocka_unit_test(raw_unicode),
		cmocka_unit_test(calls_that_are_not_data),
		cmocka_unit_test(instructions_that_are_not_data),
		cmocka_unit_test(every_instruction),
		cmocka_unit_test(structures_that_contain_themselves),
		cmocka_unit_test(bombs),
		cmocka_unit_test(long_texts_shared),
		cmocka_unit_test(too_deep),
		cmocka_unit_test(too_many),
		cmocka_unit_test(damaged),
		cmocka_unit_test(times_that_are_none),
		cmocka_unit_test(bytes_as_calls),
		cmocka_unit_test(another_codec_is_not_latin1),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(random_mutations),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(kinds_are_written),
		cmocka_unit_test(bytes_that_are_no_text_survive),
		cmocka_unit_test_setup_teardown(python_reads_it, scratch_setup, scratch_teardown),
		cmocka_unit_test(files_of_real_jobs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
