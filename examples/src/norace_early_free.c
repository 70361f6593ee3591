/*
 * norace_early_free: main joins the worker before it frees the job.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
	int alive;
	int part[4];
};

static void release(struct job *job)
{
	free(job);
}

static void *work(void *arg)
{
	struct job *job = arg;
	long sum = 0;

	if (job->alive)
		for (int i = 0; i < 4; i++)
			sum += job->part[i];
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
	pthread_join(worker, NULL);
	job->alive = 0;
	release(job);
	printf("joined\n");
	return 0;
}
