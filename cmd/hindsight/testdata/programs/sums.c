/*
 * Four threads count into an array, one element each.
 * PAD makes an element as large as a cache line.
 */
#include <pthread.h>
#include <stdio.h>

#ifndef PAD
#define PAD 8
#endif
#define THREADS 4

static struct { long n; char rest[PAD - sizeof(long)]; } part[THREADS] __attribute__((aligned(64)));
static pthread_barrier_t start;

static void *work(void *arg)
{
	long self = (long)arg;

	pthread_barrier_wait(&start);
	for (int i = 0; i < 2000; i++)
		*(volatile long *)&part[self].n += i;
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	long sum = 0;

	pthread_barrier_init(&start, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		sum += part[i].n;
	}
	printf("%ld\n", sum);
	return 0;
}
