/*
 * Tables of processors; see microarch.h. Names that archspec does not have (yet) follow its style.
 * archspec goes by instruction sets: Kaby, Coffee and Comet Lake are skylake, Tiger and Rocket Lake
 * icelake, Emerald and Granite Rapids sapphirerapids, Cooper Lake cascadelake, and Alder Lake and
 * its successors, which lack AVX-512, skylake.
 */
#include "jobs/hardware/microarch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"

/* The first row that matches counts. A flag distinguishes steppings. */
struct x86_row {
	const char *vendor;
	int family;
	const char *flag; /* required; NULL: none */
	const char *name;
	const char *models; /* "22-23 29" */
};

#define INTEL "GenuineIntel"
#define AMD "AuthenticAMD"
#define HYGON "HygonGenuine"

static const struct x86_row x86_rows[] = {
	{INTEL, 6, NULL, "core2", "15 22-23 29"},
	{INTEL, 6, NULL, "nehalem", "26 30-31 46"},
	{INTEL, 6, NULL, "westmere", "37 44 47"},
	{INTEL, 6, NULL, "sandybridge", "42 45"},
	{INTEL, 6, NULL, "ivybridge", "58 62"},
	{INTEL, 6, NULL, "haswell", "60 63 69-70"},
	{INTEL, 6, NULL, "broadwell", "61 71 79 86"},
	{INTEL, 6, NULL, "skylake",
	 "78 94 142 158 165-166 151 154 170 172 175 183 186 189-191 197-198"},
	{INTEL, 6, "avx512_vnni", "cascadelake", "85"},
	{INTEL, 6, NULL, "skylake_avx512", "85"},
	{INTEL, 6, NULL, "mic_knl", "87 133"},
	{INTEL, 6, NULL, "cannonlake", "102"},
	{INTEL, 6, NULL, "icelake", "106 108 125-126 140-141 157 167"},
	{INTEL, 6, NULL, "sapphirerapids", "143 207 173-174"},
	{AMD, 16, NULL, "k10", "0-255"},
	{AMD, 18, NULL, "k10", "0-255"},
	{AMD, 21, NULL, "piledriver", "2"},
	{AMD, 21, NULL, "bulldozer", "0-15"},
	{AMD, 21, NULL, "piledriver", "16-31"},
	{AMD, 21, NULL, "steamroller", "48-63"},
	{AMD, 21, NULL, "excavator", "96-127"},
	{AMD, 23, NULL, "zen", "0-47"},
	{AMD, 23, NULL, "zen2", "48-255"},
	{HYGON, 24, NULL, "zen", "0-255"},
	{AMD, 25, NULL, "zen3", "0-15"},
	{AMD, 25, NULL, "zen4", "16-31"},
	{AMD, 25, NULL, "zen3", "32-95"},
	{AMD, 25, NULL, "zen4", "96-127 160-175"},
	{AMD, 26, NULL, "zen5", "0-255"},
};

/* For unknown models: by an instruction set extension, the newest first. */
static const struct {
	const char *vendor, *flag, *name;
} by_flag[] = {
	{INTEL, "amx_tile", "sapphirerapids"},
	{INTEL, "avx512_vbmi2", "icelake"},
	{INTEL, "avx512_vnni", "cascadelake"},
	{INTEL, "avx512vbmi", "cannonlake"},
	{INTEL, "avx512er", "mic_knl"},
	{INTEL, "avx512dq", "skylake_avx512"},
	{INTEL, "xsavec", "skylake"},
	{INTEL, "adx", "broadwell"},
	{INTEL, "avx2", "haswell"},
	{INTEL, "f16c", "ivybridge"},
	{INTEL, "avx", "sandybridge"},
	{INTEL, "aes", "westmere"},
	{INTEL, "sse4_2", "nehalem"},
	{INTEL, "ssse3", "core2"},
	{INTEL, "lm", "nocona"},
	{AMD, "avx512_vp2intersect", "zen5"},
	{AMD, "avx512f", "zen4"},
	{AMD, "vaes", "zen3"},
	{AMD, "clwb", "zen2"},
	{AMD, "clzero", "zen"},
	{AMD, "avx2", "excavator"},
	{AMD, "fma", "piledriver"},
	{AMD, "fma4", "bulldozer"},
	{AMD, "sse4a", "k10"},
};

static const struct {
	int implementer, part;
	const char *name;
} arm_rows[] = {
	{0x41, 0xd03, "cortex_a53"},  {0x41, 0xd07, "cortex_a57"},  {0x41, 0xd08, "cortex_a72"},
	{0x41, 0xd0b, "cortex_a76"},  {0x41, 0xd0c, "neoverse_n1"}, {0x41, 0xd40, "neoverse_v1"},
	{0x41, 0xd49, "neoverse_n2"}, {0x41, 0xd4f, "neoverse_v2"}, {0x41, 0xd83, "neoverse_v3"},
	{0x41, 0xd84, "neoverse_v3"}, {0x41, 0xd8e, "neoverse_n3"}, {0x42, 0x516, "thunderx2"},
	{0x43, 0x0a1, "thunderx"},    {0x43, 0x0af, "thunderx2"},   {0x46, 0x001, "a64fx"},
	{0x48, 0xd01, "tsv110"},      {0x61, 0x022, "m1"},          {0x61, 0x023, "m1"},
	{0x61, 0x024, "m1"},          {0x61, 0x025, "m1"},          {0x61, 0x028, "m1"},
	{0x61, 0x029, "m1"},          {0x61, 0x032, "m2"},          {0x61, 0x033, "m2"},
	{0x61, 0x034, "m2"},          {0x61, 0x035, "m2"},          {0x61, 0x038, "m2"},
	{0x61, 0x039, "m2"},          {0xc0, 0xac3, "ampere1"},     {0xc0, 0xac4, "ampere1a"},
};

static const struct {
	int number;
	const char *name;
} implementers[] = {
	{0x41, "ARM"},       {0x42, "Broadcom"}, {0x43, "Cavium"}, {0x46, "Fujitsu"},
	{0x48, "HiSilicon"}, {0x4e, "NVIDIA"},   {0x50, "APM"},    {0x51, "Qualcomm"},
	{0x53, "Samsung"},   {0x56, "Marvell"},  {0x61, "Apple"},  {0x6d, "Microsoft"},
	{0x70, "Phytium"},   {0xc0, "Ampere"},
};

const char *microarch_implementer(int implementer)
{
	for (size_t i = 0; i < ARRAY_SIZE(implementers); i++)
		if (implementers[i].number == implementer)
			return implementers[i].name;
	return NULL;
}

static bool has_flag(const struct processor *p, const char *flag)
{
	size_t n = strlen(flag);

	for (const char *f = p->flags; f && *f; f += strspn(f, " \t")) {
		size_t length = strcspn(f, " \t");

		if (length == n && !memcmp(f, flag, n))
			return true;
		f += length;
	}
	return false;
}

static bool has_all(const struct processor *p, const char *const *flags)
{
	for (; *flags; flags++)
		if (!has_flag(p, *flags))
			return false;
	return true;
}

const char *microarch_level(const struct processor *p)
{
	static const char *const v2[] = {"cx16",   "lahf_lm", "popcnt", "sse4_1",
					 "sse4_2", "ssse3",   NULL};
	static const char *const v3[] = {"avx", "avx2", "bmi1",  "bmi2",  "f16c",
					 "fma", "abm",  "movbe", "xsave", NULL};
	static const char *const v4[] = {"avx512f",  "avx512bw", "avx512cd",
					 "avx512dq", "avx512vl", NULL};

	if (!p->vendor || !has_flag(p, "lm"))
		return NULL;
	if (!has_all(p, v2))
		return "x86_64";
	if (!has_all(p, v3))
		return "x86_64_v2";
	return has_all(p, v4) ? "x86_64_v4" : "x86_64_v3";
}

static bool has_model(const char *models, int model)
{
	for (char *p = (char *)models; *p; p += *p == ' ') {
		long from = strtol(p, &p, 10), to = *p == '-' ? strtol(p + 1, &p, 10) : from;

		if (model >= from && model <= to)
			return true;
	}
	return false;
}

static const char *x86_name(const struct processor *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(x86_rows); i++) {
		const struct x86_row *r = &x86_rows[i];

		if (!strcmp(r->vendor, p->vendor) && r->family == p->family &&
		    has_model(r->models, p->model) && (!r->flag || has_flag(p, r->flag)))
			return r->name;
	}
	for (size_t i = 0; i < ARRAY_SIZE(by_flag); i++)
		if (!strcmp(by_flag[i].vendor, p->vendor) && has_flag(p, by_flag[i].flag))
			return by_flag[i].name;
	const char *level = microarch_level(p);
	return level ? level : "x86";
}

static const char *power_name(const struct processor *p)
{
	static const struct {
		const char *text, *big, *little;
	} rows[] = {{"POWER10", "power10", "power10le"},
		    {"POWER9", "power9", "power9le"},
		    {"POWER8", "power8", "power8le"},
		    {"POWER7", "power7", "power7"}};
	bool big = p->machine && !strcmp(p->machine, "ppc64");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_prefix(p->power, rows[i].text))
			return big ? rows[i].big : rows[i].little;
	return big ? "ppc64" : "ppc64le";
}

const char *microarch_name(const struct processor *p)
{
	if (p->vendor)
		return x86_name(p);
	if (p->implementer >= 0) {
		for (size_t i = 0; i < ARRAY_SIZE(arm_rows); i++)
			if (arm_rows[i].implementer == p->implementer &&
			    arm_rows[i].part == p->part)
				return arm_rows[i].name;
		return p->machine && str_prefix(p->machine, "armv") ? "arm" : "aarch64";
	}
	if (p->power)
		return power_name(p);
	if (p->uarch)
		return !strcmp(p->uarch, "sifive,u74-mc") ? "u74mc" : "riscv64";
	return "unknown";
}
