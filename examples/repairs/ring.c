/*
 * ring: a ring of one producer and one consumer with plain indices.
 *
 * repair 1: head
 * repair 2: tail
 * order: ring by head + tail
 */
#include "repair.h"

#define SIZE 4

int ring[SIZE];
SHARED_1 volatile unsigned head;
SHARED_2 volatile unsigned tail;

static void *producer(void *arg)
{
	for (unsigned i = 0; i < 20; i++) {
		wait_for(i - tail < SIZE);
		ring[i % SIZE] = i;
		__asm__ volatile("" ::: "memory");
		head = i + 1;
	}
	return arg;
}

static void *consumer(void *arg)
{
	int sum = 0;

	for (unsigned i = 0; i < 20; i++) {
		wait_for(head - i > 0);
		sum += ring[i % SIZE];
		__asm__ volatile("" ::: "memory");
		tail = i + 1;
	}
	printf("%d\n", sum);
	return arg;
}

int main(void) { run_two(producer, consumer); }
