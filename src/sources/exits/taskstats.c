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
#include "sources/exits/netlink.h"
#include "sources/source.h"

/* Enough for a storm of 45,000 exits per second while we are busy. */
#define BUFFER_BYTES (16u << 20)
/* Messages that are received with one call, and the size of the largest: two structures and room
 * for what later versions add. */
#define AT_ONCE 16
#define MESSAGE_BYTES 4096
/* Inode of the initial pid namespace, from the kernel's headers. */
#define PID_INIT_INODE 0xEFFFFFFCu
/* This version of the structure has fields at other offsets than all others. */
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

/* Waits for the answer to a request: a message or an acknowledgement. */
static int await(int fd, char *buf, size_t size, const struct nlmsghdr **ret)
{
	struct pollfd p = {fd, POLLIN, 0};

	for (;;) {
		ssize_t n = netlink_receive(fd, buf, size);
		const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf;

		if (n < 0 && n != -EAGAIN)
			return (int)n;
		if (n < 0 && poll(&p, 1, 1000) <= 0)
			return -ETIMEDOUT;
		if (n <= 0 || !mnl_nlmsg_ok(nlh, (int)n))
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
	int r = netlink_send(fd, nlh);
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
	r = netlink_send(fd, nlh);
	if (r < 0)
		return r;
	/* an exit record that arrives before the acknowledgement means success too */
	r = await(fd, buf, sizeof(buf), &answer);
	return r > 0 ? 0 : r;
}

/* A socket that knows the family. */
static int open_socket(struct taskstats_listener *t, size_t buffer)
{
	*t = (struct taskstats_listener){.fd = netlink_open(SOCK_RAW, NETLINK_GENERIC, 0, buffer)};
	if (t->fd < 0)
		return t->fd;
	t->family = resolve_family(t->fd);
	return t->family < 0 ? t->family : 0;
}

/* ---- sockets opened with the capability ---------------------------------------------- */

/* The job and its processes may need one each at the same time. */
#define EARLY_COUNT 2

static struct {
	struct taskstats_listener at[EARLY_COUNT];
	bool taken[EARLY_COUNT];
	size_t count;
	bool by_thread;
} early;

static bool take_early(struct taskstats_listener *t)
{
	for (size_t i = 0; i < early.count; i++)
		if (!early.taken[i]) {
			early.taken[i] = true;
			*t = early.at[i];
			netlink_empty(t->fd);
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
		strbuf_addstr(why, "needs CAP_NET_ADMIN all the time, but file capabilities are "
				   "dropped at the start: run it as root");
	else if (r == -EPERM || r == -EACCES)
		strbuf_addstr(why, "needs CAP_NET_ADMIN (root)");
	else if (r == -EINVAL)
		strbuf_addstr(why, "the kernel sends exit records only to the host's own pid and "
				   "user namespace, not to a container");
	else if (r == -ENOENT)
		strbuf_addstr(why, "the kernel has no taskstats");
	else
		strbuf_addf(why, "taskstats: %s", strerror(-r));
	return r;
}

int taskstats_open_sized(struct taskstats_listener *t, size_t buffer, struct strbuf *why)
{
	if (take_early(t))
		return 0;
	int r = open_socket(t, buffer);
	if (r == 0)
		r = register_cpus(t->fd, t->family);
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
#define TASK_SUM(member, field, unit, help) .member = s->field,
#include "sources/exits/task_fields.def"
#undef TASK_SUM
		.elapsed_us = s->ac_etime,
		.rss_peak_kib = s->hiwater_rss,
		.vm_peak_kib = s->hiwater_vm,
		.begin_s = s->version >= 10 && s->ac_btime64 ? s->ac_btime64 : s->ac_btime,
	};
	memcpy(e->comm, s->ac_comm, sizeof(s->ac_comm));
	e->comm[sizeof(e->comm) - 1] = 0;
}

/* A message: the statistics of a task, and whether it also has those of the process, which the last
 * of several threads adds. The latter are incomplete and not used. */
struct content {
	struct task_exit task;
	bool found, threaded;
};

static int take_stats(const struct nlattr *attr, void *user)
{
	struct content *c = user;
	size_t n = mnl_attr_get_payload_len(attr);
	struct taskstats s;

	/* 328: the size of version 8, the oldest with all that we read */
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

struct receiving {
	const struct taskstats_listener *listener;
	task_exit_handler handler;
	void *user;
};

static void take_burst(void *user, const void *message, size_t n)
{
	const struct receiving *r = user;
	const struct nlmsghdr *nlh = message;
	struct task_exit e;
	int left = (int)n;

	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
		if (take_message(r->listener, nlh, &e))
			r->handler(r->user, &e);
}

int taskstats_receive(struct taskstats_listener *t, task_exit_handler handler, void *user,
		      size_t max, uint64_t *lost)
{
	struct receiving receiving = {t, handler, user};
	size_t count = 0;

	while (count < max) {
		int n = netlink_receive_burst(t->fd, AT_ONCE, MESSAGE_BYTES, take_burst, &receiving,
					      lost);

		if (n < 0)
			return n == -EAGAIN ? (int)count : n;
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

/* ---- living threads ------------------------------------------------------------------------- */

int taskstats_ask_open(struct taskstats_listener *t, struct strbuf *why)
{
	struct task_exit own;
	int r = open_socket(t, 0);

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
	int r = netlink_send(t->fd, nlh);
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
			      "the kernel reports exact CPU time and peak memory of every exit");
		return 0;
	}
	return strbuf_fail(&report->detail, r,
			   "peak memory and I/O of static programs are unknown: %s", why.buf);
}

const struct source source_taskstats = {
	.name = "taskstats",
	.help = "the kernel's statistics of every task that ends",
	.probe = probe,
	.remedy = NETLINK_REMEDY,
};
