/*
 * race_loop_variable: threads get the address of the loop's variable.
 *
 * All of them read the one variable that main counts up, so two threads may
 * get the same number and one number may go missing.
 */
#include <pthread.h>
#include <stdio.h>

#define WORKERS 3

int got[WORKERS + 1];

static void *work(void *arg)
{
	return &got[*(int *)arg]; /* race: stack i */
}

int main(void)
{
	pthread_t thread[WORKERS];

	for (int i = 0; i < WORKERS; i++) /* race: stack i */
		pthread_create(&thread[i], NULL, work, &i);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	printf("joined %d\n", WORKERS);
	return 0;
}
