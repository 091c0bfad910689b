/*
 * Loads and unloads the libraries that are named, in turn and all at once, creates threads and
 * children in between, and checks that each works. `dlopens LIBRARY...`.
 */
#include <dlfcn.h>

#include "host.h"

static void *nothing(void *arg)
{
	return arg;
}

static int call(void *library)
{
	int (*tiny)(void) = (int (*)(void))dlsym(library, "tiny");

	return tiny ? tiny() : -1;
}

int main(int argc, char **argv)
{
	void **handles = calloc((size_t)argc, sizeof(*handles));
	int good = 0, unloaded = 0;
	pthread_t t;

	for (int i = 1; i < argc; i++) {
		void *h = dlopen(argv[i], RTLD_NOW | (i % 2 ? RTLD_LOCAL : RTLD_GLOBAL));

		if (!h)
			printf("%s\n", dlerror());
		good += h && call(h) == 1;
		unloaded += h && dlclose(h) == 0;
		if (i % 20 == 0) {
			pthread_create(&t, NULL, nothing, NULL);
			pthread_join(t, NULL);
			fflush(stdout);
			pid_t pid = fork();
			if (!pid)
				_exit(1);
			wait_for(pid);
		}
	}
	printf("in turn: %d work, %d unloaded\n", good, unloaded);
	good = unloaded = 0;
	for (int i = 1; i < argc; i++)
		handles[i] = dlopen(argv[i], RTLD_LAZY);
	for (int i = 1; i < argc; i++)
		good += handles[i] && call(handles[i]) == 1;
	for (int i = 1; i < argc; i++)
		unloaded += handles[i] && dlclose(handles[i]) == 0;
	printf("at once: %d work, %d unloaded\n", good, unloaded);
	return 111;
}
