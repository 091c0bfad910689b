/*
 * The microarchitecture of a processor, named as archspec names it (skylake_avx512, zen3,
 * neoverse_v1), so that results of a site can be put beside those of others. Told by vendor, family
 * and model, which a virtual machine with hidden instructions does not change; by the instructions
 * where the model is not in the table.
 */
#ifndef PL_JOBS_MICROARCH_H
#define PL_JOBS_MICROARCH_H

/* What /proc/cpuinfo says of a processor; NULL or -1 where it does not. */
struct processor {
	const char *vendor; /* "GenuineIntel" */
	int family, model, stepping;
	const char *flags;     /* blank separated */
	int implementer, part; /* of ARM */
	const char *power;     /* "POWER9 (raw), altivec supported" */
	const char *uarch;     /* of RISC-V, "sifive,u74-mc" */
	const char *machine;   /* "x86_64"; NULL when it is not known */
};

/* Never NULL: at the least the family of architectures. */
const char *microarch_name(const struct processor *p);
/* "x86_64" to "x86_64_v4" by the instructions; NULL when it is no x86 processor. */
const char *microarch_level(const struct processor *p);
/* Name of the vendor behind an implementer's number; NULL when it is not known. */
const char *microarch_implementer(int implementer);

#endif
