/* The process connector; see cnproc.h. */
#include "sources/exits/cnproc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/clock.h"
#include "sources/exits/netlink.h"
#include "sources/exits/taskstats.h"
#include "sources/source.h"

/* struct proc_input of Linux 6.6, with which a listener chooses its events. */
struct listen_request {
	uint32_t op, events;
};

#define BEGINS ((uint32_t)PROC_EVENT_FORK | (uint32_t)PROC_EVENT_EXEC)
#define BUFFER_BYTES (16u << 20)
#define WAKER_BYTES (128u << 10)
/* What a waiting event takes. */
#define EVENT_BYTES 1024
/* Messages that are received with one call, and the most that one takes. */
#define AT_ONCE 32
#define MESSAGE_BYTES 256

static bool kernel_filters(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	return uname(&u) == 0 && sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 6));
}

/* Subscribes to events; 0: all, in the form that older kernels know. */
static int subscribe(int fd, uint32_t events)
{
	char buf[128] = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct listen_request request = {PROC_CN_MCAST_LISTEN, events};
	size_t size = events ? sizeof(request) : sizeof(request.op);

	nlh->nlmsg_type = NLMSG_DONE;
	struct cn_msg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg) + size);
	msg->id.idx = CN_IDX_PROC;
	msg->id.val = CN_VAL_PROC;
	msg->len = (uint16_t)size;
	memcpy(msg->data, &request, size);
	return netlink_send(fd, nlh);
}

/* Checks and copies an event (it is not aligned); false for any other message. */
static bool take_event(const void *buf, size_t n, struct proc_event *ret)
{
	const struct nlmsghdr *nlh = buf;

	if (!mnl_nlmsg_ok(nlh, (int)n) || mnl_nlmsg_get_payload_len(nlh) < sizeof(struct cn_msg))
		return false;
	const struct cn_msg *msg = mnl_nlmsg_get_payload(nlh);
	size_t size = mnl_nlmsg_get_payload_len(nlh) - sizeof(*msg);
	if (msg->id.idx != CN_IDX_PROC || msg->id.val != CN_VAL_PROC || size < msg->len ||
	    msg->len < offsetof(struct proc_event, event_data) + 16)
		return false;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, msg->data, msg->len < sizeof(*ret) ? msg->len : sizeof(*ret));
	return true;
}

/* The kernel answers a subscription at once with an errno; no answer means no connector. */
static int await_answer(int fd)
{
	_Alignas(8) char buf[1024];
	struct pollfd p = {fd, POLLIN, 0};
	struct proc_event e;

	for (int tries = 0; tries < 1000 && poll(&p, 1, 100) > 0; tries++) {
		ssize_t n = netlink_receive(fd, buf, sizeof(buf));

		if (n <= 0 || !take_event(buf, (size_t)n, &e))
			continue;
		if ((uint32_t)e.what == PROC_EVENT_NONE)
			return -(int)e.event_data.ack.err;
		return 0; /* events arrive: subscribed */
	}
	return -ENOENT;
}

/*
 * A socket filter that accepts only new processes and execs, before they use the buffer: in a storm
 * of threads nine of ten events are not for us. Words are compared in memory byte order.
 */
static int filter_begins(int fd)
{
	const unsigned event = NLMSG_HDRLEN + sizeof(struct cn_msg);
	const unsigned what = event + offsetof(struct proc_event, what);
	const unsigned pid = event + offsetof(struct proc_event, event_data.fork.child_pid);
	const unsigned tgid = event + offsetof(struct proc_event, event_data.fork.child_tgid);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, what),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl((uint32_t)PROC_EVENT_EXEC), 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl((uint32_t)PROC_EVENT_FORK), 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, pid),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, tgid),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {ARRAY_SIZE(code), code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno
											   : 0;
}

/* A socket to which all events come. */
static int open_socket(struct cnproc *c, size_t buffer)
{
	c->fd = netlink_open(SOCK_DGRAM, NETLINK_CONNECTOR, CN_IDX_PROC, buffer);
	if (c->fd < 0)
		return c->fd;
	int r = subscribe(c->fd, 0);
	return r == 0 ? await_answer(c->fd) : r;
}

/* Opened while we had the capability; -1: none. */
static int early = -1, early_waker = -1;

static int open_one_early(size_t buffer)
{
	struct cnproc c = {-1};

	if (open_socket(&c, buffer) < 0)
		cnproc_close(&c);
	return c.fd;
}

void cnproc_open_early(void)
{
	if (!taskstats_ids_match())
		return;
	early = open_one_early(BUFFER_BYTES);
	early_waker = early < 0 ? -1 : open_one_early(WAKER_BYTES);
	if (early_waker >= 0)
		(void)cnproc_watch(&(struct cnproc){early_waker}, NULL, 0);
}

static int open_for(struct cnproc *c, uint32_t events, size_t buffer, struct strbuf *why)
{
	int r = 0, none = 0;

	c->fd = -1;
	if (!taskstats_ids_match()) {
		if (why)
			strbuf_addstr(why, "the kernel reports process ids of the host's pid "
					   "namespace, which are meaningless inside a container");
		return -EINVAL;
	}
	if (early >= 0) {
		c->fd = fcntl(early, F_DUPFD_CLOEXEC, 3);
		r = c->fd < 0 ? -errno : 0;
		(void)setsockopt(c->fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none));
	} else {
		r = open_socket(c, buffer);
	}
	/* filter only now: it would drop the answer; older kernels ignore the longer request */
	if (r == 0 && kernel_filters())
		r = subscribe(c->fd, events);
	if (r == 0 && events == BEGINS)
		r = filter_begins(c->fd);
	if (r == 0) {
		netlink_empty(c->fd);
		return 0;
	}
	cnproc_close(c);
	if (why && r == -EPERM)
		strbuf_addstr(why, "needs CAP_NET_ADMIN before Linux 6.6");
	else if (why && r == -ENOENT)
		strbuf_addstr(
			why,
			"the kernel does not answer: not available in another pid or network namespace");
	else if (why)
		strbuf_addf(why, "%s: the kernel has no process connector", strerror(-r));
	return r;
}

int cnproc_open(struct cnproc *c, struct strbuf *why)
{
	return open_for(c, BEGINS | (uint32_t)PROC_EVENT_EXIT, BUFFER_BYTES, why);
}

int cnproc_open_begins(struct cnproc *c, size_t buffer, struct strbuf *why)
{
	return open_for(c, BEGINS, buffer, why);
}

/* ---- being woken ---------------------------------------------------------------------------- */

/* Words are compared in memory byte order. */
int cnproc_watch(struct cnproc *c, const int *pids, size_t count)
{
	const unsigned event = NLMSG_HDRLEN + sizeof(struct cn_msg);
	const unsigned what = event + offsetof(struct proc_event, what);
	/* of a fork it is the parent, else the process itself: at the same place */
	const unsigned who = event + offsetof(struct proc_event, event_data.fork.parent_tgid);
	const unsigned child = event + offsetof(struct proc_event, event_data.fork.child_tgid);
	struct sock_filter code[2 * CNPROC_WATCHED + 8];
	unsigned n = 0, end = 2 * (unsigned)count + 7; /* the last two: drop, accept */

	if (count > CNPROC_WATCHED)
		return -E2BIG;
/* the jump from here to one of the last two instructions */
#define DROP ((uint8_t)(end - 1 - n - 1))
#define ACCEPT ((uint8_t)(end - n - 1))
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, what);
	code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					       htonl((uint32_t)PROC_EVENT_EXIT), 2, 0),
	n++;
	code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					       htonl((uint32_t)PROC_EVENT_EXEC), 1, 0),
	n++;
	code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					       htonl((uint32_t)PROC_EVENT_FORK), 0, DROP),
	n++;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, who);
	for (size_t i = 0; i < count; i++, n++)
		code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						       htonl((uint32_t)pids[i]), ACCEPT, 0);
	/* a new thread has the process there; an exit has its signal there, which is no pid of ours
	 * but at worst wakes us */
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, child);
	for (size_t i = 0; i < count; i++, n++)
		code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						       htonl((uint32_t)pids[i]), ACCEPT, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0xffffffff);
#undef DROP
#undef ACCEPT
	struct sock_fprog program = {(unsigned short)n, code};
	return setsockopt(c->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0
		       ? -errno
		       : 0;
}

int cnproc_open_waker(struct cnproc *c)
{
	int r;

	c->fd = -1;
	if (early_waker >= 0) {
		c->fd = fcntl(early_waker, F_DUPFD_CLOEXEC, 3);
		r = c->fd < 0 ? -errno : 0;
	} else if (early >= 0) {
		return -EPERM;
	} else {
		r = open_socket(c, WAKER_BYTES);
	}
	if (r == 0)
		r = cnproc_watch(c, NULL, 0);
	if (r == 0)
		netlink_empty(c->fd);
	else
		cnproc_close(c);
	return r;
}

bool cnproc_empty(struct cnproc *c)
{
	struct pollfd p = {c->fd, POLLIN, 0};

	if (poll(&p, 1, 0) <= 0)
		return false;
	netlink_empty(c->fd);
	return true;
}

size_t cnproc_room(const struct cnproc *c)
{
	int size = 0;
	socklen_t n = sizeof(size);

	(void)getsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &size, &n);
	return (size_t)size / EVENT_BYTES;
}

void cnproc_close(struct cnproc *c)
{
	close_fd(&c->fd);
	c->fd = -1;
}

static bool translate(const struct proc_event *in, uint64_t offset_ns, struct cnproc_event *out)
{
	*out = (struct cnproc_event){.boottime_ns = in->timestamp_ns + offset_ns};
	switch ((uint32_t)in->what) {
	case PROC_EVENT_FORK:
		out->what = CNPROC_FORK;
		out->pid = in->event_data.fork.child_pid;
		out->tgid = in->event_data.fork.child_tgid;
		out->parent_tgid = in->event_data.fork.parent_tgid;
		return true;
	case PROC_EVENT_EXEC:
		out->what = CNPROC_EXEC;
		out->pid = in->event_data.exec.process_pid;
		out->tgid = in->event_data.exec.process_tgid;
		return true;
	case PROC_EVENT_EXIT:
		out->what = CNPROC_EXIT;
		out->pid = in->event_data.exit.process_pid;
		out->tgid = in->event_data.exit.process_tgid;
		out->status = (int)in->event_data.exit.exit_code;
		return true;
	default:
		return false;
	}
}

struct receiving {
	cnproc_handler handler;
	void *user;
	uint64_t offset_ns, last_ns;
};

static void take_message(void *user, const void *message, size_t n)
{
	struct receiving *r = user;
	struct cnproc_event e;
	struct proc_event p;

	if (!take_event(message, n, &p) || !translate(&p, r->offset_ns, &e))
		return;
	r->handler(r->user, &e);
	r->last_ns = e.boottime_ns;
}

int cnproc_receive(struct cnproc *c, cnproc_handler handler, void *user, uint64_t until_ns,
		   uint64_t *lost)
{
	struct receiving r = {handler, user, clock_monotonic_to_boot_ns(), 0};

	while (r.last_ns <= until_ns) {
		int n = netlink_receive_burst(c->fd, AT_ONCE, MESSAGE_BYTES, take_message, &r,
					      lost);

		if (n < 0)
			return n == -EAGAIN ? 0 : n;
		if (n < AT_ONCE)
			return 0;
	}
	return 1;
}

int cnproc_drain(struct cnproc *c, cnproc_handler handler, void *user)
{
	uint64_t lost = 0;
	int r = cnproc_receive(c, handler, user, UINT64_MAX - 1, &lost);

	return r < 0 ? r : lost > 0;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct cnproc c;

	(void)ctx;
	int r = cnproc_open(&c, &why);
	if (r == 0) {
		cnproc_close(&c);
		strbuf_addstr(&report->detail, "the kernel reports every fork, exec and exit");
		return 0;
	}
	return strbuf_fail(&report->detail, r, "processes that nobody waits for may be missed: %s",
			   why.buf);
}

const struct source source_cnproc = {
	.name = "cn_proc",
	.help = "forks, execs and exits as the kernel reports them",
	.probe = probe,
	.remedy = NETLINK_REMEDY,
};
