/*
 * The reader of Python pickles: what is not plain data is refused, and nothing that a file holds
 * does harm.
 */
#include "pickle.h"

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
	REFUSE(TIME("\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00"), -EBADMSG, "invalid date");
	REFUSE(TIME("\x27\x10\x01\x01\x00\x00\x00\x00\x00\x00"), -EBADMSG, "invalid date");
	REFUSE(TIME("\x07\xe2\x00\x01\x00\x00\x00\x00\x00\x00"), -EBADMSG, "invalid date");
	REFUSE(TIME("\x07\xe2\x0d\x01\x00\x00\x00\x00\x00\x00"), -EBADMSG, "invalid date");
	REFUSE(TIME("\x07\xe2\x01\x00\x00\x00\x00\x00\x00\x00"), -EBADMSG, "invalid date");
	REFUSE(TIME("\x07\xe2\x01\x20\x00\x00\x00\x00\x00\x00"), -EBADMSG, "invalid date");
	REFUSE(TIME("\x07\xe2\x01\x01\x18\x00\x00\x00\x00\x00"), -EBADMSG, "invalid date");
	REFUSE(TIME("\x07\xe2\x01\x01\x00\x3c\x00\x00\x00\x00"), -EBADMSG, "invalid date");
	REFUSE(TIME("\x07\xe2\x01\x01\x00\x00\x3c\x00\x00\x00"), -EBADMSG, "invalid date");
	REFUSE(TIME("\x07\xe2\x01\x01\x00\x00\x00\x0f\x42\x40"), -EBADMSG, "invalid date");
	REFUSE("cdatetime\ndatetime\nC\x09\x07\xe2\x01\x01\x00\x00\x00\x00\x00\x85R.", -EBADMSG,
	       "invalid date");
	REFUSE("cdatetime\ndatetime\n)R.", -EBADMSG, "invalid date");
	REFUSE("cdatetime\ndatetime\nK\x05\x85R.", -EBADMSG, "invalid date");
	REFUSE("cdatetime\ntimezone\n)R.", -EBADMSG, "invalid date");
	REFUSE("cdatetime\ntimezone\nK\x05\x85R.", -EBADMSG, "invalid date");
	REFUSE("cdatetime\ntimezone\ncdatetime\ntimedelta\nK\x05K\x00K\x00\x87R\x85R.", -EBADMSG,
	       "invalid date");
	REFUSE("cdatetime\ntimedelta\n\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85R.", -EBADMSG,
	       "invalid date");
	REFUSE("cdatetime\ntimedelta\nK\x00\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x86R.",
	       -EBADMSG, "invalid date");
	CHECK("cdatetime\ntimedelta\n)R.", "0");
#undef TIME
}

/* The way bytes are written in protocols 0 to 2; other codecs would mean something else. */
static void bytes_as_calls(void **state)
{
	(void)state;
	CHECK("c_codecs\nencode\n(Vab\xe4\nVlatin1\ntR.", "\"ab\xef\xbf\xbd\"");
	REFUSE("c_codecs\nencode\n(V\\u0100\nVlatin1\ntR.", -EBADMSG, "invalid date");
	REFUSE("c_codecs\nencode\n)R.", -EBADMSG, "invalid date");
	REFUSE("c_codecs\nencode\n(I5\nVlatin1\ntR.", -EBADMSG, "invalid date");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
