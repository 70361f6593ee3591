/*
 * What the five kernels share: reading numbers from the command line,
 * starting one team of threads, and cutting a range into parts.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 16

static int threads = 4;
static pthread_barrier_t barrier;

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(2);
}

/* number reads a decimal between low and high, or ends the program. */
static long number(const char *text, long low, long high)
{
	char *end;

	errno = 0;
	long n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < low || n > high) {
		fprintf(stderr, "%s: want a number from %ld to %ld\n", text, low, high);
		exit(2);
	}
	return n;
}

static void *allocate(size_t count, size_t size)
{
	void *p = calloc(count, size);
	if (!p)
		fail("out of memory");
	return p;
}

/* wait_all is the barrier between two phases. */
static inline void wait_all(void)
{
	pthread_barrier_wait(&barrier);
}

/* part gives thread id its share [*from, *to) of n things. */
static inline void part(int id, int n, int *from, int *to)
{
	*from = (int)((long)n * id / threads);
	*to = (int)((long)n * (id + 1) / threads);
}

/* run_team runs body as threads 0 to threads-1 and waits for them all. */
static void run_team(void *(*body)(void *))
{
	static int id[MAX_THREADS];
	pthread_t thread[MAX_THREADS];

	pthread_barrier_init(&barrier, NULL, threads);
	for (int i = 0; i < threads; i++) {
		id[i] = i;
		if (pthread_create(&thread[i], NULL, body, &id[i]))
			fail("cannot start a thread");
	}
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&barrier);
}

#endif
