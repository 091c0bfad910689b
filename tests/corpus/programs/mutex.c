/*
 * mutex SECONDS N compute|rw|hold: N threads need one lock for almost all they do. compute: the
 * holder computes; rw: the same with a read-write lock, all writing; hold: the holder sleeps.
 */
#include "work.h"

static double end;
static const char *mode;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void *body(void *number)
{
	while (now() < end) {
		if (mode[0] == 'r') {
			pthread_rwlock_wrlock(&rwlock);
			compute(5);
			pthread_rwlock_unlock(&rwlock);
		} else {
			pthread_mutex_lock(&mutex);
			if (mode[0] == 'h')
				usleep(5000);
			else
				compute(5);
			pthread_mutex_unlock(&mutex);
		}
		compute(1); /* the part that needs no lock */
	}
	return number;
}

int main(int argc, char **argv)
{
	(void)argc;
	end = now() + seconds_of(argv);
	int n = count_of(argv, 2);

	mode = word_of(argv, 3);
	start_threads(n, body);
	return 0;
}
