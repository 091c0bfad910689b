/* Texts of /proc about sleeping threads, and the tables of calls and functions; see waits.h. */
#include "sources/waits/waits.h"

#include <string.h>

#include "core/system/procparse.h"

struct call {
	const char *name;
	enum wait_call kind;
};

#if defined(__x86_64__)
#define CALL(name, x86_64, aarch64, kind) [(x86_64) + 1] = {#name, CALL_##kind},
#elif defined(__aarch64__)
#define CALL(name, x86_64, aarch64, kind) [(aarch64) + 1] = {#name, CALL_##kind},
#else
#define CALL(name, x86_64, aarch64, kind)
#endif
/* by number plus one; the first is for calls that this machine does not have */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct call calls[512] = {
#include "sources/waits/waits_calls.def"
};
#pragma GCC diagnostic pop
#undef CALL

static const struct {
	const char *begin;
	enum wait_reason reason;
	const char *what;
} functions[] = {
#define WCHAN(begin, reason, what) {begin, WAIT_##reason, what},
#include "sources/waits/waits_wchan.def"
#undef WCHAN
};

const char *wait_reason_name(enum wait_reason reason)
{
	static const char *const names[WAIT_REASONS] = {"storage",   "network", "process", "lock",
							"condition", "timer",   "child",   "device",
							"poll",      "other",   "running"};

	return reason < WAIT_REASONS ? names[reason] : "unknown";
}

/* " 0x1f"; false: there is no such number. */
static bool take_hex(const char **pp, const char *end, uint64_t *ret)
{
	const char *p = *pp;
	uint64_t v = 0;
	int digits = 0;

	if (end - p < 4 || memcmp(p, " 0x", 3) != 0)
		return false;
	for (p += 3; p < end && digits < 17; p++, digits++) {
		unsigned c = (unsigned char)*p, d;

		if (c >= '0' && c <= '9')
			d = c - '0';
		else if (c >= 'a' && c <= 'f')
			d = c - 'a' + 10;
		else
			break;
		v = v << 4 | d;
	}
	*pp = p;
	*ret = v;
	return digits >= 1 && digits <= 16;
}

bool wait_parse_syscall(const char *text, size_t n, struct wait_syscall *ret)
{
	const char *p = text, *end = text + n;
	uint64_t number, stack, at;

	*ret = (struct wait_syscall){.number = -1};
	if (n >= 7 && !memcmp(text, "running", 7)) {
		ret->running = true;
		return true;
	}
	if (!proc_number(&p, end, &number))
		return false;
	ret->number = (int64_t)number;
	for (unsigned i = 0; ret->number >= 0 && i < 6; i++)
		if (!take_hex(&p, end, &ret->arg[i]))
			return false;
	/* a line that is cut off has no end */
	if (!take_hex(&p, end, &stack) || !take_hex(&p, end, &at) || p >= end)
		return false;
	ret->narrow = stack <= UINT32_MAX;
	return true;
}

enum wait_call wait_call_of(int64_t number, const char **ret_name)
{
	*ret_name = NULL;
	if (number < 0 || number + 1 >= (int64_t)ARRAY_SIZE(calls))
		return CALL_NONE;
	*ret_name = calls[number + 1].name;
	return calls[number + 1].kind;
}

enum wait_reason wait_by_wchan(const char *text, size_t n, const char **ret_what)
{
	enum wait_reason found = WAIT_UNKNOWN;
	size_t longest = 0;

	*ret_what = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		size_t size = strlen(functions[i].begin);

		if (size <= longest || size > n || memcmp(functions[i].begin, text, size) != 0)
			continue;
		longest = size;
		found = functions[i].reason;
		*ret_what = functions[i].what;
	}
	return found;
}
