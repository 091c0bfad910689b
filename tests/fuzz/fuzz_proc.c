/* The files of /proc. */
#include "fuzz.h"

#include "core/procparse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = {"VmHWM",           "VmPeak", "Seccomp",
					   "Seccomp_filters", "Pid",    ""};
	const char *text = (const char *)data;
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
	return 0;
}
