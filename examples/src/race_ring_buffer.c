/*
 * race_ring_buffer: one producer and one consumer share a ring, with plain
 * indices.
 *
 * Each index has one writer, which makes it look safe. But the other thread
 * reads it, and nothing orders the item before the index that announces it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define SLOTS 4
#define ITEMS 20
#define TRIES 2000

int ring[SLOTS];
unsigned head, tail;

static void *produce(void *arg)
{
	for (int i = 0, n = 0; i < TRIES && n < ITEMS; i++) {
		if (head - tail < SLOTS) { /* may race: tail */
			ring[head % SLOTS] = n++; /* may race: ring */
			head++; /* race: head */
		}
		sched_yield();
	}
	return arg;
}

static void *consume(void *arg)
{
	for (int i = 0, n = 0; i < TRIES && n < ITEMS; i++) {
		if (tail != head) { /* race: head */
			*(int *)arg += ring[tail % SLOTS]; /* may race: ring */
			tail++; /* may race: tail */
			n++;
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
	printf("sum %d, want 190\n", sum);
	return 0;
}
