/* Formulas, the files of event groups, and which of them is for a CPU. */
#include "unit.h"

#include <errno.h>
#include <math.h>

#include "sources/counters/counters_groups.h"

/* ---- formulas ------------------------------------------------------------------------------- */

/* a, b, c are variables 0, 1, 2. */
static int letters(void *user, const char *name, size_t n)
{
	(void)user;
	return n == 1 && *name >= 'a' && *name <= 'c' ? *name - 'a' : -1;
}

static double value_of(const char *text, double a, double b, double c)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const double variables[] = {a, b, c};
	struct formula f;
	double v = -1;

	if (formula_parse(&f, text, letters, NULL, &why) < 0)
		fail_msg("'%s': %s", text, why.buf);
	return formula_value(&f, variables, &v) ? v : NAN;
}

static void formulas_are_arithmetic(void **state)
{
	static const struct {
		const char *text;
		double want; /* with a = 7, b = 2, c = 0.5 */
	} cases[] = {
		{"a", 7},
		{"42", 42},
		{"a + b * c", 8},
		{"(a + b) * c", 4.5},
		{"a - b - c", 4.5},
		{"a - (b - c)", 5.5},
		{"a / b / c", 7},
		{"a / (b / c)", 1.75},
		{"64 * a / 1e3", 0.448},
		{"2.5e-1*b", 0.5},
		{"1E+2", 100},
		{".5 * b", 1},
		{"3. + b", 5},
		{"-a + b", -5},
		{"--a", 7},
		{"-(a + b) * -c", 4.5},
		{"\t a\t+ b ", 9},
		{"2-1", 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (fabs(value_of(cases[i].text, 7, 2, 0.5) - cases[i].want) > 1e-12)
			fail_msg("'%s' is %.17g, want %.17g", cases[i].text,
				 value_of(cases[i].text, 7, 2, 0.5), cases[i].want);
}

static void what_has_no_value_is_absent(void **state)
{
	(void)state;
	assert_true(isnan(value_of("a / b", 1, 0, 0)));
	assert_true(isnan(value_of("a / (b - b)", 1, 5, 0)));
	assert_true(isnan(value_of("0 * (a / b)", 1, 0, 0)));
	assert_true(isnan(value_of("a + b", NAN, 1, 0)));
	assert_true(isnan(value_of("a * a * a", 1e200, 1, 0)));
	/* only what the formula uses need be there */
	assert_true(value_of("a + b", 1, 2, NAN) == 3);
}

static void wrong_formulas_are_refused_with_the_place(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "a name, a number or '(' is missing at character 1"},
		{"a +", "missing at character 4"},
		{"a b", "something unexpected at character 3"},
		{"(a + b", "')' is missing at character 7"},
		{"a)", "something unexpected at character 2"},
		{"a + d", "no event of the group and not 'time' at character 5"},
		{"a % b", "something unexpected at character 3"},
		{"2x", "no number at character 1"},
		{"1.2.3", "no number at character 1"},
		{"1e", "no number"},
		{"1e999", "no number"},
		{".", "no number"},
		{"1234567890123456789012345678901234567890123", "no number"},
		{"a * * b", "missing at character 5"},
		{"((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))", "too deep"},
		{"------------------------------a", "too deep"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct formula f;

		assert_int_equal(formula_parse(&f, cases[i].text, letters, NULL, &why), -EINVAL);
		assert_contains(why.buf, cases[i].why);
	}
}

static void long_formulas_have_an_end(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	struct formula f;
	double one = 1, v;

	(void)state;
	strbuf_addstr(&text, "a");
	while (text.len < 2 * 47)
		strbuf_addstr(&text, "+a");
	assert_int_equal(formula_parse(&f, text.buf, letters, NULL, &why), 0);
	assert_true(formula_value(&f, &one, &v) && v == 48);
	strbuf_addstr(&text, "+a");
	assert_int_equal(formula_parse(&f, text.buf, letters, NULL, &why), -EINVAL);
	assert_contains(why.buf, "too long");
}

/* ---- files ---------------------------------------------------------------------------------- */

static void add_file(const char *dir, const char *name, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s.groups", dir, name);

	write_file(path, text, strlen(text));
}

static const char base[] = "# of any CPU\n"
			   "group hardware_events what all have\n"
			   "event cycles PERF_COUNT_HW_CPU_CYCLES cycles of the core\n"
			   "event instructions PERF_COUNT_HW_INSTRUCTIONS instructions completed\n"
			   "\n"
			   "group IPC the speed\n"
			   "event cycles PERF_COUNT_HW_CPU_CYCLES cycles of the core\n"
			   "value rate 1/s cycles / time ; cycles a second\n";

static void a_file_is_read(void **state)
{
	const char *dir = *state;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct groups g;

	add_file(dir, "base", base);
	add_file(dir, "lake",
		 "pmu xyz xyz_ep\n"
		 "cpu GenuineIntel 6 85 5-7\n"
		 "cpu GenuineIntel 6 0x6a\n"
		 "include base\n"
		 "group IPC another one\r\n"
		 "  event  cycles\tPERF_COUNT_HW_CPU_CYCLES   cycles of the core  \n"
		 "event instructions PERF_COUNT_HW_INSTRUCTIONS instructions completed\n"
		 "value ipc ratio instructions / cycles ; instructions a cycle\n"
		 "value gips 1/s instructions / time ; a second; or so\n"
		 "group MEM the machine's\n"
		 "system reads uncore_imc/cas_count_read lines read\n"
		 "value volume bytes 64 * reads ; bytes read"); /* no newline at the end */
	if (groups_load(&g, dir, "lake", &why) < 0)
		fail_msg("%s", why.buf);
	assert_string_equal(g.name, "lake");
	assert_int_equal(g.pmu_count, 2);
	assert_string_equal(g.pmus[1], "xyz_ep");
	assert_int_equal(g.cpu_count, 2);
	assert_int_equal(g.group_count, 3);
	const struct group *ipc = groups_find(&g, "IPC");
	assert_non_null(ipc);
	assert_string_equal(ipc->help, "another one");
	/* the included one was replaced whole */
	assert_int_equal(ipc->event_count, 2);
	assert_string_equal(ipc->events[0].help, "cycles of the core");
	assert_int_equal(ipc->value_count, 2);
	assert_string_equal(ipc->values[0].name, "ipc");
	assert_string_equal(ipc->values[0].text, "instructions / cycles");
	assert_int_equal(ipc->values[0].unit, UNIT_RATIO);
	assert_string_equal(ipc->values[1].help, "a second; or so");
	const double variables[] = {200, 500, 4}; /* cycles, instructions, time */
	double v;
	assert_true(formula_value(&ipc->values[0].formula, variables, &v) && v == 2.5);
	assert_true(formula_value(&ipc->values[1].formula, variables, &v) && v == 125);
	const struct group *mem = groups_find(&g, "MEM");
	assert_true(mem && mem->system && mem->values[0].unit == UNIT_BYTES);
	assert_false(ipc->system);
	assert_null(groups_find(&g, "ipc"));
	groups_release(&g);
}

static void a_wrong_line_is_named(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"groupe X y\n", "x.groups, line 1: unknown keyword 'groupe'"},
		{"\n# c\ngroup X\n", "line 3: 'group' needs a name and an explanation"},
		{"group 2X y\n", "'group' needs a name"},
		{"group X-Y y\n", "'group' needs a name"},
		{"event a rc0 b\n", "an event outside of a group"},
		{"value a ratio b ; c\n", "a value outside of a group"},
		{"group X y\nvalue a ratio time ; c\n", "before its events"},
		{"group X y\nevent A rc0 b\n", "an event needs a name in lower case"},
		{"group X y\nevent time rc0 b\n", "an event needs a name"},
		{"group X y\nevent a rc0\n", "an event needs a name"},
		{"group X y\nevent a rc0 b\nevent a rc0 b\n", "event 'a' twice"},
		{"group X y\nevent a rc0 b\ngroup Z y\nevent a rc1 b\n",
		 "line 4: 'a' is another event in group 'X'"},
		{"group X y\nevent a rc0 b\nsystem c p/e d\n", "in one group"},
		{"group X y\nevent a rc0 b\nvalue v ratio a ; c\nevent d rc1 e\n",
		 "follows the values of its group"},
		{"group X y\nevent a rc0 b\nvalue v miles a ; c\n", "unknown unit 'miles'"},
		{"group X y\nevent a rc0 b\nvalue v ratio a\n", "explanation behind a ';'"},
		{"group X y\nevent a rc0 b\nvalue v ratio z / a ; c\n",
		 "value 'v': no event of the group and not 'time' at character 1"},
		{"group X y\nevent a rc0 b\nvalue v ratio a ; c\nvalue v ratio a ; c\n",
		 "value 'v' twice"},
		{"group X y\nevent a rc0 b\ngroup X y\n", "group 'X' is defined twice"},
		{"group X y\n", "group 'X' has no event"},
		{"cpu GenuineIntel 6\n", "'cpu' needs a vendor"},
		{"cpu GenuineIntel 6 9-3\n", "'cpu' needs a vendor"},
		{"cpu GenuineIntel six 9\n", "'cpu' needs a vendor"},
		{"cpu GenuineIntelAndMore 6 9\n", "'cpu' needs a vendor"},
		{"cpu GenuineIntel 6 9 1 2\n", "'cpu' needs a vendor"},
		{"pmu a\npmu b\n", "more than one line 'pmu'"},
		{"pmu a b c d e\n", "one too many"},
		{"include nothing\n", "cannot include"},
		{"include ../base\n", "cannot include '../base'"},
		{"include x\n", "cannot include 'x'"}, /* itself, for ever */
	};
	const char *dir = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct groups g;

		add_file(dir, "x", cases[i].text);
		assert_int_equal(groups_load(&g, dir, "x", &why), -EINVAL);
		assert_contains(why.buf, cases[i].why);
		assert_null(g.groups);
	}
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct groups g;
	assert_int_equal(groups_load(&g, dir, "absent", &why), -ENOENT);
	assert_contains(why.buf, "no event groups for 'absent'");
	assert_int_equal(groups_load(&g, dir, "../etc/x", &why), -ENOENT);
}

static void files_are_bounded(void **state)
{
	const char *dir = *state;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	struct groups g;

	for (int i = 0; i < 50; i++)
		strbuf_addf(&text, "group g%d x\nevent e%d rc0 x\n", i, i);
	assert_int_equal(groups_parse(&g, dir, "x", text.buf, &why), -EINVAL);
	assert_contains(why.buf, "more than 48 groups");
	strbuf_reset(&text);
	strbuf_reset(&why);
	strbuf_addstr(&text, "group g x\n");
	for (int i = 0; i < 14; i++)
		strbuf_addf(&text, "event e%d rc0 x\n", i);
	assert_int_equal(groups_parse(&g, dir, "x", text.buf, &why), -EINVAL);
	assert_contains(why.buf, "more than 12 events");
	/* a file that includes a file that includes ... many times over ends soon */
	strbuf_reset(&text);
	strbuf_reset(&why);
	for (int i = 0; i < 1000; i++)
		strbuf_addstr(&text, "include base\n");
	add_file(dir, "base", base);
	assert_int_equal(groups_parse(&g, dir, "x", text.buf, &why), -EINVAL);
	assert_contains(why.buf, "x.groups, line 17: cannot include 'base'");
}

/* ---- this CPU ------------------------------------------------------------------------------- */

static void identify(const char *dir, const char *text, struct cpu_identity *cpu, int want)
{
	_cleanup_free_ char *proc = xasprintf("%s/proc", dir);
	_cleanup_free_ char *path = xasprintf("%s/proc/cpuinfo", dir);

	(void)mkdir(proc, 0700);
	write_file(path, text, strlen(text));
	assert_int_equal(cpu_identify(dir, cpu), want);
}

static void the_file_of_a_cpu(void **state)
{
	const char *dir = *state;
	struct cpu_identity cpu;
	static const struct {
		const char *vendor;
		unsigned family, model, stepping;
		const char *want;
	} cases[] = {
		{"GenuineIntel", 6, 44, 2, "westmere"},
		{"GenuineIntel", 6, 45, 7, "sandybridge"},
		{"GenuineIntel", 6, 62, 4, "ivybridge"},
		{"GenuineIntel", 6, 63, 2, "haswell"},
		{"GenuineIntel", 6, 70, 1, "haswell"},
		{"GenuineIntel", 6, 79, 1, "broadwell"},
		{"GenuineIntel", 6, 94, 3, "skylake"},
		{"GenuineIntel", 6, 85, 4, "skylake_avx512"},
		{"GenuineIntel", 6, 85, 7, "cascadelake"},
		{"GenuineIntel", 6, 85, 11, "cascadelake"},
		{"GenuineIntel", 6, 126, 5, "icelake"},
		{"GenuineIntel", 6, 106, 6, "icelake_server"},
		{"GenuineIntel", 6, 143, 8, "sapphirerapids"},
		{"AuthenticAMD", 23, 1, 2, "zen"},
		{"HygonGenuine", 24, 1, 1, "zen"},
		{"AuthenticAMD", 23, 49, 0, "zen2"},
		{"AuthenticAMD", 25, 1, 1, "zen3"},
		{"AuthenticAMD", 25, 33, 0, "zen3"},
		{"AuthenticAMD", 25, 17, 1, "zen4"},
		{"AuthenticAMD", 25, 97, 2, "zen4"},
		{"0x41", 8, 0xd0c, 0, "neoverse_n1"},
		{"0x41", 8, 0xd40, 0, "neoverse_v1"},
		{"0x41", 8, 0xd49, 0, "neoverse_n2"},
		{"0x41", 8, 0xd4f, 0, "neoverse_v2"},
		{"GenuineIntel", 15, 4, 1, "generic"},
		{"GenuineIntel", 6, 15, 1, "generic"},
		{"AuthenticAMD", 16, 2, 1, "generic"},
		{"0x48", 8, 0xd01, 0, "generic"},
	};
	_cleanup_free_ char *data = xasprintf("%s/data/events", getenv("PL_SOURCE"));

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
		struct groups g;

		if (cases[i].vendor[0] == '0')
			strbuf_addf(&text,
				    "processor\t: 0\nBogoMIPS\t: 50.00\n"
				    "CPU implementer\t: %s\nCPU architecture: 8\n"
				    "CPU variant\t: 0x3\nCPU part\t: 0x%x\nCPU revision\t: 1\n\n",
				    cases[i].vendor, cases[i].model);
		else
			strbuf_addf(&text,
				    "processor\t: 0\nvendor_id\t: %s\ncpu family\t: %u\n"
				    "model\t\t: %u\nmodel name\t: Some CPU\nstepping\t: %u\n\n"
				    "processor\t: 1\nvendor_id\t: Other\n",
				    cases[i].vendor, cases[i].family, cases[i].model,
				    cases[i].stepping);
		identify(dir, text.buf, &cpu, 0);
		assert_string_equal(cpu.vendor, cases[i].vendor);
		assert_int_equal(cpu.family, cases[i].family);
		assert_int_equal(cpu.model, cases[i].model);
		assert_int_equal(cpu.stepping, cases[i].stepping);
		assert_int_equal(groups_load_for(&g, data, &cpu, &why), 0);
		assert_string_equal(g.name, cases[i].want);
		groups_release(&g);
	}
}

static void odd_cpuinfo_is_nobody(void **state)
{
	const char *dir = *state;
	struct cpu_identity cpu;

	assert_int_equal(cpu_identify("/nonexistent", &cpu), -ENOENT);
	identify(dir, "", &cpu, -ENOENT);
	identify(dir, "vendor_id : GenuineIntel\n", &cpu, -ENOENT);
	identify(dir, "vendor_id : AVendorWithALongName\ncpu family : 6\nmodel : 1\n", &cpu,
		 -ENOENT);
	identify(dir, "vendor_id : X\ncpu family : six\nmodel : 1\n", &cpu, -ENOENT);
	identify(dir, "vendor_id : X\ncpu family : 99999999999\nmodel : 1\n", &cpu, -ENOENT);
	identify(dir, "machine : POWER9\nprocessor : 0\n", &cpu, -ENOENT);
}

/* ---- what we ship --------------------------------------------------------------------------- */

static void every_file_has_what_all_have(void **state)
{
	_cleanup_free_ char *data = xasprintf("%s/data/events", getenv("PL_SOURCE"));
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	size_t count;
	char **names;

	(void)state;
	assert_int_equal(groups_list(data, &names, &count, &why), 0);
	assert_true(count >= 20);
	for (size_t i = 0; i < count; i++) {
		struct groups g;

		if (groups_load(&g, data, names[i], &why) < 0)
			fail_msg("%s", why.buf);
		const struct group *hardware = groups_find(&g, "hardware_events");
		const struct group *software = groups_find(&g, "software_events");
		assert_true(hardware && hardware->event_count == 6);
		assert_true(software && software->event_count == 4);
		assert_non_null(groups_find(&g, "IPC"));
		assert_non_null(groups_find(&g, "MISS"));
		bool generic = !strcmp(names[i], "generic");
		assert_int_equal(g.cpu_count == 0, generic);
		assert_int_equal(groups_find(&g, "L2") == NULL, generic);
		assert_int_equal(groups_find(&g, "L2cache") == NULL, generic);
		assert_int_equal(groups_find(&g, "L3") == NULL, generic);
		assert_int_equal(groups_find(&g, "MEM_READ") == NULL, generic);
		groups_release(&g);
	}
	groups_free_names(names, count);
}

/* The bandwidth of a pretend Skylake from numbers that are easy to check by hand. */
static void shipped_formulas_give_the_right_numbers(void **state)
{
	_cleanup_free_ char *data = xasprintf("%s/data/events", getenv("PL_SOURCE"));
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	/* events in their order, then 2 s */
	static const struct {
		const char *arch, *group, *value;
		double variables[8], want;
	} cases[] = {
		{"skylake_avx512", "FLOPS_DP", "flops", {10, 100, 1000, 10000, 2}, 42105},
		{"skylake_avx512", "FLOPS_SP", "flops", {10, 100, 1000, 10000, 2}, 84205},
		{"skylake_avx512", "FLOPS_DP", "vector_ratio", {10, 10, 10, 10, 2}, 0.75},
		{"cascadelake", "FLOPS_DP", "flops", {10, 100, 1000, 10000, 2}, 42105},
		{"broadwell", "FLOPS_DP", "flops", {10, 100, 1000, 2}, 2105},
		{"sandybridge", "FLOPS_SP", "flops", {10, 100, 1000, 2}, 4205},
		/* of 600 packed and 400 scalar, a quarter is double precision: (2 * 600 + 400) / 4
		   / 2 s */
		{"westmere", "FLOPS_DP", "flops", {600, 400, 750, 250, 2}, 200},
		{"zen", "FLOPS_DP", "flops", {5000, 2}, 2500},
		{"zen3", "FLOPS", "flops", {5000, 2}, 2500},
		{"neoverse_v1", "FLOPS", "flops", {1000, 500, 2}, 1000},
		{"neoverse_n2", "FLOPS", "flops", {1000, 500, 2}, 750},
		{"haswell", "L2", "bandwidth", {1000, 200, 50, 2}, 40000},
		{"haswell", "L2", "volume", {1000, 200, 50, 2}, 80000},
		{"icelake_server", "L2cache", "miss_ratio", {10000, 400, 100, 2}, 0.25},
		{"icelake_server", "L2cache", "request_rate", {10000, 400, 100, 2}, 0.04},
		{"icelake_server", "L2cache", "miss_rate", {10000, 400, 100, 2}, 0.01},
		{"skylake", "L3", "load_bandwidth", {1000, 200, 2}, 32000},
		{"skylake", "L3cache", "miss_ratio", {10000, 300, 100, 2}, 0.25},
		{"haswell", "MEM_READ", "bandwidth", {1000, 500, 2}, 48000},
		{"haswell", "MEM_READ", "remote_bandwidth", {1000, 500, 2}, 16000},
		{"zen2", "MEM_READ", "bandwidth", {100, 200, 300, 400, 500, 2}, 48000},
		{"zen4", "L2cache", "miss_ratio", {10000, 600, 50, 200, 100, 100, 2}, 0.25},
		{"sapphirerapids", "MEM", "bandwidth", {1000, 500, 2}, 48000},
		{"generic", "IPC", "ipc", {200, 500, 2}, 2.5},
		{"generic", "IPC", "cpi", {200, 500, 2}, 0.4},
		{"generic", "MISS", "branch_miss_ratio", {1000, 100, 25, 80, 20, 2}, 0.25},
		{"generic", "MISS", "cache_miss_rate", {1000, 100, 25, 80, 20, 2}, 0.02},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct groups g;
		double v = NAN;

		if (groups_load(&g, data, cases[i].arch, &why) < 0)
			fail_msg("%s", why.buf);
		const struct group *group = groups_find(&g, cases[i].group);
		assert_non_null(group);
		bool found = false;
		for (size_t k = 0; k < group->value_count; k++)
			if (!strcmp(group->values[k].name, cases[i].value))
				found = formula_value(&group->values[k].formula, cases[i].variables,
						      &v);
		assert_true(found);
		if (fabs(v - cases[i].want) > 1e-9)
			fail_msg("%s %s.%s is %.17g, want %.17g", cases[i].arch, cases[i].group,
				 cases[i].value, v, cases[i].want);
		groups_release(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formulas_are_arithmetic),
		cmocka_unit_test(what_has_no_value_is_absent),
		cmocka_unit_test(wrong_formulas_are_refused_with_the_place),
		cmocka_unit_test(long_formulas_have_an_end),
		cmocka_unit_test_setup_teardown(a_file_is_read, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(a_wrong_line_is_named, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(files_are_bounded, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(the_file_of_a_cpu, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(odd_cpuinfo_is_nobody, scratch_setup,
						scratch_teardown),
		cmocka_unit_test(every_file_has_what_all_have),
		cmocka_unit_test(shipped_formulas_give_the_right_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
