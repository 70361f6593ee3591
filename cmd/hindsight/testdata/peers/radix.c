// Radix sort with threads: histograms by thread, their prefix sums, a stable
// permutation. Usage: radix KEYS [THREADS]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { digits = 8, buckets = 1 << digits, most = 16 };

static long n;
static int threads;
static uint32_t *from, *to;
static long count[most][buckets];
static pthread_barrier_t barrier;

static void *work(void *arg) {
	int me = (int)(intptr_t)arg;
	long lo = n * me / threads, hi = n * (me + 1) / threads;
	for (int shift = 0; shift < 32; shift += digits) {
		uint32_t *a = shift / digits % 2 ? to : from, *b = shift / digits % 2 ? from : to;
		for (int d = 0; d < buckets; d++)
			count[me][d] = 0;
		for (long i = lo; i < hi; i++)
			count[me][a[i] >> shift & (buckets - 1)]++;
		pthread_barrier_wait(&barrier);
		long place[buckets], sum = 0;
		for (int d = 0; d < buckets; d++)
			for (int t = 0; t < threads; t++) {
				if (t == me)
					place[d] = sum;
				sum += count[t][d];
			}
		for (long i = lo; i < hi; i++)
			b[place[a[i] >> shift & (buckets - 1)]++] = a[i];
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv) {
	n = argc > 1 ? atol(argv[1]) : 10000;
	threads = argc > 2 ? atoi(argv[2]) : 4;
	from = malloc(n * sizeof *from);
	to = malloc(n * sizeof *to);
	uint32_t x = 1;
	for (long i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		from[i] = x;
	}
	pthread_barrier_init(&barrier, NULL, threads);
	pthread_t id[most];
	for (int t = 0; t < threads; t++)
		pthread_create(&id[t], NULL, work, (void *)(intptr_t)t);
	for (int t = 0; t < threads; t++)
		pthread_join(id[t], NULL);
	for (long i = 1; i < n; i++)
		if (from[i - 1] > from[i]) {
			printf("not sorted at %ld\n", i);
			return 1;
		}
	printf("sorted %ld\n", n);
	return 0;
}
