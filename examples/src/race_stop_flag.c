/*
 * race_stop_flag: a worker polls a plain flag that tells it to stop.
 *
 * The compiler may read the flag once and never again. It does not here, since
 * a call stands in the loop; the race is the same.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

int stop;

static void *worker(void *arg)
{
	for (int i = 0; i < 500 && !stop; i++) /* race: stop */
		sched_yield();
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, worker, NULL);
	stop = 1; /* race: stop */
	pthread_join(thread, NULL);
	printf("stopped\n");
	return 0;
}
