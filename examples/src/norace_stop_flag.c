/*
 * norace_stop_flag: the flag that tells a worker to stop is atomic.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

atomic_int stop;

static void *worker(void *arg)
{
	for (int i = 0; i < 500 && !atomic_load_explicit(&stop, memory_order_acquire); i++)
		sched_yield();
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, worker, NULL);
	atomic_store_explicit(&stop, 1, memory_order_release);
	pthread_join(thread, NULL);
	printf("stopped\n");
	return 0;
}
