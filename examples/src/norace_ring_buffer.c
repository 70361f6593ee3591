/*
 * norace_ring_buffer: one producer and one consumer share a ring, with atomic
 * indices.
 *
 * Each thread stores its own index with release, behind its work on the slot,
 * and loads the other's with acquire, ahead of it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#define SLOTS 4
#define ITEMS 20
#define TRIES 2000

int ring[SLOTS];
atomic_uint head, tail;

static void *produce(void *arg)
{
	unsigned mine = 0;

	for (int i = 0; i < TRIES && mine < ITEMS; i++) {
		if (mine - atomic_load_explicit(&tail, memory_order_acquire) < SLOTS) {
			ring[mine % SLOTS] = mine;
			atomic_store_explicit(&head, ++mine, memory_order_release);
		}
		sched_yield();
	}
	return arg;
}

static void *consume(void *arg)
{
	unsigned mine = 0;

	for (int i = 0; i < TRIES && mine < ITEMS; i++) {
		if (mine != atomic_load_explicit(&head, memory_order_acquire)) {
			*(int *)arg += ring[mine % SLOTS];
			atomic_store_explicit(&tail, ++mine, memory_order_release);
		}
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int sum = 0;

	pthread_create(&a, NULL, consume, &sum);
	pthread_create(&b, NULL, produce, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("sum at most 190: %s\n", sum <= 190 ? "yes" : "no");
	return 0;
}
