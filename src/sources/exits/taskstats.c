/* taskstats exit records over generic netlink; see taskstats.h. */
#include "sources/exits/taskstats.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "sources/source.h"

/* A storm of 45,000 exits a second fits in this while we are busy. */
#define BUFFER_BYTES (16u << 20)
/* Messages that are received with one call, and the size of the largest: two structures and room
 * for what later versions add. */
#define AT_ONCE 16
#define MESSAGE_BYTES 4096
/* Number of the first namespace of process ids, in the kernel's own headers. */
#define PID_INIT_INODE 0xEFFFFFFCu
/* This version of the structure has fields moved; the ones before and after agree. */
#define VERSION_MOVED 15

static struct nlmsghdr *request(char *buf, uint16_t type, uint8_t command, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = 1;
	genl->cmd = command;
	genl->version = 1;
	return nlh;
}

static int send_request(int fd, const struct nlmsghdr *nlh)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

	if (sendto(fd, nlh, nlh->nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	return 0;
}

static ssize_t receive(int fd, void *buf, size_t size, struct sockaddr_nl *from, int flags)
{
	socklen_t len = sizeof(*from);

	return recvfrom(fd, buf, size, flags, (struct sockaddr *)from, &len);
}

/* Waits for the answer to a request: a message of the wanted type, or an acknowledgement. It is
 * there as a rule before we ask for it. */
static int await(int fd, char *buf, size_t size, const struct nlmsghdr **ret)
{
	struct sockaddr_nl from = {0};
	struct pollfd p = {fd, POLLIN, 0};

	for (;;) {
		ssize_t n = receive(fd, buf, size, &from, MSG_DONTWAIT);
		const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf;

		if (n < 0 && errno != EAGAIN)
			return -errno;
		if (n < 0 && poll(&p, 1, 1000) <= 0)
			return -ETIMEDOUT;
		if (n < 0)
			continue;
		if (from.nl_pid != 0 || !mnl_nlmsg_ok(nlh, (int)n))
			continue;
		if (nlh->nlmsg_type == NLMSG_ERROR) {
			if (mnl_nlmsg_get_payload_len(nlh) < sizeof(struct nlmsgerr))
				return -EBADMSG;
			const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
			return e->error;
		}
		*ret = nlh;
		return 1;
	}
}

static int take_family(const struct nlattr *attr, void *user)
{
	int *family = user;

	if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
	    mnl_attr_validate(attr, MNL_TYPE_U16) == 0)
		*family = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static int resolve_family(int fd)
{
	_Alignas(8) char buf[8192];
	const struct nlmsghdr *answer;
	int family = -ENOENT;

	struct nlmsghdr *nlh = request(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME);
	int r = send_request(fd, nlh);
	if (r < 0)
		return r;
	r = await(fd, buf, sizeof(buf), &answer);
	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	mnl_attr_parse(answer, sizeof(struct genlmsghdr), take_family, &family);
	return family;
}

static int register_cpus(int fd, int family)
{
	_cleanup_strbuf_ struct strbuf cpus = STRBUF_INIT;
	_Alignas(8) char buf[8192];
	const struct nlmsghdr *answer;

	int r = fs_read(AT_FDCWD, "/sys/devices/system/cpu/possible", 4096, &cpus);
	if (r < 0)
		return r;
	if (cpus.len && cpus.buf[cpus.len - 1] == '\n')
		cpus.buf[--cpus.len] = 0;
	struct nlmsghdr *nlh = request(buf, (uint16_t)family, TASKSTATS_CMD_GET, NLM_F_ACK);
	mnl_attr_put_strz(nlh, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus.buf);
	r = send_request(fd, nlh);
	if (r < 0)
		return r;
	/* exit records may come in before the acknowledgement: those are a success too */
	r = await(fd, buf, sizeof(buf), &answer);
	return r > 0 ? 0 : r;
}

/* A socket that knows the family. */
static int open_socket(struct taskstats_listener *t)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK};

	*t = (struct taskstats_listener){.fd = -1};
	t->fd = socket(PF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (t->fd < 0 || bind(t->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	t->family = resolve_family(t->fd);
	return t->family < 0 ? t->family : 0;
}

/* ---- sockets from before the right was given up ---------------------------------------------- */

/* A job's ends and those of its processes are listened to at the same time. */
#define EARLY_COUNT 2

static struct {
	struct taskstats_listener at[EARLY_COUNT];
	bool taken[EARLY_COUNT];
	size_t count;
	bool by_thread;
} early;

/* What came before is of no use. */
static void empty(int fd)
{
	_Alignas(8) char buf[MESSAGE_BYTES];
	struct sockaddr_nl from;

	for (int tries = 0; tries < 100000; tries++)
		if (receive(fd, buf, sizeof(buf), &from, MSG_DONTWAIT) < 0 && errno != ENOBUFS &&
		    errno != EINTR)
			return;
}

static bool take_early(struct taskstats_listener *t)
{
	for (size_t i = 0; i < early.count; i++)
		if (!early.taken[i]) {
			early.taken[i] = true;
			*t = early.at[i];
			empty(t->fd);
			return true;
		}
	return false;
}

static bool give_back(const struct taskstats_listener *t)
{
	for (size_t i = 0; i < early.count; i++)
		if (early.at[i].fd == t->fd) {
			early.taken[i] = false;
			return true;
		}
	return false;
}

void taskstats_open_early(void)
{
	struct taskstats_listener t[EARLY_COUNT];
	size_t n = 0;

	if (taskstats_by_thread(&early.by_thread, NULL) < 0)
		return;
	while (n < EARLY_COUNT && taskstats_open(&t[n], NULL) == 0)
		n++;
	memcpy(early.at, t, n * sizeof(*t));
	early.count = n;
}

static int explain(struct taskstats_listener *t, int r, struct strbuf *why)
{
	if (r == 0)
		return 0;
	taskstats_close(t);
	if (!why)
		return r;
	if (early.count && (r == -EPERM || r == -EACCES))
		strbuf_addstr(why, "needs CAP_NET_ADMIN all the time, and that of the program's "
				   "file is given up at its beginning: run it as root");
	else if (r == -EPERM || r == -EACCES)
		strbuf_addstr(why, "needs CAP_NET_ADMIN (root)");
	else if (r == -EINVAL)
		strbuf_addstr(why, "the kernel gives exit records to the host's own pid and user "
				   "namespace only, not inside a container");
	else if (r == -ENOENT)
		strbuf_addstr(why, "the kernel has no taskstats");
	else
		strbuf_addf(why, "taskstats: %s", strerror(-r));
	return r;
}

int taskstats_open_sized(struct taskstats_listener *t, size_t buffer, struct strbuf *why)
{
	int size = (int)(buffer / 2); /* the kernel doubles it */

	if (take_early(t))
		return 0;
	int r = open_socket(t);

	if (r == 0) {
		if (setsockopt(t->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
			(void)setsockopt(t->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
		r = register_cpus(t->fd, t->family);
	}
	return explain(t, r, why);
}

int taskstats_open(struct taskstats_listener *t, struct strbuf *why)
{
	return taskstats_open_sized(t, BUFFER_BYTES, why);
}

void taskstats_close(struct taskstats_listener *t)
{
	if (t->fd >= 0 && !give_back(t))
		close(t->fd);
	t->fd = -1;
}

static void translate(const struct taskstats *s, struct task_exit *e)
{
	*e = (struct task_exit){
		.pid = (int)s->ac_pid,
		.tgid = (int)(s->version >= 12 ? s->ac_tgid : 0),
		.ppid = (int)s->ac_ppid,
		.status = (int)s->ac_exitcode,
		.last_of_group = s->version >= 12 && (s->ac_flag & AGROUP),
		.forked_only = (s->ac_flag & AFORK) != 0,
		.oncpu_ns = s->cpu_run_virtual_total,
		.waiting_ns = s->cpu_delay_total,
		.timeslices = s->cpu_count,
		.utime_us = s->ac_utime,
		.stime_us = s->ac_stime,
		.elapsed_us = s->ac_etime,
		.minflt = s->ac_minflt,
		.majflt = s->ac_majflt,
		.vol_ctxsw = s->nvcsw,
		.invol_ctxsw = s->nivcsw,
		.rss_peak_kib = s->hiwater_rss,
		.vm_peak_kib = s->hiwater_vm,
		.read_bytes = s->read_bytes,
		.write_bytes = s->write_bytes,
		.cancelled_write_bytes = s->cancelled_write_bytes,
		.blkio_delay_ns = s->blkio_delay_total,
		.blkio_count = s->blkio_count,
		.swapin_count = s->swapin_count,
		.swapin_delay_ns = s->swapin_delay_total,
		.freepages_count = s->freepages_count,
		.freepages_delay_ns = s->freepages_delay_total,
		.read_char = s->read_char,
		.write_char = s->write_char,
		.read_syscalls = s->read_syscalls,
		.write_syscalls = s->write_syscalls,
		.coremem = s->coremem,
		.virtmem = s->virtmem,
		.cpu_real_ns = s->cpu_run_real_total,
		.cpu_scaled_ns = s->cpu_scaled_run_real_total,
		.utime_scaled_us = s->ac_utimescaled,
		.stime_scaled_us = s->ac_stimescaled,
		.begin_s = s->version >= 10 && s->ac_btime64 ? s->ac_btime64 : s->ac_btime,
	};
	memcpy(e->comm, s->ac_comm, sizeof(s->ac_comm));
	e->comm[sizeof(e->comm) - 1] = 0;
}

/* What a message holds: the statistics of one task, and whether those of a whole process were with
 * them, which the last thread of several sends along. They say little themselves. */
struct content {
	struct task_exit task;
	bool found, threaded;
};

static int take_stats(const struct nlattr *attr, void *user)
{
	struct content *c = user;
	size_t n = mnl_attr_get_payload_len(attr);
	struct taskstats s;

	/* 328: the end of version 8, the oldest with all that we read */
	if (mnl_attr_get_type(attr) != TASKSTATS_TYPE_STATS || n < 328)
		return MNL_CB_OK;
	memset(&s, 0, sizeof(s));
	memcpy(&s, mnl_attr_get_payload(attr), n < sizeof(s) ? n : sizeof(s));
	if (s.version < 8 || s.version == VERSION_MOVED)
		return MNL_CB_OK;
	translate(&s, &c->task);
	c->found = true;
	return MNL_CB_OK;
}

static int take_aggregate(const struct nlattr *attr, void *user)
{
	struct content *c = user;

	if (mnl_attr_get_type(attr) == TASKSTATS_TYPE_AGGR_PID)
		mnl_attr_parse_nested(attr, take_stats, c);
	else if (mnl_attr_get_type(attr) == TASKSTATS_TYPE_AGGR_TGID)
		c->threaded = true;
	return MNL_CB_OK;
}

static bool take_message(const struct taskstats_listener *t, const struct nlmsghdr *nlh,
			 struct task_exit *ret)
{
	struct content c = {.found = false};

	if (nlh->nlmsg_type != t->family ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(struct genlmsghdr))
		return false;
	mnl_attr_parse(nlh, sizeof(struct genlmsghdr), take_aggregate, &c);
	if (!c.found)
		return false;
	*ret = c.task;
	ret->threaded = c.threaded;
	return true;
}

int taskstats_receive(struct taskstats_listener *t, task_exit_handler handler, void *user,
		      size_t max, uint64_t *lost)
{
	_Alignas(8) char buf[AT_ONCE][MESSAGE_BYTES];
	struct mmsghdr messages[AT_ONCE];
	struct sockaddr_nl from[AT_ONCE];
	struct iovec parts[AT_ONCE];
	struct task_exit e;
	size_t count = 0;

	while (count < max) {
		for (unsigned i = 0; i < AT_ONCE; i++) {
			parts[i] = (struct iovec){buf[i], sizeof(buf[i])};
			messages[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
							      .msg_namelen = sizeof(from[i]),
							      .msg_iov = &parts[i],
							      .msg_iovlen = 1};
		}
		int n = recvmmsg(t->fd, messages, AT_ONCE, MSG_DONTWAIT, NULL);

		if (n < 0 && errno == ENOBUFS) {
			++*lost;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? (int)count : -errno;
		for (int i = 0; i < n; i++) {
			const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf[i];
			int left = (int)messages[i].msg_len;

			if (from[i].nl_pid != 0 || messages[i].msg_hdr.msg_flags & MSG_TRUNC)
				continue;
			for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
				if (take_message(t, nlh, &e))
					handler(user, &e);
		}
		count += (size_t)n;
		if (n < AT_ONCE)
			return (int)(count < max ? count : max - 1);
	}
	return (int)count;
}

int taskstats_drain(struct taskstats_listener *t, task_exit_handler handler, void *user)
{
	uint64_t lost = 0;
	int r;

	do
		r = taskstats_receive(t, handler, user, AT_ONCE, &lost);
	while (r >= AT_ONCE);
	return r < 0 ? r : lost > 0;
}

/* ---- questions ------------------------------------------------------------------------------ */

int taskstats_ask_open(struct taskstats_listener *t, struct strbuf *why)
{
	struct task_exit own;
	int r = open_socket(t);

	if (r == 0)
		r = taskstats_ask(t, (int)getpid(), &own);
	return explain(t, r, why);
}

int taskstats_ask(struct taskstats_listener *t, int tid, struct task_exit *ret)
{
	_Alignas(8) char buf[MESSAGE_BYTES];
	const struct nlmsghdr *answer;

	struct nlmsghdr *nlh = request(buf, (uint16_t)t->family, TASKSTATS_CMD_GET, 0);
	nlh->nlmsg_seq = ++t->sequence;
	mnl_attr_put_u32(nlh, TASKSTATS_CMD_ATTR_PID, (uint32_t)tid);
	int r = send_request(t->fd, nlh);
	if (r < 0)
		return r;
	do
		r = await(t->fd, buf, sizeof(buf), &answer);
	while (r > 0 && answer->nlmsg_seq != t->sequence);
	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	return take_message(t, answer, ret) ? 0 : -EBADMSG;
}

int taskstats_by_thread(bool *ret, struct strbuf *why)
{
	struct taskstats_listener asker;
	struct task_exit own;

	*ret = early.by_thread;
	if (early.count)
		return 0;
	int r = taskstats_ask_open(&asker, why);
	if (r == 0) {
		*ret = taskstats_ask(&asker, (int)getpid(), &own) == 0 && !own.tgid;
		taskstats_close(&asker);
	}
	return r;
}

bool taskstats_ids_match(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == PID_INIT_INODE;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct taskstats_listener t;

	(void)ctx;
	int r = taskstats_open(&t, &why);
	if (r == 0) {
		taskstats_close(&t);
		strbuf_addstr(&report->detail,
			      "the kernel reports exact CPU and peaks of every exit");
		return 0;
	}
	strbuf_addf(&report->detail, "peaks and I/O of static programs are not known: %s", why.buf);
	if (r == -EPERM || r == -EACCES)
		report->remedy =
			"sudo setcap cap_net_admin+ep $(readlink -f $(command -v plimsoll))";
	return r;
}

const struct source source_taskstats = {
	.name = "taskstats",
	.help = "the kernel's account of every task that ends",
	.probe = probe,
};
