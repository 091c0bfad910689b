/* Netlink sockets as the process connector and taskstats use them: requests are answered at once,
 * events come in bursts and are received many at a time. */
#pragma once

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Gives the permission that both need on most kernels. */
#define NETLINK_REMEDY "sudo setcap cap_net_admin+ep $(readlink -f $(command -v plimsoll))"

/* Opens and binds a socket. buffer: bytes, as the kernel counts them; 0: the system's default. A
 * descriptor, or a negative errno. */
int netlink_open(int type, int protocol, uint32_t groups, size_t buffer);
/* Sends a message to the kernel: 0 or a negative errno. */
int netlink_send(int fd, const struct nlmsghdr *nlh);
/* Receives one message without waiting: its size, 0 for one that is not from the kernel or not
 * whole, or a negative errno. */
ssize_t netlink_receive(int fd, void *buf, size_t size);
/*
 * Receives up to most messages of up to so many bytes without waiting, and calls back for each
 * that is from the kernel and whole. How many came; fewer than most: no more are waiting. Negative
 * errno: -EAGAIN when none is. *lost grows by the times that the kernel dropped some.
 */
#define NETLINK_BURST_MAX 32
#define NETLINK_BURST_BYTES 65536 /* of all messages together */
int netlink_receive_burst(int fd, unsigned most, size_t bytes,
			  void (*take)(void *user, const void *message, size_t n), void *user,
			  uint64_t *lost);
/* Drops what has come so far. A buffer that was full takes nothing, and the kernel says so only
 * once, until it has been emptied. */
void netlink_empty(int fd);
