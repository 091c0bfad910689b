/* The source `waits` on recorded trees: each way from a system call to a reason and a partner. */
#include "waits_tree.h"

#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "sources/waits/waits.h"

/* ---- calls ----------------------------------------------------------------------------------- */

static void numbers_of_calls(void **state)
{
	static const struct {
		long number;
		enum wait_call kind;
		const char *name;
	} rows[] = {
		{SYS_read, CALL_FD_IN, "read"},
		{SYS_sendto, CALL_FD_OUT, "sendto"},
		{SYS_futex, CALL_FUTEX, "futex"},
		{SYS_clock_nanosleep, CALL_TIMER, "clock_nanosleep"},
		{SYS_ppoll, CALL_POLL, "ppoll"},
		{SYS_pselect6, CALL_SELECT, "pselect6"},
		{SYS_epoll_pwait, CALL_EPOLL, "epoll_pwait"},
		{SYS_wait4, CALL_CHILD, "wait4"},
		{SYS_waitid, CALL_CHILD, "waitid"},
		{SYS_flock, CALL_LOCK, "flock"},
		{SYS_fcntl, CALL_FCNTL, "fcntl"},
		{SYS_semtimedop, CALL_PROCESS, "semtimedop"},
		{SYS_io_uring_enter, CALL_RING, "io_uring_enter"},
		{SYS_restart_syscall, CALL_RESTART, "restart_syscall"},
		{SYS_openat, CALL_PATH, "openat"},
		{SYS_fsync, CALL_FD_OUT, "fsync"},
		{SYS_msync, CALL_STORAGE, "msync"},
		{SYS_getpid, CALL_NONE, NULL},
		{-1, CALL_NONE, NULL},
		{511, CALL_NONE, NULL},
		{100000, CALL_NONE, NULL},
	};
	const char *name;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(wait_call_of(rows[i].number, &name), rows[i].kind);
		assert_true((name != NULL) == (rows[i].name != NULL));
		if (name)
			assert_string_equal(name, rows[i].name);
	}
}

static void a_timer(void **state)
{
	(void)state;
	put_process(40, 'S', 1);
	put_call(40, 40, SYS_clock_nanosleep, 0, 0, 0);
	ten_seconds();
	check_wait("timer", "clock_nanosleep");
	check_value(ENTITY_PROCESS, NAME, "threads", 1);
}

/* SQLite sleeps for 25 ms and asks again, while another process writes. */
static void asking_for_a_lock_again_and_again(void **state)
{
	_cleanup_free_ char *memory = xcalloc(1, 0x1010), *file = NULL;
	const int64_t pause[2] = {0, 25000000}, minute[2] = {60, 0};
	struct stat st;

	(void)state;
	memcpy(memory + 0x1000, pause, sizeof(pause));
	put("data.db", "x");
	file = xasprintf("%s/data.db", tree);
	assert_int_equal(stat(file, &st), 0);
	put_process(40, 'S', 1);
	putf("proc/%d/task/%d/syscall", "230 0x0 0x0 0x1000 0x0 0x0 0x0 " STACK "\n", 40, 40);
	put_bytes("proc/40/mem", memory, 0x1010);
	put_link("proc/40/fd/3", file);
#if defined(__x86_64__)
	_cleanup_free_ char *want = xasprintf("clock_nanosleep %s", file),
			    *locks = xasprintf("1: POSIX  ADVISORY  READ 44 00:01:5 128 128\n"
					       "2: POSIX  ADVISORY  WRITE 44 %02x:%02x:%llu 1 9\n"
					       "2: -> POSIX  ADVISORY  WRITE 45 00:01:5 1 9\n"
					       "3: damaged\n",
					       major(st.st_dev), minor(st.st_dev),
					       (unsigned long long)st.st_ino);
	put("proc/locks", locks);
	ten_seconds();
	check_wait("lock", want);
	/* one of a minute is none of these */
	memcpy(memory + 0x1000, minute, sizeof(minute));
	put_bytes("proc/40/mem", memory, 0x1010);
	ten_seconds();
	check_wait("timer", "clock_nanosleep");
	/* nor one while it has the lock itself */
	memcpy(memory + 0x1000, pause, sizeof(pause));
	put_bytes("proc/40/mem", memory, 0x1010);
	locks[strcspn(locks, "\n") + 1 + strlen("2: POSIX  ADVISORY  WRITE 4")] = '0';
	put("proc/locks", locks);
	ten_seconds();
	check_wait("timer", "clock_nanosleep");
#endif
}

static void a_child(void **state)
{
	(void)state;
	put_process(40, 'S', 1);
	put_call(40, 40, SYS_wait4, 0, 0, 0);
	ten_seconds();
	check_wait("child", "wait4");
}

static void a_file(void **state)
{
	(void)state;
	put_process(40, 'D', 1);
	put_call(40, 40, SYS_read, 3, 0, 0);
	put_link("proc/40/fd/3", "/data/in; put\x1b.nc");
	ten_seconds();
	check_wait("storage", "read /data/in, put\\x1b.nc");
}

static void a_terminal(void **state)
{
	(void)state;
	put_process(40, 'S', 1);
	put_call(40, 40, SYS_read, 0, 0, 0);
	put_link("proc/40/fd/0", "/dev/pts/3");
	ten_seconds();
	check_wait("other", "read terminal /dev/pts/3");
}

static void the_other_end_of_a_pipe(void **state)
{
	(void)state;
	put_process(40, 'S', 1);
	put_process(44, 'R', 1);
	put_call(40, 40, SYS_read, 0, 0, 0);
	put_link("proc/40/fd/0", "pipe:[777]");
	put_link("proc/44/fd/1", "pipe:[777]");
	ten_seconds();
	int64_t observed = raw_value(ENTITY_PROCESS, NAME, "observed");
	check_value(ENTITY_PROCESS, NAME, "process", observed);
	check_fact(ENTITY_PROCESS, NAME, "waits", "process 10.0 read pipe from 44.5000 (prog)");
	/* the other one computes: one read shows it, and it has no wait */
	check_value(ENTITY_PROCESS, "44.5000", "running", observed);
	check_fact(ENTITY_PROCESS, "44.5000", "waits", NULL);
	check_value(ENTITY_JOB, "job", "observed", 2 * observed);
}

static const char tcp[] =
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	"   0: 0500000A:9C40 0100000A:1538 01 00000000:00000000 00:00000000 00000000     0        0 901 1 0\n"
	"   1: 0100007F:9C41 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 902 1 0\n"
	"   2: 0100007F:0050 0100007F:9C41 01 00000000:00000000 00:00000000 00000000     0        0 903 1 0\n"
	"   3: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 904 1 0\n"
	"   4: damaged\n";

static void a_socket(uint64_t inode)
{
	_cleanup_free_ char *link = xasprintf("socket:[%llu]", (unsigned long long)inode);

	put_process(40, 'S', 1);
	put_call(40, 40, SYS_recvfrom, 7, 0, 0);
	put("proc/40/net/tcp", tcp);
	put_link("proc/40/fd/7", link);
}

static void another_host(void **state)
{
	(void)state;
	a_socket(901);
	ten_seconds();
	check_wait("network", "recvfrom 10.0.0.1:5432");
}

static void another_process_on_this_host(void **state)
{
	(void)state;
	a_socket(902);
	put_process(44, 'R', 1);
	put_link("proc/44/fd/5", "socket:[903]");
	ten_seconds();
	check_fact(ENTITY_PROCESS, NAME, "waits",
		   "process 10.0 recvfrom 127.0.0.1:80 from 44.5000 (prog)");
}

static void a_listening_socket(void **state)
{
	(void)state;
	a_socket(904);
	ten_seconds();
	check_wait("network", "recvfrom new connection at 0.0.0.0:22");
}

static void a_unix_socket(void **state)
{
	(void)state;
	a_socket(905);
	put("proc/40/net/unix",
	    "Num       RefCount Protocol Flags    Type St Inode Path\n"
	    "0000000000000000: 00000003 00000000 00000000 0001 03 905 /run/server.sock\n");
	ten_seconds();
	check_wait("process", "recvfrom /run/server.sock");
}

/* The tables may be read again a while later: what was not found is presumed to lead where nearly
 * all others do. */
static void a_connection_of_a_moment(void **state)
{
	struct procdir dir;
	struct wait_sockets s = {.dir = &dir, .diag = -2};
	const struct wait_socket *one;

	(void)state;
	put("proc/40/net/tcp", tcp);
	assert_int_equal(procdir_open(&dir, tree, 100, &R.why), 0);
	assert_int_equal(wait_sockets_find(&s, 40, 901, 1000)->place, SOCKET_REMOTE);
	one = wait_sockets_find(&s, 40, 777, 2000);
	assert_int_equal(one->place, SOCKET_REMOTE);
	assert_true(one->presumed);
	assert_string_equal(one->name, "10.0.0.1:5432");
	/* a listening socket tells nothing of others; one within this host does */
	assert_int_equal(wait_sockets_find(&s, 40, 904, UINT64_C(100000000000))->listening, true);
	s.next_ns = 0;
	hash_map_clear(&s.by_inode);
	assert_int_equal(wait_sockets_find(&s, 40, 902, UINT64_C(200000000000))->place,
			 SOCKET_LOCAL);
	assert_null(wait_sockets_find(&s, 40, 778, UINT64_C(200000000001)));
	wait_sockets_release(&s);
	procdir_close(&dir);
}

static void an_unknown_socket(void **state)
{
	(void)state;
	a_socket(999);
	ten_seconds();
	check_wait("other", "recvfrom kernel socket");
}

static void epoll_on_one_and_on_many(void **state)
{
	(void)state;
	put_process(40, 'S', 1);
	put_call(40, 40, SYS_epoll_pwait, 5, 0, 0);
	put("proc/40/fdinfo/5",
	    "pos:\t0\nflags:\t02\nmnt_id:\t15\n"
	    "tfd:        7 events:       19 data:                7  pos:0 ino:385 sdev:9\n"
	    "tfd:        9 events:       19 data:                9  pos:0 ino:1 sdev:f\n");
	put("proc/40/net/tcp", tcp);
	put_link("proc/40/fd/7", "socket:[901]");
	put_link("proc/40/fd/9", "anon_inode:[eventfd]"); /* to be woken by */
	ten_seconds();
	check_wait("network", "epoll_pwait 10.0.0.1:5432");
	drop("proc/40/fd/9");
	put_link("proc/40/fd/9", "pipe:[5]"); /* nobody else has it */
	ten_seconds();
	check_wait("network", "epoll_pwait 10.0.0.1:5432");
	drop("proc/40/fd/9");
	put_link("proc/40/fd/9", "/dev/pts/3");
	ten_seconds();
	check_wait("poll", "epoll_pwait 2 descriptors");
	put("proc/40/fdinfo/5", "pos:\t0\n");
	ten_seconds();
	check_wait("timer", "epoll_pwait");
}

/* A call with a time-out on descriptors that nobody outside of the process can write to: asyncio
 * sleeps so. */
static void a_time_out_on_its_own_pipe(void **state)
{
	(void)state;
	put_process(40, 'S', 1);
	putf("proc/%d/task/%d/syscall", "281 0x5 0x7f00 0x40 0x64 0x0 0x8 " STACK "\n", 40, 40);
	put("proc/40/fdinfo/5",
	    "pos:\t0\n"
	    "tfd:        7 events:       19 data:                7  pos:0 ino:385 sdev:9\n"
	    "tfd:        9 events:       19 data:                9  pos:0 ino:1 sdev:f\n");
	put_link("proc/40/fd/7", "pipe:[5]");
	put_link("proc/40/fd/8", "pipe:[5]"); /* its other end */
	put_link("proc/40/fd/9", "anon_inode:[eventfd]");
#if defined(__x86_64__)
	ten_seconds();
	check_wait("timer", "epoll_pwait");
	/* without one it waits for another of its threads */
	putf("proc/%d/task/%d/syscall", "281 0x5 0x7f00 0x40 0xffffffff 0x0 0x8 " STACK "\n", 40,
	     40);
	ten_seconds();
	check_wait("condition", "epoll_pwait");
	/* unless a timer is among them */
	drop("proc/40/fd/9");
	put_link("proc/40/fd/9", "anon_inode:[timerfd]");
	ten_seconds();
	check_wait("timer", "epoll_pwait");
	/* another host may end it sooner */
	put("proc/40/net/tcp", tcp);
	drop("proc/40/fd/9");
	put_link("proc/40/fd/9", "socket:[901]");
	putf("proc/%d/task/%d/syscall", "281 0x5 0x7f00 0x40 0x64 0x0 0x8 " STACK "\n", 40, 40);
	ten_seconds();
	check_wait("network", "epoll_pwait 10.0.0.1:5432");
#endif
}

/* Its clients are in the same process, as in tests of servers: nobody else calls. */
static void a_server_of_its_own(void **state)
{
	(void)state;
	put_process(40, 'S', 1);
	putf("proc/%d/task/%d/syscall", "281 0x5 0x7f00 0x40 0x64 0x0 0x8 " STACK "\n", 40, 40);
	put("proc/40/fdinfo/5",
	    "pos:\t0\n"
	    "tfd:        7 events:       19 data:                7  pos:0 ino:385 sdev:9\n"
	    "tfd:        8 events:       19 data:                8  pos:0 ino:386 sdev:9\n"
	    "tfd:        9 events:       19 data:                9  pos:0 ino:387 sdev:9\n");
	put("proc/40/net/tcp", tcp);
	put_link("proc/40/fd/7", "socket:[904]"); /* listens */
	put_link("proc/40/fd/8", "socket:[902]");
	put_link("proc/40/fd/9", "socket:[903]");
#if defined(__x86_64__)
	ten_seconds();
	check_wait("timer", "epoll_pwait");
	/* with a client elsewhere it waits for that one */
	drop("proc/40/fd/9");
	put("proc/40/fdinfo/5",
	    "pos:\t0\n"
	    "tfd:        7 events:       19 data:                7  pos:0 ino:385 sdev:9\n"
	    "tfd:        8 events:       19 data:                8  pos:0 ino:386 sdev:9\n");
	ten_seconds();
	check_wait("process", "epoll_pwait 127.0.0.1:80");
#endif
}

static void the_file_of_a_gpu(void **state)
{
	(void)state;
	put_process(40, 'S', 1);
	put_call(40, 40, SYS_ioctl, 6, 0, 0);
	put_link("proc/40/fd/6", "/dev/nvidia0");
	ten_seconds();
	check_wait("device", "ioctl /dev/nvidia0");
	drop("proc/40/fd/6");
	put_link("proc/40/fd/6", "/dev/dri/renderD128");
	ten_seconds();
	check_wait("device", "ioctl /dev/dri/renderD128");
	drop("proc/40/fd/6");
	put_link("proc/40/fd/6", "/dev/driver");
	ten_seconds();
	check_wait("other", "ioctl /dev/driver");
}

/* CUDA's library has a thread that listens for others, with nothing that they could say. */
static void the_listener_of_cuda(void **state)
{
	(void)state;
	put_process(40, 'S', 1);
	put_call(40, 40, SYS_epoll_pwait, 5, 0, 0);
	put("proc/40/fdinfo/5",
	    "tfd:        7 events:       19 data:                7  pos:0 ino:385 sdev:9\n"
	    "tfd:        9 events:       19 data:                9  pos:0 ino:1 sdev:f\n");
	put_link("proc/40/fd/7", "anon_inode:[eventfd]");
	put_link("proc/40/fd/9", "socket:[905]");
	put("proc/40/net/unix",
	    "Num       RefCount Protocol Flags    Type St Inode Path\n"
	    "0000000000000000: 00000002 00000000 00010000 0001 01 905 @cuda-uvmfd-4026531836-40\n");
	ten_seconds();
	check_wait("condition", "epoll_pwait");
}

/* ---- rights and states ----------------------------------------------------------------------- */

/* Without the call: a directory cannot be read. */
static void hide_call(int pid, int tid, const char *wchan)
{
	_cleanup_free_ char *name = xasprintf("proc/%d/task/%d/syscall", pid, tid);

	put_dir(name);
	putf("proc/%d/task/%d/wchan", wchan, pid, tid);
}

static void by_the_function_of_the_kernel(void **state)
{
	static const struct {
		const char *wchan, *reason, *what;
	} rows[] = {
		{"hrtimer_nanosleep", "timer", "sleep"},
		{"futex_wait_queue", "condition", "futex"},
		{"futex_wait_queue_me", "condition", "futex"},
		{"futex_do_wait", "condition", "futex"},
		{"do_wait", "child", "wait"},
		{"anon_pipe_read", "process", "pipe"},
		{"pipe_wait", "process", "pipe"},
		{"unix_stream_read_generic", "process", "unix socket"},
		{"folio_wait_bit_common", "storage", "page"},
		{"rpc_wait_bit_killable", "storage", "nfs"},
		{"do_epoll_wait", "poll", "epoll_wait"},
		{"do_signal_stop", "other", "stopped"},
		{"some_new_function", "other", "-"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		watch.count = 0;
		put_process(40, 'S', 1);
		hide_call(40, 40, rows[i].wchan);
		ten_seconds();
		check_wait(rows[i].reason, rows[i].what);
		assert_contains(absence("lock"), "not permitted");
		assert_string_equal(absence("timer"), "");
	}
}

static void a_socket_by_the_function_alone(void **state)
{
	(void)state;
	a_socket(901);
	drop("proc/40/task/40/syscall");
	hide_call(40, 40, "sk_wait_data");
	ten_seconds();
	check_wait("network", "socket");
}

static void nothing_may_be_read(void **state)
{
	(void)state;
	put_process(40, 'S', 1);
	hide_call(40, 40, "0");
	ten_seconds();
	assert_in_range(raw_value(ENTITY_PROCESS, NAME, "observed"), 10000000, 10200000);
	check_value(ENTITY_PROCESS, NAME, "running", 0);
	check_none(ENTITY_PROCESS, NAME, "other");
	check_none(ENTITY_PROCESS, NAME, "timer");
	check_fact(ENTITY_PROCESS, NAME, "waits", NULL);
	assert_contains(absence("timer"), "wchan");
	/* that it is blocked shows without any right */
	put_process(40, 'D', 1);
	watch.count = 1;
	ten_seconds();
	check_value(ENTITY_PROCESS, NAME, "storage", raw_value(ENTITY_PROCESS, NAME, "observed"));
}

static void page_faults_and_other_programs(void **state)
{
	(void)state;
	put_process(40, 'D', 1);
	put("proc/40/task/40/syscall", "-1 " STACK "\n");
	put("proc/40/task/40/wchan", "folio_wait_bit_common");
	ten_seconds();
	check_wait("storage", "page");
	/* a 32-bit program: 162 is nanosleep there, sync here */
	put("proc/40/task/40/syscall", "162 0x0 0x0 0x0 0x0 0x0 0x0 0xffb01234 0xf7f01234\n");
	put("proc/40/task/40/wchan", "hrtimer_nanosleep");
	ten_seconds();
	check_wait("timer", "sleep");
	put("proc/40/task/40/wchan", "rwsem_down_write_slowpath");
	put_call(40, 40, SYS_mmap, 0, 0, 0);
	ten_seconds();
	check_wait("lock", "mmap");
}

static void stopped(void **state)
{
	(void)state;
	put_process(40, 'T', 1);
	put_call(40, 40, SYS_clock_nanosleep, 0, 0, 0);
	ten_seconds();
	check_wait("other", "stopped");
}

static void damaged_lines(void **state)
{
	static const char *const lines[] = {
		"",
		"0",
		"0 0x",
		"0 0x1 0x2",
		"read 0x1\n",
		"99999999999999999999 0x1\n",
		"0 0x3 0x0 0x0 0x0 0x0 0x0 0x7ffc12345678",
		"0 0x3 0xfffffffffffffffffff 0x0\n",
	};

	(void)state;
	put_process(40, 'S', 1);
	put("proc/40/task/40/wchan", "do_wait");
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct wait_syscall call;

		assert_false(wait_parse_syscall(lines[i], strlen(lines[i]), &call));
		put("proc/40/task/40/syscall", lines[i]);
		ten_seconds();
		check_wait("child", "wait");
	}
}

/* ---- the source ------------------------------------------------------------------------------ */

static void what_the_probe_says(void **state)
{
	(void)state;
	put_dir("proc");
	check_probe("waits", NULL, 0, "functions of the kernel only");
	put("proc/self/syscall", "running\n");
	check_probe("waits", NULL, 0, "system calls and partners");
	put("proc/sys/kernel/yama/ptrace_scope", "2\n");
	become_user();
	check_probe("waits", NULL, -EACCES, "ptrace_scope is 2");
	become_again();
	put("proc/sys/kernel/yama/ptrace_scope", "1\n");
	become_user();
	check_probe("waits", NULL, 0, "only under `plimsoll run`");
	become_again();
}

static void options_and_jobs(void **state)
{
	(void)state;
	put_dir("proc");
	R.ctx.watch = NULL;
	assert_int_equal(start("waits", NULL), -EINVAL);
	assert_contains(R.why.buf, "no job");
	R.ctx.watch = &watch;
	assert_int_equal(start("waits", "fast"), -EINVAL);
	assert_contains(R.why.buf, "'fast'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_calls),
		with_job(a_timer),
		with_job(asking_for_a_lock_again_and_again),
		with_job(a_child),
		with_job(a_file),
		with_job(a_terminal),
		with_job(the_other_end_of_a_pipe),
		with_job(another_host),
		with_job(another_process_on_this_host),
		with_job(a_listening_socket),
		with_job(a_unix_socket),
		with_job(a_connection_of_a_moment),
		with_job(an_unknown_socket),
		with_job(epoll_on_one_and_on_many),
		with_job(a_time_out_on_its_own_pipe),
		with_job(a_server_of_its_own),
		with_job(the_file_of_a_gpu),
		with_job(the_listener_of_cuda),
		with_job(by_the_function_of_the_kernel),
		with_job(a_socket_by_the_function_alone),
		with_job(nothing_may_be_read),
		with_job(page_faults_and_other_programs),
		with_job(stopped),
		with_job(damaged_lines),
		with_job(what_the_probe_says),
		with_job(options_and_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
