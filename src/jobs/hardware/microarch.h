/*
 * The microarchitecture of a processor, with archspec's names (skylake_avx512, zen3, neoverse_v1),
 * so that sites can compare results. Determined by vendor, family and model, which are right even
 * in a virtual machine with hidden instructions; by the instruction set if the model is unknown.
 */
#pragma once

/* A processor as /proc/cpuinfo describes it; NULL or -1: unknown. */
struct processor {
	const char *vendor; /* "GenuineIntel" */
	int family, model, stepping;
	const char *flags;     /* blank separated */
	int implementer, part; /* of ARM */
	const char *power;     /* "POWER9 (raw), altivec supported" */
	const char *uarch;     /* of RISC-V, "sifive,u74-mc" */
	const char *machine;   /* "x86_64"; NULL: unknown */
};

/* Never NULL: at least the architecture family. */
const char *microarch_name(const struct processor *p);
/* "x86_64" to "x86_64_v4" by the instruction set; NULL: not an x86 processor. */
const char *microarch_level(const struct processor *p);
/* The vendor of an ARM implementer number; NULL: unknown. */
const char *microarch_implementer(int implementer);
