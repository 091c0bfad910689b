/* Netlink sockets; see netlink.h. */
#include "sources/exits/netlink.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int netlink_open(int type, int protocol, uint32_t groups, size_t buffer)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK, .nl_groups = groups};
	int size = (int)(buffer / 2); /* the kernel doubles it */
	int fd = socket(PF_NETLINK, type | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return -errno;
	if (size && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	int r = -errno;
	close(fd);
	return r;
}

int netlink_send(int fd, const struct nlmsghdr *nlh)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	ssize_t n = sendto(fd, nlh, nlh->nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel));

	return n < 0 ? -errno : 0;
}

ssize_t netlink_receive(int fd, void *buf, size_t size)
{
	struct sockaddr_nl from = {0};
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(fd, buf, size, MSG_DONTWAIT, (struct sockaddr *)&from, &len);

	return n < 0 ? -errno : from.nl_pid ? 0 : n;
}

int netlink_receive_burst(int fd, unsigned most, size_t bytes,
			  void (*take)(void *user, const void *message, size_t n), void *user,
			  uint64_t *lost)
{
	_Alignas(8) char buf[NETLINK_BURST_BYTES];
	struct mmsghdr messages[NETLINK_BURST_MAX];
	struct sockaddr_nl from[NETLINK_BURST_MAX] = {0};
	struct iovec parts[NETLINK_BURST_MAX];
	int n;

	for (unsigned i = 0; i < most; i++) {
		parts[i] = (struct iovec){buf + i * bytes, bytes};
		messages[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
						      .msg_namelen = sizeof(from[i]),
						      .msg_iov = &parts[i],
						      .msg_iovlen = 1};
	}
	while ((n = recvmmsg(fd, messages, most, MSG_DONTWAIT, NULL)) < 0) {
		*lost += errno == ENOBUFS;
		if (errno != ENOBUFS && errno != EINTR)
			return -errno;
	}
	for (int i = 0; i < n; i++)
		if (!from[i].nl_pid && !(messages[i].msg_hdr.msg_flags & MSG_TRUNC))
			take(user, parts[i].iov_base, messages[i].msg_len);
	return n;
}

void netlink_empty(int fd)
{
	_Alignas(8) char buf[4096];
	ssize_t r = 0;

	for (int i = 0; i < 100000 && (r >= 0 || r == -ENOBUFS || r == -EINTR); i++)
		r = netlink_receive(fd, buf, sizeof(buf));
}
