// A stencil whose rows are divided among four threads, which wait for each other
// at a barrier twice in each iteration. One counter is changed by two of them.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, N = 514 };

static double a[N][N], b[N][N];
static pthread_barrier_t barrier;
static int iterations;
static long racy;

static void *work(void *arg)
{
	long id = (long)arg;
	int from = 1 + id * (N - 2) / THREADS, to = 1 + (id + 1) * (N - 2) / THREADS;
	for (int k = 0; k < iterations; k++) {
		for (int i = from; i < to; i++)
			for (int j = 1; j < N - 1; j++)
				b[i][j] = (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) / 4;
		pthread_barrier_wait(&barrier);
		for (int i = from; i < to; i++)
			for (int j = 1; j < N - 1; j++)
				a[i][j] = b[i][j];
		if (id < 2)
			racy++;
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	iterations = argc > 1 ? atoi(argv[1]) : 5;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < N; i++)
		a[0][i] = i;
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%g %ld\n", a[5][5], racy);
	return 0;
}
