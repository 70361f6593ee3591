/*
 * race_early_free: main frees a job while its thread may still work on it.
 *
 * Main marks the job as dead and frees it, then joins. Depending on the
 * schedule the worker adds up freed memory.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
	int alive;
	int part[4];
};

/* noipa: or the compiler drops the store to a block that it sees freed. */
__attribute__((noipa)) static void release(struct job *job)
{
	free(job); /* may race: heap job */
}

static void *work(void *arg)
{
	struct job *job = arg;
	long sum = 0;

	if (job->alive) /* race: heap job */
		for (int i = 0; i < 4; i++)
			sum += job->part[i]; /* may race: heap job */
	return (void *)sum;
}

int main(void)
{
	pthread_t worker;
	struct job *job = malloc(sizeof *job);

	job->alive = 1;
	for (int i = 0; i < 4; i++)
		job->part[i] = i;
	pthread_create(&worker, NULL, work, job);
	job->alive = 0; /* race: heap job */
	release(job);
	pthread_join(worker, NULL);
	printf("joined\n");
	return 0;
}
