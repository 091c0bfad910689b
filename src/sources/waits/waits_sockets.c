/*
 * Sockets by their inode: where the other end is. Internet sockets are in /proc/PID/net/tcp and its
 * like, which follow the network namespace of the process; they are read again when an unknown
 * inode appears, but never for more than a small share of the time. A Unix socket's other end is
 * known to sock_diag only.
 */
#include "sources/waits/waits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"

/* The tables may cost one part in this many of the time. */
#define COST_PART 500
#define LEAST_NS 150000000ull
#define SOCKETS_MAX 65536
/* The peer of a socket is looked for this often. */
#define TRIES_MAX 5
#define TABLE_MAX (8u << 20)
#define TCP_LISTEN_STATE 10

/* One end: address and port. */
struct end {
	unsigned char address[16];
	unsigned port;
	bool six;
};

static uint64_t hash_ends(const struct end *from, const struct end *to)
{
	uint64_t h = hash_bytes(from->address, sizeof(from->address));

	h = hash_more(h, &from->port, sizeof(from->port));
	h = hash_more(h, to->address, sizeof(to->address));
	return hash_more(h, &to->port, sizeof(to->port));
}

/* "0100007F:1F90": the words of the address in the byte order of the machine. */
static bool take_end(const char *address, unsigned port, struct end *ret)
{
	size_t digits = strlen(address);

	*ret = (struct end){.port = port, .six = digits == 32};
	if (digits != 8 && digits != 32)
		return false;
	for (size_t i = 0; i < digits / 8; i++) {
		char word[9] = "";
		uint32_t v;

		memcpy(word, address + i * 8, 8);
		v = (uint32_t)strtoul(word, NULL, 16);
		memcpy(ret->address + i * 4, &v, 4);
	}
	/* an IPv4 address in IPv6 is the same end */
	static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	if (ret->six && !memcmp(ret->address, mapped, sizeof(mapped))) {
		memmove(ret->address, ret->address + 12, 4);
		memset(ret->address + 4, 0, 12);
		ret->six = false;
	}
	return true;
}

static bool is_any(const struct end *e)
{
	static const unsigned char none[16];

	return !memcmp(e->address, none, sizeof(none));
}

static bool is_loopback(const struct end *e)
{
	static const unsigned char one[16] = {[15] = 1};

	return e->six ? !memcmp(e->address, one, sizeof(one)) : e->address[0] == 127;
}

static void name_end(const struct end *e, char *buf, size_t size)
{
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(e->six ? AF_INET6 : AF_INET, e->address, text, sizeof(text));
	snprintf(buf, size, e->six ? "[%s]:%u" : "%s:%u", text, e->port);
}

/* ---- the table ------------------------------------------------------------------------------ */

static void clear(struct wait_sockets *s)
{
	s->count = 0;
	hash_map_clear(&s->by_inode);
	hash_map_clear(&s->by_ends);
}

static struct wait_socket *find(const struct wait_sockets *s, uint64_t inode)
{
	uint64_t h = hash_number(inode);

	for (struct hash_slot *p = hash_map_first(&s->by_inode, h); p;
	     p = hash_map_next(&s->by_inode, p))
		if (s->list[p->value].inode == inode)
			return &s->list[p->value];
	return NULL;
}

static struct wait_socket *put(struct wait_sockets *s, uint64_t inode)
{
	struct wait_socket *one = find(s, inode);

	if (one) {
		*one = (struct wait_socket){.inode = inode};
		return one;
	}
	if (s->count >= SOCKETS_MAX)
		clear(s);
	GROW(s->list, s->count, s->cap);
	hash_map_add(&s->by_inode, hash_number(inode), s->count);
	one = &s->list[s->count++];
	*one = (struct wait_socket){.inode = inode};
	return one;
}

void wait_sockets_release(struct wait_sockets *s)
{
	free(s->list);
	hash_map_release(&s->by_inode);
	hash_map_release(&s->by_ends);
	if (s->diag >= 0)
		close(s->diag);
	*s = (struct wait_sockets){.diag = -1};
}

static void add_inet(struct wait_sockets *s, const struct end *own, const struct end *other,
		     bool listening, uint64_t inode)
{
	struct wait_socket *one = put(s, inode);
	bool connected = !is_any(other);
	const struct end *named = connected ? other : own;

	one->listening = listening || !connected;
	if (is_loopback(named) || (connected && !memcmp(own->address, other->address, 16)))
		one->place = SOCKET_LOCAL;
	else
		one->place = SOCKET_REMOTE;
	name_end(named, one->name, sizeof(one->name));
	if (connected && one->place == SOCKET_LOCAL)
		hash_map_add(&s->by_ends, hash_ends(own, other), (uintptr_t)inode);
}

/* The other end of a connection within this host. */
static void match_ends(struct wait_sockets *s, const struct end *own, const struct end *other,
		       uint64_t inode)
{
	struct wait_socket *one = find(s, inode);
	struct hash_slot *p = hash_map_first(&s->by_ends, hash_ends(other, own));

	if (one && p && one->place == SOCKET_LOCAL && (uint64_t)p->value != inode)
		one->peer = (uint64_t)p->value;
}

static void each_line(struct wait_sockets *s, const char *text, size_t n, bool listens, bool match)
{
	const char *p = text, *stop = text + n;

	for (const char *eol; p < stop && (eol = memchr(p, '\n', (size_t)(stop - p)));
	     p = eol + 1) {
		char line[256], own_text[33], other_text[33];
		unsigned own_port, other_port, state;
		unsigned long long inode;
		struct end own, other;
		size_t size = (size_t)(eol - p);

		if (size >= sizeof(line))
			continue;
		memcpy(line, p, size);
		line[size] = 0;
		if (sscanf(line,
			   " %*u: %32[0-9A-Fa-f]:%4x %32[0-9A-Fa-f]:%4x %2x %*x:%*x %*x:%*x %*x "
			   "%*u %*u %20llu",
			   own_text, &own_port, other_text, &other_port, &state, &inode) != 6 ||
		    !inode || !take_end(own_text, own_port, &own) ||
		    !take_end(other_text, other_port, &other))
			continue;
		if (match)
			match_ends(s, &own, &other, inode);
		else
			add_inet(s, &own, &other, listens && state == TCP_LISTEN_STATE, inode);
	}
}

void wait_sockets_parse_inet(struct wait_sockets *s, const char *text, size_t n, bool listens)
{
	each_line(s, text, n, listens, false);
	each_line(s, text, n, listens, true);
}

static void read_tables(struct wait_sockets *s, int pid)
{
	static const char *const names[] = {"tcp", "tcp6", "udp", "udp6"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	hash_map_clear(&s->by_ends);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%d/net/%s", pid, names[i]);
		int r = fs_read(s->dir->fd, path, TABLE_MAX, &text);
		if (r < 0 && r != -EFBIG)
			continue;
	}
	/* both families at once: an IPv4 client may talk to an IPv6 socket */
	wait_sockets_parse_inet(s, text.buf, text.len, true);
}

/* ---- Unix sockets --------------------------------------------------------------------------- */

static void take_unix(struct wait_sockets *s, uint64_t inode, const char *buf, size_t n)
{
	const struct nlmsghdr *nlh = (const void *)buf;

	if (n < NLMSG_LENGTH(sizeof(struct unix_diag_msg)) || nlh->nlmsg_len > n ||
	    nlh->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return;
	const struct unix_diag_msg *m = NLMSG_DATA(nlh);
	struct wait_socket *one = put(s, inode);
	one->place = SOCKET_LOCAL;
	one->is_unix = true;
	one->listening = m->udiag_state == TCP_LISTEN_STATE;
	const struct rtattr *a = (const void *)(m + 1);
	size_t left = nlh->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= 4) {
			uint32_t peer;

			memcpy(&peer, RTA_DATA(a), sizeof(peer));
			one->peer = peer;
		} else if (a->rta_type == UNIX_DIAG_NAME && RTA_PAYLOAD(a) > 0) {
			const char *name = RTA_DATA(a);
			size_t size = RTA_PAYLOAD(a);

			/* an abstract name begins with a zero byte */
			snprintf(one->name, sizeof(one->name), "%s%.*s", *name ? "" : "@",
				 (int)(*name ? size : size - 1), *name ? name : name + 1);
		}
	}
}

static void ask_unix(struct wait_sockets *s, uint64_t inode)
{
	_Alignas(8) char buf[1024];
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} q = {
		.h = {.nlmsg_len = sizeof(q),
		      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		      .nlmsg_flags = NLM_F_REQUEST},
		.r = {.sdiag_family = AF_UNIX,
		      .udiag_states = UINT32_MAX,
		      .udiag_ino = (uint32_t)inode,
		      .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER,
		      .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
	};

	if (s->diag == -2)
		s->diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				 NETLINK_SOCK_DIAG);
	if (s->diag < 0 || inode > UINT32_MAX ||
	    send(s->diag, &q, sizeof(q), MSG_DONTWAIT) != (ssize_t)sizeof(q))
		return;
	/* the kernel answers before send() returns */
	ssize_t n = recv(s->diag, buf, sizeof(buf), MSG_DONTWAIT);
	if (n > 0)
		take_unix(s, inode, buf, (size_t)n);
}

/* Unix sockets without sock_diag: of a recorded tree, or of another network namespace. */
static void read_unix(struct wait_sockets *s, int pid, uint64_t inode)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char path[64];

	snprintf(path, sizeof(path), "%d/net/unix", pid);
	if (fs_read(s->dir->fd, path, TABLE_MAX, &text) < 0)
		return;
	for (char *p = text.buf, *eol; (eol = strchr(p, '\n')); p = eol + 1) {
		unsigned flags;
		unsigned long long number;
		int at = 0;

		*eol = 0;
		if (sscanf(p, "%*[0-9a-fA-F]: %*x %*x %8x %*x %*x %20llu%n", &flags, &number,
			   &at) != 2 ||
		    number != inode)
			continue;
		struct wait_socket *one = put(s, inode);
		one->place = SOCKET_LOCAL;
		one->listening = (flags & 0x10000) != 0;
		snprintf(one->name, sizeof(one->name), "%s", p[at] == ' ' ? p + at + 1 : "");
		return;
	}
}

/* ---- finding -------------------------------------------------------------------------------- */

/* Connections of a moment are mostly over before the tables may be read again: where those lead
 * that were found. */
static void learn(struct wait_sockets *s, const struct wait_socket *one)
{
	struct wait_socket *u = &s->usual[one->place == SOCKET_REMOTE];

	if (one->is_unix || one->listening ||
	    (one->place != SOCKET_LOCAL && one->place != SOCKET_REMOTE))
		return;
	if (!u->tries++)
		snprintf(u->name, sizeof(u->name), "%s", one->name);
	else if (strcmp(u->name, one->name) != 0)
		u->name[0] = 0; /* several */
	u->place = one->place;
	u->presumed = true;
}

/* Where most lead, nearly all; NULL: unknown. */
static const struct wait_socket *presume(const struct wait_sockets *s)
{
	const struct wait_socket *few = &s->usual[0], *many = &s->usual[1];

	if (few->tries > many->tries) {
		many = few;
		few = &s->usual[1];
	}
	return many->tries > 3 * few->tries ? many : NULL;
}

const struct wait_socket *wait_sockets_find(struct wait_sockets *s, int pid, uint64_t inode,
					    uint64_t now_ns)
{
	struct wait_socket *one = find(s, inode);

	/* a socket without a peer may have got one, but most are the same for ever */
	bool settled = one && (one->peer || one->tries >= TRIES_MAX ||
			       (one->place == SOCKET_REMOTE && !one->listening));
	if (settled || (one && now_ns < s->next_ns))
		return one;
	unsigned tries = one ? one->tries + 1 : 0;
	if (s->dir->live && (!one || one->is_unix))
		ask_unix(s, inode);
	one = find(s, inode);
	if (one)
		one->tries = tries;
	if ((one && one->is_unix) || now_ns < s->next_ns)
		return one || s->diag == -1 ? one : presume(s);
	uint64_t before = clock_thread_cpu_ns();
	read_tables(s, pid);
	if (!find(s, inode))
		read_unix(s, pid, inode);
	if (!find(s, inode))
		put(s, inode)->place = SOCKET_KERNEL; /* in none of them: netlink, packets */
	find(s, inode)->tries = tries;
	if (!tries)
		learn(s, find(s, inode));
	uint64_t pause = (clock_thread_cpu_ns() - before) * COST_PART;
	s->next_ns = now_ns + (pause > LEAST_NS ? pause : LEAST_NS);
	return find(s, inode);
}
