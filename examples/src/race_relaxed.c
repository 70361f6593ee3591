/*
 * race_relaxed: a flag is atomic, but relaxed, and guards plain data.
 *
 * Relaxed operations make the flag itself well-defined and order nothing
 * else: a reader that sees the flag need not see the data.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

atomic_int ready;
int payload;

static void *producer(void *arg)
{
	payload = 42; /* race: payload */
	atomic_store_explicit(&ready, 1, memory_order_relaxed); /* may race: ready */
	return arg;
}

static void *consumer(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		if (atomic_load_explicit(&ready, memory_order_relaxed)) /* may race: ready */
			break;
		sched_yield();
	}
	*(int *)arg = payload; /* race: payload */
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int seen = -1;

	pthread_create(&a, NULL, consumer, &seen);
	pthread_create(&b, NULL, producer, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("seen 0 or 42: %s\n", seen == 0 || seen == 42 ? "yes" : "no");
	return 0;
}
