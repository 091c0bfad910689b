/* A plugin with threads, loaded by a program that has none: `late PLUGIN` calls late_threads() of
 * it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#ifdef PLUGIN
static void *routine(void *arg)
{
	return arg;
}

int late_threads(void)
{
	pthread_t thread;
	void *value = NULL;
	int e = pthread_create(&thread, NULL, routine, (void *)7);

	if (e)
		return -e;
	pthread_join(thread, &value);
	return (int)(long)value;
}
#else
int main(int argc, char **argv)
{
	void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);

	if (!plugin) {
		puts(dlerror());
		return 1;
	}
	int (*call)(void) = (int (*)(void))dlsym(plugin, "late_threads");
	printf("first %d\n", call());
	printf("second %d\n", call());
	return 0;
}
#endif
