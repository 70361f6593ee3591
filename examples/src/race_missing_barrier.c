/*
 * race_missing_barrier: the second phase reads the neighbour's first phase.
 *
 * Nothing says that the neighbour has finished its first phase.
 */
#include <pthread.h>
#include <stdio.h>

#define WORKERS 4

int square[WORKERS], sum[WORKERS];

static void *work(void *arg)
{
	int self = *(int *)arg;

	square[self] = self * self; /* race: square */
	sum[self] = square[self] + square[(self + 1) % WORKERS]; /* race: square */
	return NULL;
}

int main(void)
{
	pthread_t thread[WORKERS];
	int id[WORKERS], total = 0;

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
