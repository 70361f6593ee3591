/*
 * norace_missing_barrier: a barrier stands between the two phases.
 */
#include <pthread.h>
#include <stdio.h>

#define WORKERS 4

pthread_barrier_t filled;
int square[WORKERS], sum[WORKERS];

static void *work(void *arg)
{
	int self = *(int *)arg;

	square[self] = self * self;
	pthread_barrier_wait(&filled);
	sum[self] = square[self] + square[(self + 1) % WORKERS];
	return NULL;
}

int main(void)
{
	pthread_t thread[WORKERS];
	int id[WORKERS], total = 0;

	pthread_barrier_init(&filled, NULL, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		id[i] = i;
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&thread[i], NULL, work, &id[i]);
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(thread[i], NULL);
		total += sum[i];
	}
	printf("total %d, want 28\n", total);
	return 0;
}
