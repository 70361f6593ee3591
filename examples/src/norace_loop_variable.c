/*
 * norace_loop_variable: every thread gets a variable of its own.
 */
#include <pthread.h>
#include <stdio.h>

#define WORKERS 3

int got[WORKERS + 1];

static void *work(void *arg)
{
	return &got[*(int *)arg];
}

int main(void)
{
	pthread_t thread[WORKERS];
	int id[WORKERS];

	for (int i = 0; i < WORKERS; i++) {
		id[i] = i;
		pthread_create(&thread[i], NULL, work, &id[i]);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	printf("joined %d\n", WORKERS);
	return 0;
}
