/*
 * norace_relaxed: where relaxed atomics are right, and where they are not.
 *
 * The counter may be relaxed, since it is read behind the joins. The flag that
 * guards data is stored with release and loaded with acquire.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

atomic_int ready, looks;
int payload;

static void *producer(void *arg)
{
	payload = 42;
	atomic_store_explicit(&ready, 1, memory_order_release);
	return arg;
}

static void *consumer(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed);
		if (atomic_load_explicit(&ready, memory_order_acquire)) {
			*(int *)arg = payload;
			break;
		}
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b, c;
	int seen_a = 42, seen_b = 42;

	pthread_create(&a, NULL, consumer, &seen_a);
	pthread_create(&b, NULL, consumer, &seen_b);
	pthread_create(&c, NULL, producer, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_join(c, NULL);
	printf("seen %d %d, looked: %s\n", seen_a, seen_b, looks >= 2 ? "yes" : "no");
	return 0;
}
