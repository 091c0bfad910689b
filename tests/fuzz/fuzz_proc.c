/* The files of /proc. */
#include "fuzz.h"

#include "core/system/procparse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = {"VmHWM",           "VmPeak", "Seccomp",
					   "Seccomp_filters", "Pid",    ""};
	static const char *const shares[] = {"Pss",           "Pss_Anon",      "Pss_File",
					     "Private_Clean", "Private_Dirty", "Swap",
					     "SwapPss",       "Locked",        ""};
	enum { SHARES = sizeof(shares) / sizeof(shares[0]) };
	uint64_t values[SHARES] = {0};
	const char *text = (const char *)data;
	struct proc_statm statm;
	struct proc_schedstat sched;
	struct proc_stat st;
	struct proc_io io;
	uint64_t v = 0;

	if (proc_parse_stat(text, size, &st)) {
		REQUIRE(st.last >= STAT_STATE && st.last <= STAT_MAX);
		REQUIRE(st.comm > text && st.comm + st.comm_len < text + size);
		REQUIRE(st.comm[-1] == '(' && st.comm[st.comm_len] == ')');
		for (int i = 0; i <= st.last; i++)
			v += i ? st.f[i] : 0;
	}
	proc_parse_io(text, size, &io);
	REQUIRE(io.present < 1u << 7);
	for (unsigned i = 0; i < 7; i++)
		v += io.present >> i & 1 ? io.v[i] : 0;
	if (proc_parse_schedstat(text, size, &sched))
		v += sched.oncpu_ns + sched.waiting_ns + sched.timeslices;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		(void)proc_parse_status(text, size, keys[i], &v);
	uint64_t present = proc_parse_keys(text, size, shares, SHARES, values);
	REQUIRE(present < 1u << SHARES);
	for (unsigned i = 0; i < SHARES; i++) {
		/* found one by one and all at once is the same where a key is there once */
		REQUIRE(present >> i & 1 || !values[i]);
		if (present >> i & 1 && proc_parse_status(text, size, shares[i], &v))
			v += values[i];
	}
	int64_t ahead;
	if (proc_parse_timens(text, size, "boottime", &ahead))
		v += (uint64_t)ahead;
	if (proc_parse_statm(text, size, &statm))
		v += statm.size + statm.resident + statm.shared;
	return 0;
}
