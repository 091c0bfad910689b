/* A library that makes a thread before main(), which reads so many MiB. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *reads(void *arg)
{
	static char block[65536];
	int fd = open("/dev/zero", O_RDONLY);

	for (int i = 0; i < atoi(arg) * 16; i++)
		read(fd, block, sizeof(block));
	close(fd);
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
#ifdef MIB /* before libc is ready, which has no environment then */
	const char *mib = MIB;
#else
	const char *mib = getenv("EARLY_MIB");
#endif
	pthread_t t;

	if (mib && pthread_create(&t, NULL, reads, (void *)mib) == 0)
		pthread_join(t, NULL);
}
