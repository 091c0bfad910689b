/* Capabilities by system calls, without libcap; see privileges.h. */
#include "core/system/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LAST 63

static const struct {
	uint64_t bit;
	const char *name;
} names[] = {
	{PRIVILEGE_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
	{PRIVILEGE_NET_ADMIN, "CAP_NET_ADMIN"},
	{PRIVILEGE_SYS_RAWIO, "CAP_SYS_RAWIO"},
	{PRIVILEGE_SYS_PTRACE, "CAP_SYS_PTRACE"},
	{PRIVILEGE_PERFMON, "CAP_PERFMON"},
};

static int get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &head, data) < 0 ? -errno : 0;
}

uint64_t privileges_held(void)
{
	struct __user_cap_data_struct data[2] = {{0}};

	if (get(data) < 0)
		return 0;
	return (uint64_t)data[1].permitted << 32 | data[0].permitted;
}

int privileges_keep(uint64_t wanted)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	uint64_t kept = privileges_held() & wanted;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* may fail without CAP_SETPCAP, when there is nothing to gain either */
	for (unsigned long i = 0; i <= LAST; i++)
		if (!(kept >> i & 1))
			(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		data[i].permitted = (uint32_t)(kept >> 32 * i);
		data[i].effective = data[i].permitted;
	}
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

bool privileges_borrowed(void)
{
	return getauxval(AT_SECURE) != 0;
}

int privileges_return(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	uid_t user = getuid();
	gid_t group = getgid();

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (setresgid(group, group, group) < 0 || setresuid(user, user, user) < 0)
		return -errno;
	int r = get(data);
	if (r < 0)
		return r;
	/* inheritable capabilities are the caller's */
	for (int i = 0; i < 2; i++)
		data[i].permitted = data[i].effective = 0;
	if (user && syscall(SYS_capset, &head, data) < 0)
		return -errno;
	if (user && privileges_held())
		return -EPERM;
	/* otherwise /proc/self belongs to root and we cannot read our own usage */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return 0;
}

void privileges_text(uint64_t set, struct strbuf *out)
{
	size_t begin = out->len;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (set & names[i].bit)
			strbuf_addf(out, "%s%s", out->len > begin ? " " : "", names[i].name);
	if (out->len == begin)
		strbuf_addstr(out, "none");
}
