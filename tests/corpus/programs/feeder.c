/*
 * feeder SECONDS N: N threads take work from a queue, which gets some every 100 ms.
 */
#include "work.h"
#include <stdbool.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int queued;
static double end;

static void *body(void *number)
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		while (!queued && now() < end)
			pthread_cond_wait(&more, &mutex);
		bool over = !queued;
		queued -= !over;
		pthread_mutex_unlock(&mutex);
		if (over)
			return number;
		compute(1);
	}
}

static void *feed(void *number)
{
	while (now() < end) {
		usleep(100000);
		pthread_mutex_lock(&mutex);
		queued++;
		pthread_cond_broadcast(&more);
		pthread_mutex_unlock(&mutex);
	}
	return number;
}

static void *either(void *number)
{
	return number ? body(number) : feed(number);
}

int main(int argc, char **argv)
{
	(void)argc;
	end = now() + seconds_of(argv);
	start_threads(count_of(argv, 2) + 1, either);
	return 0;
}
