/*
 * Processes that wait, each for one reason: `waiter SECONDS FILE` starts them all and writes a line
 * for each into FILE: its pid, its name, the reason, and what its partner is called (@: the process
 * behind it, as pid.). `waiter SECONDS threads N` has N threads that sleep, `waiter SECONDS wakers
 * N` N threads that wake up every 50 ms.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned seconds;
static FILE *list;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void line(const char *name, const char *reason, const char *partner)
{
	fprintf(list, "%d %s %s %s\n", (int)getpid(), name, reason, partner);
	fflush(list);
}

/* A child that sleeps while its parent waits for it. */
static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (!pid) {
		sleep(seconds);
		_exit(0);
	}
	return pid;
}

static void for_process(const char *name, pid_t partner)
{
	char text[32];

	snprintf(text, sizeof(text), "%d.", (int)partner);
	line(name, "process", text);
}

static void timer(void)
{
	line("sleep", "timer", "nanosleep");
	sleep(seconds);
}

static void timer_select(void)
{
	struct timeval t = {seconds, 0};

	line("select", "timer", "select");
	select(0, NULL, NULL, NULL, &t);
}

static void timer_fd(void)
{
	struct itimerspec t = {.it_value = {seconds, 0}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	char b[8];

	line("timerfd", "timer", "timerfd");
	timerfd_settime(fd, 0, &t, NULL);
	read(fd, b, 8);
}

static void child(void)
{
	line("child", "child", "wait4");
	sleeper();
	wait(NULL);
}

static void pipe_read(void)
{
	int p[2];
	char b;

	pipe(p);
	pid_t other = sleeper();
	close(p[1]);
	for_process("pipe", other);
	read(p[0], &b, 1);
}

static void pipe_write(void)
{
	static char full[1 << 17];
	int p[2];

	pipe(p);
	signal(SIGPIPE, SIG_IGN);
	pid_t other = sleeper();
	close(p[0]);
	for_process("full_pipe", other);
	write(p[1], full, sizeof(full));
}

static void pipe_poll(void)
{
	int p[2];

	pipe(p);
	pid_t other = sleeper();
	close(p[1]);
	for_process("poll", other);
	poll(&(struct pollfd){p[0], POLLIN, 0}, 1, -1);
}

static void unix_socket(void)
{
	int p[2];
	char b;

	socketpair(AF_UNIX, SOCK_STREAM, 0, p);
	pid_t other = fork();
	if (!other) {
		close(p[0]);
		sleep(seconds);
		_exit(0);
	}
	close(p[1]);
	for_process("unix", other);
	recv(p[0], &b, 1, 0);
}

static void tcp_socket(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
	char b;

	bind(l, (void *)&a, n);
	listen(l, 1);
	getsockname(l, (void *)&a, &n);
	connect(c, (void *)&a, n);
	pid_t other = fork();
	if (!other) {
		close(c);
		accept(l, NULL, NULL);
		sleep(seconds);
		_exit(0);
	}
	close(l);
	for_process("tcp", other);
	recv(c, &b, 1, 0);
}

static void epoll(void)
{
	struct epoll_event e = {EPOLLIN};
	int p[2], fd = epoll_create1(0);

	socketpair(AF_UNIX, SOCK_STREAM, 0, p);
	pid_t other = fork();
	if (!other) {
		close(p[0]);
		sleep(seconds);
		_exit(0);
	}
	close(p[1]);
	epoll_ctl(fd, EPOLL_CTL_ADD, p[0], &e);
	epoll_ctl(fd, EPOLL_CTL_ADD, eventfd(0, 0), &e);
	for_process("epoll", other);
	epoll_wait(fd, &e, 1, -1);
}

static void event(void)
{
	int fd = eventfd(0, 0);
	char b[8] = {1};

	line("eventfd", "process", "eventfd");
	if (!fork()) {
		sleep(seconds);
		write(fd, b, 8);
		_exit(0);
	}
	read(fd, b, 8);
}

static void semaphore(void)
{
	int id = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf down = {0, -1, 0};

	line("semop", "process", "semtimedop");
	if (!fork()) {
		sleep(seconds);
		semctl(id, 0, IPC_RMID);
		_exit(0);
	}
	semop(id, &down, 1);
}

static void shared_semaphore(void)
{
	sem_t *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	sem_init(s, 1, 0);
	line("sem_wait", "process", "semaphore");
	if (!fork()) {
		sleep(seconds);
		sem_post(s);
		_exit(0);
	}
	sem_wait(s);
}

static void network_accept(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	int l = socket(AF_INET, SOCK_STREAM, 0);

	bind(l, (void *)&a, sizeof(a));
	listen(l, 1);
	line("accept", "network", "0.0.0.0:");
	accept(l, NULL, NULL);
}

/* Nothing is sent: a datagram socket is only told its peer. */
static void network_receive(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(9)};
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	char b;

	inet_pton(AF_INET, "192.0.2.7", &a.sin_addr);
	if (connect(s, (void *)&a, sizeof(a)) < 0)
		return;
	line("receive", "network", "192.0.2.7:9");
	recv(s, &b, 1, 0);
}

static void *take_mutex(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return arg;
}

/* Three threads wait for the lock; the first has it and reads from a terminal of its own. */
static void lock(void)
{
	pthread_t t;
	char text[32];

	snprintf(text, sizeof(text), "held_by_%d", (int)getpid());
	line("mutex", "lock", text);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 19; i++)
		pthread_create(&t, NULL, take_mutex, NULL);
	sleep(seconds);
	_exit(0);
}

static void priority_lock(void)
{
	pthread_mutexattr_t a;
	pthread_t t;
	char text[32];

	snprintf(text, sizeof(text), "held_by_%d", (int)getpid());
	line("pi_mutex", "lock", text);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &a);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 19; i++)
		pthread_create(&t, NULL, take_mutex, NULL);
	sleep(seconds);
	_exit(0);
}

static void file_lock(void)
{
	char name[] = "waiter.lock.XXXXXX";
	int held = mkstemp(name), other = open(name, O_RDWR);

	flock(held, LOCK_EX);
	line("flock", "lock", "waiter.lock");
	flock(other, LOCK_EX);
}

static void record_lock(void)
{
	char name[] = "waiter.lock.XXXXXX";
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = mkstemp(name), ready[2];
	char b;

	pipe(ready);
	if (!fork()) {
		fcntl(fd, F_SETLK, &l);
		close(ready[1]);
		sleep(seconds);
		_exit(0);
	}
	close(ready[1]);
	read(ready[0], &b, 1) && 0;
	line("fcntl", "lock", "waiter.lock");
	fcntl(fd, F_SETLKW, &l);
}

static void condition(void)
{
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;

	line("cond", "condition", "futex");
	pthread_mutex_lock(&mutex);
	pthread_cond_wait(&c, &mutex);
}

static void *meet(void *arg)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return arg;
}

static void meeting(void)
{
	pthread_t t;

	line("barrier", "condition", "futex");
	pthread_barrier_init(&barrier, NULL, 21);
	for (int i = 0; i < 20; i++)
		pthread_create(&t, NULL, meet, NULL);
	pthread_barrier_wait(&barrier);
	sleep(seconds);
	_exit(0);
}

static void *asleep(void *arg)
{
	sleep(seconds);
	return arg;
}

static void signals(void)
{
	line("pause", "other", "pause");
	pause();
}

static void stopped(void)
{
	line("stopped", "other", "stopped");
	raise(SIGSTOP);
}

static void vforked(void)
{
	line("vfork", "child", "vfork");
	if (!vfork()) {
		sleep(seconds);
		_exit(0);
	}
}

static void *waking(void *arg)
{
	for (;;)
		usleep(50000);
	return arg;
}

int main(int argc, char **argv)
{
	static void (*const all[])(void) = {
		timer,      timer_select,  timer_fd,         child,          pipe_read,
		pipe_write, pipe_poll,     unix_socket,      tcp_socket,     epoll,
		event,      semaphore,     shared_semaphore, network_accept, network_receive,
		lock,       priority_lock, file_lock,        record_lock,    condition,
		meeting,    signals,       stopped,          vforked,
	};
	pthread_t t;

	seconds = (unsigned)atoi(argv[1]);
	if (argc > 3) {
		for (int i = 1; i < atoi(argv[3]); i++)
			pthread_create(&t, NULL, argv[2][0] == 't' ? asleep : waking, NULL);
		sleep(seconds);
		return 0;
	}
	list = fopen(argv[2], "w");
	size_t count = sizeof(all) / sizeof(all[0]);
	pid_t pids[64];
	for (size_t i = 0; i < count; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			setpgid(0, 0);
			all[i]();
			_exit(0);
		}
	}
	sleep(seconds);
	for (size_t i = 0; i < count; i++)
		kill(-pids[i], SIGKILL) && kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
