/*
 * Shared by the files of the source `waits`: what sleeping threads of the job wait for, by samples
 * of /proc/PID/task/TID/{syscall,stat,wchan}. The system call gives the reason; its descriptor, or
 * the memory at its address, the partner.
 *
 * A thread counts the time since it was last looked at for the state in which it is found; at a
 * reading, and when it has ended, what is left for the state in which it was last found. Looks are
 * at irregular times, so shares are unbiased however often it is its turn. A process whose CPU
 * clock has not advanced has not run: its threads wait where they did, and none of their files is
 * read.
 */
#pragma once

#include <stdint.h>

#include "core/hash_map.h"
#include "sources/process/procdir.h"
#include "sources/source.h"

enum wait_reason {
	WAIT_STORAGE,
	WAIT_NETWORK,
	WAIT_PROCESS,
	WAIT_LOCK,
	WAIT_CONDITION,
	WAIT_TIMER,
	WAIT_CHILD,
	WAIT_DEVICE,
	WAIT_POLL,
	WAIT_OTHER,
	WAIT_RUNNING,
	WAIT_REASONS,
	WAIT_UNKNOWN = WAIT_REASONS, /* may not be read: counted as looked at only */
	WAIT_SOCKET,                 /* by wchan: network or process, its sockets decide */
};

/* How the reason follows from a system call. */
enum wait_call {
	CALL_NONE,
	CALL_FD_IN, /* by the descriptor in the first argument; waits for data or room */
	CALL_FD_OUT,
	CALL_PATH, /* storage, or a fifo without a partner */
	CALL_STORAGE,
	CALL_RING,   /* io_uring */
	CALL_MEMORY, /* address space: its lock, or storage */
	CALL_FUTEX,
	CALL_CONDITION,
	CALL_TIMER,
	CALL_POLL,
	CALL_SELECT,
	CALL_EPOLL,
	CALL_CHILD,
	CALL_CLONE, /* until a vfork child executes, or memory */
	CALL_LOCK,
	CALL_FCNTL,
	CALL_PROCESS,
	CALL_SIGNAL,
	CALL_RESTART, /* wchan tells which */
};

#define WAIT_PARTNER_MAX 96

/* What a thread waits for. */
struct wait_seen {
	enum wait_reason reason;
	const char *call;               /* constant; NULL: unknown */
	char partner[WAIT_PARTNER_MAX]; /* "": unknown; printable */
	bool member;                    /* the other process is one of the job */
	bool unsure;                    /* its partner may be found a little later */
};

/* ---- waits_parse.c: texts of /proc, and tables ---------------------------------------------- */

/* What /proc/PID/syscall says. */
struct wait_syscall {
	bool running; /* on a CPU, or ready */
	bool narrow;  /* may be of a 32-bit program, whose numbers differ */
	int64_t number;
	uint64_t arg[6];
};

const char *wait_reason_name(enum wait_reason reason); /* "storage" */
/* False: not such a line. */
bool wait_parse_syscall(const char *text, size_t n, struct wait_syscall *ret);
/* The kind of a call of this machine and its name; CALL_NONE: not in the table. */
enum wait_call wait_call_of(int64_t number, const char **ret_name);
/* By the name of the function; WAIT_UNKNOWN: not in the table. */
enum wait_reason wait_by_wchan(const char *text, size_t n, const char **ret_what);

/* ---- waits_sockets.c ------------------------------------------------------------------------ */

enum socket_place {
	SOCKET_UNKNOWN,
	SOCKET_REMOTE, /* the other end is another host */
	SOCKET_LOCAL,  /* on this host */
	SOCKET_KERNEL, /* netlink, packets: no process */
};

struct wait_socket {
	uint64_t inode, peer; /* peer: inode of the other end on this host; 0: unknown */
	enum socket_place place;
	bool listening, is_unix;
	bool presumed;  /* it was not found: others like it lead there */
	unsigned tries; /* to find its peer */
	char name[64];  /* address of the peer, or for a listening socket its own */
};

struct wait_sockets {
	struct procdir *dir;
	struct wait_socket *list;
	size_t count, cap;
	struct hash_map by_inode; /* index in the list */
	struct hash_map by_ends;  /* index, by the addresses of both ends */
	/* of connections that were found, those within this host and to others; tries: how many */
	struct wait_socket usual[2];
	uint64_t next_ns; /* when the tables may be read again */
	int diag;         /* socket of sock_diag; -1: none, -2: not opened yet */
};

void wait_sockets_release(struct wait_sockets *s);
/* The socket with this inode, as process pid sees it; NULL: unknown (for now). */
const struct wait_socket *wait_sockets_find(struct wait_sockets *s, int pid, uint64_t inode,
					    uint64_t now_ns);
/* Adds the lines of /proc/net/tcp, tcp6, udp or udp6. */
void wait_sockets_parse_inet(struct wait_sockets *s, const char *text, size_t n, bool listens);

/* ---- waits_file_locks.c --------------------------------------------------------------------- */

/* A file that a process has locked for itself alone; pid: -1 if nobody in particular has it. */
struct wait_file_lock {
	uint64_t inode;
	unsigned major, minor; /* of the filesystem */
	int pid;
};

struct wait_file_locks {
	struct wait_file_lock *list;
	size_t count, cap;
	uint64_t next_ns; /* when they may be read again */
	int pid, pid_fd;  /* who was looked at last, and its descriptor of a locked file */
	uint64_t pid_ns;  /* until when that counts */
};

struct wait_partners;
/* Takes what /proc/locks says; changes the text. */
void wait_file_locks_parse(struct wait_file_locks *l, char *text);
void wait_file_locks_release(struct wait_file_locks *l);
/* A thread that sleeps for a moment: until it asks again for a lock on a file that another process
 * has? on_clock: by clock_nanosleep, whose arguments differ. */
bool wait_asks_for_lock(struct wait_partners *w, int pid, const struct wait_syscall *c,
			bool on_clock, uint64_t now_ns, struct wait_seen *ret);

/* ---- waits_partner.c ------------------------------------------------------------------------ */

/* An open end of a pipe or a socket in the job. */
struct wait_end {
	uint64_t inode;
	int pid;
	bool in, out;
};

struct wait_partners {
	const struct source_context *ctx;
	struct procdir *dir;
	struct wait_sockets sockets;
	struct wait_file_locks file_locks;
	struct wait_end *ends; /* sorted by inode */
	size_t count, cap;
	uint64_t next_ns;      /* when they may be listed again */
	uint64_t listed_ticks; /* when all were listed, as start times of processes count */
};

void wait_partners_open(struct wait_partners *w, const struct source_context *ctx,
			struct procdir *dir);
void wait_partners_release(struct wait_partners *w);
/* What waiting for a descriptor means; call is set already. out: for room, not for data. */
void wait_for_descriptor(struct wait_partners *w, int pid, uint64_t fd, bool out, uint64_t now_ns,
			 struct wait_seen *ret);
/* The same for one of many. timed: the call has a time-out; if nobody outside of the process can
 * end it sooner, it waits for that. */
void wait_for_any(struct wait_partners *w, int pid, const int *fds, size_t count, bool timed,
		  uint64_t now_ns, struct wait_seen *ret);
/* Where the sockets of a process lead, if all agree. */
enum socket_place wait_sockets_of(struct wait_partners *w, int pid, uint64_t now_ns, size_t *ret);
/* Is this a process or thread of the process? */
bool wait_thread_exists(const struct procdir *dir, int pid, uint32_t tid);

/* ---- waits_calls.c -------------------------------------------------------------------------- */

/* Reads memory of a process without stopping it; false: not all of it. */
bool wait_memory(const struct procdir *dir, int pid, uint64_t address, void *buf, size_t size);
/* What a thread that sleeps in a call waits for; WAIT_UNKNOWN: wchan decides. */
void wait_for_call(struct wait_partners *w, int pid, const struct wait_syscall *call,
		   uint64_t now_ns, struct wait_seen *ret);

/* ---- waits_threads.c ------------------------------------------------------------------------ */

struct wait_thread {
	int tid, syscall_fd;
	bool listed;
	bool known;          /* what it waits for */
	bool member;         /* a process of the job */
	bool slept;          /* it has a site */
	uint8_t brisk;       /* looks at which its state is read first */
	bool unsure;         /* except for whom */
	uint64_t last_ns;    /* it was last looked at */
	uint64_t window_us;  /* on a CPU, in the window of the process */
	uint64_t checked_ns; /* its partner was last looked up */
	uint64_t text_hash;  /* of what syscall said then */
	uint16_t site;       /* where its time goes */
	enum wait_reason reason;
};

/* A reason with its partner. */
struct wait_site {
	uint64_t us;
	struct wait_seen seen;
};
#define WAIT_SITES 24

struct wait_process {
	int pid, stat_fd;
	uint64_t starttime;
	bool listed, gone;
	bool refused;       /* its calls may not be read */
	bool blind;         /* nor where it sleeps in the kernel */
	unsigned retry;     /* looks until both are tried again */
	uint64_t cpu_ns;    /* its clock before it was last read */
	uint64_t listed_ns; /* its threads were last listed */
	uint64_t thread_count;
	struct wait_thread *threads;
	size_t count, cap, old, hint, next; /* next: whose turn it is */
	struct wait_site sites[WAIT_SITES];
	size_t site_count;
	uint64_t us[WAIT_REASONS], members_us, observed_us;
	uint64_t window_ns, window_most_us; /* its begin; the thread that ran most in it */
	uint64_t busiest_us;                /* the sum of those of all windows */
	uint64_t recheck_ns; /* when its partners are looked up again, though it did not run */
	uint64_t told_ns;    /* its metadata was last written */
	uint32_t entity;
	bool has_entity;
};

struct waits {
	const struct source_context *ctx;
	struct procdir dir;
	struct wait_partners partners;
	struct wait_process *list; /* sorted by pid */
	size_t count, cap;
	size_t next; /* whose turn it is */
	uint64_t began_ns;
	uint64_t us[WAIT_REASONS], members_us, observed_us; /* of all processes, ended ones, too */
	uint64_t spare_ns;                                  /* CPU time that a look may take */
	bool glanced, refused, blind;
	uint32_t job;
};

/* Takes over the list of the job's processes; those that have ended stay until they are dropped. */
void waits_sync(struct waits *w, uint64_t now_ns);
/* Before a reading: the time since the last look, so that a reading covers the time until now. */
void waits_carry(struct waits *w, uint64_t now_ns);
void waits_drop_gone(struct waits *w);
/* Looks at as many threads as the budget allows. */
void waits_look(struct waits *w, uint64_t now_ns);
void waits_release(struct waits *w);
