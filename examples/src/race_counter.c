/*
 * race_counter: two threads add to one counter without a lock.
 *
 * counter++ is a read, an addition and a write. When both threads read the
 * same value, one of the two additions is lost.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

long counter;

static void *count(void *arg)
{
	for (int i = 0; i < 100; i++) {
		counter++; /* race: counter */
		sched_yield();
	}
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, count, NULL);
	pthread_create(&b, NULL, count, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("counted %ld of 200\n", counter);
	return 0;
}
